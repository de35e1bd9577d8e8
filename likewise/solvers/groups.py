"""What groups of points that belong together teach: a matrix, and one weight per block.

`within_groups` is a closed form: directions in which members of a group differ are played down,
as far as the groups agree with each other (Ledoit and Wolf's shrinkage, with groups in place of
samples).  `block_weights` are a few numbers: a logistic loss over "this fellow member before that
stranger".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, optimize

from likewise.solvers import checks
from likewise.solvers.checks import Floats

BOUND = 6.0
"""A block's weight stays within exp(-BOUND) and exp(BOUND)."""


FARTHEST = 1.5
"""How far a place's log theta goes from that of all."""


class Within(NamedTuple):
    """The matrix of groups: ``half`` is H with W = H H', which has the trace of the identity.

    ``shrinkage`` is 1 where the groups say nothing that they agree on, 0 where they leave no doubt.
    ``residual`` is that of the eigenvectors that W was made of, as a share of T: rounding.
    """

    half: Floats
    shrinkage: float
    residual: float

    @property
    def matrix(self) -> Floats:
        """W itself."""
        return self.half @ self.half.T


class Scatter(NamedTuple):
    """What groups say of how their members differ; that of several parts is the sum of theirs.

    With the scatter S_g of a group (around its mean, a sum) and its members less one n_g: the sums
    of S_g, n_g S_g, |S_g|^2, n_g, n_g^2, and how many groups have two members or more.
    """

    total: Floats
    weighed: Floats
    norms: float
    free: float
    squares: float
    groups: int


def scatters(points: ArrayLike, size: ArrayLike, part: ArrayLike, parts: int) -> list[Scatter]:
    """The scatter of each of so many parts.

    ``points`` are members, one row each, group by group; ``size`` is how many a group has, and
    ``part`` where it belongs.
    """
    x = np.array(checks.matrix("points", points))
    each, where = np.array(size, np.int64), np.asarray(part, np.int64)
    if each.sum() != len(x) or len(where) != len(each) or (each < 1).any():
        raise ValueError("Give the size and the part of every group; sizes add up to the points.")
    free, norms, first = each - 1.0, np.zeros(len(each)), np.cumsum(each) - each
    if len(each):
        x -= np.repeat(np.add.reduceat(x, first) / each[:, None], each, axis=0)
    for many in np.unique(each).tolist():  # |S_g|^2 is that of the small matrix of products
        y = x[first[each == many][:, None] + np.arange(many)]
        norms[each == many] = ((y @ y.transpose(0, 2, 1)) ** 2).sum(axis=(1, 2))
    own, root = np.repeat(where, each), np.repeat(np.sqrt(free), each)[:, None]
    found = []
    for number in range(parts):
        mine, rows = where == number, x[own == number]
        again, n = rows * root[own == number], free[mine]
        sums = float(norms[mine].sum()), float(n.sum()), float(n @ n), int((n > 0).sum())
        found.append(Scatter(rows.T @ rows, again.T @ again, *sums))
    return found


def within_groups(
    parts: Sequence[Scatter], *, target: ArrayLike | None = None, ridge: float = 0.1,
    exponent: float = 0.5,
) -> Within:  # fmt: skip
    """W = (T / mean eigenvalue of T + ridge I)^-exponent, T the shrunk scatter within groups.

    ``target`` is what the scatter is shrunk towards, up to its scale; the identity where not given.
    Fewer than two groups leave nothing but it.
    """
    scatter = Scatter(*(sum(column[1:], column[0]) for column in zip(*parts)))
    d, shrinkage = len(scatter.total), 1.0
    mixed = np.eye(d) if target is None else checks.matrix("target", target)
    if mixed.shape != (d, d) or not np.trace(mixed) > 0:
        raise ValueError("The target must have the columns of the points, and be above zero.")
    if not (ridge > 0 and exponent >= 0):
        raise ValueError("ridge must be above 0 and exponent at least 0.")
    if scatter.groups > 1 and np.trace(scatter.total) > 0:
        mean = scatter.total / scatter.free
        goal = mixed * (np.trace(mean) / np.trace(mixed))
        # How far groups are from each other, over how far all are from the goal.
        apart = scatter.norms - 2 * (scatter.weighed * mean).sum()
        apart = max(0.0, apart + scatter.squares * (mean**2).sum()) / scatter.free**2
        spread, distance = apart * scatter.groups, ((mean - goal) ** 2).sum()
        if distance > 0:
            shrinkage = float(min(1.0, spread / (scatter.groups - 1) / distance))
        mixed = shrinkage * goal + (1 - shrinkage) * mean
    values, axes = linalg.eigh(mixed, driver="evd")  # the default driver failed on such matrices
    off = np.abs((axes * values) @ axes.T - mixed).max() / np.abs(mixed).max()
    values = np.maximum(values, 0.0)
    factor = (values / values.mean() + ridge) ** -exponent
    factor *= d / factor.sum()
    return Within(axes * np.sqrt(factor), shrinkage, float(off))


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
