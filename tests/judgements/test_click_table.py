"""Clicks are counted fairly: one source has little say, and every case has a defined count."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.judgements import Judgements, click_table
from likewise.judgements.click_table import FARTHEST, PER_SOURCE, PICTURES, propensity_of
from likewise.types import BadInput, Judgement, QueryRef
from tests.judgements.strategies import laws

ROWS = {name: row for row, name in enumerate("abcdefgh")}
RED, BLUE = QueryRef("text", "red"), QueryRef("text", "blue")
QUERIES = {RED: 0, BLUE: 1}


def click(item: str, value: float = 1.0, *, query=RED, person="", source="", position=0, time=0.0):
    return Judgement(query, (item,), "click", value, time, person, source, position)


def counts(log, **options) -> dict[tuple[int, int], float]:
    table = click_table(Judgements.of(log), ROWS, QUERIES, **options)
    return {(int(q), int(i)): float(c) for q, i, c in zip(table.query, table.item, table.count)}


def slow(log, per_source, pictures, most):
    """The same by loops, one picture of one query at a time."""
    by: dict = {}
    for j in log:
        for item in j.items:
            if j.query in QUERIES and item in ROWS:
                key = (QUERIES[j.query], ROWS[item]), j.person or j.source
                by[key] = by.get(key, 0.0) + min(j.value, most)
    out = {pair: 0.0 for pair, _ in by}
    for query in QUERIES.values():
        for who in {w for _, w in by}:
            mine = {p: n for (p, w), n in by.items() if w == who and p[0] == query}
            best = sorted(mine, key=lambda p: (-mine[p], p))
            for place, pair in enumerate(best):
                if not who:
                    out[pair] += mine[pair]
                elif place < pictures:
                    out[pair] += min(mine[pair], per_source)
    return {pair: min(n, most) for pair, n in out.items()}


clicks = st.builds(
    click,
    st.sampled_from([*ROWS, "gone"]),
    st.integers(0, 8).map(float),
    query=st.sampled_from([RED, BLUE, QueryRef("text", "never")]),
    person=st.sampled_from(["", "ada", "bob"]),
    source=st.sampled_from(["", "web"]),
)


@laws
@given(st.lists(clicks, max_size=30), st.integers(1, 6), st.integers(1, 4), st.integers(1, 9))
def test_counts_agree_with_a_loop(log, per_source, pictures, most):
    limits = {"PER_SOURCE": per_source, "PICTURES": pictures, "MAX_CLICKS": most}
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in limits.items():
            patch.setattr(sys.modules[click_table.__module__], name, limit)
        found = counts(log)
    assert found == pytest.approx(slow(log, per_source, pictures, most))


def test_spam_from_one_source_is_capped_and_reported():
    spam = [click("a", person="bot") for _ in range(1000)]
    honest = [click("b", person=f"p{n}") for n in range(20)]
    table = click_table(Judgements.of([*spam, *honest]), ROWS, QUERIES)
    assert dict(zip(table.item.tolist(), table.count.tolist())) == {0: PER_SOURCE, 1: 20.0}
    assert table.report.capped == 1000 - PER_SOURCE
    everything = [Judgement(RED, (f"x{n}",), "click", 1.0, 0.0, "bot") for n in range(3 * PICTURES)]
    rows = {f"x{n}": n for n in range(3 * PICTURES)}
    table = click_table(Judgements.of(everything), rows, QUERIES)
    assert (table.count > 0).sum() == PICTURES


def test_absurd_counts_are_capped_and_tables_of_nobody_add_up():
    assert counts([click("a", 1e300), click("b", 40), click("b", 3)]) == {(0, 0): 100, (0, 1): 43}
    with pytest.raises(BadInput, match="negative"):
        Judgements.of([click("a", -1)])


def test_clicks_far_down_count_more_only_where_asked_for():
    log = [click("a", position=1), click("b", position=4), click("c", position=10**6), click("d")]
    assert set(counts(log).values()) == {1.0}
    assert list(counts(log, propensity=0.5).values()) == [1.0, 2.0, FARTHEST, 1.0]
    for wrong in (-1.0, 6.0, float("nan")):
        with pytest.raises(BadInput, match="propensity"):
            counts(log, propensity=wrong)


def looked_through(
    bias: float, rounds: int = 60, *, listed: bool = False, mixed: float = 1.0, seed: int = 0
):
    """A log of people who look at place r with chance r ** -bias and open what they find right.

    Lists are mixed anew from time to time, so that a picture stands at different places; how right
    each picture is for each query comes with the log.
    """
    rng = np.random.default_rng(seed)
    log, every = [], {}
    for text in range(10):
        query, right = QueryRef("text", f"query {text}"), rng.uniform(0.1, 0.9, 20)
        every |= {(query, f"p{i}"): chance for i, chance in enumerate(right)}
        for _ in range(rounds):
            order = rng.permutation(20) if rng.random() < mixed else np.arange(20)
            opened = rng.random(20) < right[order] * np.arange(1, 21) ** -bias
            clicks = [(f"p{i}", at) for at, (i, o) in enumerate(zip(order, opened), 1) if o]
            log += [Judgement(query, (i,), "click", 1.0, 0.0, "", "", at) for i, at in clicks]
            if listed:
                log.append(Judgement(query, tuple(f"p{i}" for i in order), "click", 0.0))
            else:
                left = [(f"p{i}", at) for at, (i, o) in enumerate(zip(order, opened), 1) if not o]
                log += [Judgement(query, (i,), "click", 0.0, 0.0, "", "", at) for i, at in left]
    return log, every


@pytest.mark.parametrize(
    ("bias", "listed"), [(0.0, False), (0.5, False), (0.5, True), (1.0, True), (1.5, False)]
)
def test_the_propensity_of_simulated_people_is_found(bias, listed):
    log, _ = looked_through(bias, listed=listed)
    assert propensity_of(Judgements.of(log)) == pytest.approx(bias, abs=0.12)
    table = click_table(Judgements.of(log), {}, {}, propensity=None)
    assert table.report.propensity == propensity_of(Judgements.of(log))


def test_counts_without_the_bias_are_nearer_to_what_is_right():
    """Nine lists of ten stand in one order, so its first pictures are opened most."""
    log, right = looked_through(1.0, mixed=0.1)
    queries = {query: row for row, query in enumerate(dict.fromkeys(q for q, _ in right))}
    rows = {f"p{i}": i for i in range(20)}
    truth = np.array([right[query, item] for query in queries for item in rows]).reshape(-1, 20)
    told = {}
    for propensity in (0.0, None):
        table = click_table(Judgements.of(log), rows, queries, propensity=propensity)
        counts = np.zeros(truth.shape)
        counts[table.query, table.item] = table.count
        told[propensity] = np.mean([np.corrcoef(a, b)[0, 1] for a, b in zip(counts, truth)])
    assert told[None] > told[0.0] + 0.2


def test_a_log_that_does_not_tell_weighs_nothing():
    """One picture at one place, clicks without displays, marks: nothing to compare."""
    rng = np.random.default_rng(0)
    clicks = [click("a", position=int(place)) for place in rng.integers(1, 9, 200)]
    fixed = [click(i, v, position=p) for i, p in zip("abc", (1, 2, 3)) for v in [0.0] * 9 + [1.0]]
    marks = [Judgement(RED, ("a",), "label", 1.0, 0.0, "", "", place) for place in (1, 5)]
    for log in ([], clicks, fixed, marks):
        assert propensity_of(Judgements.of(log)) == pytest.approx(0.0, abs=1e-6)
    few = looked_through(1.0, rounds=1)[0][:40]
    assert 0 <= propensity_of(Judgements.of(few)) < 1


def test_a_label_is_a_click_and_the_last_word_holds():
    def label(item, value, time):
        return Judgement(RED, (item,), "label", value, time)

    log = [
        *(click("a", time=1.0), label("a", 0.0, 2.0)),
        *(label("b", 0.0, 1.0), click("b", time=2.0)),
        label("c", 3.0, 1.0),
    ]
    assert counts(log) == {(0, 0): 0.0, (0, 1): 1.0, (0, 2): 1.0}


def test_deleted_items_unknown_queries_and_an_empty_log():
    log = [click("gone"), click("a", query=QueryRef("text", "never"))]
    table = click_table(Judgements.of(log), ROWS, QUERIES)
    assert not len(table.query)
    assert (table.report.unknown_items, table.report.unknown_queries) == (1, 1)
    assert not len(click_table(Judgements.of([]), ROWS, QUERIES).query)
    assert not table.count.any()
