"""The encodings phi: what of a picture goes into the static index, each with a fingerprint.

A picture is first a row of feature *blocks* (deep, colour, texture, ...).  ``Blocks``
reduces each block by its own PCA, brings it to unit length and never mixes it with
another; the row of reduced blocks is the picture vector ``x`` that every dense
similarity speaks of.  ``encode`` turns ``x`` into the code that is indexed:

========= ============================= ==================================================
space     input                         code
========= ============================= ==================================================
blocks    picture vector x              x
squared   picture vector x              [x, x o x]
words     counts of visual words        tau(d) at column (word, level), sparse
========= ============================= ==================================================
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.later import linalg, sparse
from likewise.solvers.smoothing import Smoothing
from likewise.types import BadInput, FloatArray, Registry, Surrogate, as_matrix

Arrays = dict[str, NDArray[Any]]


def fingerprint(kind: str, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> str:
    """Hash of everything that decides what a space's codes mean."""
    h = hashlib.sha256(kind.encode())
    h.update(json.dumps(settings, sort_keys=True, default=str).encode())
    for name in sorted(arrays):
        a = np.ascontiguousarray(arrays[name])
        h.update(f"{name}:{a.dtype.str}:{a.shape}".encode())
        h.update(a.tobytes())
    return f"{kind}-{h.hexdigest()[:32]}"


# --------------------------------------------------------------------------
# Blocks


@dataclass(frozen=True)
class BlockSpec:
    """How one block is reduced: ``unit(PCA(power(unit_first(x))))``.

    Parameters
    ----------
    dim
        Dimensions kept (fewer where the data has fewer).
    power
        Exponent of the signed power taken first; .5 is the root that histograms like.
    unit_first
        Whether the raw vector is brought to unit length before the PCA.
    centre
        Whether the sample's mean is taken away.
    whiten
        Exponent on the standard deviations that axes are divided by: 0 is plain PCA,
        1 is full whitening (which hurts).
    """

    dim: int
    power: float = 1.0
    unit_first: bool = False
    centre: bool = True
    whiten: float = 0.0


class Blocks:
    """The default space: each block reduced by its own PCA and brought to unit length.

    Made by :meth:`fit` from a sample; new pictures reuse it.  A block that is zero
    after centring stays zero: it has no say in any score.

    With ``smoothing`` the picture vectors that are served are those of :meth:`transform`
    smoothed by their neighbours (:mod:`likewise.solvers.smoothing`), which only a collection
    knows.  The fingerprint says by how many neighbours and with which power, and not who they
    are: a model outlives the coming and going of pictures.
    """

    kind: ClassVar[str] = "blocks"

    def __init__(
        self,
        specs: Mapping[str, BlockSpec],
        arrays: Mapping[str, NDArray[Any]],
        smoothing: Smoothing | None = None,
    ) -> None:
        self.specs, self.smoothing = dict(specs), smoothing
        self._arrays = {name: np.asarray(a) for name, a in arrays.items()}
        self.names = tuple(self.specs)
        self.slices: dict[str, slice] = {}
        start = 0
        for name in self.names:
            width = self._arrays[f"{name}.basis"].shape[1]
            self.slices[name] = slice(start, start + width)
            start += width
        self.dim = start
        self.fingerprint = fingerprint(self.kind, self._arrays, self._settings())

    @classmethod
    def fit(
        cls,
        features: Mapping[str, Any],
        specs: Mapping[str, BlockSpec | int],
        *,
        sample: int = 20_000,
        seed: int = 0,
    ) -> Blocks:
        """Fit each block's PCA on a sample of the given features.

        Parameters
        ----------
        features
            Raw matrix by block name, one row a picture, the same rows in each.
        specs
            How each block is reduced; a plain number means that many dimensions.
        sample
            Rows that the PCA looks at, drawn under ``seed``.
        """
        if not specs:
            raise BadInput("A space needs at least one block of features.")
        chosen = {n: s if isinstance(s, BlockSpec) else BlockSpec(int(s)) for n, s in specs.items()}
        matrices = cls._matrices(features, tuple(chosen))
        n = len(next(iter(matrices.values())))
        if n == 0:
            raise BadInput("A space cannot be fitted on no pictures; add some first.")
        rows = np.arange(n)
        if n > sample:
            rows = np.sort(np.random.default_rng(seed).choice(n, sample, replace=False))
        arrays: Arrays = {}
        for name, spec in chosen.items():
            if spec.dim < 1:
                raise BadInput(f"Block {name!r} must keep at least one dimension, not {spec.dim}.")
            raw = _prepare(matrices[name][rows].astype(np.float64), spec)
            mean = raw.mean(axis=0) if spec.centre else np.zeros(raw.shape[1])
            arrays[f"{name}.mean"] = mean.astype(np.float32)
            arrays[f"{name}.basis"] = _pca(raw - mean, spec).astype(np.float32)
        return cls(chosen, arrays)

    @classmethod
    def identity(cls, dims: Mapping[str, int]) -> Blocks:
        """Blocks of ready-made vectors: no PCA, each block brought to unit length only."""
        specs = {name: BlockSpec(dim, centre=False) for name, dim in dims.items()}
        arrays: Arrays = {}
        for name, dim in dims.items():
            arrays[f"{name}.mean"] = np.zeros(dim, np.float32)
            arrays[f"{name}.basis"] = np.eye(dim, dtype=np.float32)
        return cls(specs, arrays)

    def smoothed(self, smoothing: Smoothing | None) -> Blocks:
        """The same blocks, served smoothed in this way or as they are."""
        same = smoothing == self.smoothing
        return self if same else Blocks(self.specs, self._arrays, smoothing)

    def transform(self, features: Mapping[str, Any]) -> FloatArray:
        """Picture vectors of raw features: reduce each block, bring it to unit length.

        Not smoothed: that needs neighbours.
        """
        matrices = self._matrices(features, self.names)
        parts = []
        for name, spec in self.specs.items():
            basis, mean = self._arrays[f"{name}.basis"], self._arrays[f"{name}.mean"]
            raw = as_matrix(matrices[name], dim=len(mean), name=f"{name} features")
            raw = _prepare(raw, spec)
            dtype = raw.dtype
            parts.append(unit_rows((raw - mean.astype(dtype)) @ basis.astype(dtype)))
        return np.concatenate(parts, axis=1)

    def encode(self, x: Any) -> FloatArray:
        """The picture vectors themselves."""
        return as_matrix(x, dim=self.dim, name="picture vectors")

    def spread(self, weights: Mapping[str, float]) -> FloatArray:
        """One weight a block, repeated over the block's dimensions."""
        unknown = set(weights) - set(self.names)
        if unknown:
            raise BadInput(
                f"This space has no block {sorted(unknown)[0]!r}; it has {', '.join(self.names)}."
            )
        out = np.zeros(self.dim)
        for name, part in self.slices.items():
            out[part] = weights.get(name, 0.0)
        return out

    def contributions(self, surrogate: Surrogate, code: Any) -> dict[str, float]:
        """How much each block adds to an item's score: why it is there."""
        product = np.asarray(surrogate.vector, dtype=np.float64) * as_matrix(code)[0]
        return {name: float(product[part].sum()) for name, part in self.slices.items()}

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Means, axes and settings."""
        return dict(self._arrays), self._settings()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> Blocks:
        """The space that :meth:`to_arrays` described."""
        specs = {b["name"]: BlockSpec(**b["spec"]) for b in settings["blocks"]}
        how = settings.get("smoothing")
        return cls(specs, arrays, None if how is None else Smoothing(**how))

    def _settings(self) -> dict[str, Any]:
        blocks = [{"name": n, "spec": asdict(s)} for n, s in self.specs.items()]
        how = {} if self.smoothing is None else {"smoothing": self.smoothing._asdict()}
        return {"blocks": blocks, **how}

    @staticmethod
    def _matrices(features: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, FloatArray]:
        missing = [name for name in names if name not in features]
        if missing:
            raise BadInput(f"The features lack the block {missing[0]!r}; index the pictures again.")
        out = {name: as_matrix(features[name], name=f"{name} features") for name in names}
        if len({len(m) for m in out.values()}) > 1:
            raise BadInput("Every block must have one row a picture, the same pictures in each.")
        return out


def unit_rows(x: FloatArray) -> FloatArray:
    """Each row divided by its length; rows of length zero stay zero."""
    length = np.linalg.norm(x, axis=1, keepdims=True)
    out: FloatArray = np.divide(x, length, out=np.zeros_like(x), where=length > 0)
    return out


def _prepare(raw: FloatArray, spec: BlockSpec) -> FloatArray:
    if spec.unit_first:
        raw = unit_rows(raw)
    if spec.power != 1.0:
        raw = np.sign(raw) * np.abs(raw) ** raw.dtype.type(spec.power)
    return raw


def _pca(centred: FloatArray, spec: BlockSpec) -> FloatArray:
    """Leading axes of the sample's scatter, largest first; the sign is fixed so that runs agree."""
    dim = min(spec.dim, centred.shape[1])
    if not spec.centre and dim == centred.shape[1] and not spec.whiten:
        return np.eye(dim)
    values, axes = _scatter(centred)
    values, axes = values[::-1][:dim], axes[:, ::-1][:, :dim]
    lacking = dim - axes.shape[1]
    if lacking:
        values, axes = np.pad(values, (0, lacking)), np.pad(axes, ((0, 0), (0, lacking)))
    top = np.abs(axes).argmax(axis=0)
    axes = axes * np.where(axes[top, np.arange(dim)] < 0, -1.0, 1.0)
    if spec.whiten:
        scale = np.maximum(values, 1e-12 * max(float(values[0]), 1e-300)) ** (spec.whiten / 2)
        axes = axes / np.where(scale > 0, scale, 1.0)
    return np.asarray(axes)


def _scatter(centred: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Variances and axes of a sample, smallest first.

    Where it has fewer pictures than numbers, the products of pictures give the same axes sooner;
    there are no more axes than pictures then, because a sample says nothing of the others.
    """
    count = len(centred)
    if count >= centred.shape[1]:
        values, axes = linalg.eigh(centred.T @ centred / count)
        return values, axes
    values, weights = linalg.eigh(centred @ centred.T / count)
    there = values > 1e-12 * max(float(values[-1]), 1e-300)
    values = values[there]
    return values, centred.T @ weights[:, there] / np.sqrt(count * values)


# --------------------------------------------------------------------------
# Squared


class Squared:
    """[x, x o x] of a dense space: serves every weighted Euclidean distance.

    ``-sum_m w_m (q_m - x_m)^2 = [x, x o x] . [2 w o q, -w] - sum_m w_m q_m^2``.
    """

    kind: ClassVar[str] = "squared"

    def __init__(self, base: Blocks) -> None:
        self.base, self.dim = base, 2 * base.dim
        self.fingerprint = fingerprint(self.kind, {}, {"base": base.fingerprint})

    def encode(self, x: Any) -> FloatArray:
        """[x, x o x], one row a picture."""
        x = self.base.encode(x)
        return np.concatenate([x, x * x], axis=1)

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """The base's numbers and settings."""
        arrays, settings = self.base.to_arrays()
        return arrays, {"base": settings}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]
    ) -> Squared:
        """The space that :meth:`to_arrays` described."""
        return cls(Blocks.from_arrays(arrays, settings["base"]))


# --------------------------------------------------------------------------
# Words


class Words:
    """Sparse indicators (word, level) times tau(d), for bag-of-visual-words histograms.

    Parameters
    ----------
    idf
        Weight of each word; its length is the size of the vocabulary.
    levels
        Counts are truncated here: a count of 5 with 3 levels is at level 3.
    tau
        ``"binary-idf"``: one over the length of the document's binary idf vector, the
        document normaliser kept outside the learned table; ``"root-idf"``: the same with the
        root of the truncated count instead of 1; ``"one"``: no normaliser.
    vocabulary
        Fingerprint of the vocabulary that counted the words.
    """

    kind: ClassVar[str] = "words"

    def __init__(
        self, idf: Any, *, levels: int = 3, tau: str = "binary-idf", vocabulary: str = ""
    ) -> None:
        self.idf = np.ascontiguousarray(np.asarray(idf, dtype=np.float64).ravel())
        if not len(self.idf) or not np.isfinite(self.idf).all() or (self.idf < 0).any():
            raise BadInput("The idf weights must be finite, not negative, and at least one word's.")
        if not 1 <= levels <= 255:
            raise BadInput(f"Counts are truncated at 1 to 255 levels, not {levels}.")
        if tau not in ("binary-idf", "root-idf", "one"):
            raise BadInput(f"tau is 'binary-idf', 'root-idf' or 'one', not {tau!r}.")
        self.levels, self.tau_kind, self.vocabulary = levels, tau, vocabulary
        self.words, self.dim = len(self.idf), len(self.idf) * levels
        self.fingerprint = fingerprint(self.kind, {"idf": self.idf}, self._settings())

    def counts(self, x: Any) -> sparse.csr_array:
        """Counts as canonical CSR: whole, positive, one row a picture."""
        rows: Any = x if sparse.issparse(x) else np.atleast_2d(x)
        c = sparse.csr_array(rows)
        if c.shape[1] != self.words:
            raise BadInput(
                f"The histograms have {c.shape[1]} words, but this vocabulary has {self.words}."
            )
        if c.nnz and (not np.isfinite(c.data).all() or c.data.min() < 0):
            raise BadInput("Counts of visual words must be finite and not negative.")
        c = c.copy()
        c.sum_duplicates()
        c.eliminate_zeros()
        return c

    def tau(self, x: Any) -> FloatArray:
        """The fixed normaliser of each document; 1 for a document without words."""
        c = self.counts(x)
        if self.tau_kind == "one":
            return np.ones(c.shape[0])
        # The squared root of a count is the count itself.
        square = np.ones(c.nnz) if self.tau_kind == "binary-idf" else self.level(c.data) * 1.0
        squares = sparse.csr_array((square, c.indices, c.indptr), shape=c.shape)
        length: FloatArray = np.sqrt(np.asarray(squares @ (self.idf**2)))
        tau: FloatArray = np.divide(1.0, length, out=np.ones_like(length), where=length > 0)
        return tau

    def level(self, counts: Any) -> NDArray[np.int64]:
        """Level of each count: 1 to ``levels``."""
        level = np.clip(np.ceil(np.asarray(counts, dtype=np.float64)), 1, self.levels)
        return level.astype(np.int64)

    def encode(self, x: Any) -> sparse.csr_array:
        """tau(d) at column ``word * levels + level - 1``."""
        c = self.counts(x)
        tau = self.tau(c)
        columns = c.indices.astype(np.int64) * self.levels + self.level(c.data) - 1
        values = np.repeat(tau, np.diff(c.indptr))
        return sparse.csr_array((values, columns, c.indptr), shape=(c.shape[0], self.dim))

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """The idf weights and the settings."""
        return {"idf": self.idf}, self._settings()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> Words:
        """The space that :meth:`to_arrays` described."""
        return cls(arrays["idf"], **settings)

    def _settings(self) -> dict[str, Any]:
        return {"levels": self.levels, "tau": self.tau_kind, "vocabulary": self.vocabulary}


SPACES = Registry({c.kind: f"{c.__module__}:{c.__name__}" for c in (Blocks, Squared, Words)})
"""Every space by its kind; restore one with ``SPACES[kind].from_arrays(arrays, settings)``."""
