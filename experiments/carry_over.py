"""Teach some queries: what have fresh queries, never marked, learned from it?

Corel5k in the default space.  Pictures of the collection are taught queries: a simulated
person marks the first 10 or 30 plain results of each of 20, 100, 500, 1,500 of them.  The 499
test pictures are the fresh queries.  Every form of the bilinear similarity is measured on them
(MAP, precision@1 and @10), beside one global matrix by OASIS.  ``ours`` is the form that the
learner chooses by itself on what the taught queries said; the guard then decides, on judgements
held out from it, whether it may serve, and says why not.

    python -m experiments.carry_over --json results/carry_over.json

``p_value`` is a randomisation test of the row's MAP against plain, ``coverage`` the share of
taught queries whose marks are of both kinds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.photo_tasks import Task, photo_task
from experiments.report import Report, run
from experiments.rivals.oasis import Oasis
from likewise.evaluation import measure, randomisation_test, rank
from likewise.evaluation.guard import Verdict, guard
from likewise.learners.bilinear import Bilinear
from likewise.learners.bilinear_learner import BilinearLearner
from likewise.learners.references import label_pairs
from likewise.learners.teachings import judge, taught
from likewise.types import Preferences

TAUGHT = (20, 100, 500, 1500)
MARKS = (10, 30)
FORMS = ("diagonal", "directions", "diagonal+local", "global", "global+local")
FOLDS = 4


def main(report: Report) -> None:
    task = photo_task("corel5k", report)
    base = measured(task, task.queries * task.plain.w0)
    plain_row = {key: float(np.nanmean(v)) for key, v in base.items()}
    report.row(method="plain", taught=0, marks=0, **plain_row)
    sizes = (10, 80) if report.quick else TAUGHT
    for count in sizes:
        for marks in MARKS[:1] if report.quick else MARKS:
            preferences, coverage = teach(task, count, marks, report.seed)
            shared = {"taught": count, "marks": marks, "coverage": coverage}
            for name, vectors in learned(task, preferences, report).items():
                tell(report, name, measured(task, vectors), base, **shared)
            ours(report, task, preferences, base, shared)


def teach(task: Task, count: int, marks: int, seed: int) -> tuple[Preferences, float]:
    """Preferences of ``count`` items whose first results somebody marked."""
    assert task.labels is not None
    rows = np.random.default_rng(seed).choice(len(task.items), count, replace=False)
    scores = (task.items[rows] * task.plain.w0) @ task.items.T
    scores[np.arange(count), rows] = -np.inf  # nobody marks the query itself
    shown = np.argsort(-scores, axis=1, kind="stable")[:, :marks]
    good = task.labels[shown] == task.labels[rows][:, None]
    pairs = label_pairs(np.repeat(rows, marks), shown.ravel(), good.ravel())
    return pairs, float((good.any(axis=1) & ~good.all(axis=1)).mean())


def learner(task: Task, extension: Any, seed: int) -> BilinearLearner:
    return BilinearLearner(task.plain, extension=extension, seed=seed)


def learned(task: Task, preferences: Preferences, report: Report) -> dict[str, NDArray[Any]]:
    """Surrogates of the fresh queries, by form."""
    out = {}
    for form in FORMS:
        model = learner(task, form, report.seed).fit(task.items, preferences).similarity_
        assert isinstance(model, Bilinear)  # there is something to learn from
        out[form] = model.surrogates(task.queries)
    steps = 1000 if report.quick else 30_000
    # C with the benefit of hindsight: the best of 1e-4, 3e-4, 1e-3 and 3e-3 on these queries.
    rival = Oasis(task.plain, C=1e-4, steps=steps, max_queries=10_000, seed=report.seed)
    out["oasis"] = task.queries @ rival.fit(task.items, preferences).similarity_.matrix
    return out


def measured(task: Task, surrogates: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
    ranked = rank(surrogates @ task.items.T, task.relevant)
    return {name: measure(ranked, name) for name in ("map", "p1", "p10")}


def ours(
    report: Report, task: Task, preferences: Preferences, base: Any, shared: dict[str, Any]
) -> None:
    """What the learner chooses, and what the guard says of it."""
    fitted = learner(task, "auto", report.seed).fit(task.items, preferences)
    verdict = guarded(task, preferences, report)
    model = fitted.similarity_
    vectors = (
        model.surrogates(task.queries)
        if hasattr(model, "surrogates")
        else task.queries * task.plain.w0
    )
    report.say(f"  chosen: {fitted.report_.settings}  seconds: {fitted.report_.seconds:.1f}")
    report.say(f"  {verdict.sentence}")
    tell(
        report, "ours", measured(task, vectors), base,
        activated=verdict.activate, needed=verdict.needed, guard=verdict.sentence, **shared,
    )  # fmt: skip


def guarded(task: Task, preferences: Preferences, report: Report) -> Verdict:
    """Every taught query held out once: learned without it, choice of the form included."""
    rows = np.unique(preferences.query)
    fold = np.random.default_rng(report.seed).permutation(len(rows)) % FOLDS
    mine: list[Any] = []
    plain: list[Any] = []
    for number in range(FOLDS):
        held = np.isin(preferences.query, rows[fold == number])
        if not held.any() or held.all():
            continue
        fitted = learner(task, "auto", report.seed).fit(task.items, preferences.where(~held))
        asked = np.unique(preferences.query[held])
        said = taught(task.items, task.items, preferences.where(held), asked)
        own, places = task.items[asked], np.arange(len(asked))
        model = fitted.similarity_
        base = own * task.plain.w0
        vectors = model.surrogates(own) if hasattr(model, "surrogates") else base
        mine.append(judge(said, places, vectors))
        plain.append(judge(said, places, base))
    joined = [np.concatenate(part) for side in (mine, plain) for part in zip(*side)]
    if not joined:
        return guard([], [], [], [])
    draws = 2000 if report.quick else 100_000
    return guard(joined[0], joined[2], joined[1], joined[3], draws=draws, seed=report.seed)


def tell(report: Report, method: str, found: Any, base: Any, **more: Any) -> None:
    draws = 2000 if report.quick else 100_000
    test = randomisation_test(found["map"], base["map"], draws=draws, seed=report.seed)
    report.row(
        method=method,
        taught=more.pop("taught"),
        marks=more.pop("marks"),
        **{key: float(np.nanmean(value)) for key, value in found.items()},
        p_value=test.p_value,
        **more,
    )


if __name__ == "__main__":
    run("carry_over", main, __doc__)
