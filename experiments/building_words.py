"""Local features of buildings and distractors, extracted once and kept.

``descriptors("tmbud", report)`` gives SIFT of every picture of a set, strongest first, as one
matrix of bytes and the row where each picture begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from experiments.kept import keep
from experiments.report import Report
from experiments.sets import load_corel5k, load_flickr8k, load_tmbud
from likewise.datasets import swatches
from likewise.features.local import SIZE, local_features
from likewise.features.words import Vocabulary, count_words

MOST = 1000
"""Places of a picture that are kept on disk; a smaller limit takes the first of them."""

DISTRACTORS = ("flickr8k", "corel5k")
LOADERS: dict[str, Callable[[], Any]] = {
    "tmbud": load_tmbud,
    "flickr8k": load_flickr8k,
    "corel5k": load_corel5k,
}


class Descriptors(NamedTuple):
    """SIFT of several pictures: those of picture i are ``data[starts[i]:starts[i + 1]]``."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1


def extract(pictures: Sequence[Any], most: int = MOST) -> Descriptors:
    """SIFT of pictures."""
    parts = [local_features(picture, most).descriptors for picture in pictures]
    data = np.concatenate(parts) if parts else np.zeros((0, SIZE), np.uint8)
    return Descriptors(data, np.r_[0, np.cumsum([len(part) for part in parts])].astype(np.int64))


def descriptors(name: str, report: Report) -> Descriptors:
    """SIFT of ``tmbud``, ``flickr8k`` or ``corel5k``, from the cache where it is there."""
    found: list[Descriptors] = []
    most = first_of(name, report)

    def extracted() -> Descriptors:
        if not found:
            report.say(f"extracting local features of {name} ...")
            found.append(extract(LOADERS[name]().pictures[:most]))
        return found[0]

    stem = f"{name}-sift-{MOST}-1" + (f"-{most}" if most else "")
    starts = keep(f"{stem}.s", lambda: extracted().starts)
    return Descriptors(keep(f"{stem}.x", lambda: extracted().data, mapped=True), starts)


class Assigned(NamedTuple):
    """Words of several pictures, strongest place first, in the manner of :class:`Descriptors`."""

    words: NDArray[np.int32]
    starts: NDArray[np.int64]

    def counts(self, size: int, limit: int = MOST) -> sparse.csr_array:
        """Histograms of the strongest places of each picture."""
        count = np.minimum(np.diff(self.starts), limit)
        starts = np.r_[0, np.cumsum(count)]
        rows = np.repeat(self.starts[:-1] - starts[:-1], count) + np.arange(starts[-1])
        return count_words(self.words[rows].astype(np.int64), starts, size)


def assigned(name: str, size: int, report: Report) -> Assigned:
    """Words of a set's pictures, in a vocabulary of ``size`` words of the distractors."""
    found = descriptors(name, report)

    def assign() -> NDArray[np.int32]:
        report.say(f"assigning words of {name}, {size:,} words ...")
        return vocabulary(size, report).assign(found.data).astype(np.int32)

    told = f"{size}-{report.seed}-1{named(report)}"
    return Assigned(keep(f"{name}-words-{told}", assign), found.starts)


def first_of(name: str, report: Report) -> int | None:
    """How many pictures of a set take part; all where nothing is said."""
    some = report.settings.get("some")
    return None if not some else int(some[0] if name == "tmbud" else some[1])


def distractors(report: Report) -> tuple[str, ...]:
    """The sets that are in the way, and that the vocabulary is learned from."""
    return tuple(report.settings.get("distractors") or DISTRACTORS)


def named(report: Report) -> str:
    """What a kept file's name says of them, where they are not the usual ones."""
    some = [str(n) for n in report.settings.get("some") or ()]
    usual = distractors(report) == DISTRACTORS and not some
    return "" if usual else "-" + "-".join([*distractors(report), *some])


def vocabulary(size: int, report: Report) -> Vocabulary:
    """A vocabulary of the distractors' local features: neither queries nor relevant pictures."""

    def learn() -> NDArray[Any]:
        report.say(f"learning a vocabulary of {size:,} words ...")
        how: dict[str, Any] = (
            {} if size <= 50_000 else {"sample": 1_000_000, "rounds": 0}
        )  # minutes, not hours
        batches = (
            found.data[start : start + 100_000]
            for found in (descriptors(name, report) for name in distractors(report))
            for start in range(0, len(found.data), 100_000)
        )
        return Vocabulary.fit(batches, size, seed=report.seed, **how).centres

    return Vocabulary(keep(f"vocabulary-{size}-{report.seed}-1{named(report)}", learn))


def strips(whole: Any, size: int, report: Report, kinds: int = 40) -> Any:
    """A patterned strip laid into every picture: the words of one of a few swatches added."""
    rng = np.random.default_rng([report.seed, 99])
    edge, most = (96, 60) if report.quick else (192, 200)
    found = extract(swatches(kinds, size=edge, seed=report.seed + 1).render_all(jobs=1), most)
    made = toy_vocabulary(size, report) if report.quick else vocabulary(size, report)
    patterns = count_words(made.assign(found.data), found.starts, size)
    return whole._replace(counts=whole.counts + patterns[rng.integers(0, kinds, len(whole.labels))])


def toy(size: int, report: Report) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """Views of swatches for buildings and other swatches for distractors: what quick runs use."""
    rng = np.random.default_rng(report.seed)
    drawn = swatches(60, size=128, seed=report.seed).render_all(jobs=1)
    views = [_view(picture, rng) for picture in drawn[:16] for _ in range(5)]
    pictures = [*views, *drawn[16:]]
    found = extract(pictures, 80)
    counts = count_words(toy_vocabulary(size, report).assign(found.data), found.starts, size)
    return counts, np.r_[np.repeat(np.arange(16), 5), np.full(len(drawn) - 16, -1)]


def toy_vocabulary(size: int, report: Report) -> Vocabulary:
    """A vocabulary of swatches that are neither views nor strips."""
    found = extract(swatches(30, size=128, seed=report.seed + 2).render_all(jobs=1), 80)
    return Vocabulary.fit([found.data], size, rounds=0, seed=report.seed)


def _view(picture: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    """A part of a picture, as another photographer would have it."""
    side = int(rng.integers(80, 110))
    top, left = rng.integers(0, 128 - side, 2)
    part = picture[top : top + side, left : left + side].astype(np.float32)
    return np.clip(part * rng.uniform(0.7, 1.2) + rng.normal(0, 4, part.shape), 0, 255).astype(
        np.uint8
    )
