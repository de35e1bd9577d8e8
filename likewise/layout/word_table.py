"""A plot of a word table: one square a bin of words, t(j, l) in colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def plot_word_table(bins: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the plot of bins (``idf``, ``words``, ``table``; common words first) as PNG or SVG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    tables = [np.array(b["table"]) for b in bins]
    peak = max(float(np.abs(t).max()) for t in tables) or 1.0
    figure = Figure(figsize=(1.6 * len(tables) + 1, 2.4), layout="constrained")
    axes = figure.subplots(1, len(tables), squeeze=False)[0]
    image: Any = None
    for axis, one, values in zip(axes, bins, tables):
        image = axis.imshow(values, cmap="RdBu", vmin=-peak, vmax=peak)
        axis.set_title(f"idf {one['idf']:.1f}\n{one['words']:,} words", fontsize=8)
        axis.set_xticks(range(values.shape[1]))
        axis.set_yticks(range(values.shape[0]))
        axis.set_xlabel("in the picture", fontsize=7)
        for (j, l), value in np.ndenumerate(values):
            axis.text(l, j, f"{value:.2f}", ha="center", va="center", fontsize=7)
    axes[0].set_ylabel("in the query", fontsize=7)
    figure.colorbar(image, ax=axes.tolist(), shrink=0.8)
    figure.savefig(path, dpi=120)
