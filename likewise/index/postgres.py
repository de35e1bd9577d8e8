"""PostgreSQL with pgvector: a generation is a table, its name a view that is replaced.

A table is made, filled, indexed and marked in one transaction, so that one which is there is
whole.  Full codes are kept; an index of half precision only finds candidates.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Generator, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.filters import FACTS, Allowed
from likewise.index._server import Gone, Server
from likewise.index.remote import FEW, NOTHING, SMALL, RemoteIndex, Where
from likewise.types import BadInput, FloatArray, IdArray, MissingExtra

try:
    import pgvector.psycopg
    import psycopg
    from psycopg import errors
    from psycopg.adapt import Dumper
    from psycopg.pq import Format
except ImportError:
    raise MissingExtra(
        "PostgreSQL needs two more packages; run: pip install 'likewise[postgres]'"
    ) from None

OLDEST, OLDEST_VECTOR = 130_000, (0, 8)
"""Versions of PostgreSQL and pgvector from which on filters find enough (iterative scans)."""
_COLUMNS = ("bytea", "text", "text", "int8", "int8", "text[]")
_MOST_EF = 1_000
_WIDEST, _WIDEST_HALF = 2_000, 4_000


class Ids(np.ndarray[Any, Any]):
    """Ids for ``= ANY``: an array that is sent as it lies in memory."""


class _IdsDumper(Dumper):
    oid, format = 1016, Format.BINARY

    def dump(self, obj: Any) -> bytes:
        rows = np.empty(len(obj), [("size", ">i4"), ("id", ">i8")])
        rows["size"], rows["id"] = 8, obj
        head = np.array([1, 0, 20, len(obj), 1] if len(obj) else [0, 0, 20], ">i4")
        return head.tobytes() + rows.tobytes()


class _Line(psycopg.Connection[Any]):
    """A connection that waits no longer than its server is waited for."""

    server: Server | None = None

    def wait(self, gen: Any, *given: Any, **how: Any) -> Any:
        left = None if self.server is None else self.server.left
        return super().wait(gen if left is None else _timed(gen, left), *given, **how)


def _timed(steps: Generator[Any, Any, Any], seconds: float) -> Generator[Any, Any, Any]:
    """The same steps, until it is too late."""
    until, ready = time.monotonic() + seconds, None
    while True:
        try:
            ready = yield steps.send(ready)
        except StopIteration as over:
            return over.value
        if time.monotonic() > until:
            raise errors.QueryCanceled


class PostgresServer(Server):
    """A database."""

    def _connect(self) -> Any:
        db: Any = _Line.connect(self.address.server, autocommit=True, connect_timeout=2)
        try:
            db.server = self
            for name, value in (
                ("jit", "off"), ("plan_cache_mode", "force_custom_plan"),
                ("statement_timeout", "60s"), ("lock_timeout", "10s"),
                ("application_name", "likewise"),
            ):  # fmt: skip
                db.execute("SELECT set_config(%s, %s, false)", (name, value))
            db.adapters.register_dumper(Ids, _IdsDumper)
            if db.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone():
                pgvector.psycopg.register_vector(db)
            db.likewise = {}
            return db
        except BaseException:
            db.close()
            raise

    def _close(self, db: Any) -> None:
        db.close()

    def _said(self, error: BaseException) -> Gone | None:
        if not isinstance(error, psycopg.Error):
            return None
        where, text = self.address.shown, (str(error).strip().splitlines() or [""])[0].strip()
        if isinstance(error, errors.DiskFull):
            return Gone(f"The disk of {where} is full; make room there, then index again.")
        if isinstance(error, errors.InsufficientPrivilege):
            return Gone(f"{where} does not allow this ({text}); ask who keeps it for the right.")
        if isinstance(error, errors.UndefinedTable):
            return Gone(f"A table is gone from {where}; run: likewise verify --engine.")
        if isinstance(error, errors.QueryCanceled):
            return Gone(self._late, lost=True)
        if isinstance(error, psycopg.OperationalError):
            if "password" in text or "authentication" in text:
                cure = "put the right one into PGPASSWORD or ~/.pgpass"
                return Gone(f"{where} refused the password; {cure}.", lost=True)
            if error.sqlstate is None or error.sqlstate[:2] in ("08", "57"):
                return Gone(f"{where} cannot be reached ({text}).", lost=True)
        return Gone(f"{where} refused: {text}")

    def check(self, owner: str) -> None:
        """Versions, the extension, and the name."""
        db, where = self.db, self.address.shown
        if db.info.server_version < OLDEST:
            raise BadInput(f"{where} is too old: likewise needs PostgreSQL 13 or newer.")
        try:
            db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except (errors.InsufficientPrivilege, errors.FeatureNotSupported, errors.UndefinedFile):
            raise BadInput(
                f"{where} lacks the extension pgvector; let an administrator install it and run: "
                "CREATE EXTENSION vector"
            ) from None
        sql = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
        version = db.execute(sql).fetchone()[0]
        if tuple(int(n) for n in version.split(".")[:2]) < OLDEST_VECTOR:
            raise BadInput(
                f"{where} has pgvector {version}, but 0.8 or newer is needed; update it and run: "
                "ALTER EXTENSION vector UPDATE"
            )
        pgvector.psycopg.register_vector(db)
        mark = self.mark(self.address.name)
        if mark is not None and mark.get("owner") != owner:
            raise self.taken()

    def mark(self, table: str) -> dict[str, Any] | None:
        """What the comment of a table or view says of it; None where there is none of the name."""
        row = self.db.execute(
            "SELECT obj_description(to_regclass(%s), 'pg_class'), to_regclass(%s) IS NULL",
            (table, table),
        ).fetchone()
        if row[1]:
            return None
        try:
            said = json.loads(row[0] or "")
        except ValueError:
            return {}
        return said if isinstance(said, dict) else {}

    def publish(self, table: str | None, owner: str) -> None:
        """Replace the view."""
        name, db = self.address.name, self.db
        with db.transaction():
            self.check(owner)
            db.execute(f"DROP VIEW IF EXISTS {name}")
            if table is not None:
                db.execute(f"CREATE VIEW {name} AS SELECT * FROM {table}")
                self._comment("VIEW", name, {"owner": owner, "table": table})

    def drop(self, tables: Iterable[str], owner: str) -> None:
        """Remove tables of this owner but the one that the view shows."""
        shown = (self.mark(self.address.name) or {}).get("table")
        for table in tables:
            if table != shown and (self.mark(table) or {}).get("owner") == owner:
                self.db.execute(f"DROP TABLE {table}")

    def _comment(self, what: str, name: str, said: dict[str, Any]) -> None:
        text = json.dumps({"likewise": 1, **said}).replace("'", "''")
        self.db.execute(f"COMMENT ON {what} {name} IS '{text}'")


class PostgresIndex(RemoteIndex):
    """Codes in a table of PostgreSQL."""

    kind = "postgres"
    server_class = PostgresServer

    def _choose(self, n: int) -> str:
        wanted = self.server.address.options.get("index", "auto")
        if wanted not in ("auto", "hnsw", "ivfflat", "scan"):
            raise BadInput(f"PostgreSQL's index is auto, hnsw, ivfflat or scan, not {wanted!r}.")
        if not 1 < self._width <= _WIDEST_HALF or not n or (wanted == "auto" and n <= SMALL):
            return "scan"
        return "ivfflat" if wanted == "auto" else wanted

    @property
    def _half(self) -> bool:
        wanted = self.server.address.options.get("half", "0") not in ("0", "", "no", "false")
        return wanted or self._width > _WIDEST

    @property
    def _lists(self) -> int:
        return max(1, min(round(2 * math.sqrt(len(self))), len(self) // 8))

    @property
    def _most_probes(self) -> int:
        return self._lists if self.structure == "ivfflat" else _MOST_EF

    # -- loading ------------------------------------------------------------------

    def _load(self, codes: NDArray[np.float32], facts: Iterable[Sequence[Any]] | None) -> None:
        db, table = self.server.db, self.table
        columns = ", ".join(f"{n} {kind} NOT NULL" for n, kind in zip(FACTS, _COLUMNS))
        columns = columns.replace("text NOT NULL", 'text COLLATE "C" NOT NULL')
        with db.transaction():
            if self.server.mark(table) is not None:
                raise BadInput(f"A table {table} is there already and is left alone.")
            db.execute("SET LOCAL statement_timeout = 0")
            db.execute("SET LOCAL maintenance_work_mem = '512MB'")
            db.execute("SET LOCAL max_parallel_maintenance_workers = 0")
            known = f"id bigint NOT NULL, code vector({self._width}) NOT NULL"
            db.execute(f"CREATE TABLE {table} ({known}, {columns})")
            self._copy(self._ids, codes, facts)
            db.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (id)")
            if self.structure != "scan":
                ops = "halfvec_ip_ops" if self._half else "vector_ip_ops"
                how = f"WITH (lists = {self._lists})" if self.structure == "ivfflat" else ""
                kind = f"{self.structure} ({self._sought} {ops})"
                db.execute(f"CREATE INDEX ON {table} USING {kind} {how}")
            if facts is not None:
                for name in FACTS:
                    kind = "USING gin" if name == "tags" else ""
                    db.execute(f"CREATE INDEX ON {table} {kind} ({name})")
            self.server._comment("TABLE", table, self._mark())
            db.execute(f"ANALYZE {table}")

    def _copy(self, ids: IdArray, codes: FloatArray, facts: Iterable[Sequence[Any]] | None) -> None:
        rows = iter(facts) if facts is not None else None
        names = ", ".join(("id", "code", *FACTS))
        with (
            self.server.db.cursor() as cursor,
            cursor.copy(f"COPY {self.table} ({names}) FROM STDIN WITH (FORMAT BINARY)") as copy,
        ):
            copy.set_types(["int8", "vector", *_COLUMNS])
            for item, code in zip(ids.tolist(), codes):
                copy.write_row((item, code, *(NOTHING if rows is None else next(rows))))

    # -- searching ----------------------------------------------------------------

    @property
    def _sought(self) -> str:
        """What the index is over."""
        return f"(code::halfvec({self._width}))" if self._half else "code"

    def _nearest(
        self, vector: NDArray[np.float32], k: int, where: Where | None, *, exact: bool
    ) -> tuple[IdArray, NDArray[np.float64]]:
        condition = f"WHERE {where.said}" if where else ""
        far = "code <#> %(vector)b::vector"
        if exact:  # no index is over a sum, so that the planner sorts whatever passes
            sql = f"SELECT id, ({far}) + 0 AS far FROM {self.table} {condition}"
        else:
            deep = self._set_scan(k, where)
            sought = f"%(vector)b::vector{f'::halfvec({self._width})' if self._half else ''}"
            sql = (
                f"WITH near AS MATERIALIZED (SELECT id, {far} AS far FROM {self.table} {condition} "
                f"ORDER BY {self._sought} <#> {sought} LIMIT {deep}) SELECT id, far FROM near"
            )
        rows = self.server.db.execute(
            f"{sql} ORDER BY far, id LIMIT {k}",
            {"vector": vector, **(where.values if where else {})},
            binary=True,
        ).fetchall()
        found = np.array(rows, dtype=np.float64).reshape(-1, 2)
        return np.array([row[0] for row in rows], np.int64), -found[:, 1]

    def _set_scan(self, k: int, where: Where | None) -> int:
        """Tell the server how far to look; gives how many candidates are sorted again.

        The true hits among a share of the items lie in as many more cells as the share is small;
        a graph is followed until it has found as many that pass as without a filter.
        """
        n, db = len(self), self.server.db
        share = 1.0 if where is None else min(n, max(where.left, 1)) / n
        if self.structure == "ivfflat":
            probes = min(self._lists, math.ceil(self._probes / share))
            wanted = {"ivfflat.probes": probes, "ivfflat.iterative_scan": "relaxed_order"}
            deep = 2 * k if self._half else k
        else:
            deep = max(self._probes, 2 * k if self._half else k)
            most = max(20_000, math.ceil(4 * deep / share))
            wanted = {"hnsw.ef_search": min(_MOST_EF, deep), "hnsw.max_scan_tuples": most,
                      "hnsw.iterative_scan": "relaxed_order"}  # fmt: skip
        if db.likewise != wanted:
            calls = ", ".join(f"set_config('{n}', '{v}', false)" for n, v in wanted.items())
            db.execute(f"SELECT {calls}")
            db.likewise = wanted
        return deep

    def _sorts(self, count: int) -> bool:
        # Cells are looked through faster than all that pass are sorted, down to this share: both
        # then touch as many rows.
        share = math.sqrt(self._probes / self._lists) if self.structure == "ivfflat" else 1.0
        return count <= FEW and count <= share * len(self)

    def _said(self, allowed: Allowed, changed: IdArray, let: IdArray) -> tuple[str, dict[str, Any]]:
        parts, values = ["TRUE"], dict[str, Any]()
        for at, (fact, how, value) in enumerate(allowed.conditions or []):
            name = f"v{at}"
            values[name] = [value] if fact == "tags" else value
            if fact == "tags":
                parts.append(f"{'' if how == 'has' else 'NOT '}tags @> %({name})s::text[]")
            elif how == "in":
                parts.append(f"{fact} = ANY(%({name})s::text[])")
            else:
                parts.append(f"{fact} {how} %({name})s")
        said = " AND ".join(parts)
        if len(changed):
            values |= {"changed": changed.view(Ids), "let": let.view(Ids)}
            said = f"(({said}) AND NOT id = ANY(%(changed)s) OR id = ANY(%(let)s))"
        return said, values

    def _ids_said(self, ids: IdArray, *, out: bool) -> tuple[str, dict[str, Any]]:
        return f"{'NOT ' if out else ''}id = ANY(%(ids)s)", {"ids": ids.view(Ids)}

    def _count(self, said: str, values: dict[str, Any]) -> int:
        sql = f"SELECT count(*) FROM (SELECT FROM {self.table} WHERE {said} LIMIT {FEW + 1}) AS few"
        count = int(self.server.db.execute(sql, values).fetchone()[0])
        if count > FEW:
            sql = f"EXPLAIN (FORMAT JSON) SELECT FROM {self.table} WHERE {said}"
            (plans,) = self.server.db.execute(sql, values).fetchone()
            count = max(count, int(plans[0]["Plan"]["Plan Rows"]))
        return count

    def _smallest(self, k: int, where: Where) -> IdArray:
        sql = f"SELECT id FROM {self.table} WHERE {where.said} ORDER BY id LIMIT {k}"
        rows = self.server.db.execute(sql, where.values).fetchall()
        return np.array([row[0] for row in rows], np.int64)

    # -- keeping it right -----------------------------------------------------------

    def ids_there(self) -> IdArray:
        """Ids that the table holds, in order."""
        self.server.db.execute("SET statement_timeout = 0")
        rows = self.server.db.execute(f"SELECT id FROM {self.table}", binary=True).fetchall()
        return np.sort(np.array([row[0] for row in rows], np.int64))

    def codes_there(self, ids: IdArray) -> NDArray[np.float32]:
        """Codes that the table holds."""
        sql = f"SELECT id, code FROM {self.table} WHERE id = ANY(%(ids)s)"
        rows = self.server.db.execute(sql, {"ids": ids.view(Ids)}, binary=True).fetchall()
        codes = np.zeros((len(ids), self._width), np.float32)
        place = {item: at for at, item in enumerate(ids.tolist())}
        for item, code in rows:
            codes[place[item]] = code.to_numpy() if hasattr(code, "to_numpy") else code
        return codes

    def _mend(self, extra: IdArray, rows: IdArray, codes: FloatArray, facts: Any) -> None:
        with self.server.db.transaction():
            self.server.db.execute("SET LOCAL statement_timeout = 0")
            values = {"ids": extra.view(Ids)}
            self.server.db.execute(f"DELETE FROM {self.table} WHERE id = ANY(%(ids)s)", values)
            self._copy(rows, codes, facts)
