"""Ranking-SVM for a metric: the same orders and margins, but weights may be negative.

Joachims' ranking-SVM, what the paper compares with.  A negative weight calls pictures nearer to
the query than the query itself; with few pictures in an order that happens in most rounds.
"""

from __future__ import annotations

from typing import ClassVar

from experiments.rivals.metric_learner import MetricLearner


class RankMetric(MetricLearner):
    """As :class:`~experiments.rivals.metric_learner.MetricLearner`, without ``w >= 0``."""

    _signed: ClassVar[bool] = True
    _method: ClassVar[str] = "ranking-SVM metric"
