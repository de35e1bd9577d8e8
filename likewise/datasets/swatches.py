"""Swatches: a picture collection of any size whose truth is known.

Every item is a patterned swatch of cloth or paper, drawn when it is asked for.  Motif,
colour, ground, scale and texture are known, as are near-duplicate groups; so are captions,
for those items that have one.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from numpy.typing import NDArray
from PIL import Image

from likewise.datasets.swatch_art import Design, draw
from likewise.datasets.swatch_truth import Swatch, apply_change, plan
from likewise.datasets.swatch_words import caption, tags
from likewise.files import write_file
from likewise.types import BadInput, DataProblem, Progress

RECIPE_VERSION = 1
"""Changes whenever the same seed would give other pictures."""

RECIPE_FILE = "swatches.json"
CAPTION_FILE = "captions.csv"
_JPEG_QUALITY = 88


@dataclass(frozen=True, eq=False)
class SwatchSet:
    """A collection of swatches with known truth, drawn lazily.

    Use :func:`swatches` to make one.  ``items`` has the truth, one :class:`Swatch` an item, and
    ``captions`` a caption each, empty for items that were left without one.
    """

    size: int
    seed: int
    items: tuple[Swatch, ...]
    captions: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, item: int) -> NDArray[np.uint8]:
        return self.render(item)

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        return (self.render(item) for item in range(len(self)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """File name of every item; it says nothing of the truth."""
        digits = max(4, len(str(len(self))))
        return tuple(f"swatch-{i + 1:0{digits}d}.jpg" for i in range(len(self)))

    @cached_property
    def truth(self) -> dict[str, NDArray[Any]]:
        """Columns of the truth, one entry an item.

        ``motif``, ``colour``, ``ground``, ``scale``, ``texture`` and ``change`` are names,
        ``group`` is a number that near-duplicates share.
        """
        aspects = ("motif", "colour", "ground", "scale", "texture")
        columns: dict[str, NDArray[Any]] = {
            aspect: np.array([getattr(item.design, aspect) for item in self.items])
            for aspect in aspects
        }
        columns["group"] = np.array([item.group for item in self.items], dtype=np.int64)
        columns["change"] = np.array([item.change.kind for item in self.items])
        return columns

    @property
    def tags(self) -> tuple[tuple[str, ...], ...]:
        """Keywords of every captioned item; none for the others."""
        return tuple(tags(s.design) if text else () for s, text in zip(self.items, self.captions))

    def render(self, item: int) -> NDArray[np.uint8]:
        """The picture of an item: height x width x 3, sRGB, uint8."""
        swatch = self.items[item]
        return _picture(swatch, self.size, self.seed)

    def render_all(self, *, jobs: int = -1) -> list[NDArray[np.uint8]]:
        """All pictures, drawn on ``jobs`` cores (-1: all of them)."""
        work = (delayed(_picture)(swatch, self.size, self.seed) for swatch in self.items)
        pictures: list[NDArray[np.uint8]] = Parallel(n_jobs=jobs, batch_size=16)(work)
        return pictures

    def write(
        self, folder: str | Path, progress: Progress | None = None, *, jobs: int = -1,
        first: int | None = None
    ) -> Path:  # fmt: skip
        """Write the pictures and ``captions.csv`` (columns file, caption, tags) into a folder.

        Calling it again finishes what was interrupted, and touches nothing that is there.

        Parameters
        ----------
        folder
            An empty or new folder, or one that this method has written before.
        progress
            Called with (pictures written so far, pictures in all).
        jobs
            How many cores to use (-1: all of them).
        first
            Write this many pictures only; a later call writes the rest.
        """
        folder = Path(folder)
        _claim(folder, self._recipe())
        write_file(folder / CAPTION_FILE, [self._sidecar().encode("utf-8")], durable=False)
        wanted = self.names[:first]
        missing = [i for i, name in enumerate(wanted) if not (folder / name).exists()]
        done, total = len(wanted) - len(missing), len(self)
        work = (
            delayed(_save)(self.items[i], self.size, self.seed, folder / self.names[i])
            for i in missing
        )
        try:
            for _ in Parallel(n_jobs=jobs, batch_size=16, return_as="generator_unordered")(work):
                done += 1
                if progress is not None:
                    progress(done, total)
        finally:
            if missing and jobs != 1:  # joblib would keep its idle workers, and warn at a kill
                get_reusable_executor().shutdown(wait=True)
        return folder

    def _recipe(self) -> dict[str, Any]:
        captioned = sum(1 for text in self.captions if text)
        groups = len({item.group for item in self.items})
        return {
            "swatches": len(self), "size": self.size, "seed": self.seed, "designs": groups,
            "captioned": captioned, "recipe": RECIPE_VERSION
        }  # fmt: skip

    def _sidecar(self) -> str:
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["file", "caption", "tags"])
        for name, sentence, words in zip(self.names, self.captions, self.tags):
            if sentence:
                rows.writerow([name, sentence, "|".join(words)])
        return text.getvalue()


def swatches(
    n: int = 2000, size: int = 256, seed: int = 0, *, duplicates: float = 0.1,
    captioned: float = 0.7, synonyms: float = 0.15
) -> SwatchSet:  # fmt: skip
    """A collection of ``n`` swatches with known truth.

    Parameters
    ----------
    n
        How many pictures.
    size
        Longer side in pixels; about a third of the pictures are not square.
    seed
        Decides everything; two calls with the same arguments give the same bytes.
    duplicates
        Share of the items that are near-duplicates of another (a crop, a small turn or
        another light), at most one half.
    captioned
        Share of the items that have a caption and tags.
    synonyms
        How often a caption says a thing in another word.

    Examples
    --------
    >>> collection = swatches(100, size=64, seed=7)
    >>> collection.render(0).shape[2]
    3
    >>> sorted(collection.truth)
    ['change', 'colour', 'ground', 'group', 'motif', 'scale', 'texture']
    """
    _check(n, size, seed, duplicates, captioned, synonyms)
    items = tuple(plan(n, seed, duplicates))
    rng = np.random.default_rng([seed, 2])
    keep = np.zeros(n, dtype=bool)
    keep[rng.permutation(n)[: round(n * captioned)]] = True
    sentences = [caption(item.design, rng, synonyms) for item in items]
    captions = tuple(text if kept else "" for text, kept in zip(sentences, keep))
    return SwatchSet(size, seed, items, captions)


def _check(
    n: int, size: int, seed: int, duplicates: float, captioned: float, synonyms: float
) -> None:
    if n < 1:
        raise BadInput(f"A collection of swatches needs at least one picture, not {n}.")
    if not 8 <= size <= 4096:
        raise BadInput(f"The longer side of a swatch is 8 to 4096 pixels, not {size}.")
    if seed < 0:
        raise BadInput(f"A seed is a whole number of at least 0, not {seed}.")
    if not 0 <= duplicates <= 0.5:
        raise BadInput(f"The share of near-duplicates is between 0 and 0.5, not {duplicates}.")
    for name, share in (("captioned", captioned), ("synonyms", synonyms)):
        if not 0 <= share <= 1:
            raise BadInput(f"{name} is a share between 0 and 1, not {share}.")


def _picture(swatch: Swatch, size: int, seed: int) -> NDArray[np.uint8]:
    design: Design = swatch.design
    picture = draw(design, size, seed)
    return picture if swatch.change.kind == "none" else apply_change(picture, swatch.change)


def _save(swatch: Swatch, size: int, seed: int, path: Path) -> None:
    data = io.BytesIO()
    Image.fromarray(_picture(swatch, size, seed)).save(
        data, "JPEG", quality=_JPEG_QUALITY, subsampling=0
    )
    write_file(path, [data.getvalue()], durable=False)


def _claim(folder: Path, recipe: dict[str, Any]) -> None:
    """Make the folder ours, or refuse one that holds something else."""
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / RECIPE_FILE
    if not note.exists():
        if any(not entry.name.startswith(".") for entry in folder.iterdir()):
            raise BadInput(
                f"{folder} already holds other files; name an empty or new folder for the swatches."
            )
        write_file(note, [(json.dumps(recipe, indent=1) + "\n").encode("utf-8")], durable=False)
        return
    try:
        found = json.loads(note.read_text("utf-8"))
    except ValueError as error:
        raise DataProblem(
            f"{note} is damaged; delete {folder} and write the swatches again."
        ) from error
    if found != recipe:
        raise BadInput(
            f"{folder} holds swatches of another recipe (see {RECIPE_FILE} there); "
            "name another folder or delete that one."
        )
