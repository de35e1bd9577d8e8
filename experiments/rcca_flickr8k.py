"""Ranked CCA on Flickr8k: captions find photographs, photographs find each other.

Clicks are simulated from the captions of the training part (see ``experiments.click_log``), and
picture features are the 1,000 class scores of the network, as in the paper.  Every method is
given the same triplets (CCA: the clicked pairs, counts left aside) and tries four settings, of
which the one with the best NDCG@10 on the captions of the dev part is kept:

    cca, cca-weighted   ridge of the words x ridge of the pictures
    pamir               C
    psi                 step x size of the random start
    psi-cca             step x scale of the CCA start
    rcca                step x first W (identity; correlations, at a smaller scale)
    rcca-identity       step x scale of the CCA start; W stays the identity

Methods that start at CCA start at the one with the default ridge.  Tasks: ``test`` (captions of
the test part, graded by whose caption it is and by shared words), ``crowd`` (what people said of
test captions and pictures; only judged pictures are ranked), ``picture`` (a picture as the
query).  ``p_value`` is that of the difference to ``rcca`` in NDCG@10, by 100,000 random swaps.
Figures 5 and 6 of the paper are drawn as plots.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.click_log import (
    Log,
    Part,
    World,
    flickr8k,
    picture_truth,
    simulate,
    toy,
    truth,
    vocabulary_of,
)
from experiments.report import Report, run
from likewise.evaluation import ndcg, ndcg_paper, randomisation_test, rank
from likewise.learners.baselines.cca import cca_similarity
from likewise.learners.baselines.pamir import fit_pamir
from likewise.learners.baselines.psi import fit_psi, random_start
from likewise.learners.clicks import Clicks
from likewise.solvers.cca import CCA, cca
from likewise.solvers.rcca import Model, Settings, rcca, scaled
from likewise.spaces import unit_rows

DIM, DIMS = 80, (40, 60, 80, 100)
TRIPLETS = 200_000
RIDGE = (1.0, 0.3)
RIDGES = tuple((q, v) for q in (1.0, 3.0) for v in (0.3, 1.0))
CS = (0.3, 1.0, 3.0, 10.0)
STEPS = (0.004, 0.008)
FROM_IDENTITY = tuple((step, 1.0, "identity") for step in (0.002, 0.004))
FROM_CORRELATIONS = tuple((step, 0.3, "correlations") for step in (0.003, 0.006))
RANDOM_STEPS = (0.06, 0.12)
MARGINS = (0.5, 1.0)
SMALL = (0.1, 0.3)
Array = NDArray[Any]
Setting = tuple[Any, ...]


class Task(NamedTuple):
    """Texts, pictures, and the grade of each picture for each text (NaN: not judged)."""

    texts: Any
    x: Array
    grades: Array

    def values(self, model: Clicks) -> tuple[Array, Array]:
        """NDCG@10 and the paper's NDCG@25 of every text."""
        scores = ((self.texts @ model.wq) @ model.w) @ (self.x @ model.wv).T
        return graded(scores, self.grades)


def graded(scores: Array, grades: Array) -> tuple[Array, Array]:
    """Both measures of a score matrix; what nobody judged goes to the end."""
    low = scores.min() - 1.0
    ranked = rank(np.where(np.isnan(grades), low, scores), np.nan_to_num(grades))
    return ndcg(ranked, 10), ndcg_paper(ranked, 25)


class Bench:
    """Training data and the methods, each a function of one of its settings."""

    def __init__(self, world: World, log: Log, texts: Any, seed: int) -> None:
        self.world, self.log, self.texts, self.seed = world, log, texts, seed
        self.x = world.train.x
        self._found: dict[tuple[float, float], CCA] = {}
        p = log.triplets
        shuffled = np.random.default_rng([seed, 9]).permutation(len(p))
        self.triplets = p.where(shuffled)

    def found(self, ridge: tuple[float, float], dim: int) -> CCA:
        """CCA of the clicked pairs; the directions of a smaller one are the first of a larger."""
        if ridge not in self._found:
            pairs = self.log.query, self.log.item
            most = min(max(DIMS), self.x.shape[1])
            self._found[ridge] = cca(self.texts, self.x, *pairs, dim=most, ridge=ridge)
        c = self._found[ridge]
        return CCA(c.wq[:, :dim], c.wv[:, :dim], c.rho[:dim], c.residual)

    def cca(self, setting: Setting, dim: int, count: int) -> Clicks:
        """Plain CCA."""
        return cca_similarity(self.world.space, self.found(setting[0], dim))

    def cca_weighted(self, setting: Setting, dim: int, count: int) -> Clicks:
        """Each direction times its correlation."""
        return cca_similarity(self.world.space, self.found(setting[0], dim), weighted=True)

    def pamir(self, setting: Setting, dim: int, count: int) -> Clicks:
        """Passive-aggressive steps."""
        first = self.triplets.where(np.arange(count))
        return fit_pamir(self.world.space, self.x, first, self.texts, C=setting[0], seed=self.seed)

    def psi(self, setting: Setting, dim: int, count: int) -> Clicks:
        """Random start."""
        start = random_start(self.texts.shape[1], self.x.shape[1], dim, self.seed)
        return self._psi(start, setting, count)

    def psi_cca(self, setting: Setting, dim: int, count: int) -> Clicks:
        """Start at CCA."""
        c = self.found(RIDGE, dim)
        return self._psi(Model(c.wq, np.eye(len(c.rho)), c.wv), setting, count)

    def _psi(self, start: Model, setting: Setting, count: int) -> Clicks:
        first, (step, margin) = self.triplets.where(np.arange(count)), setting
        return fit_psi(
            self.world.space, self.x, first, self.texts, start=start, step=step, margin=margin,
            rounds=2, round_size=count // 2, seed=self.seed,
        )  # fmt: skip

    def rcca(self, setting: Setting, dim: int, count: int) -> Clicks:
        """Ranked CCA."""
        step, margin, first = setting
        return self._rcca(step, margin, first == "correlations", True, dim, count)

    def rcca_identity(self, setting: Setting, dim: int, count: int) -> Clicks:
        """Ranked CCA with W held at the identity."""
        return self._rcca(*setting, False, False, dim, count)

    def _rcca(
        self, step: float, margin: float, weighted: bool, learn_w: bool, dim: int, count: int
    ) -> Clicks:
        c, p = self.found(RIDGE, dim), self.triplets.where(np.arange(count))
        triplets = (p.query, p.better, p.worse)
        w = np.diag(c.rho) if weighted else np.eye(len(c.rho))
        start = scaled(Model(c.wq, w, c.wv), self.texts, self.x, triplets, margin)
        # One pass; the weights are averaged over its second half.
        how = Settings(step=step, learn_w=learn_w, rounds=2, round_size=count // 2, seed=self.seed)
        return Clicks(self.world.space, *rcca(self.texts, self.x, triplets, start, how).model)


def grids() -> dict[str, tuple[Callable[..., Clicks], list[Setting]]]:
    """Every method and its four settings."""
    return {
        "cca": (Bench.cca, [(r,) for r in RIDGES]),
        "cca-weighted": (Bench.cca_weighted, [(r,) for r in RIDGES]),
        "pamir": (Bench.pamir, [(c,) for c in CS]),
        "psi": (Bench.psi, [(s, m) for s in RANDOM_STEPS for m in SMALL]),
        "psi-cca": (Bench.psi_cca, [(s, m) for s in STEPS for m in MARGINS]),
        "rcca": (Bench.rcca, [*FROM_IDENTITY, *FROM_CORRELATIONS]),
        "rcca-identity": (Bench.rcca_identity, [(s, m) for s in STEPS for m in MARGINS]),
    }


def main(report: Report) -> None:
    world = toy(report.seed) if report.quick else flickr8k(report)
    total = 3_000 if report.quick else TRIPLETS
    dim = 20 if report.quick else DIM
    vocabulary = vocabulary_of(world.train)
    log = simulate(world.train, vocabulary, total, report.seed)
    bench = Bench(world, log, vocabulary.transform(world.train.texts), report.seed)
    count = len(log.triplets)
    report.say(
        f"{len(world.train.texts)} texts of {len(vocabulary)} words, {len(log.query)} clicked "
        f"pairs, {count} triplets"
    )

    def task(part: Part) -> Task:
        return Task(vocabulary.transform(part.texts), part.x, truth(part, part, vocabulary))

    dev, test = task(world.dev), task(world.test)
    crowd = Task(vocabulary.transform(world.judged_texts), world.test.x, world.judged)
    chosen, models = choose(bench, dev, dim, count)
    for name, of in (("test", test), ("crowd", crowd)):
        tabulate(report, name, {m: of.values(model) for m, model in models.items()}, chosen)
    between_pictures(report, world, models, vocabulary, bench)
    figures(report, bench, chosen, test, dim, count)


def choose(
    bench: Bench, dev: Task, dim: int, count: int
) -> tuple[dict[str, Setting], dict[str, Clicks]]:
    """The best of each method's settings on the dev part, and its model."""
    chosen: dict[str, Setting] = {}
    models: dict[str, Clicks] = {}
    for method, (fit, settings) in grids().items():
        best = -np.inf
        for setting in settings:
            model = fit(bench, setting, dim, count)
            value = float(np.nanmean(dev.values(model)[0]))
            print(f"    {method} {setting}: dev {value:.4f}", flush=True)
            if value > best:
                best, chosen[method], models[method] = value, setting, model
    return chosen, models


def tabulate(
    report: Report,
    task: str,
    values: dict[str, tuple[Array, Array]],
    chosen: dict[str, Setting],
) -> None:
    """A row a method, with the test of its difference to ranked CCA."""
    ours = values["rcca"][0]
    for method, (ten, paper) in values.items():
        p_value = None if method == "rcca" else randomisation_test(ours, ten).p_value
        report.row(
            method=method,
            task=task,
            ndcg10=float(np.nanmean(ten)),
            ndcg25_paper=float(np.nanmean(paper)),
            p_value=p_value,
            queries=int(np.isfinite(ten).sum()),
            setting=str(chosen.get(method, "")),
        )


def between_pictures(
    report: Report, world: World, models: dict[str, Clicks], vocabulary: Any, bench: Bench
) -> None:
    """Every test picture as a query for the others."""
    x = world.test.x
    grades = picture_truth(world.test, vocabulary, report.seed)
    values, vectors = np.linalg.eigh(np.cov(bench.x.T))
    axes = vectors[:, np.argsort(-values)[: len(models["rcca"].w)]]
    model = models["rcca"]
    projected = {
        "cosine": unit_rows(x),
        "pca": unit_rows((x - bench.x.mean(axis=0)) @ axes),
        "cca": unit_rows(x @ models["cca"].wv),
        "cca-weighted": unit_rows(x @ models["cca-weighted"].wv @ models["cca-weighted"].w),
        "psi": unit_rows(x @ models["psi"].wv),
        "psi-cca": unit_rows(x @ models["psi-cca"].wv),
        "rcca-equation-9": x @ model.wv,
        "rcca": unit_rows(x @ model.wv @ model.w.T),
    }
    found = {}
    for method, codes in projected.items():
        scores = codes @ codes.T
        np.fill_diagonal(scores, scores.min() - 1.0)
        found[method] = graded(scores, grades)
    tabulate(report, "picture", found, {})


def figures(
    report: Report, bench: Bench, chosen: dict[str, Setting], test: Task, dim: int, count: int
) -> None:
    """Figure 5 (dimensions) and figure 6 (triplets), at each method's chosen setting."""
    dims = (5, 10) if report.quick else DIMS
    counts = [n for n in (300, 1_000, 10_000, 30_000, 100_000) if count // 30 < n < count] + [count]
    methods = ("cca", "cca-weighted", "psi", "psi-cca", "rcca")
    fits = grids()
    by_dim: dict[str, list[float]] = {method: [] for method in methods}
    for d in dims:
        for method in methods:
            model = fits[method][0](bench, chosen[method], d, count)
            by_dim[method].append(float(np.nanmean(test.values(model)[1])))
            report.row(method=method, figure=5, dim=d, ndcg25_paper=by_dim[method][-1])
    by_count: dict[str, list[float]] = {f"d = {d}": [] for d in sorted({dims[0], dim})}
    for name, values in by_count.items():
        for n in counts:
            model = bench.rcca(chosen["rcca"], int(name.split()[-1]), n)
            values.append(float(np.nanmean(test.values(model)[1])))
            report.row(method="rcca", figure=6, dim=name, triplets=n, ndcg25_paper=values[-1])
    draw(report, "rcca-dimensions.png", list(dims), by_dim, "Dimensions", log=False)
    draw(report, "rcca-triplets.png", counts, by_count, "Triplets", log=True)


def draw(
    report: Report,
    file: str,
    xs: list[int],
    lines: dict[str, list[float]],
    label: str,
    *,
    log: bool,
) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for name, ys in lines.items():
        axes.plot(xs, ys, marker="o", label=name)
    if log:
        axes.set_xscale("log")
    axes.set(xlabel=label, ylabel="NDCG@25 (the paper's)")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(report.path(file), dpi=110)


if __name__ == "__main__":
    run("rcca_flickr8k", main, __doc__)
