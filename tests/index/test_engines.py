"""Collections on a real PostgreSQL: the same answers as on this machine, whatever happens to it."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import numpy as np
import psycopg
import pytest

import likewise
from likewise.collection import Filter, engines, verify
from likewise.index import REGISTRY, remote
from likewise.index import postgres as postgres_module
from likewise.index._server import PATIENCE, Address, Gone
from likewise.types import BadInput, DataProblem, Surrogate
from tests import servers

PICTURES = 48


@pytest.fixture(scope="module")
def server():
    return servers.postgres()


@pytest.fixture
def db(server):
    with psycopg.connect(server.uri, autocommit=True) as connection:
        yield connection


@pytest.fixture
def address(server, request) -> str:
    """Of a name that no other test has."""
    name = "t" + format(abs(hash(request.node.nodeid)), "x")[:12]
    where = server.address(name=name, index="ivfflat")
    yield where
    Postgres = REGISTRY["postgres"].server_class
    for known in list(Postgres._known.values()):
        known.close()
        known._failed = 0


@pytest.fixture
def served(collection, address):
    """A collection that the server serves."""
    collection.index(engine=address)
    return collection


def on(address: str):
    return REGISTRY["postgres"].server_class.at(Address.of(address))


def answers(collection, **options) -> list:
    """What some queries find, with the filter given."""
    found = []
    for item in (1, 7, 30):
        answer = collection.search(item, k=12, **options)
        found.append([(r.item, pytest.approx(r.score, abs=1e-5)) for r in answer])
    return found


def exactly(collection, **options) -> list:
    """The same from the codes of the folder, whatever engine serves."""
    view = collection.look.view()
    part, index = view.old, view.old.index
    part.__dict__["index"] = index._local
    try:
        return answers(collection, **options)
    finally:
        part.__dict__["index"] = index


FILTERS = [
    Filter(),
    Filter(tags=("Red",)),
    Filter(without_tags=("red",)),
    Filter(tags=("red",), without_tags=("ÄPFEL",)),
    Filter(since="2020", until="2030-05"),
    Filter(until="2001-02-03"),
    Filter(formats=("png", "jpeg")),
    Filter(min_pixels=64 * 64, max_pixels=64 * 64),
    Filter(max_pixels=10),
    Filter(min_bytes=1, max_bytes=3000),
    Filter(states=("indexed",)),
    Filter(folder="nowhere"),
]


@pytest.mark.parametrize("wanted", FILTERS, ids=lambda f: str(f)[7:40])
def test_filters_mean_the_same(module_served, wanted):
    assert answers(module_served, filter=wanted) == exactly(module_served, filter=wanted)
    assert not module_served.look.view().degraded


@pytest.fixture(scope="module")
def module_served(made, server, tmp_path_factory):
    import shutil

    folder = tmp_path_factory.mktemp("served") / "pictures"
    shutil.copytree(made, folder)
    with likewise.open(folder, write=True) as collection:
        collection.tag(range(1, 20), add=["red"])
        collection.tag(range(5, 9), add=["Äpfel"])
        collection.index(engine=server.address(name="module_served"))
        yield collection


def test_all_that_serves_here_serves_there(collection, address):
    before = answers(collection)
    collection.index(engine=address)
    assert collection.store.generations.current().kind == "postgres"
    assert answers(collection) == before
    collection.mark(1, [5, 9])
    collection.mark(1, [2], False)
    marked = answers(collection)
    assert marked != before
    assert marked == exactly(collection)
    text = [r.item for r in collection.search((), "red")]
    collection.index(engine="flat")
    assert answers(collection) == marked
    assert [r.item for r in collection.search((), "red")] == text


def test_tags_that_changed_since_count_at_once(served):
    wanted = Filter(tags=("new",))
    assert answers(served, filter=wanted) == [[], [], []]
    served.tag([3, 4, 5], add=["New"])
    served.tag([4], remove=["new"])
    assert {r.item for r in served.search(1, filter=wanted)} == {3, 5}
    others = served.search(1, k=PICTURES, filter=Filter(without_tags=("new",)))
    assert not {r.item for r in others} & {3, 5}
    assert len(others) == PICTURES - 3
    served.tag([5], remove=["new"])
    answer = served.search(1, filter=wanted)
    assert ([r.item for r in answer], answer.degraded) == ([3], "")
    position = served.store.generations.current().settings["position"]
    assert served.store.restatements(position)[1] > 0
    served.store.generations.withdraw()
    served.build()
    assert {r.item for r in served.search(1, filter=wanted)} == {3}
    assert not served.look.view().degraded


def test_many_changed_facts_make_a_new_generation(served, monkeypatch):
    monkeypatch.setattr(engines, "RESTATED", 2)
    before = served.build()
    served.tag([3, 4, 5], add=["new"])
    assert served.build() == before + 1


def test_items_that_come_and_go(served, folder):
    before = served.search(1, k=PICTURES)
    gone = before[3].item
    served.forget([gone])
    assert gone not in {r.item for r in served.search(1, k=PICTURES)}
    for result in (before[3], before[5]):
        os.unlink(folder / result.path)
    served.index()
    left = served.search(1, k=PICTURES)
    assert [r.item for r in left] == [
        r.item for r in before if r.item not in (gone, before[5].item)
    ]
    assert answers(served) == exactly(served)


def test_forgotten_items_leave_the_server(served, db):
    table = served.store.generations.current().settings["table"]
    served.forget([7])
    assert db.execute("SELECT to_regclass(%s)", (table,)).fetchone() == (None,)
    answer = served.search(1, k=PICTURES)  # an exact scan, until the server is loaded anew
    assert answer.degraded
    assert sorted(answer.ids) == [i for i in range(2, PICTURES + 1) if i != 7]
    served.build()
    now = served.store.generations.current().settings["table"]
    assert db.execute(f"SELECT count(*) FROM {now} WHERE id = 7").fetchone() == (0,)


def test_the_name_shows_the_newest_table_and_old_ones_go(served, address, db):
    name = Address.of(address).name
    for _ in range(4):
        served.store.generations.withdraw("main")
        served.build()
    tables = db.execute(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE %s", (name + r"\_%",)
    ).fetchall()
    assert [t for (t,) in tables] == [served.store.generations.current().settings["table"]]
    assert db.execute(f"SELECT count(*) FROM {name}").fetchone() == (PICTURES,)


# -- trouble ---------------------------------------------------------------------


def test_a_late_server_is_not_waited_for(served, db, monkeypatch):
    table = served.store.generations.current().settings["table"]
    right = answers(served)
    with db.transaction():
        db.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        started = time.perf_counter()
        answer = served.search(1, k=12)
        assert time.perf_counter() - started < 2
        assert "did not answer in time" in answer.degraded
        assert answers(served) == right
        started = time.perf_counter()
        served.search(7)
        assert time.perf_counter() - started < PATIENCE, "it is left alone for a while"
    on(served.store.settings.get("engine")).close()
    assert answers(served) == right
    assert served.search(1).degraded == ""


@pytest.fixture
def own_server(tmp_path_factory):
    server = servers.Postgres(tmp_path_factory.mktemp("own") / "data")
    yield server
    server.kill()


def test_killed_while_it_serves_loads_and_swaps(collection, own_server, monkeypatch):
    where = own_server.address(name="killed")
    right = answers(collection)
    collection.index(engine=where)
    on(where).close()
    own_server.kill()
    started = time.perf_counter()
    answer = collection.search(1, k=12)
    assert time.perf_counter() - started < 2
    assert "local codes" in answer.degraded
    assert answers(collection) == right
    collection.search(1)
    assert "local codes" in collection.status()["degraded"]

    own_server.start()
    on(where).close()
    assert not collection.search(1).degraded
    copy = postgres_module.PostgresIndex._copy

    def killed_in_the_load(self, ids, codes, facts):
        copy(self, ids, codes, facts)
        own_server.kill()

    monkeypatch.setattr(postgres_module.PostgresIndex, "_copy", killed_in_the_load)
    collection.store.generations.withdraw("main")
    with pytest.raises(DataProblem, match="cannot be reached"):
        collection.build()
    monkeypatch.undo()
    assert answers(collection) == right, "exact answers, though there is no generation"
    own_server.start()
    on(where).close()

    publish = postgres_module.PostgresServer.publish

    def killed_in_the_swap(self, table, owner):
        with self.db.transaction():
            publish(self, table, owner)
            own_server.kill()

    monkeypatch.setattr(postgres_module.PostgresServer, "publish", killed_in_the_swap)
    collection.build()
    monkeypatch.undo()
    own_server.start()
    on(where).close()
    assert collection.verify_engine() == []
    table = collection.store.generations.current().settings["table"]
    with psycopg.connect(own_server.uri) as db:
        assert db.execute("SELECT count(*), count(DISTINCT id) FROM killed").fetchone() == (48, 48)
        tables = db.execute("SELECT relname FROM pg_class WHERE relname LIKE 'killed\\_%' "
                            "AND relkind = 'r'").fetchall()  # fmt: skip
    assert tables == [(table,)], "what was begun and not finished is gone"
    assert answers(collection) == right
    assert not collection.look.view().degraded


def test_the_writer_killed_after_the_load_leaves_nothing(served, db, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(*args, **how):
        raise Killed

    monkeypatch.setattr(served.store.generations, "publish", killed)
    served.store.generations.withdraw("main")
    with pytest.raises(Killed):
        served.build()
    monkeypatch.undo()
    begun = [table for _, table in served.store.settings.get(engines.TABLES)]
    assert db.execute("SELECT to_regclass(%s)", (begun[-1],)).fetchone() != (None,)
    served.build()
    assert db.execute("SELECT to_regclass(%s)", (begun[-1],)).fetchone() == (None,)
    assert served.verify_engine() == []


def test_a_collection_that_comes_back_leaves_nothing_there(served, address, db):
    for engine in ("flat", "faiss", "flat"):
        served.index(engine=engine)
    name = Address.of(address).name
    left = db.execute(
        "SELECT relname FROM pg_class WHERE relname LIKE %s", (name + "%",)
    ).fetchall()
    assert left == []
    assert served.store.settings.get(engines.TABLES) == []


def test_what_is_wrong_there_is_found_and_repaired(served, db):
    right, table = answers(served), served.store.generations.current().settings["table"]
    db.execute(f"DELETE FROM {table} WHERE id %% 3 = 0".replace("%%", "%"))
    answer = served.search(1, k=PICTURES)
    assert "verify --engine" in answer.degraded
    assert len(answer) == PICTURES - 1
    db.execute(f"INSERT INTO {table} SELECT id + 1000, code, path, taken, format, pixels, bytes, "
               f"tags FROM {table} LIMIT 5")  # fmt: skip
    (finding,) = served.verify_engine()
    assert "16 items were missing and 5 were too many" in finding.sentence
    assert served.verify_engine() == []
    assert answers(served) == right
    assert answers(served, filter=Filter(formats=("PNG",))) == exactly(
        served, filter=Filter(formats=("PNG",))
    )
    db.execute(f"UPDATE {table} SET code = code + code")
    (finding,) = served.verify_engine()
    assert "loaded anew" in finding.sentence
    assert answers(served) == right
    db.execute(f"DROP VIEW {Address.of(served.store.settings.get('engine')).name}")
    db.execute(f"DROP TABLE {served.store.generations.current().settings['table']}")
    assert answers(served) == right
    assert "is gone" in served.search(1).degraded
    (finding,) = served.verify_engine()
    assert served.search(1).degraded == ""
    assert verify(served.data) == []


@pytest.mark.parametrize(("gone", "said"), [(24, "this was repaired"), (25, "loaded anew")])
def test_half_of_the_ids_gone(served, db, gone, said):
    right, table = answers(served), served.store.generations.current().settings["table"]
    db.execute(f"DELETE FROM {table} WHERE id <= {gone}")
    assert "verify --engine" in served.search(1, k=PICTURES).degraded
    (finding,) = served.verify_engine()
    assert said in finding.sentence
    assert served.verify_engine() == []
    on(served.store.settings.get("engine")).close()
    assert answers(served) == right
    assert not served.search(1).degraded


def test_what_milvus_says_is_one_sentence():
    milvus = pytest.importorskip("likewise.index.milvus")
    server = REGISTRY["milvus"].server_class(Address.of("milvus://ada@h:1/name"))
    for code, text, sentence, lost in (
        (65535, "auth check failure, please check api key is correct", "refused the pass", True),
        (5, "disk quota exceeded", "no room left", False),
        (100, "collection not found[collection=x]", "is gone", False),
        (2, "Fail connecting to server on h:1, illegal connection params", "cannot be", True),
        (1, "Deadline Exceeded\nmore", "cannot be reached", True),
    ):
        gone = server._said(milvus.MilvusException(code, text))
        assert sentence in str(gone)
        assert "\n" not in str(gone)
        assert gone.lost is lost
    late = server._said(milvus.RpcError())
    assert (str(late), late.lost) == ("milvus://ada@h:1/name did not answer in time.", True)
    assert server._said(ValueError("another's")) is None


def test_the_command_line_names_it_and_verifies_it(folder, address, db):
    from typer.testing import CliRunner

    from likewise.cli import app

    def call(*words):
        return CliRunner().invoke(app, [*words])

    place = ["--collection", str(folder)]
    told = call("verify", "--engine", *place)
    assert told.exit_code == 2
    assert "No server serves this collection" in told.output
    assert call("index", str(folder), "--engine", address).exit_code == 0
    assert call("verify", "--engine", *place).output.strip() == "All is well."
    name = Address.of(address).name
    db.execute(f"DELETE FROM {name} WHERE id IN (3, 4)")
    assert "2 items were missing" in call("verify", "--engine", *place).output
    assert call("verify", "--engine", *place).output.strip() == "All is well."


def test_other_codes_are_never_served(served, db):
    table = served.store.generations.current().settings["table"]
    right = answers(served)
    mark = json.loads(db.execute(f"SELECT obj_description('{table}'::regclass)").fetchone()[0])
    other = json.dumps({**mark, "space": "another"})
    db.execute(f"COMMENT ON TABLE {table} IS '{other}'")
    served.look.view().old.index._is_seen = False
    answer = served.search(1, k=12)
    assert "other codes" in answer.degraded
    assert answers(served) == right


def test_things_of_others_are_left_alone(collection, address, db):
    name = Address.of(address).name
    db.execute(f"CREATE TABLE {name} (id int)")
    with pytest.raises(BadInput, match="left alone"):
        collection.index(engine=address)
    assert collection.store.settings.get("engine") is None
    db.execute(f"DROP TABLE {name}")
    collection.index(engine=address)
    assert db.execute(f"SELECT count(*) FROM {name}").fetchone() == (PICTURES,)
    table = collection.store.generations.current().settings["table"]
    db.execute(f"COMMENT ON TABLE {table} IS 'mine now'")
    for engine in ("flat", "faiss", "flat"):
        collection.index(engine=engine)
    assert db.execute("SELECT to_regclass(%s)", (table,)).fetchone() != (None,)
    assert db.execute("SELECT to_regclass(%s)", (name,)).fetchone() == (None,), "the view was ours"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("mysql://host/db", "begins with"),
        ("postgresql://user:secret77@host/db", "no password"),
        ("postgresql://host/db?password=secret77", "no password"),
        ("postgresql://host:port/db", "cannot be read"),
        ("postgresql://host/db?name=A;drop", "small letters"),
        ("postgresql://nobody@/db?host=/nowhere/at/all", "cannot be reached"),
        ("elsewhere", "one of auto, flat"),
    ],
)
def test_wrong_addresses_are_one_sentence(collection, address, words):
    with pytest.raises((BadInput, DataProblem), match=words) as caught:
        collection.index(engine=address)
    assert "secret77" not in str(caught.value)
    assert collection.store.settings.get("engine") is None


def test_passwords_come_from_the_environment(collection, server, db, monkeypatch, tmp_path):
    hba = server.folder / "pg_hba.conf"
    before = hba.read_text()
    db.execute("DROP ROLE IF EXISTS guest")
    db.execute("CREATE ROLE guest LOGIN PASSWORD 'open77sesame'")
    db.execute("GRANT CREATE ON SCHEMA public TO guest")
    hba.write_text("local all guest scram-sha-256\n" + before)
    db.execute("SELECT pg_reload_conf()")
    where = server.address(name="guests").replace("postgres@", "guest@")
    try:
        monkeypatch.setenv("PGPASSWORD", "wrong77")
        with pytest.raises(DataProblem, match="refused the password") as caught:
            collection.index(engine=where)
        assert "77" not in str(caught.value)
        monkeypatch.setenv("PGPASSWORD", "open77sesame")
        collection.index(engine=where)
        assert not collection.search(1).degraded
        held = [p for p in Path(collection.data).rglob("*") if p.is_file()]
        assert not [p for p in held if b"open77sesame" in p.read_bytes()]
    finally:
        hba.write_text(before)
        on(where).close()
        db.execute("SELECT pg_reload_conf()")


def test_servers_that_cannot_serve_are_refused(collection, server, db, monkeypatch, address):
    monkeypatch.setattr(postgres_module, "OLDEST", 990_000)
    with pytest.raises(BadInput, match="too old"):
        collection.index(engine=address)
    monkeypatch.undo()
    monkeypatch.setattr(postgres_module, "OLDEST_VECTOR", (99, 0))
    with pytest.raises(BadInput, match=r"pgvector 0\.8"):
        collection.index(engine=address)
    monkeypatch.undo()
    db.execute("CREATE DATABASE bare")
    db.execute("DROP ROLE IF EXISTS visitor")
    db.execute("CREATE ROLE visitor LOGIN")
    bare = address.replace("postgres@/postgres", "visitor@/bare")
    with pytest.raises(BadInput, match="lacks the extension"):
        collection.index(engine=bare)
    on(bare).close()
    db.execute("DROP DATABASE bare")
    copy = postgres_module.PostgresIndex._copy

    def full(self, *args):
        copy(self, *args)
        raise psycopg.errors.DiskFull("could not extend file")

    monkeypatch.setattr(postgres_module.PostgresIndex, "_copy", full)
    right = answers(collection)
    with pytest.raises(DataProblem, match=r"disk of .* is full"):
        collection.index(engine=address)
    assert answers(collection) == right, "the generation before goes on serving"


def test_a_million_ids_in_a_filter(module_served):
    index = module_served.look.view().old.index
    ids = np.arange(-500_000, 500_000)
    hits = index.search(Surrogate(np.ones(index.dim)), 5, among=ids)
    np.testing.assert_array_equal(hits.ids, index.search(Surrogate(np.ones(index.dim)), 5).ids)
    said, values = index._ids_said(ids, out=False)
    assert index._ask(lambda: index._count(said, values), questions=1000) == PICTURES


def test_what_a_wide_filter_leaves_is_estimated(module_served, monkeypatch):
    index = module_served.look.view().old.index
    monkeypatch.setattr(postgres_module, "FEW", 10)
    assert index._ask(lambda: index._count("pixels >= %(least)s", {"least": 0})) == PICTURES
    assert index._ask(lambda: index._count("pixels < %(least)s", {"least": 0})) == 0


def test_very_many_ids_are_looked_up_here(module_served, monkeypatch):
    index = module_served.look.view().old.index
    query, half = Surrogate(np.ones(index.dim)), np.arange(0, PICTURES, 2)
    there = index.search(query, 5, among=half)
    monkeypatch.setattr(remote, "NAMED", 3)
    monkeypatch.setattr(type(index), "_nearest", None)
    here = index.search(query, 5, among=half)
    np.testing.assert_array_equal(here.ids, there.ids)
    assert not index.trouble


def test_without_local_codes_it_says_so(server, address):
    x = np.eye(4, dtype=np.float32)
    index = REGISTRY["postgres"].build(x, address=address, table="alone")
    with psycopg.connect(server.uri, autocommit=True) as db:
        db.execute("DROP TABLE alone")
    with pytest.raises(Gone, match="gone"):
        index.search(Surrogate(x[0]), 2)


@pytest.mark.parametrize(
    ("swaps", "searches"), [(4, 1), pytest.param(20, 2_000, marks=pytest.mark.slow)]
)
def test_swaps_under_searches(folder, address, swaps, searches):
    swap_under_searches(folder, address, swaps, searches)


def swap_under_searches(folder, address, swaps, searches) -> None:
    """Generations of two alternating states: an answer is one of the two."""
    with likewise.open(folder, write=True) as writer:
        writer.index(engine=address)
        out = writer.search(1, k=12)[2].item
        legal = []
        for _ in range(2):
            legal.append([r.item for r in writer.search(1, k=12)])
            writer.store.items.remove([out])
            writer.build()
        assert legal[0] != legal[1]
        seen, errors, over = [], [], threading.Event()

        def ask():
            try:
                with likewise.open(folder) as reader:
                    while not over.is_set():
                        seen.append([r.item for r in reader.search(1, k=12)])
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for turn in range(swaps):
            with writer.store.transaction() as db:
                now = None if turn % 2 == 0 else 1.0
                db.execute("UPDATE items SET removed = ? WHERE id = ?", (now, out))
            writer.build()
        while len(seen) < searches and not errors:
            threads[0].join(0.1)
        over.set()
        for thread in threads:
            thread.join()
    assert not errors
    assert all(one in legal for one in seen)
    assert {tuple(one) for one in seen} == {tuple(one) for one in legal}
