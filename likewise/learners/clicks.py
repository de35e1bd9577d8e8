"""Words find pictures: ranked CCA from clicks (Yao et al.), text to picture and back.

``s(t, x) = (t W_q) W (x W_v)'`` for a text's sparse row t and a picture vector x.  Seen from the
pictures, the text is the vector ``W_v W' W_q' t``: it goes to the same static index as any
picture's surrogate, and the two add.  Between pictures the same model gives a similarity,
the cosine of both ``x W_v W'``, and between texts one for suggestions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likewise.learners.plain import CodesAlone
from likewise.spaces import Blocks, unit_rows
from likewise.types import BadInput, FloatArray, IdArray, Surrogate, as_matrix, as_vector, check_k

Vocabulary = tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]
"""What a text vocabulary's ``to_arrays`` gave: kept with the model, and handed back as it is."""

NO_VOCABULARY: Vocabulary = ({}, {})


class Clicks(CodesAlone):
    """Text or picture to picture in the blocks space; a new model needs no new index.

    W_q is words by d, W d by d, and W_v picture dimensions by d; ``vocabulary`` is ``to_arrays()``
    of the one that reads the texts, stored with the model.
    """

    kind: ClassVar[str] = "clicks"

    def __init__(
        self, space: Blocks, wq: Any, w: Any, wv: Any, *, vocabulary: Vocabulary = NO_VOCABULARY
    ) -> None:
        self.space = space
        self.wq = as_matrix(wq, name="W_q")
        self.w = as_matrix(w, name="W")
        self.wv = as_matrix(wv, name="W_v")
        d = len(self.w)
        if self.w.shape != (d, d) or self.wq.shape[1] != d or self.wv.shape[1] != d:
            raise BadInput("W_q, W and W_v must have one number of columns, and W as many rows.")
        if len(self.wv) != space.dim:
            raise BadInput(
                f"W_v takes {len(self.wv)} numbers, but a picture of this space has {space.dim}."
            )
        self.vocabulary: Vocabulary = (dict(vocabulary[0]), dict(vocabulary[1]))

    @property
    def words(self) -> int:
        """Length of a text's row."""
        return int(self.wq.shape[0])

    def text(self, query: Any) -> sparse.csr_array:
        """One text's row, checked; unknown words have no entry, so it may be empty."""
        row = sparse.csr_array(query, dtype=np.float64)
        if row.ndim != 2 or row.shape[0] != 1:
            raise BadInput("A text query must be one sparse row.")
        if row.shape[1] != self.words:
            raise BadInput(
                f"The text has {row.shape[1]} words' columns, but this model knows {self.words}: "
                "read it with the vocabulary that the model was learned with."
            )
        if not np.isfinite(row.data).all():
            raise BadInput("A text's row holds NaN or infinity.")
        return row

    def suggest(self, query: Any, others: Any, k: int = 10) -> tuple[IdArray, FloatArray]:
        """Which of other texts ask for alike pictures: row numbers and cosines, best first.

        The cosine is taken of ``t W_q W``.  A text of which nothing is known gets none.
        """
        check_k(k)
        side = self.wq @ self.w
        own = unit_rows(np.asarray(self.text(query) @ side))
        rows = sparse.csr_array(others, dtype=np.float64)
        if rows.shape[1] != self.words:
            raise BadInput("The other texts were read with another vocabulary than the model's.")
        theirs = unit_rows(np.asarray(rows @ side))
        scores = theirs @ own[0]
        known = np.flatnonzero(theirs.any(axis=1)) if own.any() else np.zeros(0, np.int64)
        order = known[np.lexsort((known, -scores[known]))][:k]
        return order.astype(np.int64), scores[order]

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The three matrices, and the vocabulary beside them."""
        arrays, settings = self.vocabulary
        out: dict[str, NDArray[Any]] = {"wq": self.wq, "w": self.w, "wv": self.wv}
        out |= {f"vocabulary.{name}": array for name, array in arrays.items()}
        return out, {"vocabulary": dict(settings)}

    @classmethod
    def from_arrays(
        cls, space: Any, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]
    ) -> Any:
        """The similarity that :meth:`to_arrays` described."""
        start = "vocabulary."
        kept = {n.removeprefix(start): a for n, a in arrays.items() if n.startswith(start)}
        three = (arrays["wq"], arrays["w"], arrays["wv"])
        return cls(space, *three, vocabulary=(kept, settings["vocabulary"]))

    def surrogate(self, query: Any) -> Surrogate:
        """Of a text (a sparse row): W_v W' W_q' t; of a picture: W_v W' u, u its direction."""
        if sparse.issparse(query):
            inner = np.asarray(self.text(query) @ self.wq)[0] @ self.w
        else:
            own = self._projected(as_vector(query, dim=self.space.dim)[None])
            inner = unit_rows(own)[0] @ self.w
        return Surrogate(self.wv @ inner, space=self.space.fingerprint)

    def score(self, query: Any, items: Any) -> FloatArray:
        """Equation 5 for a text; for a picture how far items reach in its direction."""
        if sparse.issparse(query):
            own = (self.text(query) @ self.wq)[0]
        else:
            q = as_vector(query, dim=self.space.dim).astype(float)
            own = self.w @ (self.wv.T @ q)
            own = own / (np.linalg.norm(own) or 1.0)
        return np.array([float(own @ row) for row in self._projected(self.space.encode(items))])

    def lengths(self, items: Any) -> FloatArray:
        """What scores between pictures are divided by to become the cosine of ``x W_v W'``."""
        found = np.linalg.norm(self._projected(self.space.encode(items)), axis=1)
        return np.where(found > 0, found, 1.0)

    def _projected(self, x: FloatArray) -> FloatArray:
        return np.asarray((x.astype(float) @ self.wv) @ self.w.T)
