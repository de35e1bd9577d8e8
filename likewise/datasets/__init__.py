"""Pictures with known truth: drawn ones, and photographs for the demonstration."""

from likewise.datasets.swatches import SwatchSet, swatches

__all__ = ["SwatchSet", "swatches"]
