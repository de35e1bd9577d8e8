"""What taught queries said, as arrays, and the closed forms that learn from it.

Preferences are triplets; here they become graded marks: one number from -1 to 1 for every
item that a query said anything of.  From these follow where each query's marks lead
(`directions`) and one matrix for all queries (`within_half`), without any iteration; and
how well any surrogates honour them (`judge`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from likewise.learners.marks import MarkSettings
from likewise.types import FloatArray, IdArray, Preferences


@dataclass(frozen=True, eq=False)
class Taught:
    """Reference queries and their graded marks.

    Parameters
    ----------
    queries
        Vectors of the reference queries, one row each.
    items
        Vectors of all items.
    grades
        Queries x items: above 0 relevant, below 0 irrelevant, by how much; 0 unknown.
    preferences
        The triplets, ``query`` being the row of a reference.
    """

    queries: FloatArray
    items: FloatArray
    grades: sparse.csr_array
    preferences: Preferences

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def has_both(self) -> NDArray[np.bool_]:
        """Which references have something before something else."""
        return np.bincount(self.preferences.query, minlength=len(self)) > 0

    def only(self, rows: IdArray) -> Taught:
        """These references alone."""
        place = np.full(len(self), -1, np.int64)
        place[rows] = np.arange(len(rows))
        kept = self.preferences.where(place[self.preferences.query] >= 0)
        mine = Preferences(place[kept.query], kept.better, kept.worse, kept.weight)
        return Taught(self.queries[rows], self.items, sparse.csr_array(self.grades[rows]), mine)

    def judged(self, row: int) -> tuple[IdArray, FloatArray]:
        """Items that a reference said anything of, and their grades."""
        part = slice(*self.grades.indptr[row : row + 2])
        return self.grades.indices[part].astype(np.int64), self.grades.data[part]


class Held(NamedTuple):
    """Measures of a form on held-out queries, one number a query."""

    ap: FloatArray
    p1: FloatArray


def taught(
    items: FloatArray, queries: FloatArray, preferences: Preferences, references: IdArray
) -> Taught:
    """Marks of the ``references`` (rows of ``queries``) from preferences.

    An item's grade is how often (by weight) it was the better one less how often the worse,
    as a share of both: 1 and -1 for labels, and evenly between for an ordering.
    """
    place = np.full(len(queries), -1, np.int64)
    place[references] = np.arange(len(references))
    kept = preferences.where((place[preferences.query] >= 0) & (preferences.weight > 0))
    owner = place[kept.query]
    shape = (len(references), len(items))
    up = sparse.coo_array((kept.weight, (owner, kept.better)), shape=shape).tocsr()
    down = sparse.coo_array((kept.weight, (owner, kept.worse)), shape=shape).tocsr()
    said = sparse.csr_array(up + down)
    said.data = 1.0 / said.data
    grades = sparse.csr_array((up - down) * said)
    grades.eliminate_zeros()
    mine = Preferences(owner, kept.better, kept.worse, kept.weight)
    return Taught(queries[references], items, grades, mine)


def directions(marks: Taught, settings: MarkSettings) -> FloatArray:
    """u_r: where the marks of each reference lead; zeros where it has none.

    The surrogate of the marked query (see `marks`) less the query, so that r itself and what
    was called relevant attract, and what was called irrelevant repels.
    """
    good, bad = marks.grades.maximum(0), (-marks.grades).maximum(0)
    yes, no = np.asarray(good.sum(axis=1)), np.asarray(bad.sum(axis=1))
    q = marks.queries.astype(np.float64)
    toward = (settings.query * q + good @ marks.items) / (settings.query + yes)[:, None]
    away = (bad @ marks.items) / (settings.patience + no)[:, None]
    led = 2 * toward - settings.negatives * away - q
    return np.where((yes + no > 0)[:, None], led, 0.0)


def within_half(
    marks: Taught, root: FloatArray, *, exponent: float, ridge: float, caution: float
) -> FloatArray:
    """H with W = H H' = R (S + lambda I)^-exponent R: one matrix for all queries.

    S is the scatter of relevant items around their queries in the coordinates ``R x`` (R: the
    root of the plain weights), scaled to mean variance 1: W plays down the directions in which
    pictures that were called alike differ.  lambda is ``ridge + caution / pairs``, so that few
    marks change little.
    """
    good = sparse.csr_array(marks.grades.maximum(0))
    pairs, used = float(good.sum()), root > 0
    d = len(root)
    if not pairs:
        return np.diag(root)
    q, x = marks.queries * root, marks.items
    touched = np.flatnonzero(np.asarray(good.sum(axis=0)))
    near = x[touched] * root
    cross = q.T @ (good[:, touched] @ near)
    scatter = (
        (q.T * np.asarray(good.sum(axis=1))) @ q
        + (near.T * np.asarray(good[:, touched].sum(axis=0))) @ near
        - cross
        - cross.T
    ) / pairs
    values, axes = linalg.eigh(scatter[np.ix_(used, used)])
    values = np.maximum(values, 0.0)
    mean = values.mean()
    if not mean > 0:
        return np.diag(root)
    factor = (values / mean + ridge + caution / pairs) ** (-exponent / 2)
    factor *= np.sqrt(len(factor) / (factor**2).sum())  # W's trace stays that of plain
    half = np.zeros((d, d))
    half[np.ix_(used, used)] = root[used, None] * axes * factor
    return half


def judge(
    marks: Taught, rows: IdArray, surrogates: FloatArray, others: IdArray | None = None
) -> Held:
    """Average precision and precision@1 of surrogates over what these references judged.

    ``others`` are items that count as irrelevant where a reference said nothing of them.
    """
    ap, p1 = np.empty(len(rows)), np.empty(len(rows))
    for number, row in enumerate(rows):
        items, grades = marks.judged(int(row))
        if others is not None:
            own = (marks.items[others] == marks.queries[row]).all(axis=1)
            fresh = np.setdiff1d(others[~own], items)
            items, grades = np.append(items, fresh), np.append(grades, np.full(len(fresh), -1.0))
        order = np.lexsort((items, -(marks.items[items] @ surrogates[number])))
        good = grades[order] > 0
        ranks = np.flatnonzero(good) + 1
        ap[number] = (np.arange(1, len(ranks) + 1) / ranks).mean() if len(ranks) else 0.0
        p1[number] = good[0]
    return Held(ap, p1)
