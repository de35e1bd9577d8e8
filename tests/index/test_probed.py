"""Indexes of cells: the recall they state is the recall they have, also for learned queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.index import REGISTRY, load
from likewise.index import faiss as faiss_module
from likewise.index._probed import learned_like, probes_for, recall_of
from likewise.index.faiss import FaissIndex
from likewise.index.flat import FlatIndex
from likewise.index.tree import TreeIndex
from likewise.types import BadInput, DataProblem, Surrogate

KINDS: list[tuple[str, dict[str, Any]]] = [
    ("faiss", {"kind": "ivf"}),
    ("faiss", {"kind": "ivf-half"}),
    ("faiss", {"kind": "ivf-sq8"}),
    ("tree", {"clusters": 120}),
]
every = pytest.mark.parametrize(("kind", "how"), KINDS, ids=["ivf", "ivf-half", "ivf-sq8", "tree"])
N, DIM = 8000, 24


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, list[Surrogate], list[Surrogate], FlatIndex]:
    """Clustered codes of uneven length; fresh plain and learned queries; the truth."""
    rng = np.random.default_rng(5)
    centres = rng.standard_normal((150, DIM))
    x = centres[rng.integers(0, 150, N + 100)] + 0.35 * rng.standard_normal((N + 100, DIM))
    x = (x * np.exp(0.3 * rng.standard_normal((N + 100, 1)))).astype(np.float32)
    fresh = x[N:]
    return (
        x[:N],
        [Surrogate(v) for v in fresh],
        [Surrogate(v) for v in learned_like(fresh, DIM, rng)],
        FlatIndex.build(x[:N]),
    )


def recall(index: Any, truth: FlatIndex, queries: list[Surrogate], k: int = 50) -> float:
    found, true = index.search_many(queries, k), truth.search_many(queries, k)
    return float(np.mean([np.isin(f.ids, t.ids).mean() for f, t in zip(found, true)]))


@every
@pytest.mark.parametrize("goal", [0.9, 0.99])
def test_stated_recall_is_reached(kind: str, how: dict[str, Any], goal: float, data: Any) -> None:
    x, plain, learned, truth = data
    index: Any = REGISTRY[kind].build(x, recall=goal, **how)
    assert index.recall >= goal - 0.003
    for queries in (plain, learned):
        assert recall(index, truth, queries) >= goal - 0.01
    assert index.probes < index._most_probes / 2


@every
def test_more_recall_takes_more_probes_and_is_kept(
    kind: str, how: dict[str, Any], data: Any, tmp_path: Any
) -> None:
    x, plain, learned, _ = data
    index: Any = REGISTRY[kind].build(x, recall=0.8, **how)
    few = index.probes
    for sample in (None, plain, learned):
        index.save(tmp_path / "index")
        again: Any = load(tmp_path / "index")
        assert again.calibrate(sample, recall=0.999) >= 0.99
        assert again.probes > few
    with pytest.raises(BadInput, match="sample"):
        index.calibrate([])
    for wrong in ({"recall": 0.0}, {"recall": 1.5}, {"at": 0}):
        with pytest.raises(BadInput, match="recall"):
            index.calibrate(**wrong)


@every
@pytest.mark.parametrize("goal", [0.9, 0.99])
def test_plain_queries_look_into_fewer_cells(
    kind: str, how: dict[str, Any], goal: float, data: Any, tmp_path: Any
) -> None:
    x, queries, learned, truth = data
    weights = np.linspace(0.5, 2, DIM)
    index = REGISTRY[kind].build(x, recall=goal, weights=weights, **how)
    assert 0 < index.plain_probes < index.probes
    plain = [Surrogate(s.vector * weights, plain=True) for s in queries]
    assert recall(index, truth, plain) >= goal - 0.01
    assert recall(index, truth, learned) >= goal - 0.01
    assert recall(index, truth, [p * 2.0 for p in plain]) == recall(index, truth, plain)
    assert not (plain[0] + plain[1]).plain
    assert not (-plain[0]).plain
    index.save(tmp_path / "index")
    again = load(tmp_path / "index")
    assert (again.plain_probes, again.probes) == (index.plain_probes, index.probes)
    assert recall(again, truth, plain) == recall(index, truth, plain)
    same = index.with_probes(index.probes)
    assert same.plain_probes == index.probes


@every
def test_probes_grow_towards_the_truth(kind: str, how: dict[str, Any], data: Any) -> None:
    x, _, learned, truth = data
    index: Any = REGISTRY[kind].build(x, probes=3, **how)
    assert index.probes == 3
    curve = [recall(index.with_probes(p), truth, learned, 5) for p in (1, 4, 16, 1 << 20)]
    assert curve == sorted(curve)
    assert curve[0] < curve[-1]
    assert curve[-1] >= 0.999
    assert index.probes == 3
    with pytest.raises(BadInput, match="at least one cell"):
        index.with_probes(0)


@every
@pytest.mark.parametrize("share", [0.002, 0.05, 0.6])
def test_recall_holds_among_a_few(kind: str, how: dict[str, Any], share: float, data: Any) -> None:
    x, plain, _, truth = data
    index: Any = REGISTRY[kind].build(x, **how)
    among = np.random.default_rng(0).choice(N, int(share * N), replace=False)
    found = index.search_many(plain, 50, among=among)
    true = truth.search_many(plain, 50, among=among)
    assert np.mean([np.isin(f.ids, t.ids).mean() for f, t in zip(found, true)]) >= 0.98
    for f, t in zip(found, true):
        assert len(f.ids) == len(t.ids)
        assert np.isin(f.ids, among).all()


@every
def test_side_columns_do_not_rule_the_cells(kind: str, how: dict[str, Any], data: Any) -> None:
    """A column of another size and far from zero costs no recall, with or without it."""
    x, plain, _, _ = data
    age = 1e4 + 1e3 * np.random.default_rng(0).standard_normal(N)
    index: Any = REGISTRY[kind].build(x, side={"age": age}, **how)
    truth = FlatIndex.build(x, side={"age": age})
    for coefficient in (0.0, 1e-3, -1e-3):
        queries = [Surrogate(q.vector, 1.0, {"age": coefficient}) for q in plain]
        assert recall(index, truth, queries) >= 0.97
        found, true = index.search(queries[0], 5), truth.search(queries[0], 5)
        np.testing.assert_allclose(found.scores, true.scores, rtol=1e-5, atol=1e-4)


@every
def test_same_seed_same_index(kind: str, how: dict[str, Any], data: Any) -> None:
    x, plain, _, _ = data
    one, other = (REGISTRY[kind].build(x, seed=3, **how) for _ in range(2))
    assert one.probes == other.probes  # type: ignore[attr-defined]
    for a, b in zip(one.search_many(plain, 20), other.search_many(plain, 20)):
        np.testing.assert_array_equal(a.ids, b.ids)


def test_size_decides_what_faiss_builds(monkeypatch: pytest.MonkeyPatch, data: Any) -> None:
    x = data[0][:1000]
    assert FaissIndex.build(x).structure == "flat"
    monkeypatch.setattr(faiss_module, "SMALL", 500)
    assert FaissIndex.build(x).structure == "ivf"
    monkeypatch.setattr(faiss_module, "LARGE_BYTES", 1000)
    assert FaissIndex.build(x).structure == "ivf-sq8"
    with pytest.raises(BadInput, match="'pq'"):
        FaissIndex.build(x, kind="pq")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="at least one cell"):
        FaissIndex.build(x, kind="ivf", cells=0)
    with pytest.raises(BadInput, match="single precision"):
        FaissIndex.build(x.astype(float) * 1e30)


def test_codes_that_lie_beside_an_index_are_not_written_again(
    monkeypatch: pytest.MonkeyPatch, data: Any, tmp_path: Path
) -> None:
    x, plain, _, truth = data
    monkeypatch.setattr(faiss_module, "SMALL", 500)
    np.save(tmp_path / "codes.npy", x)
    index = FaissIndex.build(np.load(tmp_path / "codes.npy", mmap_mode="r"), beside="codes.npy")
    assert index.structure == "ivf-half"
    index.save(tmp_path / "faiss")
    files = sum(f.stat().st_size for f in (tmp_path / "faiss").iterdir())
    assert files < 0.75 * x.nbytes + 200_000
    again = load(tmp_path / "faiss")
    for one in plain[:20]:
        found, expected = again.search(one, 20), truth.search(one, 20)
        np.testing.assert_array_equal(found.ids, index.search(one, 20).ids)
        there = np.isin(found.ids, expected.ids)
        true = dict(zip(expected.ids.tolist(), expected.scores.tolist()))
        np.testing.assert_allclose(
            found.scores[there], [true[i] for i in found.ids[there].tolist()], rtol=1e-5
        )
    assert recall(again, truth, plain) >= 0.98
    scores = again.search(plain[0], 5).scores
    again.keep(2 * x)  # it reads what the caller has mapped
    np.testing.assert_allclose(again.search(plain[0], 5).scores, 2 * scores, rtol=1e-5)
    for factor in (1e-4, 1e6):  # half precision does not hold these
        assert FaissIndex.build(x * np.float32(factor), beside="codes.npy").structure == "ivf"
    np.save(tmp_path / "codes.npy", x[:-1])
    with pytest.raises(DataProblem, match="does not hold the codes"):
        load(tmp_path / "faiss")


def test_graph_on_request(data: Any) -> None:
    x, plain, _, _ = data
    index = FaissIndex.build(x[:2000], kind="hnsw", recall=0.9)
    assert index.recall >= 0.9
    small = FlatIndex.build(x[:2000])
    assert recall(index, small, plain) >= 0.88
    assert index.calibrate(plain, recall=0.95) >= 0.9
    assert index.calibrate(recall=0.9) >= 0.9


def test_every_tree_adds_recall(data: Any) -> None:
    x, _, learned, truth = data
    curve = [
        recall(TreeIndex.build(x, trees=t, clusters=120, probes=4), truth, learned) for t in (1, 3)
    ]
    assert curve[0] < curve[1]
    for wrong in ({"trees": 0}, {"clusters": 0}):
        with pytest.raises(BadInput, match="at least one"):
            TreeIndex.build(x, **wrong)


def test_buckets_are_partitions_with_their_means(data: Any) -> None:
    x = data[0]
    index = TreeIndex.build(x, clusters=50, probes=1)
    centres, starts, members, homes = index._trees
    assert (index.trees, index.clusters) == (3, 50)
    for t in range(3):
        np.testing.assert_array_equal(np.sort(members[t]), np.arange(N))
        for cell in range(50):
            bucket = members[t, starts[t, cell] : starts[t, cell + 1]]
            assert (homes[t, bucket] == cell).all()
            if len(bucket):
                mean = index._codes[bucket].mean(axis=0, dtype=float)
                np.testing.assert_allclose(centres[t, cell], mean, atol=1e-5)
    assert (homes[0] != homes[1]).any()


def test_folders_that_are_no_index_are_left_alone(data: Any, tmp_path: Any) -> None:
    index = FlatIndex.build(data[0][:10])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(BadInput, match="not an index"):
        index.save(tmp_path / "mine")
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["letter.txt"]
    with pytest.raises(DataProblem, match="no index"):
        load(tmp_path / "mine")
    index.save(tmp_path / "new" / "one")
    FlatIndex.build(data[0][:20]).save(tmp_path / "new" / "one")
    assert len(load(tmp_path / "new" / "one")) == 20
    with pytest.raises(DataProblem, match="'flat'"):
        TreeIndex.load(tmp_path / "new" / "one")


def test_a_failed_save_leaves_the_old_index(
    data: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    FlatIndex.build(data[0][:10]).save(tmp_path / "index")

    def fail(path: Any) -> None:
        path.write_bytes(b"half")
        raise OSError("disk full")

    larger = FlatIndex.build(data[0][:20])
    monkeypatch.setattr(larger, "_contents", lambda: ({}, {"codes.npy": fail}))
    with pytest.raises(OSError, match="disk full"):
        larger.save(tmp_path / "index")
    assert len(load(tmp_path / "index")) == 10
    assert [p.name for p in tmp_path.iterdir()] == ["index"]


def test_fewest_probes_for_a_share() -> None:
    ranks = np.tile(np.arange(10), (40, 1))
    assert [probes_for(ranks, share) for share in (0.05, 0.5, 1.0)] == [1, 5, 10]
    true = np.array([[3.0, 2.0, 1.0]])
    assert recall_of(np.array([[3.0, 1.0, 0.5]]), true) == pytest.approx(2 / 3)
