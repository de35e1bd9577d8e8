"""What a collection gives out: explanations, neighbours, representatives, thumbnails."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.collection.decoding import Unreadable, decode
from likewise.collection.queries import Query
from likewise.collection.searching import picture_surrogate
from likewise.collection.snapshot import Snapshot
from likewise.collection.wording import joined
from likewise.collection.workers import read_file
from likewise.types import DataProblem, NotFound, check_k

if TYPE_CHECKING:
    from likewise.collection.collection import Collection

_BLOCK = 256


def explain(
    collection: Collection, query: Query, item: int, model: int | str | None
) -> dict[str, Any]:
    """Share of each block in an item's score, words of the query that it carries, and marks."""
    snapshot = collection.snapshot()
    similarity, name = collection.models.serving(model, snapshot)
    words = collection.models.words(model, snapshot) if query.text else None
    read = None if words is None else words.read(query.text)
    out: dict[str, Any] = {
        "item": item, "model": name, "blocks": {}, "words": [], "marks": 0,
        "words_model": "" if read is None else read.title,
        "learned_words": [] if read is None else list(read.known),
        "clicks": collection.teaching.clicks(query, item),
    }  # fmt: skip
    found = collection.store.items.get(item)
    if similarity is not None and snapshot.holds(item):
        surrogate = picture_surrogate(query, snapshot, collection.pictures, similarity)
        taught = collection.teaching.refit(query, surrogate, snapshot, similarity)
        if taught is not None:
            surrogate, out["marks"] = taught
        if read is not None and read.surrogate is not None:
            if surrogate is not None:
                surrogate = joined(surrogate, read.surrogate, snapshot)
            else:
                surrogate = read.surrogate
        if surrogate is not None:
            assert snapshot.plain is not None
            code = snapshot.codes([item])[0]
            out["blocks"] = snapshot.plain.space.contributions(surrogate, code)
            out["score"] = float(code @ surrogate.vector) + surrogate.offset
    carried = [found.file, *(t.text for t in collection.store.texts.tags(item))]
    carried += [t.text for t in collection.store.texts.captions(item)]
    text = " ".join(carried).lower()
    out["words"] = [w for w in query.text.lower().split() if w in text]
    return out


def write_neighbours(collection: Collection, path: Path, k: int) -> int:
    """The ``k`` nearest of every item, as Parquet with item, neighbour, rank and score."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    check_k(k)
    snapshot = collection.snapshot()
    similarity, _ = collection.models.serving(None, snapshot)
    if similarity is None:
        raise NotFound("No pictures are indexed yet; run: likewise index FOLDER")
    ids, codes = snapshot.all_codes()
    paths = {i: os.fsdecode(p) for i, p in collection.store.items.paths(ids.tolist()).items()}
    schema = pa.schema(
        [("item", pa.string()), ("neighbour", pa.string()), ("rank", pa.int32()),
         ("score", pa.float32())]
    )  # fmt: skip
    partial = path.with_name(path.name + ".part")
    rows = 0
    with parquet.ParquetWriter(partial, schema) as writer:
        for start in range(0, len(ids), _BLOCK):
            columns: dict[str, list[Any]] = {name: [] for name in schema.names}
            for at in range(start, min(start + _BLOCK, len(ids))):
                item = int(ids[at])
                hits = snapshot.search(similarity.surrogate(codes[at]), k + 1)
                others = [(i, s) for i, s in zip(hits.ids.tolist(), hits.scores) if i != item][:k]
                for rank, (other, score) in enumerate(others, start=1):
                    for name, value in zip(schema.names, (paths[item], paths[other], rank, score)):
                        columns[name].append(value)
            rows += len(columns["item"])
            writer.write_table(pa.table(columns, schema=schema))
    os.replace(partial, path)
    return rows


def thumbnail(collection: Collection, item: int) -> bytes:
    """A small JPEG from the cache, or made anew."""
    found = collection.store.items.get(item)
    data = collection.store.thumbnails.get(found.sha256, "small") if found.sha256 else None
    if data is not None:
        return data
    try:
        path = os.path.join(os.fsencode(collection.folder), found.path)
        return decode(read_file(path)).thumbnail
    except Unreadable as error:
        raise DataProblem(f"{found.name}: {error}") from None


def representatives(snapshot: Snapshot, count: int) -> list[int]:
    """Medoids of as many clusters, the largest cluster's first."""
    ids, codes = snapshot.all_codes()
    if snapshot.plain is None or not len(ids):
        return []
    if len(ids) <= count:
        return [int(i) for i in ids]
    from likewise.solvers.kmeans import kmeans, medoids

    scaled = codes * np.sqrt(snapshot.plain.w0).astype(np.float32)
    rows = np.arange(len(ids))
    if len(ids) > 20_000:
        rows = np.random.default_rng(0).choice(len(ids), 20_000, replace=False)
    found = kmeans(scaled[rows], count, seed=0)
    sizes = np.bincount(found.assignment, minlength=len(found.centres))
    chosen = medoids(scaled[rows], found.centres)
    return [int(ids[rows[m]]) for m in np.asarray(chosen)[np.argsort(-sizes, kind="stable")]]
