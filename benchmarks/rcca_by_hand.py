"""Ranked CCA's descent written out with dense matrices: what the fast one must equal.

``literal`` is the algorithm of Yao et al. as printed, for the record: it decays with the whole
regulariser at each triplet and lets later lines see what earlier ones have changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.solvers.checks import Floats, Ints
from likewise.solvers.rcca_descent import Model, Settings, Triplets


def descend_dense(
    T: Any, X: Floats, triplets: Triplets, order: Ints, start: Model, how: Settings
) -> tuple[Model, Model]:
    """The weights after the triplets in ``order``, and the average over the way."""
    queries = T.toarray() if hasattr(T, "toarray") else np.asarray(T)
    wq, w, wv = (m.copy() for m in start)
    sums = [np.zeros_like(m) for m in start]
    n = triplets.size
    for t in order:
        q = queries[triplets.query[t]]
        gap = X[triplets.better[t]] - X[triplets.worse[t]]
        weight = triplets.weight[t]
        score = (q @ wq) @ w @ (gap @ wv)
        active = weight if score < 1 else 0.0
        gradient_q = how.gamma / n * (wq - start.wq) - active * np.outer(q, w @ (gap @ wv))
        gradient_w = how.mu / n * w - active * np.outer(q @ wq, gap @ wv)
        gradient_v = how.eta / n * (wv - start.wv) - active * np.outer(gap, (q @ wq) @ w)
        wq = wq - how.step * gradient_q
        w = w - how.step * gradient_w if how.learn_w else w
        wv = wv - how.step * gradient_v
        for total, now in zip(sums, (wq, w, wv)):
            total += now
    return Model(wq, w, wv), Model(*(total / len(order) for total in sums))


def literal(
    T: Any, X: Floats, triplets: Triplets, order: Ints, start: Model, how: Settings
) -> Model:
    """Algorithm 1 as printed, products from left to right: O(d_q d_v d) a triplet."""
    queries = T.toarray() if hasattr(T, "toarray") else np.asarray(T)
    wq, w, wv = (m.copy() for m in start)
    a = how.step
    for t in order:
        q = queries[triplets.query[t]][None]
        gap = (X[triplets.better[t]] - X[triplets.worse[t]])[None]
        w = (1 - a * how.mu) * w
        wq = (1 - a * how.gamma) * wq + a * how.gamma * start.wq
        wv = (1 - a * how.eta) * wv + a * how.eta * start.wv
        if 1 - (q @ wq @ w @ (gap @ wv).T).item() > 0:
            w = w + a * (wq.T @ q.T) @ gap @ wv
            wq = wq + a * (q.T @ gap) @ wv @ w.T
            wv = wv + a * (gap.T @ q) @ wq @ w
    return Model(wq, w, wv)
