"""Simulated people: labels and clicks on swatches, with a chosen share of mistakes.

A simulated person looks for one thing, *by* motif, *by* colour, or by both, and errs with
a probability that is known; so what a learner ought to find is known too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from likewise.datasets.swatches import SwatchSet
from likewise.types import BadInput, IdArray, Judgement, QueryRef

By = Literal["motif", "colour", "both"]
SOURCE = "simulated"


@dataclass(frozen=True, eq=False)
class SimulatedLabels:
    """Labels as columns: for item ``query``, ``item`` is (``relevant``) or is not relevant.

    ``wrong`` tells which of them are mistakes.
    """

    query: IdArray
    item: IdArray
    relevant: NDArray[np.bool_]
    wrong: NDArray[np.bool_]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.query)

    def judgements(self) -> list[Judgement]:
        """The same as judgements: two for a query, what is relevant and what is not."""
        marked: dict[tuple[int, bool], list[str]] = defaultdict(list)
        for query, item, relevant in zip(self.query, self.item, self.relevant):
            marked[int(query), bool(relevant)].append(self.names[int(item)])
        return [
            Judgement(
                QueryRef("item", self.names[query]),
                tuple(items),
                "label",
                value=1.0 if relevant else 0.0,
                source=SOURCE,
            )
            for (query, relevant), items in marked.items()
        ]


@dataclass(frozen=True, eq=False)
class SimulatedClicks:
    """Clicks as columns: after the text ``texts[query]``, ``item`` was chosen ``count`` times."""

    texts: tuple[str, ...]
    query: IdArray
    item: IdArray
    count: IdArray
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.query)

    def judgements(self) -> list[Judgement]:
        """The same as judgements: one for each text and count."""
        chosen: dict[tuple[int, int], list[str]] = defaultdict(list)
        for query, item, count in zip(self.query, self.item, self.count):
            chosen[int(query), int(count)].append(self.names[int(item)])
        return [
            Judgement(
                QueryRef("text", self.texts[query]),
                tuple(items),
                "click",
                value=float(count),
                source=SOURCE,
            )
            for (query, count), items in chosen.items()
        ]


def relevance(swatches: SwatchSet, queries: Sequence[int] | IdArray, by: By) -> NDArray[np.bool_]:
    """The truth: one row a query, one column an item, true where they agree.

    Parameters
    ----------
    by
        ``motif``, ``colour``, or ``both`` at once.
    """
    rows = _rows(swatches, queries)
    if by not in ("motif", "colour", "both"):
        raise BadInput(f"Swatches are judged by motif, colour or both, not by {by!r}.")
    agree = np.ones((len(rows), len(swatches)), dtype=bool)
    for aspect in ("motif", "colour") if by == "both" else (by,):
        column = swatches.truth[aspect]
        agree &= column[rows][:, None] == column[None, :]
    return agree


def simulate_labels(
    swatches: SwatchSet,
    queries: Sequence[int] | IdArray,
    *,
    by: By,
    per_query: int = 20,
    noise: float = 0.0,
    seed: int = 0,
    candidates: Sequence[IdArray] | None = None,
) -> SimulatedLabels:
    """Labels that a person would give who looks for pictures that agree *by* motif or colour.

    Parameters
    ----------
    queries
        Numbers of the items that are asked for.
    per_query
        How many items are labelled for each, half of them relevant as far as there are so many.
    noise
        Probability that a label says the opposite of the truth.
    candidates
        What each query's person is shown; its first ``per_query`` items are labelled in place
        of a sample from the whole collection.
    """
    if per_query < 1:
        raise BadInput(f"At least one item a query must be labelled, not {per_query}.")
    _check_noise(noise)
    rows = _rows(swatches, queries)
    if candidates is not None and len(candidates) != len(rows):
        raise BadInput(f"{len(rows)} queries need as many candidates, not {len(candidates)}.")
    agree = relevance(swatches, rows, by)
    rng = np.random.default_rng([seed, 3])
    shown = []
    for row, query in enumerate(rows):
        if candidates is not None:
            others = _rows(swatches, candidates[row])
            shown.append(others[others != query][:per_query])
        else:
            shown.append(_sample(agree[row], int(query), per_query, rng))
    item = np.concatenate([*shown, np.empty(0, np.int64)])
    number = np.repeat(np.arange(len(rows)), [len(items) for items in shown])
    wrong = rng.random(len(item)) < noise
    return SimulatedLabels(rows[number], item, agree[number, item] ^ wrong, wrong, swatches.names)


def simulate_clicks(
    swatches: SwatchSet,
    *,
    per_query: int = 40,
    noise: float = 0.1,
    seed: int = 0,
) -> SimulatedClicks:
    """Clicks after every text of a colour and a motif ("red stripes"), as a search log has them.

    Four of five clicks that mean something go to items that agree in both, the others to items
    that agree in the motif only.

    Parameters
    ----------
    per_query
        Clicks after each text.
    noise
        Share of the clicks that go anywhere in the collection.
    """
    if per_query < 1:
        raise BadInput(f"At least one click a text is needed, not {per_query}.")
    _check_noise(noise)
    motif, colour = swatches.truth["motif"], swatches.truth["colour"]
    pairs = sorted(set(zip(colour.tolist(), motif.tolist())))
    rng = np.random.default_rng([seed, 4])
    query, item, count = [], [], []
    for number, (hue, shape) in enumerate(pairs):
        both = np.flatnonzero((motif == shape) & (colour == hue))
        alike = np.flatnonzero(motif == shape)
        share = rng.random(per_query)
        pick = rng.random(per_query)
        clicked = both[(pick * len(both)).astype(np.int64)]
        clicked = np.where(share < 0.2, alike[(pick * len(alike)).astype(np.int64)], clicked)
        astray = rng.random(per_query) < noise
        clicked = np.where(astray, rng.integers(len(swatches), size=per_query), clicked)
        items, counts = np.unique(clicked, return_counts=True)
        query.append(np.full(len(items), number, dtype=np.int64))
        item.append(items.astype(np.int64))
        count.append(counts.astype(np.int64))
    texts = tuple(f"{hue} {shape}" for hue, shape in pairs)
    return SimulatedClicks(
        texts, np.concatenate(query), np.concatenate(item), np.concatenate(count), swatches.names
    )


def _sample(
    agree: NDArray[np.bool_], query: int, count: int, rng: np.random.Generator
) -> NDArray[Any]:
    others = np.arange(len(agree)) != query
    good = rng.permutation(np.flatnonzero(agree & others))[: (count + 1) // 2]
    bad = rng.permutation(np.flatnonzero(~agree & others))[: count - len(good)]
    return np.concatenate([good, bad]).astype(np.int64)


def _rows(swatches: SwatchSet, items: Sequence[int] | IdArray) -> IdArray:
    rows = np.asarray(items, dtype=np.int64).ravel()
    if len(rows) and (rows.min() < 0 or rows.max() >= len(swatches)):
        raise BadInput(f"Items of this collection have the numbers 0 to {len(swatches) - 1}.")
    return rows


def _check_noise(noise: float) -> None:
    if not 0 <= noise <= 1:
        raise BadInput(f"Noise is a probability between 0 and 1, not {noise}.")
