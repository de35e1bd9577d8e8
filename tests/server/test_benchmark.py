"""The benchmark runs at toy size: no 5xx, answers from published generations."""

from __future__ import annotations

import pytest

from benchmarks import schema
from benchmarks.server import main
from experiments.report import Report


@pytest.mark.slow
def test_the_benchmark_runs():
    report = Report("server", quick=True)
    main(report)
    assert [r["method"] for r in report.rows] == ["in process", "http", "http, idle", "http, busy"]
    assert all(r["p50_ms"] > 0 for r in report.rows)


@pytest.mark.slow
def test_the_document_is_tried_at_any_length():
    report = Report("schema", quick=True)
    schema.main(report)
    assert report.rows[0]["examples"] == 1
