"""Pictures smoothed by their neighbours: all items at a build, new ones and queries by a search.

Neighbours are those of pictures as they are (:attr:`View.bare`).  An item's code is made once
a generation; a picture that came since gets its own from what is there now, while those that
it is a neighbour of wait for the next generation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from likewise.collection.lines.line import View
from likewise.collection.lines.parts import places
from likewise.learners.plain import Plain
from likewise.solvers.smoothing import Smoothing, nearest, nearest_in_cells, smooth, smoothed
from likewise.spaces import unit_rows
from likewise.types import FloatArray, Hits, IdArray, Index, Surrogate

MANY = 20_000
"""From so many items on their neighbours are sought in near cells, not by a scan."""
AT_ONCE = 100_000_000
"""Pairs of a new picture and one that is there, up to which new ones are smoothed at once."""
DEEPER = 2
"""Candidates for each neighbour: a search ranks by score, neighbours are ranked by cosine."""
BATCH = 1_024
CHECKED, ASKED, FEWEST = 20_000, 1_000, 200
"""Pictures that the check looks at, queries among them, and pictures that it needs."""
KEPT = 0.6
"""Share of a picture's distance to the next one that smoothing must leave it.

Chosen by ``python -m experiments.smoothing`` (docs/features.md has the table)."""
BY_HAND = frozenset({"colour", "texture", "shape", "gist"})
"""Blocks of looks: where there are no others, the neighbours of a picture show something else."""


def kept(x: FloatArray, plain: Plain, how: Smoothing) -> float:
    """How well pictures can still be told from each other once they are smoothed.

    A fifth of the pictures are queries, and the others two halves.  Every query is smoothed by
    the one half and by the other; what is kept is how much nearer its two codes are to each
    other than to those of the next query, over its distance to the next one before smoothing.
    Nothing is kept where all blocks are of looks alone: there the first result is right less
    often, and no number that needs no label was found to show it.
    """
    if {name for name, weight in plain.weights.items() if weight > 0} <= BY_HAND:
        return 0.0
    count = min(ASKED, len(x) // 5)
    queries, one, other = x[:count], x[count::2], x[count + 1 :: 2]
    root = np.sqrt(plain.w0)

    def unit(rows: FloatArray) -> FloatArray:
        return unit_rows(rows * root)

    def nearer(codes: FloatArray, others: FloatArray) -> float:
        cosine = codes @ others.T
        same = cosine.diagonal().copy()
        np.fill_diagonal(cosine, -np.inf)
        return float((same - cosine.max(axis=1)).mean())

    first, second = (
        unit(smooth(queries, plain.w0, items=half, k=how.k, power=how.power))
        for half in (one, other)
    )
    before = nearer(unit(queries), unit(queries))
    return nearer(first, second) / before if before > 0 else 0.0


def smoothed_items(rows: FloatArray, plain: Plain) -> Iterator[FloatArray]:
    """Every row smoothed by the others, in batches; memory does not grow with their number."""
    k, power = plain.space.smoothing or Smoothing()
    if len(rows) < MANY:
        near = nearest(rows, rows, plain.w0, k, own=np.arange(len(rows)))
    else:
        near = nearest_in_cells(rows, plain.w0, k)
    for start in range(0, len(rows), BATCH):
        part = slice(start, start + BATCH)
        yield smoothed(rows[part], rows[near[part]], plain.w0, power)


def smoothed_by(bare: View, x: FloatArray, own: IdArray | None = None) -> FloatArray:
    """Picture vectors smoothed by the pictures of a view; ``own`` names items that they are."""
    plain = bare.plain
    k, power = plain.space.smoothing or Smoothing()
    out = np.empty_like(x)
    for start in range(0, len(x), BATCH):
        part = slice(start, start + BATCH)
        hits = bare.search_many([plain.surrogate(row) for row in x[part]], DEEPER * k + 1)
        near = _near(hits, None if own is None else own[part], bare.rows)
        out[part] = smoothed(x[part], near, plain.w0, power, k)
    return out


def _near(hits: Sequence[Hits], own: IdArray | None, rows_of: Any) -> FloatArray:
    """Vectors of the candidates, itself replaced by nothing."""
    ids = np.stack([one.ids for one in hits])
    near: FloatArray = np.array(rows_of(ids.ravel())).reshape(*ids.shape, -1)
    if own is not None:
        near[ids == own[:, None]] = 0.0
    return near


class Rescored:
    """Pictures as they are behind an index of smoothed codes: its best are scored again."""

    kind: ClassVar[str] = "rescored"

    def __init__(self, index: Index, ids: IdArray, rows: FloatArray) -> None:
        self._index, self.space, self.ids, self._rows = index, index.space, ids, rows

    def __len__(self) -> int:
        return len(self.ids)

    def search(self, surrogate: Surrogate, k: int, *, among: Any = None) -> Hits:
        """The ``k`` best of ten times as many, ties by id."""
        return self.search_many([surrogate], k, among=among)[0]

    def search_many(
        self, surrogates: Sequence[Surrogate], k: int, *, among: Any = None
    ) -> list[Hits]:
        """The same for several."""
        out = []
        for asked, hits in zip(
            surrogates, self._index.search_many(surrogates, 10 * k, among=among)
        ):
            rows = self._rows[places(self.ids, hits.ids)]
            scores = rows.astype(np.float64) @ asked.vector + asked.offset
            best = np.lexsort((hits.ids, -scores))[:k]
            out.append(Hits(hits.ids[best], scores[best]))
        return out
