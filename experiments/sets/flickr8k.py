"""Flickr8k: photographs with five captions each, and people's judgements of caption and picture.

Hodosh, Young and Hockenmaier, Journal of Artificial Intelligence Research 47, 2013.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.sets.archive import Archive, Source, open_archive
from experiments.sets.pictures import ArchivePictures, Pictures
from likewise.types import DataProblem, FloatArray, IdArray, Judgement, QueryRef

SOURCE = Source(
    title="Flickr8k",
    file="flickr8k.zip",
    size=56_417_426,
    sha256="0703b90d9fc6fb562d3786c372276312fa3bd8b66a4f122c08b024486781e432",
    home="https://github.com/tnagire1/flickr8k_dataset",
)
CAPTIONS = 5


@dataclass(frozen=True, eq=False)
class CaptionScores:
    """How well captions describe pictures, as people judged them.

    Attributes
    ----------
    picture
        The picture that was judged.
    caption
        The caption it was judged with: ``captions[caption // 5][caption % 5]``.
    scores
        One row a pair.  Experts: three scores from 1 (does not describe it at all) to 4
        (describes it).  Crowd: how many said yes, and how many said no.
    """

    picture: IdArray
    caption: IdArray
    scores: FloatArray

    def __len__(self) -> int:
        return len(self.picture)


@dataclass(frozen=True, eq=False)
class Flickr8k:
    """Photographs, captions, parts and judgements.

    Attributes
    ----------
    pictures
        Decoded at access.
    names
        File name of each picture inside the archive.
    captions
        Five sentences a picture.
    split
        ``train``, ``dev``, ``test`` or empty for each picture.
    expert, crowd
        Judgements of pairs of caption and picture.
    """

    pictures: Pictures
    names: tuple[str, ...]
    captions: tuple[tuple[str, ...], ...]
    split: NDArray[np.str_]
    expert: CaptionScores
    crowd: CaptionScores

    def __len__(self) -> int:
        return len(self.names)

    def grades(self, pairs: CaptionScores) -> FloatArray:
        """One number a pair: the experts' mean (1 to 4), or the crowd's share of yes (0 to 1)."""
        if pairs is self.crowd:
            share: FloatArray = pairs.scores[:, 0] / pairs.scores.sum(axis=1)
            return share
        mean: FloatArray = pairs.scores.mean(axis=1)
        return mean

    def judgements(self, pairs: CaptionScores) -> list[Judgement]:
        """The pairs as labels, the caption being the query.

        The value is the grade less the middle of its scale (2.5 for experts, 0.5 for the crowd),
        so that it is above zero where people found that the caption describes the picture.
        """
        values = self.grades(pairs) - (0.5 if pairs is self.crowd else 2.5)
        marked: dict[tuple[int, float], list[str]] = defaultdict(list)
        for picture, caption, value in zip(pairs.picture, pairs.caption, values):
            marked[int(caption), float(value)].append(self.names[int(picture)])
        source = "flickr8k crowd" if pairs is self.crowd else "flickr8k experts"
        return [
            Judgement(
                QueryRef("text", self.captions[caption // CAPTIONS][caption % CAPTIONS]),
                tuple(items),
                "label",
                value=value,
                source=source,
            )
            for (caption, value), items in marked.items()
        ]


def load_flickr8k(folder: str | Path | None = None) -> Flickr8k:
    """Flickr8k from ``flickr8k.zip``, or from a folder ``flickr8k`` with the same files.

    Parameters
    ----------
    folder
        The data folder; by default the one that ``LIKEWISE_DATA`` names.
    """
    archive = open_archive(SOURCE, folder)
    columns = tuple(f"caption{i}" for i in range(1, CAPTIONS + 1))
    rows = archive.table("labels.csv", ("file", "split", *columns))
    names = tuple(row["file"] for row in rows)
    number = {Path(name).name: i for i, name in enumerate(names)}
    return Flickr8k(
        ArchivePictures(archive, names),
        names,
        tuple(tuple(row[column].strip() for column in columns) for row in rows),
        np.array([row["split"] for row in rows]),
        _pairs(archive, "text/ExpertAnnotations.txt", number, slice(2, 5)),
        # The third column is the share of the other two, in fewer digits.
        _pairs(archive, "text/CrowdFlowerAnnotations.txt", number, slice(3, 5)),
    )


def _pairs(archive: Archive, member: str, number: dict[str, int], columns: slice) -> CaptionScores:
    picture, caption, scores = [], [], []
    for line, text in enumerate(archive.text(member).splitlines(), start=1):
        cells = text.split("\t")
        try:
            name, which = cells[1].rsplit("#", 1)
            values = [float(cell) for cell in cells[columns]]
            picture.append(number[cells[0]])
            caption.append(number[name] * CAPTIONS + int(which))
            scores.append(values)
        except (IndexError, ValueError, KeyError) as error:
            raise DataProblem(
                f"Line {line} of {member} in {archive.path} cannot be read; get a new copy of it."
            ) from error
    width = columns.stop - columns.start
    if any(len(values) != width for values in scores):
        raise DataProblem(f"{member} in {archive.path} has a line that is cut short.")
    return CaptionScores(
        np.array(picture, dtype=np.int64),
        np.array(caption, dtype=np.int64),
        np.array(scores, dtype=np.float64).reshape(-1, width),
    )
