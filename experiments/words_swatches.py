"""Words find swatches: before any click by captions, after learning also without a caption.

A collection of swatches is indexed as a person would do it.  Seven of ten swatches have a caption.
Before learning, words find what captions say (full text).  Then ranked CCA learns
from the captions, each counting as one click on its picture, and once more with a simulated
click log of which one click in ten goes astray; clicks fall on captioned pictures only, so that
of the others nothing but their looks is known.  What the guard says of each model is printed; both
are searched with, whether it lets them serve or not.
Queries are the colours ("red"), the motifs ("stripes") and both ("red stripes").

``p10`` is precision among the first ten results, where only pictures without a caption count
(``among`` says so) or all; ``best`` is what a perfect ranking would reach: for "red stripes" there
are only a few such pictures.  Where nothing is found, precision is 0.  Searches fuse full text and
learned words; ``learned words alone`` is the second model without full text.
"""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import likewise
from experiments.report import Report, run
from experiments.sets import simulate_clicks
from likewise.collection import Collection
from likewise.collection.lines.defaults import FEATURES
from likewise.datasets import SwatchSet, swatches
from likewise.evaluation import randomisation_test

Array = NDArray[Any]
Queries = dict[str, tuple[list[str], Array]]
Ranking = dict[str, list[str]]
"""For each text the names of the pictures found, best first."""
AMONG = ("without caption", "all")


def queries(drawn: SwatchSet) -> Queries:
    """By kind: texts, and which swatches each one means."""
    colour, motif = drawn.truth["colour"], drawn.truth["motif"]
    hues, shapes = np.unique(colour), np.unique(motif)
    both = sorted(set(zip(colour.tolist(), motif.tolist())))
    return {
        "colour": ([str(h) for h in hues], colour == hues[:, None]),
        "motif": ([str(s) for s in shapes], motif == shapes[:, None]),
        "both": (
            [f"{h} {s}" for h, s in both],
            np.stack([(colour == h) & (motif == s) for h, s in both]),
        ),
    }


def main(report: Report) -> None:
    drawn = swatches(300 if report.quick else 2_000, 64 if report.quick else 128, seed=report.seed)
    features = ("colour", "texture", "shape") if report.quick else FEATURES
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "pictures"
        drawn.write(folder, jobs=1)
        with likewise.open(folder, create=True) as collection:
            collection.index(features=features, processes=1)
            measure(report, drawn, collection, Path(place))


def measure(report: Report, drawn: SwatchSet, collection: Collection, place: Path) -> None:
    """Search before learning, after captions, and after clicks."""
    asked = queries(drawn)
    texts = [text for some, _ in asked.values() for text in some]
    settings = {"dim": 20} if report.quick else {}
    found = {"full text (before)": searched(collection, texts, "plain")}
    first = learn(report, collection, settings)
    found["after captions"] = searched(collection, texts, first)
    import_clicks(drawn, collection, place / "clicks.csv", report.seed)
    second = learn(report, collection, settings)
    found["after captions and clicks"] = searched(collection, texts, second)
    found["learned words alone"] = learned_alone(collection, texts, second)
    bare = np.array([not caption for caption in drawn.captions])
    for among, mask in zip(AMONG, (bare, np.ones(len(bare), bool))):
        table(report, drawn, found, asked, among, mask)


def learn(report: Report, collection: Collection, settings: dict[str, Any]) -> int:
    """Learn from captions and clicks, and say what the guard says; gives the model's number."""
    model = collection.learn("ranked-cca", seed=report.seed, settings=settings)
    card = model.card
    report.say(
        f"{card['captions']} captions and {card['judgements']} clicks on {card['queries']} texts "
        f"in {card['seconds']:.0f} s. {card['guard']['sentence']}"
    )
    return model.id


def import_clicks(drawn: SwatchSet, collection: Collection, file: Path, seed: int) -> None:
    """A (query, image, count) table of simulated clicks, on captioned pictures only."""
    log = simulate_clicks(drawn, per_query=10, noise=0.1, seed=seed)
    with open(file, "w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["query", "image", "count"])
        for query, item, count in zip(log.query.tolist(), log.item.tolist(), log.count.tolist()):
            if drawn.captions[item]:
                rows.writerow([log.texts[query], drawn.names[item], count])
    collection.teaching.read(file)


def searched(collection: Collection, texts: list[str], model: int | str) -> Ranking:
    """What a search finds, down to the last picture."""
    every = len(collection)
    return {text: collection.search(text=text, k=every, model=model).paths for text in texts}


def learned_alone(collection: Collection, texts: list[str], model: int) -> Ranking:
    """The order of a words model without full text."""
    snapshot = collection.look.view()
    words = collection.models.reader(model, snapshot)
    found: Ranking = {}
    for text in texts:
        read = None if words is None else words.read(text)
        hits: list[int] = []
        if read is not None and read.surrogate is not None:
            hits = snapshot.search(read.surrogate, len(collection)).ids.tolist()
        found[text] = [item.file for item in collection.store.items.many(hits)]
    return found


def table(
    report: Report,
    drawn: SwatchSet,
    found: dict[str, Ranking],
    asked: Queries,
    among: str,
    mask: Array,
) -> None:
    """One row a method and kind of query."""
    row_of = {name: row for row, name in enumerate(drawn.names)}
    for kind, (texts, relevant) in asked.items():
        best = float(np.minimum(relevant[:, mask].sum(axis=1), 10).mean()) / 10
        before: list[float] = []
        for method, ranking in found.items():
            values = []
            for text, truth in zip(texts, relevant):
                rows = [row_of[path] for path in ranking[text]]
                first = [row for row in rows if mask[row]][:10]
                values.append(float(truth[first].sum()) / 10)
            p_value = randomisation_test(values, before).p_value if before else None
            before = before or values
            report.row(
                method=method, among=among, queries=kind, p10=float(np.mean(values)), best=best,
                p_value=p_value,
            )  # fmt: skip


if __name__ == "__main__":
    run("words_swatches", main, __doc__)
