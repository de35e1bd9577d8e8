"""The comparison of networks runs at toy size, and its rule chooses one of them."""

from __future__ import annotations

import pytest

from experiments import features
from experiments.report import Report
from likewise.features import ARITHMETICS, NETWORKS


@pytest.mark.slow
def test_networks(capsys):
    report = Report("features", quick=True, settings={"part": "networks", "sample": 40})
    features.main(report)
    *rows, chosen, experiments = report.rows
    assert sorted((row["network"], row["arithmetic"]) for row in rows) == sorted(
        (network, arithmetic) for network in NETWORKS for arithmetic in ARITHMETICS
    )
    assert (experiments["network"], experiments["arithmetic"]) == ("lite0", "float32")
    assert all(0 < row["map"] <= 1 and row["ms"] > 0 for row in rows)
    assert features.RULE in capsys.readouterr().out
    limit = features.SLOWEST * experiments["ms"]
    fast = [row for row in rows if row["ms"] <= limit]
    assert chosen["map"] >= (1 - features.CLOSE) * max(row["map"] for row in fast) - 1e-9
