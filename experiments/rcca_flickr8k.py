"""Ranked CCA on Flickr8k: captions find photographs, photographs find each other.

Clicks are simulated from the captions of the training part (see ``experiments.click_log``), and
picture features are the 1,000 class scores of the network, as in the paper.  Every method is
given the same triplets (CCA: the clicked pairs, counts left aside) and tries six settings, a grid
of two by three (PAMIR: a row of six), of which the one with the best NDCG@10 on the captions of
the dev part is kept:

    cca, cca-weighted             ridge of the words x ridge of the pictures
    pamir                         C
    psi                           step x size of the random start
    psi-cca, rcca, rcca-weighted, rcca-identity
                                  step x ridge of the pictures in the CCA that it starts at

(``rcca-weighted`` starts W at the correlations instead of the identity.)

Settings are chosen with the clicks of the first seed and half of the triplets.  Then everything is
done anew for every seed, with all triplets: clicks, random starts, order of the descent.

Tasks: ``test`` (captions of the test part, graded by whose caption it is and by shared words),
``crowd`` (what people said of test captions and pictures; only judged pictures are ranked),
``picture`` (a picture as the query).  Rows without a ``seed`` are means over the seeds; their
``p_value`` is that of the difference to ``rcca`` in each query's mean NDCG@10, by 100,000 random
swaps.  Figures 5 and 6 of the paper are drawn as plots; figures 4 and 7 as sheets of the first ten
results by each method, for the first captions and pictures that the seed draws.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
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
from experiments.rivals.cca import cca_similarity
from experiments.rivals.pamir import fit_pamir
from experiments.rivals.psi import fit_psi, random_start
from experiments.score_ranking import rank
from experiments.sets import load_flickr8k
from experiments.sheets import SheetRow, sheet_of_rows
from likewise.evaluation import Ranked, ndcg, randomisation_test
from likewise.learners.clicks import Clicks
from likewise.solvers.cca import CCA, cca
from likewise.solvers.rcca import Model, Settings, rcca, scaled
from likewise.spaces import unit_rows

DIM, DIMS = 80, (40, 60, 80, 100)
TRIPLETS = 200_000
SEEDS = 3
RIDGE = 1.0
"""Of the words, in the CCA that a descent starts at."""
WORD_RIDGES, RIDGES = (1.0, 3.0), (0.3, 1.0, 3.0)
CS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
STEPS, START_RIDGES = (0.002, 0.004, 0.008), (0.3, 1.0)
RANDOM_STEPS = (0.015, 0.03, 0.06)
SMALL = (0.03, 0.1)
Array = NDArray[Any]
Setting = tuple[Any, ...]
EXAMPLES, SHOWN, TOP, CELL = ("cca", "pamir", "psi", "rcca"), 2, 10, 84
"""Methods, queries, results and pixels of the sheets of examples."""
EXCELLENT = 3.0
"""The best grade: excellent = 3, good = 2, bad = 0."""


class Task(NamedTuple):
    """Texts, pictures, and the grade of each picture for each text (NaN: not judged)."""

    texts: Any
    x: Array
    grades: Array

    def values(self, model: Clicks) -> tuple[Array, Array]:
        """NDCG@10 and the paper's NDCG@25 of every text."""
        scores = ((self.texts @ model.wq) @ model.w) @ (self.x @ model.wv).T
        return graded(scores, self.grades)


def ndcg_paper(ranked: Ranked, cut: int) -> Array:
    """NDCG as the paper has it: normalised by ``cut`` items of the best grade.

    ``Z sum_{j <= cut} (2^r_j - 1) / log(1 + j)`` with grades 3 (excellent), 2 (good) and 0 (bad),
    and Z such that ``cut`` excellent items make 1.  A query with few excellent items cannot reach
    1, whatever the ranking.
    """
    seen = ranked.ranks <= cut
    gain = (np.exp2(ranked.grades[seen].astype(np.float64)) - 1) / np.log1p(ranked.ranks[seen])
    total = np.bincount(ranked.query[seen], gain, len(ranked))
    best = ((2.0**EXCELLENT - 1) / np.log1p(np.arange(1, cut + 1))).sum()
    return np.where(ranked.relevant > 0, total / best, np.nan)


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
        self._fitted: dict[tuple[Any, ...], Clicks] = {}
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

    def fit(self, method: str, setting: Setting, dim: int, count: int) -> Clicks:
        """A method's model, once learned and then remembered."""
        key = method, setting, dim, count
        if key not in self._fitted:
            self._fitted[key] = grids()[method][0](self, setting, dim, count)
        return self._fitted[key]

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
        step, ridge = setting
        c = self.found((RIDGE, ridge), dim)
        return self._psi(Model(c.wq, np.eye(len(c.rho)), c.wv), (step, 1.0), count)

    def _psi(self, start: Model, setting: Setting, count: int) -> Clicks:
        first, (step, margin) = self.triplets.where(np.arange(count)), setting
        return fit_psi(
            self.world.space, self.x, first, self.texts, start=start, step=step, margin=margin,
            rounds=2, round_size=count // 2, seed=self.seed,
        )  # fmt: skip

    def rcca(self, setting: Setting, dim: int, count: int) -> Clicks:
        """Ranked CCA."""
        return self._rcca(setting, True, dim, count)

    def rcca_weighted(self, setting: Setting, dim: int, count: int) -> Clicks:
        """Ranked CCA with W started at the correlations."""
        return self._rcca(setting, True, dim, count, weighted=True)

    def rcca_identity(self, setting: Setting, dim: int, count: int) -> Clicks:
        """Ranked CCA with W held at the identity."""
        return self._rcca(setting, False, dim, count)

    def _rcca(
        self, setting: Setting, learn_w: bool, dim: int, count: int, *, weighted: bool = False
    ) -> Clicks:
        step, ridge = setting
        c, p = self.found((RIDGE, ridge), dim), self.triplets.where(np.arange(count))
        triplets = (p.query, p.better, p.worse)
        first = Model(c.wq, np.diag(c.rho) if weighted else np.eye(len(c.rho)), c.wv)
        start = scaled(first, self.texts, self.x, triplets, 1.0)
        # One pass; the weights are averaged over its second half.
        how = Settings(step=step, learn_w=learn_w, rounds=2, round_size=count // 2, seed=self.seed)
        return Clicks(self.world.space, *rcca(self.texts, self.x, triplets, start, how).model)


def grids() -> dict[str, tuple[Callable[..., Clicks], list[Setting]]]:
    """Every method and its six settings."""
    ridges = [((q, v),) for q in WORD_RIDGES for v in RIDGES]
    starts = list(product(STEPS, START_RIDGES))
    return {
        "cca": (Bench.cca, ridges),
        "cca-weighted": (Bench.cca_weighted, ridges),
        "pamir": (Bench.pamir, [(c,) for c in CS]),
        "psi": (Bench.psi, list(product(RANDOM_STEPS, SMALL))),
        "psi-cca": (Bench.psi_cca, starts),
        "rcca": (Bench.rcca, starts),
        "rcca-weighted": (Bench.rcca_weighted, starts),
        "rcca-identity": (Bench.rcca_identity, starts),
    }


Values = dict[str, tuple[Array, Array]]


def main(report: Report) -> None:
    world = toy(report.seed) if report.quick else flickr8k(report)
    total = 3_000 if report.quick else TRIPLETS
    dim = 20 if report.quick else DIM
    vocabulary = vocabulary_of(world.train)
    texts = vocabulary.transform(world.train.texts)

    def bench_of(seed: int) -> Bench:
        return Bench(world, simulate(world.train, vocabulary, total, seed), texts, seed)

    def task(part: Part) -> Task:
        return Task(vocabulary.transform(part.texts), part.x, truth(part, part, vocabulary))

    dev, test = task(world.dev), task(world.test)
    crowd = Task(vocabulary.transform(world.judged_texts), world.test.x, world.judged)
    between = picture_truth(world.test, vocabulary, report.seed)
    first = bench_of(report.seed)
    report.say(
        f"{len(world.train.texts)} texts of {len(vocabulary)} words, {len(first.log.query)} "
        f"clicked pairs, {len(first.log.triplets)} triplets"
    )
    chosen = choose(report, first, dev, dim)
    values: dict[str, list[Values]] = {"test": [], "crowd": [], "picture": []}
    for seed in range(report.seed, report.seed + SEEDS):
        bench = first if seed == report.seed else bench_of(seed)
        models = {m: bench.fit(m, chosen[m], dim, len(bench.triplets)) for m in chosen}
        values["test"].append({m: test.values(model) for m, model in models.items()})
        values["crowd"].append({m: crowd.values(model) for m, model in models.items()})
        values["picture"].append(between_pictures(world, models, between))
        if seed == report.seed:
            examples(report, world, models, test, between)
        for name, found in values.items():
            for method, (ten, paper) in found[-1].items():
                report.row(method=method, task=name, seed=seed, **means(ten, paper))
    for name, found in values.items():
        tabulate(report, name, found, chosen)
    figures(report, first, chosen, test, dim)


def choose(report: Report, bench: Bench, dev: Task, dim: int) -> dict[str, Setting]:
    """The best of each method's settings on the dev part, with half of the triplets."""
    chosen: dict[str, Setting] = {}
    for method, (_, settings) in grids().items():
        best = -np.inf
        for setting in settings:
            model = bench.fit(method, setting, dim, len(bench.triplets) // 2)
            value = float(np.nanmean(dev.values(model)[0]))
            report.row(method=method, task="dev", setting=str(setting), ndcg10=value)
            if value > best:
                best, chosen[method] = value, setting
    return chosen


def means(ten: Array, paper: Array) -> dict[str, float]:
    """Both measures over all queries."""
    return {"ndcg10": float(np.nanmean(ten)), "ndcg25_paper": float(np.nanmean(paper))}


def tabulate(report: Report, task: str, found: list[Values], chosen: dict[str, Setting]) -> None:
    """A row a method: means over the seeds, and the test of the difference to ranked CCA."""
    mean = {m: [np.mean([v[m][i] for v in found], axis=0) for i in (0, 1)] for m in found[0]}
    ours = mean["rcca"][0]
    for method, (ten, paper) in mean.items():
        p_value = None if method == "rcca" else randomisation_test(ours, ten).p_value
        report.row(
            method=method,
            task=task,
            **means(ten, paper),
            p_value=p_value,
            queries=int(np.isfinite(ten).sum()),
            setting=str(chosen.get(method, "")),
        )


def between_pictures(world: World, models: dict[str, Clicks], grades: Array) -> Values:
    """Every test picture as a query for the others."""
    found = {}
    for method, codes in projections(world, models).items():
        scores = codes @ codes.T
        np.fill_diagonal(scores, scores.min() - 1.0)
        found[method] = graded(scores, grades)
    return found


def projections(world: World, models: dict[str, Clicks]) -> dict[str, Array]:
    """Test pictures as each method sees them: the product of two is how alike they are."""
    x, seen, model = world.test.x, world.train.x, models["rcca"]
    values, vectors = np.linalg.eigh(np.cov(seen.T))
    axes = vectors[:, np.argsort(-values)[: len(model.w)]]
    return {
        "cosine": unit_rows(x),
        "pca": unit_rows((x - seen.mean(axis=0)) @ axes),
        "cca": unit_rows(x @ models["cca"].wv),
        "cca-weighted": unit_rows(x @ models["cca-weighted"].wv @ models["cca-weighted"].w),
        "psi": unit_rows(x @ models["psi"].wv),
        "psi-cca": unit_rows(x @ models["psi-cca"].wv),
        "rcca-equation-9": x @ model.wv,
        "rcca": unit_rows(x @ model.wv @ model.w.T),
        "rcca-weighted": unit_rows(x @ models["rcca-weighted"].wv @ models["rcca-weighted"].w.T),
    }


def examples(
    report: Report, world: World, models: dict[str, Clicks], test: Task, between: Array
) -> None:
    """Figures 4 and 7: what each method finds first for two captions and two pictures."""
    rng = np.random.default_rng([report.seed, 4])
    pictures = shown(report, len(world.test.x))
    texts = rng.choice(len(world.test.texts), SHOWN, replace=False).tolist()
    queries = rng.choice(len(world.test.x), SHOWN, replace=False).tolist()
    by_words: list[SheetRow] = []
    for at in texts:
        for method in EXAMPLES:
            model = models[method]
            scores = ((test.texts[[at]] @ model.wq) @ model.w) @ (world.test.x @ model.wv).T
            first = np.argsort(-np.asarray(scores)[0], kind="stable")[:TOP]
            title = f"{world.test.texts[at]}: {method}" if method == EXAMPLES[0] else method
            by_words.append(row_of(pictures, first, test.grades[at], title))
    sheet_of_rows(by_words, report.path("rcca-words.jpg"), columns=TOP, cell=CELL, quality=80)
    codes, by_pictures = projections(world, models), list[SheetRow]()
    for at in queries:
        for method in ("cosine", *(m for m in EXAMPLES if m != "pamir")):
            scores = codes[method] @ codes[method][at]
            others = np.argsort(-scores, kind="stable")
            first = others[others != at][: TOP - 1]
            found = row_of(pictures, first, between[at], method)
            by_pictures.append(
                SheetRow([pictures(at), *found.pictures], method, (), ["query", *found.marks])
            )
    sheet_of_rows(by_pictures, report.path("rcca-pictures.jpg"), columns=TOP, cell=CELL, quality=80)


def shown(report: Report, count: int) -> Callable[[int], Array]:
    """Test pictures by row; grey ones in a quick run."""
    if report.quick:
        return lambda at: np.full((32, 32, 3), 255 * at // count, np.uint8)
    flickr = load_flickr8k()
    rows = np.flatnonzero(flickr.split == "test")
    return lambda at: np.asarray(flickr.pictures[int(rows[at])])


def row_of(pictures: Callable[[int], Array], first: Array, grades: Array, title: str) -> SheetRow:
    """Results in a row; what is excellent or good has a green frame, the others a red one."""
    marks = ["relevant" if grades[at] > 0 else "not" for at in first.tolist()]
    return SheetRow([pictures(at) for at in first.tolist()], title, (), marks)


def figures(report: Report, bench: Bench, chosen: dict[str, Setting], test: Task, dim: int) -> None:
    """Figure 5 (dimensions, half of the triplets) and figure 6 (triplets), as chosen."""
    count = len(bench.triplets)
    dims = (5, 10) if report.quick else DIMS
    counts = [n for n in (300, 1_000, 10_000, 30_000, 100_000) if count // 30 < n < count] + [count]
    methods = ("cca", "cca-weighted", "psi", "psi-cca", "rcca")
    by_dim: dict[str, list[float]] = {method: [] for method in methods}
    for d in dims:
        for method in methods:
            model = bench.fit(method, chosen[method], d, count // 2)
            by_dim[method].append(float(np.nanmean(test.values(model)[1])))
            report.row(method=method, figure=5, dim=d, ndcg25_paper=by_dim[method][-1])
    by_count: dict[str, list[float]] = {f"d = {d}": [] for d in sorted({dims[0], dim})}
    for name, values in by_count.items():
        for n in counts:
            model = bench.fit("rcca", chosen["rcca"], int(name.split()[-1]), n)
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
