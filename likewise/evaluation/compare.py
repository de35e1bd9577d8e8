"""Several models on the same queries: one table with significance and one plot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.evaluation.measures import evaluate, mean, measure, recall_precision_curve
from likewise.evaluation.ranking import Judged, Ranked, Rankings, rank
from likewise.evaluation.significance import bootstrap_interval, randomisation_test
from likewise.types import BadInput

MEASURES = ("map", "p1", "p10", "ndcg10", "top_precision")
JUDGED = ("judged_map", "bpref")
"""Added where only some items are judged."""

LEVEL = 0.95
"""Of the intervals."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """What :func:`compare` found.

    ``rows`` has one flat mapping a model: ``method``, the measures, ``queries`` and ``left_out``;
    for all but the baseline also ``difference``, ``low``, ``high`` and ``p_value`` of the measure
    ``by``. By model, ``values`` is that measure of every query, and ``curves`` recall and mean
    interpolated precision.
    """

    rows: tuple[dict[str, Any], ...]
    by: str
    baseline: str
    values: Mapping[str, NDArray[np.float64]]
    curves: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]

    def row(self, method: str) -> dict[str, Any]:
        """The row of one model."""
        for row in self.rows:
            if row["method"] == method:
                return row
        raise BadInput(f"No model {method!r} was compared.")

    def text(self) -> str:
        """The table as plain text, and a line that says what the differences mean."""
        keys = max((list(row) for row in self.rows), key=len)  # the baseline's row is the short one
        cells = [keys, *([_cell(row.get(key)) for key in keys] for row in self.rows)]
        widths = [max(len(row[at]) for row in cells) for at in range(len(keys))]
        lines = [
            "  ".join(
                cell.ljust(width) if at == 0 else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        left_out = self.rows[0]["left_out"]
        note = f"difference: {self.by} minus that of {self.baseline}, {LEVEL:.0%} interval."
        if left_out:
            note += f" Queries without a relevant item, left out: {left_out}."
        return "\n".join([*lines, note])

    def worst(self, method: str, count: int = 10) -> NDArray[np.int64]:
        """Queries that lost most against the baseline, the greatest loss first."""
        change = self.values[method] - self.values[self.baseline]
        order = np.argsort(change, kind="stable")
        return order[change[order] < 0][:count]


def compare(
    models: Mapping[str, Rankings | Ranked],
    relevance: Judged | None = None,
    *,
    baseline: str | None = None,
    by: str | None = None,
    draws: int = 100_000,
) -> Comparison:
    """Compare models on the same queries.

    Parameters
    ----------
    models
        Name to rankings: a run, or what :func:`~likewise.evaluation.rank` made of one.
    relevance
        As for :func:`~likewise.evaluation.rank`; not needed where all are ranked already.
    baseline
        The model to compare with; the first by default.
    by
        The measure that differences are taken of: ``map`` by default, ``judged_map``
        where only some items are judged.
    draws
        Of the randomisation test.

    Returns
    -------
    Comparison
        With ``rows``, ``text()`` and ``plot(path)``.

    Notes
    -----
    Every p-value is of one model against the baseline alone; whoever tries many models
    and keeps the best should ask for smaller ones.
    """
    if not models:
        raise BadInput("Give at least one model to compare.")
    baseline = next(iter(models)) if baseline is None else baseline
    if baseline not in models:
        raise BadInput(f"The baseline {baseline!r} is none of: {', '.join(models)}.")
    ranked = _rank_all(models, relevance)
    partial = not ranked[baseline].complete
    by = by or ("judged_map" if partial else "map")
    names = tuple(dict.fromkeys((*MEASURES, *(JUDGED if partial else ()), by)))
    values = {name: measure(own, by) for name, own in ranked.items()}
    rows = []
    for name, own in ranked.items():
        _, queries, left_out = mean(values[name])
        row: dict[str, Any] = {"method": name, **evaluate(own, names)}
        if name != baseline and queries:
            pair = values[name], values[baseline]
            interval = bootstrap_interval(*pair, level=LEVEL)
            row |= {"difference": interval.mean, "low": interval.low, "high": interval.high}
            row["p_value"] = randomisation_test(*pair, draws=draws).p_value
        rows.append(row | {"queries": queries, "left_out": left_out})
    curves = {name: recall_precision_curve(own) for name, own in ranked.items()}
    return Comparison(tuple(rows), by, baseline, values, curves)


def _rank_all(
    models: Mapping[str, Rankings | Ranked], relevance: Judged | None
) -> dict[str, Ranked]:
    ranked: dict[str, Ranked] = {}
    for name, model in models.items():
        if isinstance(model, Ranked):
            ranked[name] = model
        elif relevance is None:
            raise BadInput(f"Give the relevance too: model {name!r} is not ranked yet.")
        else:
            ranked[name] = rank(model, relevance)
    first = next(iter(ranked.values()))
    for name, own in ranked.items():
        same = own.names == first.names and np.array_equal(own.relevant, first.relevant)
        if not same or own.complete != first.complete:
            raise BadInput(
                f"Model {name!r} was ranked for other queries or judgements than the first one; "
                "rank all models with the same relevance."
            )
    return ranked


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.1e}" if 0 < abs(value) < 5e-4 else f"{value:.4f}"
