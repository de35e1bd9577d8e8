"""What the catalogue says of segments: its rows as values, and where the newest vectors lie."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from likewise.store.segment_file import Place
from likewise.types import BadInput, IdArray, NotFound

LARGE = 64 << 20
"""Bytes of a file that small segments are merged into ..."""
MOST = 8_192
"""... and the contents of one."""
ENOUGH = 8
"""Small neighbours that are worth merging, so that a vector is written anew a few times only."""


@dataclass(frozen=True)
class Segment:
    """A row of the catalogue: one file, its contents and the blocks it holds.

    The content of a row that was forgotten is 0, and its SHA-256 is not kept from then on.
    """

    id: int
    file: str
    sha256: str
    size: int
    contents: IdArray
    blocks: Mapping[str, Place]
    sums: bytes

    @property
    def kind(self) -> dict[str, tuple[str, int]]:
        """How each block is kept."""
        return {name: (place.dtype, place.dim) for name, place in self.blocks.items()}

    @cached_property
    def blank(self) -> list[tuple[int, int]]:
        """Where zeros stand in the file, or are to stand: in rows that were forgotten."""
        rows = np.flatnonzero(self.contents == 0).tolist()
        parts = [(0, 8), *((place.offset, place.width) for place in self.blocks.values())]
        return sorted((at + r * width, at + r * width + width) for at, width in parts for r in rows)


@dataclass(frozen=True)
class Map:
    """Of one block: contents in order, and for each the segment and row of its vector."""

    contents: IdArray
    segment: IdArray
    row: IdArray
    dim: int
    dtype: str


EMPTY = np.zeros(0, dtype=np.int64)


def segment_of(row: tuple[Any, ...]) -> Segment:
    """A row of the catalogue as a value."""
    number, file, sha256, size, contents, layout, sums = row
    ids = np.frombuffer(contents, dtype="<i8").astype(np.int64)
    places = {name: Place(*place) for name, place in json.loads(layout).items()}
    return Segment(number, file, sha256, size, ids, places, sums)


Maps = tuple[dict[int, Segment], dict[str, Map]]


def maps_of(segments: list[Segment], before: Maps = ({}, {})) -> Maps:
    """Segments by id, and a map of each block.

    Where segments and contents were only added to what was there ``before``, as ingest does, its
    maps are gone on with.
    """
    now = {s.id: s for s in segments}
    last = max(before[0], default=0)
    new = [s for s in segments if s.id > last]
    if before[0] and all(now.get(number) is s for number, s in before[0].items()):
        added = maps_of(new)[1] if new else {}
        pairs = [(before[1][name], found) for name, found in added.items() if name in before[1]]
        if all(old.contents[-1] < found.contents[0] for old, found in pairs):
            return now, {**before[1], **added, **{n: _longer(before[1][n], added[n])
                         for n in added if n in before[1]}}  # fmt: skip
    parts: dict[str, list[Segment]] = {}
    for segment in segments:
        for name in segment.blocks:
            parts.setdefault(name, []).append(segment)
    maps = {}
    for name, holding in parts.items():
        place = holding[-1].blocks[name]
        maps[name] = Map(*newest(holding), place.dim, place.dtype)
    return now, maps


def _longer(first: Map, then: Map) -> Map:
    """A map and what comes after it."""
    return Map(
        np.concatenate([first.contents, then.contents]),
        np.concatenate([first.segment, then.segment]), np.concatenate([first.row, then.row]),
        then.dim, then.dtype
    )  # fmt: skip


def newest(segments: Sequence[Segment]) -> tuple[IdArray, IdArray, IdArray]:
    """Contents in order, and for each the newest segment that holds it and its row there."""
    if not segments:
        return EMPTY, EMPTY, EMPTY
    contents = np.concatenate([s.contents for s in segments])
    which = np.repeat([s.id for s in segments], [len(s.contents) for s in segments])
    row = np.concatenate([np.arange(len(s.contents)) for s in segments])
    kept, first = np.unique(contents[::-1], return_index=True)  # from the end: the newest first
    kept, first = kept[kept > 0], first[kept > 0]
    at = len(contents) - 1 - first
    return kept, which[at].astype(np.int64), row[at].astype(np.int64)


def locate(found: Map | None, wanted: IdArray, block: str) -> IdArray:
    """Where in a map the wanted contents stand."""
    if found is None:
        raise NotFound(f"There are no vectors of block {block!r}; index the collection first.")
    if wanted.ndim != 1:
        raise BadInput("Give the contents as a list of ids.")
    at = np.searchsorted(found.contents, wanted)
    at[at == len(found.contents)] = 0
    lost = found.contents[at] != wanted if len(found.contents) else np.ones(len(wanted), bool)
    if lost.any():
        raise NotFound(
            f"{int(lost.sum())} of {len(wanted)} contents have no {block!r} vector "
            f"(first: {int(wanted[lost][0])}); index the collection again."
        )
    return at.astype(np.int64)


def small_runs(segments: Iterable[Segment], covered: int) -> Iterator[list[Segment]]:
    """Small segments of the same blocks that may become one without changing which is newest.

    ``covered`` is the newest segment of the index: a run lies on one side of it, so that no item
    seems indexed that is not, nor the other way round.
    """
    runs: dict[frozenset[tuple[str, tuple[str, int]]], list[Segment]] = {}
    for segment in segments:
        kind = frozenset(segment.kind.items())
        for other in [k for k in runs if k != kind and dict(k).keys() & segment.kind.keys()]:
            yield runs.pop(other)  # it must not be lifted above a segment that holds its block
        run, (size, count) = runs.pop(kind, []), _extent([segment])
        small = size < LARGE // 2 and count < MOST // 2
        all_bytes, all_contents = _extent([*run, segment])
        fits = all_bytes <= LARGE and all_contents <= MOST
        if run and not (small and fits and (run[0].id <= covered) == (segment.id <= covered)):
            yield run
            run = []
        if small:
            runs[kind] = [*run, segment]
    yield from runs.values()


def _extent(run: list[Segment]) -> tuple[int, int]:
    return sum(s.size for s in run), sum(int(np.count_nonzero(s.contents)) for s in run)
