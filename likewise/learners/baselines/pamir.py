"""PAMIR (Grangier and Bengio, 2008): text goes straight into the pictures' space."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.learners.clicks import Clicks
from likewise.solvers.pamir import pamir
from likewise.spaces import Blocks
from likewise.types import Preferences


def fit_pamir(
    space: Blocks,
    X: Any,
    preferences: Preferences,
    queries: Any,
    *,
    C: float = 0.1,
    steps: int | None = None,
    seed: int = 0,
) -> Clicks:
    """``s(t, x) = t M x'`` by passive-aggressive steps: W_q is M, W and W_v the identity."""
    p = preferences
    found = pamir(queries, X, (p.query, p.better, p.worse, p.weight), C=C, steps=steps, seed=seed)
    return Clicks(space, found.m, np.eye(space.dim), np.eye(space.dim))
