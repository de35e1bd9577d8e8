"""The methods that the top-precision experiments compare, each with six tried settings.

A setting is chosen by top precision on validation queries; test queries are looked at once,
with the chosen model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from experiments.report import Report
from experiments.rivals.oasis import Oasis
from experiments.rivals.rank_svm import BilinearRankSvm
from experiments.score_ranking import rank
from likewise.evaluation import evaluate
from likewise.learners.own_settings import TopPrecisionSettings
from likewise.learners.plain import Plain
from likewise.learners.top_precision import TopPrecisionLearner

SERVED = TopPrecisionSettings()
MEASURES = ("top_precision", "map", "p1")


@dataclass(frozen=True, eq=False)
class Split:
    """Items with classes, and disjoint queries to learn from, to choose by and to test on."""

    plain: Plain
    items: Any
    item_labels: Any
    train: tuple[Any, Any]
    validation: tuple[Any, Any]
    test: tuple[Any, Any]


def several(**values: Sequence[Any]) -> list[dict[str, Any]]:
    """Every combination of the values."""
    return [dict(zip(values, chosen)) for chosen in product(*values.values())]


METHODS: Mapping[str, tuple[Any, list[dict[str, Any]]]] = {
    "rsvm-diagonal": (
        BilinearRankSvm(diagonal=True),
        several(C=(1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)),
    ),
    "rsvm-full": (BilinearRankSvm(), several(C=(1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 1.0))),
    "oasis": (Oasis(), several(steps=(50_000, 200_000), C=(1e-3, 1e-2, 1e-1))),
    "mtps-exact": (
        TopPrecisionLearner(solver="exact"),
        several(lam=(0.0, 1.0), C=(1e-3, 1e-2, 1e-1)),
    ),
    "mtps-fast": (
        TopPrecisionLearner(solver="fast"),
        several(lam=(0.0, 1.0), C=(1e-3, 1e-2, 1e-1)),
    ),
    "mtps-served": (
        TopPrecisionLearner(solver=SERVED.solver, C=SERVED.C, lam=SERVED.lam, loss=SERVED.loss),
        [{}],
    ),
}
"""Learner and the settings that it tries: six each.  The last one is what a collection learns: it
tries its six itself, and none that loses more than .01 of precision@1 on validation queries.
"""

QUICK: Mapping[type, dict[str, Any]] = {
    BilinearRankSvm: {"triplets": 1_000},
    Oasis: {"steps": 1_000},
    TopPrecisionLearner: {"epochs": 3},
}
"""What a quick run changes."""


def contest(report: Report, data: Split, **about: Any) -> dict[str, float]:
    """Rows for plain cosine and every method on one split; top precision by method."""
    plain = np.diag(data.plain.w0)
    found = {"cosine": plain}
    seconds = {"cosine": 0.0}
    settings: dict[str, dict[str, Any]] = {"cosine": {}}
    chosen = report.settings.get("methods") or METHODS
    for name, (learner, tried) in ((name, METHODS[name]) for name in chosen):
        best = -1.0
        for setting in tried[: 2 if report.quick else None]:
            small = QUICK.get(type(learner), {}) if report.quick else {}
            setting = {**setting, **small}
            model = fitted(learner, setting, data, report.seed)
            value = judge(model.similarity_.matrix, data, data.validation)["top_precision"]
            if value > best:
                best, found[name] = value, model.similarity_.matrix
                seconds[name], settings[name] = model.report_.seconds, setting
    out = {}
    for name, matrix in found.items():
        measures = judge(matrix, data, data.test)
        out[name] = measures["top_precision"]
        report.row(
            method=name, **about, **measures, seconds=seconds[name], setting=_words(settings[name])
        )
    return out


def fitted(learner: Any, setting: dict[str, Any], split: Split, seed: int) -> Any:
    """A method with one setting, fitted on a split."""
    model = clone(learner).set_params(**setting, plain=split.plain, seed=seed)
    queries, labels = split.train
    more = {"validation": split.validation} if isinstance(model, TopPrecisionLearner) else {}
    return model.fit(split.items, split.item_labels, queries, query_labels=labels, **more)


def judge(matrix: Any, split: Split, asked: tuple[Any, Any]) -> dict[str, float]:
    """Measures of z'Wx over the split's items, for these queries and their classes."""
    queries, labels = asked
    scores = (queries @ matrix) @ split.items.T
    relevant = np.asarray(labels)[:, None] == np.asarray(split.item_labels)[None, :]
    return evaluate(rank(scores, relevant), MEASURES)


def _words(setting: dict[str, Any]) -> str:
    return " ".join(f"{key}={value:g}" for key, value in setting.items())


def summary(report: Report, splits: list[dict[str, float]]) -> None:
    """Mean over splits, and each method's worst ratio to a baseline on a split."""
    against = "oasis" if "oasis" in splits[0] else "cosine"
    report.say("mean over splits; ratio is the smallest over splits")
    for name in splits[0]:
        values = [s[name] for s in splits]
        ratios = [s[name] / s[against] if s[against] else float("inf") for s in splits]
        report.row(
            method=f"mean {name}",
            top_precision=float(np.mean(values)),
            ratio=float(min(ratios)),
            peer=against,
        )
