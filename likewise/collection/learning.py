"""From the log of judgements to a model with a card: gather, fit, hold out, guard.

Every judged query is held out once (five folds): the model that is measured on it was
learned without it.  What the guard decides rests on those measures; the model that is
kept is learned from all judgements with the same settings.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.searching import QueryPictures
from likewise.collection.snapshot import Snapshot
from likewise.evaluation import (
    Comparison,
    compare,
    judged_average_precision,
    measure,
    rank,
)
from likewise.evaluation.guard import Verdict, guard
from likewise.judgements import Judgements, PreferenceReport, preferences
from likewise.learners.plain import Plain
from likewise.store import Store, as_file
from likewise.types import (
    FloatArray,
    IdArray,
    Judgement,
    LikewiseError,
    Preferences,
    QueryRef,
    Similarity,
    Surrogate,
)

FOLDS = 5
OBJECTIVES = ("bilinear", "top-precision")


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the log says, as arrays: picture vectors, queries, and the judgements about both."""

    ids: IdArray
    codes: FloatArray
    rows: Mapping[str, int]
    """Row of ``codes`` by path."""
    queries: FloatArray
    refs: Mapping[QueryRef, int]
    """Row of ``queries`` by query."""
    log: Judgements
    lost_queries: int

    def labels(self) -> list[dict[int, float]]:
        """For each query the value of each labelled row, the latest word counting."""
        out: list[dict[int, float]] = [{} for _ in range(len(self.queries))]
        for judgement in self.log.of_kind("label"):
            query = self.refs.get(judgement.query)
            if query is None:
                continue
            for item in judgement.items:
                if item in self.rows:
                    out[query][self.rows[item]] = judgement.value
        return out

    def preferences(
        self, keep: NDArray[np.bool_] | None = None, seed: int = 0
    ) -> tuple[Preferences, PreferenceReport]:
        """Preferences of the kept queries (rows of ``queries``)."""
        log = self.log
        if keep is not None:
            chosen = [ref for ref, row in self.refs.items() if keep[row]]
            log = log.about(*chosen)
        return preferences(log, self.rows, self.refs, seed=seed)


def gather(
    judgements: Sequence[Judgement], store: Store, snapshot: Snapshot, pictures: QueryPictures
) -> Evidence:
    """Picture queries of a log with the vectors of everything they speak of."""
    ids, codes = snapshot.all_codes()
    asked = read_queries(judgements, lambda ref: pictures.vector(ref, snapshot))
    queries = np.stack(asked.read) if asked.read else np.zeros((0, snapshot.dim), np.float32)
    return Evidence(
        ids, codes, rows_by_path(store, ids), queries, asked.refs, asked.log, asked.lost
    )


class Asked(NamedTuple):
    """The picture queries of a log, those that can be read numbered from 0 on."""

    log: Judgements
    refs: dict[QueryRef, int]
    read: list[Any]
    lost: int


def read_queries(judgements: Sequence[Judgement], read: Callable[[QueryRef], Any]) -> Asked:
    """What ``read`` makes of each picture query; of those whose picture is gone the number."""
    log = Judgements.of(j for j in judgements if j.query.kind != "text")
    asked = Asked(log, {}, [], 0)
    for ref in log.queries():
        try:
            asked.read.append(read(ref))
        except LikewiseError:  # gone or unreadable: its judgements wait
            asked = asked._replace(lost=asked.lost + 1)
            continue
        asked.refs[ref] = len(asked.refs)
    return asked


def rows_by_path(store: Store, ids: IdArray) -> dict[str, int]:
    """Row of each item by the path that judgements name it by."""
    paths = store.items.paths(ids.tolist())
    return {as_file(paths[item]): row for row, item in enumerate(ids.tolist())}


def make_learner(objective: str, plain: Plain, settings: Mapping[str, Any]) -> Any:
    """The learner of an objective, with scikit-learn's manners."""
    if objective == "top-precision":
        from likewise.learners.top_precision import TopPrecisionLearner

        return TopPrecisionLearner(plain, **settings)
    from likewise.learners.bilinear_learner import BilinearLearner

    return BilinearLearner(plain.space, plain.weights, **settings)


def fit(
    learner: Any, objective: str, evidence: Evidence, keep: NDArray[np.bool_] | None, seed: int
) -> Any:
    """Fit a fresh learner on the kept queries of the evidence."""
    from sklearn.base import clone

    fresh = clone(learner, safe=False)
    chosen, _ = evidence.preferences(keep, seed)
    return fresh.fit(_bare(evidence.codes), chosen, queries=_bare(evidence.queries))


def _bare(rows: Any) -> Any:
    """Sparse rows without what wraps them; anything else as it is."""
    return getattr(rows, "rows", rows)


def folds(count: int, seed: int, number: int = FOLDS) -> IdArray:
    """The fold of each query, evenly and at random under a seed."""
    order = np.random.default_rng(seed).permutation(count)
    out = np.empty(count, dtype=np.int64)
    out[order] = np.arange(count) % min(number, max(count, 1))
    return out


Run = dict[str, dict[str, float]]


def judged_run(
    similarity: Similarity, evidence: Evidence, which: IdArray, labels: list[dict[int, float]]
) -> Run:
    """Scores of the judged items of some queries."""
    run: Run = {}
    for query in which.tolist():
        judged = np.array(sorted(labels[query]), dtype=np.int64)
        if not len(judged):
            continue
        s = similarity.surrogate(evidence.queries[query])
        scores = served(similarity, s, evidence.codes[judged])
        run[str(query)] = {str(r): float(v) for r, v in zip(judged.tolist(), scores)}
    return run


def served(similarity: Similarity, surrogate: Surrogate, items: Any) -> NDArray[np.float64]:
    """Scores of items as an engine computes them: codes, side columns and offset."""
    codes = similarity.space.encode(items)
    if surrogate.is_sparse:
        product = (codes @ surrogate.vector.T).toarray().ravel()
    else:
        product = codes @ surrogate.vector
    scores = np.asarray(product, dtype=np.float64) + surrogate.offset
    if surrogate.side:
        columns = similarity.side_columns(items)
        for name, coefficient in surrogate.side.items():
            scores = scores + coefficient * columns[name]
    return scores


def truth_of(labels: list[dict[int, float]], which: IdArray) -> dict[str, dict[str, float]]:
    """Relevance of the judged items of some queries, as grades from zero on."""
    return {
        str(q): {str(r): max(v, 0.0) for r, v in labels[q].items()}
        for q in which.tolist()
        if labels[q]
    }


@dataclass(frozen=True)
class HeldOut:
    """Out-of-fold runs of the new model and the runs of what it would replace."""

    runs: Mapping[str, Run]
    truth: Mapping[str, Mapping[str, float]]
    verdicts: Mapping[str, Verdict]

    @property
    def passed(self) -> bool:
        """Whether the guard let the model pass against every rival."""
        return all(v.activate for v in self.verdicts.values())

    @property
    def sentence(self) -> str:
        """What the guard says: of the first rival that stands in the way, or of plain."""
        blocking = [v for v in self.verdicts.values() if not v.activate]
        return (blocking or list(self.verdicts.values()))[0].sentence


def hold_out(
    learner: Any,
    objective: str,
    evidence: Evidence,
    rivals: Mapping[str, Similarity],
    seed: int,
) -> HeldOut:
    """Measure the method on every query once, learned without it, beside its rivals."""
    labels = evidence.labels()
    count = len(evidence.queries)
    every = np.arange(count)
    fold = folds(count, seed)
    new: Run = {}
    for part in np.unique(fold):
        keep = fold != part
        similarity = fit(learner, objective, evidence, keep, seed).similarity_
        new.update(judged_run(similarity, evidence, every[~keep], labels))
    truth = truth_of(labels, every)
    runs = {name: judged_run(s, evidence, every, labels) for name, s in rivals.items()}
    return judge_runs({**runs, "new": new}, truth, {name: list(truth) for name in runs}, seed)


def judge_runs(
    runs: Mapping[str, Run],
    truth: Mapping[str, Mapping[str, float]],
    rivals: Mapping[str, Sequence[str]],
    seed: int,
) -> HeldOut:
    """Let the guard compare the run ``new`` with each rival on the queries named for it."""
    verdicts = {}
    for name, queries in rivals.items():
        of = {q: truth[q] for q in queries if q in runs[name]}
        ours, theirs = ({q: runs[n][q] for q in of} for n in ("new", name))
        new, old = _measures(ours, of), _measures(theirs, of)
        verdicts[name] = guard(new[0], old[0], new[1], old[1], baseline=name, seed=seed)
    return HeldOut(runs, truth, verdicts)


def _measures(run: Run, truth: Mapping[str, Mapping[str, float]]) -> tuple[Any, Any]:
    """Judged-only AP and precision@1 a query; NaN where a query cannot tell models apart."""
    if not truth:
        return np.zeros(0), np.zeros(0)
    ranked = rank(run, truth)
    ap = np.asarray(judged_average_precision(ranked), dtype=np.float64).copy()
    p1 = np.asarray(measure(ranked, "p1"), dtype=np.float64)
    for at, name in enumerate(ranked.names):
        if all(v > 0 for v in truth[name].values()):
            ap[at] = np.nan
    return ap, p1


def table(held: HeldOut, baseline: str = "plain") -> Comparison | None:
    """All runs that cover every query, side by side with significance."""
    if not held.truth:
        return None
    whole = {name: run for name, run in held.runs.items() if len(run) == len(held.truth)}
    return compare(whole, held.truth, baseline=baseline)


def card(
    learned: Any, objective: str, evidence: Evidence, held: HeldOut, seconds: float
) -> dict[str, Any]:
    """What a model tells of itself: data, settings, measures, verdict."""
    from likewise.collection.changes import changes, curves

    report = asdict(learned.report_)
    _, used = evidence.preferences()
    compared = table(held)
    told: dict[str, Any] = {}
    if compared is not None:
        told = {
            "curves": curves(compared),
            "changes": changes(compared, "new", held.runs, held.truth, evidence),
        }
    return {
        "objective": objective,
        "judgements": len(evidence.log),
        "queries": len(evidence.queries),
        "lost_queries": evidence.lost_queries,
        "preferences": asdict(used),
        "report": finite(report),
        "held_out": [] if compared is None else [finite(dict(r)) for r in compared.rows],
        **finite(told),
        "guard": {
            "passed": held.passed,
            "sentence": held.sentence,
            **{name: finite(asdict(v)) for name, v in held.verdicts.items()},
        },
        "seconds": seconds,
        "time": time.time(),
    }


def finite(value: Any) -> Any:
    """JSON knows no NaN: what could not be measured is null."""
    if isinstance(value, Mapping):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
