"""Which blocks of features a metric listens to: in words, and as numbers for a bar."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from likewise.types import FloatArray


def block_shares(
    weights: FloatArray, spread: FloatArray, blocks: Mapping[str, slice]
) -> dict[str, float]:
    """Share of each block in the mean squared distance between two items, largest first.

    Parameters
    ----------
    weights
        The metric.
    spread
        Mean squared difference of two items in each dimension (twice the variance).
    """
    parts = {name: float((weights[part] * spread[part]).sum()) for name, part in blocks.items()}
    total = sum(parts.values())
    shares = {name: part / total if total > 0 else 0.0 for name, part in parts.items()}
    return dict(sorted(shares.items(), key=lambda one: -one[1]))


def in_words(shares: Mapping[str, float]) -> str:
    """``colour 71 %, shape 20 %, texture 9 %``: whole percents that sum to 100."""
    if not any(shares.values()):
        return "no block of features"
    names = list(shares)
    exact = np.array([100 * shares[name] for name in names])
    whole = np.floor(exact).astype(int)
    for at in np.argsort(whole - exact, kind="stable")[: 100 - int(whole.sum())]:
        whole[at] += 1
    order = sorted(range(len(names)), key=lambda at: (-whole[at], at))
    return ", ".join(f"{names[at]} {whole[at]} %" for at in order if whole[at])


def mean_spread(vectors: FloatArray, *, sample: int = 20_000) -> FloatArray:
    """Twice the variance of each dimension, on evenly spaced rows."""
    x = vectors
    if len(x) > sample:
        x = x[np.linspace(0, len(x) - 1, sample).astype(np.int64)]
    out: FloatArray = 2.0 * x.var(axis=0, dtype=np.float64) if len(x) else np.zeros(x.shape[1])
    return out
