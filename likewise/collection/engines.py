"""What answers for the look: a local index, or one on a server that follows the generations.

The catalogue and the folder of a generation are the record.  A server gets a table per generation;
the names of all tables that were begun stand in the settings, so that those of a writer that died
are found again.
"""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path
from typing import Any

import numpy as np

from likewise.index import REGISTRY
from likewise.index._server import SCHEMES, Address
from likewise.store import THINNED, Finding, Generation, Store
from likewise.types import BadInput, DataProblem, FloatArray, IdArray, LikewiseError

LARGE = 100_000
"""From this many items on a generation holds an approximate index; below, the scan is exact."""
LOCAL = ("auto", "flat", "faiss", "tree")
"""What may serve a collection's look on this machine: a kind of index, or the one that fits."""
TABLES, OWNER = "engine_tables", "engine_owner"
"""Settings: tables that this catalogue began, each with its address; whose they are."""
RESTATED = 10_000
"""So many changed facts of items are looked up beside the engine; more make a new generation."""


def choose(store: Store, wanted: str) -> None:
    """Remember what is to serve from now on; a server is asked first whether it can."""
    if "://" in wanted:
        address = Address.of(wanted)
        server = REGISTRY[address.kind].server_class.at(address)
        with server.session(fresh=True):
            server.check(_owner(store))
    elif wanted not in LOCAL:
        names = ", ".join([*LOCAL, *(f"{scheme}://..." for scheme in SCHEMES)])
        raise BadInput(f"The engine is one of {names}, not {wanted!r}.")
    store.settings.set("engine", wanted)


def engine_of(store: Store, items: int, *, early: bool = False) -> tuple[str, str]:
    """The kind of index that is to serve so many items, and its address where it is a server.

    While pictures still come in, none is sent to a server.
    """
    wanted = str(store.settings.get("engine") or "auto")
    if "://" in wanted and not early:
        return Address.of(wanted).kind, wanted
    if wanted == "auto" or "://" in wanted:
        return ("flat" if items < LARGE else "faiss"), ""
    return wanted, ""


def serves(store: Store, found: Generation | None, items: int, *, early: bool = False) -> bool:
    """Whether a generation is of the engine that is to serve, and its facts are not too old."""
    if found is None or THINNED in found.settings:
        return False
    if (found.kind, found.settings.get("address", "")) != engine_of(store, items, early=early):
        return False
    return store.restatements(found.settings.get("position", 0))[1] <= RESTATED


def build(
    store: Store, codes: FloatArray, ids: IdArray, space: str, aside: Path, *, early: bool,
    weights: FloatArray,
) -> tuple[str, dict[str, Any]]:  # fmt: skip
    """Write the index of a generation; gives its kind and what the catalogue keeps of it.

    ``weights`` are plain similarity's: some engines are told what most queries will be like.
    """
    kind, address = engine_of(store, len(ids), early=early)
    if kind == "flat":
        return kind, {}
    how: dict[str, Any] = {}
    own: dict[str, Any] = {"weights": weights} if REGISTRY[kind].takes_weights else {}
    if address:
        table = f"{Address.of(address).name}_{secrets.token_hex(4)}"
        store.settings.set(TABLES, [*store.settings.get(TABLES, []), [address, table]])
        how = {"address": address, "table": table, "position": store.restatements()[0]}
        own |= {"owner": _owner(store), "facts": store.facts(ids)}
    if kind == "faiss":
        own["beside"] = "codes.npy"
    index = REGISTRY[kind].build(codes, ids, space=space, **how, **own)
    index.save(aside / kind)
    return kind, how


def load(folder: Path, kind: str, codes: FloatArray) -> Any:
    """The index of a generation, with its codes: mapped once, or for while a server is away."""
    index: Any = REGISTRY[kind].load(folder / kind, compared=True)
    if hasattr(index, "keep"):
        index.keep(codes)
    return index


def follow(store: Store) -> None:
    """Let servers follow the catalogue: their names show the newest generation, old tables go.

    A server that is away is asked again after the next build.
    """
    begun: list[list[str]] = store.settings.get(TABLES, [])
    kept = [g for g in store.generations.all() if "table" in g.settings]
    named, gone, owner = {g.settings["table"] for g in kept}, set(), _owner(store)
    for address in sorted({address for address, _ in begun}):
        own = [g.settings["table"] for g in kept if g.settings["address"] == address]
        old = [table for at, table in begun if at == address and table not in named]
        parsed = Address.of(address)
        with contextlib.suppress(LikewiseError):
            server = REGISTRY[parsed.kind].server_class.at(parsed)
            with server.session(fresh=True):
                server.publish(own[-1] if own else None, owner)
                server.drop(old, owner)
            gone |= set(old)
    if gone:
        store.settings.set(TABLES, [pair for pair in begun if pair[1] not in gone])
    if begun:
        store.forget_restatements(min((g.settings["position"] for g in kept), default=0))


def verify(store: Store) -> list[Finding]:
    """Compare a server with the catalogue and repair it, or let the next build load it anew."""
    generation = store.generations.current()
    if generation is None or "table" not in generation.settings:
        raise BadInput("No server serves this collection; name one with likewise index --engine.")
    folder = generation.folder
    index = REGISTRY[generation.kind].load(folder / generation.kind, compared=True)
    codes, ids = np.load(folder / "codes.npy", mmap_mode="r"), np.load(folder / "ids.npy")
    shown = index.server.address.shown
    try:
        missing, extra, wrong = index.differences(codes)
    except DataProblem as error:
        if getattr(error, "lost", False):
            raise
        store.generations.withdraw("main")
        return [Finding("cache", shown, f"{error} It was loaded anew.")]
    follow(store)
    if len(wrong) or len(missing) > len(ids) // 2:
        said = f"{len(missing):,} items were missing and {len(wrong):,} of a sample differed"
        store.generations.withdraw("main")
        return [Finding("cache", shown, f"In {shown} {said}; it was loaded anew.")]
    if not len(missing) and not len(extra):
        return []
    index.mend(missing, extra, codes, store.facts(missing))
    said = f"{len(missing):,} items were missing and {len(extra):,} were too many"
    return [Finding("cache", shown, f"In {shown} {said}; this was repaired.")]


def _owner(store: Store) -> str:
    """A name of this collection that no other has."""
    owner = store.settings.get(OWNER)
    if owner is None:
        owner = secrets.token_hex(16)
        store.settings.set(OWNER, owner)
    return str(owner)
