"""The ranking solver beside liblinear, OSQP and Clarabel, on problems of 50 items.

A problem: 50 items, 18 relevant and 32 not, so 576 preferences, ``z_i = x_q o x_i`` for unit
vectors of 260 dimensions with a falling spectrum, C = 1 (the setting of query-dependent
bilinear similarity), and some harder settings.

Every solver has to reach the same gap.  The lower bound of the optimum comes from our own
dual solution at tolerance 1e-11 (a feasible dual point is a bound whoever found it), and the
upper bound is the primal objective of each solver's ``w``, computed by numpy.  ``rule``:
``relative`` is ``gap <= 1e-5 * max(1, objective)``, ``absolute`` is ``gap <= 1e-5``.

Our time is all of ``rank()``, checks included.  Peers get their matrices ready-made and the
loosest tolerance of a ladder (factor 10) that reaches the gap, found beforehand for each
problem.  liblinear is called without estimator through ``train_wrap``, dual hinge solver, on
signed differences in which the metric has been taken up.  OSQP and Clarabel solve the
primal lifted to (w, scores of the items, slacks), whose constraints are sparse, with the
metric taken up likewise: on the difference matrix itself OSQP took more than ten times as long.
Seconds: median over problems of the best of five runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import clarabel
import numpy as np
import osqp
from scipy import sparse
from sklearn.svm import _liblinear

from experiments.report import Report, best_of, run
from likewise.solvers.rank_many import rank_many
from likewise.solvers.ranking import rank

GAP = 1e-5
RUNS = 5
Solve = Callable[[float], Any]


class Problem(NamedTuple):
    """Items, preferences, and the explicit matrices that peers need."""

    Z: Any
    better: Any
    worse: Any
    C: float
    sigma: float
    X: Any
    A: Any
    lower: float

    def allowed(self, rule: str) -> float:
        """The largest gap that counts as solved."""
        return GAP * max(1.0, self.lower) if rule == "relative" else GAP

    def gap(self, w: Any) -> float:
        """How far above the lower bound the objective of ``w`` is."""
        broken = np.maximum(0, 1 - self.X @ w)
        return float(0.5 * w @ self.A @ w + self.C * broken.sum() - self.lower)


def vectors(rng: np.random.Generator, count: int, dim: int, classes: int = 10) -> tuple[Any, Any]:
    """Unit vectors of some classes, with a spectrum that falls as that of pictures does."""
    spread = np.arange(1, dim + 1) ** -0.5
    centres = rng.standard_normal((classes, dim)) * spread
    label = rng.integers(0, classes, count)
    x = 0.6 * centres[label] + rng.standard_normal((count, dim)) * spread
    return x / np.linalg.norm(x, axis=1, keepdims=True), label


def label_items(
    x: Any, label: Any, query: int, pool: Any, relevant: int, others: int
) -> tuple[Any, Any]:
    """The nearest relevant and the nearest irrelevant items of a pool."""
    near = pool[np.argsort(-(x[pool] @ x[query]), kind="stable")]
    near = near[near != query]
    same = label[near] == label[query]
    return near[same][:relevant], near[~same][:others]


def make(rng: np.random.Generator, dim: int, C: float, sigma: float) -> Problem:
    x, label = vectors(rng, 600, dim)
    good, bad = label_items(x, label, 0, np.arange(600), 18, 32)
    Z = x[0] * x[np.r_[good, bad]]
    better = np.repeat(np.arange(len(good)), len(bad))
    worse = np.tile(len(good) + np.arange(len(bad)), len(good))
    best = rank(Z, better, worse, C=C, sigma=sigma, tol=1e-11, max_sweeps=100_000)
    X, A = Z[better] - Z[worse], np.eye(dim) - sigma / dim
    return Problem(Z, better, worse, C, sigma, X, A, best.objective - best.gap)


# --------------------------------------------------------------------------
# One function a solver: what is made ready outside of the clock, and the call inside it.


def ours(problem: Problem, rule: str) -> Solve:
    tol = GAP if rule == "relative" else GAP / max(1.0, problem.lower)
    Z, better, worse, C, sigma = problem[:5]
    return lambda _: rank(Z, better, worse, C=C, sigma=sigma, tol=tol).w


def liblinear(problem: Problem, rule: str) -> Solve:
    root, n = root_of(problem), len(problem.X)
    label = np.arange(n, dtype=np.float64) % 2
    rows = np.ascontiguousarray((problem.X @ root) * (2 * label - 1)[:, None])
    ones = np.ones(n)
    _liblinear.set_verbosity_wrap(0)

    def solve(tol: float) -> Any:
        raw, _ = _liblinear.train_wrap(
            rows, label, False, 3, tol, -1.0, problem.C, np.ones(2), 1_000_000, 0, 0.0, ones
        )
        return root @ raw.ravel()

    return solve


def root_of(problem: Problem) -> Any:
    """``A^(-1/2)``: in ``v = A^(1/2) w`` the regulariser is the identity."""
    values, basis = np.linalg.eigh(problem.A)
    return basis @ np.diag(values**-0.5) @ basis.T


def quadratic(problem: Problem) -> tuple[Any, Any, Any, Any, Any]:
    """(P, q, G, low, high) over v = A^(1/2) w, the scores s = Z w, and the slacks."""
    Z = problem.Z @ root_of(problem)
    (items, dim), n = Z.shape, len(problem.X)
    diagonal = np.r_[np.ones(dim), np.zeros(items + n)]
    P = sparse.csc_matrix(sparse.diags(diagonal))
    q = np.r_[np.zeros(dim + items), np.full(n, problem.C)]
    each = sparse.identity(n)
    place = (np.r_[0:n, 0:n], np.r_[problem.better, problem.worse])
    pairs = sparse.csc_matrix((np.r_[np.ones(n), -np.ones(n)], place), shape=(n, items))
    scores = (sparse.csc_matrix(Z), -sparse.identity(items), sparse.csc_matrix((items, n)))
    kept = (sparse.csc_matrix((n, dim)), pairs, each)
    slack = (sparse.csc_matrix((n, dim + items)), each)
    G = sparse.vstack([sparse.hstack(row) for row in (scores, kept, slack)])
    low = np.r_[np.zeros(items), np.ones(n), np.zeros(n)]
    high = np.r_[np.zeros(items), np.full(2 * n, np.inf)]
    return P, q, sparse.csc_matrix(G), low, high


def by_osqp(problem: Problem, rule: str) -> Solve:
    P, q, G, low, high = quadratic(problem)
    dim, root = problem.Z.shape[1], root_of(problem)

    def solve(tol: float) -> Any:
        solver = osqp.OSQP()
        solver.setup(P, q, G, low, high, eps_abs=tol, eps_rel=tol, max_iter=100_000, verbose=False)
        return root @ solver.solve(raise_error=False).x[:dim]

    return solve


def by_clarabel(problem: Problem, rule: str) -> Solve:
    P, q, G, low, high = quadratic(problem)
    dim, root = problem.Z.shape[1], root_of(problem)
    equal = int((low == high).sum())
    cones = [clarabel.ZeroConeT(equal), clarabel.NonnegativeConeT(len(low) - equal)]

    def solve(tol: float) -> Any:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
        solver = clarabel.DefaultSolver(P, q, -G, -low, cones, settings)
        return root @ np.asarray(solver.solve().x)[:dim]

    return solve


SOLVERS: dict[str, Callable[[Problem, str], Solve]] = {
    "ours": ours,
    "liblinear": liblinear,
    "osqp": by_osqp,
    "clarabel": by_clarabel,
}


def loosest(problem: Problem, rule: str, solve: Solve) -> float:
    """The loosest tolerance of the ladder that reaches the gap."""
    for exponent in range(1, 12):
        tol = 10.0**-exponent
        if problem.gap(solve(tol)) <= problem.allowed(rule):
            return tol
    return tol


def against_peers(report: Report, dim: int, C: float, sigma: float, rule: str) -> None:
    rng = np.random.default_rng(report.seed)
    problems = [make(rng, dim, C, sigma) for _ in range(1 if report.quick else 8)]
    setting = {"rule": rule, "items": 50, "preferences": len(problems[0].X), "dim": dim}
    setting |= {"C": C, "sigma": sigma}
    rows: dict[str, dict[str, Any]] = {}
    for name, build in SOLVERS.items():
        seconds, gaps = [], []
        for problem in problems:
            solve = build(problem, rule)
            tol = loosest(problem, rule, solve)
            seconds.append(best_of(RUNS, lambda s=solve, t=tol: s(t)))  # type: ignore[misc]
            scale = problem.allowed(rule) / GAP
            gaps.append(problem.gap(solve(tol)) / scale)
        measured = {"gap": max(gaps), "seconds": float(np.median(seconds))}
        rows[name] = report.row(method=name, **setting, **measured)
    mine = rows.pop("ours")
    for name, row in rows.items():
        ratio = mine["seconds"] / row["seconds"]
        report.row(method="ours", peer=name, **setting, gap=mine["gap"], ratio=ratio)


def throughput(report: Report, items: int, dim: int, sigma: float) -> None:
    """Many problems at once, as for the reference queries of a collection."""
    rng = np.random.default_rng(report.seed)
    count = 50 if report.quick else 2000
    x, label = vectors(rng, 20 * items, dim)
    problem, better, worse = [], [], []
    queries = rng.integers(0, len(x), count)
    for r, query in enumerate(queries):
        pool = rng.choice(len(x), 10 * items, replace=False)
        good, bad = label_items(x, label, query, pool, items * 18 // 50, items - items * 18 // 50)
        better.append(np.repeat(good, len(bad)))
        worse.append(np.tile(bad, len(good)))
        problem.append(np.full(len(good) * len(bad), r))
    columns = [np.concatenate(column) for column in (problem, better, worse)]
    found = rank_many(x, x[queries], *columns, sigma=sigma)
    seconds = best_of(2, lambda: rank_many(x, x[queries], *columns, sigma=sigma))
    report.row(
        method="ours, rank_many",
        n=count,
        items=items,
        dim=dim,
        sigma=sigma,
        preferences=len(columns[0]),
        gap=float(np.max(found.gap / np.maximum(1, found.objective))),
        seconds=seconds,
        per_second=count / seconds,
    )


def refit(report: Report, dim: int) -> None:
    """One more mark on a query that has been learned: from scratch, and from the last answer."""
    rng = np.random.default_rng(report.seed)
    problem = make(rng, dim, 1.0, 0.95)
    Z, better, worse = problem[:3]
    before = better != better[-1]  # without the last mark
    old = rank(Z, better[before], worse[before], sigma=0.95)
    start = np.ones(len(better))
    start[before] = old.alpha
    for name, alpha in (("ours, cold", None), ("ours, warm", start)):
        call = partial(rank, Z, better, worse, sigma=0.95, alpha=alpha)
        found, seconds = call(), best_of(20, call)
        gap = found.gap / max(1.0, found.objective)
        report.row(method=name, marks=50, dim=dim, sigma=0.95, gap=gap, seconds=seconds)


def main(report: Report) -> None:
    rank([[0.0], [1.0]], [1], [0])  # compile or load outside of the clock
    if report.quick:
        against_peers(report, 60, 1.0, 0.95, "relative")
    else:
        for C, sigma in ((1.0, 0.0), (1.0, 0.95), (100.0, 0.95)):
            for rule in ("relative", "absolute"):
                against_peers(report, 260, C, sigma, rule)
    report.say()
    for items, dim in ((15, 60),) if report.quick else ((15, 60), (50, 60), (50, 1000)):
        throughput(report, items, dim, 0.95)
    report.say()
    refit(report, 60 if report.quick else 260)


if __name__ == "__main__":
    run("ranking", main, __doc__)
