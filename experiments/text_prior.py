"""Words as a prior of target search: does the filter find sooner if it keeps in mind what was said?

A person looks for one of Corel5k's pictures, types one of its keywords (one that the reader of the
first minute understands), then chooses the closest of 20 in every round and names the next two.

no words
    the first board has representatives of everything
words first
    the first board has the first 20 results of the word
words first and prior
    and log p0 = b z in the target filter, z the word's score of each picture, centred and of
    variance one; b is chosen among three by other searches

``rounds`` is the mean round that shows the target (16 where none of 15 did); persons are those of
``experiments.drags``, none of whom judges by one of the filter's own views.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from experiments.drags import Person, persons
from experiments.report import Report, run
from experiments.sets import load_corel5k
from experiments.words_uncaptioned import collected, corel5k
from likewise.collection.options import Options
from likewise.evaluation.significance import randomisation_test
from likewise.session import ArrayHoldings, MemoryRounds, Settings, TargetSession
from likewise.session.holdings import rows_of
from likewise.types import FloatArray, IdArray

SHOWN, MOST, SEARCHES, CHOOSING = 20, 15, 300, 60
STRENGTHS = (0.5, 1.0, 2.0)
PERSONS = ("mixture", "class and colour", "noisy")


class WithPrior(TargetSession):
    """A session whose filter begins with an opinion."""

    prior: FloatArray | None = None

    def _posterior(self, branch: Any, weights: FloatArray) -> Any:
        found = super()._posterior(branch, weights)
        return found if self.prior is None else found._replace(log=found.log + self.prior)


def search(
    holdings: ArrayHoldings, person: Person, target: int, rng: np.random.Generator,
    first: IdArray | None, prior: FloatArray | None,
) -> int:  # fmt: skip
    """Round that shows the target."""
    ids = holdings.ids
    settings = Settings(shown=SHOWN, layout="none")
    shown = None if first is None else ids[first].tolist()
    session = WithPrior.start(holdings, MemoryRounds(), settings, first=shown)
    assert isinstance(session, WithPrior)
    session.prior = prior
    for depth in range(1, MOST + 1):
        board = session.board
        if int(ids[target]) in board.shown:
            return depth
        if depth == MOST or not board.shown:
            break
        old = [] if board.query is None else [board.query]
        among = rows_of(holdings, [*old, *board.shown])
        chosen = person.choose(target, among, rng)
        rest = among[among != chosen]
        left, closer = ids[rest].tolist(), []
        for item in ids[person.closest(target, rest, 2, rng)].tolist():
            left.remove(item)
            closer.append([item, *left])
        session.next(int(ids[chosen]), closer=closer)
    return MOST + 1


def scored(collection: Any, words: list[str]) -> dict[str, FloatArray]:
    """Standard scores of all pictures for each word that the reader understands."""
    out = {}
    ids = collection.look.view().bare.all_rows()[0]
    for word in words:
        asked = collection._search.understand(collection.query(text=word), Options())
        if asked.surrogate is None:
            continue
        scores = asked.view.codes(ids.tolist()) @ asked.surrogate.vector
        if scores.std() > 0:
            out[word] = ((scores - scores.mean()) / scores.std()).astype(np.float32)
    return out


def main(report: Report) -> None:
    searches = report.settings.get("searches") or SEARCHES
    task = corel5k(report)
    corel = load_corel5k()
    with tempfile.TemporaryDirectory() as folder, collected(Path(folder), task) as collection:
        view = collection.look.view().bare
        ids, vectors = view.all_rows()
        holdings = ArrayHoldings(np.asarray(vectors, np.float32), dict(view.plain.space.slices))
        rows = np.array([int(collection.item(int(i)).file.partition(".")[0]) for i in ids])
        classes = corel.labels[rows]
        known = scored(collection, task.words)
    rng = np.random.default_rng([report.seed, 5])
    asked: list[tuple[int, str]] = []
    while len(asked) < searches + CHOOSING:
        target = int(rng.integers(len(ids)))
        words = [word for word in corel.keywords[rows[target]] if word in known]
        if words:
            asked.append((target, str(rng.choice(words))))
    for name in report.settings.get("persons") or PERSONS:

        def found(some: slice, words: bool, strength: float, name: str = name) -> IdArray:
            out = []
            for number, (target, word) in list(enumerate(asked))[some]:
                person = persons(name, holdings, classes, number, report.seed)
                first = np.argsort(-known[word], kind="stable")[:SHOWN] if words else None
                prior = strength * known[word] if strength else None
                own = np.random.default_rng((report.seed, number, 1))
                out.append(search(holdings, person, target, own, first, prior))
            return np.array(out)

        choosing, told = slice(0, CHOOSING), slice(CHOOSING, CHOOSING + searches)
        tried = {b: float(found(choosing, True, b).mean()) for b in STRENGTHS}
        best = min(tried, key=lambda b: tried[b])
        plain = found(told, True, 0.0)
        for method, rounds in (
            ("no words", found(told, False, 0.0)),
            ("words first", plain),
            ("words first and prior", found(told, True, best)),
        ):
            test = randomisation_test(rounds.astype(float), plain.astype(float), seed=0)
            report.row(
                method=method, person=name, searches=searches, rounds=float(rounds.mean()),
                by5=float((rounds <= 5).mean()), saved=1 - float(rounds.mean() / plain.mean()),
                p_value=test.p_value, b=best if method.endswith("prior") else None,
            )  # fmt: skip


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--searches", type=int, help=f"targets (default: {SEARCHES})")
    parser.add_argument("--persons", nargs="+", choices=PERSONS, help="some of them")


if __name__ == "__main__":
    run("text_prior", main, __doc__, options=options)
