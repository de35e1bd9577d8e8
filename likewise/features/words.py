"""Visual words: a vocabulary of local features, and pictures as sparse histograms of its words.

A vocabulary is the centres of a k-means of RootSIFT descriptors.  A million centres cannot be
had by plain k-means, so it is done in two storeys: some centres of centres, the share of words
that each cell's descriptors deserve inside it, then a few rounds over all words at once with
approximate assignment.  Only a sample is looked at, drawn as the descriptors stream by, so that
memory is bounded whatever their number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likewise.features.local import SIZE, LocalFeatures, root_sift
from likewise.solvers.kmeans import kmeans
from likewise.types import BadInput, DataProblem, Progress

MOST_WORDS = 1_000_000
SAMPLE = 4_000_000
"""Descriptors that a vocabulary is learned from, at most: half a gigabyte."""

PER_WORD = 30
"""Descriptors a word that are enough to learn it."""

EXACT = 4096
"""Up to so many words the nearest is found exactly; beyond, among the likeliest cells."""

PROBES = 12
_CHUNK = 65_536


class Vocabulary:
    """Words: centres that descriptors are rounded to, one row of 128 each; see :meth:`fit`."""

    def __init__(self, centres: Any) -> None:
        self.centres = np.ascontiguousarray(centres, dtype=np.float32)
        if self.centres.ndim != 2 or self.centres.shape[1] != SIZE or not len(self.centres):
            raise BadInput(f"A vocabulary has rows of {SIZE} numbers, at least one.")
        if not np.isfinite(self.centres).all():
            raise BadInput("A vocabulary must be finite; fit it anew.")
        digest = hashlib.sha256(self.centres.tobytes()).hexdigest()
        self.fingerprint = f"vocabulary-{len(self)}-{digest[:24]}"
        self._search: Any = None

    def __len__(self) -> int:
        return len(self.centres)

    @classmethod
    def fit(
        cls,
        batches: Iterable[NDArray[Any]],
        words: int,
        *,
        sample: int = SAMPLE,
        rounds: int = 2,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Vocabulary:
        """Learn up to a million words from matrices of SIFT bytes, read once.

        At most ``sample`` descriptors, drawn evenly from all, are looked at; after the two storeys
        come ``rounds`` of approximate k-means over all words.  ``progress`` is called with (cells
        done, cells).  Fewer different descriptors than words are refused.
        """
        if not 1 <= words <= MOST_WORDS:
            raise BadInput(f"A vocabulary has 1 to {MOST_WORDS:,} words, not {words}.")
        rng = np.random.default_rng(seed)
        seen = draw(batches, max(words, min(sample, PER_WORD * words)), rng)
        if len(seen) < words:
            raise BadInput(
                f"A vocabulary of {words:,} words needs as many descriptors, and there are "
                f"{len(seen):,}; ask for fewer words or add pictures."
            )
        centres = _two_storeys(seen, words, seed, progress)
        if len(centres) < words:
            raise BadInput(
                f"Only {len(centres):,} of the descriptors differ, too few for {words:,} words; "
                "ask for fewer words or add pictures."
            )
        made = cls(centres)
        for _ in range(rounds):
            made = cls(_moved(made, seen))
        return made

    def assign(self, descriptors: NDArray[Any]) -> NDArray[np.int64]:
        """The word of each descriptor (SIFT bytes): the nearest, or nearly so."""
        out = np.empty(len(descriptors), np.int64)
        index = self._index()
        for start in range(0, len(out), _CHUNK):
            rows = root_sift(descriptors[start : start + _CHUNK])
            out[start : start + _CHUNK] = index.search(rows, 1)[1][:, 0]
        return out

    def histograms(self, pictures: Sequence[Any]) -> sparse.csr_array:
        """Counts of words, one sparse row a picture; empty for one without local features."""
        parts = [p.descriptors if isinstance(p, LocalFeatures) else np.asarray(p) for p in pictures]
        starts = np.r_[0, np.cumsum([len(part) for part in parts])].astype(np.int64)
        data = np.concatenate(parts) if parts else np.zeros((0, SIZE), np.uint8)
        return count_words(self.assign(data), starts, len(self))

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The centres."""
        return {"centres": self.centres}, {"fingerprint": self.fingerprint}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]
    ) -> Vocabulary:
        """The vocabulary that :meth:`to_arrays` described."""
        made = cls(arrays["centres"])
        if made.fingerprint != settings["fingerprint"]:
            raise DataProblem("The stored vocabulary is damaged; restore a backup or index again.")
        return made

    def _index(self) -> Any:
        if self._search is None:
            self._search = _searcher(self.centres)
        return self._search


def count_words(words: NDArray[np.int64], starts: NDArray[np.int64], size: int) -> sparse.csr_array:
    """Histograms of pictures whose words are ``words[starts[i]:starts[i + 1]]``."""
    rows = sparse.csr_array(
        (np.ones(len(words), np.float32), words, starts), shape=(len(starts) - 1, size)
    )
    rows.sum_duplicates()
    return rows


def draw(
    batches: Iterable[NDArray[Any]], count: int, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """An even sample of rows that stream by, in bounded memory.

    Every row gets a random number, and those with the smallest numbers stay.
    """
    kept, keys = np.zeros((0, SIZE), np.uint8), np.zeros(0)
    waiting: list[tuple[NDArray[np.uint8], NDArray[np.float64]]] = []
    room, level = 0, np.inf
    for batch in batches:
        rows = np.asarray(batch)
        if rows.ndim != 2 or rows.shape[1] != SIZE:
            raise BadInput(f"Descriptors are rows of {SIZE} numbers, not of shape {rows.shape}.")
        key = rng.random(len(rows))
        low = key < level
        waiting.append((rows[low].astype(np.uint8), key[low]))
        room += int(low.sum())
        if room > max(count, 1 << 16):
            kept, keys = _smallest(kept, keys, waiting, count)
            waiting, room = [], 0
            level = keys.max(initial=0.0) if len(keys) == count else np.inf
    kept, keys = _smallest(kept, keys, waiting, count)
    return kept[np.argsort(keys)]


def _smallest(
    kept: NDArray[np.uint8],
    keys: NDArray[np.float64],
    waiting: Sequence[tuple[NDArray[np.uint8], NDArray[np.float64]]],
    count: int,
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    rows = np.concatenate([kept, *(r for r, _ in waiting)])
    all_keys = np.concatenate([keys, *(k for _, k in waiting)])
    if len(all_keys) <= count:
        return rows, all_keys
    best = np.argpartition(all_keys, count - 1)[:count]
    return rows[best], all_keys[best]


def _two_storeys(
    seen: NDArray[np.uint8], words: int, seed: int, progress: Progress | None
) -> NDArray[np.float32]:
    """Centres of cells, then in each cell the share of words that its descriptors deserve."""
    cells = max(1, round(np.sqrt(words))) if words > 512 else 1
    if cells == 1:
        return kmeans(root_sift(seen), words, iterations=12, seed=seed).centres
    first = kmeans(root_sift(seen[: 256 * cells]), cells, iterations=10, seed=seed).centres
    near = Vocabulary(first).assign(seen)
    order = np.argsort(near, kind="stable")
    bounds = np.searchsorted(near[order], np.arange(len(first) + 1))
    shares = _shares(np.diff(bounds), words)
    found = []
    for cell, share in enumerate(shares.tolist()):
        mine = seen[order[bounds[cell] : bounds[cell + 1]]]
        if share:
            found.append(kmeans(root_sift(mine), share, iterations=8, seed=seed).centres)
        if progress is not None:
            progress(cell + 1, len(first))
    centres = np.concatenate(found)
    missing = words - len(centres)
    if missing > 0:  # a cell of copies has fewer different rows than its share: others help out
        spare = np.unique(root_sift(seen), axis=0)
        spare = spare[np.random.default_rng(seed).permutation(len(spare))]
        centres = np.concatenate([centres, spare[:missing]])
    return centres


def _shares(counts: NDArray[np.int64], words: int) -> NDArray[np.int64]:
    """Words of each cell in proportion to its descriptors, none more than it has."""
    ideal = counts * (words / counts.sum())
    shares: NDArray[np.int64] = np.minimum(np.floor(ideal).astype(np.int64), counts)
    while (missing := words - int(shares.sum())) > 0:
        open_ = np.flatnonzero(shares < counts)
        best = open_[np.argsort(-(ideal - shares)[open_], kind="stable")[:missing]]
        shares[best] += 1
    return shares


def _moved(vocabulary: Vocabulary, seen: NDArray[np.uint8]) -> NDArray[np.float32]:
    """One round of k-means: each word moves to the mean of its descriptors, if it has any."""
    near = vocabulary.assign(seen)
    order = np.argsort(near, kind="stable")
    centres = vocabulary.centres.copy()
    words, first = np.unique(near[order], return_index=True)
    ends = np.r_[first[1:], len(order)]
    at = 0
    while at < len(words):  # as many whole words at a time as make a chunk of descriptors
        stop = max(at + 1, int(np.searchsorted(ends, first[at] + _CHUNK, side="right")))
        rows = root_sift(seen[order[first[at] : ends[stop - 1]]])
        sums = np.add.reduceat(rows, first[at:stop] - first[at], axis=0)
        held = (ends[at:stop] - first[at:stop]).astype(np.float32)
        centres[words[at:stop]] = sums / held[:, None]
        at = stop
    return centres


def _searcher(centres: NDArray[np.float32]) -> Any:
    """Nearest centre: exact for few, by the likeliest cells for many."""
    if len(centres) <= EXACT:
        flat = faiss.IndexFlatL2(SIZE)
        flat.add(centres)
        return flat
    cells = int(2 * np.sqrt(len(centres)))
    coarse = faiss.IndexFlatL2(SIZE)
    coarse.add(kmeans(centres, cells, iterations=6, max_points_per_centre=64).centres)
    index = faiss.IndexIVFFlat(coarse, SIZE, coarse.ntotal, faiss.METRIC_L2)
    index.add(centres)
    index.nprobe = PROBES
    return index
