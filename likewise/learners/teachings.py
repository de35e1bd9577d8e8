"""What taught queries said, as arrays: graded marks, groups, and where each query's marks lead.

A *group* is a taught query: its members are the query itself and what was called relevant to
it.  Its strangers are what was called irrelevant and, with less weight, pictures at random, so
that a query whose marks are all relevant teaches too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likewise.later import sparse
from likewise.spaces import unit_rows
from likewise.types import FloatArray, IdArray, Preferences

MEMBERS, STRANGERS = 20, 60
"""Most members and strangers of one group that are compared; of more, as many are drawn."""

TRIPLES, GROUPS = 100_000, 1_000
"""Most triples of all groups together, and most groups that they are of."""

ANCHORS, POOL, NEAREST = 500, 10_000, 5
"""`alike_unmarked`: so many pictures, each with its nearest among so many."""


@dataclass(frozen=True, eq=False)
class Taught:
    """Reference queries and their marks: queries x items, above 0 relevant, below 0 irrelevant."""

    queries: FloatArray
    items: FloatArray
    grades: sparse.csr_array
    preferences: int = 0
    """How many said so, of all references."""

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def groups(self) -> IdArray:
        """References with two members or more: the query, and something relevant."""
        return np.flatnonzero(np.asarray((self.grades > 0).sum(axis=1)))

    def only(self, rows: IdArray) -> Taught:
        """These references alone."""
        grades = sparse.csr_array(self.grades[rows])
        return Taught(self.queries[rows], self.items, grades, self.preferences)

    def judged(self, row: int) -> tuple[IdArray, FloatArray]:
        """Items that a reference said anything of, and their grades."""
        part = slice(*self.grades.indptr[row : row + 2])
        return self.grades.indices[part].astype(np.int64), self.grades.data[part]

    def members(self) -> tuple[FloatArray, IdArray]:
        """Vectors of all members, group by group with the query first, and the size of each."""
        good = self.grades.data > 0
        rows = np.repeat(np.arange(len(self)), np.diff(self.grades.indptr))[good]
        sizes = 1 + np.bincount(rows, minlength=len(self))
        first = np.cumsum(sizes) - sizes
        is_item = np.ones(int(sizes.sum()), bool)
        is_item[first] = False
        vectors = np.empty((len(is_item), self.items.shape[1]), self.items.dtype)
        vectors[first], vectors[is_item] = self.queries, self.items[self.grades.indices[good]]
        return vectors, sizes

    def strangers(
        self, row: int, count: int, weight: float, rng: np.random.Generator
    ) -> tuple[IdArray, FloatArray]:
        """Items that do not belong to a group, and the weight of each."""
        items, grades = self.judged(row)
        bad = items[grades < 0]
        drawn = np.sort(rng.integers(len(self.items), size=count if weight > 0 else 0))
        is_new = (drawn[:, None] != items).all(axis=1)
        is_new[1:] &= drawn[1:] != drawn[:-1]
        fresh = drawn[is_new]
        fresh = fresh[~(self.items[fresh] == self.queries[row]).all(axis=1)]
        return np.append(bad, fresh), np.repeat([1.0, weight], [len(bad), len(fresh)])


def graded(preferences: Preferences, queries: int, items: int) -> sparse.csr_array:
    """Grades of what preferences put before and behind others, queries x items.

    An item's grade is how often (by weight) it was the better one less how often the worse,
    as a share of both: 1 and -1 for labels, and evenly between for an ordering.
    """
    kept = preferences.where(preferences.weight > 0)
    shape = (queries, items)
    up = sparse.coo_array((kept.weight, (kept.query, kept.better)), shape=shape).tocsr()
    down = sparse.coo_array((kept.weight, (kept.query, kept.worse)), shape=shape).tocsr()
    said = sparse.csr_array(up + down)
    said.data = 1.0 / said.data
    grades = sparse.csr_array((up - down) * said)
    grades.eliminate_zeros()
    return grades


def taught(
    items: FloatArray, queries: FloatArray, preferences: Preferences,
    marks: sparse.csr_array | None = None,
) -> Taught:  # fmt: skip
    """Reference queries: those that said anything.  ``marks`` are grades where they are known."""
    grades = graded(preferences, len(queries), len(items)) if marks is None else marks
    any_ = np.diff(grades.indptr) > 0
    count = int((any_[preferences.query] & (preferences.weight > 0)).sum())
    return Taught(queries[any_], items, sparse.csr_array(grades[np.flatnonzero(any_)]), count)


def directions(marks: Taught, negatives: float = 1.7, patience: float = 4.0) -> FloatArray:
    """u_r: where the marks of each reference lead.

    The mean of its members attracts and what was called irrelevant repels; one irrelevant mark
    says little, many say more.
    """
    good, bad = marks.grades.maximum(0), (-marks.grades).maximum(0)
    yes, no = np.asarray(good.sum(axis=1)), np.asarray(bad.sum(axis=1))
    toward = (marks.queries + good @ marks.items) / (1 + yes)[:, None]
    away = (bad @ marks.items) / (patience + no)[:, None]
    return np.asarray(toward - negatives * away, dtype=np.float64)


class Triples(NamedTuple):
    """(Member, fellow member, stranger) of all groups, for `block_weights`; group by row."""

    ahead: FloatArray
    share: FloatArray
    group: IdArray


def triples(
    marks: Taught, root: FloatArray, matrices: Sequence[FloatArray], blocks: list[slice], *,
    others: int, weight: float, seed: int,
) -> Triples:  # fmt: skip
    """By how much, per block, a fellow is more similar to a member than a stranger is.

    All groups count alike, in a group all pairs of members, and for a pair the strangers by
    their weights.  ``root`` brings vectors to the coordinates of the ``matrices``, of which
    groups take one after the other, those included that are not drawn.
    """
    rng = np.random.default_rng(seed)
    groups = _some(marks.groups, GROUPS, rng)
    places = np.searchsorted(marks.groups, groups).tolist()
    ahead, share, owner = [np.zeros((0, len(blocks)))], [np.zeros(0)], [np.zeros(0, np.int64)]
    for number, row in zip(places, groups.tolist()):
        items, grades = marks.judged(row)
        good = _some(items[grades > 0], MEMBERS - 1, rng)
        bad, each = marks.strangers(row, others, weight, rng)
        if not len(bad):
            continue
        kept = _some(np.arange(len(bad)), STRANGERS, rng)
        own = np.vstack([marks.queries[row][None], marks.items[good]]) * root
        far, turned = marks.items[bad[kept]] * root, own @ matrices[number % len(matrices)]
        fellow = np.stack([turned[:, b] @ own[:, b].T for b in blocks], axis=-1)
        other = np.stack([turned[:, b] @ far[:, b].T for b in blocks], axis=-1)
        a, p = np.nonzero(~np.eye(len(own), dtype=bool))
        chosen = _some(np.arange(len(a) * len(far)), max(1, TRIPLES // len(groups)), rng)
        pair, stranger = np.divmod(chosen, len(far))
        ahead.append(fellow[a[pair], p[pair]] - other[a[pair], stranger])
        loss = (each[kept] / each[kept].sum() / len(a))[stranger]
        share.append(loss / loss.sum())
        owner.append(np.full(len(chosen), row))
    total = max(1, len(share) - 1)
    return Triples(np.concatenate(ahead), np.concatenate(share) / total, np.concatenate(owner))


def _some(rows: IdArray, most: int, rng: np.random.Generator) -> IdArray:
    """All of them, or as many as allowed, drawn at random."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def alike_unmarked(items: FloatArray, root: FloatArray, seed: int = 0) -> FloatArray | None:
    """Scatter of pictures around their nearest: what the collection knows before any mark."""
    rng = np.random.default_rng(seed)
    rows = _some(np.arange(len(items)), POOL, rng)
    z = (items[rows] * root).astype(np.float32)
    k = min(NEAREST, len(rows) - 1)
    if k < 1:
        return None
    anchors = _some(np.arange(len(rows)), ANCHORS, rng)
    unit = unit_rows(z)
    alike = unit[anchors] @ unit.T
    alike[np.arange(len(anchors)), anchors] = -np.inf
    near = np.argpartition(-alike, k - 1, axis=1)[:, :k]
    groups = z[np.column_stack([anchors, near])].astype(np.float64)
    apart = (groups - groups.mean(axis=1, keepdims=True)).reshape(-1, z.shape[1])
    scatter = apart.T @ apart / (len(anchors) * k)
    return scatter if np.trace(scatter) > 0 else None


def wrongly_ordered(
    marks: Taught, rows: IdArray, surrogates: FloatArray, *, others: int, weight: float, seed: int
) -> FloatArray:
    """Of each reference, the share of (relevant, stranger) that surrogates put the wrong way."""
    rng = np.random.default_rng(seed)
    out = np.zeros(len(rows))
    for number, row in enumerate(rows.tolist()):
        items, grades = marks.judged(row)
        bad, each = marks.strangers(row, others, weight, rng)
        good = marks.items[items[grades > 0]] @ surrogates[number]
        wrong = good[:, None] <= (marks.items[bad] @ surrogates[number])[None]
        out[number] = (wrong.mean(axis=0) @ each / each.sum()) if len(bad) else 0.0
    return out
