"""Clicks after text queries, and captions, as evidence for a model that reads text.

A caption counts as one click on its picture.  What is measured is what would be served, full text
and words as read with the model, against what serves without one: full text, class names and own
words.  A held-out caption's own pictures are taken to carry no text, because they would be found
by that very caption.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.collection.learn.descents import States
from likewise.collection.learn.evidence import Make, Mask, Rival, Sources, folds
from likewise.collection.learn.guard import HeldOut
from likewise.collection.options import normal_text
from likewise.collection.search import fused
from likewise.collection.text import Reader, full_text, read
from likewise.evaluation import Comparison, Run
from likewise.evaluation.guard import LOOKS
from likewise.features.text import TextVocabulary
from likewise.judgements import ClickReport, Judgements, click_table, from_clicks
from likewise.learners.clicks import Clicks
from likewise.store import as_file
from likewise.types import BadInput, FloatArray, Hits, IdArray, Preferences, Similarity

UNCLICKED = 10
"""Pictures that are taken to have been shown with each query and not chosen."""
TRIPLETS = 200_000
CAPTIONS = 100_000
"""Captions that are learned from, those of the newest items."""
MEASURED = 1_000
"""Held-out queries at most; where there are fewer queries, each is held out once."""
OTHERS = 50
"""Pictures among which the chosen ones must be found, in a measurement."""
UNLEARNED = "words without a model"


def key_of(text: str) -> str:
    """Texts that differ in case or spaces are one query."""
    return normal_text(text).casefold()


def hash_of(text: str) -> int:
    """A number for a text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts, and the pictures chosen (count above 0) or only shown for them."""

    takes: ClassVar[tuple[str, ...]] = ("propensity", "captions", "more")
    baseline: ClassVar[str] = UNLEARNED

    sources: Sources
    states: States
    on_top_of: Clicks | None
    """A model to go on from with what came since."""
    seen: IdArray
    """Hashes of texts that the active model was learned from: on those it cannot be measured."""
    ids: IdArray
    """Item of each picture row."""
    items: Any
    texts: tuple[str, ...]
    is_caption: Mask
    """Texts that nobody asked for: captions only."""
    query: IdArray
    item: IdArray
    count: FloatArray
    clicks: ClickReport
    judgements: int
    captions: int
    newest: int
    """Number of the newest judgement of the log."""

    @classmethod
    def gather(
        cls, sources: Sources, propensity: float | None = 0.0, captions: bool = True,
        more: bool = False,
    ) -> Texts:  # fmt: skip
        """Clicks after texts and captions, as columns; with ``more`` only what came since."""
        store, on_top_of, seen, after = sources.store, None, np.zeros(0, np.int64), (0, 0)
        if sources.active is not None:
            record, similarity = sources.active
            seen = store.models.load(record.id)[0].get("seen", seen)
            if more and isinstance(similarity, Clicks):
                on_top_of = similarity
                after = record.card.get("newest", 0), record.card.get("newest_item", 0)
        if more and on_top_of is None:
            raise BadInput(
                "No model that reads text is active to go on from; learn one without more."
            )
        ids, items = sources.view.all_rows()
        row_of = {int(item): row for row, item in enumerate(ids)}
        paths = {as_file(p): row_of[i] for i, p in store.items.paths(ids.tolist()).items()}
        records = list(store.judgements.records())
        said = [
            r.judgement for r in records if r.id > after[0] and r.judgement.query.kind == "text"
        ]
        log = Judgements.of(said)
        texts: dict[str, int] = {}
        refs = {ref: texts.setdefault(key_of(ref.value), len(texts)) for ref in log.queries()}
        counted = click_table(log, paths, refs, propensity=propensity)
        asked = len(texts)
        pairs: set[tuple[int, int]] = set()
        for item, caption in store.texts.all_captions(CAPTIONS) if captions else ():
            key = key_of(caption)
            if item in row_of and item > after[1] and key:
                pairs.add((texts.setdefault(key, len(texts)), row_of[item]))
        both = np.array(sorted(pairs), np.int64).reshape(-1, 2)
        count = np.concatenate([counted.count, np.ones(len(both))])
        if not (count > 0).any():
            raise BadInput(
                "There are no clicks after words and no captions to learn from; search by words "
                "and open what you meant, import clicks (likewise judgements import), or describe "
                "pictures (likewise index --describe)."
            )
        return cls(
            sources, States(store), on_top_of, seen, ids, items, tuple(texts),
            np.arange(len(texts)) >= asked,
            np.concatenate([counted.query, both[:, 0]]),
            np.concatenate([counted.item, both[:, 1]]),
            count, counted.report, len(said), len(both), max((r.id for r in records), default=0),
        )  # fmt: skip

    @cached_property
    def chosen(self) -> list[IdArray]:
        """For each text the picture rows that were chosen."""
        order = np.lexsort((self.item, self.query))
        order = order[self.count[order] > 0]
        ends = np.searchsorted(self.query[order], np.arange(len(self.texts) + 1))
        return [self.item[order[a:b]] for a, b in pairwise(ends)]

    # -- fitting -------------------------------------------------------------------

    def fit(self, make: Make, keep: Mask | None = None) -> Any:
        """A learner, fitted on the kept texts; it goes on where it was stopped before."""
        mask: Any = slice(None) if keep is None else keep[self.query]
        query, item, count = self.query[mask], self.item[mask], self.count[mask]
        if self.on_top_of is None:
            used = np.unique(query[count > 0]).tolist()
            vocabulary = TextVocabulary.fit(self.texts[i] for i in used)
        else:
            vocabulary = TextVocabulary.from_arrays(*self.on_top_of.vocabulary)
        learner = make(vocabulary=vocabulary.to_arrays())
        chosen = self._triplets(query, item, count)
        # Only pictures that are spoken of are needed: their codes fit into memory.
        rows = np.unique(np.concatenate([item, chosen.better, chosen.worse]))
        x = np.asarray(self.items[rows], dtype=np.float64)

        def place(old: IdArray) -> IdArray:
            return np.searchsorted(rows, old).astype(np.int64)

        placed = replace(chosen, better=place(chosen.better), worse=place(chosen.worse))
        texts = vocabulary.transform(self.texts)
        if self.on_top_of is not None:
            learner.similarity_ = self.on_top_of
            return learner.partial_fit(x, placed, texts)
        how = sorted((k, v) for k, v in vars(learner).items() if isinstance(v, (int, float, str)))
        digest = hashlib.sha256(repr((how, TRIPLETS, self.texts)).encode())
        for array in (self.ids, query, item, count, chosen.query, chosen.better, chosen.worse):
            digest.update(np.ascontiguousarray(array).tobytes())
        name = digest.hexdigest()[:32]  # other data or settings have another
        return learner.fit(
            x, placed, texts, clicks=(query, place(item), count), state=self.states.load(name),
            keep=lambda state: self.states.save(name, state),
        )  # fmt: skip

    def _triplets(self, query: IdArray, item: IdArray, count: FloatArray) -> Preferences:
        """Preferences of clicks: against what was shown, and against some others at random."""
        seed = self.sources.seed
        rng = np.random.default_rng([seed, 10])
        shown = np.repeat(np.unique(query[count > 0]), UNCLICKED)
        others = rng.integers(0, max(1, len(self.ids)), len(shown))
        return from_clicks(
            query, item, count, candidates=(shown, others), total=TRIPLETS, seed=seed
        )

    # -- measuring -----------------------------------------------------------------

    def folds(self) -> IdArray:
        """Folds of texts; captions that share a picture are held out together."""
        fold = folds(len(self.texts), self.sources.seed)
        first = np.full(len(self.ids), -1, np.int64)
        captions = np.flatnonzero(self.is_caption[self.query])
        for at in captions.tolist():
            query, item = self.query[at], self.item[at]
            if first[item] < 0:
                first[item] = fold[query]
            else:
                fold[query] = first[item]
        return fold

    def measured(self, fold: IdArray) -> Mask:
        """Texts with a chosen picture; some of the first fold where there are very many."""
        measured = np.array([bool(len(rows)) for rows in self.chosen])
        if len(fold) > MEASURED:
            first = np.flatnonzero((fold == 0) & measured)
            rng = np.random.default_rng([self.sources.seed, 11])
            measured = np.isin(np.arange(len(fold)), rng.permutation(first)[:MEASURED])
        return measured

    def rivals(self, queries: Sequence[int]) -> Mapping[str, Rival]:
        """Words as read without a model, and the active model on texts that it has not seen."""
        found: dict[str, Rival] = {UNLEARNED: (None, queries)}
        if self.sources.active is not None:
            known = set(self.seen.tolist())
            fresh = [q for q in queries if hash_of(self.texts[q]) not in known]
            if len(fresh) >= LOOKS[0]:
                found["active"] = self.sources.active[1], fresh
        return found

    def truth(self, queries: Iterable[int]) -> dict[str, dict[str, float]]:
        """Which pictures of each text's pool were chosen."""
        return {
            str(q): {str(r): float(r in good) for r in self._pool(q)[0].tolist()}
            for q in queries
            for good in [set(self.chosen[q].tolist())]
        }

    def run(self, similarity: Similarity | None, queries: Iterable[int]) -> Run:
        """Fused scores of each text's pool, as a search would fuse them."""
        model = Reader(similarity) if isinstance(similarity, Clicks) else None
        return {str(q): self._scores(q, model) for q in queries}

    def _pool(self, query: int) -> tuple[IdArray, FloatArray]:
        """Picture rows to rank, and a random number each that breaks ties fairly."""
        rng = np.random.default_rng([self.sources.seed, 12, query])
        mine = self.query == query
        shown = self.item[mine & (self.count <= 0)][:OTHERS]
        others = rng.integers(0, len(self.ids), OTHERS)
        rows = np.unique(np.concatenate([self.chosen[query][:OTHERS], shown, others]))
        return rows, rng.random(len(rows)) * 1e-9

    def _scores(self, query: int, model: Reader | None) -> dict[str, float]:
        rows, luck = self._pool(query)
        text, ids = self.texts[query], self.ids[rows]
        bare = self.ids[self.chosen[query]] if self.is_caption[query] else self.ids[:0]
        said = read(self.sources.store, text, self.sources.view, model, without=bare)
        found = full_text(self.sources.store, text, len(ids), said, among=ids)
        keep = ~np.isin(found.ids, bare)
        lists = {"words": Hits(found.ids[keep], found.scores[keep])}
        if said.surrogate is not None:
            looks = self.items[rows] @ said.surrogate.vector + said.surrogate.offset
            order = np.lexsort((ids, -looks))
            order = order[looks[order] > 0]
            lists[said.found_by] = Hits(ids[order], looks[order])
        hits, _ = fused(lists, len(ids))
        score = dict(zip(hits.ids.tolist(), hits.scores.tolist()))
        return {
            str(row): score.get(int(item), 0.0) + float(tie)
            for row, item, tie in zip(rows.tolist(), ids.tolist(), luck)
        }

    # -- telling -------------------------------------------------------------------

    def told(self, learned: Any, held: HeldOut, compared: Comparison | None) -> dict[str, Any]:
        """Data used, and where to go on from; the descent is done, so its states go."""
        if not isinstance(learned.similarity_, Clicks):
            raise BadInput(
                "The clicks and captions hold no word to learn from (stop words are left out); "
                "search by words that say what is to be seen."
            )
        self.states.clear()
        return {
            "judgements": self.judgements,
            "captions": self.captions,
            "queries": len(np.unique(self.query)),
            "clicks": asdict(self.clicks),
            "words": learned.similarity_.words,
            "newest": self.newest,
            "newest_item": int(self.ids.max(initial=0)),
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Hashes of the texts that were learned from, so that nothing is measured on them."""
        own = [hash_of(self.texts[q]) for q in np.unique(self.query)]
        before = self.seen if self.on_top_of is not None else self.seen[:0]
        return {"seen": np.union1d(np.array(own, np.int64), before).astype(np.int64)}
