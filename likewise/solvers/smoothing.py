"""Codes smoothed by their nearest neighbours: what a collection knows before anybody marks.

With z = sqrt(w0) o x, the coordinates in which plain similarity is a dot product,

    y(x) = a (x / |z| + sum over the k nearest others j of max(0, cos(z, z_j))^power x_j / |z_j|)

and a such that sqrt(w0) o y is as long as z.  No coordinate is mixed with another, so a block
stays a block, and what a block adds to a score is still the truth.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.solvers.checks import Ints

Floats = NDArray[np.floating[Any]]

K, POWER = 5, 3.0
"""Neighbours that a code takes in, and the exponent on their cosines: the defaults."""
ASKED, ITEMS = 512, 16_384
"""Rows whose cosines are in memory at a time."""


CELL, PROBES, SAMPLED = 200, 24, 20
"""Rows of a cell on average, cells that are looked into, and rows drawn for each centre."""


class Smoothing(NamedTuple):
    """By how many neighbours codes are smoothed, and with which exponent on their cosines."""

    k: int = K
    power: float = POWER


def smoothed(
    x: ArrayLike, near: ArrayLike, w0: ArrayLike, power: float = POWER, k: int | None = None
) -> Floats:
    """Codes smoothed by neighbours that are known already.

    ``near`` has the neighbours' vectors, of shape (rows, neighbours, columns); a vector of zeros is
    none.  Where more than ``k`` are given, those of the largest cosines count.  A row of ``x``
    without length in z stays as it is.
    """
    rows = np.asarray(x)  # in double precision: equal pictures get equal codes, to the last bit
    others, root = np.asarray(near, np.float64), np.sqrt(np.asarray(w0, dtype=np.float64))
    length = np.linalg.norm(rows * root, axis=-1, keepdims=True)
    own = _over(rows.astype(np.float64), length)
    unit = _over(others, np.linalg.norm(others * root, axis=-1, keepdims=True))
    cosine = np.maximum(np.einsum("nkd,nd->nk", unit, own * root * root), 0.0)
    if k is not None and k < cosine.shape[1]:
        np.put_along_axis(cosine, np.argsort(-cosine, axis=1, kind="stable")[:, k:], 0.0, axis=1)
    summed = own + np.einsum("nk,nkd->nd", cosine**power, unit)
    now = np.linalg.norm(summed * root, axis=-1, keepdims=True)
    return np.where(length > 0, summed * _over(length, now), rows).astype(rows.dtype)


def nearest(
    x: ArrayLike, items: ArrayLike, w0: ArrayLike, k: int = K, *, own: ArrayLike | None = None
) -> Ints:
    """Rows of the ``k`` items of the largest cosine in z, best first, by a scan in blocks.

    ``own`` names the item that each row of ``x`` is itself, which is no neighbour of it.
    """
    asked, held = np.asarray(x), np.asarray(items)
    root = np.sqrt(np.asarray(w0, dtype=np.float64)).astype(held.dtype)
    k = min(k, len(held) - (own is not None))
    out = np.empty((len(asked), max(k, 0)), np.int64)
    if k < 1:
        return out
    mine = None if own is None else np.asarray(own)
    best: Any = np.full(out.shape, -np.inf, held.dtype)
    out[:] = len(held)
    for first in range(0, len(held), ITEMS):
        some = held[first : first + ITEMS] * root
        some = _over(some, np.linalg.norm(some, axis=1, keepdims=True))
        for start in range(0, len(asked), ASKED):
            part = slice(start, start + ASKED)
            z = (asked[part] * root).astype(held.dtype)  # its length changes no order
            cosine, found, at = z @ some.T, best[part], out[part]
            if mine is not None:
                hit = np.flatnonzero((mine[part] >= first) & (mine[part] < first + len(some)))
                cosine[hit, mine[part][hit] - first] = -np.inf
            for _ in range(min(k, len(some))):  # for a few the quickest way
                top = cosine.argmax(axis=1)[:, None]
                found = np.hstack([found, np.take_along_axis(cosine, top, axis=1)])
                at = np.hstack([at, top + first])
                np.put_along_axis(cosine, top, -np.inf, axis=1)
            order = np.lexsort((at, -found), axis=1)[:, :k]
            best[part], out[part] = (np.take_along_axis(a, order, 1) for a in (found, at))
    return out


def nearest_in_cells(x: Any, w0: ArrayLike, k: int = K, *, size: int = CELL, seed: int = 0) -> Ints:
    """The same of every row among the others, nearly always: only near cells are compared.

    Rows are parted around centres into cells of some ``size`` rows, and a row is held against
    those of the `PROBES` cells nearest to the centre of its own.  ``x`` may be a file; memory
    does not grow with its rows but for the answer.
    """
    from likewise.solvers.kmeans import kmeans  # heavy, and spaces know of smoothing

    root = np.sqrt(np.asarray(w0, dtype=np.float64)).astype(np.float32)

    def unit(rows: Any) -> Any:
        z = np.asarray(rows, np.float32) * root
        return _over(z, np.linalg.norm(z, axis=1, keepdims=True))

    n, rng = len(x), np.random.default_rng(seed)
    count = max(1, n // size)
    drawn = np.sort(rng.choice(n, min(n, SAMPLED * count), replace=False))
    centres = kmeans(unit(x[drawn]), count, spherical=True, iterations=4, seed=seed).centres
    centres = centres.astype(np.float32)
    cell = np.concatenate([
        (unit(x[start : start + ITEMS]) @ centres.T).argmax(axis=1) for start in range(0, n, ITEMS)
    ])  # fmt: skip
    order = np.argsort(cell, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(cell, minlength=len(centres)))[:-1])
    out = np.empty((n, min(k, n - 1)), np.int64)
    for own, centre in zip(rows, centres):
        around, probes = np.argsort(-(centres @ centre), kind="stable"), PROBES
        others = np.concatenate([rows[c] for c in around[:probes]])
        while len(others) <= out.shape[1]:
            probes *= 2
            others = np.concatenate([rows[c] for c in around[:probes]])
        far = unit(x[others])
        for start in range(0, len(own), ASKED):
            mine = own[start : start + ASKED]
            cosine = unit(x[mine]) @ far.T
            cosine[mine[:, None] == others] = -np.inf
            best = np.argpartition(-cosine, out.shape[1] - 1, axis=1)[:, : out.shape[1]]
            score = np.take_along_axis(cosine, best, axis=1)
            ordered = np.lexsort((others[best], -score), axis=1)
            out[mine] = np.take_along_axis(others[best], ordered, axis=1)
    return out


def smooth(
    x: ArrayLike,
    w0: ArrayLike,
    *,
    items: ArrayLike | None = None,
    k: int = K,
    power: float = POWER,
) -> Floats:
    """Picture vectors smoothed by their nearest ``items``; by each other where not given.

    Rows of ``x`` that are given without ``items`` are items themselves, none a neighbour of
    itself; with ``items`` they are queries from elsewhere.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> smooth(x, np.ones(2), k=1).round(2).tolist()
    [[0.98, 0.21], [0.91, 0.42], [0.15, 0.99]]
    """
    rows = np.asarray(x)
    held = rows if items is None else np.asarray(items)
    near = nearest(rows, held, w0, k, own=np.arange(len(rows)) if items is None else None)
    out = np.empty_like(rows)
    for start in range(0, len(rows), ASKED):
        part = slice(start, start + ASKED)
        out[part] = smoothed(rows[part], held[near[part]], w0, power)
    return out


def _over(rows: Any, length: Any) -> Any:
    """Rows divided by lengths; zero where the length is."""
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)
