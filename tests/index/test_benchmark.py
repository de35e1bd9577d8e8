"""The benchmark runs at toy size and says what it promises to say."""

from __future__ import annotations

import pytest

from benchmarks.engines import main as engines
from benchmarks.index import main
from benchmarks.plan import law
from benchmarks.plan import main as plan
from benchmarks.scale import main as scale
from experiments.report import Report


def test_quick_run() -> None:
    report = Report("index", quick=True, settings={"hnsw": True})
    main(report)
    beside = [row for row in report.rows if "peer" in row]
    assert {(row["peer"], row["batch"]) for row in beside} == {
        (peer, batch) for peer in ("faiss flat", "faiss ivf") for batch in (1, 100)
    }
    for row in beside:
        assert row["overlap"] == 1.0
        assert row["ratio"] == pytest.approx(row["p50_ms"] / row["peer_ms"])
    kinds = [row for row in report.rows if "recall" in row]
    assert len(kinds) == 12
    for row in kinds:
        assert row["recall"] >= (0.8 if "hnsw" in row["method"] else 0.97)
        assert row["p50_ms"] > 0


def test_quick_run_of_the_engines() -> None:
    report = Report("engines", quick=True, settings={"engines": "faiss,postgres"})
    engines(report)
    rows = [row for row in report.rows if "recall" in row]
    assert {(row["engine"], row["queries"], row["share"]) for row in rows} == {
        (engine, queries, share)
        for engine in ("faiss", "postgres")
        for queries in ("plain", "learned")
        for share in (1.0, 0.1, 0.01, 0.001)
    }
    assert min(row["recall"] for row in rows) >= 0.97
    beside = [row for row in report.rows if "peer" in row]
    assert {row["peer"] for row in beside} == {"postgres directly"}


def test_quick_run_of_the_lists() -> None:
    report = Report("scale", quick=True, settings={"only": "lists"})
    scale(report)
    assert {row["files"] for row in report.rows if "files" in row} == {1}
    pages = [row for row in report.rows if row["method"] == "page by keyset"]
    assert {(row["items"], row["filter"]) for row in pages} == {
        (items, name) for items in (1_000, 4_000) for name in ("all", "folder", "tag")
    }
    assert all("exponent" in row for row in pages if row["items"] == 4_000)


@pytest.mark.slow
def test_the_plan_foretells_what_is_measured_then() -> None:
    report = Report("plan", quick=True, settings={"compare": 8_000})
    plan(report)
    rows = {(row["method"], row.get("items"), row.get("what")): row for row in report.rows}
    for kind in ("flat", "faiss"):
        assert {i for m, i, _ in rows if m == f"{kind} predicted"} == {
            8_000, 40_000, 400_000, 4_000_000,
        }  # fmt: skip
        ratio = rows[f"{kind} ratio", 8_000, None]
        truly = rows[f"{kind} measured", 8_000, None]
        told = rows[f"{kind} predicted", 8_000, None]
        assert ratio["disk_mib"] == pytest.approx(truly["disk_mib"] / told["disk_mib"])
        assert 0.8 < ratio["disk_mib"] < 1.2  # what is not noise at toy size
        assert truly["recall"] > 0.9


@pytest.mark.parametrize("linear", [True, False])
def test_a_law_goes_through_its_points(linear: bool) -> None:
    def truth(n: int, d: int) -> float:
        return 7 + 3 * n * d if linear else 3 * n**1.5 * d**0.5

    at = (10, 8), (1_000, 8), (10, 4)
    found = law(at, [truth(*one) for one in at], linear)
    assert found(5_000, 8) == pytest.approx(truth(5_000, 8))
    assert found(2_000, 2) == pytest.approx(truth(2_000, 2))


def test_quick_run_of_what_serves() -> None:
    report = Report("scale", quick=True, settings={"only": "serve,rescan", "items": 1_000})
    scale(report)
    told = {row["method"]: row for row in report.rows}
    assert set(told) == {
        "build", "open and search", "one query", "near-duplicates", "from a backup", "forget",
        "rescan",
    }  # fmt: skip
    assert told["one query"]["recall"] > 0.9
    assert told["near-duplicates"]["groups"] >= 10
    assert told["forget"]["gone"] == 10
    assert told["rescan"]["opened"] == 0
