"""Laws that every registered index keeps: the same calls, compared with plain arithmetic.

A new kind of index is tested by being in the registry; a line in VARIANTS gives it settings
under which its answers must be complete.
"""

from __future__ import annotations

import dataclasses
import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from likewise.filters import Allowed, Filter
from likewise.index import REGISTRY, BaseIndex, load
from likewise.types import BadInput, DataProblem, Index, SpaceMismatch, Surrogate
from tests import servers

ALL = 1 << 20
TABLES = itertools.count()
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("flat", {}),
    ("faiss", {}),
    ("faiss", {"kind": "flat"}),
    ("faiss", {"kind": "ivf", "cells": 5, "probes": ALL}),
    ("faiss", {"kind": "ivf", "cells": 5, "probes": 1}),
    ("faiss", {"kind": "ivf-sq8", "cells": 5, "probes": ALL}),
    ("faiss", {"kind": "ivf-half", "cells": 5, "probes": ALL}),
    ("faiss", {"kind": "hnsw"}),
    ("tree", {"clusters": 5, "probes": ALL}),
    ("tree", {"clusters": 12, "probes": 1}),
    ("inverted", {}),
    ("inverted", {"levels": 3}),
    ("postgres", {"index": "auto"}),
    ("postgres", {"index": "ivfflat", "probes": ALL}),
    ("postgres", {"index": "ivfflat", "half": "1", "probes": ALL}),
    ("postgres", {"index": "hnsw"}),
    ("milvus", {"index": "ivf", "probes": ALL}),
]
NAMES = ["-".join([kind, *map(str, how.values())]) for kind, how in VARIANTS]
COMPLETE = [
    not (
        how.get("probes") == 1
        or how.get("kind") in ("hnsw", "ivf-half", "ivf-sq8")
        or how.get("index") == "hnsw"
        or how.get("half")
    )
    for _, how in VARIANTS
]
SLOW = [
    kind == "milvus" or how.get("index") == "hnsw" or how.get("half") == "1"
    for kind, how in VARIANTS
]
MARKED = [
    pytest.param(*variant, marks=pytest.mark.slow) if slow else variant
    for variant, slow in zip(VARIANTS, SLOW)
]
every = pytest.mark.parametrize(("kind", "how"), MARKED, ids=NAMES)
complete = pytest.mark.parametrize(
    ("kind", "how"),
    [v for v, whole in zip(MARKED, COMPLETE) if whole],
    ids=[n for n, whole in zip(NAMES, COMPLETE) if whole],
)


def build(kind: str, how: dict[str, Any], *args: Any, **more: Any) -> BaseIndex:
    if kind in ("postgres", "milvus"):
        options = {name: how[name] for name in ("index", "half") if name in how}
        how = {name: value for name, value in how.items() if name not in options}
        if kind == "postgres":
            where = servers.postgres().address(**options)
        else:
            where = servers.milvus().address("law", **options)
        how |= {"address": where, "table": f"law_{next(TABLES)}"}
    return REGISTRY[kind].build(*args, **how, **more)


def clustered(n: int = 400, dim: int = 12, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((20, dim))
    x = centres[rng.integers(0, 20, n)] + 0.4 * rng.standard_normal((n, dim))
    return (x * np.exp(0.3 * rng.standard_normal((n, 1)))).astype(np.float32)


def check(hits: Any, ids: np.ndarray, true: np.ndarray, k: int, *, whole: bool) -> None:
    """Hits are ``k`` different items with their true scores, best first, ties by id."""
    size = 1e-5 * max(1.0, float(np.abs(true).max(initial=0)))
    assert hits.ids.dtype == np.int64
    assert len(hits.ids) == len(hits.scores) == min(k, len(ids))
    assert len(set(hits.ids.tolist())) == len(hits.ids)
    score = dict(zip(ids.tolist(), true.tolist()))
    np.testing.assert_allclose([score[i] for i in hits.ids.tolist()], hits.scores, atol=size)
    steps = np.diff(hits.scores)
    assert (steps <= 0).all()
    assert (np.diff(hits.ids)[steps == 0] > 0).all()
    if whole and len(hits.ids):
        best = np.sort(true)[::-1][: len(hits.ids)]
        np.testing.assert_allclose(hits.scores, best, atol=2 * size)


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """A small collection of small whole numbers, which makes for many ties."""
    n, dim = draw(st.integers(0, 40)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    width = draw(st.sampled_from([1, 3]))
    side = {name: rng.integers(-5, 6, n) for name in draw(st.sampled_from(["", "a", "ab"]))}
    queries = [
        Surrogate(
            rng.integers(-width, width + 1, dim).astype(draw(st.sampled_from(["f4", "f8"]))),
            float(rng.integers(-3, 4)),
            {name: float(rng.integers(-2, 3)) for name in side if rng.random() < 0.7},
        )
        for _ in range(draw(st.integers(1, 4)))
    ]
    return {
        "codes": rng.integers(-width, width + 1, (n, dim)).astype(draw(st.sampled_from("fde"))),
        "ids": rng.choice(1000, n, replace=False) - 500,
        "side": side,
        "queries": queries,
        "k": draw(st.integers(1, 50)),
        "among": draw(st.none() | st.lists(st.integers(-510, 510), max_size=80)),
    }


def scores_of(p: dict[str, Any], query: Surrogate) -> np.ndarray:
    total = p["codes"].astype(float) @ np.asarray(query.vector, float) + query.offset
    for name, coefficient in query.side.items():
        total = total + coefficient * p["side"][name]
    return total


@every
@settings(max_examples=25, deadline=None)
@given(p=problems())
def test_search_agrees_with_arithmetic(kind: str, how: dict[str, Any], p: dict[str, Any]) -> None:
    index = build(kind, how, p["codes"], p["ids"], side=p["side"])
    whole = COMPLETE[VARIANTS.index((kind, how))]
    held = np.ones(len(index), bool) if p["among"] is None else np.isin(p["ids"], p["among"])
    many = index.search_many(p["queries"], p["k"], among=p["among"])
    for query, hits in zip(p["queries"], many, strict=True):
        true = scores_of(p, query)
        check(hits, p["ids"][held], true[held], p["k"], whole=whole)
        if REGISTRY[kind].exact:
            order = np.lexsort((p["ids"][held], -true[held]))[: p["k"]]
            np.testing.assert_array_equal(hits.ids, p["ids"][held][order])
            np.testing.assert_array_equal(hits.scores, true[held][order])


@every
def test_follows_the_protocol(kind: str, how: dict[str, Any]) -> None:
    x = clustered()
    ids = np.random.default_rng(1).permutation(1000)[: len(x)]
    index = build(kind, how, x, ids, space="here")
    assert isinstance(index, Index)
    assert (index.kind, index.space, len(index), index.dim) == (kind, "here", *x.shape)
    np.testing.assert_array_equal(index.ids, ids)
    with pytest.raises(ValueError):
        index.ids[0] = 5


@every
def test_one_is_like_many(kind: str, how: dict[str, Any]) -> None:
    x = clustered()
    index = build(kind, how, x)
    queries = [Surrogate(v) for v in x[:20]]
    for query, many in zip(queries, index.search_many(queries, 10), strict=True):
        one = index.search(query, 10)
        np.testing.assert_array_equal(one.ids, many.ids)
        np.testing.assert_allclose(one.scores, many.scores, rtol=1e-5)
    assert index.search_many([], 10) == []


@every
@pytest.mark.parametrize("among", [None, [5, 3, 3, 99_999, 41]])
def test_a_query_of_zeros_gets_the_first_ids(
    kind: str, how: dict[str, Any], among: list[int] | None
) -> None:
    x = clustered()
    ids = np.arange(len(x))[::-1].copy()
    index = build(kind, how, x, ids, side={"age": ids * 1.0})
    hits = index.search(Surrogate(np.zeros(x.shape[1]), offset=2.5), 3, among=among)
    np.testing.assert_array_equal(hits.ids, [0, 1, 2] if among is None else [3, 5, 41])
    np.testing.assert_array_equal(hits.scores, [2.5] * 3)
    both = index.search_many([Surrogate(np.zeros(x.shape[1])), Surrogate(x[7])], 3)
    check(both[1], ids, x.astype(float) @ x[7], 3, whole=False)
    oldest = index.search(Surrogate(np.zeros(x.shape[1]), side={"age": 1.0}), len(x))
    np.testing.assert_array_equal(oldest.ids, np.arange(len(x))[::-1])


@every
def test_positive_factor_keeps_the_order(kind: str, how: dict[str, Any]) -> None:
    x = clustered()
    index = build(kind, how, x)
    plain = index.search(Surrogate(x[3].astype(np.float64)), 10)
    for factor in (2.0**-60, 2.0**100, 1e200):
        scaled = index.search(Surrogate(x[3].astype(np.float64) * factor), 10)
        np.testing.assert_array_equal(scaled.ids, plain.ids)
        np.testing.assert_allclose(scaled.scores, plain.scores * factor, rtol=1e-5)


@complete
def test_layout_and_type_of_the_codes_do_not_matter(kind: str, how: dict[str, Any]) -> None:
    x = np.round(clustered() * 8)
    expected = build(kind, how, x).search(Surrogate(x[5]), 20)
    wide = np.zeros((2 * len(x), x.shape[1] + 3), np.float32)
    wide[::2, 2:-1] = x
    for same in (
        x.astype(np.float64), x.astype(np.int16), x.astype(np.float16), np.asfortranarray(x),
        wide[::2, 2:-1], x.tolist(), x.astype(">f4"),
    ):  # fmt: skip
        index = build(kind, how, same)
        for vector in (x[5], x[5].astype(int), np.repeat(x[5], 2)[::2], x[5][None, :]):
            hits = index.search(Surrogate(vector), 20)
            np.testing.assert_allclose(hits.scores, expected.scores, rtol=1e-6)
            clear = np.diff(expected.scores, append=-np.inf, prepend=np.inf) < 0
            clear = clear[1:] & clear[:-1]
            np.testing.assert_array_equal(hits.ids[clear], expected.ids[clear])


@every
def test_nothing_handed_in_is_changed(kind: str, how: dict[str, Any]) -> None:
    x, ids = clustered(), np.arange(400)[::-1].copy()
    side, among = {"age": np.arange(400.0)}, np.arange(0, 400, 3)
    query = Surrogate(x[4].copy(), 1.0, {"age": 0.5})
    kept = [a.copy() for a in (x, ids, side["age"], among, query.vector)]
    for array in (x, ids, side["age"], among, query.vector):
        array.flags.writeable = False
    index = build(kind, how, x, ids, side=side)
    index.search(query, 7, among=among)
    for array, before in zip((x, ids, side["age"], among, query.vector), kept, strict=True):
        np.testing.assert_array_equal(array, before)


@every
def test_sparse_surrogates_are_taken(kind: str, how: dict[str, Any]) -> None:
    x = clustered()
    index = build(kind, how, x)
    thin = sparse.csr_array(np.where(np.abs(x[:1]) > 0.5, x[:1], 0))
    one = index.search(Surrogate(thin), 5)
    other = index.search(Surrogate(thin.toarray()[0]), 5)
    np.testing.assert_array_equal(one.ids, other.ids)


@every
def test_searches_may_run_side_by_side(kind: str, how: dict[str, Any]) -> None:
    x = clustered()
    index = build(kind, how, x)
    queries = [Surrogate(v) for v in x[:60]]

    def ask(one: Surrogate) -> Any:
        return index.search(one, 10, among=np.arange(0, 400, 2))

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(ask, queries))
    for one, other in zip(together, map(ask, queries), strict=True):
        np.testing.assert_array_equal(one.ids, other.ids)
        np.testing.assert_array_equal(one.scores, other.scores)


# -- saving ----------------------------------------------------------------------


@every
@pytest.mark.parametrize("n", [0, 1, 400])
@pytest.mark.parametrize("mmap", [True, False])
def test_round_trip(kind: str, how: dict[str, Any], n: int, mmap: bool, tmp_path: Any) -> None:
    x = clustered()[:n]
    ids = np.random.default_rng(0).permutation(1000)[:n]
    index = build(kind, how, x, ids, space="here", side={"age": ids * 1.0})
    index.save(tmp_path / "index")
    again = load(tmp_path / "index", mmap=mmap)
    assert type(again) is type(index)
    assert (again.space, again.dim, again.side_names) == ("here", x.shape[1], ("age",))
    np.testing.assert_array_equal(again.ids, ids)
    query = Surrogate(clustered()[9], 1.0, {"age": 0.01}, "here")
    for among in (None, ids[: n // 2]):
        for one, other in zip(
            index.search(query, 30, among=among), again.search(query, 30, among=among), strict=True
        ):
            np.testing.assert_array_equal(one, other)
    for name in ("probes", "recall", "structure"):
        assert getattr(index, name, None) == getattr(again, name, None)
    assert [p.name for p in tmp_path.iterdir()] == ["index"]


@every
def test_damage_is_noticed_in_every_file(kind: str, how: dict[str, Any], tmp_path: Any) -> None:
    folder = tmp_path / "index"
    build(kind, how, clustered()).save(folder)
    files = sorted(folder.iterdir())
    assert len(files) >= 2
    for file in files:
        whole = file.read_bytes()
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 4
        for damaged in (bytes(flipped), whole[:-1], b""):
            file.write_bytes(damaged)
            with pytest.raises(DataProblem):
                REGISTRY[kind].load(folder)
        file.unlink()
        with pytest.raises(DataProblem):
            REGISTRY[kind].load(folder)
        file.write_bytes(whole)
    REGISTRY[kind].load(folder)


# -- bad input -------------------------------------------------------------------


@every
def test_bad_questions_are_refused(kind: str, how: dict[str, Any]) -> None:
    x = clustered()
    index = build(kind, how, x, space="here", side={"age": np.arange(400.0)})
    good = Surrogate(x[0], space="here")
    dim = x.shape[1]
    for k in (0, -1, 2.5, True, None):
        with pytest.raises(BadInput, match="k must be"):
            index.search(good, k)  # type: ignore[arg-type]
    bad: list[tuple[str, dict[str, Any]]] = [
        ("numbers each", {"vector": x[0][:-1]}),
        ("numbers", {"vector": sparse.csr_array(np.ones((1, dim + 1)))}),
        ("NaN", {"vector": np.full(dim, np.nan)}),
        ("NaN", {"vector": np.full(dim, np.inf, np.float32)}),
        ("NaN", {"vector": np.array([-np.inf, *np.zeros(dim - 1)])}),
        ("NaN", {"offset": np.nan}),
        ("finite", {"side": {"age": np.inf}}),
        ("'weight'", {"side": {"weight": 1.0}}),
        ("numbers, not", {"vector": np.array(["a"] * dim)}),
        ("one vector", {"vector": x[:2]}),
    ]
    for words, change in bad:
        wrong = dataclasses.replace(good, **change)
        with pytest.raises(BadInput, match=words):
            index.search(wrong, 3)
        with pytest.raises(BadInput, match=words):
            index.search_many([good, wrong], 3)
    with pytest.raises(BadInput, match="surrogates, not ndarray"):
        index.search(x[0], 3)  # type: ignore[arg-type]
    with pytest.raises(SpaceMismatch, match=r"elsewhere.*here"):
        index.search(dataclasses.replace(good, space="elsewhere"), 3)
    assert len(index.search(dataclasses.replace(good, space=""), 3).ids) == 3
    for among in ([0.5], [[1, 2]], np.ones(400, bool), ["a"]):
        with pytest.raises(BadInput, match="among"):
            index.search(good, 3, among=among)


@every
def test_bad_collections_are_refused(kind: str, how: dict[str, Any]) -> None:
    x = clustered()
    for words, args, more in (
        ("several items", (x, [7, *range(399)]), {}),
        ("one id an item", (x, [1, 2]), {}),
        ("whole numbers", (x, np.arange(400) + 0.5), {}),
        ("row 17", (np.where(np.arange(400)[:, None] == 17, np.nan, x),), {}),
        ("row 0", (np.where(np.arange(400)[:, None] == 0, np.inf, x),), {}),
        ("one row each", (np.zeros((2, 2, 2)),), {}),
        ("no columns", (np.zeros((4, 0)),), {}),
        ("must be numbers", (np.array([["a", "b"]]),), {}),
        ("side column 'age'", (x,), {"side": {"age": np.zeros(7)}}),
        ("side column 'age'", (x,), {"side": {"age": np.full(400, np.nan)}}),
    ):
        with pytest.raises(BadInput, match=words):
            build(kind, how, *args, **more)
    if not REGISTRY[kind].takes_sparse:
        with pytest.raises(BadInput, match="dense codes only"):
            build(kind, how, sparse.csr_array(x))


@every
def test_little_or_nothing_is_found_where_little_is(kind: str, how: dict[str, Any]) -> None:
    empty = build(kind, how, np.zeros((0, 4)))
    assert len(empty) == 0
    for among in (None, [], [3]):
        ids, scores = empty.search(Surrogate(np.ones(4)), 5, among=among)
        assert len(ids) == len(scores) == 0
    with pytest.raises(BadInput):
        empty.search(Surrogate(np.ones(3)), 5)
    x = clustered()
    index = build(kind, how, x, np.arange(400) + 100)
    assert len(index.search(Surrogate(x[0]), 5, among=[]).ids) == 0
    assert len(index.search(Surrogate(x[0]), 5, among=[7, 99_999]).ids) == 0
    assert sorted(index.search(Surrogate(x[0]), 5, among=[7, 300, 300, 250]).ids) == [250, 300]
    assert sorted(index.search(Surrogate(x[0]), 1000).ids) == list(range(100, 500))


def test_every_kind_is_among_the_variants() -> None:
    assert {kind for kind, _ in VARIANTS} == set(REGISTRY)
    for kind, cls in REGISTRY.items():
        assert cls.kind == kind


@every
def test_a_filter_restricts_like_the_ids_it_lets_through(kind: str, how: dict[str, Any]) -> None:
    x, asked = clustered(), []
    index = build(kind, how, x)

    def find(wanted: Filter) -> Any:
        asked.append(wanted)
        return np.arange(0, 400, 3)

    allowed = Allowed(Filter(folder="a"), find)
    assert not asked, "nobody looked for the ids before an engine needed them"
    query = Surrogate(x[7])
    by_filter = index.search(query, 9, among=allowed)
    by_ids = index.search(query, 9, among=np.arange(0, 400, 3))
    np.testing.assert_array_equal(by_filter.ids, by_ids.ids)
    assert asked == [Filter(folder="a")]
