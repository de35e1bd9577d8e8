"""Kuang et al. on MNIST with queries that chose nothing: the product's rows, Table 2, Fig. 4, 9.

The 1,000 queries are none of those of ``experiments.kuang_mnist``, on which part of our extension
was found; references, labels, C and M are as there.  ``reference-queries`` and ``bilinear`` are
what a collection learns from the same labels with its defaults: the paper's way with sigma and
strength chosen on left-out references, and our own learner.  ``strength`` rows are the paper's
way with each strength by itself.

Table 2 has the form of the paper's: the share of the relevant items in the united buckets of three
k-means trees of 1,000 clusters.  Fig. 4: one reference learns from its ten nearest items, for all
fresh queries whose ten nearest are of both kinds.  Fig. 9: the first 25 of four queries.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from experiments import policies
from experiments.kept import keep
from experiments.kuang_cifar10 import table2
from experiments.paper_plots import fig4, fig9
from experiments.paper_sets import (
    Floats,
    Ints,
    PaperSet,
    means,
    measured,
    mnist,
    planted,
    reference_rows,
)
from experiments.paper_teaching import SIGMA, Taught
from experiments.references import label_pairs
from experiments.report import Report, run
from experiments.sets import load_mnist
from likewise.evaluation import randomisation_test
from likewise.learners.bilinear_learner import BilinearLearner
from likewise.learners.own_settings import ReferenceSettings
from likewise.learners.plain import Plain
from likewise.learners.reference_learner import ReferenceLearner
from likewise.solvers.rank_many import rank_many
from likewise.spaces import Blocks

PARTS = ("literal", "pool500", "strengths", "table2", "fig4", "fig9")
COUNTS = (15, 50)
DRAWS = 3
SIGMAS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98)
SHOWN_SIGMAS = (0.0, 0.6, 0.95)
EXAMPLES, FIRST, MISTAKES = 4, 25, 5
"""Fig. 9: so many queries, their first results, and how many of these Euclid has wrong at least."""

OTHERS = 1_000
"""Queries of the other experiments."""

USUAL = ReferenceSettings()
Made = dict[str, tuple[Floats, dict[str, Any]]]
"""Surrogates by method, and what was chosen."""


def plain_of(dim: int) -> Plain:
    """Plain similarity of one block."""
    return Plain(Blocks.identity({"x": dim}))


def fresh(vectors: Floats, labels: Ints, count: int, seed: int) -> tuple[PaperSet, Ints, Ints]:
    """A set whose queries are none that the same seed draws elsewhere; rows of both parts."""
    others = min(max(count, OTHERS), len(vectors) // 2)
    used = np.random.default_rng(seed).choice(len(vectors), others, replace=False)
    rest = np.setdiff1d(np.arange(len(vectors)), used)
    rows = np.sort(np.random.default_rng([seed, 1]).choice(rest, count, replace=False))
    items = np.setdiff1d(np.arange(len(vectors)), rows)
    data = PaperSet(vectors[items], labels[items], vectors[rows], labels[rows])
    return data, items, rows


def learned_here(taught: Taught, seed: int) -> Made:
    """Surrogates by what a collection learns from the same labels, and what it chose."""
    data, plain = taught.data, plain_of(taught.data.items.shape[1])
    queries = np.asarray(data.queries, np.float64)
    items, asked = (np.asarray(a, np.float64) for a in (data.items, taught.references))
    paper = ReferenceLearner(plain, sigma=USUAL.sigma, strength=USUAL.strength, seed=seed)
    paper.fit(items, taught.preferences, asked)
    owner = np.repeat(np.arange(len(taught.own)), taught.rows.shape[1])
    value = np.where(taught.relevant.ravel(), 1.0, -1.0)
    place = (owner, taught.rows.ravel())
    marks = sparse.csr_array((value, place), shape=(len(taught.own), len(items)))
    ours = BilinearLearner(plain, seed=seed).fit(items, taught.preferences, asked, marks=marks)
    chosen = paper.report_.settings
    return {
        "reference-queries": (
            paper.similarity_.surrogates(queries),
            {"chosen": f"sigma {chosen['sigma']}, strength {chosen['strength']}"},
        ),
        "bilinear": (ours.similarity_.surrogates(queries), {"chosen": ours.report_.method}),
    }


def rows(
    report: Report, data: PaperSet, own: Ints, counts: tuple[int, ...], pool: int, kinds: Any
) -> None:
    """Every method on the same labels."""
    plain = measured(data.queries, data)
    report.row(method="euclid", **means(plain))
    for labels in kinds:
        for n in counts:
            found: dict[str, list[tuple[dict[str, Floats], dict[str, Any]]]] = {}
            draws = 1 if labels == "literal" or report.quick else report.settings.get("draws")
            for draw in range(draws or DRAWS):
                taught = Taught.by(labels, data, own, n, seed=report.seed + draw, pool=pool)
                made: Made = {}
                weights = taught.weights(SIGMA)
                made["paper"] = taught.surrogates(weights), {}
                made["clip"] = taught.surrogates(weights, clip=True), {}
                if not draw:  # it looks at all references for each strength
                    made["extension"] = taught.extension()[0], {}
                made |= learned_here(taught, report.seed)
                for method, (vectors, more) in made.items():
                    found.setdefault(method, []).append((measured(vectors, data), more))
            for method, runs in found.items():
                values = {m: np.mean([v[m] for v, _ in runs], axis=0) for m in plain}
                test = randomisation_test(values["map"], plain["map"])
                report.row(
                    method=method, labels=labels, n=n, draws=len(runs), **means(values),
                    p_value=test.p_value, **runs[0][1],
                )  # fmt: skip


def strengths(report: Report, data: PaperSet, own: Ints, n: int, pool: int) -> None:
    """The paper's way with each regulariser and strength by itself."""
    asked = np.asarray(data.queries, np.float64)
    for labels in ("literal", "pool500"):
        taught = Taught.by(labels, data, own, n, seed=report.seed, pool=pool)
        items = np.asarray(data.items, np.float64)
        for sigma in (0.95, None):
            for strength in (0.5, 1.0, 2.0, 4.0):
                learner = ReferenceLearner(plain_of(items.shape[1]), sigma=sigma, strength=strength)
                learner.fit(items, taught.preferences, np.asarray(taught.references, np.float64))
                found = measured(learner.similarity_.surrogates(asked), data)
                report.row(
                    method=f"strength {strength:g}, sigma {sigma}", labels=labels, n=n,
                    **means(found),
                )  # fmt: skip


def recalls(report: Report, data: PaperSet, taught: Taught, made: Made) -> None:
    """Table 2's form."""
    weights = taught.weights(SIGMA)
    vectors = {
        "euclid": data.queries,
        "qd-rsvm": taught.surrogates(taught.weights(0.0)),
        "paper": taught.surrogates(weights),
        "clip": taught.surrogates(weights, clip=True),
        "extension": taught.extension()[0],
        **{name: found for name, (found, _) in made.items()},
    }
    table2(report, data, vectors, *((30, (2, 4)) if report.quick else (1_000, (5, 10, 15, 20))))


def impact(report: Report, data: PaperSet, pictures: Any) -> None:
    """Fig. 4: length and angle of the weights that ten labels give, over sigma."""
    near = policies.top(data.items, data.queries, 10)
    right = data.item_labels[near] == data.query_labels[:, None]
    mixed = np.flatnonzero((right.sum(axis=1) >= 3) & (right.sum(axis=1) <= 7))
    if not len(mixed):
        return
    owner = np.repeat(np.arange(len(mixed)), 10)
    said = label_pairs(owner, near[mixed].ravel(), right[mixed].ravel())
    asked = np.asarray(data.queries[mixed], np.float64)
    ones = np.ones(asked.shape[1])
    norms, angles, shown = [], [], []
    for sigma in SIGMAS:
        w = rank_many(
            data.items, asked, said.query, said.better, said.worse, weights=said.weight, C=1.0,
            sigma=sigma, w0=ones, tol=1e-5,
        ).w  # fmt: skip
        length = np.linalg.norm(w, axis=1)
        angle = np.arccos(np.clip(w @ ones / (length * np.sqrt(len(ones))), -1, 1))
        norms.append(float(np.median(length)))
        angles.append(float(np.median(angle)))
        vectors = (w * asked).astype(np.float32)
        found = measured(vectors, _only(data, mixed), ("map", "p1"))
        report.row(
            method="ten labels", figure=4, sigma=sigma, queries=len(mixed), norm=norms[-1],
            angle=angles[-1], **means(found),
        )  # fmt: skip
        if sigma in SHOWN_SIGMAS:
            best = policies.top(data.items, vectors[:1], 10)[0]
            shown.append((f"sigma {sigma:g}", best, data.item_labels[best]))
    if pictures is not None:
        item, query = pictures
        label = data.query_labels[mixed[0]]
        strips = [
            (name, [query(mixed[0]), *map(item, best)], [True, *(of == label)])
            for name, best, of in shown
        ]
        fig4(report.path("kuang_fig4.png"), list(SIGMAS), norms, angles, strips)


def _only(data: PaperSet, rows: Ints) -> PaperSet:
    return PaperSet(data.items, data.item_labels, data.queries[rows], data.query_labels[rows])


def examples(report: Report, data: PaperSet, taught: Taught, made: Made, pictures: Any) -> None:
    """Fig. 9: the first results before and after, of the first queries that Euclid errs with."""
    vectors = {
        "Euclid": data.queries,
        "paper": taught.surrogates(taught.weights(SIGMA), clip=True),
        "ours": made["bilinear"][0],
    }
    best = {
        name: policies.top(data.items, v.astype(np.float32), FIRST) for name, v in vectors.items()
    }
    right: dict[str, NDArray[np.bool_]] = {
        name: data.item_labels[rows] == data.query_labels[:, None] for name, rows in best.items()
    }
    erring = np.flatnonzero((~right["Euclid"]).sum(axis=1) >= MISTAKES)
    for name, good in right.items():
        report.row(
            method=name,
            figure=9,
            queries=len(erring),
            right_of_25=float(good[erring].sum(1).mean()),
        )
    if pictures is not None and len(erring):
        item, query = pictures
        strips = [
            (name, [query(q), *map(item, best[name][q])], [True, *right[name][q]])
            for q in erring[:EXAMPLES].tolist()
            for name in vectors
        ]
        fig9(report.path("kuang_fig9.png"), strips)


def main(report: Report) -> None:
    parts = report.settings.get("parts") or PARTS
    quick, seed = report.quick, report.seed
    images: Any = None
    if quick:
        vectors, labels = planted(1_200, seed=seed)
        data, items, asked = fresh(vectors, labels, 100, seed)
        images = np.random.default_rng(seed).integers(0, 255, (1_200, 8, 8))
    else:
        vectors, labels, _ = mnist()
        images = load_mnist().images
        if report.settings.get("pictures"):  # a part of the set, for a shorter run
            some = slice(0, report.settings["pictures"])
            vectors, labels, images = vectors[some], labels[some], images[some]
        count = report.settings.get("queries") or 1_000
        data, items, asked = fresh(vectors, labels, count, seed)
    pictures = (lambda row: images[items[row]]), (lambda row: images[asked[row]])
    many = 40 if quick else len(data.items) // 69

    def medoids() -> Ints:
        return reference_rows(data.items, many, seed)

    told = f"mnist-medoids-{many}-{len(data.items)}-{seed}"
    own = medoids() if quick else keep(told, medoids)
    usual, pool = ((12,), 60) if quick else (COUNTS, 500)
    counts = tuple(report.settings.get("counts") or usual)
    kinds = [part for part in PARTS[:2] if part in parts]
    if kinds:
        rows(report, data, own, counts, pool, kinds)
    if "strengths" in parts:
        strengths(report, data, own, counts[-1], pool)
    taught = Taught.by("pool500", data, own, counts[-1], seed=seed, pool=pool)
    if "fig4" in parts:
        impact(report, data, pictures)
    if not {"table2", "fig9"} & set(parts):
        return
    made = learned_here(taught, seed)
    if "fig9" in parts:
        examples(report, data, taught, made, pictures)
    if "table2" in parts:
        recalls(report, data, taught, made)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--parts", nargs="+", choices=PARTS, help="some of it (default: all)")
    parser.add_argument("--queries", type=int, help="how many ask (default: 1,000)")
    parser.add_argument("--counts", type=int, nargs="+", help="labels N (default: 15, 50)")
    parser.add_argument("--pictures", type=int, help="of MNIST (default: all 70,000)")
    parser.add_argument("--draws", type=int, help=f"pools (default: {DRAWS})")


if __name__ == "__main__":
    run("kuang_fresh", main, __doc__, options=options)
