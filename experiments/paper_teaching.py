"""Teaching as in Kuang et al.: reference queries, labels by a policy, the methods of Table 1.

Labels are simulated from the classes.  A method is a function from taught references to the
surrogates of queries; all of them share the reference queries and the labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import policies
from experiments.directions import (
    Strength,
    agreed_direction,
    choose_strength,
    learn_directions,
)
from experiments.paper_sets import BLOCK, Floats, Ints, PaperSet
from experiments.references import Learned, clipped, combine, label_pairs, learn_references
from experiments.relevance import Relevance
from experiments.rivals.identity_prior import identity_prior
from experiments.rivals.qi_rsvm import qi_rsvm
from experiments.score_ranking import rank
from likewise.evaluation import judged_average_precision, mean
from likewise.types import Preferences

SIGMA = 0.95
"""The paper's setting for all its tables."""

FALL = 0.005
"""What precision@1 may fall on the references.  Medoids are easier than most queries, so they
get half of what a model is allowed in the end."""


@dataclass(frozen=True, eq=False)
class Taught:
    """Reference queries of a database and their labelled items."""

    data: PaperSet
    own: Ints
    """Rows of the reference queries in the database."""
    rows: Ints
    """Rows of the labelled items, one line a reference."""

    @classmethod
    def by(
        cls, policy: str, data: PaperSet, own: Ints, n: int, *, seed: int, pool: int = 500
    ) -> Taught:
        """Labels of ``n`` items a reference: ``literal`` (top N) or ``pool500`` (of a pool)."""
        vectors = data.items[own]
        if policy == "literal":
            rows = policies.top(data.items, vectors, n)
        elif policy == "mixed":
            rows = policies.mixed(data.items, vectors, n, seed=seed)
        else:
            rows = policies.pooled(data.items, vectors, n, pool=pool, seed=seed)
        return cls(data, own, policies.with_own(rows, own))

    @cached_property
    def references(self) -> Floats:
        """Vectors of the reference queries."""
        return self.data.items[self.own]

    @cached_property
    def relevant(self) -> NDArray[np.bool_]:
        """The simulated labels."""
        labels = self.data.item_labels
        agree: NDArray[np.bool_] = labels[self.rows] == labels[self.own][:, None]
        return agree

    @cached_property
    def preferences(self) -> Preferences:
        """Each relevant item before each irrelevant one of the same reference."""
        owner = np.repeat(np.arange(len(self.own)), self.rows.shape[1])
        return label_pairs(owner, self.rows, self.relevant)

    @property
    def coverage(self) -> float:
        """Share of the references that have labels of both kinds."""
        return policies.coverage(self.relevant)

    # -- the methods ----------------------------------------------------------

    def weights(self, sigma: float) -> Learned:
        """The paper's model (``qd-rsvm`` where sigma is 0), nothing clipped."""
        return learn_references(
            self.data.items, self.references, self.preferences, sigma=sigma, clip=False
        )

    def surrogates(self, learned: Learned, *, clip: bool = False) -> Floats:
        """Surrogates of the queries under the weights of their nearest references."""
        kept = clipped(learned) if clip else learned
        return combine(kept.weights, self.references, self.data.queries)

    def query_independent(self) -> Floats:
        """Surrogates of the queries under one ranking SVM for all."""
        found = qi_rsvm(self.data.items, self.references, self.preferences)
        return found.w * self.data.queries

    def identity_prior(self) -> Floats:
        """Surrogates under weights that stay close to ones in length too."""
        learned = identity_prior(self.data.items, self.references, self.preferences, clip=False)
        return self.surrogates(learned)

    def extension(self) -> tuple[Floats, Strength]:
        """Our own: ``q + beta u``, with beta chosen on references that were left out."""
        learned = learn_directions(self.data.items, self.references, self.preferences)
        alone = agreed_direction(
            learned.weights,
            self.references,
            self.references,
            leave_out=np.arange(len(self.references)),
        )
        strength = choose_strength(self.references, alone, self._judge, fall=FALL)
        lean = agreed_direction(learned.weights, self.references, self.data.queries)
        return self.data.queries + strength.beta * lean, strength

    def _judge(self, surrogates: Floats) -> tuple[float, float]:
        """Judged-only MAP on each reference's labels, and whether its first result is right.

        The first result is that of the whole database: one label a reference and strength
        more, and mostly the same item.
        """
        ordered: list[Any] = []
        first = np.empty(len(surrogates), dtype=bool)
        labels = self.data.item_labels
        for at in range(0, len(surrogates), BLOCK):
            part = np.arange(at, min(at + BLOCK, len(surrogates)))
            scores = surrogates[part].astype(np.float32) @ self.data.items.T
            ordered.append(np.take_along_axis(scores, self.rows[part], axis=1))
            scores[np.arange(len(part)), self.own[part]] = -np.inf
            first[part] = labels[scores.argmax(axis=1)] == labels[self.own[part]]
        # The reference is relevant to itself and its own first label: leave column 0 out.
        scores = np.concatenate(ordered)[:, 1:]
        ranked = rank(scores, Relevance.from_matrix(self.relevant[:, 1:]))
        both = self.relevant[:, 1:].any(axis=1) & ~self.relevant[:, 1:].all(axis=1)
        values = judged_average_precision(ranked)[both]
        return (mean(values).value if both.any() else 1.0), float(first.mean())
