"""A bad picture costs itself only."""

from __future__ import annotations

from benchmarks.corrupt import FORMATS, MUTATIONS, check


def test_every_corrupt_file_ends_in_exactly_one_state(tmp_path):
    found = check(tmp_path, corrupt=len(FORMATS) * len(MUTATIONS) + 30, good=20, seed=0,
                  features=("colour",))  # fmt: skip
    assert found["wrong"] == []
    assert found["files"] == found["indexed"] + found["problems"]
    assert found["problems"] > len(FORMATS) * 5
    assert found["without_reason"] == 0
    assert found["found"] == 5
