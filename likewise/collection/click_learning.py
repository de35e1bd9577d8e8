"""From clicks and captions to a words model with a card: gather, fit, hold out, guard.

A caption counts as one click on its picture.  What is measured is what would be served: full
text and learned words, fused, against full text alone.  Every measured query was held out of
the model that answers it; a held-out caption's own pictures are taken to carry no text, because
full text would find them by that very caption.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.collection.answers import fuse
from likewise.collection.learning import HeldOut, Run, finite, folds, judge_runs, table
from likewise.collection.queries import normal_text
from likewise.collection.snapshot import Snapshot
from likewise.collection.wording import WordsModel, full_text
from likewise.evaluation.guard import FEWEST
from likewise.features.text import TextVocabulary
from likewise.judgements import ClickReport, Judgements, click_table, from_clicks
from likewise.learners.click_learner import ClickLearner
from likewise.learners.clicks import Clicks
from likewise.solvers.rcca import Settings, State
from likewise.store import Store, as_file
from likewise.types import BadInput, FloatArray, Hits, IdArray, Judgement, Preferences

UNCLICKED = 10
"""Pictures that are taken to have been shown with each query and not chosen."""
TRIPLETS = 200_000
CAPTIONS = 100_000
"""Captions that are learned from, those of the newest items."""
MEASURED = 1_000
"""Held-out queries at most; where there are fewer queries, each is held out once."""
OTHERS = 50
"""Pictures among which the chosen ones must be found, in a measurement."""
FULL_TEXT = "full text"


@dataclass(frozen=True)
class How:
    """What a person may set.

    Parameters
    ----------
    propensity
        Of :func:`likewise.judgements.click_table`; 0 counts clicks at every place alike.
    captions
        Whether captions count as clicks.
    dim, threads, seed
        Of the learner.
    """

    propensity: float = 0.0
    captions: bool = True
    dim: int = 80
    threads: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.dim < 1 or not 1 <= self.threads <= 3:
            raise BadInput("dim must be at least 1, and threads 1, 2 or 3.")


@dataclass(frozen=True, eq=False)
class TextEvidence:
    """Texts, and the pictures chosen (count above 0) or only shown for them."""

    ids: IdArray
    """Item of each picture row."""
    texts: tuple[str, ...]
    is_caption: NDArray[np.bool_]
    """Texts that nobody asked for: captions only."""
    query: IdArray
    item: IdArray
    count: FloatArray
    clicks: ClickReport
    judgements: int
    captions: int
    newest: int
    """Number of the newest judgement of the log."""

    def chosen(self) -> list[IdArray]:
        """For each text the picture rows that were chosen."""
        order = np.lexsort((self.item, self.query))
        order = order[self.count[order] > 0]
        ends = np.searchsorted(self.query[order], np.arange(len(self.texts) + 1))
        return [self.item[order[a:b]] for a, b in pairwise(ends)]

    def where(self, keep: NDArray[np.bool_]) -> TextEvidence:
        """The evidence of some texts; rows of texts stay as they are."""
        mask = keep[self.query]
        return replace(self, query=self.query[mask], item=self.item[mask], count=self.count[mask])


def key_of(text: str) -> str:
    """Texts that differ in case or spaces are one query."""
    return normal_text(text).casefold()


def gather(
    records: Sequence[tuple[int, Judgement]],
    store: Store,
    snapshot: Snapshot,
    how: How,
    *,
    after: int = 0,
    captions_after: int = 0,
) -> TextEvidence:
    """Clicks after words (records later than ``after``) and captions, as columns."""
    ids = np.array(sorted(i for i in snapshot.ids.tolist() if snapshot.holds(i)), np.int64)
    row_of = {int(item): row for row, item in enumerate(ids)}
    paths = {as_file(p): row_of[i] for i, p in store.items.paths(ids.tolist()).items()}
    said = [j for n, j in records if n > after and j.query.kind == "text"]
    log = Judgements.of(said)
    texts: dict[str, int] = {}
    refs = {ref: texts.setdefault(key_of(ref.value), len(texts)) for ref in log.queries()}
    counted = click_table(log, paths, refs, propensity=how.propensity)
    asked = len(texts)
    pairs: set[tuple[int, int]] = set()
    written = store.texts.all_captions(CAPTIONS) if how.captions else []
    for item, caption in written:
        key = key_of(caption)
        if item in row_of and item > captions_after and key:
            pairs.add((texts.setdefault(key, len(texts)), row_of[item]))
    both = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    return TextEvidence(
        ids,
        tuple(texts),
        np.arange(len(texts)) >= asked,
        np.concatenate([counted.query, both[:, 0]]),
        np.concatenate([counted.item, both[:, 1]]),
        np.concatenate([counted.count, np.ones(len(both))]),
        counted.report,
        len(said),
        len(both),
        max((n for n, _ in records), default=0),
    )


def triplets(evidence: TextEvidence, seed: int) -> Preferences:
    """Preferences of the clicks: against what was shown, and against some others at random."""
    rng = np.random.default_rng([seed, 10])
    asked = np.unique(evidence.query[evidence.count > 0])
    shown = np.repeat(asked, UNCLICKED)
    others = rng.integers(0, max(1, len(evidence.ids)), len(shown))
    return from_clicks(
        evidence.query, evidence.item, evidence.count, candidates=(shown, others),
        total=TRIPLETS, seed=seed,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Fitting:
    """Fits words models: on everything, or without what is held out.

    ``kept(name)`` is the state of an interrupted fit of that name, and ``keep(name, state)``
    is told each new one.
    """

    snapshot: Snapshot
    how: How
    on_top_of: Clicks | None = None
    """A model to go on from with new clicks."""
    kept: Callable[[str], State | None] = field(default=lambda name: None)
    keep: Callable[[str, State], None] = field(default=lambda name, state: None)

    def fit(self, evidence: TextEvidence) -> ClickLearner:
        """The learner, fitted on the texts that the evidence has clicks of."""
        assert self.snapshot.plain is not None
        used = np.unique(evidence.query[evidence.count > 0]).tolist()
        if self.on_top_of is None:
            vocabulary = TextVocabulary.fit(evidence.texts[i] for i in used)
        else:
            vocabulary = TextVocabulary.from_arrays(*self.on_top_of.vocabulary)
        learner = ClickLearner(
            self.snapshot.plain.space,
            dim=self.how.dim,
            settings=Settings(threads=self.how.threads, seed=self.how.seed),
            vocabulary=vocabulary.to_arrays(),
        )
        chosen = triplets(evidence, self.how.seed)
        # Only pictures that are spoken of are needed: their codes fit into memory.
        rows = np.unique(np.concatenate([evidence.item, chosen.better, chosen.worse]))
        x = self.snapshot.codes(evidence.ids[rows]).astype(np.float64)

        def place(old: IdArray) -> IdArray:
            return np.searchsorted(rows, old).astype(np.int64)

        chosen = replace(chosen, better=place(chosen.better), worse=place(chosen.worse))
        texts = vocabulary.transform(evidence.texts)
        if self.on_top_of is not None:
            learner.similarity_ = self.on_top_of
            return learner.refit(x, chosen, texts)
        name = _digest(evidence, chosen, self.how)
        clicks = (evidence.query, place(evidence.item), evidence.count)
        return learner.fit(
            x, chosen, texts, clicks=clicks, state=self.kept(name),
            keep=lambda state: self.keep(name, state),
        )  # fmt: skip

    def model(self, evidence: TextEvidence) -> WordsModel | None:
        """The words model of the evidence; None where nothing can be learned."""
        similarity = self.fit(evidence).similarity_
        return WordsModel(similarity) if isinstance(similarity, Clicks) else None


def _digest(evidence: TextEvidence, chosen: Preferences, how: How) -> str:
    """Another name for other data or settings, so that a state is never mistaken."""
    digest = hashlib.sha256(repr((how, TRIPLETS)).encode())
    digest.update("\n".join(evidence.texts).encode())
    arrays = (evidence.ids, evidence.query, evidence.item, evidence.count)
    for array in (*arrays, chosen.query, chosen.better, chosen.worse):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:32]


# -- measuring ---------------------------------------------------------------------


def hold_out(
    fitting: Fitting,
    evidence: TextEvidence,
    store: Store,
    active: WordsModel | None = None,
    seen: IdArray | None = None,
) -> HeldOut:
    """Measure the method on held-out queries, beside full text and the active words model.

    ``seen`` are the hashes of texts that the active model was learned from: on those it
    cannot be measured.
    """
    count, seed = len(evidence.texts), fitting.how.seed
    fold = _folds(evidence, count, seed)
    chosen = evidence.chosen()
    measured = np.array([bool(len(rows)) for rows in chosen])
    if count > MEASURED:
        first = np.flatnonzero((fold == 0) & measured)
        some = np.random.default_rng([seed, 11]).permutation(first)[:MEASURED]
        measured = np.isin(np.arange(count), some)
    bench = _Bench(evidence, store, fitting.snapshot, chosen, seed)
    runs: dict[str, Run] = {FULL_TEXT: {}, "new": {}}
    for part in np.unique(fold[measured]):
        model = fitting.model(evidence.where(fold != part))
        for query in np.flatnonzero((fold == part) & measured).tolist():
            runs[FULL_TEXT][str(query)] = bench.scores(query, None)
            runs["new"][str(query)] = bench.scores(query, model)
    truth = {q: bench.truth(int(q)) for q in runs["new"]}
    rivals = {FULL_TEXT: list(truth)}
    if active is not None:
        known = set() if seen is None else set(seen.tolist())
        fresh = [q for q in truth if hash_of(evidence.texts[int(q)]) not in known]
        if len(fresh) >= FEWEST:
            runs["active"] = {q: bench.scores(int(q), active) for q in fresh}
            rivals["active"] = fresh
    return judge_runs(runs, truth, rivals, seed)


def _folds(evidence: TextEvidence, count: int, seed: int) -> IdArray:
    """Folds of texts; captions that share a picture are held out together."""
    fold = folds(count, seed)
    first = np.full(len(evidence.ids), -1, np.int64)
    captions = np.flatnonzero(evidence.is_caption[evidence.query])
    for at in captions.tolist():
        query, item = evidence.query[at], evidence.item[at]
        if first[item] < 0:
            first[item] = fold[query]
        else:
            fold[query] = first[item]
    return fold


class _Bench:
    """Where the chosen pictures of a text stand among others."""

    def __init__(
        self,
        evidence: TextEvidence,
        store: Store,
        snapshot: Snapshot,
        chosen: list[IdArray],
        seed: int,
    ) -> None:
        self.evidence, self.store, self.snapshot = evidence, store, snapshot
        self.chosen, self.seed = chosen, seed

    def pool(self, query: int) -> tuple[IdArray, FloatArray]:
        """Picture rows to rank, and a random number each that breaks ties fairly."""
        rng = np.random.default_rng([self.seed, 12, query])
        mine = self.evidence.query == query
        shown = self.evidence.item[mine & (self.evidence.count <= 0)][:OTHERS]
        others = rng.integers(0, len(self.evidence.ids), OTHERS)
        rows = np.unique(np.concatenate([self.chosen[query][:OTHERS], shown, others]))
        return rows, rng.random(len(rows)) * 1e-9

    def truth(self, query: int) -> dict[str, float]:
        """Which of the pool were chosen."""
        rows, _ = self.pool(query)
        good = set(self.chosen[query].tolist())
        return {str(r): float(r in good) for r in rows.tolist()}

    def scores(self, query: int, model: WordsModel | None) -> dict[str, float]:
        """Fused scores of the pool, as a search would fuse them."""
        rows, luck = self.pool(query)
        text, ids = self.evidence.texts[query], self.evidence.ids[rows]
        read = None if model is None else model.read(text)
        lists = {"words": full_text(self.store, text, len(ids), read, among=ids)}
        if self.evidence.is_caption[query]:
            bare = self.evidence.ids[self.chosen[query]]
            keep = ~np.isin(lists["words"].ids, bare)
            lists["words"] = Hits(lists["words"].ids[keep], lists["words"].scores[keep])
        if read is not None and read.surrogate is not None:
            learned = self.snapshot.codes(ids) @ read.surrogate.vector
            order = np.lexsort((ids, -learned))
            order = order[learned[order] > 0]
            lists["learned words"] = Hits(ids[order], learned[order])
        hits, _ = fuse(lists, len(ids))
        score = dict(zip(hits.ids.tolist(), hits.scores.tolist()))
        return {
            str(row): score.get(int(item), 0.0) + float(tie)
            for row, item, tie in zip(rows.tolist(), ids.tolist(), luck)
        }


def hash_of(text: str) -> int:
    """A number for a text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


def prepare(
    fitting: Fitting,
    evidence: TextEvidence,
    store: Store,
    active: WordsModel | None,
    seen: IdArray | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Measure, fit on everything, and write the card: arrays and card of the model."""
    started = time.perf_counter()
    if not (evidence.count > 0).any():
        raise BadInput(
            "There are no clicks after words and no captions to learn from; search by words and "
            "open what you meant, import clicks (likewise judgements import), or describe pictures "
            "(likewise index --describe)."
        )
    held = hold_out(fitting, evidence, store, active, seen)
    learner = fitting.fit(evidence)
    if not isinstance(learner.similarity_, Clicks):
        raise BadInput(
            "The clicks and captions hold no word to learn from (stop words are left out); search "
            "by words that say what is to be seen."
        )
    arrays, written = learner.similarity_.to_arrays()
    own = np.array(sorted({hash_of(evidence.texts[q]) for q in np.unique(evidence.query)}))
    before = own[:0] if seen is None or fitting.on_top_of is None else seen
    arrays["seen"] = np.union1d(own, before).astype(np.int64)
    card = {
        "objective": "clicks",
        "kind": learner.similarity_.kind,
        "similarity": written,
        "judgements": evidence.judgements,
        "captions": evidence.captions,
        "queries": len(np.unique(evidence.query)),
        "clicks": asdict(evidence.clicks),
        "words": learner.similarity_.words,
        "newest": evidence.newest,
        "newest_item": int(evidence.ids.max(initial=0)),
        "settings": asdict(fitting.how),
        "report": finite(asdict(learner.report_)),
        "held_out": _rows(held),
        "guard": {
            "passed": held.passed,
            "sentence": held.sentence,
            **{name: finite(asdict(v)) for name, v in held.verdicts.items()},
        },
        "seconds": time.perf_counter() - started,
        "time": time.time(),
    }
    return arrays, card


def _rows(held: HeldOut) -> list[Mapping[str, Any]]:
    compared = table(held, baseline=FULL_TEXT)
    return [] if compared is None else [finite(dict(r)) for r in compared.rows]
