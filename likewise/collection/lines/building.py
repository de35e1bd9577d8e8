"""From stored vectors to a served index: fit the space, then build a generation.

While a collection is small its space is fitted anew whenever it has doubled, so that a search is
possible after the first few pictures and good after some more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from likewise.collection import engines
from likewise.collection.lines import meanings
from likewise.collection.lines.defaults import spec_of, weights_of
from likewise.collection.lines.smoothing import CHECKED, FEWEST, KEPT, kept, smoothed_items
from likewise.index._checks import let_go
from likewise.learners.plain import Plain
from likewise.solvers.smoothing import Smoothing
from likewise.solvers.threads import free_blas_threads
from likewise.spaces import SPACES, Blocks
from likewise.store import CHANGE, Store
from likewise.types import BadInput, Damaged, DataProblem, FloatArray, IdArray

SAMPLE = 20_000
"""Pictures that the space's PCA looks at."""

FIRST = 50
"""Pictures after which there is a first index, while the rest still comes in."""

SMALL = 2_000
"""Up to so many pictures models are learned anew when a space is fitted again; beyond, a space
that a model was learned in stays."""

GROWTH = 4
"""A space fitted on fewer than one in this many pictures is fitted again; one in two, if small."""

SMOOTHINGS = ("auto", "on", "off")
"""Whether codes take in their neighbours: where a check shows no harm, always, never."""

BATCH = 8_192

FORMER = "former_spaces"
"""Setting: spaces that were fitted anew; models that were active in one are learned again."""


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


class Fitted(NamedTuple):
    """A space to encode with; ``pictures`` is what it was fitted on where it is not stored yet."""

    plain: Plain
    pictures: int = 0


def ensure_space(store: Store, *, early: bool = False) -> Fitted | None:
    """The stored space, or a new one where there is none that serves; nothing is written.

    It is fitted again when the blocks changed, when the collection has grown far beyond
    the sample, and once the pictures are all there where it was fitted while they came in
    (``early``), so that it does not depend on how fast they came.
    """
    known = store.segments.blocks()
    blocks = tuple(b for b in store.settings.get("features") or () if b in known)
    if not blocks:
        return None
    now = current_space(store)
    count = known[blocks[0]][1]
    if now is not None and now.space.names == blocks:
        fitted = int(store.settings.get("space_pictures", count))
        of_it = [m for m in store.models.all() if m.space == now.space.fingerprint]
        small = count <= SMALL and not any("imported" in m.card for m in of_it)
        grown = count >= (2 if small else GROWTH) * fitted and fitted < SAMPLE
        whole = bool(store.settings.get("space_early")) and not early and count > fitted
        if not (grown or whole) or (of_it and not small):
            return Fitted(now)
    return _fit(store, blocks)


def _fit(store: Store, blocks: tuple[str, ...]) -> Fitted:
    contents = store.segments.contents(blocks[0])
    for block in blocks[1:]:
        contents = np.intersect1d(contents, store.segments.contents(block))
    if len(contents) > SAMPLE:
        rows = np.random.default_rng(0).choice(len(contents), SAMPLE, replace=False)
        sample = contents[np.sort(rows)]
    else:
        sample = contents
    features = read_features(store, blocks, sample)
    with free_blas_threads():
        space = Blocks.fit(features, {block: spec_of(block) for block in blocks}, sample=SAMPLE)
    return Fitted(Plain(space, weights_of(blocks)), len(contents))


def ask_smoothing(store: Store, wanted: str) -> None:
    """Remember what the next build is to do."""
    if wanted not in SMOOTHINGS:
        raise BadInput(f"Smoothing is one of {', '.join(SMOOTHINGS)}, not {wanted!r}.")
    store.settings.set("smoothing", wanted)


def ensure_smoothing(store: Store, fitted: Fitted, *, early: bool = False) -> Fitted:
    """The space as the next generation is to serve it: smoothed by neighbours or not.

    What was asked for (``on``, ``off``) is done.  With ``auto``, where every new collection
    begins, a check decides once the pictures are all there, and again when the space is fitted
    anew or the collection has grown far beyond what was looked at, unless a model was learned in
    it.  A folder of an earlier commit was never asked: it stays as it is.
    """
    space, is_new = fitted.plain.space, store.settings.get("space") is None
    wanted = store.settings.get("smoothing") or ("auto" if is_new else None)
    in_use = any(model.space == space.fingerprint for model in store.models.all())
    how = Smoothing() if wanted == "on" else None
    if wanted is None or (wanted == "auto" and (early or in_use)):
        how = space.smoothing
    elif wanted == "auto":
        how = Smoothing() if _share_kept(store, fitted.plain) >= KEPT else None
    if how == space.smoothing:
        return fitted
    pictures = fitted.pictures or int(store.settings.get("space_pictures", 1))
    return Fitted(Plain(space.smoothed(how), fitted.plain.weights), pictures)


def _share_kept(store: Store, plain: Plain) -> float:
    """What the check says of a space, computed once for so many pictures."""
    contents = store.items.described()[1]
    base, told = plain.space.smoothed(None).fingerprint, store.settings.get("smoothing_check", {})
    if told.get("space") != base or len(contents) >= GROWTH * max(told["pictures"], 1):
        share = 0.0
        if len(contents) >= FEWEST:
            rows = np.random.default_rng(0).permutation(len(contents))[:CHECKED]
            x = np.concatenate([*encode_items(store, plain.space, contents[rows])])
            share = kept(x, plain, Smoothing())
        told = {"space": base, "pictures": len(contents), "kept": share}
        store.settings.set("smoothing_check", told)
    return float(told["kept"])


def keep_space(store: Store, fitted: Fitted, early: bool) -> None:
    """Store a space; the one before goes, or is remembered where a model was learned in it."""
    plain, before = fitted.plain, store.settings.get("space")
    arrays, settings = plain.space.to_arrays()
    store.spaces.put(
        plain.space.fingerprint, arrays, {"kind": plain.space.kind, "settings": settings}
    )
    if before and before != plain.space.fingerprint:
        if any(model.space == before for model in store.models.all()):
            store.settings.set(FORMER, [*store.settings.get(FORMER, []), before])
        else:
            store.spaces.remove(before)
    if before is None and store.settings.get("smoothing") is None:
        store.settings.set("smoothing", "auto")
    store.settings.set("space", plain.space.fingerprint)
    store.settings.set("weights", plain.weights)
    store.settings.set("space_pictures", fitted.pictures)
    store.settings.set("space_early", early)


TILE = 64
"""Rows that are transformed at a time, where a row's numbers may not depend on its company."""


def _tiled(space: Blocks, features: dict[str, FloatArray]) -> FloatArray:
    """Picture vectors, each the same to the last bit with whatever others it comes."""
    n = len(next(iter(features.values())))
    wide = {name: np.resize(x, (-(-n // TILE) * TILE, x.shape[1])) for name, x in features.items()}
    parts = [
        space.transform({name: x[start : start + TILE] for name, x in wide.items()})
        for start in range(0, n, TILE)
    ]
    return np.concatenate(parts)[:n]


def encode_items(
    store: Store, space: Blocks, contents: IdArray, *, batch: int = BATCH, tiled: bool = False
) -> Iterator[FloatArray]:
    """Picture vectors of contents as float32, in batches, in the order given.

    ``tiled``: a content's vector does not depend on which others are asked for, to the last bit.
    Raises :class:`~likewise.types.Damaged`, which names the contents, where stored vectors do not
    match their checksums, or where no finite number comes of them.
    """
    for start in range(0, len(contents), batch):
        part = contents[start : start + batch]
        features = read_features(store, space.names, part)
        codes = (_tiled(space, features) if tiled else space.transform(features)).astype(np.float32)
        finite = np.isfinite(codes).all(axis=1)
        if not finite.all():
            lost = part[~finite]
            raise Damaged(
                f"The vectors of {len(lost):,} pictures hold NaN or infinity; index again to "
                "describe them anew.",
                lost.tolist(),
            )
        yield codes


def build_generation(store: Store, fitted: Fitted, *, early: bool = False) -> int:
    """Encode every present item and publish the index; gives the generation's number.

    A space that is new is stored in the same transaction, so that a reader never meets one
    without the other.

    The folder holds the codes (and as ``bare.npy`` those before smoothing, where there is any),
    the item and the content of each row, and beside them an index of the engine that is to serve,
    unless that is a scan of the codes.
    """
    with store.snapshot():
        segment, change = store.segments.last(), store.catalogue.changes()[0]
        ids, contents = store.items.described()
    space = fitted.plain.space
    with store.generations.build() as aside:
        shape, encoded = (len(ids), space.dim), encode_items(store, space, contents)
        if space.smoothing is not None:
            encoded = smoothed_items(_written(aside / "bare.npy", encoded, shape), fitted.plain)
        codes = _written(aside / "codes.npy", encoded, shape)
        table = meanings.fit(store, codes, contents)
        if table is not None:
            np.save(aside / meanings.FILE, table)
        np.save(aside / "ids.npy", ids)
        np.save(aside / "contents.npy", contents)
        kind, kept_of_it = engines.build(
            store, codes, ids, space.fingerprint, aside, early=early, weights=fitted.plain.w0
        )
        del codes
        # Only with a new space: else nobody has to wait while the manifest is written.
        with store.transaction() if fitted.pictures else contextlib.nullcontext():
            if fitted.pictures:
                keep_space(store, fitted, early)
            published = store.generations.publish(
                aside, space=space.fingerprint, kind=kind, segment=segment, items=len(ids),
                settings={**kept_of_it, CHANGE: change},
            )  # fmt: skip
    engines.follow(store)
    return published.number


def _written(path: Path, parts: Iterator[FloatArray], shape: tuple[int, int]) -> Any:
    """A file of rows, filled part by part."""
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    at = 0
    for part in parts:
        rows[at : at + len(part)] = part
        at += len(part)
        let_go(rows)
    rows.flush()
    return rows
