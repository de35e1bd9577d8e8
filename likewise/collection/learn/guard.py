"""Hold out, measure, and draw what to ask: may a new model serve in the place of what serves now?

Every measured query is held out once: the model that is measured on it was learned without it.
Where all that is right is known (texts with what was chosen for them, class folders, queries
whose every picture is labelled) the guard decides at once.  Elsewhere it needs a short check: what
to ask is drawn here, where the models of the folds are at hand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.collection.learn.evidence import Marks, served
from likewise.collection.learn.folders import SOURCE as FOLDERS
from likewise.collection.learn.folders import class_of
from likewise.collection.lines.line import View
from likewise.evaluation import Comparison, Run, compare, judged_average_precision, measure, rank
from likewise.evaluation.guard import FEWEST_PICTURES, LOOKS, Verdict, depth, draw, judge, next_look
from likewise.store import Drawn, as_file
from likewise.types import QueryRef, Similarity

if TYPE_CHECKING:
    from likewise.collection.learn.evidence import Make
    from likewise.collection.learn.texts import Texts

Truth = Mapping[str, Mapping[str, float]]
Measures = tuple[float, float, float]
"""Average precision, precision@1 and top precision of a query."""


@dataclass(frozen=True)
class HeldOut:
    """Out-of-fold runs of the new model and the runs of what it would replace.

    ``verdicts`` are by rival where the truth is known; ``drawn`` is what a check asks where not.
    """

    runs: Mapping[str, Run]
    truth: Truth
    verdicts: Mapping[str, Verdict]
    learned: Any
    """The learner, fitted on everything."""
    drawn: tuple[Drawn, ...] = ()

    def table(self, baseline: str) -> Comparison | None:
        """All runs that cover every query, side by side with significance."""
        if not self.truth:
            return None
        whole = {name: run for name, run in self.runs.items() if len(run) == len(self.truth)}
        return compare(whole, self.truth, baseline=baseline)

    def told(self, pictures: int, spent: int) -> dict[str, Any]:
        """As a card has it."""
        if self.verdicts:
            blocking = [v for v in self.verdicts.values() if not v.passed]
            said = (blocking or list(self.verdicts.values()))[0]
            own = {name: finite(asdict(v)) for name, v in self.verdicts.items()}
            return {"by": "truth", "passed": not blocking, "sentence": said.sentence, **own}
        told = judge([], [], pictures=pictures, spent=spent).sentence
        if self.drawn and not any(d.asked["items"] for d in self.drawn):
            told = "Not used: it finds the same as what serves now."
        return {"by": "check", "passed": False, "sentence": told}


def hold_out(evidence: Marks | Texts, make: Make, slot: str, seed: int) -> HeldOut:
    """Measure a method on every measured query, learned without it, beside its rivals."""
    fold = evidence.folds()
    measured = evidence.measured(fold)
    new: Run = {}
    parts: dict[int, Similarity] = {}
    for part in np.unique(fold[measured]).tolist():
        parts[part] = evidence.fit(make, fold != part).similarity_
        mine = np.flatnonzero((fold == part) & measured).tolist()
        new |= evidence.run(parts[part], mine)
    queries = np.flatnonzero(measured).tolist()
    truth = evidence.truth(queries)
    rivals = evidence.rivals(queries)
    runs = {name: evidence.run(similarity, which) for name, (similarity, which) in rivals.items()}
    everything = {**runs, "new": new}
    learned = evidence.fit(make)
    spent = spent_looks(evidence, slot)
    if not isinstance(evidence, Marks):
        measures = {name: _measures(run, truth) for name, run in everything.items()}
        return HeldOut(everything, truth, _verdicts(measures, len(evidence.ids), spent), learned)
    known = _complete(evidence)
    if len(known) >= LOOKS[0]:
        full = {
            name: {q: _full(evidence, one, q, known[q]) for q in known}
            for name, (one, _) in rivals.items()
        }
        full["new"] = {q: _full(evidence, parts[int(fold[q])], q, known[q]) for q in known}
        return HeldOut(everything, truth, _verdicts(full, len(evidence.ids), spent), learned)
    models = {ref: parts[int(fold[row])] for ref, row in evidence.refs.items()}
    drawn = _draws(evidence, models, learned.similarity_, slot, spent, seed)
    return HeldOut(everything, truth, {}, learned, tuple(drawn))


def spent_looks(evidence: Marks | Texts, slot: str) -> int:
    """The greatest number of queries that was looked at since the last activation."""
    taken = evidence.sources.store.looks.taken(slot)
    return max((size for size, _ in taken), default=0)


# -- where the truth is known ----------------------------------------------------------


def _verdicts(
    measures: Mapping[str, Mapping[Any, Measures]], pictures: int, spent: int
) -> dict[str, Verdict]:
    """What the guard says of ``new`` against each other one."""
    new, found = measures["new"], {}
    for name, theirs in measures.items():
        if name != "new":
            both = np.array([np.subtract(new[q], theirs[q]) for q in theirs if q in new])
            found[name] = judge(
                *both.reshape(-1, 3).T, pictures=pictures, spent=spent, against=name
            )
    return found


def _measures(run: Run, truth: Truth) -> dict[str, Measures]:
    """What is measured per query; NaN where nothing can be told apart."""
    of = {query: truth[query] for query in truth if query in run}
    if not of:
        return {}
    ranked = rank({query: run[query] for query in of}, of)
    ap = np.asarray(judged_average_precision(ranked), dtype=np.float64)
    first, top = (measure(ranked, name).tolist() for name in ("p1", "top_precision"))
    return {
        name: (np.nan if all(v > 0 for v in of[name].values()) else float(a), one, all_)
        for name, a, one, all_ in zip(ranked.names, ap, first, top)
    }


def _complete(evidence: Marks) -> dict[int, set[int]]:
    """Rows that are right, by query of which everything is known.

    Class folders label some pictures and mean all; elsewhere every picture must be labelled.
    """
    sources: dict[QueryRef, set[str]] = {}
    log, (asked, code) = evidence.log, evidence.log.query_codes
    for at, source in set(zip(code[log.kind == "label"].tolist(), log.source[log.kind == "label"])):
        sources.setdefault(asked[at], set()).add(source)
    folder = {row: class_of(path) for path, row in evidence.rows.items()}
    found: dict[int, set[int]] = {}
    for ref, q in evidence.refs.items():
        own, labels = (
            {evidence.rows[v] for v in (ref.value,) if v in evidence.rows},
            evidence.labels[q],
        )
        if sources.get(ref) == {FOLDERS} and own:
            mine = {folder[row] for row in own}
            found[q] = {row for row, name in folder.items() if name in mine} - own
        elif len(labels.keys() | own) == len(evidence.ids):
            found[q] = {row for row, value in labels.items() if value > 0} - own
    return {q: right for q, right in found.items() if right}


def _full(evidence: Marks, similarity: Any, query: int, right: set[int]) -> Measures:
    """What is measured of one query among all pictures but itself."""
    ref = next(ref for ref, row in evidence.refs.items() if row == query)
    own = evidence.rows.get(ref.value, -1)
    surrogate = similarity.surrogate(_row(evidence, query))
    scores = served(similarity, surrogate, evidence.items)
    order = np.lexsort((np.arange(len(scores)), -scores))
    good = np.isin(order[order != own], np.fromiter(right, np.int64))
    places = np.flatnonzero(good) + 1
    share = np.arange(1, len(places) + 1) / places
    return float(share.mean()), float(good[0]), float((share == 1).mean())


def _row(evidence: Marks, query: int) -> Any:
    dense = isinstance(evidence.queries, np.ndarray)
    return evidence.queries[query if dense else [query]]


# -- where people must be asked --------------------------------------------------------


def _draws(
    evidence: Marks, models: Mapping[QueryRef, Similarity], learned: Similarity, slot: str,
    spent: int, seed: int,
) -> list[Drawn]:  # fmt: skip
    """What to ask: pictures at random as queries, for some looks to come.

    The order of the queries stays the same until a model becomes active, so that a new candidate
    asks about those that were answered; a taught one is ranked by a model that has not seen it.
    """
    sources = evidence.sources
    view, looks = sources.view, sources.store.looks
    if len(view) < FEWEST_PICTURES:
        return []
    count = next_look(next_look(next_look(spent)))
    ids = in_order(view.ids.tolist(), f"{slot} {looks.since(slot)}")[: count + count // 5]
    paths = sources.store.items.paths(ids)
    serving = view.plain if sources.active is None else sources.active[1]
    rng = np.random.default_rng([seed, spent, len(models)])
    found = []
    for item in ids:
        ref = QueryRef("item", as_file(paths[item]))
        row = view.query(ref)
        new, old = (
            first(view, one, row, item, depth(len(view)))
            for one in (models.get(ref, learned), serving)
        )
        asked = draw(new, old, rng)
        found.append(Drawn(item, {**asked._asdict(), "items": asked.items}))
    return found


def in_order(ids: list[int], salt: str) -> list[int]:
    """Ids in an order that is random, and the same whatever comes or goes."""
    return sorted(ids, key=lambda i: hashlib.sha256(f"{salt} {i}".encode()).digest())


def first(view: View, similarity: Any, row: Any, item: int, count: int) -> list[int]:
    """The first results of a query that is an item, without itself."""
    hits = view.search(similarity.surrogate(row), count + 1, similarity)
    return [i for i in hits.ids.tolist() if i != item][:count]


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
