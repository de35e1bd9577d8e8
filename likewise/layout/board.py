"""The board: pictures placed so that near means similar, and few cover each other.

Positions Y in a box of side one minimise

    (1 - lambda) * stress(D, |y_i - y_j|)  -  lambda * H2(Y)

with the stress-1 at its best scale and Renyi's quadratic entropy
``H2 = -log mean_ij Gauss(y_i - y_j; 2 sigma^2 I)``, which spreads the pictures out (Wang, McKenna
and Han, 2009; the box keeps it bounded).  A short second descent adds the share of area that
pictures cover of each other, which parts the few that still do.  The query stands at the centre:
distance to it is what a drag changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.later import distance, njit, optimize
from likewise.solvers.threads import one_blas_thread
from likewise.types import BadInput, FloatArray, as_matrix, as_vector

CENTRE = (0.5, 0.5)
"""Where the query stands."""

ENTROPY = 0.05
"""lambda: .05 to .1 cost little stress; from .2 on pictures crowd the border."""

PARTING = 1.0
"""Weight of the covered share of area in the second descent."""

SIDE = 0.1
"""Side of a picture as a share of the box."""


FILLED = 0.5
"""Share of the box that all pictures cover together: as much as leaves none covered."""


def side_for(count: int) -> float:
    """Side of a picture where so many share the box: as large as leaves room between them."""
    return float(min(0.15, np.sqrt(FILLED / max(1, count))))


def arrange(
    x: Any,
    *,
    query: Any = None,
    start: Any = None,
    side: float = SIDE,
    entropy: float = ENTROPY,
    grid: bool = False,
) -> FloatArray:
    """Place pictures in a box of side one.

    Distances of the rows of ``x`` are what the board should show; the ``query``'s row, if there is
    one, stands at the centre.  ``start`` are positions to start from (the last layout; NaN for
    pictures without one), ``side`` that of a picture, ``entropy`` lambda between 0 (stress alone)
    and 1; a ``grid`` lets no picture cover another.  Nothing here is drawn at random.
    """
    points = as_matrix(x, name="pictures").astype(np.float64)
    n = len(points)
    if not 0 <= entropy < 1 or not 0 < side < 1:
        raise BadInput("entropy must be at least 0 and below 1, and side between 0 and 1.")
    known = np.full((n, 2), np.nan)
    if start is not None:
        known = np.clip(np.array(start, dtype=np.float64).reshape(-1, 2), 0, 1)
        if len(known) != n:
            raise BadInput("start must hold one position (or NaN) for each picture.")
    if query is not None:
        own = as_vector(query, dim=points.shape[1]).astype(np.float64)
        points, known = np.vstack([points, own]), np.vstack([known, CENTRE])
    wanted = distance.cdist(points, points)
    free = np.arange(len(points)) < n  # all but the query
    with one_blas_thread():  # many small products
        begin = _opening(wanted, known, query is not None, side / 2, 1 - side / 2)
        place = _optimise(wanted, begin, free, entropy, side, 0.0)
        if entropy > 0:
            place = _optimise(wanted, place, free, entropy, side, PARTING)
    if grid:
        place = _snapped(place, query is not None)
    return place[:n]


def _opening(
    wanted: FloatArray, anchors: FloatArray, query: bool, low: float, high: float
) -> FloatArray:
    """Classical MDS in the box, turned towards the places that are known already."""
    y = classical(wanted)
    have = ~np.isnan(anchors[:, 0])
    y = y - (y[-1] if query and len(y) > 1 else y.mean(axis=0))
    reach = float(np.abs(y).max(initial=0))
    y = y * ((high - low) / (2 * reach)) if reach > 0 else y
    if have.sum() > 2:  # rotation (or mirror) that fits best, then the known places themselves
        centre = anchors[have].mean(axis=0), y[have].mean(axis=0)
        u, _, v = np.linalg.svd((y[have] - centre[1]).T @ (anchors[have] - centre[0]))
        y = (y - centre[1]) @ (u @ v) + centre[0] - np.array(CENTRE)
    # pictures on one spot have no direction to part in: give each one of its own
    turn = np.arange(len(y)) * 2.399963
    y = y + 1e-3 * np.stack([np.cos(turn), np.sin(turn)], axis=1) + np.array(CENTRE)
    y = np.asarray(np.clip(y, low, high))
    y[have] = anchors[have]
    return y


def classical(wanted: FloatArray) -> FloatArray:
    """Classical scaling to two dimensions; the signs of the axes are fixed so that runs agree."""
    n = len(wanted)
    squares = wanted**2
    mean = squares.mean(axis=0)
    gram = -0.5 * (squares - mean - mean[:, None] + squares.mean())
    values, axes = np.linalg.eigh(gram)
    values, axes = values[::-1][:2], axes[:, ::-1][:, :2]
    top = np.abs(axes).argmax(axis=0)
    axes = axes * np.where(axes[top, np.arange(axes.shape[1])] < 0, -1.0, 1.0)
    y = np.zeros((n, 2))
    y[:, : axes.shape[1]] = axes * np.sqrt(np.maximum(values, 0))
    return y


def _optimise(
    wanted: FloatArray,
    begin: FloatArray,
    free: Any,
    entropy: float,
    side: float,
    parting: float,
) -> FloatArray:
    place = begin.copy()
    if not free.any() or len(place) < 2:
        return place
    sigma2 = 0.25 / len(place)

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        now = place.copy()
        now[free] = flat.reshape(-1, 2)
        value, slope = _board_objective(wanted, now, entropy, sigma2, side, parting)
        return float(value), slope[free].ravel()

    found = optimize.minimize(
        objective,
        place[free].ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(side / 2, 1 - side / 2)] * (2 * int(free.sum())),
        options={"maxiter": 300, "ftol": 1e-7, "gtol": 1e-6, "maxcor": 12},
    )
    place[free] = found.x.reshape(-1, 2)
    return place


def _snapped(place: FloatArray, query: bool) -> FloatArray:
    """Each picture in a cell of its own, as near as can be; the query keeps the middle."""
    side = int(np.ceil(np.sqrt(len(place))))
    side += query and side % 2 == 0  # an odd grid has a middle
    axis = (np.arange(side) + 0.5) / side
    cells = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    cost = ((place[:, None, :] - cells[None, :, :]) ** 2).sum(axis=2)
    if query:
        cost[-1] = 1e6
        cost[-1, len(cells) // 2] = -1e6
    rows, columns = optimize.linear_sum_assignment(cost)
    out = place.copy()
    out[rows] = cells[columns]
    return out


@njit(cache=True, nogil=True)
def _board_objective(wanted, y, entropy, sigma2, side, parting):  # type: ignore[no-untyped-def]
    """The objective above and its gradient."""
    n = len(y)
    both, seen, asked, kernel = 0.0, 0.0, 0.0, 0.0
    pull = np.zeros((n, 2))  # gradient of both
    size = np.zeros((n, 2))  # gradient of seen
    push = np.zeros((n, 2))  # gradient of kernel
    apart = np.zeros((n, 2))  # gradient of the covered share
    covered = 0.0
    for i in range(n):
        for j in range(i):
            dx, dy = y[i, 0] - y[j, 0], y[i, 1] - y[j, 1]
            square = dx * dx + dy * dy
            d = np.sqrt(square)
            g = np.exp(-square / (4.0 * sigma2))
            both += d * wanted[i, j]
            seen += square
            asked += wanted[i, j] * wanted[i, j]
            kernel += g
            wide, high = side - abs(dx), side - abs(dy)
            if parting > 0.0 and wide > 0.0 and high > 0.0:
                share = parting / (n * side * side)
                covered += share * wide * high
                along = -share * high if dx > 0 else share * high
                up = -share * wide if dy > 0 else share * wide
                apart[i, 0] += along
                apart[j, 0] -= along
                apart[i, 1] += up
                apart[j, 1] -= up
            a = wanted[i, j] / max(d, 1e-12)
            b = -g / (2.0 * sigma2)
            for m in range(2):
                delta = dx if m == 0 else dy
                pull[i, m] += a * delta
                pull[j, m] -= a * delta
                size[i, m] += 2.0 * delta
                size[j, m] -= 2.0 * delta
                push[i, m] += b * delta
                push[j, m] -= b * delta
    mean = (n + 2.0 * kernel) / (n * n)
    value = entropy * np.log(mean) + covered
    slope = entropy / mean * 2.0 / (n * n) * push + apart
    if asked > 0.0 and seen > 0.0:
        ratio = both * both / (seen * asked)
        s = np.sqrt(max(1.0 - ratio, 1e-12))
        value += (1.0 - entropy) * s
        # s^2 = 1 - both^2 / (seen asked)
        inner = 2.0 * both / (seen * asked) * pull - ratio / seen * size
        slope -= (1.0 - entropy) / (2.0 * s) * inner
    return value, slope
