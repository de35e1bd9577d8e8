"""Milvus, for more codes than one machine holds: a generation is a collection, its name an alias.

Searches take what is at most some seconds old (Bounded), which a loaded generation always is;
counting and verifying wait for everything (Strong).  There are no transactions: a collection
serves only once all of it was counted.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import time
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from likewise.filters import FACTS, Allowed
from likewise.index._server import Gone, Server
from likewise.index.remote import NOTHING, SMALL, Here, RemoteIndex, Where
from likewise.types import BadInput, FloatArray, IdArray, MissingExtra

try:
    from grpc import RpcError
    from pymilvus import DataType, MilvusClient, MilvusException
except ImportError:
    raise MissingExtra(
        "Milvus needs one more package; run: pip install 'likewise[milvus]'"
    ) from None

logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # what fails is told in one sentence
OLDEST = (2, 3)
_MOST = 16_384
"""Hits that the server gives at most."""
_BYTES = 8 << 20
_TRIES = 4
_LONGEST, _MOST_TAGS = 2_000, 1_000
_PASSWORD = "LIKEWISE_ENGINE_PASSWORD"
_LOST = re.compile("connect|deadline|timeout|not loaded|not ready|unavailable|recover")


class MilvusServer(Server):
    """A Milvus, one machine or many."""

    def _connect(self) -> Any:
        parts = urlsplit(self.address.server)
        scheme = "https" if self.address.options.get("tls", "0") not in ("0", "") else "http"
        who = {"user": parts.username, "password": os.environ.get(_PASSWORD, "")}
        where = f"{scheme}://{parts.hostname or 'localhost'}:{parts.port or 19530}"
        return MilvusClient(where, timeout=10, **(who if parts.username else {}))

    def _close(self, db: Any) -> None:
        try:
            db.close()
        except Exception:  # whatever state it is in
            return

    def _said(self, error: BaseException) -> Gone | None:
        if isinstance(error, RpcError):
            return Gone(self._late, lost=True)
        if not isinstance(error, MilvusException):
            return None
        where, text = self.address.shown, str(error.message).strip().splitlines()[0][:200]
        if "auth" in text.lower() or "credential" in text.lower():
            return Gone(f"{where} refused the password; put it into {_PASSWORD}.", lost=True)
        if "disk" in text.lower() or "quota" in text.lower():
            return Gone(f"{where} has no room left ({text}); make some, then index again.")
        if error.code == 100 or "not found" in text:
            return Gone(f"A collection is gone from {where}; run: likewise verify --engine.")
        lost = error.code in (1, 2, 3) or _LOST.search(text.lower()) is not None
        return Gone(f"{where} cannot be reached or refused ({text}).", lost=lost)

    def check(self, owner: str) -> None:
        """The version, and the name."""
        version = self.db.get_server_version()
        numbers = tuple(int(n) for n in version.lstrip("v").split("-")[0].split(".")[:2])
        where, name = self.address.shown, self.address.name
        if numbers < OLDEST:
            raise BadInput(f"{where} is too old ({version}): likewise needs Milvus 2.3 or newer.")
        target = self.target()
        mark = self.mark(name if target is None else target)
        if mark is not None and mark.get("owner") != owner:
            raise self.taken()

    def target(self) -> str | None:
        """The collection that the alias names."""
        if self.address.name not in self.db.list_aliases()["aliases"]:
            return None
        return str(self.db.describe_alias(self.address.name)["collection_name"])

    def mark(self, table: str) -> dict[str, Any] | None:
        """What the description of a collection says."""
        if not self.db.has_collection(table, timeout=self.left):
            return None
        try:
            told = self.db.describe_collection(table, timeout=self.left)
            said = json.loads(told.get("description") or "")
        except ValueError:
            return {}
        return said if isinstance(said, dict) else {}

    def publish(self, table: str | None, owner: str) -> None:
        """Let the alias name another collection."""
        self.check(owner)
        target = self.target()
        if table is not None:
            change = self.db.create_alias if target is None else self.db.alter_alias
            change(collection_name=table, alias=self.address.name)
        elif target is not None:
            self.db.drop_alias(self.address.name)

    def drop(self, tables: Iterable[str], owner: str) -> None:
        """Remove collections of this owner; the server would also drop the one that is named."""
        for table in tables:
            if (self.mark(table) or {}).get("owner") == owner and self.target() != table:
                self.db.drop_collection(table)


class MilvusIndex(RemoteIndex):
    """Codes in a collection of Milvus."""

    kind = "milvus"
    server_class = MilvusServer

    def _choose(self, n: int) -> str:
        wanted = self.server.address.options.get("index", "auto")
        if wanted not in ("auto", "ivf", "scan"):
            raise BadInput(f"Milvus's index is auto, ivf or scan, not {wanted!r}.")
        return "scan" if not n or (wanted == "auto" and n <= SMALL) else "ivf"

    @property
    def _most_probes(self) -> int:
        return max(1, min(round(4 * math.sqrt(len(self))), len(self) // 8, 65_536))

    # -- loading ------------------------------------------------------------------

    def _load(self, codes: NDArray[np.float32], facts: Iterable[Sequence[Any]] | None) -> None:
        db, table, options = self.server.db, self.table, self.server.address.options
        if db.has_collection(table):
            raise BadInput(f"A collection {table} is there already and is left alone.")
        said = json.dumps({"likewise": 1, **self._mark()})
        schema = db.create_schema(description=said, enable_dynamic_field=False)
        split = bool(options.get("partitions"))
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("code", DataType.FLOAT_VECTOR, dim=self._width)
        for name in ("path", "taken", "format"):
            key = {"is_partition_key": True} if split and name == "format" else {}
            schema.add_field(name, DataType.VARCHAR, max_length=65_535, **key)
        for name in ("pixels", "bytes"):
            schema.add_field(name, DataType.INT64)
        schema.add_field(
            "tags", DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=_MOST_TAGS,
            max_length=_LONGEST,
        )  # fmt: skip
        how: dict[str, Any] = {"num_partitions": int(options["partitions"])} if split else {}
        db.create_collection(table, schema=schema, consistency_level="Bounded", **how)
        self._put(self._ids, codes, facts)
        db.flush(table, timeout=None)
        index = db.prepare_index_params()
        kind = "IVF_FLAT" if self.structure == "ivf" else "FLAT"
        params = {"nlist": self._most_probes} if kind == "IVF_FLAT" else {}
        index.add_index("code", index_type=kind, metric_type="IP", params=params)
        db.create_index(table, index, timeout=None)
        db.load_collection(table, replica_number=int(options.get("replicas", 1)), timeout=None)
        held = self._counted("", "Strong")
        if held != len(self):
            raise Gone(f"{self.server.address.shown} took {held:,} of {len(self):,} items.")

    def _put(self, ids: IdArray, codes: FloatArray, facts: Iterable[Sequence[Any]] | None) -> None:
        """Upsert in batches; one that fails is tried again after a pause."""
        step = max(1, min(5_000, _BYTES // (4 * self._width)))
        rows = iter(facts) if facts is not None else None
        for start in range(0, len(ids), step):
            part = ids[start : start + step].tolist()
            known = [NOTHING] * len(part) if rows is None else list(islice(rows, len(part)))
            data = [
                {"id": item, "code": code, "path": path.hex(), "tags": tags[:_MOST_TAGS],
                 **dict(zip(FACTS[1:5], rest))}
                for item, code, (path, *rest, tags) in zip(part, codes[start : start + step], known)
            ]  # fmt: skip
            for left in reversed(range(_TRIES)):
                try:
                    self.server.db.upsert(self.table, data, timeout=60)
                    break
                except MilvusException:
                    if not left:
                        raise
                    time.sleep(2.0 ** (_TRIES - 1 - left) / 4)

    # -- searching ----------------------------------------------------------------

    def _nearest(
        self, vector: NDArray[np.float32], k: int, where: Where | None, *, exact: bool
    ) -> tuple[IdArray, NDArray[np.float64]]:
        if k > _MOST:
            self._look_here(f"it gives at most {_MOST:,} hits")
        params = {}
        if self.structure == "ivf":
            share = 1.0 if where is None else max(where.left, 1) / len(self)
            probes = self._most_probes if exact else math.ceil(self._probes / min(share, 1.0))
            params = {"nprobe": min(self._most_probes, probes)}
        (hits,) = self.server.db.search(
            self.table, data=[vector], anns_field="code", limit=k,
            filter=where.said if where else "", consistency_level="Bounded",
            search_params={"metric_type": "IP", "params": params}, timeout=self.server.left,
        )  # fmt: skip
        ids = np.array([hit["id"] for hit in hits], np.int64)
        return ids, np.array([hit["distance"] for hit in hits], np.float64)

    def _look_here(self, why: str) -> None:
        raise Here if self._local is not None else Gone(f"{self.server.address.shown}: {why}.")

    def _sorts(self, count: int) -> bool:
        return False  # the server counts what a filter leaves and sorts few exactly by itself

    def _said(self, allowed: Allowed, changed: IdArray, let: IdArray) -> tuple[str, dict[str, Any]]:
        parts = []
        for fact, how, value in allowed.conditions or []:
            if fact == "tags":
                has = "" if how == "has" else "not "
                parts.append(f"{has}array_contains(tags, {_text(value)})")
            elif how == "in":
                parts.append(f"{fact} in [{', '.join(map(_text, value))}]")
            else:
                plain = value.hex() if isinstance(value, bytes) else value
                said = str(plain) if isinstance(plain, int) else _text(plain)
                parts.append(f"{fact} {how} {said}")
        said = " and ".join(f"({part})" for part in parts)
        if len(changed):
            out, of_them = self._ids_said(changed, out=True)[0], self._ids_said(let, out=False)[0]
            said = f"(({said or 'bytes >= -1'}) and {out}) or {of_them}"
        return said, {}

    def _ids_said(self, ids: IdArray, *, out: bool) -> tuple[str, dict[str, Any]]:
        listed = ", ".join(map(str, ids.tolist()))
        return f"id {'not ' if out else ''}in [{listed}]", {}

    def _count(self, said: str, values: dict[str, Any]) -> int:
        return self._counted(said, "Bounded")

    def _counted(self, said: str, level: str) -> int:
        rows = self.server.db.query(
            self.table, filter=said, output_fields=["count(*)"], consistency_level=level,
            timeout=self.server.left,
        )  # fmt: skip
        return int(rows[0]["count(*)"])

    def _smallest(self, k: int, where: Where) -> IdArray:
        if where.left > _MOST:
            self._look_here("so many items cannot be listed")
        rows = self.server.db.query(
            self.table, filter=where.said, output_fields=["id"], limit=_MOST,
            timeout=self.server.left,
        )  # fmt: skip
        return np.sort(np.array([row["id"] for row in rows], np.int64))[:k]

    # -- keeping it right -----------------------------------------------------------

    def ids_there(self) -> IdArray:
        """Ids that the collection holds, in order."""
        found: list[int] = []
        self.server.db.load_collection(self.table, timeout=120)  # after a start it may not be yet
        self._counted("", "Strong")  # the pages alone may miss what was just done
        pages = self.server.db.query_iterator(
            self.table, batch_size=10_000, filter="", output_fields=["id"],
            consistency_level="Strong",
        )  # fmt: skip
        while page := pages.next():
            found += [row["id"] for row in page]
        pages.close()
        return np.unique(np.array(found, np.int64))

    def codes_there(self, ids: IdArray) -> NDArray[np.float32]:
        """Codes that the collection holds."""
        codes = np.zeros((len(ids), self._width), np.float32)
        place = {item: at for at, item in enumerate(ids.tolist())}
        step = max(1, min(_MOST, _BYTES // (4 * self._width)))
        for start in range(0, len(ids), step):
            for row in self.server.db.query(
                self.table, filter=self._ids_said(ids[start : start + step], out=False)[0],
                output_fields=["id", "code"], consistency_level="Strong",
            ):  # fmt: skip
                codes[place[row["id"]]] = row["code"]
        return codes

    def _mend(self, extra: IdArray, rows: IdArray, codes: FloatArray, facts: Any) -> None:
        if len(extra):
            self.server.db.delete(self.table, filter=self._ids_said(extra, out=False)[0])
        self._put(rows, codes, facts)
        self._counted("", "Strong")


def _text(value: str) -> str:
    """A string as filters of Milvus write it."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
