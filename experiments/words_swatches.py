"""Words find swatches: before any click by captions, after training also without a caption.

Seven of ten swatches have a caption.  Before training, words find what captions say (each
caption that holds all words of the query; of those, the fewest other words first).  Then ranked
CCA is trained on the captions, each counting as one click on its picture, and once more with a
simulated click log; clicks fall on captioned pictures only, so that of the others nothing but
their looks is known.  Queries are the colours ("red"), the motifs ("stripes") and both ("red
stripes").

``p10`` is precision among the first ten, where only pictures without a caption are searched
(``among`` says so) or all; ``best`` is what a perfect ranking would reach: for "red stripes" there
are only a few such pictures.  Where nothing is found, precision is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.report import Report, run
from likewise.collection.defaults import SPECS
from likewise.datasets import SwatchSet, simulate_clicks, swatches
from likewise.evaluation import randomisation_test
from likewise.features import feature_set
from likewise.features.text import TextVocabulary
from likewise.judgements import from_clicks
from likewise.learners.clicks import ClickLearner, Clicks
from likewise.solvers.rcca import Settings
from likewise.spaces import Blocks

UNCLICKED = 10
"""Pictures shown with each query and not clicked."""

Array = NDArray[Any]
Queries = dict[str, tuple[list[str], Array]]


def vectors(drawn: SwatchSet, quick: bool) -> tuple[Blocks, Array]:
    """Swatches in the default space (a toy run does without the network)."""
    blocks = ("colour", "texture", "shape") if quick else tuple(SPECS)
    pictures = drawn.render_all(jobs=1)
    features = feature_set(blocks)
    parts = [features(pictures[at : at + 100]) for at in range(0, len(pictures), 100)]
    raw = {b: np.concatenate([part[b] for part in parts]) for b in blocks}
    space = Blocks.fit(raw, {b: SPECS[b] for b in blocks})
    return space, space.transform(raw).astype(np.float64)


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


def by_caption(vocabulary: TextVocabulary, captions: Array, text: str) -> Array:
    """Full-text scores: above zero where the caption has all words, most for short captions."""
    row = vocabulary.transform([text])
    if row.nnz < len(vocabulary.stems(text)):
        return np.zeros(captions.shape[0])
    held = np.asarray((captions @ (row != 0).T.astype(float)).todense()).ravel()
    length = np.maximum(1, np.diff(captions.indptr))
    return np.where(held >= row.nnz, 1.0 / length, 0.0)


def precision(scores: Array, relevant: Array, among: Array) -> float:
    """Relevant ones among the first ten that were found (score not zero), over ten."""
    ids = np.flatnonzero(among & (scores != 0))
    first = ids[np.lexsort((ids, -scores[ids]))][:10]
    return float(relevant[first].sum()) / 10


def main(report: Report) -> None:
    quick = report.quick
    drawn = swatches(300 if quick else 2_000, 64 if quick else 128, report.seed)
    space, x = vectors(drawn, quick)
    captioned = np.array([bool(text) for text in drawn.captions])
    asked = queries(drawn)
    log = simulate_clicks(drawn, per_query=10, noise=0.1, seed=report.seed)
    texts = [text for text in drawn.captions if text]
    vocabulary = TextVocabulary.fit([*texts, *log.texts])
    captions = vocabulary.transform(drawn.captions)
    captions.data[:] = 1.0

    models: dict[str, Clicks | None] = {"captions only": None}
    own = np.flatnonzero(captioned)
    count = np.ones(len(own))
    learned = learn(
        space, x, vocabulary, texts, (np.arange(len(own)), own, count), captioned, report
    )
    models["rcca, captions"] = learned
    seen = captioned[log.item]
    clicks = (
        np.concatenate([np.arange(len(own)), len(own) + log.query[seen]]),
        np.concatenate([own, log.item[seen]]),
        np.concatenate([count, log.count[seen]]),
    )
    both = [*texts, *log.texts]
    models["rcca, captions and clicks"] = learn(
        space, x, vocabulary, both, clicks, captioned, report
    )
    for among, mask in (("without caption", ~captioned), ("all", np.ones(len(x), bool))):
        table(report, models, asked, vocabulary, captions, x, among, mask)


def learn(
    space: Blocks,
    x: Array,
    vocabulary: TextVocabulary,
    texts: list[str],
    clicks: tuple[Array, Array, Array],
    captioned: Array,
    report: Report,
) -> Clicks:
    """Ranked CCA from clicks; only captioned pictures are ever shown."""
    rng = np.random.default_rng([report.seed, 10])
    shown = np.repeat(np.arange(len(texts)), UNCLICKED)
    others = rng.choice(np.flatnonzero(captioned), len(shown))
    preferences = from_clicks(*clicks, candidates=(shown, others), total=100_000, seed=report.seed)
    learner = ClickLearner(
        space,
        dim=20 if report.quick else 80,
        settings=Settings(rounds=8, round_size=20_000, seed=report.seed),
        vocabulary=vocabulary.to_arrays(),
    )
    learner.fit(x, preferences, vocabulary.transform(texts), clicks=clicks)
    held = learner.report_.held_out
    report.say(
        f"{len(preferences)} triplets of {len(texts)} texts in {learner.report_.seconds:.0f} s; "
        f"held-out score: {held['start']:.3f} by CCA, {held['best']:.3f} in the end"
    )
    assert isinstance(learner.similarity_, Clicks)
    return learner.similarity_


def table(
    report: Report,
    models: dict[str, Clicks | None],
    asked: Queries,
    vocabulary: TextVocabulary,
    captions: Array,
    x: Array,
    among: str,
    mask: Array,
) -> None:
    """One row a model and kind of query."""
    for kind, (texts, relevant) in asked.items():
        best = float(np.minimum(relevant[:, mask].sum(axis=1), 10).mean()) / 10
        before: list[float] = []
        for method, model in models.items():
            values = []
            for text, truth in zip(texts, relevant):
                if model is None:
                    scores = by_caption(vocabulary, captions, text)
                else:
                    scores = x @ model.surrogate(vocabulary.transform([text])).vector
                values.append(precision(scores, truth, mask))
            before = before or values
            p_value = None if model is None else randomisation_test(values, before).p_value
            report.row(
                method=method, among=among, queries=kind, p10=float(np.mean(values)), best=best,
                p_value=p_value,
            )  # fmt: skip


if __name__ == "__main__":
    run("words_swatches", main, __doc__)
