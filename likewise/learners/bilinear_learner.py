"""Learns a bilinear similarity from preferences, and chooses its form on held-out queries.

Every form that is tried is learned without some of the taught queries and measured on what
these said: average precision and precision@1 over their judged items, among random others that
count as irrelevant.  (People mostly judge what plain similarity showed them first; without the
others, a form that brings up anything at all would look no worse.)  The most cautious form wins
that is not clearly worse than the best, provided that precision@1 does not fall by more than
``fall``; where none beats plain similarity, plain it stays.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from likewise.learners.bilinear import Bilinear
from likewise.learners.marks import MarkSettings
from likewise.learners.own_settings import BilinearSettings
from likewise.learners.plain import Plain
from likewise.learners.references import Learned, clipped, learn_references
from likewise.learners.settings import check_learner
from likewise.learners.teachings import Held, Taught, directions, judge, taught, within_half
from likewise.spaces import Blocks
from likewise.types import BadInput, FitReport, FloatArray, IdArray, Preferences, as_matrix

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
    clip: bool = True

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


class BilinearLearner(BaseEstimator):
    """Learns a :class:`~likewise.learners.bilinear.Bilinear` similarity.

    Parameters
    ----------
    plain
        The plain similarity: its space and its block weights w0; one block of the vectors'
        length where not given.
    seed
        Of the split into held-out queries.
    extension, sigma, C, clip, M, pull, warmth, reach, exponent, ridge, caution, fall, tol
        See :class:`~likewise.learners.own_settings.BilinearSettings`.

    Attributes
    ----------
    similarity_ : Bilinear or Plain
    report_ : FitReport
    held_out_ : dict of form to Held, ``plain`` included; empty where nothing was chosen
    """

    def __init__(
        self,
        plain: Plain | None = None,
        *,
        extension: str = "auto",
        sigma: float | None = None,
        C: float | None = None,
        clip: bool | None = True,
        M: int = 20,
        pull: float | None = None,
        warmth: float | None = 0.05,
        reach: float = 0.4,
        exponent: float = 0.5,
        ridge: float = 0.1,
        caution: float = 150.0,
        fall: float = 0.01,
        tol: float = 1e-3,
        seed: int = 0,
    ) -> None:
        self.plain, self.extension, self.tol = plain, extension, tol
        self.sigma, self.C, self.clip, self.M, self.pull = sigma, C, clip, M, pull
        self.warmth, self.reach, self.exponent = warmth, reach, exponent
        self.ridge, self.caution, self.fall, self.seed = ridge, caution, fall, seed

    def fit(
        self,
        X: Any,
        preferences: Preferences,
        queries: Any = None,
        *,
        references: ArrayLike | None = None,
    ) -> BilinearLearner:
        """Learn from preferences.

        Parameters
        ----------
        X
            Picture vectors of the items, one row each.
        preferences
            Rows of ``queries`` and ``X``.
        queries
            Vectors of the queries; the items themselves where not given.
        references
            Rows of ``queries`` that are reference queries; those with preferences where not
            given.  References without preferences take part with plain similarity.
        """
        started = time.perf_counter()
        check_learner(self, BilinearSettings)
        x = as_matrix(X, name="items")
        self._plain = self.plain or Plain(Blocks.identity({"x": x.shape[1]}))
        dim = self._plain.space.dim
        x = as_matrix(x, dim=dim, name="items")
        q = x if queries is None else as_matrix(queries, dim=dim, name="queries")
        preferences.check(len(q), len(x))
        marks = taught(x, q, preferences, _references(preferences, references, len(q)))
        self.held_out_: dict[Form | str, Held] = {}
        notes: list[str] = []
        if not len(marks.preferences):
            form: Form | None = None
            notes.append(
                "Nothing was put before anything else, so plain similarity stays; mark pictures "
                "that are relevant and pictures that are not for the same query."
            )
        else:
            form = self._choose(marks, notes)
        learnt = self._learn(marks, [form] if form else [])
        self.similarity_: Bilinear | Plain = self._model(learnt, form)
        self._learnt, self._form = learnt, form
        self._report(form, learnt, notes, started)
        return self

    def partial_fit(self, X: Any, preferences: Preferences, queries: Any = None) -> BilinearLearner:
        """Learn what these queries say and leave all others as they are, in milliseconds.

        A query that stands where a reference stands replaces it; others become references.
        The matrix of all queries and the choice of form wait for the next :meth:`fit`.
        """
        if not hasattr(self, "similarity_"):
            return self.fit(X, preferences, queries)
        old = self.similarity_
        if self._form is None or isinstance(old, Plain):
            return self.fit(X, preferences, queries)
        started = time.perf_counter()
        x = as_matrix(X, dim=old.space.dim, name="items")
        q = x if queries is None else as_matrix(queries, dim=old.space.dim, name="queries")
        preferences.check(len(q), len(x))
        marks = taught(x, q, preferences, _references(preferences, None, len(q)))
        new = self._learn(marks, [self._form], matrix=False)
        kept = ~(old.references[:, None, :] == marks.queries[None]).all(axis=2).any(axis=1)
        arrays, settings = old.to_arrays()
        rows = {"references": marks.queries, "directions": new.directions}
        if self._form.diagonal:
            rows["diagonals"] = self._weights(new, self._form)
        for name, added in rows.items():
            if name in arrays and added is not None:
                arrays[name] = np.concatenate([arrays[name][kept], added])
        self.similarity_ = Bilinear.from_arrays(old.space, arrays, settings)
        self._report(self._form, new, ["These queries only; the others as before."], started)
        return self

    # -- forms -------------------------------------------------------------------

    def _forms(self) -> Iterator[Form]:
        """Forms to try, the most cautious first."""
        pulls = PULLS if self.pull is None else (self.pull,)
        prices = PRICES if self.C is None else (self.C,)
        clips = (True, False) if self.clip is None else (self.clip,)
        for name in ("global", "directions", "global+local", "diagonal", "diagonal+local"):
            if self.extension not in ("auto", name):
                continue
            led = pulls if name == "directions" or name.endswith("local") else (0.0,)
            if name.startswith("diagonal"):
                yield from (Form(name, *rest) for rest in product(led, prices, clips))
            else:
                yield from (Form(name, pull) for pull in led)

    def _choose(self, marks: Taught, notes: list[str]) -> Form | None:
        forms = list(self._forms())
        if len(forms) == 1 and self.extension != "auto":
            return forms[0]
        rows = np.flatnonzero(marks.has_both)
        if len(rows) < FEWEST:
            notes.append(
                f"{len(rows)} taught queries are too few to choose a form; the most cautious one "
                "was taken."
            )
            return forms[0]
        self.held_out_ = self._try(marks, rows, forms)
        base = self.held_out_["plain"]
        allowed = [f for f in forms if self._mean_p1(f) >= base.p1.mean() - self.fall]
        if self.extension == "auto":
            allowed = [f for f in allowed if self.held_out_[f].ap.mean() > base.ap.mean()]
        if not allowed and self.extension == "auto":
            notes.append("No form was better than plain similarity on held-out queries.")
            return None
        if not allowed:
            notes.append("Precision@1 falls on held-out queries; plain similarity may be better.")
            return max(forms, key=self._mean_p1)
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

    def _learn(self, marks: Taught, forms: list[Form], *, matrix: bool = True) -> Learnt:
        """The parts that these forms need."""
        names = {form.extension for form in forms}
        w0, half, led = self._plain.w0, None, None
        diagonals = {
            price: self._diagonal(marks, price)
            for price in {form.C for form in forms if form.diagonal}
        }
        if matrix and any(name.startswith("global") for name in names):
            half = within_half(
                marks, np.sqrt(w0),
                exponent=self.exponent, ridge=self.ridge, caution=self.caution,
            )  # fmt: skip
        if any(form.pull for form in forms):
            led = directions(marks, MarkSettings())
        return Learnt(marks, diagonals, half, led)

    def _diagonal(self, marks: Taught, price: float) -> Learned:
        """Weights a dimension; blocks without plain weight stay out: few marks fit noise there."""
        w0 = self._plain.w0
        used = w0 > 0
        paper = self.sigma is not None
        return learn_references(
            marks.items * used,
            marks.queries * used,
            marks.preferences,
            sigma=self.sigma or 0.0,
            C=price / len(self._plain.space.names) ** 2 if paper else price,
            clip=False,
            w0=w0,
            prior=None if paper else w0,
            tol=self.tol,
        )

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
        found = learnt.diagonals[form.C]
        return (clipped(found, self._plain.w0) if form.clip else found).weights

    # -- telling -----------------------------------------------------------------

    def _report(self, form: Form | None, learnt: Learnt, notes: list[str], started: float) -> None:
        marks, held = learnt.marks, {}
        if form in self.held_out_:
            mine, base = self.held_out_[form], self.held_out_["plain"]
            held = {
                "map": float(mine.ap.mean()), "plain_map": float(base.ap.mean()),
                "p1": float(mine.p1.mean()), "plain_p1": float(base.p1.mean()),
                "queries": float(len(mine.ap)),
            }  # fmt: skip
        part = learnt.diagonals.get(form.C) if form else None
        self.report_ = FitReport(
            method="bilinear" if form is None else f"bilinear {form.extension}",
            preferences=len(marks.preferences),
            queries=len(marks),
            covered=float(marks.has_both.mean()) if len(marks) else 0.0,
            objective=float("nan") if part is None else float(part.objective.sum()),
            gap=float("nan") if part is None else float(part.gap.sum()),
            seconds=time.perf_counter() - started,
            settings={**_scalars(self.get_params()), **(form._asdict() if form else {})},
            held_out=held,
            notes=tuple(notes),
        )


def _references(preferences: Preferences, given: ArrayLike | None, count: int) -> IdArray:
    if given is None:
        return np.unique(preferences.query).astype(np.int64)
    rows = np.unique(np.asarray(given, dtype=np.int64))
    if len(rows) and not (rows[0] >= 0 and rows[-1] < count):
        raise BadInput(f"Reference queries are rows 0 to {count - 1} of the queries.")
    return rows


def _scalars(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in settings.items() if isinstance(v, (bool, int, float, str))}
