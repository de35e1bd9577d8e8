"""From a query to an answer: what the query becomes, one search, one list of results, and why.

:meth:`Search.understand` is the one place where a query becomes a surrogate; searching,
explaining and the choice of candidates all begin there.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.collection.lines.line import Line, View
from likewise.collection.lines.reading import CLICK, marked
from likewise.collection.options import Answer, Offer, Options, Query, Result
from likewise.collection.text import Read, full_text, read
from likewise.collection.whole import duplicates
from likewise.filters import NO_FILTER, Allowed, Among, Filter
from likewise.store import Store, as_file
from likewise.types import LOOK, BadInput, Hits, Similarity, Surrogate

if TYPE_CHECKING:
    from likewise.collection.learn.models import Modelling
    from likewise.collection.teach import Teaching

DEEPER = 5
"""Each list that is fused looks this many times deeper than the answer."""
FUSION = 60.0
"""The constant of reciprocal rank fusion: how little the very first places weigh."""
MANY_MARKS = 5
"""So many marks of a query say more of pictures as they are than of smoothed ones."""
TRIES = 3
"""States that are tried before a search reads from several."""
PICTURE, TAUGHT, OPENED, MARKS, USED, TEXT = (
    "picture", "taught", "opened", "marks", "used", "text",
)  # fmt: skip
MOST = 8
"""Right pictures of a query by which earlier teaching near it is looked for."""
SHOWN = 10
"""First results that stand for a query of words when earlier teaching near it is looked for."""


@dataclass(frozen=True, eq=False)
class Understood:
    """What a query became.

    ``stages`` are the evidence in the order it was added, each with the whole surrogate from then
    on: the pictures by plain similarity, what the model was taught, results that were opened for
    its words, the query's ``marks`` (so many), marks of other queries that a person wants to be
    used, its text as a reader made it out.  Items that were marked as not meant by words alone are
    ``crossed`` out; ``rows`` are what similarities take of the pictures, each with its weight.
    """

    query: Query
    line: Line
    view: View
    similarity: Similarity | None
    model: str
    stages: tuple[tuple[str, Surrogate], ...]
    marks: int
    read: Read | None
    crossed: tuple[int, ...] = ()
    rows: tuple[tuple[Any, float], ...] = ()

    @property
    def surrogate(self) -> Surrogate | None:
        """What the index is searched with; None where only full text can answer."""
        return self.stages[-1][1] if self.stages else None

    @property
    def by_text_alone(self) -> bool:
        """Whether nothing but the text speaks for a picture."""
        return [name for name, _ in self.stages] == [TEXT]

    @property
    def by_cosine(self) -> bool:
        """Whether scores are divided by items' lengths: a model of words, between pictures."""
        return self.query.has_pictures and hasattr(self.similarity, "lengths")

    def found(self, k: int, among: Among | None) -> Hits:
        """The best items by the whole surrogate."""
        assert self.surrogate is not None
        if not self.by_cosine:
            return self.view.search(self.surrogate, k, self.similarity, among=among)
        similarity: Any = self.similarity
        ids, rows = self.view.all_rows()
        lengths = self.view.once(f"lengths of {self.model}", lambda: similarity.lengths(rows))
        scores = rows @ self.surrogate.vector / lengths + self.surrogate.offset
        allowed = among.ids if isinstance(among, Allowed) else among
        keep = np.arange(len(ids)) if allowed is None else np.flatnonzero(np.isin(ids, allowed))
        best = keep[np.lexsort((ids[keep], -scores[keep]))[:k]]
        return Hits(ids[best], scores[best])

    def explained(self, item: int) -> dict[str, Any]:
        """What an item's score is made of: by block, by evidence, side columns and offset."""
        surrogate = self.surrogate
        assert surrogate is not None
        assert self.similarity is not None
        code = self.view.codes([item])
        if self.by_cosine:
            code = code / self.similarity.lengths(self.view.rows([item]))  # type: ignore[attr-defined]
        parts: dict[str, float] = {}
        before = 0.0
        for name, stage in self.stages:
            now = product(code, stage)
            parts[name], before = now - before, now
        columns = self.similarity.side_columns(self.view.rows([item])) if surrogate.side else {}
        side = sum(c * float(columns[name][0]) for name, c in surrogate.side.items())
        return {
            "blocks": self.line.contributions(surrogate, code, self.view),
            "parts": parts,
            "side": side,
            "offset": surrogate.offset,
            "score": before + side + surrogate.offset,
        }


class Search:
    """Answers queries over the lines of a collection."""

    def __init__(
        self, store: Store, lines: Mapping[str, Line], models: Modelling, teaching: Teaching
    ) -> None:
        self._store, self._lines = store, lines
        self._models, self._teaching = models, teaching

    def one_state(self, line: str) -> contextlib.AbstractContextManager[None]:
        """Let all that is read in the block be of one state, which the line's view is of.

        A view is made outside of it: where a file of an old state has gone, the next is read.
        """
        found = self._lines.get(line)
        if found is None or found.is_pinned:
            return contextlib.nullcontext()
        return self._of_one_state(found)

    @contextlib.contextmanager
    def _of_one_state(self, found: Line) -> Iterator[None]:
        for _ in range(TRIES):
            with self._store.snapshot(), found.pinned() as is_at_hand:
                if is_at_hand:
                    yield
                    return
            found.refresh()
        yield  # the writer is always ahead

    def understand(self, query: Query, options: Options) -> Understood:
        """The surrogate of a query: its pictures, what was taught, its marks, its text."""
        line = self._line(query)
        view = line.view(checked=False)
        if not view.space and (line.may_be_empty or not query.has_pictures):
            return Understood(query, line, view, None, "plain", (), 0, None)
        marks = self._marks(query, view) if options.marks else {}
        if len(marks) >= MANY_MARKS and query.has_pictures:
            view = view.bare
        similarity, model = self._models.serving(options.model, view)
        stages: list[tuple[str, Surrogate]] = []
        rows = _rows(query, view)
        if rows:
            stages.append((PICTURE, _pictures(rows, view.plain)))
            if similarity is not view.plain:
                stages.append((TAUGHT, _pictures(rows, similarity)))
        text = self._read(query, options, view)
        if text is not None and text.surrogate is not None and not stages:
            stages.append((TEXT, text.surrogate))
        used = self._teaching.offers.marks(line.name, options.use, view) if options.use else {}
        own = self._ids(query.own_items) if marks or used else []
        base = stages[-1][1] if stages else None
        if (marks or used) and rows and view.bare is not view:  # a query with marks speaks as it is
            base = _pictures(_rows(query, view.bare), similarity)
        spoken = None if text is None or query.has_pictures else text.spoken
        opened = self._opened(query, view, marks) if spoken and options.marks else {}
        for name, said in (
            (OPENED, {} if marks else opened),
            (MARKS, {**opened, **marks} if marks else {}),
            (USED, {**opened, **_less(used, own), **marks} if used else {}),
        ):
            if said and spoken is not None:
                stages.append((name, marked(spoken, view, said)))
            elif any(value > 0 for value in said.values()) or (said and base is not None):
                by = similarity
                if name == USED and line.name == LOOK and similarity is view.plain:
                    by = self._teaching.in_common(query, options.use, view)
                    base = _pictures(_rows(query, view.bare), by) if rows else base
                stages.append((name, line.marked(view, by, base, said, own)))
        if text is not None and text.surrogate is not None and query.has_pictures:
            stages.append((TEXT, _joined(stages[-1][1], text, view)))
        count = len(marks) if any(name == MARKS for name, _ in stages) else 0
        crossed = [item for item, value in marks.items() if value < 0]
        out = () if query.has_pictures else tuple(crossed)
        return Understood(
            query, line, view, similarity, model, tuple(stages), count, text, out, tuple(rows)
        )

    def _line(self, query: Query) -> Line:
        if query.line not in self._lines:
            known = " or ".join(self._lines)
            raise BadInput(f"What is searched is {known}, not {query.line!r}.")
        line = self._lines[query.line]
        line.check(query)
        return line

    def _marks(self, query: Query, view: View) -> dict[int, float]:
        """1 or -1 by item that was marked for this query and can be found."""
        if not query.examples and query.vector is not None:
            return {}
        marks = self._teaching.marks(query)
        return {i: 1.0 if value > 0 else -1.0 for i, value in marks.items() if view.holds(i)}

    def _opened(self, query: Query, view: View, marks: Mapping[int, float]) -> dict[int, float]:
        """What results that were opened for words count, where no mark says more."""
        clicked = self._store.judgements.clicked(query.ref.value) if query.can_be_judged else []
        return {item: CLICK for item in clicked if item not in marks and view.holds(item)}

    def _read(self, query: Query, options: Options, view: View) -> Read | None:
        if not query.text.strip() or options.model == "plain":
            return None
        learned = self._models.reader(options.model, view)
        return read(self._store, query.text, view, learned, compact=options.compact)

    def _ids(self, paths: Sequence[str]) -> list[int]:
        return [self._store.items.find(path).id for path in paths]

    # -- answers -------------------------------------------------------------------

    def answer(self, query: Query, options: Options) -> Answer:
        """Search by every kind of evidence the query has, and join what was found."""
        with self.one_state(query.line):
            return self._answer(query, options)

    def _answer(self, query: Query, options: Options) -> Answer:
        started = time.perf_counter()
        asked = self.understand(query, options)
        own = self._ids(query.own_items)
        k = max(options.k * 4 if options.fold else options.k, options.check)
        lists = self.lists(asked, k, own, self._among(options.filter))
        hits, found_by = joined_lists(lists, k)
        results = self._results(hits, found_by)
        if options.check:
            results = asked.line.checked(query, results, options.check)
        if options.pin and own:
            results = [*self._pinned(asked, own), *results]
        if options.fold:
            look = asked.view if query.line == LOOK else self._lines[LOOK].view()
            results = duplicates.folded(results, look.bare)
        notes = asked.line.notes(query, asked.view)
        if asked.read is not None and asked.read.note:
            notes.append(asked.read.note)
        return Answer(
            tuple(results[: options.k]),
            model=asked.model,
            reader="" if asked.read is None else asked.read.title,
            marks=asked.marks,
            generation=asked.view.generation,
            degraded=asked.view.degraded,
            seconds=time.perf_counter() - started,
            notes=tuple(notes),
            seek=partial(self._offers, asked, options, hits),
        )

    def _offers(self, asked: Understood, options: Options, hits: Hits) -> tuple[Offer, ...]:
        """Earlier teaching near this query; words are where their first results are."""
        if not options.use and self._teaching.taught.is_empty():
            return ()
        query, view, offers = asked.query, asked.view.bare, self._teaching.offers
        if query.line != LOOK or not view.space:
            return offers.used(query.line, options.use)
        own = asked.rows if view is asked.view else _rows(query, view)
        rows = [row * weight for row, weight in own]
        if not rows:
            first = [item for item in hits.ids[:SHOWN].tolist() if view.holds(item)]
            rows = list(view.rows(first)) if first else []
        name = self._teaching.name(query) if query.can_be_judged else ""
        marks = self._marks(query, view) if options.marks and rows else {}
        right = [item for item, value in marks.items() if value > 0][:MOST]
        near = [sum(rows)] if rows else []
        near += list(view.rows(right)) if right else []
        return offers.used(LOOK, options.use) + offers.near(name, near, options.use, view)

    def lists(
        self, asked: Understood, k: int, own: Sequence[int], among: Among | None
    ) -> dict[str, Hits]:
        """What each kind of evidence finds, deep enough to be fused; none that finds nothing."""
        query, surrogate = asked.query, asked.surrogate
        out = [*own, *asked.crossed]
        depth = (k * DEEPER if query.text and surrogate is not None else k) + len(out)
        lists: dict[str, Hits] = {}
        written = Hits(np.zeros(0, np.int64), np.zeros(0))
        if query.text:
            written = full_text(self._store, query.text, depth, asked.read, among=among)
            depth = depth if len(written.ids) else k + len(out)
        if asked.by_text_alone:
            assert asked.read is not None
            lists[asked.read.found_by] = asked.read.find(asked.view, depth, among=among)
        elif surrogate is not None and not _is_silent(surrogate):
            name = "picture with words" if asked.stages[-1][0] == TEXT else asked.line.found_by
            if asked.stages[0][0] == TEXT and asked.read is not None:
                name = asked.read.found_by
            lists[name] = asked.found(depth, among)
        if len(written.ids):
            lists["words"] = written
        left = {name: _without(hits, out) for name, hits in lists.items()}
        return {name: hits for name, hits in left.items() if len(hits.ids)}

    def _among(self, wanted: Filter) -> Among | None:
        items = self._store.items
        if wanted == NO_FILTER:
            return None
        return Allowed(wanted, items.matching, items.conditions, items.restated)

    def _results(self, hits: Hits, found_by: Mapping[int, tuple[str, ...]]) -> list[Result]:
        paths = self._store.items.paths(hits.ids.tolist())
        return [
            Result(item, as_file(paths[item]), float(score), found_by[item])
            for item, score in zip(hits.ids.tolist(), hits.scores.tolist())
            if item in paths
        ]

    def _pinned(self, asked: Understood, own: Sequence[int]) -> list[Result]:
        known = [asked.surrogate is not None and asked.view.holds(item) for item in own]
        scores = [asked.explained(i)["score"] if held else 0.0 for i, held in zip(own, known)]
        hits = Hits(np.array(own, dtype=np.int64), np.array(scores))
        return self._results(hits, dict.fromkeys(own, ("query",)))

    # -- why -----------------------------------------------------------------------

    def why(self, query: Query, item: int, options: Options) -> dict[str, Any]:
        """What an item's score is made of, by block and by evidence.

        ``blocks`` (visual words on the line ``objects``) and ``parts`` each sum, with ``side``
        and ``offset``, to ``score``.  Where lists are fused, ``lists`` has the item's place and
        score in each, and ``fused`` the sum of 1 / (60 + place) that ranks it.
        """
        asked = self.understand(query, options)
        found = self._store.items.get(item)
        carried = [found.file, *(t.text for t in self._store.texts.tags(item))]
        carried += [t.text for t in self._store.texts.captions(item)]
        out: dict[str, Any] = {
            "item": item,
            "model": asked.model,
            "reader": "" if asked.read is None else asked.read.title,
            "learned_words": [] if asked.read is None else list(asked.read.known),
            "looks_like": self._looks_like(asked, item),
            "words": [w for w in query.text.lower().split() if w in " ".join(carried).lower()],
            "clicks": self._teaching.clicks(query, item),
            "marks": asked.marks,
            "blocks": {},
            "parts": {},
            "lists": {},
        }
        if asked.surrogate is not None and asked.view.holds(item):
            out |= asked.explained(item)
        return out | self._places(asked, item, options)

    def _looks_like(self, asked: Understood, item: int) -> list[str]:
        """Names of the classes and colours that speak for an item, where words were asked for."""
        said = None if asked.read is None else asked.read.spoken
        there = said is not None and asked.view.holds(item)
        return said.looks_like(asked.view.rows([item])[0]) if said and there else []

    def _places(self, asked: Understood, item: int, options: Options) -> dict[str, Any]:
        """Where the lists that are fused have the item; nothing where there is one list."""
        own = self._ids(asked.query.own_items)
        k = max(options.k * 4 if options.fold else options.k, options.check)
        lists = self.lists(asked, k, own, self._among(options.filter)) if asked.query.text else {}
        if len(lists) < 2:
            return {}
        places = {}
        for name, hits in lists.items():
            at = np.flatnonzero(hits.ids == item)
            if len(at):
                places[name] = {"place": int(at[0]) + 1, "score": float(hits.scores[at[0]])}
        fused = sum(1.0 / (FUSION + p["place"]) for p in places.values())
        return {"lists": places, "fused": fused}

    # -- whom to ask what ----------------------------------------------------------

    def candidates(self, query: Query, count: int = 20) -> list[int]:
        """Items worth judging for a query, none judged yet: near ones and disputed ones in turn.

        Half are the nearest by what serves.  The others are found by some contestants and not by
        all of them; what all of them find, or none, needs nobody's word.
        """
        asked = self.understand(query, Options(marks=False))
        if asked.surrogate is None:
            raise BadInput("Candidates are chosen for a picture; give the query one.")
        judged = [*self._marks(query, asked.view), *self._ids(query.own_items)]
        deep = 2 * count + len(judged)
        rivals = self._contestants(asked)
        found = [asked.view.search(surrogate, deep, by) for surrogate, by in rivals]
        lists = [_without(hits, judged).ids[: 2 * count].tolist() for hits in found]
        near, agreed = lists[0][: (count + 1) // 2], set.intersection(*map(set, lists))
        ranked = [i for level in zip_longest(*lists) for i in level if i is not None]
        disputed = [i for i in dict.fromkeys(ranked) if i not in agreed and i not in near]
        rest = [i for i in lists[0] if i not in near and i not in disputed]
        others = [*disputed, *rest][: count - len(near)]
        turns = [i for pair in zip(near, others) for i in pair]
        return [*turns, *near[len(others) :], *others[len(near) :]]

    def _contestants(self, asked: Understood) -> list[tuple[Surrogate, Similarity | None]]:
        """Who might rank a query: what serves, plain, the newest model, each block by itself."""
        view, query = asked.view, asked.query
        assert asked.surrogate is not None
        plain = asked.stages[0][1]
        found: list[tuple[Surrogate, Any]] = [(asked.surrogate, asked.similarity)]
        found.append((plain, view.plain))
        newest = self._models.newest(view)
        if newest is not None and query.has_pictures:
            found.append((_pictures(_rows(query, view), newest), newest))
        for columns in getattr(view.plain.space, "slices", {}).values():
            alone = np.zeros_like(plain.vector)
            alone[columns] = plain.vector[columns]
            found.append((replace(plain, vector=alone, plain=False), view.plain))
        return found


def product(code: Any, surrogate: Surrogate) -> float:
    """One code times a surrogate's vector."""
    if surrogate.is_sparse:
        return float((code @ surrogate.vector.T).sum())
    return float(np.asarray(code[0], np.float64) @ np.asarray(surrogate.vector, np.float64))


def _rows(query: Query, view: View) -> list[tuple[Any, float]]:
    """What similarities take of a query's pictures, each with its weight."""
    rows = [(view.query(e.ref), e.weight) for e in query.examples]
    return rows if query.vector is None else [*rows, (view.line.vector(query.vector, view), 1.0)]


def _pictures(rows: Sequence[tuple[Any, float]], similarity: Similarity) -> Surrogate:
    """The sum of the examples' surrogates times their weights."""
    made = ((similarity.surrogate(row), weight) for row, weight in rows)
    first, *more = (one if weight == 1 else one * weight for one, weight in made)
    return sum(more, first)


def joined_lists(lists: Mapping[str, Hits], k: int) -> tuple[Hits, dict[int, tuple[str, ...]]]:
    """One list with its own scores, several fused; and, by item, the lists that found it."""
    if len(lists) == 1:
        ((name, hits),) = lists.items()
        return Hits(hits.ids[:k], hits.scores[:k]), dict.fromkeys(hits.ids.tolist(), (name,))
    return fused(lists, k)


def fused(lists: Mapping[str, Hits], k: int) -> tuple[Hits, dict[int, tuple[str, ...]]]:
    """Lists joined by reciprocal rank: an item scores the sum of 1 / (60 + its place).

    The rule needs no common scale of scores, which full-text and picture scores do not have.
    """
    score: dict[int, float] = {}
    found: dict[int, list[str]] = {}
    for name, hits in lists.items():
        for place, item in enumerate(hits.ids.tolist(), start=1):
            score[item] = score.get(item, 0.0) + 1.0 / (FUSION + place)
            found.setdefault(item, []).append(name)
    order = sorted(score, key=lambda item: (-score[item], item))[:k]
    hits = Hits(np.array(order, dtype=np.int64), np.array([score[i] for i in order]))
    return hits, {item: tuple(found[item]) for item in order}


def _joined(pictures: Surrogate, read: Read, view: View) -> Surrogate:
    """Pictures and text added, each with the same spread of scores over the collection.

    Class names have a spread of 1 where they are sure of the words; else they say less.
    """
    text, codes = read.surrogate, view.sample()
    assert text is not None
    spread = [float(np.std(codes @ s.vector)) for s in (pictures, text)]
    full = max(spread[1], 1.0) if read.spoken is not None else spread[1]
    return pictures + text * (spread[0] / full if min(spread) > 0 else 1.0)


def _less(marks: Mapping[int, float], own: Sequence[int]) -> dict[int, float]:
    return {item: value for item, value in marks.items() if item not in own}


def _is_silent(surrogate: Surrogate) -> bool:
    """Whether a surrogate tells no two pictures apart."""
    vector: Any = surrogate.vector
    return surrogate.is_sparse and not vector.count_nonzero() and not surrogate.side


def _without(hits: Hits, out: Sequence[int]) -> Hits:
    if not out:
        return hits
    keep = hits.ids != out[0] if len(out) == 1 else ~np.isin(hits.ids, out)
    return Hits(hits.ids[keep], hits.scores[keep])
