"""What is asked of all items at once: near-duplicates and neighbours, through any index."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as parquet
import pytest

from likewise.collection import Collection
from likewise.collection.whole.duplicates import THRESHOLD, alike_vectors
from likewise.store import Result
from tests.collection.plain_store import DIM, make, seen

COUNT = 240


@pytest.fixture(params=["flat", "faiss", "tree"])
def drifting(request, tmp_path):
    """A chain of pictures, each a near-duplicate of the next; copies; and others; some fresh."""
    with make(tmp_path / "pictures", 0) as collection:
        store = collection.store
        store.settings.set("engine", request.param)
        store.settings.set("smoothing", "off")
        angles = np.linspace(0, np.pi, 40)
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((COUNT, DIM))
        rows[:40] = np.cos(angles)[:, None] * rows[0] + np.sin(angles)[:, None] * rows[1]
        files = [seen(f"{i:03d}.png", f"content {i}") for i in range(COUNT)]
        for at, part in enumerate((slice(0, 220), slice(220, COUNT))):
            store.items.see(files[part])
            waiting = store.contents.pending(1_000)
            facts = [Result(p.content, width=8, height=8, format="PNG") for p in waiting]
            words = np.zeros((len(waiting), 8), np.float32)
            own = rows[part].astype(np.float32)
            store.contents.record(facts, {"own": own, "words": words})
            if not at:
                collection.build()
        store.items.see([seen("copy.png", "content 100")])
        yield collection


def alike(collection: Collection) -> tuple[np.ndarray, np.ndarray]:
    view = collection.look.view().bare
    ids, codes = view.all_rows()
    scaled = alike_vectors(view, np.asarray(codes))
    return ids, scaled @ scaled.T


def test_every_member_is_alike_to_one_of_its_group(drifting):
    ids, score = alike(drifting)
    place = {item: at for at, item in enumerate(ids.tolist())}
    groups = drifting.duplicates()
    held = [item for group in groups for item in group]
    assert len(held) == len(set(held))
    assert [len(g) for g in groups] == sorted((len(g) for g in groups), reverse=True)
    for group in groups:
        rows = [place[item] for item in group]
        assert (score[np.ix_(rows, rows)] >= THRESHOLD - 1e-5).all(axis=1).any(), group
    assert any({101, COUNT + 1} <= set(group) for group in groups)  # one content, two files
    chain = [g for g in groups if set(g) & set(range(1, 41))]
    assert len(chain) > 1  # its ends are not alike
    assert drifting.duplicates(1.1) == [[101, COUNT + 1]]


def test_a_pair_of_near_duplicates_is_never_left_alone(drifting):
    ids, score = alike(drifting)
    held = {item for group in drifting.duplicates() for item in group}
    first, second = np.nonzero(np.triu(score >= THRESHOLD + 1e-5, 1))
    both = [(ids[a] in held) or (ids[b] in held) for a, b in zip(first, second)]
    assert all(both)
    assert len(both) > 40


def test_neighbours_are_those_of_a_search(drifting, tmp_path):
    file = tmp_path / "near.parquet"
    assert drifting.neighbours(file, 5) == 5 * (COUNT + 1)
    rows = parquet.read_table(file).to_pydict()
    for item in (3, 101, COUNT):
        path = drifting.items.get(item).file
        at = [n for n, name in enumerate(rows["item"]) if name == path]
        answer = drifting.search(item, k=5)
        assert [rows["neighbour"][n] for n in at] == answer.paths
        assert [rows["rank"][n] for n in at] == [1, 2, 3, 4, 5]
        assert np.allclose([rows["score"][n] for n in at], answer.scores, atol=1e-5)
