"""The log: what was said comes back as it was said; undo takes back, undo of undo restores."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likewise.store import Store
from likewise.types import BadInput, Judgement, NotFound, QueryRef
from tests.store.conftest import add

PATHS = [b"a.jpg", b"b/\xff\n.jpg", "c \U0001f431.jpg".encode(), b"d.jpg"]
NAMES = [os.fsdecode(path) for path in PATHS]


@pytest.fixture
def log(store: Store) -> Store:
    add(store, PATHS)
    return store


def label(query: str = NAMES[0], items: tuple[str, ...] = (NAMES[1],), **more: object) -> Judgement:
    given = {"value": 1.0, "time": 12.5, "person": "ann", "source": "test", **more}
    return Judgement(QueryRef("item", query), items, "label", **given)  # type: ignore[arg-type]


def test_every_kind_round_trips(log: Store) -> None:
    upload = log.uploads.put(b"picture bytes")
    said = [
        label(),
        label(value=-1.0, items=tuple(NAMES[1:])),
        Judgement(QueryRef("upload", upload, (0.1, 0.2, 0.9, 1.0)), (NAMES[3],), "click", 7.0, 1.0),
        Judgement(QueryRef("text", "red car \U0001f697"), (NAMES[2],), "click", 1.0, 2.0),
        Judgement(QueryRef("item", NAMES[1]), (NAMES[2], NAMES[3], NAMES[0]), "ordering", 1.0, 3.0),
    ]
    numbers = log.judgements.add(said)
    assert numbers == sorted(numbers)
    assert list(log.judgements) == said
    assert len(log.judgements) == len(said)
    assert [r.judgement for r in log.judgements.records(after=numbers[1])] == said[2:]
    assert [r.judgement for r in log.judgements.records(person="ann")] == said[:2]
    assert [r.judgement for r in log.judgements.records(kind="ordering")] == said[4:]


def test_all_of_a_person_or_source_is_listed_and_undone(log: Store) -> None:
    a, b, c, d = log.judgements.add(
        [
            label(person="ann", source="web"),
            label(person="ann", source="shop"),
            label(person="bob", source="shop"),
            label(person="cleo", source="cli"),
        ]
    )
    listed = log.judgements.records
    assert [r.id for r in listed(person="ann", source="shop")] == [b]
    assert [r.id for r in listed(source="shop", upto=b)] == [b]
    with pytest.raises(BadInput, match="whose judgements"):
        log.judgements.undo_all()
    (undo,) = log.judgements.undo_all(by="ann", of="shop", person="dan", source="cli")
    assert [r.id for r in listed()] == [a, c, d]
    assert len(log.judgements.undo_all(of="shop")) == 1  # what was undone before stays so
    assert len(log.judgements.undo_all(by="ann")) == 1
    assert log.judgements.undo_all(by="nobody") == []
    assert [r.id for r in listed()] == [d]
    log.judgements.undo(undo)  # an undo is a record: it can be taken back too
    assert [r.id for r in listed()] == [b, d]


def test_a_time_of_zero_means_now(log: Store) -> None:
    log.judgements.add([label(time=0.0)])
    assert next(iter(log.judgements)).time > 1e9


def test_undo_is_a_record_and_can_be_undone(log: Store) -> None:
    first, second = log.judgements.add([label(), label(value=0.0)])
    undo = log.judgements.undo(first, person="bob")
    assert [r.id for r in log.judgements.records()] == [second]
    assert [(r.id, r.undone) for r in log.judgements.records(undone=True)] == [
        (first, True),
        (second, False),
    ]
    with pytest.raises(BadInput, match="undone before"):
        log.judgements.undo(first)
    log.judgements.undo(undo)
    assert [r.id for r in log.judgements.records()] == [first, second]
    log.judgements.undo(first)
    assert len(log.judgements) == 1
    with pytest.raises(NotFound, match="no judgement 99"):
        log.judgements.undo(99)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.integers(0, 30), max_size=15))
def test_undo_agrees_with_a_simple_model(log: Store, choices: list[int]) -> None:
    (start,) = log.judgements.add([label()])
    undos: dict[int, list[int]] = {start: []}

    def counts(number: int) -> bool:
        return not any(counts(undo) for undo in undos[number])

    for choice in choices:
        target = list(undos)[choice % len(undos)]
        if counts(target):
            number = log.judgements.undo(target)
            undos[target].append(number)
            undos[number] = []
        else:
            with pytest.raises(BadInput, match="undone before"):
                log.judgements.undo(target)
    assert (start in {r.id for r in log.judgements.records()}) == counts(start)


def test_a_key_writes_once(log: Store) -> None:
    first = log.judgements.add([label(), label(value=2.0)], ["k1", "k2"])
    assert log.judgements.add([label(), label(value=2.0)], ["k1", "k2"]) == first
    assert len(log.judgements) == 2
    with pytest.raises(BadInput, match="another judgement"):
        log.judgements.add([label(value=3.0)], ["k1"])
    undo = log.judgements.undo(first[0], key="u1")
    assert log.judgements.undo(first[0], key="u1") == undo
    with pytest.raises(BadInput, match="one key for each"):
        log.judgements.add([label()], ["a", "b"])


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (label(items=()), "at least 1"),
        (label(items=(NAMES[1], NAMES[1])), "different items"),
        (Judgement(QueryRef("text", "x"), (NAMES[0],), "ordering"), "at least 2"),
        (label(value=float("nan")), "finite"),
        (Judgement(QueryRef("text", "x"), (NAMES[0],), "mark"), "not 'mark'"),  # type: ignore[arg-type]
    ],
)
def test_bad_judgements_are_refused_whole(log: Store, bad: Judgement, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        log.judgements.add([label(), bad])
    assert len(log.judgements) == 0


def test_unknown_items_and_uploads_are_named(log: Store) -> None:
    with pytest.raises(NotFound, match=r"nowhere\.jpg"):
        log.judgements.add([label(items=("nowhere.jpg",))])
    with pytest.raises(NotFound, match="upload it again"):
        log.judgements.add([Judgement(QueryRef("upload", "0" * 64), (NAMES[0],), "label")])


def test_judgements_survive_the_removal_of_their_items(log: Store) -> None:
    log.judgements.add([label()])
    log.items.remove([1, 2])
    assert list(log.judgements) == [label()]


def test_uploads_are_kept_while_judged(log: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    upload, other = log.uploads.put(b"one"), log.uploads.put(b"two")
    assert log.uploads.put(b"one") == upload
    log.judgements.add([Judgement(QueryRef("upload", upload), (NAMES[0],), "label")])
    monkeypatch.setattr("likewise.store.uploads.MOST", 0)
    log.uploads.sweep()
    assert log.uploads.all() == [upload]
    assert log.uploads.get(upload) == b"one"
    with pytest.raises(NotFound):
        log.uploads.get(other)
    with pytest.raises(BadInput, match="empty"):
        log.uploads.put(b"")
