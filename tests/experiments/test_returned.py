"""A wish that comes back, and the constants of teaching, at toy size."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import constants, returned
from experiments.report import Report


def test_words_that_are_typed_again_find_more_and_every_column_is_there(capsys):
    report = Report("returned", quick=True)
    returned.main(report)
    rows = {row["by"]: row for row in report.rows}
    assert set(rows) == {"picture", "words"}
    wanted = {"taught", "returns", "offered", "misled", "right20_before", "right20", "new20"}
    assert all(wanted <= set(row) for row in rows.values())
    assert rows["words"]["right20"] > rows["words"]["right20_before"]


def test_new_ones_are_counted_without_those_that_were_marked():
    right = np.arange(40) < 30
    told = returned.counted(list(range(10, 40)), list(range(40)), right, {0, 1, 2})
    assert told == {"right20_before": 20, "new20_before": 20, "right20": 20, "new20": 20}
    told = returned.counted(list(range(15, 40)), list(range(40)), right, set(range(10)))
    assert (told["right20_before"], told["right20"], told["new20"]) == (15, 20, 20)


@pytest.mark.slow
def test_constants_has_the_served_value_and_others_of_each_part(capsys):
    report = Report("constants", quick=True)
    constants.main(report)
    for part in ("marks", "groups", "offers"):
        own = [row for row in report.rows if row["part"] == part]
        assert own[0]["constant"] == "(as served)"
        assert len({row.get("value") for row in own}) == len(own)
