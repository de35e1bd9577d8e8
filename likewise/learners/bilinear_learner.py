"""Learns a bilinear similarity from marks, in closed forms.

*groups*: one matrix for all queries.  W plays down the directions in which members of a group
differ, shrunk by how far the groups agree; then one weight theta per block.  W first: the other
way round W would undo theta.  *local*: queries near a taught one are led where its marks lead.
*tastes*: the same, and what is meant depends on the query: theta is that of the taught queries
near it (as in Kuang, Sun and Wong, with a weight per block in place of one per dimension).

Where the form is to be chosen, it is ``groups`` below `ENOUGH` taught queries.  From there on it
is ``groups+local`` unless another one clearly puts less in the wrong order for taught queries
that it was learned without; two standard errors are clear, so that luck changes nothing.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from likewise.learners import teachings
from likewise.learners.bilinear import Bilinear
from likewise.learners.own_settings import BilinearSettings
from likewise.learners.plain import Plain
from likewise.learners.settings import check_learner
from likewise.solvers.groups import Scatter, block_weights, local_weights, scatters, within_groups
from likewise.solvers.threads import one_blas_thread
from likewise.spaces import Blocks
from likewise.types import FitReport, FloatArray, Preferences, as_matrix

FORMS = ("groups+local", "groups", "groups+tastes")
"""Forms that are tried, the one that is preferred where nothing speaks against it first."""

ENOUGH = 50
"""Taught queries from which on forms are tried, and queries led."""

FOLDS, CROSSED = 5, 10
"""Parts that groups are held out in, and groups from which on theta sees them held out."""

Half = tuple[FloatArray, FloatArray, teachings.Triples]

CLEARLY = 2.0
"""Standard errors of a paired difference that count as clearly worse."""


class BilinearLearner(BaseEstimator):
    """Learns a :class:`~likewise.learners.bilinear.Bilinear` similarity, or stays with plain.

    Without ``plain`` it is one block of the vectors' length; ``seed`` is of pictures drawn at
    random.  The rest: :class:`~likewise.learners.own_settings.BilinearSettings`.  ``held_out_`` is
    the share in the wrong order per taught query, by form; empty where nothing was chosen.
    """

    def __init__(
        self, plain: Plain | None = None, *, extension: str = "auto", evidence: float = 0.1,
        others: int = 30, weight: float = 0.3, ridge: float = 0.1, exponent: float = 0.65,
        prior: float = 0.5, pull: float = 0.75, warmth: float | None = 0.05, reach: float = 0.5,
        M: int = 20, seed: int = 0,
    ) -> None:  # fmt: skip
        self.plain, self.extension, self.seed = plain, extension, seed
        self.evidence, self.others, self.weight = evidence, others, weight
        self.ridge, self.exponent, self.prior = ridge, exponent, prior
        self.pull, self.warmth, self.reach, self.M = pull, warmth, reach, M

    @one_blas_thread()  # its products are many and small
    def fit(
        self, X: Any, preferences: Preferences, queries: Any = None, *,
        marks: sparse.csr_array | None = None,
    ) -> BilinearLearner:  # fmt: skip
        """Learn from preferences (rows of ``queries`` and of ``X``) or marks.

        Items are the queries where none are given.  ``marks`` are queries x items, above 0
        relevant, below 0 not; a query whose marks are all relevant has no preference, and counts
        here.
        """
        started = time.perf_counter()
        check_learner(self, BilinearSettings)
        x = as_matrix(X, name="items")
        self._plain = self.plain or Plain(Blocks.identity({"x": x.shape[1]}))
        dim = self._plain.space.dim
        x = as_matrix(x, dim=dim, name="items")
        q = x if queries is None else as_matrix(queries, dim=dim, name="queries")
        preferences.check(len(q), len(x))
        said = teachings.taught(x, q, preferences, marks)
        self.held_out_: dict[str, FloatArray] = {}
        self._fitted = (float("nan"), float("nan"), "")
        notes: list[str] = []
        form = ""
        self.similarity_: Bilinear | Plain = self._plain
        if not len(said.groups):
            notes.append(
                "Nothing was called relevant to a query, so plain similarity stays; mark pictures "
                "that are right."
            )
        else:
            # What the collection knows before any mark is the same for all folds and forms.
            self._known = teachings.alike_unmarked(x, np.sqrt(self._plain.w0), self.seed)
            form = self._choose(said, notes)
            self.similarity_ = self._model(said, form)
        self._report(form, said, notes, started)
        return self

    # -- forms -------------------------------------------------------------------

    def _choose(self, said: teachings.Taught, notes: list[str]) -> str:
        if self.extension != "auto":
            return self.extension
        rows = said.groups[:: -(-len(said.groups) // teachings.GROUPS)]
        if len(rows) < ENOUGH:
            return "groups"
        fold = np.arange(len(rows)) % FOLDS
        # With one block that counts, a taste is a factor of all scores and moves nothing.
        one_block = sum(weight > 0 for weight in self._plain.weights.values()) == 1
        forms = FORMS[:-1] if one_block else FORMS
        wrong: dict[str, FloatArray] = {form: np.empty(len(rows)) for form in forms}
        for number in range(FOLDS):
            held = rows[fold == number]
            rest = said.only(np.setdiff1d(np.arange(len(said)), held))
            parts = self._half(rest)
            for form in forms:
                vectors = self._model(rest, form, parts).surrogates(said.queries[held])
                wrong[form][fold == number] = teachings.wrongly_ordered(
                    said, held, vectors, others=self.others, weight=self.weight, seed=self.seed
                )
        self.held_out_ = wrong
        best = min(forms, key=lambda form: float(wrong[form].mean()))
        return next(form for form in forms if not _clearly_worse(wrong[form], wrong[best]))

    def _model(self, said: teachings.Taught, form: str, learned: Half | None = None) -> Bilinear:
        half, theta, found = learned or self._half(said)
        parts: dict[str, Any] = {"half": half}
        if form != "groups":
            parts["members"], parts["sizes"] = said.members()
            parts["directions"] = teachings.directions(said)
        parts |= {"M": self.M, "pull": self.pull, "warmth": self.warmth, "reach": self.reach}
        model = Bilinear(self._plain, said.queries, **parts)
        if form != "groups+tastes":
            return model
        near, share = model.kin(said.queries.astype(np.float64))
        heard, group = np.unique(found.group, return_inverse=True)
        column = np.full(len(said), len(heard))  # all others have nothing to say
        column[heard] = np.arange(len(heard))
        say = np.zeros((len(said), len(heard) + 1))
        np.put_along_axis(say, column[near], share, axis=1)
        moved = local_weights(
            found.ahead, found.share, group, theta, say[:, :-1], penalty=max(self.evidence, 1e-6)
        )
        names = list(self._plain.space.names)
        weighed = [names.index(n) for n, weight in self._plain.weights.items() if weight > 0]
        tastes = np.zeros((len(said), len(names)))
        tastes[:, weighed] = moved
        return Bilinear(self._plain, said.queries, tastes=tastes, **parts)

    def _half(self, said: teachings.Taught) -> Half:
        """R theta^1/2 W^1/2, theta, and what it was learned from.

        R is the root of the plain weights.  Half of theta stands on either side of W, so that the
        similarity stays symmetric.  From `CROSSED` groups on, theta sees every group through a W
        that was learned without it: through its own, blocks in which W can fit much would seem
        to tell more than they do.
        """
        root, rows = np.sqrt(self._plain.w0), said.groups
        members, sizes = said.members()
        number = FOLDS if len(rows) >= CROSSED else 1
        part = np.zeros(len(said), np.int64)
        part[rows] = np.arange(len(rows)) % number
        parts = scatters((members * root)[:, root > 0], sizes, part, number)
        half = self._within(parts)
        rest = [parts[:at] + parts[at + 1 :] for at in range(number)] if number > 1 else [parts]
        names = [name for name, weight in self._plain.weights.items() if weight > 0]
        blocks = [self._plain.space.slices[name] for name in names]
        how: Any = {"others": self.others, "weight": self.weight, "seed": self.seed}
        seen = [h @ h.T for h in map(self._within, rest)]
        found = teachings.triples(said, root, seen, blocks, **how)
        theta = block_weights(found.ahead, found.share, penalty=self.evidence / len(rows))
        self._fitted = theta.objective, theta.residual, "gradient norm"
        spread = np.zeros(len(root))
        for block, weight in zip(blocks, theta.weights):
            spread[block] = weight
        return (root * np.sqrt(spread))[:, None] * half, theta.weights, found

    def _within(self, parts: list[Scatter]) -> FloatArray:
        """W^1/2 of these groups; blocks without weight stay out."""
        used, groups, target = self._plain.w0 > 0, sum(part.groups for part in parts), None
        if self._known is not None and groups > 1:
            known = self._known[np.ix_(used, used)]
            share = self.prior * ENOUGH / (ENOUGH + groups)  # it fades as groups come
            target = share * known * (len(known) / np.trace(known))
            target += (1 - share) * np.eye(len(known))
        half = np.zeros((len(used), int(used.sum())))
        how = {"ridge": self.ridge, "exponent": self.exponent}
        half[used] = within_groups(parts, target=target, **how).half
        return half

    # -- telling -----------------------------------------------------------------

    def _report(self, form: str, said: teachings.Taught, notes: list[str], started: float) -> None:
        objective, gap, gap_is = self._fitted
        every = self.get_params().items()
        scalars = {k: v for k, v in every if isinstance(v, (bool, int, float, str))}
        self.report_ = FitReport(
            method=f"bilinear {form}".strip(),
            preferences=said.preferences,
            queries=len(said),
            covered=len(said.groups) / max(1, len(said)),
            objective=objective,
            gap=gap,
            gap_is=gap_is,
            seconds=time.perf_counter() - started,
            settings={**scalars, "extension": form or self.extension},
            held_out={f"wrong {key}": float(v.mean()) for key, v in self.held_out_.items()},
            notes=tuple(notes),
        )


def _clearly_worse(wrong: FloatArray, best: FloatArray) -> bool:
    lost = wrong - best
    return bool(lost.mean() > CLEARLY * lost.std() / np.sqrt(len(lost)))
