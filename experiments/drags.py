"""Do drags help to find one picture, or do choices and questions do it alone?

A search begins with a random query and a board of 20; every round the person chooses the picture
closest to the target, and then does no more (``choose``), puts the five nearest of the others in
order around it by dragging (``choose + drag``), names the next two closest to the target in order
(``choose + next two``), or answers two questions "which of these two is closer to it?" about the
pairs of the board whose answer tells most about the target (``choose + pairwise``).  ``rounds``
is the mean round that shows the target (``most + 1`` where none did), ``gestures`` what the person
did until then: a choice, a drag, a name or an answer is one.  ``saved`` is the share of rounds
saved over choosing alone, with the p-value of a randomisation test, search by search.

No person judges by one of the filter's own views: ``mixture`` weighs the blocks of features at
random, another mixture for each ten searches; ``class and colour`` sees the class of a picture
first and its colours second; ``noisy`` is a mixture with a fifth of the choices and answers
mistaken and noise on every order.  Beside them ``colour`` is the paper's person, whose view is one
of the filter's.  Rows by ``start`` are of the targets that begin at these ranks of the plain order.

Corel5k (colour, texture, 64 axes of deep features) and swatches.  Nothing is chosen on these
searches: the rules of the filter come from others, and the number of drags, names and questions
was set before.
"""

from __future__ import annotations

import argparse

import numpy as np

from experiments.han_corel import COLOUR, TEXTURE, load
from experiments.kept_sessions import held
from experiments.report import Report, run
from experiments.sets import load_corel5k
from likewise.datasets import swatches
from likewise.evaluation.significance import randomisation_test
from likewise.evaluation.users import SimulatedUser
from likewise.learners.metric import balanced_scale
from likewise.session import ArrayHoldings, MemoryRounds, Settings, TargetSession
from likewise.session.holdings import rows_of
from likewise.types import FloatArray, IdArray

SHOWN, MOST, SEARCHES, PER_MIXTURE = 20, 15, 300, 10
MOVES, NAMED, ASKED = 5, 2, 2
METHODS = (
    "choose", "choose + drag", "choose + drag as evidence", "choose + drag two",
    "choose + next two", "choose + pairwise",
)  # fmt: skip
PERSONS = ("mixture", "class and colour", "noisy", "colour")
STARTS = ((1, 50), (50, 500), (500, 10**9))
POWER = 4
"""Sharpness with which a person is thought to answer a question."""


class Person(SimulatedUser):
    """A simulated user who names several and answers questions too."""

    def closest(self, target: int, among: IdArray, count: int, rng: np.random.Generator) -> IdArray:
        """The rows closest to the target, in order."""
        rows = []
        for _ in range(min(count, len(among))):
            rows.append(self.choose(target, among, rng))
            among = among[among != rows[-1]]
        return np.array(rows, np.int64)


def questions(session: TargetSession, holdings: ArrayHoldings, among: IdArray) -> list[IdArray]:
    """The pairs of rows whose answer tells most about the target, by what is believed so far."""
    branch = session._branch(session.board.round)
    if branch.choices:
        log = session._posterior(branch, branch.weights).log.astype(np.float64)
        belief = np.exp(log - log[np.isfinite(log)].max())
    else:
        belief = np.ones(len(holdings.ids))
    likely = np.argsort(-belief, kind="stable")[:400]
    belief = belief[likely] / belief[likely].sum()
    x = holdings.vectors * np.sqrt(session.board.weights).astype(np.float32)
    gaps = ((x[among][:, None, :] - x[likely][None, :, :]) ** 2).sum(axis=2).astype(np.float64)
    log_gaps = np.log(np.maximum(gaps, 1e-9))
    i, j = np.triu_indices(len(among), 1)
    first = 1 / (1 + np.exp(np.clip(POWER * (log_gaps[i] - log_gaps[j]), -50, 50)))

    def entropy(p: FloatArray) -> FloatArray:
        p = np.clip(p, 1e-9, 1 - 1e-9)
        out: FloatArray = -p * np.log(p) - (1 - p) * np.log1p(-p)
        return out

    told = entropy(first @ belief) - entropy(first) @ belief
    return [among[[i[at], j[at]]] for at in np.argsort(-told, kind="stable")[:ASKED]]


def search(
    holdings: ArrayHoldings, person: Person, method: str, query: int, target: int,
    rng: np.random.Generator,
) -> tuple[int, int]:  # fmt: skip
    """Round that shows the target, and gestures until then."""
    ids, gestures = holdings.ids, 0
    settings = Settings(shown=SHOWN, layout="none")
    session = TargetSession.start(holdings, MemoryRounds(), settings, query=int(ids[query]))
    for depth in range(1, MOST + 1):
        board = session.board
        if int(ids[target]) in board.shown:
            return depth, gestures
        if depth == MOST or not board.shown:
            break
        assert board.query is not None
        old = rows_of(holdings, [board.query])
        among = np.r_[old, rows_of(holdings, board.shown)]
        chosen = person.choose(target, among, rng)
        gestures += 1
        moved, closer, rest = list[int](), list[list[int]](), among[among != chosen]
        if method in ("choose + drag", "choose + drag as evidence"):
            moved = ids[person.order(chosen, among, rng)].tolist()
        elif method in ("choose + next two", "choose + drag two"):
            moved = ids[person.closest(target, rest, NAMED, rng)].tolist()
        if method in ("choose + next two", "choose + drag two", "choose + drag as evidence"):
            left = ids[rest].tolist()
            for item in moved:
                left.remove(item)
                closer.append([item, *left])
        if method == "choose + next two":
            moved = []
        elif method == "choose + pairwise":
            for pair in questions(session, holdings, among):
                nearer = person.choose(target, pair, rng)
                closer.append([int(ids[nearer]), int(ids[pair[pair != nearer][0]])])
        gestures += max(len(moved), len(closer))
        session.next(int(ids[chosen]), moved=moved, closer=closer)
    return MOST + 1, gestures


def persons(name: str, holdings: ArrayHoldings, classes: IdArray, number: int, seed: int) -> Person:
    """Somebody with vectors of their own; another mixture for each ten searches."""
    rng = np.random.default_rng((seed, 7, number // PER_MIXTURE))
    scale = balanced_scale(holdings.vectors, holdings.blocks)
    first = next(iter(holdings.blocks.values()))
    weights = np.zeros_like(scale)
    if name in ("mixture", "noisy"):
        for part, share in zip(
            holdings.blocks.values(), rng.dirichlet(np.ones(len(holdings.blocks)))
        ):
            weights[part] = share * scale[part]
    else:
        weights[first] = scale[first]
    seen = holdings.vectors.astype(np.float64) * np.sqrt(weights)
    if name == "class and colour":
        spread = float(((seen - seen.mean(axis=0)) ** 2).sum(axis=1).mean())
        member = classes[:, None] == np.unique(classes)[None, :]
        seen = np.hstack([seen, member * np.sqrt(2 * spread)])
    noise = {"mistakes": 0.2, "jitter": 0.3} if name == "noisy" else {}
    return Person(seen, moves=MOVES, **noise)


def main(report: Report) -> None:
    searches = report.settings.get("searches") or (4 if report.quick else SEARCHES)
    for data in ("corel5k", "swatches"):
        holdings, classes = pictures(data, report)
        count = len(holdings.ids)
        scale = balanced_scale(holdings.vectors, holdings.blocks)
        pairs = [
            np.random.default_rng((report.seed, number)).choice(count, 2, replace=False)
            for number in range(searches)
        ]
        starts = np.array([_rank(holdings.vectors, scale, q, t) for q, t in pairs])
        for name in PERSONS:
            people = [persons(name, holdings, classes, n, report.seed) for n in range(searches)]
            plain: IdArray | None = None
            for method in (METHODS[0], *(report.settings.get("methods") or METHODS[1:])):
                found = np.array(
                    [
                        search(
                            holdings, people[n], method, int(q), int(t),
                            np.random.default_rng((report.seed, n, 1)),
                        )
                        for n, (q, t) in enumerate(pairs)
                    ]
                )  # fmt: skip
                rounds = found[:, 0]
                plain = rounds if plain is None else plain
                test = randomisation_test(rounds.astype(float), plain.astype(float), seed=0)
                report.row(
                    data=data, person=name, start="all", method=method, searches=searches,
                    rounds=float(rounds.mean()), gestures=float(found[:, 1].mean()),
                    found=float((rounds <= MOST).mean()),
                    saved=1 - float(rounds.mean() / plain.mean()),
                    p_value=1.0 if method == METHODS[0] else test.p_value,
                )  # fmt: skip
                for low, high in STARTS:
                    own = (starts >= low) & (starts < high)
                    if own.any():
                        report.row(
                            data=data, person=name, method=method, searches=int(own.sum()),
                            start=f"{low} to {high - 1}" if high < 10**9 else f"from {low}",
                            rounds=float(rounds[own].mean()),
                            gestures=float(found[own, 1].mean()),
                            saved=1 - float(rounds[own].mean() / plain[own].mean()),
                        )  # fmt: skip


def _rank(x: FloatArray, scale: FloatArray, query: int, target: int) -> int:
    gaps = ((x - x[query]) ** 2) @ scale
    return int((gaps < gaps[target]).sum())


def pictures(data: str, report: Report) -> tuple[ArrayHoldings, IdArray]:
    """What a session holds of the pictures, and the class of each."""
    if data == "swatches":
        count = 120 if report.quick else 2_000
        holdings = held(count, report.seed)
        motifs = swatches(count, size=96, seed=report.seed).truth["motif"]
        return holdings, np.unique(motifs, return_inverse=True)[1]
    setting = load(report)
    both = np.hstack([setting.low, setting.deep])
    blocks = {"colour": COLOUR, "texture": TEXTURE, "deep": slice(54, both.shape[1])}
    holdings = ArrayHoldings(both, blocks)
    classes = np.arange(len(both)) % 10 if report.quick else load_corel5k().labels
    return holdings, np.asarray(classes)


def options(parser: argparse.ArgumentParser) -> None:
    """Fewer searches."""
    parser.add_argument("--methods", nargs="+", choices=METHODS[1:], help="beside choosing alone")
    parser.add_argument("--searches", type=int, help=f"targets (default: {SEARCHES})")


if __name__ == "__main__":
    run("drags", main, __doc__, options=options)
