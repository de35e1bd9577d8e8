"""Scatter within groups and weights of blocks as one would write them on paper: slow, for tests."""

from __future__ import annotations

import numpy as np

from likewise.solvers.checks import Floats, Ints


def matrix(
    x: Floats, group: Ints, ridge: float, goal: Floats | None = None
) -> tuple[Floats, float]:
    """``(W, lambda)`` by whole matrices, one per group."""
    d = x.shape[1]
    own = [x[group == g] for g in np.unique(group) if (group == g).sum() > 1]
    free = np.array([len(y) - 1 for y in own], dtype=float)
    each = [(y - y.mean(axis=0)).T @ (y - y.mean(axis=0)) / (len(y) - 1) for y in own]
    S = sum(n / free.sum() * s for n, s in zip(free, each))
    target = np.eye(d) if goal is None else goal
    target = target * np.trace(S) / np.trace(target)
    V = sum((n / free.sum()) ** 2 * ((s - S) ** 2).sum() for n, s in zip(free, each))
    V *= len(own) / (len(own) - 1)
    lam = min(1.0, V / ((S - target) ** 2).sum())
    T = lam * target + (1 - lam) * S
    values, axes = np.linalg.eigh(d * T / np.trace(T) + ridge * np.eye(d))
    W = axes @ np.diag(values**-0.5) @ axes.T
    return W * d / np.trace(W), lam


def loss(beta: Floats, ahead: Floats, share: Floats, penalty: float, slope: float = 8.0) -> float:
    """The loss of block weights exp(beta), triple by triple."""
    total = penalty * sum(b * b for b in beta) / 2
    for row, part in zip(ahead, share):
        margin = slope * sum(np.exp(b) * a for b, a in zip(beta, row))
        total += part * np.log1p(np.exp(-margin))
    return float(total)
