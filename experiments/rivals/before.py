"""The bilinear learner as it was before groups taught (commit 93a8f1c): kept as a rival, unchanged.

It knows preferences only, and chooses its form on held-out queries among 100 random others that
count as irrelevant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from experiments.references import Learned, clipped, learn_references
from likewise.learners.bilinear import Bilinear
from likewise.learners.plain import Plain
from likewise.types import FloatArray, IdArray, Preferences

PULLS = (0.25, 0.5, 1.0)
"""How far queries are led, where it is to be chosen."""

PRICES = (0.3, 1.0)
"""C of the diagonal form, where it is to be chosen."""

FEWEST = 30
"""Taught queries below which nothing is chosen: the most cautious form is taken."""

MANY = 200
"""Taught queries from which on a third is held out at a time, else a fifth."""

CLEARLY = 2.0
"""Standard errors of a paired difference that count as clearly worse."""

OTHERS = 100
"""Random items that count as irrelevant where forms are compared."""


class Form(NamedTuple):
    """One form of the similarity, by its settings."""

    extension: str
    pull: float = 0.0
    C: float = 1.0

    @property
    def diagonal(self) -> bool:
        """Whether it has weights a dimension."""
        return self.extension.startswith("diagonal")


class Learnt(NamedTuple):
    """What the taught queries give to every form; each part is made once."""

    marks: Taught
    diagonals: dict[float, Learned]
    half: FloatArray | None
    directions: FloatArray | None


class BeforeLearner:
    """Learns a :class:`~likewise.learners.bilinear.Bilinear` similarity from preferences.

    ``extension`` is ``auto`` or the name of a form; the other settings are the defaults of that
    commit.
    """

    M, warmth, reach, exponent, ridge, caution = 20, 0.05, 0.4, 0.5, 0.1, 150.0
    fall, tol = 0.01, 1e-3

    def __init__(self, plain: Plain, *, extension: str = "auto", seed: int = 0) -> None:
        self._plain, self.extension, self.seed = plain, extension, seed

    def fit(self, items: FloatArray, preferences: Preferences) -> BeforeLearner:
        """Learn; the queries are rows of the items."""
        references = np.unique(preferences.query).astype(np.int64)
        marks = taught(items, items, preferences, references)
        self.held_out_: dict[Form | str, Held] = {}
        form = self._choose(marks) if len(marks.preferences) else None
        learnt = self._learn(marks, [form] if form else [])
        self.similarity_: Bilinear | Plain = self._model(learnt, form)
        return self

    # -- forms -------------------------------------------------------------------

    def _forms(self) -> Iterator[Form]:
        """Forms to try, the most cautious first."""
        for name in ("global", "directions", "global+local", "diagonal", "diagonal+local"):
            if self.extension not in ("auto", name):
                continue
            led = PULLS if name == "directions" or name.endswith("local") else (0.0,)
            prices = PRICES if name.startswith("diagonal") else (1.0,)
            yield from (Form(name, *rest) for rest in product(led, prices))

    def _choose(self, marks: Taught) -> Form | None:
        forms = list(self._forms())
        rows = np.flatnonzero(marks.has_both)
        if (len(forms) == 1 and self.extension != "auto") or len(rows) < FEWEST:
            return forms[0]
        self.held_out_ = self._try(marks, rows, forms)
        base = self.held_out_["plain"]
        allowed = [f for f in forms if self._mean_p1(f) >= base.p1.mean() - self.fall]
        if self.extension == "auto":
            allowed = [f for f in allowed if self.held_out_[f].ap.mean() > base.ap.mean()]
        if not allowed:
            return None if self.extension == "auto" else max(forms, key=self._mean_p1)
        best = max(allowed, key=lambda f: float(self.held_out_[f].ap.mean()))
        return next(f for f in allowed if not self._clearly_worse(f, best))

    def _clearly_worse(self, form: Form, best: Form) -> bool:
        lost = self.held_out_[best].ap - self.held_out_[form].ap
        return bool(lost.mean() > CLEARLY * lost.std() / np.sqrt(len(lost)))

    def _mean_p1(self, form: Form) -> float:
        return float(self.held_out_[form].p1.mean())

    def _try(self, marks: Taught, rows: IdArray, forms: list[Form]) -> dict[Form | str, Held]:
        """Every form on every taught query, each time learned without it."""
        rng = np.random.default_rng(self.seed)
        folds = 3 if len(rows) >= MANY else 5
        fold = rng.permutation(len(rows)) % folds
        others = rng.integers(len(marks.items), size=OTHERS)
        untaught = np.flatnonzero(~marks.has_both)
        found: dict[Form | str, list[Held]] = {form: [] for form in forms}
        found["plain"] = []
        for number in range(folds):
            held = rows[fold == number]
            rest = np.sort(np.concatenate([rows[fold != number], untaught]))
            learnt = self._learn(marks.only(rest), forms)
            asked = marks.queries[held]
            for form in forms:
                model = self._model(learnt, form)
                assert isinstance(model, Bilinear)
                found[form].append(judge(marks, held, model.surrogates(asked), others))
            found["plain"].append(judge(marks, held, asked * self._plain.w0, others))
        return {key: Held(*map(np.concatenate, zip(*parts))) for key, parts in found.items()}

    def _learn(self, marks: Taught, forms: list[Form]) -> Learnt:
        """The parts that these forms need."""
        names = {form.extension for form in forms}
        w0, half, led = self._plain.w0, None, None
        diagonals = {
            price: self._diagonal(marks, price)
            for price in {form.C for form in forms if form.diagonal}
        }
        if any(name.startswith("global") for name in names):
            half = within_half(
                marks, np.sqrt(w0),
                exponent=self.exponent, ridge=self.ridge, caution=self.caution,
            )  # fmt: skip
        if any(form.pull for form in forms):
            led = directions(marks)
        return Learnt(marks, diagonals, half, led)

    def _diagonal(self, marks: Taught, price: float) -> Learned:
        """Weights a dimension; blocks without plain weight stay out: few marks fit noise there."""
        w0 = self._plain.w0
        used = w0 > 0
        return learn_references(
            marks.items * used, marks.queries * used, marks.preferences,
            sigma=0.0, C=price, clip=False, w0=w0, prior=w0, tol=self.tol,
        )  # fmt: skip

    def _model(self, learnt: Learnt, form: Form | None) -> Bilinear | Plain:
        if form is None:
            return self._plain
        options: dict[str, Any] = {"M": self.M, "warmth": self.warmth, "reach": self.reach}
        options["pull"] = form.pull
        options["half"] = learnt.half if form.extension.startswith("global") else None
        options["directions"] = learnt.directions if form.pull else None
        options["diagonals"] = self._weights(learnt, form) if form.diagonal else None
        return Bilinear(self._plain, learnt.marks.queries, **options)

    def _weights(self, learnt: Learnt, form: Form) -> FloatArray:
        return clipped(learnt.diagonals[form.C], self._plain.w0).weights


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


def directions(marks: Taught) -> FloatArray:
    """u_r: where the marks of each reference lead; zeros where it has none.

    The surrogate of the marked query (see `marks`) less the query, so that r itself and what
    was called relevant attract, and what was called irrelevant repels.
    """
    good, bad = marks.grades.maximum(0), (-marks.grades).maximum(0)
    yes, no = np.asarray(good.sum(axis=1)), np.asarray(bad.sum(axis=1))
    q = marks.queries.astype(np.float64)
    toward = (q + good @ marks.items) / (1 + yes)[:, None]
    away = (bad @ marks.items) / (4.0 + no)[:, None]
    led = 2 * toward - 1.7 * away - q
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
