"""While pictures come in there is an index after a few, and one whenever they have doubled."""

from __future__ import annotations

import numpy as np
import pytest

import likewise
from likewise.collection.lines import building
from likewise.datasets import swatches
from likewise.intake import ingest as ingest_
from likewise.spaces import Blocks, BlockSpec

FEATURES = ("colour", "texture")
COUNT = 70


@pytest.fixture
def often(monkeypatch):
    """First index at 12 pictures; a commit every 6."""
    for module, name, value in (
        (ingest_, "COMMIT_EVERY", 6),
        (ingest_, "COMMIT_SECONDS", 1e9),
        (ingest_, "FIRST_SECONDS", 1e9),
        (likewise.collection.collection, "FIRST", 12),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many") / "pictures"
    swatches(COUNT, size=48, seed=3).write(folder, jobs=1)
    return folder


def copy_some(pictures, target, start, stop):
    target.mkdir(exist_ok=True)
    for path in sorted(pictures.glob("*.jpg"))[start:stop]:
        (target / path.name).write_bytes(path.read_bytes())
    return target


def test_searches_are_answered_long_before_the_end(pictures, tmp_path, often):
    folder = copy_some(pictures, tmp_path / "p", 0, COUNT)
    seen = []

    def progress(done, total):
        now = collection.store.generations.current()
        if now is not None:
            assert len(collection.search(1, k=5)) == 5
            assert not collection.look.view().degraded
        seen.append((done, 0 if now is None else now.items, len(collection)))

    with likewise.open(folder, create=True) as collection:
        collection.index(features=FEATURES, processes=1, progress=progress)
        sizes = sorted({items for _, items, _ in seen})
        assert sizes == [0, 12, 24, 48]
        assert all(items <= 2 * 6 + 6 or 3 * items > findable for _, items, findable in seen)
        # What was read since the last index can be found too.
        assert all(findable >= done - 6 for done, _, findable in seen if done >= 18)
        assert collection.store.generations.current().items == len(collection) == COUNT
        assert (
            collection.store.catalogue.number("SELECT COUNT(*) FROM spaces") == 1
        )  # those before were needed by nothing


def test_the_space_at_the_end_does_not_depend_on_how_pictures_came(pictures, tmp_path, often):
    spaces = []
    for name, first in (("a", 12), ("b", 10**9)):
        folder = copy_some(pictures, tmp_path / name, 0, COUNT)
        likewise.collection.collection.FIRST = first
        with likewise.open(folder, create=True) as collection:
            collection.index(features=FEATURES, processes=1)
            spaces.append(collection.look.view().space)
            again = collection.index(processes=1)
            assert again.embedded == 0
            assert collection.look.view().space == spaces[-1]
    assert spaces[0] == spaces[1]


def test_a_few_more_pictures_do_not_move_the_space(pictures, tmp_path):
    folder = copy_some(pictures, tmp_path / "p", 0, 40)
    with likewise.open(folder, create=True) as collection:
        collection.index(features=FEATURES, processes=1)
        before = collection.look.view().space
        copy_some(pictures, folder, 40, 60)
        collection.index(processes=1)
        assert collection.look.view().space == before
        copy_some(pictures, folder, 60, COUNT)
        for at, path in enumerate(sorted(folder.glob("*.jpg"))[:15]):
            (folder / f"other-{at}.jpg").write_bytes(path.read_bytes() + b"\0")
        collection.index(processes=1)
        assert len(collection) >= 80
        assert collection.look.view().space != before


@pytest.fixture
def taught(pictures, tmp_path):
    """Thirty pictures with marks, an active model and an open search for a target."""
    folder = copy_some(pictures, tmp_path / "p", 0, 30)
    with likewise.open(folder, create=True) as collection:
        collection.index(features=FEATURES, processes=1)
        for query in (1, 2, 3, 4):
            collection.mark(query, [10 + query, 15 + query], True)
            collection.mark(query, [20 + query], False)
        model = collection.learn(force=True)
        search = collection.targets.start()
        shown = search.board.shown
        search.next(query=shown[0], moved=[shown[1], shown[2], shown[3]])
        copy_some(pictures, folder, 30, COUNT)
        yield collection, model, search.id


def test_a_refit_learns_the_active_model_again(taught):
    collection, model, _ = taught
    collection.index(processes=1)
    view = collection.look.view()
    assert model.space != view.space
    renewed = collection.models.active()
    assert renewed.id > model.id
    assert (renewed.name, renewed.space) == (model.name, view.space)
    assert renewed.card["settings"] == model.card["settings"]
    assert collection.search(1, k=5).model == f"{renewed.id} {renewed.name}"
    # Marks are kept by item: those of the query still lead it.
    assert collection.search(1, k=1, model="plain").ids.tolist() == [11]
    assert 21 not in collection.search(1, k=10, model="plain").ids
    collection.build()
    assert collection.models.active().id == renewed.id


def test_a_refit_that_was_cut_short_is_made_good_by_the_next_index(taught, monkeypatch):
    collection, *_ = taught
    with monkeypatch.context() as patch:
        patch.setattr(collection.models, "renew", lambda: 1 / 0)  # as if the power had gone here
        with pytest.raises(ZeroDivisionError):
            collection.index(processes=1)
    assert collection.search(1, k=5).model == "plain"
    assert not collection.search(1, k=5).degraded
    collection.index(processes=1)
    assert collection.models.active().space == collection.look.view().space


def test_an_open_target_search_is_learned_again_from_its_orders(taught):
    collection, _, number = taught
    before = collection.targets.resume(number).board
    collection.index(processes=1)
    search = collection.targets.resume(number)
    assert search.board.shown == before.shown
    assert len(search.board.weights) == collection.look.view().plain.space.dim
    held = collection.targets.holdings()
    query, moved = search.orderings()[0]
    at = {int(i): x for i, x in zip(held.ids, held.vectors)}
    apart = [float(search.board.weights @ np.square(at[i] - at[query])) for i in moved]
    assert apart == sorted(apart)  # the metric keeps the order, in the new space
    assert search.next(query=search.board.shown[0]).shown
    assert collection.sessions.get(number).payload["space"] != collection.look.view().space


def test_a_large_or_imported_model_keeps_its_space(taught, monkeypatch):
    collection, model, _ = taught
    monkeypatch.setattr(building, "SMALL", 50)
    collection.index(processes=1)
    assert collection.look.view().space == model.space
    assert collection.models.active().id == model.id


def test_axes_of_few_pictures_are_those_of_the_scatter():
    rng = np.random.default_rng(0)
    few = rng.standard_normal((9, 30)) @ np.diag(np.linspace(3, 1, 30))
    space = Blocks.fit({"a": few}, {"a": BlockSpec(20, whiten=0.5)})
    arrays, _ = space.to_arrays()
    basis, centred = arrays["a.basis"].astype(float), few - few.mean(axis=0)
    values, axes = np.linalg.eigh(centred.T @ centred / 9)
    for column in range(8):  # nine pictures span eight axes around their mean
        axis, value = axes[:, -1 - column], values[-1 - column]
        assert abs(axis @ basis[:, column]) == pytest.approx(value**-0.25, rel=1e-5)
    assert not basis[:, 8:].any()  # of the others nothing is known, so they have no say
    assert space.dim == 20
