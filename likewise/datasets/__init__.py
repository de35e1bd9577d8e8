"""Loaders for the data sets of the experiments, and swatches: generated pictures with known truth."""
