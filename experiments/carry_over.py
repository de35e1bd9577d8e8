"""Teach some queries: what have fresh queries, never marked, learned from it?

A simulated person takes pictures of a collection as queries and marks the first 10 plain results
of each, 100 to 3,000 marks in all, without mistakes or with 5 %.  A person has an intent:
``class`` (Corel5k: the category; CIFAR-10: the class; Flickr8k: captions share two content
words), and on Corel5k also ``colour`` (20 clusters of what colours a picture has) and ``layout``
(20 clusters of its 6 x 6 grey thumbnail).  Fresh queries are the test pictures (CIFAR-10: 500 of
the 10,000 at random).

    python -m experiments.carry_over --json results/carry_over.json

``space``: ``codes`` are the vectors of pictures, ``phi`` those smoothed by their neighbours.
``method``: ``plain``; ``scatter-no-marks`` (the matrix that neighbours alone give: what the
collection knew before); ``oasis`` (C with the benefit of hindsight); ``before`` (the learner of
commit 93a8f1c); ``ours`` and ``ours-local`` (without and with the local part); ``served`` (the form
that the product chooses, once the short check of up to 100 other pictures has let it pass, and
plain where not; answers have as many mistakes as marks).  Measures are means over the seeds;
``p_value`` is a randomisation test of MAP against plain; ``passed`` is the share of seeds that the
check let pass and ``asked`` the answers that it took.  ``--methods`` names some of these,
``--forms`` adds the other forms of similarity.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import sparse

from experiments.photo_features import photo_features, photos
from experiments.photo_tasks import Task, content_words, photo_task
from experiments.references import label_pairs
from experiments.report import Report, run
from experiments.rivals.before import BeforeLearner
from experiments.rivals.oasis import Oasis
from experiments.score_ranking import rank
from experiments.sets import load_corel5k, load_flickr8k
from likewise.collection.lines.defaults import SPECS, WEIGHTS
from likewise.evaluation import measure, randomisation_test
from likewise.evaluation.guard import depth, draw, judge
from likewise.learners import Plain
from likewise.learners.bilinear_learner import BilinearLearner
from likewise.learners.teachings import alike_unmarked
from likewise.solvers.groups import scatters, within_groups
from likewise.solvers.kmeans import kmeans
from likewise.solvers.smoothing import smooth
from likewise.spaces import Blocks
from likewise.types import FloatArray, IdArray, Preferences

PERSONS = (
    ("corel5k", "class"), ("corel5k", "colour"), ("corel5k", "layout"), ("cifar10", "class"),
    ("flickr8k", "class"),
)  # fmt: skip
MARKS = (100, 200, 500, 1000, 3000)
PER_QUERY = 10
MISTAKES = (0.0, 0.05)
SEEDS = 4
ASKED = 500
"""Fresh queries of CIFAR-10."""
CLUSTERS = 20
CHECKED = 100
"""Pictures that the check asks about, at most."""
METHODS = ("oasis", "before", "ours", "ours-local", "served")
OLD_FORMS = ("directions", "global", "global+local", "diagonal", "diagonal+local")
"""Forms of the learner before that have no place any more."""

Same = Callable[[IdArray, IdArray], NDArray[np.bool_]]
Measures = dict[str, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Person:
    """Who searches what, and what they mean by similar."""

    data: str
    intent: str
    task: Task
    same: Same
    """Of rows of the items, one per row and several: which of these are relevant to it."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """Taught queries, what each was shown, and what was called right."""

    rows: IdArray
    shown: IdArray
    good: NDArray[np.bool_]

    @property
    def preferences(self) -> Preferences:
        """What is right before what is not."""
        owner = np.repeat(self.rows, self.shown.shape[1])
        return label_pairs(owner, self.shown.ravel(), self.good.ravel())

    def marks(self, items: int) -> sparse.csr_array:
        """1 and -1, queries (rows of the items) x items."""
        owner = np.repeat(self.rows, self.shown.shape[1])
        value = np.where(self.good.ravel(), 1.0, -1.0)
        return sparse.csr_array((value, (owner, self.shown.ravel())), shape=(items, items))


def main(report: Report) -> None:
    spaces = report.settings.get("space") or ("codes", "phi")
    for person in persons(report):
        for space in spaces:
            measure_person(report, in_space(person, space), space)


def measure_person(report: Report, person: Person, space: str) -> None:
    task = person.task
    base = measured(task, task.queries * task.plain.w0)
    about: dict[str, Any] = {"data": person.data, "intent": person.intent, "space": space}
    nothing = {**about, "marks": 0, "mistakes": 0.0}
    tell(report, nothing, "plain", [base], base)
    tell(report, nothing, "scatter-no-marks", [measured(task, unmarked(task))], base)
    for mistakes in (0.0,) if report.quick else report.settings.get("mistakes") or MISTAKES:
        for count in (100, 600) if report.quick else report.settings.get("marks") or MARKS:
            found: dict[str, list[Measures]] = {}
            for seed in range(1 if report.quick else report.settings.get("seeds") or SEEDS):
                own = report.seed + seed
                lesson = teach(person, count // PER_QUERY, mistakes, own)
                for method, vectors in learned(task, lesson, report, own):
                    found.setdefault(method, []).append(measured(task, vectors))
                if "served" in wanted(report):
                    checked = served(person, lesson, mistakes, own, base)
                    found.setdefault("served", []).append(checked)
            for method, values in found.items():
                tell(report, {**about, "marks": count, "mistakes": mistakes}, method, values, base)


def teach(person: Person, count: int, mistakes: float, seed: int) -> Lesson:
    """A person marks the first results of pictures at random."""
    task, rng = person.task, np.random.default_rng(seed)
    rows = rng.choice(len(task.items), count, replace=False)
    scores = (task.items[rows] * task.plain.w0) @ task.items.T
    scores[np.arange(count), rows] = -np.inf  # nobody marks the query itself
    shown = np.argsort(-scores, axis=1, kind="stable")[:, :PER_QUERY]
    good = person.same(rows, shown)
    return Lesson(rows, shown, good ^ (rng.random(good.shape) < mistakes))


def learned(
    task: Task, lesson: Lesson, report: Report, seed: int
) -> Iterator[tuple[str, FloatArray]]:
    """Surrogates of the fresh queries, by method."""
    pairs, marks = lesson.preferences, lesson.marks(len(task.items))
    plain = task.queries * task.plain.w0

    def served(learner: Any, **more: Any) -> FloatArray:
        model = learner.fit(task.items, pairs, **more).similarity_
        found: FloatArray = plain if isinstance(model, Plain) else model.surrogates(task.queries)
        return found

    if len(pairs) and "oasis" in wanted(report):
        # C with the benefit of hindsight: the best of 1e-4, 3e-4, 1e-3 and 3e-3 on Corel5k.
        steps = min(10 * len(pairs), 30_000)
        rival = Oasis(task.plain, C=1e-4, steps=steps, max_queries=10_000, seed=seed)
        yield "oasis", task.queries @ rival.fit(task.items, pairs).similarity_.matrix
    if "before" in wanted(report):
        yield "before", served(BeforeLearner(task.plain, seed=seed))
    for name, form in {"ours": "groups", "ours-local": "groups+local"}.items():
        if name in wanted(report):
            yield name, served(BilinearLearner(task.plain, extension=form, seed=seed), marks=marks)
    if report.settings.get("forms"):
        tastes = BilinearLearner(task.plain, extension="groups+tastes", seed=seed)
        yield "ours-tastes", served(tastes, marks=marks)
        for form in OLD_FORMS:
            yield form, served(BeforeLearner(task.plain, extension=form, seed=seed))
        chosen = BilinearLearner(task.plain, seed=seed)
        vectors = served(chosen, marks=marks)
        report.say(f"  chosen: {chosen.report_.method} {dict(chosen.report_.held_out)}")
        yield "auto", vectors


def served(person: Person, lesson: Lesson, mistakes: float, seed: int, base: Measures) -> Measures:
    """What fresh queries get once the short check has had its say."""
    task, rng = person.task, np.random.default_rng([seed, 1])
    learner = BilinearLearner(task.plain, seed=seed)
    learner.fit(task.items, lesson.preferences, marks=lesson.marks(len(task.items)))
    model, k = learner.similarity_, depth(len(task.items))
    others = np.setdiff1d(np.arange(len(task.items)), lesson.rows)
    rows = rng.choice(others, min(CHECKED, len(others)), replace=False)
    changes, asked, spent = [], 0, 0
    for row in [] if isinstance(model, Plain) else rows.tolist():
        own = task.items[row]
        scores = task.items @ np.stack([model.surrogates(own[None])[0], own * task.plain.w0]).T
        scores[row] = -np.inf
        new, old = np.argsort(-scores, axis=0, kind="stable")[:k].T.tolist()
        drawn = draw(new, old, rng)
        items = np.array(drawn.items, dtype=np.int64)
        right = person.same(np.array([row]), items[None])[0] ^ (rng.random(len(items)) < mistakes)
        changes.append(drawn.change(dict(zip(drawn.items, right.tolist()))))
        asked += len(items)
        verdict = judge(*zip(*changes), pictures=len(task.items), spent=spent, k=k)
        spent = max(spent, verdict.size)
        if verdict.passed:
            found = measured(task, model.surrogates(task.queries))
            break
    else:
        found = base
    told = {"passed": float(found is not base), "asked": float(asked)}
    return found | {name: np.full(len(base["map"]), value) for name, value in told.items()}


def wanted(report: Report) -> Sequence[str]:
    """Methods that are to be run."""
    return report.settings.get("methods") or METHODS


def unmarked(task: Task) -> FloatArray:
    """Surrogates by the matrix that neighbours alone give."""
    root = np.sqrt(task.plain.w0)
    known = alike_unmarked(task.items, root)
    none = scatters(np.zeros((0, len(root))), [], [], 1)
    matrix = within_groups(none, target=known).matrix
    found: FloatArray = ((task.queries * root) @ matrix) * root
    return found


def measured(task: Task, surrogates: FloatArray) -> Measures:
    ranked = rank(surrogates @ task.items.T, task.relevant)
    return {name: measure(ranked, name) for name in ("map", "p1", "p10")}


def tell(
    report: Report, about: dict[str, Any], method: str, values: list[Measures], base: Measures
) -> None:
    mean = {name: np.mean([v[name] for v in values], axis=0) for name in values[0]}
    draws = 2000 if report.quick else 100_000
    test = randomisation_test(mean["map"], base["map"], draws=draws, seed=report.seed)
    report.row(
        **about,
        method=method,
        **{name: float(np.nanmean(own)) for name, own in mean.items()},
        p_value=None if method == "plain" else test.p_value,
    )


# -- persons -------------------------------------------------------------------------


def persons(report: Report) -> Iterator[Person]:
    """Everybody who was asked for."""
    if report.quick:
        task = photo_task("corel5k", report)
        assert task.labels is not None
        yield _by_label("corel5k", "class", task, None, task.labels)
        return
    sets = report.settings.get("data") or [data for data, _ in PERSONS]
    intents = report.settings.get("intent") or [intent for _, intent in PERSONS]
    for data, intent in PERSONS:
        if data not in sets or intent not in intents:
            continue
        if data == "corel5k":
            corel, task = load_corel5k(), photo_task("corel5k", report)
            labels = corel.labels if intent == "class" else looks(corel.pictures, intent)
            yield _by_label(data, intent, task, labels[corel.is_test], labels[~corel.is_test])
        elif data == "cifar10":
            yield cifar10(report)
        else:
            flickr = load_flickr8k()
            words = content_words(flickr.captions)[flickr.split != "test"]
            task = photo_task("flickr8k", report)
            yield Person(data, intent, task, _sharing(words))


def _by_label(data: str, intent: str, task: Task, asked: IdArray | None, labels: IdArray) -> Person:
    relevant = task.relevant if asked is None else asked[:, None] == labels[None, :]
    own = Task(task.name, task.plain, task.queries, task.items, relevant, labels)
    return Person(data, intent, own, lambda rows, shown: labels[shown] == labels[rows][:, None])


def _sharing(words: sparse.csr_array) -> Same:
    def same(rows: IdArray, shown: IdArray) -> NDArray[np.bool_]:
        both = (words[rows] @ words.T).toarray()
        return np.asarray(np.take_along_axis(both, shown, axis=1) >= 2)

    return same


def cifar10(report: Report) -> Person:
    features, labels = photo_features("cifar10", report), photos("cifar10", report).labels
    asked = np.zeros(len(labels), bool)
    asked[np.random.default_rng(report.seed).choice(len(labels), ASKED, replace=False)] = True
    items = {block: rows[~asked] for block, rows in features.items()}
    space = Blocks.fit(items, {block: SPECS[block] for block in features})
    x = space.transform(features).astype(np.float64)
    plain = Plain(space, {block: WEIGHTS[block] for block in features})
    none = np.zeros((0, 0), bool)
    task = Task("cifar10", plain, x[asked], x[~asked], none)
    return _by_label("cifar10", "class", task, labels[asked], labels[~asked])


def looks(pictures: Any, intent: str) -> IdArray:
    """The cluster of every picture by its colours (4 x 4 x 4 bins) or by where it is light."""
    rows = []
    for picture in pictures:
        small = Image.fromarray(np.asarray(picture)).resize((48, 48), Image.Resampling.BOX)
        pixels = np.asarray(small, dtype=np.int64)
        if intent == "layout":
            grey = pixels @ np.array([0.299, 0.587, 0.114])
            rows.append(grey.reshape(6, 8, 6, 8).mean(axis=(1, 3)).ravel())
        else:
            bins = (pixels // 64) @ np.array([16, 4, 1])
            rows.append(np.sqrt(np.bincount(bins.ravel(), minlength=64)))
    return kmeans(np.stack(rows), CLUSTERS, restarts=3, seed=0).assignment


def in_space(person: Person, space: str) -> Person:
    """The same person where codes are smoothed by their neighbours."""
    if space == "codes":
        return person
    task = person.task
    w0 = task.plain.w0
    items, queries = smooth(task.items, w0), smooth(task.queries, w0, items=task.items)
    smoothed = Task(task.name, task.plain, queries, items, task.relevant, task.labels)
    return Person(person.data, person.intent, smoothed, person.same)


def options(parser: argparse.ArgumentParser) -> None:
    """Parts of the whole."""
    parser.add_argument("--data", nargs="+", help="corel5k, cifar10, flickr8k (default: all)")
    parser.add_argument("--intent", nargs="+", help="class, colour, layout (default: all)")
    parser.add_argument("--space", nargs="+", help="codes, phi (default: both)")
    parser.add_argument("--marks", nargs="+", type=int, help="numbers of marks (default: all)")
    parser.add_argument("--mistakes", nargs="+", type=float, help="shares (default: 0 and .05)")
    parser.add_argument("--seeds", type=int, help=f"of the taught queries (default: {SEEDS})")
    parser.add_argument("--methods", nargs="+", choices=METHODS, help="some rows (default: all)")
    parser.add_argument("--forms", action="store_true", help="rows of the other forms too")


if __name__ == "__main__":
    run("carry_over", main, __doc__, options=options)
