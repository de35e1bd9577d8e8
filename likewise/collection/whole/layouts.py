"""Pictures laid out for the eye: a sorted grid of some, and a map of all.

The map is made once a generation of the index and kept; making it writes nothing, so that a
child process may.  Its small pictures come on pages of 16 x 16, each made when first asked for
and named by the hash of what it shows.
"""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from likewise.collection.lines.line import Line, View
from likewise.store import Store
from likewise.types import BadInput, FloatArray, IdArray, LikewiseError, NotFound

TILE = 64
"""Pixels along the side of a small picture on a page."""
ACROSS = 16
"""Small pictures along the side of a page."""
ON_PAGE = ACROSS * ACROSS
ON_PART = 1 << 16
"""Items whose places are told at a time: the first part has all that is seen from afar."""
COARSE = 6
MOST_SORTED = 1000
NAMED = 200
"""Tags, the commonest, that islands of the map may be called by."""
_FORMAT = b"likewise atlas 1"
_PAPER = (128, 128, 128)


class CollectionMap(NamedTuple):
    """Where every item of a generation stands, on a grid of 2**``bits`` cells along the side.

    ``name`` is the hash of what it was made from.  ``ids`` come in the order in which they appear
    when one comes nearer, with column and row of each, and the coarsest level (a grid of 2**level
    cells) that shows it.  The first of the ``pages`` holds the first 256 items, and so on;
    ``names`` are of islands, each with its place in shares of the side.
    """

    name: str
    generation: int
    bits: int
    ids: IdArray
    cells: NDArray[np.uint16]
    levels: NDArray[np.uint8]
    pages: tuple[str, ...]
    names: tuple[tuple[str, float, float], ...] = ()

    def counts(self) -> list[int]:
        """How many items stand in each cell of a coarse level (6 at most), row by row."""
        level = min(self.bits, COARSE)
        columns, rows = (self.cells >> (self.bits - level)).astype(np.int64).T
        return list(np.bincount((rows << level) + columns, minlength=4**level).tolist())


class Layouts:
    """Sorted grids and the map of a collection."""

    def __init__(self, store: Store, look: Line, thumbnail: Callable[[int], bytes]) -> None:
        self._store, self._look, self._thumbnail = store, look, thumbnail
        self._lock, self._making = threading.Lock(), threading.Lock()
        self._map: CollectionMap | None = None

    def sorted(self, items: Sequence[int], columns: int | None = None) -> list[list[int | None]]:
        """At most 1,000 items in rows (as square as can be), similar ones beside each other.

        Those without vectors come last; None is a cell that stays empty.
        """
        wanted = list(dict.fromkeys(int(i) for i in items))
        if not 1 <= len(wanted) <= MOST_SORTED:
            raise BadInput(f"Give between 1 and {MOST_SORTED:,} items to sort.")
        wide = columns or int(np.ceil(np.sqrt(len(wanted))))
        if not 1 <= wide <= MOST_SORTED:
            raise BadInput(f"A grid has between 1 and {MOST_SORTED:,} columns.")
        view = self._look.view().bare
        known = [i for i in wanted if view.holds(i)]
        rows: list[list[int | None]] = []
        if known:
            from likewise.layout.sorted_grid import sorted_grid  # heavy: not while searching

            grid = sorted_grid(view.rows(known) * _scale(view), columns=wide)
            rows = [[known[at] if at >= 0 else None for at in row] for row in grid.tolist()]
        rest: list[int | None] = [i for i in wanted if not view.holds(i)]
        for start in range(0, len(rest), wide):
            part = rest[start : start + wide]
            rows.append(part + [None] * (wide - len(part)))
        return rows

    # -- the map -----------------------------------------------------------------

    def map(self) -> CollectionMap | None:
        """The newest map that is kept, None where there is none; :attr:`is_current` may be no."""
        with self._lock:
            if self._map is None:
                found = self._store.maps.latest()
                self._map = None if found is None else _map(*found)
            return self._map

    @property
    def is_current(self) -> bool:
        """Whether the kept map is that of the generation that answers searches."""
        kept, view = self.map(), self._look.view()
        return kept is not None and kept.name == _name(view)

    def prepare_map(self, seed: int = 0) -> CollectionMap:
        """Lay out all items without writing anything, so that a child process may."""
        view = self._look.view().bare
        if not view.generation or not len(view):
            raise NotFound("No index is built yet; the map is drawn when it is.")
        ids, codes = view.all_rows()
        from likewise.layout.map import collection_map  # heavy: not while searching
        from likewise.layout.mosaic import mosaic
        from likewise.layout.naming import island_names

        laid = mosaic(collection_map(codes, weights=_scale(view), seed=seed))
        ordered = ids[laid.order]
        tagged = self._store.texts.tagged(NAMED)
        rows = {tag: np.flatnonzero(np.isin(ordered, items)) for tag, items in tagged.items()}
        names = tuple(island_names((laid.cells + 0.5) / 2**laid.bits, rows))
        return CollectionMap(
            _name(view), view.generation, laid.bits, ordered, laid.cells, laid.levels,
            self._pages(ordered), names,
        )  # fmt: skip

    def _pages(self, ordered: IdArray) -> tuple[str, ...]:
        content = self._store.items.contents()
        keys = self._store.contents.sha256(content.values())
        shown = [keys.get(content.get(item, 0), "0" * 64) for item in ordered.tolist()]
        return tuple(
            hashlib.sha256(_FORMAT + "".join(shown[at : at + ON_PAGE]).encode()).hexdigest()
            for at in range(0, len(shown), ON_PAGE)
        )

    def keep_map(self, made: CollectionMap) -> None:
        """Keep what :meth:`prepare_map` made, instead of the map before."""
        pages = np.frombuffer(bytes.fromhex("".join(made.pages)), np.uint8).reshape(-1, 32)
        arrays = {"ids": made.ids, "cells": made.cells, "levels": made.levels, "pages": pages}
        card = {"generation": made.generation, "bits": made.bits, "names": made.names}
        self._store.maps.put(made.name, arrays, card)
        self._store.maps.keep_pages(made.pages)
        with self._lock:
            self._map = made

    def forget_map(self) -> None:
        """Drop the map that is held in memory; :meth:`Store.forget` has removed the files."""
        with self._lock:
            self._map = None

    def page(self, name: str) -> tuple[bytes, bool]:
        """A page of small pictures as a JPEG, and whether every picture could be drawn."""
        if (kept := self._store.maps.page(name)) is not None:
            return kept, True
        now = self.map()
        if now is None or name not in now.pages:
            raise NotFound("There is no such page of the map; ask for the map again.")
        with self._making:  # one at a time: searches need the other cores
            if (kept := self._store.maps.page(name)) is not None:
                return kept, True
            at = now.pages.index(name) * ON_PAGE
            data, whole = self._draw(now.ids[at : at + ON_PAGE].tolist())
            if whole:
                self._store.maps.put_page(name, data)
            return data, whole

    def _draw(self, items: list[int]) -> tuple[bytes, bool]:
        high = -(-len(items) // ACROSS)
        sheet = Image.new("RGB", (ACROSS * TILE, high * TILE), _PAPER)
        whole = True
        for at, item in enumerate(items):
            try:
                small = _square(self._thumbnail(item))
            except (LikewiseError, OSError, ValueError, SyntaxError):
                whole = False  # gone or unreadable since: its cell stays grey
                continue
            sheet.paste(small, (at % ACROSS * TILE, at // ACROSS * TILE))
        out = io.BytesIO()
        sheet.save(out, "JPEG", quality=80)
        return out.getvalue(), whole


def _square(data: bytes) -> Image.Image:
    with Image.open(io.BytesIO(data)) as opened:
        opened.draft("RGB", (TILE, TILE))  # JPEG can be decoded at a fraction of its size
        return ImageOps.fit(opened.convert("RGB"), (TILE, TILE), Image.Resampling.BILINEAR)


def _scale(view: View) -> FloatArray:
    """Codes times this have the distances of plain similarity."""
    scale: FloatArray = np.sqrt(view.plain.w0).astype(np.float32)
    return scale


def _name(view: View) -> str:
    what = f"{_FORMAT.decode()}/{view.space}/{view.generation}"
    return hashlib.sha256(what.encode()).hexdigest()


def _map(name: str, arrays: dict[str, Any], card: dict[str, Any]) -> CollectionMap:
    pages = tuple(bytes(row).hex() for row in arrays["pages"])
    return CollectionMap(
        name, int(card["generation"]), int(card["bits"]), arrays["ids"], arrays["cells"],
        arrays["levels"], pages, tuple(tuple(name) for name in card.get("names", ())),
    )  # fmt: skip
