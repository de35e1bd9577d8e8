"""Ranked CCA's descent: equal to its dense self, guarded, and able to learn."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from benchmarks import rcca as benchmark
from benchmarks.rcca_by_hand import descend_dense, literal
from experiments.report import Report
from likewise.solvers.rcca import (
    Model,
    Settings,
    State,
    Triplets,
    agreement,
    differences,
    objective_of,
    rcca,
    scaled,
)
from likewise.solvers.rcca_descent import stream


def problem(seed: int, n: int = 300, words: int = 30, dims: int = 8, d: int = 4):
    rng = np.random.default_rng(seed)
    T = sparse.random_array((20, words), density=0.15, rng=rng, format="csr")
    X = rng.normal(size=(25, dims))
    triplets = (*(rng.integers(0, k, n) for k in (20, 25, 25)), rng.random(n))
    start = Model(*(0.4 * rng.normal(size=s) for s in ((words, d), (d, d), (dims, d))))
    return T, X, triplets, start


def planted(seed: int, n: int = 20_000):
    """Words that mean directions of the pictures; triplets follow a true model."""
    rng = np.random.default_rng(seed)
    T = sparse.random_array((400, 60), density=0.05, rng=rng, format="csr")
    X = rng.normal(size=(300, 20)) / 20**0.5
    true = Model(rng.normal(size=(60, 3)), np.eye(3), rng.normal(size=(20, 3)))
    q, a, b = (rng.integers(0, k, n) for k in (400, 300, 300))
    ahead = differences(true, T, X, Triplets.of(T, X, q, a, b)) > 0
    return T, X, (q, np.where(ahead, a, b), np.where(ahead, b, a))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    step=st.sampled_from([1e-3, 0.05]),
    decay=st.tuples(*[st.sampled_from([0.0, 1.0, 30.0, 3000.0])] * 3),
    learn_w=st.booleans(),
)
def test_lazy_equals_dense(seed, step, decay, learn_w):
    T, X, triplets, start = problem(seed)
    mu, gamma, eta = decay
    how = Settings(step=step, mu=mu, gamma=gamma, eta=eta, learn_w=learn_w, rounds=1)
    made = Triplets.of(T, X, *triplets)
    found = rcca(T, X, triplets, start, how)
    now, mean = descend_dense(T, X, made, stream(made.size, 0, made.size, 0), start, how)
    for ours, theirs in ((found.state.current, now), (found.model, mean)):
        for a, b in zip(ours, theirs):
            assert np.abs(a - b).max() <= 1e-10 * max(1.0, np.abs(b).max())


def test_objective_and_gradient_agree_with_differences():
    T, X, triplets, start = problem(5)
    made, how = Triplets.of(T, X, *triplets), Settings(mu=2.0, gamma=3.0, eta=4.0)
    anchor = Model(*(m + 0.1 for m in start))
    scores = ((T @ start.wq) @ start.w) @ (X @ start.wv).T
    gap = scores[made.query, made.better] - scores[made.query, made.worse]
    loss = (np.maximum(0, 1 - gap) * made.weight).sum()
    penalty = (start.w**2).sum() + 1.5 * 0.01 * start.wq.size + 2.0 * 0.01 * start.wv.size
    objective, norm = objective_of(start, anchor, T, X, made, how)
    assert np.isclose(objective * made.size, loss + penalty)
    # A small step against the numeric gradient must see the same slope.
    total = 0.0
    for part, matrix in enumerate(start):
        for place in np.ndindex(matrix.shape):
            ends = []
            for sign in (1e-6, -1e-6):
                moved = [m.copy() for m in start]
                moved[part][place] += sign
                ends.append(objective_of(Model(*moved), anchor, T, X, made, how)[0])
            total += ((ends[0] - ends[1]) / 2e-6) ** 2
    assert np.isclose(np.sqrt(total), norm, rtol=1e-4)


def test_planted_preferences_are_learned():
    T, X, triplets = planted(0)
    rng = np.random.default_rng(1)
    start = Model(rng.normal(size=(60, 5)), np.eye(5), rng.normal(size=(20, 5)))
    held = tuple(c[-3000:] for c in triplets)
    train = tuple(c[:-3000] for c in triplets)
    start = scaled(start, T, X, train, 0.5)
    how = Settings(step=0.1, rounds=30, round_size=17_000, patience=3)
    found = rcca(T, X, train, start, how, held_out=held)
    assert found.state.history[0] < 0.65
    assert found.state.score > 0.85
    assert found.state.score == max(found.state.history)
    assert agreement(found.model, T, X, Triplets.of(T, X, *held)) == found.state.score


def test_held_out_triplets_stop_the_run_and_the_start_may_win():
    T, X, triplets = planted(2, n=400)
    backwards = triplets[0], triplets[2], triplets[1]
    start = Model(*(np.random.default_rng(3).normal(size=s) for s in ((60, 3), (3, 3), (20, 3))))
    better = rcca(T, X, triplets, start, Settings(step=0.05, rounds=20)).model
    found = rcca(
        T, X, backwards, better, Settings(step=0.05, rounds=50, patience=2), held_out=triplets
    )
    assert found.model is found.state.anchor
    assert found.state.rounds == 2
    judged = rcca(T, X, triplets, start, Settings(rounds=5), held_out=lambda model: 0.0)
    assert judged.state.rounds == 2


def test_a_run_goes_on_where_it_stopped():
    T, X, triplets, start = problem(6)
    how = Settings(step=0.05, rounds=5, round_size=120, patience=9)
    held = tuple(c[:50] for c in triplets)
    whole = rcca(T, X, triplets, start, how, held_out=held)
    half = rcca(T, X, triplets, start, dataclasses.replace(how, rounds=2), held_out=held)
    arrays, written = half.state.to_arrays()
    assert all(a.dtype == np.float64 for a in arrays.values())
    state = State.from_arrays(arrays, written)
    again = rcca(T, X, triplets, start, how, held_out=held, state=state)
    assert again.state.history == whole.state.history
    assert all(np.array_equal(a, b) for a, b in zip(again.model, whole.model))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_round_can_be_written_down_as_json_and_gone_on_from(threads):
    T, X, triplets, start = problem(6)
    how = Settings(step=0.05, rounds=4, round_size=120, threads=threads)
    states: list[State] = []
    whole = rcca(T, X, triplets, start, how, keep=states.append)
    assert [state.rounds for state in states] == [1, 2, 3, 4]
    arrays, written = states[1].to_arrays()
    assert np.isnan(written["score"])  # nothing was held out, and JSON writes null for that
    text = json.dumps({**written, "score": None, "history": [None] * len(written["history"])})
    state = State.from_arrays(arrays, json.loads(text))
    again = rcca(T, X, triplets, start, how, state=state)
    assert all(np.array_equal(a, b) for a, b in zip(again.model, whole.model))


def test_an_endless_row_of_epochs():
    whole = stream(7, 0, 30, 1)
    assert np.array_equal(whole, np.concatenate([stream(7, 0, 5, 1), stream(7, 5, 25, 1)]))
    for at in range(0, 28, 7):
        assert sorted(whole[at : at + 7]) == list(range(7))


def test_threads_give_one_answer_each_and_learn_alike():
    T, X, triplets = planted(7)
    start = Model(*(np.random.default_rng(8).normal(size=s) for s in ((60, 4), (4, 4), (20, 4))))
    start = scaled(start, T, X, triplets, 0.5)
    made = Triplets.of(T, X, *triplets)
    scores = {}
    for threads in (1, 2, 3):
        how = Settings(step=0.1, rounds=6, threads=threads)
        one, two = (rcca(T, X, triplets, start, how).model for _ in range(2))
        assert all(np.array_equal(a, b) for a, b in zip(one, two))
        scores[threads] = agreement(one, T, X, made)
    assert min(scores.values()) > agreement(start, T, X, made) + 0.1
    assert max(scores.values()) - min(scores.values()) < 0.05


def test_a_run_that_explodes_stops_with_the_last_good_state():
    T, X, triplets, start = problem(9)
    found = rcca(T, X, triplets, start, Settings(step=1e6, mu=0, gamma=0, eta=0, rounds=5))
    assert "smaller step" in found.state.note
    assert all(np.isfinite(m).all() for m in (*found.model, *found.state.current))
    assert found.model is found.state.anchor
    again = Settings(step=1e6, mu=0, gamma=0, eta=0, rounds=9)
    more = rcca(T, X, triplets, start, again, state=found.state)
    assert more.state is found.state


def test_the_printed_algorithm_forgets_and_ours_does_not():
    T, X, triplets = planted(10, n=4000)
    start = Model(*(np.random.default_rng(11).normal(size=s) for s in ((60, 3), (3, 3), (20, 3))))
    start = Model(start.wq * 0.5, np.eye(3), start.wv * 0.5)
    made = Triplets.of(T, X, *triplets)
    how = Settings(step=0.07, rounds=1)
    printed = literal(T, X, made, stream(4000, 0, 4000, 0), start, how)
    ours = rcca(T, X, triplets, start, how).model
    assert agreement(ours, T, X, made) > agreement(printed, T, X, made) + 0.05


def test_scaling_sets_the_mean_difference_and_evens_both_sides():
    T, X, triplets, start = problem(12)
    lopsided = Model(start.wq * 50, start.w, start.wv * 3)
    out = scaled(lopsided, T, X, triplets, 2.0)
    made = Triplets.of(T, X, *triplets)
    assert np.isclose(np.abs(differences(out, T, X, made)).mean(), 2.0)
    sides = [np.sqrt(((m @ w) ** 2).sum(1).mean()) for m, w in ((T, out.wq), (X, out.wv))]
    assert np.isclose(*sides)
    nothing = Model(start.wq * 0, start.w, start.wv)
    assert scaled(nothing, T, X, triplets, 1.0) is nothing


def test_no_triplets_leave_the_start():
    T, X, _, start = problem(13)
    found = rcca(T, X, ((), (), ()), start)
    assert all(np.array_equal(a, b) for a, b in zip(found.model, start))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"how": Settings(step=0.0)}, "step must be"),
        ({"how": Settings(gamma=-1.0)}, "step must be"),
        ({"how": Settings(threads=4)}, "threads"),
        ({"how": Settings(patience=0)}, "patience"),
        ({"how": Settings(step=1.0, mu=1e9)}, "number of triplets"),
        ({"triplets": ([99], [0], [0])}, "query"),
        ({"triplets": ([0], [0], [0, 1])}, "one length"),
        ({"triplets": ([0], [0], [1], [-1.0])}, "negative"),
        ({"start": Model(np.ones((3, 2)), np.eye(2), np.ones((8, 2)))}, "wq of the start"),
        ({"start": Model(np.ones((30, 2)), np.eye(2), np.full((8, 2), np.nan))}, "finite"),
    ],
)
def test_bad_input_is_refused(change, words):
    T, X, triplets, start = problem(14)
    given = {"triplets": triplets, "start": start, "how": Settings()} | change
    with pytest.raises(ValueError, match=words):
        rcca(T, X, given["triplets"], given["start"], given["how"])


def test_nothing_handed_in_is_changed():
    T, X, triplets, start = problem(15)
    kept = [a.copy() for a in (T.data, X, *triplets, *start)]
    rcca(T, X, triplets, start, Settings(step=0.1, rounds=2))
    for before, now in zip(kept, (T.data, X, *triplets, *start)):
        assert np.array_equal(before, now)


# -- the benchmark ---------------------------------------------------------------


def test_quick_benchmark_says_what_it_promises():
    report = Report("rcca", quick=True)
    benchmark.main(report)
    assert {row.get("peer") for row in report.rows} >= {"as printed", "dense", "one faiss scan"}
    gaps = [row["gap"] for row in report.rows if "gap" in row]
    assert len(gaps) == 1
    assert gaps[0] < 1e-10
    assert {row["threads"] for row in report.rows if "threads" in row} == {1, 2, 3}
