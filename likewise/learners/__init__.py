"""Preferences to similarity: one file a method, each calling one solver.

``SIMILARITIES`` lists every similarity by its kind: a model on disk is restored
through it, and the laws in the tests run over it.  A new method is one file here and
one line in this list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likewise.learners.plain import Plain

SIMILARITIES: Mapping[str, Any] = {c.kind: c for c in (Plain,)}

__all__ = ["SIMILARITIES", "Plain"]
