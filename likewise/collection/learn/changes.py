"""Where one model does better or worse than another: curves, and the queries that changed most.

Items are named by number and never by path, so that a card tells nothing of what was forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.evaluation import Comparison, Run

if TYPE_CHECKING:
    from likewise.collection.learn.evidence import Marks

COUNT = 6
"""Queries that are shown of each kind ..."""
SHOWN = 8
"""... and judged items of each, the best first."""


def curves(compared: Comparison) -> dict[str, dict[str, list[float]]]:
    """Recall and mean interpolated precision of every model, as lists."""
    return {
        name: {"recall": np.round(recall, 4).tolist(), "precision": np.round(own, 4).tolist()}
        for name, (recall, own) in compared.curves.items()
    }


def changes(
    compared: Comparison,
    method: str,
    runs: Mapping[str, Run],
    truth: Mapping[str, Mapping[str, float]],
    evidence: Marks,
) -> dict[str, list[dict[str, Any]]]:
    """The queries that lost and won most against the baseline, by the comparison's measure.

    ``items_before`` and ``items_after`` are pairs of an item's number and whether it is relevant.
    """
    names = sorted(truth)  # the order in which runs are ranked
    before, after = compared.values[compared.baseline], compared.values[method]
    gain = np.nan_to_num(after - before)
    order = np.argsort(gain, kind="stable")
    queries = {row: ref for ref, row in evidence.refs.items()}

    def shown(at: int) -> dict[str, Any]:
        name, ref = names[at], queries[int(names[at])]
        item = evidence.rows.get(ref.value) if ref.kind == "item" else None

        def best(run: Run) -> list[tuple[int, bool]]:
            rows = sorted(run[name], key=lambda row: (-run[name][row], int(row)))[:SHOWN]
            return [(int(evidence.ids[int(row)]), truth[name][row] > 0) for row in rows]

        return {
            "query": {
                "item": None if item is None else int(evidence.ids[item]),
                "upload": ref.value if ref.kind == "upload" else None,
                "crop": ref.crop,
            },
            "before": float(before[at]),
            "after": float(after[at]),
            "items_before": best(runs[compared.baseline]),
            "items_after": best(runs[method]),
        }

    return {
        "worst": [shown(at) for at in order[:COUNT].tolist() if gain[at] < 0],
        "best": [shown(at) for at in order[::-1][:COUNT].tolist() if gain[at] > 0],
    }
