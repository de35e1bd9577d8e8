"""One collection, two ways to look: taught by colour here and by motif there.

Swatches in the default space.  For queries with a motif of curves or scattered things a simulated
person marks results that agree in colour, for queries with a motif of straight lines results that
agree in the motif; one mark in twenty is a mistake.  Held-out
queries of both kinds, never marked, are searched with plain similarity and with what was learned;
``named`` is the share of them for which the explanation names the right block as favoured most:
colour for those taught by colour, another block for those taught by motif.

    python -m experiments.taught_swatches --out docs/images

Two contact sheets, before and after, show the same four held-out queries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.policies import mixed
from experiments.references import label_pairs
from experiments.report import Report, run
from experiments.score_ranking import rank
from experiments.sets import simulate_labels
from experiments.sets.simulated import By, relevance
from experiments.sheets import SheetRow, sheet_of_rows
from likewise.collection.lines.defaults import FEATURES, SPECS, WEIGHTS
from likewise.datasets import SwatchSet, swatches
from likewise.evaluation import measure, randomisation_test
from likewise.features import feature_set
from likewise.learners import Plain
from likewise.learners.bilinear import Bilinear
from likewise.learners.bilinear_learner import BilinearLearner
from likewise.spaces import Blocks
from likewise.types import Preferences

KINDS: tuple[By, By] = ("colour", "motif")
LINES = ("bricks", "checks", "chevrons", "diamonds", "hexagons", "plaid", "stripes", "triangles")
"""Motifs whose queries are judged by motif; the others are judged by colour."""

NOISE = 0.05
"""Share of marks that are mistakes."""


class World:
    """Swatches, their vectors, and who is judged by what."""

    def __init__(self, report: Report) -> None:
        quick = report.quick
        self.swatches: SwatchSet = swatches(200 if quick else 2000, 64 if quick else 128, 0)
        self.pictures = self.swatches.render_all(jobs=1 if quick else -1)
        # The network takes most of the time; a toy run does with what is computed by hand.
        blocks = ("shape", "colour") if quick else FEATURES
        parts = [
            feature_set(blocks, threads=2)(self.pictures[at : at + 100])
            for at in range(0, len(self.pictures), 100)
        ]
        features = {b: np.concatenate([part[b] for part in parts]) for b in blocks}
        space = Blocks.fit(features, {b: SPECS[b] for b in blocks})
        self.x = space.transform(features).astype(np.float64)
        self.plain = Plain(space, {b: 1.0 if quick else WEIGHTS[b] for b in blocks})
        by_colour = ~np.isin(self.swatches.truth["motif"], LINES)
        order = np.random.default_rng(report.seed).permutation(len(self.x))
        self.rows = {"colour": order[by_colour[order]], "motif": order[~by_colour[order]]}

    def split(self, count: int, kind: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Taught queries of a kind, and held-out ones; near-copies of taught ones are neither."""
        rows = self.rows[kind]
        taught, rest = rows[:count], rows[count:]
        group = self.swatches.truth["group"]
        return taught, rest[~np.isin(group[rest], group[taught])]


def main(report: Report) -> None:
    world = World(report)
    count, marks = (36, 16) if report.quick else (200, 30)
    model = learn(world, count, marks, report)
    picked: list[tuple[By, int]] = []
    for kind in KINDS:
        held = world.split(count, kind)[1][: 60 if report.quick else 300]
        truth = relevance(world.swatches, held, kind)
        before = measured(world, world.x[held] * world.plain.w0, truth, held)
        after = measured(world, model.surrogates(world.x[held]), truth, held)
        draws = 2000 if report.quick else 100_000
        test = randomisation_test(after["map"], before["map"], draws=draws, seed=report.seed)
        named = [names_right_block(model, world.x[row], kind) for row in held]
        report.row(method="plain", by=kind, queries=len(held), **means(before))
        report.row(
            method="taught", by=kind, queries=len(held), **means(after),
            p_value=test.p_value, named=float(np.mean(named)), block=favoured(model, world.x[held]),
        )  # fmt: skip
        # The median gain: neither the best case nor the worst.
        gain = np.argsort(after["map"] - before["map"])
        picked += [(kind, int(held[gain[len(held) * part // 8]])) for part in (4, 5)]
    draw(world, model, picked, report)


def learn(world: World, count: int, marks: int, report: Report) -> Bilinear:
    parts = []
    for kind in KINDS:
        rows = world.split(count, kind)[0]
        shown = mixed(
            world.x * np.sqrt(world.plain.w0), world.x[rows] * np.sqrt(world.plain.w0),
            marks + 1, reach=min(500, len(world.x) // 2), seed=report.seed,
        )  # fmt: skip
        said = simulate_labels(
            world.swatches, rows, by=kind, per_query=marks, noise=NOISE, seed=report.seed,
            candidates=list(shown),
        )  # fmt: skip
        parts.append(label_pairs(said.query, said.item, said.relevant))
    columns = zip(*((p.query, p.better, p.worse, p.weight) for p in parts))
    preferences = Preferences(*(np.concatenate(column) for column in columns))
    learner = BilinearLearner(
        world.plain,
        extension="groups+tastes" if report.quick else "auto",  # too few there to choose
        seed=report.seed,
    ).fit(world.x, preferences)
    report.say(f"{learner.report_.method}, held out: {dict(learner.report_.held_out)}")
    assert isinstance(learner.similarity_, Bilinear)
    return learner.similarity_


def measured(world: World, vectors: Any, truth: Any, own: Any) -> dict[str, NDArray[Any]]:
    ranked = rank(vectors @ world.x.T, truth, leave_out=own)
    return {name: measure(ranked, name) for name in ("map", "p1", "p10")}


def means(values: dict[str, NDArray[Any]]) -> dict[str, float]:
    return {name: float(np.nanmean(own)) for name, own in values.items()}


def favoured(model: Bilinear, queries: Any) -> str:
    """The block that the teaching favours most for these queries together."""
    shares = [model.emphasis(q) for q in queries]
    mean = {block: float(np.mean([s[block] for s in shares])) for block in shares[0]}
    return max(mean, key=lambda block: mean[block])


def names_right_block(model: Bilinear, query: Any, kind: str) -> bool:
    return (favoured(model, [query]) == "colour") == (kind == "colour")


def draw(world: World, model: Bilinear, picked: list[tuple[By, int]], report: Report) -> None:
    """Two sheets: the same queries before and after."""
    sheets = {"before": world.plain.surrogate, "after": model.surrogate}
    for when, surrogate in sheets.items():
        rows = []
        for kind, query in picked:
            scores = world.x @ surrogate(world.x[query]).vector
            scores[query] = np.inf
            first = np.argsort(-scores, kind="stable")[:9]
            good = relevance(world.swatches, [query], kind)[0]
            said = ["query", *("relevant" if good[i] else "not" for i in first[1:])]
            pictures = [world.pictures[i] for i in first]
            rows.append(SheetRow(pictures, f"taught by {kind}", marks=said))
        path = report.path(f"taught-{when}.jpg")
        sheet_of_rows(rows, path, columns=9, cell=96)
        report.say(f"wrote {path}")


if __name__ == "__main__":
    run("taught_swatches", main, __doc__)
