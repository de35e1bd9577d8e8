"""Preferences to similarity: one file a method, each calling one solver.

``SIMILARITIES`` lists every similarity by its kind: a model on disk is restored
through it, and the laws in the tests run over it.  A new method is one file here and
one line in this list.
"""

from __future__ import annotations

from likewise.learners.plain import Plain
from likewise.types import Registry

SIMILARITIES = Registry(
    {
        "clicks": "likewise.learners.clicks:Clicks",
        "plain": "likewise.learners.plain:Plain",
        "bilinear": "likewise.learners.bilinear:Bilinear",
        "top-precision": "likewise.learners.top_precision:TopPrecision",
        "metric": "likewise.learners.metric:Metric",
        "word-table": "likewise.learners.word_table:WordTable",
    }
)

__all__ = ["SIMILARITIES", "Plain"]
