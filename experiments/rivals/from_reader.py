"""Ranked CCA that starts from what words are known to look like, instead of from CCA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.features.text import TextVocabulary
from likewise.learners.click_learner import ClickLearner
from likewise.solvers.cca import CCA


class FromReader(ClickLearner):
    """W_q and W_v are the best product of low rank for the words' directions in picture space.

    ``directions`` are these by stem; a word without one starts at zero.
    """

    directions: ClassVar[Mapping[str, NDArray[Any]]] = {}

    def _start(self, x: Any, texts: Any, pairs: tuple[Any, Any, Any]) -> CCA | None:
        words = TextVocabulary.from_arrays(*self.vocabulary).words
        rows = np.zeros((len(words), x.shape[1]))
        for at, word in enumerate(words):
            if word in self.directions:
                rows[at] = self.directions[word]
        left, sizes, right = np.linalg.svd(rows, full_matrices=False)
        kept = np.flatnonzero(sizes > 1e-9)[: self.dim]
        if not len(kept):
            return super()._start(x, texts, pairs)
        half = np.sqrt(sizes[kept])
        return CCA(left[:, kept] * half, right[kept].T * half, sizes[kept] / sizes[0], 0.0)
