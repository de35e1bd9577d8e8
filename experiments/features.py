"""Which features, reduced how, with which plain weights: each block alone, pairs, all, the default.

Queries of the test part search the training part.  An item is relevant when it has the query's
category (Corel5k) or class (CIFAR-10), or when the captions of both (Flickr8k) share at least
two content words.  Scores are weighted sums of block cosines, as in the product's plain
similarity; MAP is over the whole ranking.

    python -m experiments.features --json results/features.json

``reduction`` rows compare ways to reduce one block on its own; ``weights`` rows compare weights
of the blocks, each reduced as the default space does, and ``over all sets`` rows give their
geometric means over the sets, the best MAP first.  ``network`` rows compare what gives the deep
blocks (``--part networks`` runs these alone): the default space with each network and arithmetic,
CPU milliseconds per picture and megabytes; the default is chosen by the rule that is printed.
Vectors are kept in the cache folder, so that a second run takes no pictures.
"""

from __future__ import annotations

import argparse
import itertools
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from snowballstemmer import stemmer

from experiments.kept import cache_folder, keep_features
from experiments.photo_features import Photos, Some, photo_features, photos
from experiments.relevance import Relevance
from experiments.report import Report, run
from experiments.score_ranking import rank
from experiments.sets import load_cifar10, load_corel5k, load_flickr8k
from likewise.collection.lines.defaults import FEATURES, SPECS, WEIGHTS
from likewise.datasets import swatches
from likewise.evaluation import Ranked, evaluate
from likewise.features import ARITHMETICS, BOTH, NETWORKS, REGISTRY, feature_set, named
from likewise.features.deep import Network
from likewise.features.deep_graph import graph_bytes
from likewise.spaces import Blocks, BlockSpec

MEASURES = ("map", "p1", "p10")
SETS = ("corel5k", "flickr8k", "cifar10")
CHUNK = 250
SAMPLE = 10_000
OTHER_COLOURS = ("hsv_histogram", "spatial_colour")
Rows = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Task:
    """Queries and items of one set: vectors by block, and which items are relevant."""

    name: str
    queries: Mapping[str, Rows]
    items: Mapping[str, Rows]
    relevance: Relevance


# --------------------------------------------------------------------------
# The sets


def task(name: str, blocks: Sequence[str], report: Report) -> Task:
    """The queries, items and relevance of a set."""
    if name == "swatches":
        drawn = swatches(96, size=64, seed=report.seed)
        pictures: Any = drawn.render_all(jobs=1)
        test = np.arange(len(pictures)) % 4 == 0
        labels: Any = drawn.truth["motif"]
    elif name == "corel5k":
        corel = load_corel5k()
        pictures, labels, test = corel.pictures, corel.labels, corel.is_test
    elif name == "cifar10":
        cifar = load_cifar10()
        pictures, labels, test = cifar.pictures, cifar.labels, cifar.is_test
    else:
        flickr = load_flickr8k()
        pictures, labels = flickr.pictures, content_words(flickr.captions)
        test = flickr.split == "test"
    asked = np.flatnonzero(test)
    limit = report.settings.get("queries") or len(asked)
    asked, held = asked[:limit], np.flatnonzero(~test)
    if labels.ndim == 1:
        relevance = Relevance.from_labels(labels[asked], labels[held])
    else:
        relevance = Relevance.from_matrix(labels[asked] @ labels[held].T >= 2)
    if name == "swatches":
        vectors = feature_set(blocks)(pictures)
    else:
        vectors = keep_features(name, pictures, blocks, report)
    return Task(
        name,
        {block: rows[asked] for block, rows in vectors.items()},
        {block: rows[held] for block, rows in vectors.items()},
        relevance,
    )


def content_words(captions: Sequence[Sequence[str]]) -> NDArray[np.float32]:
    """Pictures by words: stems in two or more of a picture's captions, in under 15 % of all."""
    stems = stemmer("english")
    words = []
    for texts in captions:
        count = Counter(
            word for text in texts for word in set(stems.stemWords(_WORD.findall(text.lower())))
        )
        words.append({word for word, times in count.items() if times >= 2})
    spread = Counter(word for found in words for word in found)
    kept = sorted(w for w, times in spread.items() if 2 <= times < 0.15 * len(words))
    column = {word: i for i, word in enumerate(kept)}
    out = np.zeros((len(words), len(kept)), dtype=np.float32)
    for row, found in zip(out, words):
        row[[column[word] for word in found if word in column]] = 1
    return out


_WORD = re.compile("[a-z]{3,}")


# --------------------------------------------------------------------------
# Measuring


def measured(queries: Rows, items: Rows, weights: NDArray[Any], task: Task) -> dict[str, float]:
    """MAP, precision@1 and @10 of the weighted dot product."""
    weighted = (queries * weights).astype(np.float32)
    parts: list[Ranked] = []
    for at in range(0, len(queries), CHUNK):
        part = slice(at, min(at + CHUNK, len(queries)))
        relevant = replace(
            task.relevance,
            start=task.relevance.start[part],
            stop=task.relevance.stop[part],
        )
        parts.append(rank(weighted[part] @ items.T, relevant))
    return evaluate(Ranked.join(parts), MEASURES)


def unit(rows: Rows) -> Rows:
    """Rows of unit length."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(length, 1e-12), dtype=np.float32)


def variants(default: BlockSpec, raw_dim: int) -> Iterator[BlockSpec]:
    """The default reduction of a block and its neighbours, one step away each."""
    yield default
    for dim in (32, 64, 96, 128, 192):
        if dim != default.dim and dim <= raw_dim:
            yield replace(default, dim=dim)
    yield replace(default, power=0.5 if default.power == 1.0 else 1.0)
    yield replace(default, unit_first=not default.unit_first)
    yield replace(default, centre=not default.centre)
    for whiten in (0.0, 0.25, 0.5, 1.0):
        if whiten != default.whiten:
            yield replace(default, whiten=whiten)


def reductions(task: Task, block: str, report: Report) -> None:
    """One block alone: raw cosine, the default reduction, and the ways around it."""
    queries, items = task.queries[block], task.items[block]
    ones = np.ones(items.shape[1])
    found = measured(unit(queries), unit(items), ones, task)
    report.row(method="reduction", set=task.name, block=block, how="raw cosine", **found)
    default = SPECS.get(block, SPECS["colour"])
    seen = set()
    for spec in variants(default, items.shape[1]):
        spec = replace(spec, dim=min(spec.dim, items.shape[1]))
        if spec in seen:
            continue
        seen.add(spec)
        space = Blocks.fit({block: items}, {block: spec}, sample=SAMPLE, seed=report.seed)
        q, x = (space.transform({block: rows}) for rows in (queries, items))
        found = measured(q, x, np.ones(space.dim), task)
        how = (
            f"{spec.dim} power {spec.power:g} unit {spec.unit_first:d} "
            f"centre {spec.centre:d} whiten {spec.whiten:g}"
        )
        report.row(method="reduction", set=task.name, block=block, how=how, **found)


def weightings() -> Iterator[tuple[str, dict[str, float]]]:
    """The weights that are compared."""
    for block in FEATURES:
        yield block, {block: 1.0}
    for a, b in itertools.combinations(FEATURES, 2):
        yield f"{a} + {b}", {a: 1.0, b: 1.0}
    yield "equal", dict.fromkeys(FEATURES, 1.0)
    yield "default", dict(WEIGHTS)
    for block in FEATURES:
        for factor in (0.5, 2.0):
            if WEIGHTS[block] > 0:
                changed = {**WEIGHTS, block: WEIGHTS[block] * factor}
                yield f"default, {block} x {factor:g}", changed
        if WEIGHTS[block] > 0:
            yield f"default without {block}", {**WEIGHTS, block: 0.0}
        else:
            yield f"default with .1 {block}", {**WEIGHTS, block: 0.1}


def weights(task: Task, report: Report) -> None:
    """All weightings in the default space."""
    specs = {block: SPECS[block] for block in FEATURES}
    space = Blocks.fit(task.items, specs, sample=SAMPLE, seed=report.seed)
    queries, items = space.transform(task.queries), space.transform(task.items)
    for how, chosen in weightings():
        found = measured(queries, items, space.spread(chosen), task)
        report.row(method="weights", set=task.name, how=how, **found)


def main(report: Report) -> None:
    """All comparisons on all sets."""
    names = ("swatches",) if report.quick else (report.settings.get("sets") or SETS)
    part = report.settings.get("part")
    if part != "blocks":
        networks(names, report)
    if part == "networks":
        return
    blocks = FEATURES if report.quick else (*FEATURES, *OTHER_COLOURS, "gist")
    assert set(blocks) <= set(REGISTRY)
    for name in names:
        here = task(name, blocks, report)
        weights(here, report)
        for block in reduced_blocks(name, blocks):
            reductions(here, block, report)
    over_all_sets(report)


def over_all_sets(report: Report) -> None:
    """Every weighting's geometric mean over the sets: no set counts for more than another."""
    by_how: dict[str, list[dict[str, Any]]] = {}
    for row in report.rows:
        if row["method"] == "weights":
            by_how.setdefault(row["how"], []).append(row)
    means = {
        how: {m: float(np.exp(np.mean([np.log(row[m]) for row in rows]))) for m in MEASURES}
        for how, rows in by_how.items()
    }
    for how in sorted(means, key=lambda how: -means[how]["map"]):
        report.row(method="over all sets", how=how, **means[how])


def reduced_blocks(name: str, blocks: Sequence[str]) -> Sequence[str]:
    """Blocks whose reductions are compared: none where every row takes thousands of queries."""
    return {"cifar10": (), "swatches": ("texture",)}.get(name, blocks)


# --------------------------------------------------------------------------
# The network

PLAIN = (NETWORKS[0], ARITHMETICS[0])
"""What every other experiment computes with."""
CHOICES = sorted(itertools.product(NETWORKS, ARITHMETICS), key=lambda choice: choice[0] == "lite1")
"""All of them; the network between the others last."""
STEP = 500
"""Pictures that are described before they are kept."""
SLOWEST, CLOSE = 2.0, 0.01
RULE = (
    f"Rule: among what takes at most {SLOWEST:g} times the milliseconds of lite0 in float32, the "
    f"fastest whose MAP (geometric mean over the sets) is within {CLOSE:.0%} of the best."
)


def networks(names: Sequence[str], report: Report) -> None:
    """Every network in every arithmetic, in the default space; then the default by the rule."""
    named_ones = report.settings.get("networks") or NETWORKS
    choices = [choice for choice in CHOICES if choice == PLAIN or choice[0] in named_ones]
    spent = milliseconds([Network(*choice) for choice in choices], 4 if report.quick else 16)
    ms, maps = dict(zip(choices, spent)), dict[tuple[str, str], list[float]]()
    specs = {block: SPECS[block] for block in FEATURES}
    parts = {name: network_part(name, report) for name in names}
    rest = {name: part.features(FEATURES[len(BOTH) :]) for name, part in parts.items()}
    for choice, (name, part) in itertools.product(choices, parts.items()):
        found = part.features([named(block, *choice) for block in BOTH])
        rows = {**dict(zip(BOTH, found.values())), **rest[name]}
        queries = {block: rows[block][: part.queries] for block in FEATURES}
        items = {block: rows[block][part.queries :] for block in FEATURES}
        space = Blocks.fit(items, specs, sample=SAMPLE, seed=report.seed)
        task = Task(name, queries, items, part.relevance)
        measures = measured(
            space.transform(queries), space.transform(items), space.spread(dict(WEIGHTS)), task
        )
        maps.setdefault(choice, []).append(measures["map"])
        report.row(
            method="network", data=name, network=choice[0], arithmetic=choice[1], **measures,
            ms=ms[choice], megabytes=len(graph_bytes(*choice)) / 1e6,
        )  # fmt: skip
    means = {choice: float(np.exp(np.mean(np.log(found)))) for choice, found in maps.items()}
    report.say(RULE)
    chosen = by_the_rule({choice: (means[choice], ms[choice]) for choice in choices})
    for method, choice in (("default by the rule", chosen), ("experiments", PLAIN)):
        report.row(
            method=method, network=choice[0], arithmetic=choice[1], map=means[choice],
            ms=ms[choice],
        )  # fmt: skip


def by_the_rule(measured: Mapping[tuple[str, str], tuple[float, float]]) -> tuple[str, str]:
    """The network and arithmetic that :data:`RULE` chooses, of MAP and milliseconds of each."""
    limit = SLOWEST * measured[PLAIN][1]
    fit = {choice: both for choice, both in measured.items() if both[1] <= limit}
    best = max(quality for quality, _ in fit.values())
    close = [choice for choice, both in fit.items() if both[0] >= (1 - CLOSE) * best]
    return min(close, key=lambda choice: fit[choice][1])


class Part(NamedTuple):
    """Some pictures of a set, the queries first."""

    name: str
    source: Photos
    order: NDArray[np.int64]
    relevance: Relevance
    queries: int
    report: Report

    def features(self, blocks: Sequence[str]) -> Mapping[str, Rows]:
        """Rows by block; kept, so that a run that was stopped goes on where it was."""
        every = self.source.pictures
        if self.report.quick:
            return feature_set(blocks)(Some(every, self.order))
        if set(blocks) <= set(FEATURES) and is_kept(self.name, blocks):
            whole = photo_features(self.name, self.report, blocks)  # by another experiment
            return {block: rows[self.order] for block, rows in whole.items()}
        kept = f"{self.name}-{self.queries}-{len(self.order)}-{self.report.seed}"
        parts = []
        for at in range(0, len(self.order), STEP):
            some = Some(every, self.order[at : at + STEP])
            parts.append(keep_features(f"{kept}-{at}", some, blocks, self.report))
        return {block: np.concatenate([part[block] for part in parts]) for block in blocks}


def is_kept(name: str, blocks: Sequence[str]) -> bool:
    """Whether all pictures of a set were described before."""
    versions, part = feature_set(blocks).versions, {"cifar10": "cifar10-test"}.get(name, name)
    return all((cache_folder() / f"{part}-{b}-{versions[b]}.npy").exists() for b in blocks)


def network_part(name: str, report: Report) -> Part:
    """Queries of the test part of Corel5k or Flickr8k, or of the first 1,000 of CIFAR-10's.

    ``--queries`` and ``--sample`` draw so many queries and items at random.
    """
    source, rng = photos(name, report), np.random.default_rng(report.seed)
    labels: Any = source.labels
    if name == "corel5k":
        test = load_corel5k().is_test
    elif name == "flickr8k":
        flickr = load_flickr8k()
        test, labels = flickr.split == "test", content_words(flickr.captions)
    else:
        test = np.arange(len(labels)) < (40 if report.quick else 1_000)
    drawn = []
    for rows, limit in zip((np.flatnonzero(test), np.flatnonzero(~test)), ("queries", "sample")):
        count = min(len(rows), report.settings.get(limit) or len(rows))
        drawn.append(np.sort(rng.choice(rows, count, replace=False)))
    asked, held = drawn
    if labels.ndim == 1:
        relevance = Relevance.from_labels(labels[asked], labels[held])
    else:
        relevance = Relevance.from_matrix(labels[asked] @ labels[held].T >= 2)
    return Part(name, source, np.concatenate(drawn), relevance, len(asked), report)


def milliseconds(networks: Sequence[Network], count: int) -> list[float]:
    """CPU milliseconds per picture, in one thread: the best of five rounds, taken in turns."""
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (count, 341, 512, 3)).astype(np.uint8)
    best = [np.inf] * len(networks)
    for _ in range(2 if count < 16 else 5):
        for at, network in enumerate(networks):
            network.both(list(pictures[:2]))
            started = time.process_time()
            network.both(list(pictures))
            best[at] = min(best[at], 1000 * (time.process_time() - started) / count)
    return best


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--part", choices=("blocks", "networks"), help="run one part only")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, help="these only (all)")
    parser.add_argument("--sample", type=int, metavar="N", help="networks on N items of a set")
    parser.add_argument("--sets", nargs="+", choices=SETS, help="data sets (default: all three)")
    parser.add_argument("--queries", type=int, metavar="N", help="at most N queries a set")


if __name__ == "__main__":
    run("features", main, __doc__, options=options)
