"""Keys of programs: only a hash is kept, and a removed one opens nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from likewise.store import Store
from likewise.store.keys import SCOPES
from likewise.types import BadInput, NotFound


def test_a_key_opens_until_it_is_removed(store: Store, folder: Path) -> None:
    made, text = store.keys.add("shop", "click")
    other, more = store.keys.add("lab")
    assert (made.name, made.scope, other.scope) == ("shop", "click", "search")
    assert store.keys.find(text) == made
    assert store.keys.find(more) == other
    assert store.keys.all() == [made, other]
    others = [text.replace("-1-", f"-{n}-") for n in (2, 9, "9" * 30, "x")]
    for wrong in ("", "x", text[:-1], text + "a", text.upper(), *others):
        assert store.keys.find(wrong) is None
    store.close()
    secret = text.rpartition("-1-")[2].encode()
    assert not any(secret in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    with Store.open(folder, write=True) as again:
        assert again.keys.find(text) == made  # it outlives a restart
        again.keys.remove("shop")
        assert again.keys.find(text) is None
        fresh, _ = again.keys.add("shop", "teach")
        assert fresh.id > other.id  # a number is never used twice
        assert again.keys.find(text) is None


def test_each_scope_includes_those_before(store: Store) -> None:
    for reach, scope in enumerate(SCOPES):
        key, _ = store.keys.add(scope, scope)
        assert [key.may(other) for other in SCOPES] == [n <= reach for n in range(len(SCOPES))]


def test_bad_input(store: Store) -> None:
    store.keys.add("shop")
    with pytest.raises(BadInput, match="There is a key named 'shop'"):
        store.keys.add("shop")
    for name in ("", " x", "a\nb", "a/b", "x" * 65):
        with pytest.raises(BadInput, match="1 to 64 letters"):
            store.keys.add(name)
    with pytest.raises(BadInput, match="one of search, click, teach, administer, not 'all'"):
        store.keys.add("lab", "all")
    with pytest.raises(NotFound, match="no key named 'lab'"):
        store.keys.remove("lab")
    assert len(store.keys.all()) == 1
