"""Which taught groups a query is offered, and what their own marks and answers change."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.learners import Plain
from likewise.learners.offers import OfferSettings, TaughtGroups
from likewise.spaces import Blocks

DIM, KINDS, EACH = 24, 30, 15
PLAIN = Plain(Blocks.identity({"x": DIM}))


@pytest.fixture(scope="module")
def kinds():
    """Pictures of thirty kinds, one row each, and the kind of each."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(KINDS, DIM))
    labels = np.repeat(np.arange(KINDS), EACH)
    return centres[labels] + 0.6 * rng.normal(size=(len(labels), DIM)), labels


def taught(kinds, count: int = 4, **settings) -> TaughtGroups:
    """Five members of each of the first kinds, three of others as wrong ones."""
    x, labels = kinds
    groups = TaughtGroups(x, PLAIN, OfferSettings(**settings))
    for kind in range(count):
        wrong = x[labels == kind + 1][:3]
        groups.put(f"kind {kind}", x[labels == kind][:5], wrong)
    return groups


def test_a_query_is_offered_what_was_taught_for_its_kind_and_strangers_nothing(kinds):
    x, labels = kinds
    groups = taught(kinds)
    right = offered = wrong = 0
    for row, kind in zip(x, labels):
        names = [name for name, _ in groups.offered(row)]
        assert len(names) <= 3
        right += f"kind {kind}" in names
        offered += kind < 4
        wrong += kind >= 6 and bool(names)
    assert right > 0.8 * offered
    assert wrong < 0.05 * len(x)


def test_likeness_is_that_of_the_formula(kinds):
    x, labels = kinds
    groups = taught(kinds, 2)
    z = x / np.linalg.norm(x, axis=1, keepdims=True)
    good, bad, q = z[labels == 1][:5], z[labels == 2][:3], z[25]
    v = 2 * good.mean(axis=0) - 1.7 * bad.sum(axis=0) / 7
    lead, near = z @ v, z @ q
    expected = 0.37 * (q @ v - lead.mean()) / lead.std()
    expected += 0.5 * ((good @ q).max() - near.mean()) / near.std()
    assert groups.likeness(7 * x[25])["kind 1"] == pytest.approx(expected, rel=1e-3)


def test_groups_change_and_go_and_their_rows_are_used_again(kinds):
    x, labels = kinds
    groups, fresh = taught(kinds), taught(kinds)
    for turn in range(60):
        groups.put("kind 1", x[labels == 1][turn % 10 : turn % 10 + 5], x[labels == 2][:3])
    groups.put("kind 2", ())
    groups.put("kind 1", x[labels == 1][:5], x[labels == 2][:3])
    assert "kind 2" not in groups
    assert len(groups) == 3
    assert len(groups._starts) < 200
    after, before = groups.likeness(x[25]), fresh.likeness(x[25])
    assert after == pytest.approx({n: v for n, v in before.items() if n != "kind 2"}, rel=1e-5)
    groups.put("kind 2", x[labels == 2][:5], x[labels == 3][:3])
    assert groups.likeness(x[25]) == pytest.approx(before, rel=1e-5)


def test_refused_groups_must_come_nearer(kinds):
    x, labels = kinds
    groups = taught(kinds)
    least = groups.settings.least
    members, wrong = x[labels == 1][:5], x[labels == 2][:3]
    usual = groups.shift("kind 1")
    groups.put("kind 1", members, wrong, [(least + 0.5, False)] * 4)
    refused = groups.shift("kind 1")
    groups.put("kind 1", members, wrong, [(least + 0.5, False), (least - 0.5, True)] * 4)
    assert refused < usual - 0.5
    assert refused < groups.shift("kind 1") <= usual
    groups.put("kind 1", members, wrong, [(least - 0.5, True)] * 4)
    assert groups.shift("kind 1") == usual


def test_half_of_the_marks_wrong_makes_a_group_shy(kinds):
    x, labels = kinds
    rng = np.random.default_rng(1)
    groups = taught(kinds, own=0.3)
    mixed = x[labels == 1][:10]
    coin = rng.permutation(10) < 5
    groups.put("said at random", mixed[coin], mixed[~coin])
    groups.put("said with care", mixed)
    assert groups.shift("said at random") < groups.shift("said with care")
    near = [groups.likeness(row) for row, kind in zip(x, labels) if kind == 1][10:]
    shy, sure = (
        np.mean([one[name] for one in near]) + groups.shift(name)
        for name in ("said at random", "said with care")
    )
    assert shy < sure - 1


def test_what_was_marked_itself_is_offered_or_never(kinds):
    few = kinds[0][:6]
    groups = TaughtGroups(few, PLAIN)
    groups.put("taught", few[:2], few[2:3])
    assert [name for name, _ in groups.offered(few[1])] == ["taught"]
    assert groups.offered(few[2]) == []
    assert groups.offered(few[1], {"taught"}) == []


@pytest.mark.parametrize("count", [20, 400])
def test_what_is_offered_is_the_likeliest_of_few_and_many_groups(count):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4000, 80)) * np.linspace(2, 0.2, 80)
    settings = OfferSettings(least=2.5, known=0.0, slack=1.0, own=0.0)
    groups = TaughtGroups(x, Plain(Blocks.identity({"x": 80})), settings)
    for number in range(count):
        groups.put(str(number), x[10 * number : 10 * number + 1 + number % 9])
    counts = set()
    for row in x[5::97] + rng.normal(size=(len(x[5::97]), 80)):
        found = groups.likeness(row)
        best = sorted(found, key=lambda name: -found[name])[:3]
        likely = [n for n in best if found[n] >= 1.5] if found[best[0]] >= 2.5 else []
        assert [name for name, _ in groups.offered(row)] == likely
        counts.add(len(likely))
    assert 0 in counts
    assert max(counts) > 0


def test_groups_are_compared_by_what_they_have_in_common():
    """Members differ in half of all directions: once that is seen, kinds are told apart."""
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(KINDS), EACH)
    x = rng.normal(size=(len(labels), DIM)) * np.repeat([0.3, 1.5], DIM // 2)
    x[:, : DIM // 2] += rng.normal(size=(KINDS, DIM // 2))[labels]
    found = {}
    for count in (4, 20):
        groups = TaughtGroups(x, PLAIN)
        for kind in range(count):
            groups.put(str(kind), x[labels == kind][:5])
        assert groups.is_due == (count == 20)
        groups.learn()
        assert not groups.is_due
        rows = [row for kind in range(4) for row in np.flatnonzero(labels == kind)[5:]]
        first = [groups.offered(x[row])[:1] for row in rows]
        found[count] = np.mean([bool(f) and f[0][0] == str(labels[r]) for f, r in zip(first, rows)])
    assert found[20] > 1.5 * found[4] > 0


def test_the_more_was_taught_the_less_near_it_must_be(kinds):
    few, many = taught(kinds, 2), taught(kinds, 25)
    assert few.least > many.least
    assert many.least == pytest.approx(2.55 - 0.3 / 2)
