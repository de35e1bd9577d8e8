"""Measures, significance, comparison of models, simulated users."""
