"""The same wish comes back: how many more right pictures are among the first 20, at once?

A person with a collection of photographs (all 4,999 of Corel5k, as the product keeps and searches
them) has searched by 10, 20, 50, 100 pictures and marked the first ten results of each.  Then a
wish comes back: a fresh picture of a kind that was taught is the query, one that was neither
searched nor marked.  The person looks at the chips and takes the first that fits; without one
nothing changes.  By words: a keyword is typed, the first ten results are marked, and later it is
typed again (Corel5k's keywords with at least 40 pictures; half of all keywords chose how words are
read and are left out).

    python -m experiments.returned --json results/returned.json

Rows: ``by``, ``taught``, ``returns`` (how many were measured), ``offered`` (share of them with a
fitting chip), ``misled`` (share with chips of which none fits), ``right20_before`` and ``right20``
(means over *all* returns, offered or not), ``new20_before`` and ``new20`` (the same, without
pictures that this chip or these words were marked with), ``gain_offered`` (of ``new20``, where a
chip was taken) and ``worse`` (share of all returns with fewer).  ``marked20``: right ones after
the first right result was marked, and nothing else done; ``marked_offered``: the share that has a
fitting chip then, and ``marked20_chip`` what is right where it is taken.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import likewise
from experiments.photo_features import network_option
from experiments.report import Report, run
from experiments.sets import load_corel5k
from experiments.words_uncaptioned import Task, collected, corel5k, toy
from likewise.collection import Collection

TAUGHT, MARKS, SHOWN, RETURNS, SEEDS = (10, 20, 50, 100), 10, 20, 250, 4
LEAST = 40
"""Pictures that a keyword must have to be typed."""

Rows = dict[str, list[float]]


class Person:
    """Somebody who knows the kind of every picture, and what they said of it so far."""

    def __init__(self, collection: Collection, kind: NDArray[Any], seed: int) -> None:
        self.collection, self.kind = collection, kind
        self.rng = np.random.default_rng(seed)
        self.order = self.rng.permutation(len(kind)).tolist()
        self.marked: dict[int, set[int]] = {}
        """Pictures marked, by the number of the picture that was searched."""

    def teach(self, count: int) -> None:
        """Search by more pictures, so many in all, and mark the first results of each."""
        for picture in self.order[len(self.marked) : count]:
            query = self.collection.query(file(picture))
            top = found(self.collection, query)[:MARKS]
            mark(
                self.collection, query, top, [bool(self.kind[i] == self.kind[picture]) for i in top]
            )
            self.marked[picture] = set(top)

    def come_back(self, most: int) -> Rows:
        """Fresh pictures of kinds that were taught."""
        known = {self.kind[picture] for picture in self.marked}
        seen = set(self.marked).union(*self.marked.values())
        fresh = [i for i in reversed(self.order) if i not in seen and self.kind[i] in known]
        out: Rows = {}
        for picture in fresh[:most]:
            for name, value in self.search(picture).items():
                out.setdefault(name, []).append(value)
        return out

    def search(self, picture: int) -> dict[str, float]:
        """A fresh query, and the first chip that fits."""
        right = self.kind == self.kind[picture]
        query = self.collection.query(file(picture))
        answer = self.collection.ask(query, k=1)
        chips = [(offer.name, number(self.collection, offer.item)) for offer in answer.offers]
        fits = [(name, own) for name, own in chips if right[own]]
        before = after = found(self.collection, query)
        known: set[int] = set()
        if fits:
            name, own = fits[0]
            known = {own, *self.marked[own]}
            after = found(self.collection, query, use=[name])
        told = counted(before, after, right, known)
        told |= {"offered": bool(fits), "misled": bool(chips) and not fits}
        return told | self.marked_once(query, before, right)

    def marked_once(self, query: Any, before: list[int], right: NDArray[Any]) -> dict[str, float]:
        """The same after the first right result was marked: chips that come then, and what for."""
        first = [i for i in before[:SHOWN] if right[i]][:1]
        if first:
            mark(self.collection, query, first, [True])
        answer = self.collection.ask(query, k=1)
        chips = [(offer.name, number(self.collection, offer.item)) for offer in answer.offers]
        fits = [name for name, own in chips if right[own]]
        alone = found(self.collection, query)
        used = found(self.collection, query, use=fits[:1]) if fits else alone
        if first:
            self.collection.undo()
        marked, both = (int(right[order[:SHOWN]].sum()) for order in (alone, used))
        return {"marked_offered": bool(fits), "marked20": marked, "marked20_chip": both}


def counted(
    before: list[int], after: list[int], right: NDArray[Any], known: set[int]
) -> dict[str, float]:
    """Right ones among the first, of all pictures and of those that nobody marked."""
    out: dict[str, float] = {}
    for name, order in (("_before", before), ("", after)):
        out[f"right20{name}"] = int(right[order[:SHOWN]].sum())
        new = [i for i in order if i not in known]
        out[f"new20{name}"] = int(right[new[:SHOWN]].sum())
    return out


def by_words(collection: Collection, task: Task) -> Rows:
    """Words typed, marked, and typed again."""
    out: Rows = {}
    for word, right in zip(task.words, task.meant):
        if right.sum() < LEAST or (task.chooses and not sum(map(ord, word)) % 2):
            continue
        query = collection.query(text=word)
        before = found(collection, query)
        top = before[:MARKS]
        mark(collection, query, top, right[top].tolist())
        for name, value in counted(before, found(collection, query), right, set(top)).items():
            out.setdefault(name, []).append(value)
        out.setdefault("offered", []).append(1.0)  # what was said of these words holds by itself
        out.setdefault("misled", []).append(0.0)
    return out


def file(picture: int) -> str:
    return f"{picture:06d}.jpg"


def number(collection: Collection, item: int | None) -> int:
    assert item is not None
    return int(collection.item(item).file[:6])


def found(collection: Collection, query: Any, **options: Any) -> list[int]:
    """Pictures that a query finds, best first, enough to leave out what was marked."""
    answer = collection.ask(query, k=SHOWN + MARKS + 1, **options)
    return [int(path[:6]) for path in answer.paths]


def mark(collection: Collection, query: Any, pictures: list[int], right: list[bool]) -> None:
    for said in (True, False):
        some = [file(i) for i, own in zip(pictures, right) if own == said]
        if some:
            collection.mark(query, some, said)


def main(report: Report) -> None:
    task = toy(report) if report.quick else corel5k(report)
    kind = task.meant[:4].argmax(axis=0) if report.quick else load_corel5k().labels
    counts = (3,) if report.quick else report.settings.get("taught") or TAUGHT
    most = 10 if report.quick else report.settings.get("returns") or RETURNS
    rows: dict[int, list[Rows]] = {count: [] for count in counts}
    with tempfile.TemporaryDirectory() as place:
        untaught = Path(place, "untaught")
        untaught.mkdir()
        with collected(untaught, task) as collection:
            report.say(f"neighbours: {collection.store.settings.get('smoothing')}")
        for seed in range(1 if report.quick else report.settings.get("seeds") or SEEDS):
            copy = shutil.copytree(untaught, Path(place, str(seed)))
            with likewise.open(copy, write=True) as collection:
                person = Person(collection, kind, report.seed + seed)
                for count in counts:
                    person.teach(count)
                    rows[count].append(person.come_back(most))
            shutil.rmtree(copy)
        for count, parts in rows.items():
            tell(report, task.data, "picture", count, parts)
        with likewise.open(untaught, write=True) as collection:
            words = by_words(collection, task)
        tell(report, task.data, "words", len(words.get("offered", ())), [words])


def tell(report: Report, data: str, by: str, taught: int, parts: list[Rows]) -> None:
    """Means over all returns of all people."""
    every = {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
    if not every:
        return
    more = every["new20"] - every["new20_before"]
    offered = every["offered"] > 0
    report.row(
        data=data, by=by, taught=taught, returns=len(offered),
        **{name: float(values.mean()) for name, values in every.items()},
        gain_offered=float(more[offered].mean()) if offered.any() else None,
        worse=float((more < 0).mean()),
    )  # fmt: skip


def options(parser: argparse.ArgumentParser) -> None:
    network_option(parser)
    parser.add_argument("--taught", nargs="+", type=int, help="numbers of taught searches")
    parser.add_argument("--seeds", type=int, help=f"people that are simulated (default: {SEEDS})")
    parser.add_argument("--returns", type=int, help=f"fresh pictures of each (default: {RETURNS})")


if __name__ == "__main__":
    run("returned", main, __doc__, options=options)
