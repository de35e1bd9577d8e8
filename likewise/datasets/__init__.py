"""Loaders for the experiments' data, and swatches: generated pictures with known truth."""
