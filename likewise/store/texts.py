"""Tags, captions and metadata of items, with who said so: user, folder, embedded, auto.

What was found inside a picture belongs to its content and is shared by every copy; what a
person or a sidecar file said belongs to one item.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from likewise.store.catalogue import AMONG, Catalogue, id_list
from likewise.store.fulltext import Words
from likewise.types import BadInput

Source = Literal["user", "folder", "embedded", "auto"]
Kind = Literal["tag", "caption"]


class Text(NamedTuple):
    """A tag or caption; ``score`` is how sure an automatic tag is."""

    text: str
    source: Source = "user"
    score: float | None = None


class Described(NamedTuple):
    """What a sidecar file says of one item."""

    item: int
    tags: Sequence[str] = ()
    captions: Sequence[str] = ()
    metadata: Mapping[str, Any] = {}


class Texts:
    """Tags, captions and metadata; every change keeps full-text search in step."""

    def __init__(self, catalogue: Catalogue, words: Words) -> None:
        self._catalogue, self._words = catalogue, words

    def describe(self, rows: Sequence[Described], source: Source = "user") -> None:
        """Add tags, captions and metadata to items, in one transaction."""
        with self._catalogue.transaction() as db:
            for kind, texts in (("tag", "tags"), ("caption", "captions")):
                db.executemany(
                    "INSERT OR IGNORE INTO texts (item, kind, text, source) VALUES (?, ?, ?, ?)",
                    (
                        (row.item, kind, clean(text), source)
                        for row in rows
                        for text in getattr(row, texts)
                    ),
                )
            db.executemany(
                "UPDATE items SET metadata = json_patch(metadata, ?) WHERE id = ?",
                ((as_json(row.metadata), row.item) for row in rows if row.metadata),
            )
            self._words.refresh([row.item for row in rows])

    def untag(self, items: Iterable[int], tags: Iterable[str], source: Source = "user") -> None:
        """Take tags away from items (those of one source)."""
        listed = id_list(items)
        with self._catalogue.transaction() as db:
            db.executemany(
                "DELETE FROM texts WHERE kind = 'tag' AND source = ? AND text = ? COLLATE NOCASE "
                f"AND item {AMONG}",
                ((source, tag, listed) for tag in tags),
            )
            self._words.refresh(json.loads(listed))

    def of_contents(self, rows: Iterable[tuple[int, Kind, Text]], contents: Iterable[int]) -> None:
        """Replace what was found inside ``contents`` by (content, kind, text) rows."""
        with self._catalogue.transaction() as db:
            db.execute(f"DELETE FROM texts WHERE content {AMONG}", (id_list(contents),))
            db.executemany(
                "INSERT OR IGNORE INTO texts (content, kind, text, source, score) "
                "VALUES (?, ?, ?, ?, ?)",
                ((content, kind, clean(t.text), t.source, t.score) for content, kind, t in rows),
            )

    def tags(self, item: int) -> list[Text]:
        """All tags of an item, a person's own first."""
        return self._texts(item, "tag")

    def captions(self, item: int) -> list[Text]:
        """All captions of an item."""
        return self._texts(item, "caption")

    def all_captions(self, limit: int = 100_000) -> list[tuple[int, str]]:
        """Captions of present items as (item, text), the newest items first."""
        return self._catalogue.rows(
            "SELECT t.item, t.text FROM item_texts AS t JOIN items AS i ON i.id = t.item "
            "WHERE t.kind = 'caption' AND i.removed IS NULL "
            "ORDER BY t.item DESC, t.text LIMIT ?",
            (limit,),
        )

    def metadata(self, item: int) -> dict[str, Any]:
        """Metadata of an item: what the picture carries, overlaid by what sidecars say."""
        row = self._catalogue.row(
            "SELECT json_patch(COALESCE(c.metadata, '{}'), i.metadata) FROM items AS i "
            "LEFT JOIN contents AS c ON c.id = i.content WHERE i.id = ?",
            (item,),
        )
        return dict(json.loads(row[0])) if row else {}

    def all_tags(self, limit: int = 1000) -> list[tuple[str, int]]:
        """Tags in use with the number of present items that carry each, most used first."""
        return self._catalogue.rows(
            "SELECT t.text, COUNT(DISTINCT t.item) AS n FROM item_texts AS t "
            "JOIN items AS i ON i.id = t.item WHERE t.kind = 'tag' AND i.removed IS NULL "
            "GROUP BY t.text COLLATE NOCASE ORDER BY n DESC, t.text LIMIT ?",
            (limit,),
        )

    def tagged(self, limit: int) -> dict[str, list[int]]:
        """Present items that carry each of the most used tags."""
        found: dict[str, list[int]] = {tag.casefold(): [] for tag, _ in self.all_tags(limit)}
        for tag, item in self._catalogue.rows(
            "SELECT DISTINCT t.text, t.item FROM item_texts AS t JOIN items AS i "
            "ON i.id = t.item WHERE t.kind = 'tag' AND i.removed IS NULL ORDER BY t.item"
        ):
            if tag.casefold() in found:
                found[tag.casefold()].append(item)
        return found

    def _texts(self, item: int, kind: Kind) -> list[Text]:
        rows = self._catalogue.rows(
            "SELECT text, source, score FROM item_texts WHERE item = ? AND kind = ? "
            "ORDER BY source = 'auto', source <> 'user', score DESC, text",
            (item, kind),
        )
        return [Text(*row) for row in rows]


def clean(text: str) -> str:
    """Text that SQLite can keep: no zero characters, no halves of surrogate pairs."""
    if not isinstance(text, str) or not text.strip():
        raise BadInput(f"A tag or caption must be a text with at least one letter, not {text!r}.")
    return text.replace("\0", " ").encode("utf-8", "replace").decode().strip()


def as_json(value: Mapping[str, Any]) -> str:
    """A mapping as JSON; what JSON does not know becomes its text."""
    text = json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)
    return text.encode("utf-8", "replace").decode()
