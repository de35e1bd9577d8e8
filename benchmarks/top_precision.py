"""Top precision: time to a gap of 1e-2 of P(W0) - P*, growth, memory, a peer, and search.

C = 1e-2, lambda = 1; MNIST in 64 dimensions (points around class centres where ``--quick``).
Rows ``fig2`` give the seconds of CPU that each method of the contest takes on MNIST and on Corel5k
in the default space (the paper's Fig. 2), rows ``exact`` seconds by n (queries) and m (items), rows
``growth`` the exponent over the whole range, row ``clarabel`` the general QP solver on the full
dual of a tiny problem, and rows ``search`` the time of a search with this model and with plain
similarity on one and the same index.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.clarabel_peer import solve_full_dual, state
from experiments.mtps_mnist import make_split as of_digits
from experiments.mtps_photos import QUERIES
from experiments.mtps_photos import make_split as of_photos
from experiments.photo_features import photo_features, photos
from experiments.report import Report, best_of, peak_mib, run
from experiments.sets import load_mnist
from experiments.top_precision_contest import METHODS, QUICK, fitted
from likewise.index.flat import FlatIndex
from likewise.learners.plain import Plain
from likewise.learners.top_precision import TopPrecision
from likewise.solvers.top_precision import solve
from likewise.spaces import Blocks, BlockSpec, unit_rows

DIM = 64


USUAL: dict[str, dict[str, Any]] = {
    "rsvm-diagonal": {"C": 1e-2},
    "rsvm-full": {"C": 1e-2},
    "oasis": {"C": 1e-2, "steps": 200_000},
    "mtps-exact": {"C": 1e-2, "lam": 1.0},
    "mtps-fast": {"C": 1e-2, "lam": 1.0},
}
"""One setting of each method for Fig. 2."""


def main(report: Report) -> None:
    fig2(report)
    if report.settings.get("fig2"):
        return
    most = 400, (2_000 if report.quick else 40_000)
    z, z_labels, x, x_labels = (clusters if report.quick else digits)(*most, seed=report.seed)
    warm = z_labels[:10, None] == x_labels[None, :200]
    solve(z[:10], x[:200], warm, prior=np.eye(DIM), rounds=1)

    def timed(n: int, m: int) -> float:
        relevant = sparse.csr_array(z_labels[:n, None] == x_labels[None, :m])
        start = time.perf_counter()
        fit = solve(z[:n], x[:m], relevant, prior=np.eye(DIM), seed=report.seed)
        seconds = time.perf_counter() - start
        report.row(
            method="exact", n=n, items=m, seconds=seconds, gap=fit.relative_gap,
            rounds=fit.dual.rounds, rss_mib=peak_mib(),
        )  # fmt: skip
        return seconds

    by_m = [500, 2_000] if report.quick else [1_000, 2_500, 5_000, 10_000, 20_000, 40_000]
    by_n = [20, 40] if report.quick else [50, 100, 200, 400]
    growth(report, "m", by_m, [timed(by_n[-1] // 2, m) for m in by_m])
    growth(report, "n", by_n, [timed(n, by_m[-1] // (1 if report.quick else 4)) for n in by_n])
    if not report.quick:
        timed(400, 40_000)
    tiny(report)
    search(report, x)


def fig2(report: Report) -> None:
    """Seconds of CPU that each method takes to learn, compiled before."""
    if report.quick:
        labels = np.arange(420) % 5
        pixels = np.random.default_rng(report.seed).normal(size=(420, 30)) + 2 * labels[:, None]
        splits = {"planted": of_digits(pixels, labels, (300, 30, 30, 60), report.seed)}
    else:
        mnist = load_mnist()
        pixels = mnist.images.reshape(len(mnist.images), -1).astype(np.float32) / 255
        features, names = photo_features("corel5k", report), photos("corel5k", report).labels
        splits = {
            "mnist": of_digits(pixels, mnist.labels, (5_000, 200, 200, 1_000), report.seed),
            "corel5k": of_photos(features, names, QUERIES["corel5k"], report.seed),
        }
    for data, split in splits.items():
        for name, setting in USUAL.items():
            learner, tried = METHODS[name]
            small = QUICK.get(type(learner), {}) if report.quick else {}
            fitted(learner, {**tried[0], **QUICK.get(type(learner), {})}, split, report.seed)
            began = time.process_time()
            fitted(learner, {**setting, **small}, split, report.seed)
            report.row(
                method=f"fig2, {name}", data=data, n=len(split.train[0]), items=len(split.items),
                dim=split.items.shape[1], cpu_seconds=time.process_time() - began,
            )  # fmt: skip


def digits(n: int, m: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Queries and items of MNIST: unit length, PCA to 64, unit length."""
    mnist = load_mnist()
    rows = np.random.default_rng(seed).permutation(len(mnist.labels))[: n + m]
    pixels = {"pixels": mnist.images[rows].reshape(n + m, -1).astype(np.float32)}
    space = Blocks.fit(pixels, {"pixels": BlockSpec(DIM, unit_first=True)}, sample=10_000)
    points, labels = space.transform(pixels).astype(np.float64), mnist.labels[rows]
    return points[:n], labels[:n], points[n:], labels[n:]


def clusters(n: int, m: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Queries and items of ten overlapping classes, each a few clumps, of unit length."""
    rng = np.random.default_rng(seed)
    scale = np.linspace(1.0, 0.2, DIM)
    centres = rng.normal(size=(10, 6, DIM)) * scale
    labels = rng.integers(10, size=n + m)
    clump = rng.integers(6, size=n + m)
    points = unit_rows(centres[labels, clump] + 1.1 * rng.normal(size=(n + m, DIM)) * scale)
    return points[:n], labels[:n], points[n:], labels[n:]


def growth(report: Report, what: str, sizes: list[int], seconds: list[float]) -> None:
    """The exponent of a power law through the times."""
    slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    report.row(method="growth", of=what, exponent=float(slope))


def tiny(report: Report) -> None:
    """The same tiny problem by this solver and by a general QP solver on the full dual."""
    rng = np.random.default_rng(report.seed)
    n, m, d = (4, 20, 4) if report.quick else (10, 60, 6)
    z, x = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    relevant = (rng.random((n, m)) < 0.2).astype(float)
    relevant[:, 0], relevant[:, 1] = 1.0, 0.0
    prior = np.eye(d)
    options: dict[str, Any] = {"cost": 1e-2, "prior": prior, "tolerance": 1e-6}
    ours = best_of(3, lambda: solve(z, x, relevant, **options))
    problem = state(z, x, relevant, prior, 1e-2)
    peer = best_of(3, lambda: solve_full_dual(problem, 1e-6))
    report.row(
        method="exact", n=n, items=m, dim=d, seconds=ours, peer="clarabel",
        peer_seconds=peer, ratio=ours / peer,
    )  # fmt: skip


def search(report: Report, x: Any) -> None:
    """One static index, asked through plain similarity and through this model."""
    space = Blocks.identity({"x": DIM})
    codes = space.encode(x).astype(np.float32)
    index = FlatIndex.build(codes, space=space.fingerprint)
    rng = np.random.default_rng(report.seed)
    models = {
        "plain": Plain(space),
        "full": TopPrecision(space, rng.normal(size=(DIM, DIM))),
    }
    asked = codes[:200]
    plain = 0.0
    for name, model in models.items():

        def ask(model: Any = model) -> None:
            for query in asked:
                index.search(model.surrogate(query), 10)

        ask()
        seconds = best_of(5, ask) / len(asked)
        plain = plain or seconds
        report.row(
            method=f"search, {name}", items=len(codes), p50_ms=seconds * 1e3, peer="plain",
            ratio=seconds / plain,
        )  # fmt: skip


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fig2", action="store_true", help="the methods' times only")


if __name__ == "__main__":
    run("top_precision", main, __doc__, options=options)
