"""The scripted person of the experiment, at toy size."""

from __future__ import annotations

import pytest

from experiments import board_person
from experiments.report import Report
from likewise.datasets import swatches


@pytest.mark.slow
def test_a_scripted_person_finds_the_target(browser):
    report = Report("board_person", quick=True)
    # Its own driver, in a thread of its own: the tests' driver keeps this one's loop running.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as apart:
        apart.submit(board_person.main, report).result()
    person = next(row for row in report.rows if row["method"] == "motif only")
    assert person["rounds"] <= 6


def test_the_person_sees_the_motif_first_and_then_the_rest():
    truth = swatches(60, size=32, seed=2).truth
    person = board_person.Person(truth, 0)
    others = list(range(1, 60))
    best = person.closest(others)
    assert person.likes(best) or not any(person.likes(o) for o in others)
    assert person.closest([*others, 0]) == 0
    blind = board_person.Person(truth, 0, by_eye=False)
    assert {blind.closeness(o) for o in others} <= {(True, 0), (False, 0)}
