"""Which earlier teaching fits a new query: groups of marked pictures, and how near it stands.

A group is a taught query: its members (the query picture and what was marked right) and what was
marked wrong.  In coordinates in which what all groups have in common is a dot product (plain
similarity, as long as there are few), a group leads to
``v = 2 mean(members) - 1.7 sum(wrong) / (4 + their number)``.  A new query z is likely to want the
same where two things hold together:

    likeness = group (z.v - mean) / sd  +  member (max z.m - mean) / sd

The first says how far z stands out among all pictures for the group, the second how far the
nearest member m stands out among all pictures for z.  Groups whose own marks contradict this rule
(what is wrong stands as near as what is right) and groups that were refused must come nearer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.later import sparse
from likewise.learners.plain import Plain
from likewise.types import FloatArray, IdArray, Preferences, Similarity, as_matrix

NEGATIVES, PATIENCE = 1.7, 4.0
"""How strongly wrong pictures push, and how many it takes; as in marks."""
AXES, AT_ONCE = 48, 32
"""Of the collection, in which all groups are looked at first; groups compared exactly at once."""
FEWEST, MANY, RECENT = 5, 50, 200
"""Groups that have something in common; that cover most wishes; newest that are learned from."""
FEW = 2_000
"""Members up to which all groups are compared exactly."""
SAME = 0.9999
"""Cosine from which on two pictures count as one."""
Answer = tuple[float, bool]
"""How near a query stood when the group was offered to it, and whether it was taken."""


@dataclass(frozen=True)
class OfferSettings:
    """When a group is offered; docs/teach.md says where each number was chosen.

    ``group`` and ``member`` are the weights above.  The best group is offered from the likeness
    ``least`` on, up to ``most`` with ``slack`` less.  The more was taught, the likelier a wish is
    among it: from `MANY` groups on ``known`` less is enough.  ``own`` is how much a mark of the
    group says about its threshold, ``stiff`` how slowly answers change it.
    """

    group: float = 0.37
    member: float = 0.5
    least: float = 2.55
    known: float = 0.3
    slack: float = 1.5
    most: int = 3
    own: float = 0.1
    stiff: float = 3.0


@dataclass(eq=False)
class _Group:
    members: FloatArray
    wrong: FloatArray
    answers: tuple[Answer, ...] = ()
    slot: int = 0
    good: Any = None
    """Members as they are compared, like ``bad``."""
    bad: Any = None
    shift: float | None = None


class TaughtGroups:
    """Taught queries of one space, ready to be compared with a new one.

    ``codes`` are picture vectors of the collection, or of a fair sample.  What the groups have in
    common is learned by :meth:`learn`, and :attr:`is_due` again when there are twice as many.
    """

    def __init__(self, codes: Any, plain: Plain, settings: OfferSettings | None = None) -> None:
        self.settings, self._plain = settings or OfferSettings(), plain
        self._codes = as_matrix(codes, dim=plain.space.dim, name="picture vectors")
        self._groups: dict[str, _Group] = {}
        self._learned = 0
        self._compare_by(np.diag(np.sqrt(plain.w0)))

    def _compare_by(self, half: FloatArray) -> None:
        """All vectors in new coordinates."""
        self._half = half.astype(np.float32)
        all_ = self._scaled(self._codes)
        self._mean = all_.mean(axis=0)
        self._square = (all_.T @ all_ / len(all_)).astype(np.float32)
        self._axes = np.ascontiguousarray(np.linalg.eigh(self._square)[1][:, -AXES:])
        self._place_all()

    @property
    def is_due(self) -> bool:
        """Whether there are twice as many groups as were learned from."""
        return len(self._groups) >= max(FEWEST, 2 * self._learned)

    def learn(self) -> None:
        """Compare by what groups have in common, if that is due; takes long."""
        if not self.is_due:
            return
        self._learned = len(self._groups)
        rows, sides, count = [self._codes], [], len(self._codes)
        for group in list(self._groups.values())[-RECENT:]:
            rows += [group.members, group.wrong]
            ends = count + len(group.members), count + len(group.members) + len(group.wrong)
            sides.append((np.arange(count, ends[0]), np.arange(*ends)))
            count = ends[1]
        found = in_common(self._plain, np.concatenate(rows), sides)
        self._compare_by(getattr(found, "half", self._half))

    def _place_all(self) -> None:
        """Rows anew: a group that changes gets a new slot, and its old one is dead."""
        dim = self._half.shape[1]
        self._names: list[str | None] = []
        self._leads = np.zeros((0, dim), np.float32)
        self._members = np.zeros((0, dim), np.float32)
        self._outlines = np.zeros((0, self._axes.shape[1] + 1), np.float32)
        self._starts = np.zeros(0, np.int64)
        self._dead = np.zeros(0, bool)
        self._used = 0
        for name, group in self._groups.items():
            self._place(name, group)

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, name: str) -> bool:
        return name in self._groups

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def put(self, name: str, members: Any, wrong: Any = (), answers: Sequence[Answer] = ()) -> None:
        """Add a group, or change it; picture vectors, one row each; none at all removes it."""
        old = self._groups.pop(name, None)
        if old is not None:
            self._dead[old.slot], self._names[old.slot] = True, None
        if len(members):
            good = as_matrix(members, dim=self._plain.space.dim, name="picture vectors")
            bad = as_matrix(wrong, name="picture vectors") if len(wrong) else good[:0]
            self._groups[name] = group = _Group(good, bad, tuple(answers))
            self._place(name, group)
        if len(self._names) > 2 * len(self._groups) + 64:
            self._place_all()

    def _place(self, name: str, group: _Group) -> None:
        """Rows of a group, behind all others."""
        group.good, group.bad = self._scaled(group.members), self._scaled(group.wrong)
        group.shift = None
        slot = group.slot = len(self._names)
        self._names.append(name)
        start, self._used = self._used, self._used + len(group.good)
        self._leads, self._starts, self._dead = (
            _room(rows, slot + 1) for rows in (self._leads, self._starts, self._dead)
        )
        self._members = _room(self._members, self._used)
        self._outlines = _room(self._outlines, self._used)
        self._outlines[start : self._used] = self._outline(group.good)
        lead = _lead(group.good, group.bad)
        self._leads[slot] = lead / max(self._spread(lead), 1e-9)
        self._members[start : self._used] = group.good
        self._starts[slot], self._dead[slot] = start, False

    def likeness(self, row: Any) -> dict[str, float]:
        """How near a query stands to each group, by name; higher is nearer."""
        z, slots = self._scaled(row)[0], np.arange(len(self._names))
        if not len(slots):
            return {}
        found = self._total(z, slots, self._nearest(self._members, z, slots)).tolist()
        return {name: v for name, v in zip(self._names, found) if name is not None}

    def _nearest(self, rows: FloatArray, z: FloatArray, slots: IdArray) -> FloatArray:
        """The largest product of z with a member's row, by group."""
        ends = np.append(self._starts[1 : len(self._names)], self._used)
        size = ends[slots] - self._starts[slots]
        first = np.cumsum(size) - size
        at = np.arange(size.sum()) + np.repeat(self._starts[slots] - first, size)
        return np.asarray(np.maximum.reduceat(rows[at] @ z, first))

    def _total(self, z: FloatArray, slots: IdArray, near: FloatArray) -> FloatArray:
        """Likeness, from the cosine to the nearest member; -inf for dead slots."""
        stands = self._leads[slots] @ (z - self._mean)
        out = (near - float(self._mean @ z)) / max(self._spread(z), 1e-9)
        total = self.settings.group * stands + self.settings.member * out
        return np.where(self._dead[slots], -np.inf, total)

    def _outline(self, rows: FloatArray) -> FloatArray:
        """Rows in the main axes of the collection, and the length of what is left.

        A product of outlines is never below that of the rows themselves.
        """
        inner = rows @ self._axes
        left = np.maximum(0.0, (rows**2).sum(axis=1) - (inner**2).sum(axis=1))
        return np.column_stack([inner, np.sqrt(left)])

    def _likeliest(self, z: FloatArray, count: int) -> tuple[IdArray, FloatArray, FloatArray]:
        """The likeliest groups, their likeness, and the cosine to the nearest member of each.

        Groups are gone through by an upper bound, until no other can be among them.
        """
        slots, starts = np.arange(len(self._names)), self._starts[: len(self._names)]
        if self._used <= FEW:
            near = np.maximum.reduceat(self._members[: self._used] @ z, starts).astype(np.float64)
            return slots, self._total(z, slots, near), near
        outline = self._outline(z[None])[0]
        near = np.maximum.reduceat(self._outlines[: self._used] @ outline, starts)
        bound = self._total(z, slots, near)
        bound[(near > SAME) & ~self._dead[slots]] = np.inf  # as good as a member, perhaps
        order, least = np.argsort(-bound), self.least - self.settings.slack
        near, total = np.zeros(0), np.zeros(0)
        for start in range(0, len(order), AT_ONCE):
            enough = np.partition(total, -count)[-count] if len(total) >= count else least
            if bound[order[start]] < max(enough, least):
                break
            some = order[start : start + AT_ONCE]
            near = np.append(near, self._nearest(self._members, z, some))
            total = np.append(total, self._total(z, some, near[start:]))
        return order[: len(total)], total, near

    @property
    def least(self) -> float:
        """The likeness from which on a group is offered."""
        s = self.settings
        return s.least - s.known * min(1.0, len(self._groups) / MANY)

    def offered(
        self, row: Any, without: Collection[str] = (), query: Any = None
    ) -> list[tuple[str, float]]:
        """Groups that a query is to be offered, the likeliest first, each with its likeness.

        ``row`` may tell of the ``query`` by what is right for it; neither was marked wrong there.

        Where the query is a member of a group, or as good as one, the group comes before all
        others: nothing is nearer, however few pictures there are and whatever was refused.
        """
        if not self._groups:
            return []
        s, least, z = self.settings, self.least, self._scaled(row)[0]
        asked = [z] if query is None else [z, self._scaled(query)[0]]
        slots, likeness, near = self._likeliest(z, 4 * s.most + len(without))
        copies = (near > SAME) & np.isfinite(likeness)
        likeness[copies] = np.maximum(likeness[copies], least)
        judged = []
        for at in np.lexsort((-likeness, ~copies))[: 4 * s.most + len(without)].tolist():
            name, value = self._names[slots[at]], float(likeness[at])
            if name is None or name in without or value < least - s.slack:
                continue
            if not any(self._was_wrong(name, one) for one in asked):
                own = value + (0.0 if copies[at] else self.shift(name))
                judged.append((bool(copies[at]), own, name, value))
        judged.sort(key=lambda one: (-one[0], -one[1]))
        if not any(own >= least for _, own, _, _ in judged):
            return []
        return [(n, v) for _, own, n, v in judged[: s.most] if own >= least - s.slack]

    def _was_wrong(self, name: str, z: FloatArray) -> bool:
        """Whether a picture was marked wrong there."""
        bad = self._groups[name].bad
        return bool(len(bad) and (bad @ z).max() > SAME)

    def shift(self, name: str) -> float:
        """What a group's own marks and answers add to its likeness: less where they contradict.

        The chance that a group fits is a logistic curve of likeness that is one half at the
        common threshold; the shift is the most likely one given the marks, around 0.  Refusals
        take from it, as far as what was taken does not speak against them; what was taken adds
        nothing, or groups that please often would stand before those that are nearer.
        """
        group, s = self._groups[name], self.settings
        if group.shift is None:
            marks = [(v, fits, s.own) for v, fits in self._own(group)]
            answers = [(v, fits, 1.0) for v, fits in group.answers]
            refused = min(0.0, _most_likely(answers, s.least, s.stiff))
            group.shift = _most_likely(marks, s.least, 1.0) + refused
        return group.shift

    def _own(self, group: _Group) -> list[Answer]:
        """Where each mark stands to its group without itself, and whether it was right."""
        said: list[Answer] = []
        good, bad, s = group.good, group.bad, self.settings
        for rows, right in ((good[1:], True), (bad, False)):
            for at, z in enumerate(rows):
                others = np.delete(good, at + 1, axis=0) if right else good
                rest = bad if right else np.delete(bad, at, axis=0)
                lead = _lead(others, rest)
                stands = float(lead @ (z - self._mean)) / max(self._spread(lead), 1e-9)
                out = float((others @ z).max() - self._mean @ z) / max(self._spread(z), 1e-9)
                said.append((s.group * stands + s.member * out, right))
        return said

    def _scaled(self, rows: Any) -> FloatArray:
        """Rows in the coordinates that groups are compared in, at unit length."""
        z = as_matrix(rows, dim=len(self._half), name="picture vectors") @ self._half
        length = np.linalg.norm(z, axis=1, keepdims=True)
        return np.asarray(z / np.maximum(length, 1e-12), dtype=np.float32)

    def _spread(self, vector: FloatArray) -> float:
        """How far the products of all pictures with a vector spread."""
        mean = float(self._mean @ vector)
        return float(np.sqrt(max(0.0, float(vector @ self._square @ vector) - mean * mean)))


def in_common(plain: Plain, items: FloatArray, groups: Sequence[tuple[Any, Any]]) -> Similarity:
    """What groups have in common, as a similarity: a matrix and a weight per block.

    ``groups`` are rows of ``items``: members (the query first), and what was wrong.
    """
    from likewise.learners.bilinear_learner import BilinearLearner

    grades = sparse.lil_array((len(groups), len(items)))
    for number, (right, wrong) in enumerate(groups):
        grades[number, list(wrong)] = -1.0
        grades[number, list(right[1:])] = 1.0
    none = Preferences.of([], [], [])
    queries = items[[right[0] for right, _ in groups]]
    learner = BilinearLearner(plain, extension="groups")
    found: Similarity = learner.fit(items, none, queries, marks=grades.tocsr()).similarity_
    return found


def _lead(good: FloatArray, bad: FloatArray) -> FloatArray:
    out: FloatArray = 2 * good.mean(axis=0)
    return out - NEGATIVES * bad.sum(axis=0) / (PATIENCE + len(bad)) if len(bad) else out


def _room(array: Any, wanted: int) -> Any:
    """The array with at least so many rows, twice as many as before where it must grow."""
    if wanted <= len(array):
        return array
    grown = np.zeros((max(64, 2 * len(array), wanted), *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown


def _most_likely(
    said: Sequence[tuple[float, bool, float]], middle: float, stiff: float, steps: int = 20
) -> float:
    """The shift of a logistic curve that weighted examples speak for, by Newton's steps."""
    if not said:
        return 0.0
    x, right, weight = (np.array(column, dtype=np.float64) for column in zip(*said))
    shift = 0.0
    for _ in range(steps):
        chance = 1 / (1 + np.exp(-(x - middle + shift)))
        slope = float((weight * (right - chance)).sum()) - stiff * shift
        step = slope / (float((weight * chance * (1 - chance)).sum()) + stiff)
        shift += step
        if abs(step) < 1e-9:
            break
    return shift
