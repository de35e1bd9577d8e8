"""Words find items: SQLite full-text search over names, folders, tags, captions, metadata.

What a person types is never handed to SQLite as it is: it is cut into words and quoted
phrases, each quoted anew, so that no character has a meaning of its own there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from likewise.filters import Among
from likewise.store.catalogue import AMONG, Catalogue, id_list
from likewise.types import Hits, check_k

# A phrase in double quotes, or a run without space; a minus in front leaves it out.
_PART = re.compile(r'(-?)(?:"([^"]*)"?|([^\s"]+))')
_WORD = re.compile(r"[^\W_]+")

# Both halves are written out: through the view SQLite would read every text for each item.
_TEXTS = """(SELECT group_concat(text, ' . ') FROM (
            SELECT text, kind, source FROM texts WHERE item = i.id
            UNION ALL SELECT text, kind, source FROM texts WHERE content = i.content)
            WHERE {})"""
_ROWS = f"""INSERT INTO words (rowid, name, folder, tags, captions, metadata, auto)
    SELECT i.id, i.name, i.folder,
        {_TEXTS.format("kind = 'tag' AND source <> 'auto'")},
        {_TEXTS.format("kind = 'caption'")},
        (SELECT group_concat(atom, ' . ') FROM (
            SELECT atom, type FROM json_tree(i.metadata)
            UNION ALL SELECT atom, type FROM json_tree(c.metadata))
            WHERE type IN ('text', 'integer')),
        {_TEXTS.format("kind = 'tag' AND source = 'auto'")}
    FROM items AS i LEFT JOIN contents AS c ON c.id = i.content
    WHERE i.removed IS NULL AND i.id {AMONG}"""


def build_query(text: str, *, any_word: bool = False) -> str:
    """An FTS5 query from what a person typed; empty where nothing is left to search for.

    Words match as prefixes, ``"quoted words"`` as a phrase, ``-word`` leaves out.

    Examples
    --------
    >>> build_query('red "old car" -boat')
    '("red"* AND "old car") NOT ("boat"*)'
    """
    wanted: list[str] = []
    unwanted: list[str] = []
    for minus, phrase, word in _PART.findall(text.replace("\0", " ")):
        tokens = _WORD.findall(phrase or word)
        if not tokens:
            continue
        quoted = '"' + " ".join(tokens) + '"'
        (unwanted if minus else wanted).append(quoted if phrase else quoted + "*")
    if not wanted:
        return ""
    query = (" OR " if any_word else " AND ").join(wanted)
    return f"({query}) NOT ({' OR '.join(unwanted)})" if unwanted else query


class Words:
    """Full-text search; its rows are kept in step by those who write items and texts."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def search(
        self, text: str, k: int, *, among: Among | None = None, any_word: bool = False
    ) -> Hits:
        """The ``k`` best present items for words, by BM25.

        Parameters
        ----------
        text
            What the person typed, see :func:`build_query`.
        k
            How many at most.
        among
            Only these item ids.
        any_word
            One of the words is enough; by default all must match.
        """
        k, query = check_k(k), build_query(text, any_word=any_word)
        rows: list[tuple[int, float]] = []
        if query:
            with self._catalogue.reading() as db:
                cursor = db.execute(
                    "SELECT rowid, rank FROM words WHERE words MATCH ? "
                    "ORDER BY rank, rowid LIMIT ?",
                    (query, k if among is None else -1),
                )
                rows = list(cursor) if among is None else list(_those(cursor, among, k))
        ids = np.array([row[0] for row in rows], dtype=np.int64)
        return Hits(ids, -np.array([row[1] for row in rows], dtype=np.float64))

    def refresh(self, ids: Iterable[int]) -> None:
        """Write the rows of these items anew, inside the caller's transaction."""
        listed = id_list(ids)
        with self._catalogue.transaction() as db:
            db.execute(f"DELETE FROM words WHERE rowid {AMONG}", (listed,))
            db.execute(_ROWS, (listed,))


def _those(rows: Iterable[tuple[int, float]], among: Among, k: int) -> Iterator[tuple[int, float]]:
    allowed = set(np.asarray(among).tolist())
    for row in rows:
        if row[0] in allowed:
            yield row
            k -= 1
            if not k:
                return
