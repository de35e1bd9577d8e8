"""The board beside SMACOF: how much do pictures cover each other, and what does that cost?

Boards of 50 pictures with side .10 of the box: a random photograph of Corel5k (a swatch where the
run is quick) and its 50 nearest by colour and texture.  ``stress`` is Kruskal's stress-1 at the
best scale, ``overlap`` the share of the pictures' area that others cover, ``trust`` the
trustworthiness at 7 neighbours, ``ratio`` the stress over SMACOF's on the same boards; all means.
SMACOF (scikit-learn, best of 4 starts) knows no box: its result is fitted into the same one.
``--out FOLDER`` gets a picture of one board.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.manifold import MDS, trustworthiness

from experiments.board_picture import draw_board
from experiments.layout_measures import distances, overlap, stress
from experiments.photo_features import photo_features, photos
from experiments.report import Report, run
from likewise.layout.board import SIDE, arrange, classical
from likewise.learners.metric import balanced_scale
from likewise.types import FloatArray

BOARDS, PICTURES = 40, 50
LAMBDAS = (0.0, 0.02, 0.1, 0.2)


def main(report: Report) -> None:
    x = vectors(report)
    rng = np.random.default_rng(report.seed)
    boards = 3 if report.quick else BOARDS
    queries = rng.choice(len(x), boards, replace=False)
    nearest = [np.argsort(((x - x[q]) ** 2).sum(axis=1), kind="stable") for q in queries]
    shown = [order[1 : PICTURES + 1] for order in nearest]
    methods: dict[str, Callable[[int], FloatArray]] = {
        "smacof": lambda b: in_box(smacof(x[shown[b]])),
        "classical MDS": lambda b: in_box(classical(distances(x[shown[b]]))),
        "board (default)": lambda b: arrange(x[shown[b]]),
        "board, query at centre": lambda b: arrange(x[shown[b]], query=x[queries[b]]),
        "board on a grid": lambda b: arrange(x[shown[b]], grid=True),
    }

    def balanced(entropy: float, b: int) -> FloatArray:
        return arrange(x[shown[b]], entropy=entropy)

    for value in LAMBDAS:
        name = f"board, lambda {value:g}"
        methods[name] = partial(balanced, value)
    arrange(x[shown[0]])  # compiled before the clock runs
    peer = 0.0
    for name, place in methods.items():
        began = time.perf_counter()
        found = [place(b) for b in range(boards)]
        seconds = (time.perf_counter() - began) / boards
        values = np.array(
            [
                (
                    stress(distances(x[rows]), y),
                    overlap(y, SIDE),
                    trustworthiness(x[rows], y, n_neighbors=7),
                )
                for rows, y in zip(shown, found)
            ]
        ).mean(axis=0)
        peer = peer or float(values[0])
        report.row(
            method=name,
            n=PICTURES,
            stress=values[0],
            overlap=values[1],
            trust=values[2],
            ratio=values[0] / peer,
            peer="smacof",
            seconds=seconds,
        )
    picture(report, x, int(queries[0]), shown[0])


def vectors(report: Report) -> FloatArray:
    raw = photo_features("corel5k", report, ("hsv_histogram", "texture"))
    x = np.hstack(list(raw.values())).astype(np.float64)
    blocks = {"colour": slice(0, 36), "texture": slice(36, 54)}
    return np.asarray(x * np.sqrt(balanced_scale(x, blocks)))


def smacof(x: FloatArray) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # defaults that will change in a later version
        model = MDS(2, n_init=4, max_iter=300, random_state=0, normalized_stress=False)
        return np.asarray(model.fit_transform(x))


def in_box(y: FloatArray) -> FloatArray:
    """The same layout, as large as the box allows."""
    low, high = y.min(axis=0), y.max(axis=0)
    scale = (1 - SIDE) / float((high - low).max())
    return np.asarray((y - (low + high) / 2) * scale + 0.5)


def picture(report: Report, x: FloatArray, query: int, shown: Any) -> None:
    pictures = photos("corel5k", report).pictures
    place = arrange(x[shown], query=x[query], side=SIDE)
    file = report.path("board.jpg")
    draw_board([pictures[int(i)] for i in shown], place, file, query=pictures[query])
    report.say(f"a board is in {file}")


if __name__ == "__main__":
    run("layout_quality", main, __doc__)
