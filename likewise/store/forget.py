"""Forgetting for good: rows, words, vectors, thumbnails, judgements and their old bytes.

Deleting is not enough: SQLite keeps deleted rows in its log and, even where it overwrites them,
copies in unused corners of pages; full-text search keeps deleted words until it merges, segments
are append-only, and an index holds codes of everything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from likewise.store.catalogue import AMONG, Catalogue, id_list
from likewise.types import NotFound

if TYPE_CHECKING:
    from likewise.store.store import Store

SCRUB, REWRITE = "scrub.wanted", "rewrite.wanted"
SMALL = 64 << 20
"""Up to so many bytes a catalogue is rewritten at once; beyond, by the next build."""


@dataclass(frozen=True)
class Forgotten:
    """What went, and what a person should know stays.

    ``shared`` are other items of the same bytes: copies that are present keep their vectors.
    ``models`` were learned before; they hold no pictures, but were taught with them.  It is not
    ``complete`` while a reader holds the old state (the next writer finishes the work), or while
    unused corners of a large catalogue wait to be overwritten by the next build.
    """

    items: tuple[int, ...]
    contents: tuple[int, ...]
    judgements: int
    segments: int
    shared: tuple[int, ...]
    models: tuple[int, ...]
    complete: bool


def forget(store: Store, items: Iterable[int]) -> Forgotten:
    """Remove items and all that was derived from them; see :class:`Forgotten`."""
    ids = tuple(sorted({int(item) for item in items}))
    listed = id_list(ids)
    with store.transaction() as db:
        known = store.catalogue.column(f"SELECT id FROM items WHERE id {AMONG}", (listed,))
        lost = sorted(set(ids) - set(known))
        if lost:
            raise NotFound(f"There is no item {lost[0]} in this collection.")
        contents, shared = _contents(store.catalogue, listed)
        keys = store.contents.sha256(contents)
        judgements = store.judgements.forget(ids)
        store.looks.forget(ids)
        db.execute(f"DELETE FROM words WHERE rowid {AMONG}", (listed,))
        db.execute(f"DELETE FROM texts WHERE item {AMONG}", (listed,))
        db.execute(f"DELETE FROM items WHERE id {AMONG}", (listed,))
        # A removed file of the same bytes keeps its name, but not what was derived.
        gone = id_list(contents)
        db.execute(f"UPDATE items SET content = NULL WHERE content {AMONG}", (gone,))
        db.execute(f"DELETE FROM texts WHERE content {AMONG}", (gone,))
        segments = store.segments.purge(contents)
        db.execute(f"DELETE FROM contents WHERE id {AMONG}", (gone,))
        if contents:
            store.generations.thin(contents)
            store.maps.clear()
        store.thumbnails.remove(keys.values())
        store.settings.set(SCRUB, True)
        store.settings.set(REWRITE, True)
    complete = finish(store)
    models = tuple(model.id for model in store.models.all())
    return Forgotten(ids, contents, judgements, segments, shared, models, complete)


def finish(store: Store, *, rewrite: bool = False) -> bool:
    """Get rid of the bytes that deleting left behind, if any; False while some are left.

    ``rewrite``: also where the catalogue is large, so that it takes a while.
    """
    store.segments.blank()
    store.generations.blank()
    rewrite = rewrite or store.catalogue.path.stat().st_size <= SMALL
    for name, wanted in ((SCRUB, True), (REWRITE, rewrite)):
        if store.settings.get(name, False):
            if not wanted or not store.catalogue.scrub(rewrite=name == REWRITE):
                return False
            store.settings.remove(name)
    return True


def _contents(catalogue: Catalogue, listed: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    sql = f"SELECT DISTINCT content FROM items WHERE id {AMONG} AND content IS NOT NULL"
    held = catalogue.column(sql, (listed,))
    others = catalogue.rows(
        f"SELECT id, content, removed IS NULL FROM items WHERE content {AMONG} AND NOT id {AMONG}",
        (id_list(held), listed),
    )
    kept = {content for _, content, present in others if present}
    return tuple(sorted(set(held) - kept)), tuple(sorted(item for item, _, _ in others))
