"""Sessions: rounds are records; undo, branch and resume are the same; every bad move is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.evaluation.users import SimulatedUser
from likewise.session import (
    ArrayHoldings,
    Kept,
    MemoryRounds,
    Settings,
    TargetSession,
    kept_metrics,
    simulate,
)
from likewise.session.draft import closest_first
from likewise.session.kept import inherited
from likewise.session.learning import Order, in_words
from likewise.session.scan import random_hundred, representatives
from likewise.types import BadInput, NotFound

BLOCKS = {"colour": slice(0, 4), "texture": slice(4, 7)}


def world(n: int = 150, seed: int = 0) -> ArrayHoldings:
    rng = np.random.default_rng(seed)
    return ArrayHoldings(rng.normal(size=(n, 7)), BLOCKS, ids=np.arange(n) * 3 + 10)


def begin(holdings=None, n: int = 8, **more) -> TargetSession:
    more.setdefault("query", 10)
    own = more.pop("settings", Settings(shown=n, layout="none"))
    return TargetSession.start(holdings or world(), more.pop("rounds", MemoryRounds()), own, **more)


def play(session: TargetSession, rounds: int) -> None:
    for _ in range(rounds):
        shown = session.board.shown
        session.next(shown[0], moved=shown[1:6])


# Boards


def test_the_first_board_is_nearest_to_the_query():
    holdings = world()
    session = begin(holdings)
    d = ((holdings.vectors - holdings.vectors[0]) ** 2) @ session.board.weights
    assert list(session.board.shown) == holdings.ids[np.argsort(d, kind="stable")[1:9]].tolist()


def test_nothing_is_shown_twice_and_what_is_left_is_counted():
    session = begin()
    seen = [10, *session.board.shown]
    for _ in range(6):
        play(session, 1)
        seen += session.board.shown
        assert session.board.left == 150 - len(seen)
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("layout", ["board", "grid"])
def test_every_picture_has_a_place(layout):
    session = begin(settings=Settings(shown=12, layout=layout))
    play(session, 1)
    assert len(session.board.positions) == 12
    assert np.isfinite(session.board.positions).all()


def test_pins_stay_on_the_board_and_say_nothing():
    a, b = begin(), begin()
    shown = a.board.shown
    a.next(shown[0], moved=shown[1:4])
    b.next(shown[0], moved=shown[1:4], pinned=[shown[6]])
    assert b.board.shown[0] == shown[6]
    assert len(b.board.shown) == 8
    assert b.board.weights == pytest.approx(a.board.weights)


def test_moves_by_place_are_moves_by_distance_to_the_centre():
    a, b = begin(), begin()
    one, two, three = a.board.shown[1:4]
    a.next(a.board.shown[0], moved=[two, one, three])
    b.next(b.board.shown[0], moved={one: (0.5, 0.2), two: (0.55, 0.5), three: (0.05, 0.05)})
    assert a.board.shown == b.board.shown


def test_pictures_put_equally_far_have_no_order():
    def learned(two, three):
        session = begin(world(seed=4), settings=Settings.by("paper", shown=8, layout="none"))
        a, b, c, d, e = session.board.shown[:5]
        session.next(moved={a: (0.5, 0.4), b: two, c: three, d: (0.2, 0.2)}, discarded=[e])
        said = [chain for _, chain in session.orderings()]
        assert said[-1] == (d, e)
        return session.board.weights, said[:-1], (a, b, c, d)

    tied, pairs, (a, b, c, d) = learned((0.5, 0.3), (0.7, 0.5))
    turned, _, _ = learned((0.7, 0.5), (0.5, 0.3))
    np.testing.assert_allclose(tied, turned, rtol=1e-9)
    assert sorted(pairs) == sorted([(a, b), (a, c), (b, d), (c, d)])
    untied, chain, _ = learned((0.5, 0.3), (0.71, 0.5))
    assert not np.allclose(tied, untied)
    assert chain == [(a, b, c, d)]


def test_the_next_closest_bring_the_target_sooner():
    holdings = world(400, seed=1)
    rounds = {0: [], 2: []}
    for target in range(0, 60, 3):
        for named, found in rounds.items():
            session = begin(holdings, query=int(holdings.ids[399]))
            d = ((holdings.vectors - holdings.vectors[target]) ** 2).sum(axis=1)
            while int(holdings.ids[target]) not in session.board.shown:
                near = sorted(session.board.shown, key=lambda i: d[(i - 10) // 3])
                session.next(near[0], closer=closest_first(near[1 : 1 + named], near[1:]))
            found.append(session.board.depth)
    assert np.mean(rounds[2]) < 0.85 * np.mean(rounds[0]), rounds


def test_the_ways_of_a_search():
    assert Settings.by(shown=9) == Settings(shown=9)
    assert Settings.by("paper") == Settings(use_filter=False, accumulate=False)
    assert Settings.by("paper", "all") == Settings(use_filter=False)
    with pytest.raises(BadInput, match="'ours' or 'paper'"):
        Settings.by("other")
    with pytest.raises(BadInput, match="'all' or the 'latest'"):
        Settings.by(orders="none")


def test_a_discard_is_farther_than_every_moved_picture():
    holdings = world(seed=4)
    session = begin(holdings, settings=Settings(shown=8, use_filter=False, layout="none"))
    shown = session.board.shown
    session.next(moved=shown[:3], discarded=shown[3:5])
    rows = np.searchsorted(holdings.ids, shown)
    d = ((holdings.vectors[rows] - holdings.vectors[0]) ** 2) @ session.board.weights
    alone = begin(holdings, settings=Settings(shown=8, use_filter=False, layout="none"))
    alone.next(moved=shown[:3])
    before = ((holdings.vectors[rows] - holdings.vectors[0]) ** 2) @ alone.board.weights
    kept = (d[:3].max() < d[3:5]).sum()
    assert kept >= (before[:3].max() < before[3:5]).sum()
    assert len(session.orderings()) == 3


def test_the_words_say_what_the_metric_listens_to():
    holdings = world(seed=2)
    user = SimulatedUser(holdings.vectors[:, BLOCKS["colour"]])
    session = begin(holdings, n=15)
    rng = np.random.default_rng(0)
    for _ in range(4):
        rows = np.searchsorted(holdings.ids, session.board.shown)
        order = user.order(int(rows[0]), rows, rng)
        session.next(session.board.shown[0], moved=holdings.ids[order].tolist())
    assert session.board.shares["colour"] > 0.7
    assert session.board.words.startswith("colour ")
    assert sum(session.board.views.values()) == pytest.approx(1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_percents_sum_to_a_hundred(shares):
    total = sum(shares)
    if total < 1e-6:
        assert in_words(dict.fromkeys("a", 0.0)) == "no block of features"
        return
    words = in_words({f"block{i}": s / total for i, s in enumerate(shares)})
    assert sum(int(part.split()[1]) for part in words.split(", ")) == 100


# Going back and going on


def test_undo_and_the_same_moves_give_the_same_board():
    session = begin()
    play(session, 2)
    third = session.board
    session.undo()
    play(session, 1)
    assert session.board.shown == third.shown
    assert session.board.round != third.round  # a branch of its own


def test_a_branch_forgets_what_the_other_saw():
    session = begin()
    first = session.board.round
    play(session, 3)
    session.go_to(first)
    assert session.board.left == 150 - 9
    play(session, 1)
    assert session.board.left == 150 - 9 - 8
    assert len(session._rounds.trail(session.board.round)) == 2


def test_resumed_after_a_restart_it_goes_on_alike(tmp_path):
    from likewise.store import Store

    holdings = world()
    with Store.open(tmp_path / "data", write=True, create=True) as store:
        session = begin(holdings, rounds=store.sessions)
        play(session, 2)
        number, board = session.id, session.board
        times = store.sessions.round(board.round).seconds
        assert set(times) == {"learn", "match", "layout"}
        play(session, 1)
        expected = session.board.shown
    with Store.open(tmp_path / "data", write=True) as store:
        again = TargetSession.resume(holdings, store.sessions, number, round=board.round)
        assert again.board.shown == board.shown
        play(again, 1)
        assert again.board.shown == expected
        again.found(again.board.shown[0], keep=True)
        (kept,) = kept_metrics(store.sessions, holdings)
        assert kept.weights == pytest.approx(again.board.weights)
        assert len(kept.orders) == 3  # those of the branch that it ended on
        assert kept.orders[-1].chain.shape == (6, 7)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.sampled_from(["play", "undo", "hundred"]), max_size=6))
def test_any_way_through_a_session_is_resumed_where_it_was(steps):
    holdings, rounds = world(80), MemoryRounds()
    session = begin(holdings, rounds=rounds, n=5)
    for step in steps:
        if step == "play" and len(session.board.shown) >= 2:
            play(session, 1)
        elif step == "undo" and session.board.depth:
            session.undo()
        elif step == "hundred":
            session.another_hundred()
    again = TargetSession.resume(holdings, rounds, session.id, round=session.board.round)
    assert again.board.shown == session.board.shown
    assert again.board.left == session.board.left


# Beginnings


def test_without_a_query_it_begins_with_representatives():
    holdings = world()
    session = begin(holdings, query=None)
    assert session.board.query is None
    assert len(set(session.board.shown)) == 8
    spread = representatives(holdings, session.board.weights, 8)
    assert sorted(session.board.shown) == sorted(spread.tolist())
    board = session.next(session.board.shown[2])  # a choice alone is enough to go on
    assert board.query == session._rounds.round(1).payload["shown"][2]


def test_representatives_stand_for_every_cluster():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 40)
    x = 8 * rng.normal(size=(6, 5))[labels] + rng.normal(size=(240, 5))
    chosen = representatives(ArrayHoldings(x), np.ones(5), 6)
    assert set(labels[chosen]) == set(range(6))


def test_a_random_hundred_and_another():
    session = begin(world(250), query=None, begin="random")
    first = set(session.board.shown)
    second = set(session.another_hundred().shown)
    third = session.another_hundred()
    assert len(first) == len(second) == 100
    assert not first & second
    assert len(third.shown) == 50
    assert not third.left
    assert len(random_hundred(world(), without=world().ids)) == 0


def test_it_begins_from_a_vector_or_from_the_hits_of_words():
    holdings = world()
    own = begin(holdings, query=None, vector=holdings.vectors[7] + 0.01)
    assert own.board.query is None
    assert own.board.shown[0] == holdings.ids[7]
    own.next(moved=own.board.shown[:4])  # ordered by nearness to the vector
    assert own.orderings() == []  # whose query is no item: nothing to keep
    words = begin(holdings, query=None, first=[25, 19, 25, 4_000])
    assert words.board.shown == (25, 19)


def kept_of(holdings, weights, sessions=12, orders=3, seed=0):
    """Kept sessions of people who all judge by some weights; random orders where there are none."""
    rng, kept = np.random.default_rng(seed), []
    for _ in range(sessions):
        said = []
        for _ in range(orders):
            rows = rng.choice(len(holdings.ids), 9, replace=False)
            gap = np.square(holdings.vectors[rows[1:]] - holdings.vectors[rows[0]]).astype(float)
            by = rng.random(8) if weights is None else gap @ weights
            chain = np.vstack([np.zeros((1, 7)), gap[np.argsort(by)]])
            said.append(Order(chain, np.zeros((0, 7)), np.arange(-1, 8)))
        kept.append(Kept(holdings.vectors[rows[0]], np.ones(7), tuple(said)))
    return kept


def test_kept_sessions_teach_later_ones():
    holdings = world()
    plain = begin(holdings)
    colour = np.where(np.arange(7) < 4, plain.board.weights, 0)
    taught = begin(holdings, kept=kept_of(holdings, colour))
    assert plain.board.shares["colour"] == pytest.approx(0.5, abs=0.05)
    assert taught.board.shares["colour"] > 0.95
    shown = taught.board.shown
    taught.next(shown[0], moved=shown[1:3])  # two pictures do not make it forget
    assert taught.board.shares["colour"] > 0.8
    assert "kept sessions" in taught.board.views
    again = TargetSession.resume(holdings, taught._rounds, taught.id)
    assert again.next(again.board.shown[0]).views.keys() == taught.board.views.keys()


def test_kept_sessions_that_foretell_nothing_are_not_believed():
    holdings = world()
    plain = begin(holdings).board
    for kept in (
        kept_of(holdings, None, sessions=30),
        kept_of(holdings, plain.weights),  # nothing to gain
        kept_of(holdings, np.eye(7)[0], sessions=2),  # too few to vouch for each other
        [Kept(holdings.vectors[i], np.eye(7)[0]) for i in range(9)],  # no orders
    ):
        session = begin(holdings, kept=kept)
        assert session.board.weights == pytest.approx(plain.weights)
        assert session.board.shown == plain.shown


def test_the_nearest_kept_sessions_are_asked_first(monkeypatch):
    holdings = world()
    scale = begin(holdings).board.weights
    here, there = holdings.vectors[0], holdings.vectors[0] + 100
    near = [k._replace(query=here) for k in kept_of(holdings, scale * np.eye(7)[0])]
    far = [k._replace(query=there) for k in kept_of(holdings, scale * np.eye(7)[6], seed=1)]
    monkeypatch.setattr("likewise.session.kept.POOLED", 330)  # about as many as one kind has
    for query, dimension in ((here, 0), (there, 6)):
        weights = inherited([*far, *near], query, scale)
        assert (weights / scale).argmax() == dimension


# Bad input


def test_more_pictures_than_are_left_shows_what_is_left_and_says_so():
    session = begin(world(12), n=9)
    play(session, 1)
    assert len(session.board.shown) == 2
    assert "Only 2" in session.board.notes[0]
    session.next(session.board.shown[0])
    assert session.board.shown == ()
    assert "Every item has been shown" in session.board.notes[0]


def test_moves_of_pictures_that_are_not_on_the_board_are_refused():
    session = begin()
    other = next(int(i) for i in world().ids if i not in session.board.shown and i != 10)
    for wrong in ({"moved": [other]}, {"discarded": [other]}, {"pinned": [other]}):
        with pytest.raises(BadInput, match="not on the board"):
            session.next(**wrong)
    with pytest.raises(BadInput, match="both moved and discarded"):
        session.next(moved=session.board.shown[:2], discarded=session.board.shown[:1])
    assert session.board.depth == 0


def test_an_order_of_one_picture_teaches_nothing_and_says_so():
    session = begin()
    before = session.board.weights
    session.next(moved=session.board.shown[:1])
    assert session.board.weights == pytest.approx(before)
    assert "One picture" in session.board.notes[0]


def test_items_may_go_during_a_session():
    holdings = world()
    session = begin(holdings)
    play(session, 1)
    board = session.board
    keep = ~np.isin(holdings.ids, [board.shown[0], board.shown[2], board.query])
    left = ArrayHoldings(holdings.vectors[keep], BLOCKS, holdings.ids[keep])
    again = TargetSession.resume(left, session._rounds, session.id)
    assert again.board.shown == board.shown[1:2] + board.shown[3:]
    with pytest.raises(NotFound, match="any more"):
        again.next(board.shown[0])
    with pytest.raises(NotFound, match="any more"):
        again.found(board.shown[2])
    play(again, 2)
    assert not set(again.board.shown) & {board.shown[0], board.shown[2]}
    again.give_up()


def test_a_query_that_is_the_target_ends_the_search():
    rounds = MemoryRounds()
    session = begin(rounds=rounds)
    session.found(10, keep=True)
    assert rounds.get(session.id).outcome["found"] == 10
    with pytest.raises(BadInput, match="has ended"):
        session.next(session.board.shown[0])
    with pytest.raises(BadInput, match="has ended"):
        session.give_up()


def test_beginnings_that_cannot_be_are_refused():
    for wrong, message in (
        ({"query": 11}, "no item 11"),
        ({"query": None, "first": [3]}, "None of the items"),
        ({"query": None, "begin": "anyhow"}, "representatives"),
        ({"query": None, "vector": [1.0]}, "were they made"),
        ({"settings": Settings(learn_on=("smell",))}, "no block 'smell'"),
    ):
        with pytest.raises((BadInput, NotFound), match=message):
            begin(**wrong)
    with pytest.raises(BadInput, match="nothing to search"):
        begin(ArrayHoldings(np.zeros((0, 7)), BLOCKS))
    with pytest.raises(BadInput, match="first board"):
        begin().undo()
    rounds = MemoryRounds()
    begin(rounds=rounds)
    other = begin(rounds=rounds, query=None)
    with pytest.raises(BadInput, match="another session"):
        other.go_to(1)
    with pytest.raises(BadInput, match="choose one first"):
        other.next(moved=other.board.shown[:3])
    with pytest.raises(BadInput, match="at least one picture"):
        Settings(shown=0)
    with pytest.raises(BadInput, match="whole number"):
        Settings(power=0)
    with pytest.raises(BadInput, match="between 0 and 1"):
        Settings(mistake=1.5)
    with pytest.raises(BadInput, match="ascending"):
        ArrayHoldings(np.zeros((2, 2)), ids=[3, 3])


def test_items_that_are_all_alike_can_be_searched():
    session = begin(ArrayHoldings(np.ones((30, 7)), BLOCKS), query=0)
    play(session, 2)
    assert len(session.board.shown) == 8


# Simulation


def test_learning_beats_not_learning_and_the_filter_beats_both():
    holdings = world(600, seed=9)
    user = SimulatedUser(holdings.vectors[:, BLOCKS["colour"]])
    texture = np.r_[np.zeros(4), np.ones(3)]

    def mean(**more):
        own = {"sessions": 25, "most": 15, "weights": texture}
        return float(simulate(holdings, user, **own, **more).rounds.mean())

    stuck = mean(
        settings=Settings(shown=8, use_filter=False), learn=lambda orders, before: (before, ())
    )
    learned = mean(settings=Settings(shown=8, use_filter=False))
    filtered = mean(settings=Settings(shown=8))
    assert filtered < learned < stuck


def test_simulations_agree_and_keep_what_was_found():
    holdings, shelf = world(100), MemoryRounds()
    user = SimulatedUser(holdings.vectors)
    a = simulate(holdings, user, sessions=5, most=6, settings=Settings(shown=6))
    b = simulate(holdings, user, sessions=5, most=6, settings=Settings(shown=6), keep=shelf)
    assert np.array_equal(a.rounds, b.rounds)
    curve = [a.share(by) for by in range(1, a.most + 1)]
    assert curve == sorted(curve)
    assert len(kept_metrics(shelf, holdings)) == int((a.rounds <= 6).sum())
    with pytest.raises(BadInput, match="two items"):
        simulate(world(1), user)
