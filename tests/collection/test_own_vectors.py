"""A collection described by numbers that were made elsewhere."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from PIL import Image

import likewise
from likewise.types import BadInput, DataProblem


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for shade in range(12):
        Image.new("RGB", (20, 20), (20 * shade, 90, 40)).save(folder / f"{shade:02d}.png")
    return folder


VECTORS = np.random.default_rng(0).normal(size=(12, 6)).astype(np.float32)


def nearest(row: int) -> list[int]:
    centred = VECTORS - VECTORS.mean(axis=0)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    order = np.argsort(-(unit @ unit[row]))
    return [int(i) + 1 for i in order if i != row]


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_own_vectors_rank(pictures, tmp_path, kind):
    file = tmp_path / f"own.{kind}"
    if kind == "npy":
        np.save(file, VECTORS)
    else:
        names = [f"{i:02d}.png" for i in range(12)]
        parquet.write_table(pa.table({"file": names, "vector": list(VECTORS)}), file)
    with likewise.open(pictures, create=True) as collection:
        collection.index(vectors=file, processes=1)
        assert len(collection) == 12
        assert collection.search(1, k=11).ids.tolist() == nearest(0)
        with pytest.raises(BadInput, match="own vectors"):
            collection.search(1, crop=(0, 0, 0.5, 0.5))
    with likewise.open(pictures, write=True) as collection:
        assert collection.index(processes=1).embedded == 0
        assert collection.search(5, k=11).ids.tolist() == nearest(4)


def test_a_parquet_names_items_where_there_are_no_pictures(tmp_path):
    """No file is read, a later scan misses none of them, and more can be added."""
    (tmp_path / "empty").mkdir()
    names = [f"shop/{i:02d}" for i in range(12)]
    for count in (9, 12):
        table = pa.table({"file": names[:count], "vector": list(VECTORS[:count])})
        parquet.write_table(table, tmp_path / f"{count}.parquet")
    with likewise.open(tmp_path / "empty", create=True) as collection:
        collection.index(vectors=tmp_path / "9.parquet", processes=1)
        assert len(collection) == 9
        collection.index(vectors=tmp_path / "12.parquet", processes=1)
        assert len(collection) == 12
        assert collection.item("shop/03").id == 4
        assert collection.search(1, k=11).paths[0] in names
        collection.index(processes=1)
        assert collection.items.counts()["indexed"] == 12
        found = set(collection.search("shop/03", k=11).ids.tolist())
        assert found == set(range(1, 13)) - {4}


def test_files_that_do_not_fit_say_why(pictures, tmp_path):
    np.save(tmp_path / "few.npy", VECTORS[:3])
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 nothing")
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY")
    table = pa.table({"file": ["nowhere.png"], "vector": [[1.0, 2.0]]})
    parquet.write_table(table, tmp_path / "foreign.parquet")
    with likewise.open(pictures, create=True) as collection:
        for name, error, words in (
            ("few.npy", BadInput, "3 rows for 12"),
            ("cut.parquet", DataProblem, "cut.parquet"),
            ("cut.npy", DataProblem, "cut.npy"),
            ("foreign.parquet", BadInput, "no item here"),
            ("own.csv", LookupError, "no file"),
        ):
            with pytest.raises(error, match=words):
                collection.index(vectors=tmp_path / name, processes=1)
