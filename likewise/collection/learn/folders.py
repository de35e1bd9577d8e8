"""Class folders as labels: a picture is relevant to those of its own folder.

Some queries of each folder and some labels of each query can be written into the log
(``likewise judgements folders``), or a method learns from all of them without a mark
(``labels=folders``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, ClassVar, Self

import numpy as np

from likewise.collection.learn.evidence import Make, Marks, Mask, Sources
from likewise.later import sparse
from likewise.store import as_file
from likewise.types import BadInput, IdArray, Judgement, QueryRef

SOURCE = "folders"
"""Source of judgements that say: the pictures of this folder are alike."""
QUERIES, LABELS = 400, 20
"""Pictures that a method learns from as queries at most, and labels of each that measure it."""


def class_of(path: str) -> str:
    """The folder that a picture is in."""
    return str(PurePosixPath(path).parent)


def labels_of_folders(
    paths: Sequence[str], queries: int, labels: int, rng: np.random.Generator
) -> Iterator[tuple[str, list[str], list[str]]]:
    """So many queries of each folder, each with so many labels, of its folder and of others."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(class_of(path), []).append(path)
    if len(folders) < 2:
        raise BadInput("Class folders mean at least two folders with pictures in them.")
    for name, members in folders.items():
        others = [path for other, group in folders.items() if other != name for path in group]
        for query in rng.permutation(members)[:queries].tolist():
            same = [path for path in rng.permutation(members).tolist() if path != query]
            same = same[: labels // 2]
            yield query, same, rng.permutation(others)[: labels - len(same)].tolist()


@dataclass(frozen=True, eq=False)
class MarksOrFolders(Marks):
    """Marks on picture queries, or the folders that pictures are in."""

    takes: ClassVar[tuple[str, ...]] = ("labels",)
    by_folders: bool = False

    @classmethod
    def gather(cls, sources: Sources, judgements: Any = None, *, labels: str = "marks") -> Self:
        """What people marked; or, where ``labels`` is ``folders``, queries out of each folder."""
        if labels != SOURCE:
            return super().gather(sources, judgements)
        rng = np.random.default_rng(sources.seed)
        ids = sources.view.ids.tolist()
        paths = [as_file(path) for path in sources.store.items.paths(ids).values()]
        count = max(2, QUERIES // max(1, len({class_of(path) for path in paths})))
        made = [
            Judgement(QueryRef("item", query), tuple(items), "label", value, source=SOURCE)
            for query, same, others in labels_of_folders(paths, count, LABELS, rng)
            for items, value in ((same, 1.0), (others, 0.0))
            if items
        ]
        found = super().gather(sources, made)
        return cls(**{**vars(found), "by_folders": True})

    @cached_property
    def relevance(self) -> sparse.csr_array:
        """Queries x items: 1 in one's own folder, -1 (unknown) the query itself."""
        classes: dict[str, int] = {}
        numbers = np.empty(len(self.ids), dtype=np.int64)
        for path, row in self.rows.items():
            numbers[row] = classes.setdefault(class_of(path), len(classes))
        own: IdArray = np.array([self.rows[ref.value] for ref in self.refs], dtype=np.int64)
        same = (numbers[own][:, None] == numbers[None, :]).astype(np.int8)
        same[np.arange(len(own)), own] = -1
        return sparse.csr_array(same)

    def fit(self, make: Make, keep: Mask | None = None) -> Any:
        """A learner, fitted on the kept queries and all pictures of their folders."""
        if not self.by_folders:
            return super().fit(make, keep)
        chosen = np.arange(len(self.queries)) if keep is None else np.flatnonzero(keep)
        return make().fit(self.items, self.relevance[chosen], self.queries[chosen])
