"""What groups of points that belong together teach: a matrix, and one weight per block.

`within_groups` is a closed form: directions in which members of a group differ are played down,
as far as the groups agree with each other (Ledoit and Wolf's shrinkage, with groups in place of
samples).  `block_weights` are a few numbers: a logistic loss over "this fellow member before that
stranger".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, optimize

from likewise.solvers import checks
from likewise.solvers.checks import Floats, Ints

BOUND = 6.0
"""A block's weight stays within exp(-BOUND) and exp(BOUND)."""


FARTHEST = 1.5
"""How far a place's log theta goes from that of all."""


class Within(NamedTuple):
    """The matrix of groups: ``half`` is H with W = H H', which has the trace of the identity.

    ``shrinkage`` is 1 where the groups say nothing that they agree on, 0 where they leave no doubt;
    only ``groups`` of two or more members say anything.  ``residual`` is that of the eigenvectors
    that W was made of, as a share of T: 0 but for rounding.
    """

    half: Floats
    shrinkage: float
    groups: int
    residual: float

    @property
    def matrix(self) -> Floats:
        """W itself."""
        return self.half @ self.half.T


def within_groups(
    points: ArrayLike,
    group: ArrayLike,
    *,
    target: ArrayLike | None = None,
    ridge: float = 0.1,
    exponent: float = 0.5,
) -> Within:
    """W = (T / mean eigenvalue of T + ridge I)^-exponent, T the shrunk scatter within groups.

    Parameters
    ----------
    points
        Members, one row each.
    group
        The group of each member.
    target
        What the scatter is shrunk towards, up to its scale; the identity where not given.
        Fewer than two groups leave nothing but it.
    """
    x = checks.matrix("points", points)
    d = x.shape[1]
    mixed = np.eye(d) if target is None else checks.matrix("target", target)
    if mixed.shape != (d, d) or not np.trace(mixed) > 0 or len(np.asarray(group)) != len(x):
        raise ValueError("Give one group per point, and a target of their columns, above zero.")
    if not (ridge > 0 and exponent >= 0):
        raise ValueError("ridge must be above 0 and exponent at least 0.")
    _, own, size = np.unique(np.asarray(group), return_inverse=True, return_counts=True)
    several = size[own] > 1
    x, own = x[several], own[several]
    order = np.argsort(own, kind="stable")
    x, size = x[order], size[size > 1]
    own = np.repeat(np.arange(len(size)), size)
    free: Floats = size.astype(np.float64) - 1.0
    count, shrinkage = len(size), 1.0
    if count > 1:
        mean = np.add.reduceat(x, np.cumsum(size) - size) / size[:, None]
        x = x - mean[own]
        scatter = x.T @ x / free.sum()
        if np.trace(scatter) > 0:
            goal = mixed * (np.trace(scatter) / np.trace(mixed))
            shrinkage = _shrinkage(x, own, free, scatter, goal)
            mixed = shrinkage * goal + (1 - shrinkage) * scatter
    values, axes = linalg.eigh(mixed, driver="evd")  # the default driver failed on such matrices
    off = np.abs((axes * values) @ axes.T - mixed).max() / np.abs(mixed).max()
    values = np.maximum(values, 0.0)
    factor = (values / values.mean() + ridge) ** -exponent
    factor *= d / factor.sum()
    return Within(axes * np.sqrt(factor), shrinkage, count, float(off))


def _shrinkage(x: Floats, own: Ints, free: Floats, scatter: Floats, goal: Floats) -> float:
    """The share of the goal: how far groups are from each other, over how far all are from it.

    Rows come group by group.  |S_g - S|^2 of every group without forming S_g: its norm is that of a
    small Gram matrix.
    """
    count = len(free)
    cross = np.bincount(own, np.einsum("ij,ij->i", x @ scatter, x), count) / free
    parts = np.split(x, np.cumsum(free.astype(np.int64) + 1)[:-1])
    norms = np.array([((y @ y.T) ** 2).sum() for y in parts]) / free**2
    apart = norms - 2 * cross + (scatter**2).sum()
    spread = count / (count - 1) * ((free / free.sum()) ** 2 * apart).sum()
    distance = ((scatter - goal) ** 2).sum()
    return float(min(1.0, spread / distance)) if distance > 0 else 1.0


class BlockWeights(NamedTuple):
    """theta, one number above zero per block; loss with penalty; largest entry of its gradient."""

    weights: Floats
    objective: float
    residual: float


def block_weights(
    ahead: ArrayLike, share: ArrayLike, *, penalty: float, slope: float = 8.0
) -> BlockWeights:
    """One weight per block that puts fellows before strangers.

    With theta = exp(beta), the least sum of share log(1 + exp(-slope theta . ahead)) over all
    triples, plus penalty |beta|^2 / 2.

    ``ahead`` has one row per triple (member, fellow, stranger) and one column per block: by how
    much the fellow is more similar; ``share`` is that of each triple, and sums to 1.
    """
    rows = checks.matrix("ahead", ahead)
    each = checks.vector("share", share, len(rows), 0.0)
    if not (penalty >= 0 and slope > 0):
        raise ValueError("penalty must be at least 0 and slope above 0.")

    def loss(beta: Floats) -> tuple[float, Floats]:
        theta = np.exp(beta)
        margin = slope * (rows @ theta)
        pull = each * (-slope / (1.0 + np.exp(np.minimum(margin, 700.0))))
        value = each @ np.logaddexp(0.0, -margin) + penalty * (beta @ beta) / 2
        return float(value), (pull @ rows) * theta + penalty * beta

    start = np.zeros(rows.shape[1])
    found = optimize.minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=[(-BOUND, BOUND)] * len(start),
        options={"gtol": 1e-8, "ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    value, slope_there = loss(found.x)
    inner = np.abs(found.x) < BOUND
    return BlockWeights(np.exp(found.x), value, float(np.abs(slope_there[inner]).max(initial=0.0)))


def local_weights(
    ahead: ArrayLike, share: ArrayLike, group: ArrayLike, weights: ArrayLike, say: ArrayLike, *,
    penalty: float, slope: float = 8.0,
) -> Floats:  # fmt: skip
    """By how much log theta is to change where some groups have more say: one Newton step.

    From theta = ``weights`` (of all groups, see `block_weights`), one step of the loss in which
    group g counts ``say[r, g]``, with the penalty over the number of groups that these shares
    amount to, (sum say)^2 / sum say^2.  ``group`` is that of each triple, a column of ``say``; both
    ``say`` and what comes back have one row per place.  No number is beyond `FARTHEST`.
    """
    rows = checks.matrix("ahead", ahead)
    each = checks.vector("share", share, len(rows), 0.0)
    theta = checks.vector("weights", weights, rows.shape[1], 1.0)
    shares = checks.matrix("say", say)
    owner, count = np.asarray(group, dtype=np.int64), shares.shape[1]
    if len(owner) != len(rows) or not penalty > 0 or not slope > 0:
        raise ValueError("Give one group per triple, and a penalty and a slope above 0.")
    total = np.bincount(owner, each, count)
    each = each / np.where(total > 0, total, 1.0)[owner]
    moved = slope * rows * theta
    wrong = 1.0 / (1.0 + np.exp(np.minimum(moved.sum(axis=1), 700.0)))
    blocks = range(rows.shape[1])
    pull = np.stack([np.bincount(owner, -each * wrong * moved[:, b], count) for b in blocks], 1)
    curve = np.stack([
        np.stack([np.bincount(owner, each * wrong * (1 - wrong) * moved[:, a] * moved[:, b], count)
                  for a in blocks], 1) for b in blocks], 2)  # fmt: skip
    known = np.maximum(shares.sum(axis=1), 1e-12)
    number = known**2 / np.maximum((shares**2).sum(axis=1), 1e-12)
    bend = np.einsum("rg,gab->rab", shares / known[:, None], curve)
    bend += (penalty / number)[:, None, None] * np.eye(rows.shape[1])
    lead = (shares / known[:, None]) @ pull
    step = -np.linalg.solve(bend, lead[:, :, None])[:, :, 0]
    return np.asarray(np.clip(step, -FARTHEST, FARTHEST))
