"""likewise: image search that learns what you mean by similar."""

__version__ = "0.1.0"
