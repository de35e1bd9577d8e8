"""Does the guard let better models pass, and only those?

Fixed models against plain similarity on Corel5k and CIFAR-10, each judged in 400 replicates:
queries are drawn at random from those that nobody taught, and the guard sees what a person
without mistakes would answer.

    python -m experiments.guard --json results/guard.json

``rule`` is ``disagreement`` (:mod:`likewise.evaluation.guard`) or ``before``, that of commit
93a8f1c: judged-only average precision of the first 10 plain results.  ``pressed`` is how often
somebody learns again: ``once``, or ``every-10`` judged queries, which gives the model a draw of
its own (or a further test by the rule before).  ``passed`` is the share of replicates in which the
model was let through with that many ``queries`` or fewer, ``asked`` the marks per query that this
took, ``true_map``, ``true_p1`` and ``true_pk`` (precision@K, what the guard estimates) what the
model changes on all queries.  ``shuffled marks`` gives every mark to another query; ``exchanged
marks`` leaves a query its results and exchanges right and wrong among them.

The models do not follow what the product learns: ``W`` is the inverse root of the scatter within
groups of 10 marked results, ``theta`` one weight per block on top of it.  ``null`` is W and theta
of 20 queries with the sign of each query's change flipped by a coin.  The rows ``learned`` go all
the way: for each replicate another 20 or 100 taught queries, and the check on fresh ones until it
passes or 100 are answered.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from experiments.photo_tasks import Task, photo_task
from experiments.report import Report, run
from experiments.rivals.judged_only import guard as judged_only
from experiments.score_ranking import rank
from likewise.evaluation import judged_average_precision, measure
from likewise.evaluation.guard import DRAWN, depth, judge, look_at
from likewise.types import FloatArray

SETS = ("corel5k", "cifar10")
SIZES = (12, 25, 50, 100, 200)
MARKS = 10
"""First plain results of a taught query that are marked; what the rule before judges by."""
REPLICATES, LEARNED = 400, 40
Surrogates = Callable[[FloatArray], FloatArray]
"""From query rows to surrogates, both in coordinates in which plain similarity is a dot product."""


def main(report: Report) -> None:
    replicates = 40 if report.quick else REPLICATES
    wanted = report.settings.get("model")
    for name in SETS[:1] if report.quick else report.settings.get("data") or SETS:
        task = Photos.of(photo_task(name, report))
        for model, surrogates in models(task, report.seed).items():
            if not wanted or model in wanted:
                told(report, name, model, compared(task, surrogates), replicates)
        for taught in () if wanted else (20,) if report.quick else (20, 100):
            learned(report, name, task, taught, 4 if report.quick else LEARNED)


# -- models --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Photos:
    """Items and queries as z = sqrt(w0) o x, their classes, and the columns of each block."""

    items: FloatArray
    labels: NDArray[np.int64]
    queries: FloatArray
    relevant: NDArray[np.bool_]
    blocks: dict[str, slice]

    @classmethod
    def of(cls, task: Task) -> Photos:
        """The pictures of a task."""
        assert task.labels is not None
        root = np.sqrt(task.plain.w0)
        return cls(
            task.items * root, task.labels, task.queries * root, task.relevant, task.space.slices
        )

    def groups(self, count: int, seed: int, shuffled: str = "") -> list[Group]:
        """Taught queries: the picture, its right ones and its wrong ones among 10 results."""
        rng = np.random.default_rng([seed, count])
        rows = rng.choice(len(self.items), count, replace=False)
        scores = self.items[rows] @ self.items.T
        scores[np.arange(count), rows] = -np.inf
        shown = np.argsort(-scores, axis=1, kind="stable")[:, :MARKS]
        good = self.labels[shown] == self.labels[rows][:, None]
        if shuffled == "within":  # a query keeps its results and how many of them are right
            good = rng.permuted(good, axis=1)
        elif shuffled:  # every mark, right or wrong, goes to another query
            at = rng.permutation(good.size)
            shown, good = (column.ravel()[at].reshape(good.shape) for column in (shown, good))
        return [Group(np.r_[q, x[g]], x[~g]) for q, x, g in zip(rows, shown, good)]


@dataclass(frozen=True, eq=False)
class Group:
    """A taught query with its right pictures, and the wrong ones."""

    members: NDArray[np.int64]
    wrong: NDArray[np.int64]


def models(task: Photos, seed: int) -> dict[str, Surrogates]:
    rng = np.random.default_rng(seed)
    d = task.items.shape[1]
    noise = rng.normal(size=(d, d)) / d**0.5
    loud = np.ones(d)
    loud[task.blocks.get("texture", next(reversed(task.blocks.values())))] = 6.0
    centred = task.items - task.items.mean(axis=0)
    white = root(centred.T @ centred / len(centred), 0.01, power=-1.0)
    taught = {count: task.groups(count, seed) for count in (20, 100) if count < len(task.items) / 4}
    few, many = taught[20], taught[max(taught)]
    w20 = within(task, few)
    both = learn(task, few, seed)
    return {
        "null": both,
        "random matrix": lambda q: q + q @ noise,
        "shuffled marks": learn(task, task.groups(20, seed, shuffled="all"), seed),
        "exchanged marks": learn(task, task.groups(20, seed, shuffled="within"), seed),
        "texture x 6": lambda q: q * loud,
        "whitened": lambda q: q @ white,
        "directions too strong": directions(task, few),
        "W of 20": lambda q: q @ w20,
        "W and theta of 20": both,
        "W and theta of 100": learn(task, many, seed),
    }


def learn(task: Photos, groups: list[Group], seed: int) -> Surrogates:
    """W first, theta second."""
    w = within(task, groups)
    theta = weights(task, groups, w, seed)
    return lambda q: (q @ w) * theta


def within(task: Photos, groups: list[Group]) -> FloatArray:
    """W from the scatter within groups, shrunk by how far the groups agree."""
    d = task.items.shape[1]
    several = [task.items[g.members] for g in groups if len(g.members) > 1]
    if len(several) < 2:
        return np.eye(d)
    free = np.array([len(x) - 1.0 for x in several])
    own = [np.cov(x.T) for x in several]
    total = sum(n / free.sum() * s for n, s in zip(free, own))
    goal = np.trace(total) / d * np.eye(d)
    spread = sum((n / free.sum()) ** 2 * ((s - total) ** 2).sum() for n, s in zip(free, own))
    spread *= len(own) / (len(own) - 1)
    part = min(1.0, float(spread / ((total - goal) ** 2).sum()))
    w = root(part * goal + (1 - part) * total, 0.1, power=-0.5)
    return np.asarray(w * d / np.trace(w))


def root(matrix: FloatArray, ridge: float, power: float) -> FloatArray:
    values, axes = linalg.eigh(matrix, driver="evd")
    return np.asarray((axes * (np.maximum(values, 0) / values.mean() + ridge) ** power) @ axes.T)


def weights(task: Photos, groups: list[Group], w: FloatArray, seed: int) -> FloatArray:
    """theta, one per column: fellows before strangers, by block."""
    rng = np.random.default_rng(seed)
    slices = list(task.blocks.values())
    ahead, share = [], []
    for group in groups:
        if len(group.members) < 2:
            continue
        others = np.r_[group.wrong, rng.integers(len(task.items), size=30)]
        each = np.r_[np.ones(len(group.wrong)), np.full(30, 0.3)]
        near, far = task.items[group.members], task.items[others]
        v = near @ w
        p = np.stack([v[:, s] @ near[:, s].T for s in slices], axis=2)
        n = np.stack([v[:, s] @ far[:, s].T for s in slices], axis=2)
        gap = p[:, :, None] - n[:, None]
        keep = ~np.eye(len(near), dtype=bool)
        ahead.append(gap[keep].reshape(-1, len(slices)))
        share.append(np.tile(each / each.sum(), keep.sum()) / keep.sum())
    a, s = np.concatenate(ahead), np.concatenate(share) / len(share)

    def loss(beta: FloatArray) -> tuple[float, FloatArray]:
        theta = np.exp(beta)
        score = 8 * a @ theta
        slope = -s * 8 / (1 + np.exp(np.clip(score, -50, 50)))
        value = s @ np.logaddexp(0, -score) + 0.02 * beta @ beta / (2 * len(share))
        return float(value), (slope @ a) * theta + 0.02 * beta / len(share)

    start = np.zeros(len(slices))
    beta = optimize.minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=[(-6, 6)] * len(start)
    ).x
    out = np.ones(task.items.shape[1])
    for one, columns in zip(np.exp(beta), slices):
        out[columns] = one
    return out


def directions(task: Photos, groups: list[Group]) -> Surrogates:
    """Queries are pushed hard along the marks of the taught ones, also of far ones."""
    first = np.array([g.members[0] for g in groups])
    push = np.stack([task.items[g.members].mean(axis=0) for g in groups]) - task.items[first]

    def surrogates(q: FloatArray) -> FloatArray:
        near = q @ task.items[first].T
        near = np.exp((near - near.max(axis=1, keepdims=True)) / 0.1)
        return np.asarray(q + 2.0 * (near / near.sum(axis=1, keepdims=True)) @ push)

    return surrogates


# -- what the guard sees -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Compared:
    """Per query of the pool: what the rules need, and the truth."""

    width: NDArray[np.int64]
    new_right: NDArray[np.int64]
    old_right: NDArray[np.int64]
    first: FloatArray
    apart: FloatArray
    """First results that differ and stand in no draw, expected."""
    judged: FloatArray
    """Judged-only average precision and precision@1 of both, four columns."""
    true_map: float
    true_p1: float
    true_pk: float
    pictures: int

    @property
    def depth(self) -> int:
        """Results of both that are compared."""
        return depth(self.pictures)


def compared(task: Photos, surrogates: Surrogates) -> Compared:
    k = depth(len(task.items))
    scores = [v @ task.items.T for v in (surrogates(task.queries), task.queries)]
    ranked = [rank(s, task.relevant) for s in scores]
    truth = [[measure(r, name) for name in ("map", "p1")] for r in ranked]
    a, b = (np.argsort(-s, axis=1, kind="stable")[:, :k] for s in scores)
    own = (a[:, :, None] != b[:, None]).all(axis=2), (b[:, :, None] != a[:, None]).all(axis=2)
    right = [np.take_along_axis(task.relevant, x, axis=1) for x in (a, b)]
    width = own[0].sum(axis=1)
    differs = a[:, 0] != b[:, 0]
    drawn = np.minimum(DRAWN, width) / np.maximum(width, 1)
    apart = sum(differs * (1 - o[:, 0] * drawn) for o in own)
    judged = b[:, :MARKS]
    marks = np.take_along_axis(task.relevant, judged, axis=1)
    both = marks.any(axis=1) & ~marks.all(axis=1)
    columns = []
    for s in scores:
        told = rank(np.take_along_axis(s, judged, axis=1), marks)
        columns += [np.where(both, judged_average_precision(told), np.nan), measure(told, "p1")]
    true_map, true_p1 = (float(np.nanmean(new - old)) for new, old in zip(*truth))
    true_pk = float(np.mean(right[0].mean(axis=1) - right[1].mean(axis=1)))
    return Compared(
        width, (own[0] & right[0]).sum(axis=1), (own[1] & right[1]).sum(axis=1),
        right[0][:, 0].astype(float) - right[1][:, 0], apart, np.stack(columns, axis=1),
        true_map, true_p1, true_pk, len(task.items),
    )  # fmt: skip


def told(report: Report, name: str, model: str, found: Compared, replicates: int) -> None:
    null = model == "null"
    names = ("true_map", "true_p1", "true_pk")
    truth = {name: 0.0 if null else getattr(found, name) for name in names}
    rules = {"before": before, "disagreement": disagreement}
    for rule, passes in rules.items():
        if rule not in (report.settings.get("rule") or rules):
            continue
        for pressed in ("once", "every-10"):
            rng = np.random.default_rng([report.seed, len(model), len(pressed)])
            share, asked = passes(found, pressed == "every-10", null, replicates, rng)
            for size in SIZES:
                report.row(
                    data=name, model=model, **truth, rule=rule, pressed=pressed, queries=size,
                    passed=share[size], asked=asked[size],
                )  # fmt: skip


def disagreement(
    found: Compared, again: bool, null: bool, replicates: int, rng: np.random.Generator
) -> tuple[dict[int, float], dict[int, float]]:
    """Share of replicates that passed by each size, and the marks per query."""
    through = dict.fromkeys(SIZES, 0)
    for _ in range(replicates):
        rows = rng.integers(len(found.width), size=SIZES[-1])
        sign = rng.choice([-1.0, 1.0], size=len(rows)) if null else np.ones(len(rows))
        d = sign * estimates(found, rows, rng)
        spent, passed = 0, False
        for size in SIZES:
            if again:  # the last press gave the candidate a draw of its own
                d = sign * estimates(found, rows, rng)
            verdict = judge(
                d[:size], (sign * found.first[rows])[:size],
                pictures=found.pictures, spent=spent, k=found.depth,
            )  # fmt: skip
            spent, passed = look_at(size), passed or verdict.passed
            through[size] += passed
    asked = {}
    for size in SIZES:
        # A query that stood n presses back was drawn from n + 1 times.
        draws = np.arange(size, 0, -1) // 10 + 1 if again else np.ones(1)
        left = 1 - np.minimum(DRAWN, found.width) / np.maximum(found.width, 1)
        seen = (found.width[:, None] * (1 - left[:, None] ** draws)).mean()
        asked[size] = float(2 * seen + found.apart.mean())
    return {size: n / replicates for size, n in through.items()}, asked


def estimates(
    found: Compared, rows: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """The estimate of some queries, each with a draw of its own."""
    width = found.width[rows]
    count = np.minimum(DRAWN, width)
    shares = [
        rng.hypergeometric(right[rows], width - right[rows], count) / np.maximum(count, 1)
        for right in (found.new_right, found.old_right)
    ]
    return np.asarray(width / found.depth * (shares[0] - shares[1]))


def before(
    found: Compared, again: bool, null: bool, replicates: int, rng: np.random.Generator
) -> tuple[dict[int, float], dict[int, float]]:
    """The same by the rule before."""
    through = dict.fromkeys(SIZES, 0)
    for _ in range(replicates):
        rows = rng.integers(len(found.width), size=SIZES[-1])
        new_map, new_p1, old_map, old_p1 = found.judged[rows].T
        if null:
            flip = rng.random(len(rows)) < 0.5
            new_map, old_map = np.where(flip, (old_map, new_map), (new_map, old_map))
            new_p1, old_p1 = np.where(flip, (old_p1, new_p1), (new_p1, old_p1))

        def passes(n: int, columns: Any = (new_map, old_map, new_p1, old_p1)) -> bool:
            return judged_only(*(c[:n] for c in columns), draws=199, seed=rng).activate

        passed, done = False, 0
        for size in SIZES:
            tried = range(done + 10, size + 1, 10) if again else [size]
            if again:
                passed = passed or any(passes(n) for n in tried)
                done = size // 10 * 10
                through[size] += passed
            else:
                through[size] += passes(size)
    return {size: n / replicates for size, n in through.items()}, dict.fromkeys(SIZES, float(MARKS))


# -- end to end ----------------------------------------------------------------------------


def learned(report: Report, name: str, task: Photos, taught: int, replicates: int) -> None:
    """Another taught set per replicate; what passed, what it changes, what was asked."""
    change, passed, asked = [], [], []
    for number in range(replicates):
        seed = report.seed + 1000 + number
        found = compared(task, learn(task, task.groups(taught, seed), seed))
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(found.width))[:100]
        d, spent, good = estimates(found, rows, rng), 0, False
        for size in SIZES[:-1]:
            if size > len(rows):
                break
            verdict = judge(
                d[:size], found.first[rows][:size], pictures=found.pictures, spent=spent,
                k=found.depth,
            )  # fmt: skip
            spent, good = size, verdict.passed
            if good:
                break
        passed.append(good)
        change.append((found.true_map, found.true_p1))
        each = 2 * np.minimum(DRAWN, found.width) + found.apart
        asked.append(float(each[rows[:spent]].sum()))
    let = np.array(passed)
    for which, mask in (("all", np.ones(len(let), bool)), ("passed", let), ("refused", ~let)):
        if mask.any():
            mean = np.array(change)[mask].mean(axis=0)
            report.row(
                data=name, model=f"learned from {taught}", which=which, passed=float(let.mean()),
                true_map=float(mean[0]), true_p1=float(mean[1]),
                least_map=float(np.array(change)[mask, 0].min()),
                taught_marks=taught * MARKS, extra_asked=float(np.array(asked)[mask].mean()),
            )  # fmt: skip


def options(parser: argparse.ArgumentParser) -> None:
    """Parts of the whole."""
    parser.add_argument("--data", nargs="+", choices=SETS, help="sets (default: both)")
    parser.add_argument("--model", nargs="+", help="fixed models, by name (default: all)")
    parser.add_argument("--rule", nargs="+", help="before, disagreement (default: both)")


if __name__ == "__main__":
    run("guard", main, __doc__, options=options)
