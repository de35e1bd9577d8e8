"""The examples in the documentation work as printed, and name every kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.index import REGISTRY
from likewise.index.flat import FlatIndex
from likewise.types import Surrogate

DOCS = Path(__file__).parents[2] / "docs"


def examples(name: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(encoding="utf-8"), re.DOTALL)


def test_engines_page(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    first, second = examples("index-engines.md")
    exec(first, scope)
    assert scope["ids"][0] == np.argmax(scope["codes"] @ scope["codes"][7])
    scope["my_surrogates"] = [Surrogate(v) for v in scope["codes"][:50]]
    exec(second, scope)
    assert scope["wide"].probes == 64
    text = (DOCS / "index-engines.md").read_text(encoding="utf-8")
    for kind in REGISTRY:
        assert f"| `{kind}`" in text


def test_example_of_a_new_index(tmp_path: Any) -> None:
    scope: dict[str, Any] = {}
    exec(examples("add-an-index.md")[0], scope)
    rng = np.random.default_rng(0)
    x, side = rng.standard_normal((50, 6)), {"prior": rng.standard_normal(50)}
    slow = scope["SlowIndex"].build(x, np.arange(50)[::-1], side=side)
    slow.save(tmp_path / "slow")
    exact = FlatIndex.build(x, np.arange(50)[::-1], side=side)
    queries = [Surrogate(v, 1.0, {"prior": 0.3}) for v in x[:5]]
    for among in (None, [3, 4, 40]):
        found = scope["SlowIndex"].load(tmp_path / "slow").search_many(queries, 7, among=among)
        for one, other in zip(found, exact.search_many(queries, 7, among=among), strict=True):
            np.testing.assert_array_equal(one.ids, other.ids)
            np.testing.assert_allclose(one.scores, other.scores)
