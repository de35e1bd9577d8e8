"""The shipped table of words, and the colours' names."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.features.class_names import class_names
from likewise.features.class_words import CLASSES, COLOURS, class_words


def loudest(word: str, most: int = 5) -> list[str]:
    found = class_words().find(word)
    assert found is not None
    order = np.argsort(-found.weights)[:most]
    return [class_names()[c] for c in found.columns[order]]


def test_the_table_is_as_large_as_it_is_said_to_be():
    table = class_words()
    assert len(table.words) == len(set(table.words)) == 40_000
    found = table.find("bus")
    assert found.columns.shape == found.weights.shape == (20,)
    assert ((found.columns >= 0) & (found.columns < CLASSES)).all()
    assert 0.8 < found.confidence <= 1


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("bus", "school bus"),
        ("buses", "school bus"),
        ("elephants", "African bush elephant"),
        ("flower", "daisy"),
        ("wolves", "grey wolf"),
        ("hot dog", "hot dog"),
        ("hot dogs", "hot dog"),
    ],
)
def test_words_mean_classes_in_the_order_of_the_logits(word, shown):
    assert shown in loudest(word)


def test_a_bus_is_no_bush_and_a_dog_no_hot_dog():
    assert not any("elephant" in name for name in loudest("bus", 20))
    assert "hot dog" not in loudest("dog", 20)


def test_a_text_is_cut_into_what_is_known_and_what_is_not():
    read = class_words().read("The red flowers and hot dogs of a xqzzy")
    assert [k.word for k in read.known] == ["red", "flower", "hot dog"]
    assert read.unknown == ("xqzzy",)
    assert [k.is_colour for k in read.known] == [True, False, False]
    assert class_words().read("the of and") == class_words().read("🐶 !!") == ((), ())
    long = class_words().read(" ".join(["dog", "cat", "tree", "lamp"] * 2_500))
    assert len(long.known) == 4


def test_colours_have_the_colour_blocks_columns():
    for name, colour in (("red", 11), ("blue", 31), ("grey", 3), ("gray", 3)):
        found = class_words().find(name)
        assert CLASSES + colour in found.columns
        assert found.columns.max() < CLASSES + COLOURS


def test_a_slip_of_the_pen_has_near_words():
    assert "elephant" in class_words().nearest("elefant")
    assert class_words().nearest("qqq") == class_words().nearest("🐘") == []


def test_the_table_is_read_when_it_is_needed_and_quickly():
    program = (
        "import sys, time, likewise.cli\n"
        "from likewise.features.class_words import ClassWords, class_words\n"
        "assert not class_words.cache_info().currsize\n"
        "took = []\n"
        "for _ in range(5):\n"
        "    start = time.process_time(); ClassWords(); took.append(time.process_time() - start)\n"
        "print(min(took))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert float(done.stdout) < 0.1  # 50 ms is the goal, on a free machine


def test_reading_costs_little():
    start = time.process_time()
    for _ in range(100):
        class_words().read("a red flower on the beach")
    assert time.process_time() - start < 0.5


def test_rows_made_by_hand_are_in_the_table() -> None:
    made = importlib.import_module("scripts.make_word_table")
    table, rows = class_words(), made.by_hand(list(class_names()))
    assert {"people", "building", "food"} <= set(rows)
    for word, row in rows.items():
        found = table.find(word, colours=False)
        assert found is not None
        assert found.word == word
        assert found.confidence >= 0.79
        told = np.bincount(found.columns, found.weights, len(row))
        np.testing.assert_allclose(told, row / row.max(), atol=1 / 255)


def test_another_table_than_the_shipped_one_is_noticed() -> None:
    made: Any = importlib.import_module("scripts.make_word_table")
    with np.load(made.TARGET) as held:
        shipped = {part: held[part] for part in held.files}
    rows = np.arange(shipped["classes"].shape[1])
    assert made.differences(shipped, shipped, rows) == []
    few = {**shipped, **{part: shipped[part][..., ::9] for part in made.ROWS}}
    assert made.differences(few, shipped, rows[::9]) == []
    assert made.differences(few, shipped, rows[1::9][: len(rows[::9])]) != []
    some = slice(0, 200)  # of 40,000: more than rounding explains
    for part in ("weights", "confidence"):
        other = shipped[part].copy()
        other[..., some] = np.where(other[..., some] > 100, other[..., some] - 50, 160)
        (told,) = made.differences({**shipped, part: other}, shipped, rows)
        assert "rows differ" in told
    close = shipped["weights"].copy()
    close[:] = np.where(close > 100, close - 2, close + 2)  # as another processor rounds
    assert made.differences({**shipped, "weights": close}, shipped, rows) == []
    words = np.append(shipped["words"], ord("s")).astype(np.uint8)
    assert made.differences({**shipped, "words": words}, shipped, rows) == ["The words differ."]


@pytest.mark.slow
@pytest.mark.skipif("LIKEWISE_WORD_SOURCES" not in os.environ, reason="names no folder of sources")
def test_the_shipped_table_is_what_the_script_makes() -> None:
    made: Any = importlib.import_module("scripts.make_word_table")
    anew, rows = made.table(Path(os.environ["LIKEWISE_WORD_SOURCES"]), 20)
    with np.load(made.TARGET) as shipped:
        assert made.differences(anew, shipped, rows) == []
