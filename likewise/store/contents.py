"""What ingest hands in: pending contents out, results of decoding and embedding in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from likewise.store.catalogue import AMONG, Catalogue, id_list
from likewise.store.fulltext import Words
from likewise.store.segments import Segments
from likewise.store.texts import Kind, Text, Texts, as_json
from likewise.store.thumbnails import Thumbnails
from likewise.types import BadInput


class Pending(NamedTuple):
    """A content that waits for its vectors, and a present item to read it from."""

    content: int
    sha256: str
    size: int
    item: int
    path: bytes
    mtime_ns: int


@dataclass(frozen=True)
class Result:
    """What became of one content: a problem (one sentence), or the facts of a picture.

    ``taken`` is an ISO date and time as far as known; thumbnails are by the name of their size.
    """

    content: int
    problem: str = ""
    width: int | None = None
    height: int | None = None
    format: str | None = None
    taken: str | None = None
    camera: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: Sequence[Text] = ()
    captions: Sequence[Text] = ()
    thumbnails: Mapping[str, bytes] = field(default_factory=dict)


_WAITING = """FROM contents AS c WHERE segment IS NULL AND problem = '' AND EXISTS
    (SELECT 1 FROM items WHERE content = c.id AND removed IS NULL AND problem = '')"""


class Contents:
    """Contents by id: what waits, what was found, what failed."""

    def __init__(
        self, catalogue: Catalogue, words: Words, texts: Texts, segments: Segments,
        thumbnails: Thumbnails
    ) -> None:  # fmt: skip
        self._catalogue, self._words, self._texts = catalogue, words, texts
        self._segments, self._thumbnails = segments, thumbnails

    def pending(self, limit: int = 256, after: int = 0) -> list[Pending]:
        """Contents without vectors or a problem that a present item holds, by id.

        ``after`` leaves out contents up to an id that are being worked on already.
        """
        rows = self._catalogue.rows(
            """SELECT c.id, lower(hex(c.sha256)), c.size, i.id, i.path, i.mtime_ns
            FROM contents AS c
            JOIN items AS i ON i.id = (SELECT MIN(id) FROM items WHERE content = c.id
                                       AND removed IS NULL AND problem = '')
            WHERE c.segment IS NULL AND c.problem = '' AND c.id > ? ORDER BY c.id LIMIT ?""",
            (after, limit),
        )
        return [Pending(*row) for row in rows]

    def waiting(self) -> int:
        """How many contents :meth:`pending` would give without a limit."""
        return self._catalogue.number(f"SELECT COUNT(*) {_WAITING}")

    def described(self, sizes: Iterable[int]) -> list[tuple[int, bytes]]:
        """Size and SHA-256 of the contents of these sizes that need not be read again."""
        return self._catalogue.rows(
            "SELECT size, sha256 FROM contents "
            f"WHERE (segment IS NOT NULL OR problem <> '') AND size {AMONG}",
            (id_list(sizes),),
        )

    def undescribed(self, sha256: Sequence[bytes]) -> dict[bytes, int]:
        """Those of these contents that wait for their vectors, by SHA-256."""
        sql = "SELECT sha256, id FROM contents WHERE segment IS NULL AND problem = '' AND sha256 IN"
        return dict(self._catalogue.by_key(sql, sha256))

    def waiting_bytes(self) -> int:
        """Bytes of the files that wait."""
        return self._catalogue.number(f"SELECT COALESCE(SUM(size), 0) {_WAITING}")

    def record(
        self, results: Sequence[Result], blocks: Mapping[str, Any] | None = None, *,
        dtype: str | Mapping[str, str] = "float32"
    ) -> int | None:  # fmt: skip
        """Record a batch in one transaction; gives the id of its segment, if there were vectors.

        ``blocks`` have one row for each result *without a problem*, in order; without them the
        contents are decoded but wait for vectors.  What was forgotten meanwhile is left out.
        """
        every = [result.content for result in results]
        if len(set(every)) != len(every):
            raise BadInput("Each content may stand once in a batch of results.")
        segment = None
        with self._catalogue.transaction() as db:
            keys = self.sha256(every)
            results, blocks = _still_known(results, blocks or {}, keys)
            good = [result for result in results if not result.problem]
            for result in results:
                for size, data in result.thumbnails.items():
                    self._thumbnails.put(keys[result.content], size, data)
            if blocks and good:
                segment = self._segments.append([r.content for r in good], blocks, dtype=dtype)
            db.executemany(
                """UPDATE contents SET decoded = ?, problem = ?, width = ?, height = ?,
                format = ?, taken = ?, camera = ?, metadata = ? WHERE id = ?""",
                (_row(result) for result in results),
            )
            self._texts.of_contents((row for result in results for row in _texts(result)), every)
            holders = f"SELECT id FROM items WHERE content {AMONG}"
            self._words.refresh(self._catalogue.column(holders, (id_list(every),)))
        return segment

    def retry(self) -> int:
        """Let contents with a problem be tried again; gives how many."""
        return self._catalogue.write("UPDATE contents SET problem = '' WHERE problem <> ''")

    def sha256(self, contents: Iterable[int]) -> dict[int, str]:
        """SHA-256 in hex by content id."""
        sql = f"SELECT id, lower(hex(sha256)) FROM contents WHERE id {AMONG}"
        return dict(self._catalogue.rows(sql, (id_list(contents),)))


def _still_known(
    results: Sequence[Result], blocks: Mapping[str, Any], keys: Mapping[int, str]
) -> tuple[list[Result], dict[str, Any]]:
    """Leave out contents that were forgotten while somebody worked on them."""
    kept = [r.content in keys for r in results]
    if all(kept):
        return list(results), dict(blocks)
    rows = [keep for keep, r in zip(kept, results) if not r.problem]
    return (
        [r for keep, r in zip(kept, results) if keep],
        {name: np.asarray(x)[rows] for name, x in blocks.items()},
    )


def _row(r: Result) -> tuple[Any, ...]:
    return (
        int(not r.problem), r.problem, r.width, r.height, r.format, r.taken, r.camera,
        as_json(r.metadata), r.content,
    )  # fmt: skip


def _texts(result: Result) -> Iterator[tuple[int, Kind, Text]]:
    for tag in result.tags:
        yield result.content, "tag", tag
    for caption in result.captions:
        yield result.content, "caption", caption
