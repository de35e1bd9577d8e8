"""Islands of a map are called by the words of those that stand there."""

from __future__ import annotations

import numpy as np

from likewise.layout.naming import AROUND, island_names


def test_a_word_stands_on_its_island_and_one_that_is_everywhere_nowhere():
    rng = np.random.default_rng(0)
    middles = {"cats": (0.2, 0.2), "boats": (0.8, 0.25), "trees": (0.5, 0.8)}
    places = np.concatenate([rng.normal(m, 0.02, (40, 2)) for m in middles.values()])
    rows = {text: np.arange(40 * at, 40 * at + 40) for at, text in enumerate(middles)}
    rows["photo"] = np.arange(0, 120, 2)
    rows["kitten"] = np.arange(0, 10)  # on an island that has a better name
    rows["rare"] = np.array([3, 70])
    names = island_names(places, rows)
    assert {name.text for name in names} == set(middles)
    for text, x, y in names:
        assert np.allclose((x, y), middles[text], atol=0.02)
    gaps = [max(abs(a.x - b.x), abs(a.y - b.y)) for a in names for b in names if a is not b]
    assert min(gaps) > AROUND
    assert island_names(places, {}) == []
