"""The benchmark runs at toy size and gives what it promises."""

from __future__ import annotations

from PIL import Image

from benchmarks.swatches import main
from experiments.report import Report


def test_swatches_benchmark(tmp_path) -> None:
    report = Report("swatches", quick=True, settings={"out": str(tmp_path)})
    main(report)
    (row,) = report.rows
    assert row["seconds"] > 0
    assert row["ratio"] > 0
    with Image.open(tmp_path / "swatches.jpg") as sheet:
        assert sheet.width > 500
