"""Words find items: SQLite full-text search over names, folders, tags, captions, metadata.

What a person types is never handed to SQLite as it is: it is cut into words and quoted
phrases, each quoted anew, so that no character has a meaning of its own there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from likewise.filters import Among
from likewise.store.catalogue import AMONG, Catalogue, id_list
from likewise.types import Hits, IdArray, check_k

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


# Plurals that no rule makes; the others are made by the last letters.
_PLURALS = {
    "man": "men", "woman": "women", "child": "children", "person": "people", "foot": "feet",
    "mouse": "mice", "goose": "geese", "leaf": "leaves", "wolf": "wolves", "knife": "knives",
}  # fmt: skip
_SINGULARS = {many: one for one, many in _PLURALS.items()}
_OWN = "{name folder tags captions metadata} : "
"""Columns that people and cameras wrote, not the network."""


def forms(word: str) -> list[str]:
    """A word with its plural, or its singular: what a person means by it."""
    low = word.lower()
    out = [low, _PLURALS.get(low, ""), _SINGULARS.get(low, "")]
    if low.isascii() and low.isalpha() and len(low) > 2 and not any(out[1:]):
        if low.endswith("ies"):
            out.append(low[:-3] + "y")
        elif low.endswith("y") and low[-2] not in "aeiou":
            out.append(low[:-1] + "ies")
        elif low.endswith(("s", "x", "z", "ch", "sh")):
            out.append(low + "es")
        else:
            out.append(low + "s")
        if low.endswith("s") and not low.endswith("ss") and len(low) > 3:
            out.append(low[:-1])
        if low.endswith(("ses", "xes", "zes", "ches", "shes")):
            out.append(low[:-2])
    return [form for form in dict.fromkeys(out) if form]


@lru_cache(maxsize=256)
def build_query(text: str, *, any_word: bool = False, prefix: bool = False) -> str:
    """An FTS5 query from what a person typed; empty where nothing is left to search for.

    Words match whole, in the singular and the plural (as beginnings with ``prefix``), ``"quoted
    words"`` as a phrase, ``-word`` leaves out.

    Examples
    --------
    >>> build_query('red "old car" -boat')
    '(("red" OR "reds") AND "old car") NOT (("boat" OR "boats"))'
    """
    wanted: list[str] = []
    unwanted: list[str] = []
    for minus, phrase, word in _PART.findall(text.replace("\0", " ")):
        tokens = _WORD.findall(phrase or word)
        if not tokens:
            continue
        quoted = '"' + " ".join(tokens) + '"'
        if not phrase and prefix and not minus:
            quoted += "*"
        elif not phrase and len(tokens) == 1:
            quoted = "(" + " OR ".join(f'"{form}"' for form in forms(tokens[0])) + ")"
        (unwanted if minus else wanted).append(quoted)
    if not wanted:
        return ""
    query = (" OR " if any_word else " AND ").join(wanted)
    return f"({query}) NOT ({' OR '.join(unwanted)})" if unwanted else query


_SUREST = """-(SELECT MAX(score) FROM texts AS t JOIN items AS i ON i.content = t.content
    WHERE i.id = words.rowid AND t.source = 'auto')"""


class Words:
    """Full-text search; its rows are kept in step by those who write items and texts."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def search(
        self, text: str, k: int, *, among: Among | None = None, any_word: bool = False,
        automatic: bool = True
    ) -> Hits:  # fmt: skip
        """The ``k`` best present items for words.

        First come items that people or cameras described by the whole words, in the order of
        BM25; then those that carry them as automatic tags, the surest first.  Where there are
        none: words that only begin so; and where one word is enough, items that have one of them.
        ``any_word``: one of the words is enough.  ``automatic``: tags of the network count too.
        """
        k = check_k(k)
        whole, begun = build_query(text), build_query(text, prefix=True)
        steps = [(_OWN, whole), ("{auto} : ", whole), (_OWN, begun)]
        if any_word and " AND " in begun:
            one = build_query(text, any_word=True)
            steps += [(_OWN, one), ("{auto} : ", one)]
        found: dict[int, float] = {}
        least = np.inf
        allowed = None if among is None else set(np.asarray(among).tolist())
        with self._catalogue.reading() as db:
            for at, (columns, query) in enumerate(steps):
                if not query or (columns.startswith("{auto") and not automatic) or len(found) >= k:
                    continue
                if at > 1 and found:
                    break
                order = _SUREST if columns.startswith("{auto") else "rank"
                cursor = db.execute(
                    f"SELECT rowid, {order} AS place FROM words WHERE words MATCH ? "
                    "ORDER BY place, rowid LIMIT ?",
                    (f"{columns}({query})", k + len(found) if among is None else -1),
                )
                for item, place in cursor:
                    if item not in found and (allowed is None or item in allowed):
                        # BM25 as it is; what comes after that stays below its last one.
                        sure = -(place or 0.0)
                        found[item] = sure if np.isinf(least) else least * sure / (1 + sure)
                        if len(found) >= k:
                            break
                least = min(found.values(), default=np.inf)
        return Hits(np.array([*found], dtype=np.int64), np.array([*found.values()], np.float64))

    def has(self, text: str) -> bool:
        """Whether people or cameras wrote one of these words, or one that begins so, anywhere."""
        text = text.replace('"', " ").replace("-", " ")
        both = [build_query(text, any_word=True, prefix=prefix) for prefix in (False, True)]
        if not both[0]:
            return False
        asked = f"{_OWN}(({both[0]}) OR ({both[1]}))"
        with self._catalogue.reading() as db:
            found = db.execute("SELECT 1 FROM words WHERE words MATCH ? LIMIT 1", (asked,))
            return found.fetchone() is not None

    def named(self, word: str, most: int = 200) -> IdArray:
        """Some items that people named by a word: in captions, tags, names of files and folders.

        None where more than half of all items are called so.
        """
        query = build_query(word.replace('"', " ").replace("-", " "))
        if not query:
            return np.zeros(0, np.int64)
        with self._catalogue.reading() as db:
            rows = db.execute(
                "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?",
                (asked := f"{{name folder tags captions}} : ({query})", most),
            ).fetchall()
            if len(rows) == most:
                count = "SELECT count(*) FROM words WHERE words MATCH ?"
                ((called,), (every,)) = (
                    db.execute(count, (asked,)).fetchone(),
                    db.execute("SELECT count(*) FROM items WHERE removed IS NULL").fetchone(),
                )
                rows = rows if 2 * called <= every else []
        return np.array([row[0] for row in rows], dtype=np.int64)

    def refresh(self, ids: Iterable[int]) -> None:
        """Write the rows of these items anew, inside the caller's transaction."""
        listed = id_list(ids)
        with self._catalogue.transaction() as db:
            db.execute(f"DELETE FROM words WHERE rowid {AMONG}", (listed,))
            db.execute(_ROWS, (listed,))
