"""Forgetting in a collection: gone at once from every file, and exact answers until a build."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from likewise.collection import Collection
from likewise.store import forget as forgetting
from likewise.store import verify
from tests.collection.plain_store import make
from tests.store.test_forget import traces

GONE = [17, 33, 40]


@pytest.fixture(params=["flat", "faiss"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Collection:
    collection = make(tmp_path / "pictures", 0)
    collection.store.settings.set("engine", request.param)
    collection.close()
    return make(tmp_path / "pictures", 60)


def test_what_is_forgotten_is_in_no_file_and_the_rest_answers_exactly(served: Collection) -> None:
    view = served.look.view()
    rows = np.asarray(view.rows(GONE), np.float32)
    paths = [served.item(item).path for item in GONE]
    needles = [row.tobytes() for row in rows] + paths
    assert {needle for _, needle in traces(served.data, needles)} == set(needles)
    expected = [r.item for r in served.search([5], k=60).results if r.item not in GONE]
    number, kind = view.generation, served.store.generations.current().kind  # type: ignore[union-attr]
    del view

    assert served.forget(GONE).complete
    assert traces(served.data, needles) == []
    answer = served.search([5], k=60)
    assert [r.item for r in answer.results] == expected
    thinned = served.look.view()
    assert thinned.generation > number  # not withdrawn: nothing is encoded anew
    assert thinned.old is not None
    assert thinned.fresh is None
    assert ("exact scan" in answer.degraded) == (kind == "faiss")
    assert len(served.store.generations.all()) == 1

    assert served.build() > thinned.generation
    again = served.search([5], k=60)
    assert [r.item for r in again.results] == expected
    assert not again.degraded
    assert served.store.generations.current().kind == kind  # type: ignore[union-attr]
    assert verify(served.data) == []


def test_after_a_forget_views_follow_changes(
    served: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.forget(GONE)
    before = served.look.view()
    monkeypatch.setattr(type(served.look), "_opened", None)  # the generation is not read again
    served.store.items.remove([5])
    view = served.look.view()
    assert view.old is before.old
    assert view.degraded == before.degraded
    assert set(before.ids.tolist()) - set(view.ids.tolist()) == {5}


def test_rows_are_overwritten_where_they_lie(served: Collection) -> None:
    """A million vectors are not written anew for a few of them."""

    def inodes() -> set[int]:
        files = [*served.data.glob("segments/*.seg"), *served.data.glob("generations/*/codes.npy")]
        return {path.stat().st_ino for path in files}

    before = inodes()
    names = {path.name for path in served.data.glob("segments/*")}
    served.forget(GONE)
    assert inodes() == before
    assert names.isdisjoint(path.name for path in served.data.glob("segments/*"))
    served.forget([18])  # once more
    assert inodes() == before
    assert verify(served.data) == []
    with Collection.open(served.folder) as fresh:  # its checksums are right for everybody
        assert fresh.look.view().generation
        assert len(fresh.look.view()) == 56


def test_a_large_catalogue_is_rewritten_by_the_next_build(
    served: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    needle = served.item(17).path
    monkeypatch.setattr(forgetting, "SMALL", 0)
    rewritten = []
    scrub = served.store.catalogue.scrub

    def counted(*, rewrite: bool) -> bool:
        rewritten.append(rewrite)
        return scrub(rewrite=rewrite)

    monkeypatch.setattr(served.store.catalogue, "scrub", counted)
    assert not served.forget([17]).complete
    assert rewritten == [False]
    served.build()
    assert rewritten == [False, True]
    served.build()
    assert rewritten == [False, True]
    assert traces(served.data, [needle]) == []


def test_a_damaged_index_is_withdrawn_not_copied(served: Collection) -> None:
    made = served.store.generations.current()
    assert made is not None
    path = made.folder / "codes.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    served.close()
    with Collection.open(served.folder, write=True) as again:
        again.forget([17])
        assert again.store.generations.current() is None
        assert "No index" in again.search([5]).degraded
