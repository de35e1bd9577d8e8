"""The measures once more, slow and obvious: one query, plain lists, straight definitions.

A query is a list of scores and a list of grades of the same items; a grade of None means
unjudged.
"""

from __future__ import annotations

import math


def ranking(scores, grades):
    """Grades from the best item to the worst; ties by position."""
    return [grades[i] for i in sorted(range(len(scores)), key=lambda i: (-scores[i], i))]


def _good(grade):
    return grade is not None and grade > 0


def _count(grades):
    return sum(_good(grade) for grade in grades)


def average_precision(scores, grades):
    order = ranking(scores, grades)
    total = 0.0
    for at, grade in enumerate(order, 1):
        if _good(grade):
            total += _count(order[:at]) / at
    return total / _count(grades) if _count(grades) else math.nan


def judged_average_precision(scores, grades):
    kept = [i for i, grade in enumerate(grades) if grade is not None]
    return average_precision([scores[i] for i in kept], [grades[i] for i in kept])


def bpref(scores, grades):
    order = [grade for grade in ranking(scores, grades) if grade is not None]
    good, bad = _count(order), len(order) - _count(order)
    total = 0.0
    for at, grade in enumerate(order):
        above = at - _count(order[:at])
        if _good(grade):
            total += 1 - min(above, good) / min(bad, good) if above else 1.0
    return total / good if good else math.nan


def top_precision(scores, grades):
    irrelevant = [s for s, g in zip(scores, grades) if g is not None and g <= 0]
    top = max(irrelevant, default=-math.inf)
    above = sum(_good(g) and s > top for s, g in zip(scores, grades))
    return above / _count(grades) if _count(grades) else math.nan


def precision_at(scores, grades, cut):
    return _count(ranking(scores, grades)[:cut]) / cut if _count(grades) else math.nan


def recall_at(scores, grades, cut):
    found = _count(ranking(scores, grades)[:cut])
    return found / _count(grades) if _count(grades) else math.nan


def r_precision(scores, grades):
    return precision_at(scores, grades, _count(grades)) if _count(grades) else math.nan


def top4(scores, grades):
    return precision_at(scores, grades, 4) * 4


def dcg(order, cut):
    return sum(
        (2**grade - 1) / math.log2(1 + at)
        for at, grade in enumerate(order[:cut], 1)
        if _good(grade)
    )


def ndcg(scores, grades, cut):
    best = sorted((grade for grade in grades if _good(grade)), reverse=True)
    return dcg(ranking(scores, grades), cut) / dcg(best, cut) if best else math.nan


def ndcg_paper(scores, grades, cut):
    return dcg(ranking(scores, grades), cut) / dcg([3] * cut, cut) if _count(grades) else math.nan


def interpolated_precision(scores, grades):
    order, total = ranking(scores, grades), _count(grades)
    points = [(_count(order[:at]), _count(order[:at]) / at) for at in range(1, len(order) + 1)]
    return [
        max((p for found, p in points if 10 * found >= level * total and found), default=math.nan)
        for level in range(11)
    ]
