"""Ours beside what others offer, at toy size, and each peer against its formula."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import peers
from experiments.marks import Marked
from experiments.report import Report


@pytest.mark.slow
def test_every_peer_is_measured_on_the_same_queries():
    report = Report("peers", quick=True)
    peers.main(report)
    for judged in {row["judged"] for row in report.rows}:
        rows = {row["method"]: row for row in report.rows if row["judged"] == judged}
        assert list(rows) == [*peers.PEERS, "ours", "ours, chosen"]
        assert rows["plain"]["worse"] == 0
        assert rows["ours"]["map"] > rows["plain"]["map"]
        assert {row["tried"] for row in rows.values()} == {1, 6}


def test_formulas_of_peers():
    rng = np.random.default_rng(0)
    query, good, bad = rng.normal(size=4), rng.normal(size=(3, 4)), rng.normal(size=(2, 4))
    marked = Marked(query, good, bad)
    pairs = sum(g - b for g in good for b in bad)
    np.testing.assert_allclose(peers.feedback(0.5)(marked), query + 0.5 * pairs)
    assert peers.feedback(0.5)(Marked(query, good, bad[:0])) is query
    near, far = peers.pulled(1e6)(marked), peers.pulled(1e-3)(marked)
    np.testing.assert_allclose(near, query, atol=1e-3)
    assert (good @ far).mean() - (bad @ far).mean() > (good @ query).mean() - (bad @ query).mean()
