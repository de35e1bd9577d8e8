"""Measures, significance, comparison of models, simulated users.

Rank once, then measure: ``evaluate(rank(run, relevance), ["map", "p1"])``.
"""

from likewise.evaluation.compare import Comparison, compare
from likewise.evaluation.measures import (
    Mean,
    average_precision,
    bpref,
    evaluate,
    interpolated_precision,
    judged_average_precision,
    mean,
    measure,
    ndcg,
    precision_at,
    r_precision,
    recall_at,
    recall_precision,
    recall_precision_curve,
    top4,
    top_precision,
)
from likewise.evaluation.ranking import NOT_FOUND, Ranked, rank
from likewise.evaluation.runs import Run, read_run, run_of_hits, write_run
from likewise.evaluation.significance import (
    Interval,
    Randomised,
    bootstrap_interval,
    randomisation_test,
)

__all__ = [
    "NOT_FOUND", "Comparison", "Interval", "Mean", "Randomised", "Ranked", "Run",
    "average_precision", "bootstrap_interval", "bpref", "compare", "evaluate",
    "interpolated_precision", "judged_average_precision", "mean", "measure", "ndcg", "precision_at",
    "r_precision", "randomisation_test", "rank", "read_run", "recall_at", "recall_precision",
    "recall_precision_curve", "run_of_hits", "top4", "top_precision", "write_run",
]  # fmt: skip
