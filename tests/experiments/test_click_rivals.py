"""What ranked CCA is compared with learns the same world; PAMIR equals its formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.rivals.cca import fit_cca
from experiments.rivals.pamir import fit_pamir, pamir
from experiments.rivals.psi import fit_psi, random_start
from likewise.learners.clicks import Clicks
from likewise.solvers.rcca_descent import stream
from tests.learners.test_clicks import World
from tests.solvers.test_rcca import planted, problem


def test_every_rival_learns_the_same_world():
    world = World()
    q, i, _ = world.clicks
    how = {"rounds": 5, "round_size": 4_000}
    start = random_start(world.rows.shape[1], 16, 6)
    args = world.space, world.x, world.preferences, world.rows
    models = {
        "cca": fit_cca(world.space, world.x, world.rows, (q, i), dim=6),
        "weighted": fit_cca(world.space, world.x, world.rows, (q, i), dim=6, weighted=True),
        "pamir": fit_pamir(*args, C=0.1),
        "psi": fit_psi(*args, start=start, margin=0.3, step=0.1, **how),
    }
    for name, model in models.items():
        assert isinstance(model, Clicks)
        assert world.precision(model) > 0.7, name


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), C=st.sampled_from([0.01, 0.3, 10.0]))
def test_pamir_equals_its_formula(seed, C):
    T, X, triplets, _ = problem(seed, n=80)
    m, mean, rows = np.zeros((30, 8)), np.zeros((30, 8)), T.toarray()
    for t in stream(80, 0, 80, 0):
        q, gap = rows[triplets[0][t]], X[triplets[1][t]] - X[triplets[2][t]]
        loss, size = 1 - q @ m @ gap, (q @ q) * (gap @ gap)
        if loss > 0 and size > 0:
            m = m + min(C * triplets[3][t], loss / size) * np.outer(q, gap)
        mean += m / 80
    assert np.allclose(pamir(T, X, triplets, C=C).m, mean, atol=1e-10)


def test_pamir_learns_and_refuses():
    T, X, triplets = planted(16)
    found = pamir(T, X, triplets, C=0.1)
    assert found.objective < 0.6
    assert found.m.any()
    assert not pamir(T, X, ((), (), ())).m.any()
    with pytest.raises(ValueError, match="above zero"):
        pamir(T, X, triplets, C=0.0)
