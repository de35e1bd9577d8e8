"""What a collection gives out: neighbours of every item, thumbnails, representatives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from likewise.collection.lines.line import View
from likewise.types import DataProblem, check_k

if TYPE_CHECKING:
    from likewise.collection.collection import Collection

_BLOCK = 1_024


def write_neighbours(collection: Collection, path: Path, k: int) -> int:
    """The ``k`` nearest of every item, as Parquet with item, neighbour, rank and score."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    check_k(k)
    view = collection.look.view().bare
    similarity, _ = collection.models.serving(None, view)
    ids, codes = view.all_rows()
    paths = collection.store.items.paths(ids.tolist())
    names = pa.array([os.fsdecode(paths[item]) for item in ids.tolist()])
    schema = pa.schema(
        [("item", pa.string()), ("neighbour", pa.string()), ("rank", pa.int32()),
         ("score", pa.float32())]
    )  # fmt: skip
    partial = path.with_name(path.name + ".part")
    rows = 0
    with parquet.ParquetWriter(partial, schema) as writer:
        for start in range(0, len(ids), _BLOCK):
            some = ids[start : start + _BLOCK].tolist()
            surrogates = [similarity.surrogate(x) for x in codes[start : start + _BLOCK]]
            lists = view.search_many(surrogates, k + 1, similarity)
            kept = [np.flatnonzero(hits.ids != item)[:k] for item, hits in zip(some, lists)]
            counts = [len(at) for at in kept]
            scores = np.concatenate([hits.scores[at] for hits, at in zip(lists, kept)])
            others = np.concatenate([hits.ids[at] for hits, at in zip(lists, kept)])
            columns = [
                names.take(pa.array(np.repeat(np.arange(start, start + len(some)), counts))),
                names.take(pa.array(np.searchsorted(ids, others))),
                pa.array(np.concatenate([np.arange(1, n + 1, dtype=np.int32) for n in counts])),
                pa.array(scores, pa.float32()),
            ]
            rows += len(others)
            writer.write_table(pa.table(columns, schema=schema))
    os.replace(partial, path)
    return rows


def thumbnail(collection: Collection, item: int) -> bytes:
    """A small JPEG from the cache, or made anew."""
    found = collection.store.items.get(item)
    data = collection.store.thumbnails.get(found.sha256, "small") if found.sha256 else None
    if data is not None:
        return data
    from likewise.intake.reading.decoding import Unreadable, decode
    from likewise.intake.workers import read_file

    try:
        path = os.path.join(os.fsencode(collection.folder), found.path)
        return decode(read_file(path)).thumbnail
    except Unreadable as error:
        raise DataProblem(f"{found.name}: {error}") from None


def representatives(view: View, count: int) -> list[int]:
    """Medoids of as many clusters, the largest cluster's first."""
    if not len(view):
        return []
    ids, codes = view.all_rows()
    if len(ids) <= count:
        return [int(i) for i in ids]
    from likewise.solvers.kmeans import kmeans, medoids

    rows = np.arange(len(ids))
    if len(ids) > 20_000:
        rows = np.random.default_rng(0).choice(len(ids), 20_000, replace=False)
    scaled = codes[rows] * np.sqrt(view.plain.w0).astype(np.float32)
    found = kmeans(scaled, count, seed=0)
    sizes = np.bincount(found.assignment, minlength=len(found.centres))
    chosen = medoids(scaled, found.centres)
    return [int(ids[rows[m]]) for m in np.asarray(chosen)[np.argsort(-sizes, kind="stable")]]
