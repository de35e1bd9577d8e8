"""The query-dependent bilinear similarity: a query near a taught one has learned with it.

Reference queries r were taught.  What they learned reaches a new query q as

    v(q) = B(q) (q + pull sum_r k(q, r) u_r)

and is served by the index of plain similarity as it stands.  u_r is where the marks of r
lead from r.  B(q) is one of:

* the plain weights w0;
* one *matrix* for all queries: it plays down the directions in which pictures that were
  called alike differ, and weighs the blocks;
* the same with *tastes*: each reference has a weight per block (as a logarithm), and B(q) is
  T(q) B T(q), T(q)^2 the weights that its nearest references give;
* *diagonal* (Kuang, Sun and Wong): each reference has a weight per dimension, and B(q) is the
  mean of the unit weights of the M nearest references.  Served where it was learned once.

k(q, r) weighs the M nearest references, so that near ones have more say and a query far from
all of them is led nowhere.  How near a reference is, its nearest member says: the query itself
or a picture that was called relevant to it.  In the paper all M have the same say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.learners.plain import CodesAlone, Plain
from likewise.spaces import Blocks, unit_rows
from likewise.types import BadInput, FloatArray, IdArray, Surrogate, as_matrix, as_vector

AT_A_TIME = 256
"""Queries whose references are looked for together: all at once would fill the memory."""


class Bilinear(CodesAlone):
    """A similarity learned around reference queries, one row of ``references`` each.

    ``diagonals`` are weights (plain ones where nothing was taught), ``directions`` the rows u_r
    (zeros where not), ``tastes`` logarithms of weights per block, with ``half`` only: a matrix H
    with B = H H', in which nearness is then measured.  ``members`` are rows that say how near a
    reference is, so many (``sizes``) of each; the references themselves where not given.  ``M`` of
    the nearest take part.  ``pull`` is how far a query is led; a reference that is ``warmth`` less
    similar (in cosine) has 1/e of the say (None: all M the same, as in the paper), and at the
    cosine ``reach`` as much say as no teaching at all.
    """

    kind: ClassVar[str] = "bilinear"

    def __init__(
        self, plain: Plain, references: Any, *, diagonals: Any | None = None,
        directions: Any | None = None, half: Any | None = None, tastes: Any | None = None,
        members: Any | None = None, sizes: Any | None = None, M: int = 10, pull: float = 0.5,
        warmth: float | None = 0.05, reach: float = 0.4,
    ) -> None:  # fmt: skip
        self.plain, self.space = plain, plain.space
        d = self.space.dim
        self.references = as_matrix(references, dim=d, name="reference queries").copy()
        self.diagonals = _table(diagonals, self.references, "diagonals")
        self.directions = _table(directions, self.references, "directions")
        self.half = None if half is None else as_matrix(half, name="half of W").copy()
        if self.half is not None and len(self.half) != d:
            raise BadInput(f"W must have {d} rows, not {len(self.half)}.")
        shape = (len(self.references), len(self.space.names))
        self.tastes = None if tastes is None else np.array(tastes, dtype=np.float64)
        if self.tastes is not None and (
            self.half is None or self.tastes.shape != shape or not np.isfinite(self.tastes).all()
        ):
            raise BadInput(f"Tastes are {shape[0]} x {shape[1]} finite numbers, with a matrix W.")
        if self.diagonals is not None and self.half is not None:
            raise BadInput("Give weights of dimensions or one matrix W, but not both.")
        self.members, self.sizes = self.references, np.ones(len(self.references), np.int64)
        if members is not None:
            self.members = as_matrix(members, dim=d, name="members").copy()
            self.sizes = np.asarray(sizes, dtype=np.int64).copy()
        fits = len(self.sizes) == len(self.references) and self.sizes.min(initial=1) > 0
        if not fits or self.sizes.sum() != len(self.members):
            raise BadInput("Give as many members as the sizes say, at least one per reference.")
        numbers = [pull, reach, 1.0 if warmth is None else warmth]
        if M < 1 or not numbers[2] > 0 or pull < 0 or not np.isfinite(numbers).all():
            raise BadInput("M is at least 1, warmth above 0, pull at least 0, and reach finite.")
        self.M, self.pull, self.warmth, self.reach = int(M), pull, warmth, reach
        self._root = np.sqrt(plain.w0)
        self._starts = np.cumsum(self.sizes) - self.sizes
        self._places = unit_rows(self._mapped(self.members.astype(np.float64)))

    def _mapped(self, x: FloatArray) -> FloatArray:
        """Coordinates in which the cosine says how near a reference is."""
        return x * self._root if self.half is None else x @ self.half

    # -- serving -----------------------------------------------------------------

    def surrogate(self, query: Any) -> Surrogate:
        """B(q) (q + pull sum_r k(q, r) u_r)."""
        q = as_vector(query, dim=self.space.dim)
        vector = self.surrogates(q[None, :])[0]
        return Surrogate(vector.astype(q.dtype), space=self.space.fingerprint)

    def surrogates(self, queries: Any) -> FloatArray:
        """The surrogate vectors of many queries at once, one row each."""
        q = as_matrix(queries, dim=self.space.dim, name="queries").astype(np.float64)
        led = q
        if self.directions is not None and len(self.references):
            led = q.copy()
            near, say = self._say(self._mapped(q))
            for column, share in zip(near.T, say.T):
                led += (self.pull * share)[:, None] * self.directions[column]
        if self.half is not None:
            taste = self._taste(q)
            return ((led * taste) @ self.half) @ self.half.T * taste
        return led * (self.plain.w0 if self.diagonals is None else self.weights(q))

    def _taste(self, q: FloatArray) -> FloatArray:
        """T(q), one row a query, one column a dimension."""
        if self.tastes is None or not len(self.references):
            return np.ones((len(q), 1))
        near, say = self.kin(q)
        log = np.zeros((len(q), self.tastes.shape[1]))
        for column, share in zip(near.T, say.T):
            log += share[:, None] * self.tastes[column]
        parts = self.space.slices.values()
        each = [
            np.repeat(np.exp(b / 2)[:, None], p.stop - p.start, 1) for b, p in zip(log.T, parts)
        ]
        return np.concatenate(each, axis=1)

    def weights(self, queries: Any) -> FloatArray:
        """B(q) of the diagonal form, one row a query, with the length of the plain weights."""
        q = as_matrix(queries, dim=self.space.dim, name="queries").astype(np.float64)
        assert self.diagonals is not None
        w0 = self.plain.w0
        if not len(self.references):
            return np.broadcast_to(w0, q.shape).copy()
        near, say = self._say(self._mapped(q))
        unit, length = unit_rows(self.diagonals), float(np.linalg.norm(w0))
        total = (1.0 - say.sum(axis=1))[:, None] * (w0 / length)
        for column, share in zip(near.T, say.T):
            total += share[:, None] * unit[column]
        usable = total @ w0 > 0  # else it calls opposite pictures similar: w0 instead
        return unit_rows(np.where(usable[:, None], total, w0)) * length

    def taught_by(self, query: Any) -> tuple[IdArray, FloatArray]:
        """Which references take part in a query's answer, and how much say each has."""
        q = as_matrix(as_vector(query, dim=self.space.dim)).astype(np.float64)
        if not len(self.references):
            return np.zeros(0, np.int64), np.zeros(0)
        near, say = self._say(self._mapped(q))
        return near[0], say[0]

    def kin(self, queries: FloatArray) -> tuple[IdArray, FloatArray]:
        """The M references whose taste a query has, and how much say each has.

        What counts is how near their own pictures are to plain eyes: members may be alike in
        one way only.
        """
        theirs = unit_rows(self.references * self._root).T
        return self._shares(queries, lambda some: unit_rows(some * self._root) @ theirs)

    def emphasis(self, query: Any) -> dict[str, float]:
        """How much more each block counts for this query than in plain similarity.

        The block's share in the query's score with itself, over its share in the plain one;
        above 1 for blocks that the teaching favours.  Blocks without plain weight have none.
        """
        q = as_vector(query, dim=self.space.dim).astype(np.float64)
        mine, base = self.surrogates(q[None, :])[0] * q, self.plain.w0 * q * q
        shares = {}
        for name, part in self.space.slices.items():
            plain = base[part].sum() / base.sum() if base.any() else 0.0
            if plain > 0:
                shares[name] = float(mine[part].sum() / np.abs(mine.sum()) / plain)
        return shares

    def _say(self, place: FloatArray) -> tuple[IdArray, FloatArray]:
        """The M nearest references of mapped queries, and k(q, r) of each."""
        return self._shares(
            place,
            lambda some: np.maximum.reduceat(
                unit_rows(some) @ self._places.T, self._starts, axis=1
            ),
        )

    def _shares(
        self, queries: FloatArray, alike: Callable[[FloatArray], FloatArray]
    ) -> tuple[IdArray, FloatArray]:
        """The most alike references of queries, a few queries at a time, and the say of each."""
        parts = []
        for start in range(0, max(1, len(queries)), AT_A_TIME):
            found = alike(queries[start : start + AT_A_TIME])
            near = _largest(found, self.M)
            parts.append((near, np.take_along_axis(found, near, axis=1)))
        near, cosine = (np.concatenate(part) for part in zip(*parts))
        if self.warmth is None:
            return near, np.full(near.shape, 1.0 / near.shape[1])
        say = np.exp((cosine - 1.0) / self.warmth)
        return near, say / (say.sum(axis=1, keepdims=True) + np.exp((self.reach - 1) / self.warmth))

    def score(self, query: Any, items: Any) -> FloatArray:
        """The formula, term by term: first the query's own, then one for each reference."""
        q = as_vector(query, dim=self.space.dim).astype(np.float64)
        x = self.space.encode(items).astype(np.float64)
        w = self.plain.w0 if self.diagonals is None else self.weights(q[None, :])[0]
        matrix = np.diag(w) if self.half is None else self.half @ self.half.T
        if self.tastes is not None:
            matrix = np.outer(self._taste(q[None])[0], self._taste(q[None])[0]) * matrix
        total = np.array([q @ matrix @ row for row in x])
        if self.directions is not None:
            for r, share in zip(*self.taught_by(q)):
                total += self.pull * share * np.array([self.directions[r] @ matrix @ y for y in x])
        return total

    # -- storing -----------------------------------------------------------------

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """References, what they learned, and the settings."""
        parts = {
            "references": self.references,
            "diagonals": self.diagonals,
            "directions": self.directions,
            "members": None if self.members is self.references else self.members,
            "sizes": None if self.members is self.references else self.sizes,
            "half": self.half,
            "tastes": self.tastes,
        }
        settings = {"M": self.M, "pull": self.pull, "warmth": self.warmth, "reach": self.reach}
        arrays = {name: a for name, a in parts.items() if a is not None}
        return arrays, {"weights": self.plain.weights, **settings}

    @classmethod
    def from_arrays(
        cls, space: Blocks, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]
    ) -> Bilinear:
        """The similarity that :meth:`to_arrays` described."""
        parts: dict[str, Any] = {**arrays, **settings}
        return cls(Plain(space, parts.pop("weights")), parts.pop("references"), **parts)


def _table(rows: Any | None, references: FloatArray, name: str) -> FloatArray | None:
    if rows is None:
        return None
    table = np.asarray(rows, dtype=np.float64)
    if table.shape != references.shape or not np.isfinite(table).all():
        raise BadInput(
            f"There are {len(references)} reference queries, so {name} must hold as many rows "
            f"of {references.shape[1]} finite numbers, not {table.shape}."
        )
    return table.copy()


def _largest(of: FloatArray, count: int) -> IdArray:
    """Columns of the largest numbers of each row, falling, of equal ones the first."""
    if of.shape[1] <= 4 * count:  # sorting everything is most of what learning would do
        return np.argsort(-of, axis=1, kind="stable")[:, :count]
    some = np.sort(np.argpartition(of, -count, axis=1)[:, -count:], axis=1)
    best = np.take_along_axis(of, some, axis=1)
    found = np.take_along_axis(some, np.argsort(-best, axis=1, kind="stable"), axis=1)
    tied = np.count_nonzero(of >= best.min(axis=1)[:, None], axis=1) != count
    found[tied] = np.argsort(-of[tied], axis=1, kind="stable")[:, :count]
    return found
