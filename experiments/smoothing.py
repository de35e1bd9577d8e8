"""Codes smoothed by their neighbours, without a mark: what it gives, where it harms.

Items and queries are smoothed by ``k`` neighbours with an exponent ``power`` on their cosines.
``kept`` is what the check of a new collection computes from the items alone, without a label: it
is meant to tell where precision@1 falls.  Several sets of blocks stand for collections of other
features.  k, power and the limit of ``kept`` were chosen on CIFAR-10 (class), swatches (motif) and
Flickr8k (captions share two content words); Corel5k (category) is what is reported.

    python -m experiments.smoothing --json results/smoothing.json
"""

from __future__ import annotations

import numpy as np

from experiments.photo_tasks import Task, photo_task
from experiments.report import Report, run
from experiments.score_ranking import rank
from likewise.collection.lines.smoothing import kept
from likewise.evaluation import measure
from likewise.learners import Plain
from likewise.solvers.smoothing import POWER, K, Smoothing, smooth
from likewise.spaces import Blocks

SETS = ("swatches", "cifar10", "flickr8k", "corel5k")
TRIED = tuple(Smoothing(k, power) for k in (3, 5, 10) for power in (2.0, 3.0, 4.0))
BLOCKS = (
    ("deep",),
    ("colour",),
    ("deep", "logits"),
    ("deep", "colour"),
    ("texture", "shape"),
    ("colour", "texture", "shape"),
)
DEFAULT = Smoothing(K, POWER)


def main(report: Report) -> None:
    for name in SETS[:1] if report.quick else SETS:
        task = photo_task(name, report)
        for how in (None, *(TRIED[:1] if report.quick else TRIED)):
            tell(report, name, task, how)
        for blocks in BLOCKS[:1] if report.quick else BLOCKS:
            some = only(task, blocks)
            for how in (None, DEFAULT):
                tell(report, name, some, how)


def only(task: Task, blocks: tuple[str, ...]) -> Task:
    """The same pictures in some of their blocks."""
    columns = np.concatenate([np.arange(task.items.shape[1])[task.space.slices[b]] for b in blocks])
    space = Blocks.identity(
        {b: task.space.slices[b].stop - task.space.slices[b].start for b in blocks}
    )
    plain = Plain(space, {block: task.plain.weights[block] for block in blocks})
    return Task(task.name, plain, task.queries[:, columns], task.items[:, columns], task.relevant)


def tell(report: Report, name: str, task: Task, how: Smoothing | None) -> None:
    """Measures of plain similarity over codes smoothed in one way, or as they are."""
    queries, items, w0 = task.queries, task.items, task.plain.w0
    share = None
    if how is not None:
        share = kept(np.random.default_rng(0).permutation(items), task.plain, how)
        queries = smooth(queries, w0, items=items, k=how.k, power=how.power)
        items = smooth(items, w0, k=how.k, power=how.power)
    ranked = rank((queries * w0) @ items.T, task.relevant)
    report.row(
        data="planted" if report.quick else name,
        blocks="+".join(task.space.names),
        k=0 if how is None else how.k,
        power=None if how is None else how.power,
        **{key: float(np.nanmean(measure(ranked, key))) for key in ("map", "p1", "p10")},
        kept=share,
    )


if __name__ == "__main__":
    run("smoothing", main, __doc__)
