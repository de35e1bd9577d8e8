"""Collections on a real Milvus: the same answers as on this machine, whatever happens to it.

The server of these tests listens on all interfaces while they run.
"""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest

from likewise.collection import Filter, engines
from likewise.index import REGISTRY
from likewise.index import milvus as milvus_module
from likewise.index._server import Address
from likewise.types import BadInput, DataProblem, Surrogate
from tests import servers
from tests.index.test_engines import FILTERS, PICTURES, answers, exactly, swap_under_searches

pytest.importorskip("milvus", reason="the server comes with: pip install 'likewise[servers]'")
pytestmark = pytest.mark.slow


def on(address: str):
    return REGISTRY["milvus"].server_class.at(Address.of(address))


def there(address: str, work):
    with on(address).session(fresh=True) as db:
        return work(db)


def test_all_that_serves_here_serves_there(collection):
    address = servers.milvus().address("congruent", index="ivf")
    collection.tag(range(1, 20), add=["red"])
    collection.tag(range(5, 9), add=['Äp"fel'])
    before = answers(collection)
    collection.index(engine=address)
    assert collection.store.generations.current().kind == "milvus"
    assert answers(collection) == before
    assert not collection.search(1).degraded
    for wanted in (*FILTERS, Filter(tags=('äp"FEL'.replace("ä", "Ä"),)), Filter(folder=".")):
        assert answers(collection, filter=wanted) == exactly(collection, filter=wanted), wanted
        assert not collection.look.view().degraded, wanted
    collection.mark(1, [5, 9])
    assert answers(collection) == exactly(collection)
    collection.tag([3, 30], add=["red"])
    collection.tag([5], remove=["red"])
    red = {r.item for r in collection.search(1, k=PICTURES, filter=Filter(tags=("red",)))}
    assert red == {*range(2, 20), 30} - {5}
    collection.forget([8])
    thinned = answers(collection)  # an exact scan, until the server is loaded anew
    assert collection.search(1).degraded
    collection.build()
    assert answers(collection) == thinned == exactly(collection)
    table = collection.store.generations.current().settings["table"]
    assert there(address, lambda db: on(address).target()) == table


def test_what_is_wrong_there_is_found_and_repaired(collection):
    address = servers.milvus().address("repaired")
    collection.index(engine=address)
    right, table = answers(collection), collection.store.generations.current().settings["table"]
    there(address, lambda db: db.delete(table, filter="id in [3, 4, 5, 6, 7, 8, 9]"))
    (finding,) = collection.verify_engine()
    assert "7 items were missing and 0 were too many" in finding.sentence
    assert collection.verify_engine() == []
    assert answers(collection) == right
    there(address, lambda db: (db.drop_alias("repaired"), db.drop_collection(table)))
    assert answers(collection) == right
    assert "verify --engine" in collection.search(1).degraded
    (finding,) = collection.verify_engine()
    assert "loaded anew" in finding.sentence
    assert collection.verify_engine() == []
    assert not collection.search(1).degraded


def test_things_of_others_are_left_alone(collection):
    address = servers.milvus().address("taken")
    there(address, lambda db: db.create_collection("taken", dimension=4))
    with pytest.raises(BadInput, match="left alone"):
        collection.index(engine=address)
    assert "taken" in there(address, lambda db: db.list_collections())


def test_the_collection_that_a_name_means_is_never_dropped(collection):
    address = servers.milvus().address("named")
    collection.index(engine=address)
    owner, table = collection.store.settings.get(engines.OWNER), None
    table = collection.store.generations.current().settings["table"]
    there(address, lambda db: on(address).drop([table], owner))
    assert table in there(address, lambda db: db.list_collections())
    there(address, lambda db: on(address).drop([table], "another"))
    assert not collection.search(1).degraded


def test_killed_while_it_serves_loads_and_swaps(collection, monkeypatch):
    server = servers.milvus()

    def begin_again():
        server.start()
        server.wait()
        on(address).close()

    address = server.address("killed")
    right = answers(collection)
    collection.index(engine=address)
    assert not collection.search(1).degraded
    server.kill()
    started = time.perf_counter()
    answer = collection.search(1, k=12)
    assert time.perf_counter() - started < 2
    assert "local codes" in answer.degraded
    assert answers(collection) == right
    begin_again()
    Index, Server = REGISTRY["milvus"], REGISTRY["milvus"].server_class
    put, publish = Index._put, Server.publish

    def killed_in_the_load(self, *args):
        put(self, *args)
        server.kill()

    monkeypatch.setattr(Index, "_put", killed_in_the_load)
    collection.store.generations.withdraw("main")
    with pytest.raises(DataProblem):
        collection.build()
    monkeypatch.undo()
    assert answers(collection) == right
    begin_again()

    def killed_in_the_swap(self, *args):
        server.kill()
        publish(self, *args)

    monkeypatch.setattr(Server, "publish", killed_in_the_swap)
    collection.build()
    monkeypatch.undo()
    assert answers(collection) == right
    begin_again()
    assert collection.verify_engine() == []
    on(address).close()
    assert answers(collection) == right
    assert not collection.search(1).degraded
    held = there(address, lambda db: [c for c in db.list_collections() if c.startswith("killed")])
    assert held == [collection.store.generations.current().settings["table"]]


def test_twenty_swaps_under_searches(folder):
    swap_under_searches(folder, servers.milvus().address("swapped"), 20, 2_000)


def test_half_of_the_ids_gone(collection):
    address = servers.milvus().address("halved")
    collection.index(engine=address)
    right, table = answers(collection), collection.store.generations.current().settings["table"]
    for gone, said in ((24, "this was repaired"), (25, "loaded anew")):
        listed = list(range(1, gone + 1))
        there(address, lambda db, listed=listed: db.delete(table, filter=f"id in {listed}"))
        (finding,) = collection.verify_engine()
        assert said in finding.sentence
        assert collection.verify_engine() == []
        on(address).close()
        assert answers(collection) == right
        assert not collection.search(1).degraded


def test_an_answer_that_takes_half_a_minute_is_not_waited_for(collection):
    server = servers.milvus()
    address = server.address("late")
    collection.index(engine=address)
    right = answers(collection)
    os.killpg(server._server.pid, signal.SIGSTOP)
    try:
        started = time.perf_counter()
        answer = collection.search(1, k=12)
        assert time.perf_counter() - started < 2
        assert "local codes" in answer.degraded
        assert answers(collection) == right
    finally:
        os.killpg(server._server.pid, signal.SIGCONT)
    server.wait()
    on(address).close()
    assert answers(collection) == right
    assert not collection.search(1).degraded


def test_servers_and_tables_that_cannot_serve_are_refused(collection, monkeypatch):
    address = servers.milvus().address("refused")
    monkeypatch.setattr(milvus_module, "OLDEST", (99, 0))
    with pytest.raises(BadInput, match="too old"):
        collection.index(engine=address)
    monkeypatch.undo()
    collection.index(engine=address)
    right, index = answers(collection), collection.look.view().old.index
    index.owner, index._is_seen = "another", False
    assert "other codes" in collection.search(1, k=12).degraded
    assert answers(collection) == right


def test_a_million_ids_in_a_filter(collection):
    collection.index(engine=servers.milvus().address("million"))
    index = collection.look.view().old.index
    query = Surrogate(np.ones(index.dim))
    hits = index.search(query, 5, among=np.arange(-500_000, 500_000))
    np.testing.assert_array_equal(hits.ids, index.search(query, 5).ids)


@pytest.mark.parametrize("bad", ["milvus://127.0.0.1:1/name", "milvus://u:secret@h:1/name"])
def test_wrong_addresses_are_one_sentence(collection, bad):
    with pytest.raises((BadInput, DataProblem)) as caught:
        collection.index(engine=bad)
    assert "secret" not in str(caught.value)
    assert collection.store.settings.get("engine") is None
