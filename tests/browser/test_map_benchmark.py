"""The benchmark of the map runs at toy size, in a process of its own as a person runs it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.browser.conftest import CHROMIUM, INSTALL


@pytest.mark.slow
def test_the_benchmark_runs(tmp_path, browser):
    assert CHROMIUM, f"install Chromium: {INSTALL}"
    out = tmp_path / "map.json"
    command = [sys.executable, "-m", "benchmarks.map", "--quick", "--json", str(out)]
    subprocess.run(command, check=True, timeout=300, stdout=subprocess.DEVNULL)
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert [r["method"] for r in rows] == ["drawing the map", "whole map", "near"]
    assert all(r["fps"] > 0 and r["rss_mib"] > 0 and r["shown"] > 0 for r in rows[1:])
