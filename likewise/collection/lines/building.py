"""From stored vectors to a served index: fit the space once, then build a generation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from likewise.collection.lines.defaults import spec_of, weights_of
from likewise.index import REGISTRY
from likewise.learners.plain import Plain
from likewise.spaces import SPACES, Blocks
from likewise.store import Store
from likewise.types import Damaged, DataProblem, FloatArray, IdArray

SAMPLE = 20_000
"""Pictures that the space's PCA looks at."""

GROWTH = 4
"""A space fitted on fewer than one in this many pictures is fitted again, if nothing needs it."""

LARGE = 100_000
"""From this many items on a generation holds an approximate index; below, the scan is exact."""

BATCH = 8_192


def read_features(
    store: Store, blocks: tuple[str, ...], contents: IdArray
) -> dict[str, FloatArray]:
    """Raw features of contents, a matrix a block."""
    return {block: store.segments.read(block, contents) for block in blocks}


def current_space(store: Store) -> Plain | None:
    """The fitted space with its plain weights, or None where nothing was fitted yet."""
    name = store.settings.get("space")
    if name is None:
        return None
    arrays, card = store.spaces.get(name)
    space = SPACES[card["kind"]].from_arrays(arrays, card["settings"])
    if space.fingerprint != name:
        raise DataProblem("The stored space is damaged; restore a backup, or index again.")
    return Plain(space, store.settings.get("weights"))


def ensure_space(store: Store) -> Plain | None:
    """The space to encode with: the fitted one, or a new one where there is none that serves.

    It is fitted again when the blocks changed, or when the collection has grown far
    beyond the sample and no model was learned in it.
    """
    known = store.segments.blocks()
    blocks = tuple(b for b in store.settings.get("features") or () if b in known)
    if not blocks:
        return None
    now = current_space(store)
    count = known[blocks[0]][1]
    if now is not None and now.space.names == blocks:
        fitted = int(store.settings.get("space_pictures", count))
        in_use = any(m.space == now.space.fingerprint for m in store.models.all())
        if in_use or fitted >= SAMPLE or count < GROWTH * fitted:
            return now
    return _fit(store, blocks)


def _fit(store: Store, blocks: tuple[str, ...]) -> Plain:
    contents = store.segments.contents(blocks[0])
    for block in blocks[1:]:
        contents = np.intersect1d(contents, store.segments.contents(block))
    if len(contents) > SAMPLE:
        rows = np.random.default_rng(0).choice(len(contents), SAMPLE, replace=False)
        sample = contents[np.sort(rows)]
    else:
        sample = contents
    features = read_features(store, blocks, sample)
    space = Blocks.fit(features, {block: spec_of(block) for block in blocks}, sample=SAMPLE)
    plain = Plain(space, weights_of(blocks))
    arrays, settings = space.to_arrays()
    with store.transaction():
        store.spaces.put(space.fingerprint, arrays, {"kind": space.kind, "settings": settings})
        store.settings.set("space", space.fingerprint)
        store.settings.set("weights", plain.weights)
        store.settings.set("space_pictures", len(contents))
    return plain


def encode_items(
    store: Store, space: Blocks, contents: IdArray, *, batch: int = BATCH
) -> Iterator[FloatArray]:
    """Picture vectors of contents as float32, in batches, in the order given.

    Raises :class:`~likewise.types.Damaged`, which names the contents, where stored vectors do not
    match their checksums, or where no finite number comes of them.
    """
    for start in range(0, len(contents), batch):
        part = contents[start : start + batch]
        features = read_features(store, space.names, part)
        codes = space.transform(features).astype(np.float32)
        finite = np.isfinite(codes).all(axis=1)
        if not finite.all():
            lost = part[~finite]
            raise Damaged(
                f"The vectors of {len(lost):,} pictures hold NaN or infinity; index again to "
                "describe them anew.",
                lost.tolist(),
            )
        yield codes


def engine_of(store: Store, items: int) -> str:
    """The kind of index that is to serve so many items: as it was set, or by their number."""
    wanted = store.settings.get("engine") or "auto"
    return str(wanted) if wanted != "auto" else "flat" if items < LARGE else "faiss"


def build_generation(store: Store, plain: Plain) -> int:
    """Encode every present item and publish the index; gives the generation's number.

    The folder holds the codes, the item and the content of each row, and beside them an
    index of the kind that :func:`engine_of` names, unless that is a scan of the codes.
    """
    with store.snapshot():
        segment = store.segments.last()
        live = store.items.contents()
    ids = np.fromiter(live.keys(), dtype=np.int64, count=len(live))
    contents = np.fromiter(live.values(), dtype=np.int64, count=len(live))
    space = plain.space
    with store.generations.build() as aside:
        codes = np.lib.format.open_memmap(
            aside / "codes.npy", mode="w+", dtype=np.float32, shape=(len(ids), space.dim)
        )
        at = 0
        for part in encode_items(store, space, contents):
            codes[at : at + len(part)] = part
            at += len(part)
        codes.flush()
        np.save(aside / "ids.npy", ids)
        np.save(aside / "contents.npy", contents)
        kind = engine_of(store, len(ids))
        if kind != "flat":
            index = REGISTRY[kind].build(codes, ids, space=space.fingerprint)
            index.save(aside / kind)
        del codes
        published = store.generations.publish(
            aside, space=space.fingerprint, kind=kind, segment=segment, items=len(ids)
        )
    return published.number
