"""Figures 3 and 4 of Han et al.: how soon is one picture of Corel found by arranging pictures?

5,000 photographs, a 36-d colour histogram and 18 texture features, each block brought to a mean
squared distance of 100 with C = 20.  A search begins with a random query and the metric "texture
only"; the simulated user judges by colour only, chooses the shown picture closest to the target
and orders all shown ones by distance to it.  ``found10`` is the share of searches that have the
target on the board by round 10, ``low`` and ``high`` its 95 % interval.  Every method sees the
same 300 pairs of query and target.

as in the paper
    orders of the latest round only; the new query is one of the pictures just shown
ranking-SVM
    the same with negative weights allowed
accumulated
    orders of all rounds
accumulated, old query may stay
    and the user may keep the query
filter, learned metric only
    and the target filter, looking through the learned metric only
default
    and the target filter looking through each block too, a deep one beside colour and texture;
    the metric is learned on colour and texture as everywhere in this table

Controls, because a lucky scale looks like learning: uniform weights without learning, the paper's
method on shuffled orders, random pictures, texture only, the user's own metric from the start, and
from the second round on.

Each row is kept in the cache folder as soon as it is done, so a run that was stopped goes on where
it was; ``--fresh`` computes all of them anew.

The paper had 10,009 pictures of another choice from Corel, and a texture feature that we have from
its description only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

import joblib
import numpy as np

from experiments.kept import keep
from experiments.photo_features import photo_features
from experiments.report import Report, run
from experiments.session_controls import Shuffled, at_random
from likewise.evaluation.users import SimulatedUser, share_found
from likewise.learners.metric import balanced_scale
from likewise.session import ArrayHoldings, Settings, simulate
from likewise.session.target_filter import RULE
from likewise.types import FloatArray, IdArray

SIZES = (10, 20, 5, 30, 40, 50)
"""N; the two that the paper gives figures for come first."""

COLOUR, TEXTURE = slice(0, 36), slice(36, 54)
SEEN = ("colour", "texture")
PAPER = {("as in the paper", 10): 0.59, ("as in the paper", 20): 0.96}
PAPER |= {("ranking-SVM", 10): 0.07, ("ranking-SVM", 20): 0.50}

LEARN: dict[str, dict[str, Any]] = {
    "as in the paper": {"accumulate": False, "use_filter": False},
    "ranking-SVM": {"accumulate": False, "use_filter": False, "signed": True},
    "accumulated": {"use_filter": False},
    "accumulated, old query may stay": {"use_filter": False},
    "filter, learned metric only": {"views": False},
    "default": {"learn_on": SEEN},
    "shuffled orders": {"accumulate": False, "use_filter": False},
}
FIXED = ("uniform weights", "texture only", "ideal metric", "texture first, then ideal")
OTHERS = (
    "as in the paper",
    "accumulated, old query may stay",
    "filter, learned metric only",
    "default",
)
"""Methods that meet users who are mistaken, or who judge by what the metric cannot see."""

KEEPS_QUERY = ("accumulated, old query may stay", "filter, learned metric only", "default")
FILTER_ONLY = ("views", "power", "mistake")
METHODS = (*LEARN, *FIXED, "random")
SHOWN = {
    "default": "default (target filter)",
    "filter, learned metric only": "filter, learned metric only",
}


class Setting(NamedTuple):
    """The pictures as the methods see them, and the users' own views."""

    low: FloatArray
    deep: FloatArray
    views: dict[str, FloatArray]
    sessions: int
    most: int
    seed: int
    keep: bool
    fresh: bool


def main(report: Report) -> None:
    setting = load(report)
    sizes = SIZES[:2] if report.quick else SIZES
    papers = [(method, n, "colour", 0.0) for n in sizes for method in METHODS]
    others = [
        (method, n, user, mistakes)
        for n in sizes[:2]
        for user, mistakes in (("colour", 0.3), ("deep", 0.0))
        for method in OTHERS
    ]
    cells = papers[: 2 * len(METHODS)] + others + papers[2 * len(METHODS) :]
    curves: dict[tuple[str, int], IdArray] = {}
    done = joblib.Parallel(n_jobs=report.settings.get("jobs", 1), return_as="generator")(
        joblib.delayed(kept_row)(setting, *cell) for cell in cells
    )
    for (method, n, user, mistakes), rounds in zip(cells, done):
        share, low, high = share_found(rounds, 10)
        if user == "colour" and not mistakes:
            curves[method, n] = rounds
        report.row(
            method=SHOWN.get(method, method),
            user=user if not mistakes else f"{user}, {mistakes:.0%} mistaken",
            n=n,
            found10=share,
            low=low,
            high=high,
            found50=share_found(rounds, setting.most)[0],
            paper=PAPER.get((method, n)) if user == "colour" and not mistakes else None,
        )
    draw(report, curves, setting.most)


def load(report: Report) -> Setting:
    unseen = "shape" if report.quick else "deep"  # the network takes seconds to load
    raw = photo_features("corel5k", report, ("hsv_histogram", "texture", unseen))
    colour, texture = (raw[name].astype(np.float64) for name in ("hsv_histogram", "texture"))
    deep = raw[unseen].astype(np.float64)
    deep = deep - deep.mean(axis=0)
    deep /= np.maximum(np.linalg.norm(deep, axis=1, keepdims=True), 1e-12)
    # What the session holds of the deep features is a PCA to 64; the user judges by all 1,280.
    _, _, axes = np.linalg.svd(deep[:: max(1, len(deep) // 2000)], full_matrices=False)
    views = {"colour": colour, "texture": texture, "deep": deep}
    low = np.hstack([colour, texture]).astype(np.float32)
    small = report.quick
    return Setting(
        low,
        (deep @ axes[:64].T).astype(np.float32),
        views,
        4 if small else 300,
        10 if small else 50,
        report.seed,
        not small,
        bool(report.settings.get("fresh")),
    )


def kept_row(setting: Setting, method: str, n: int, user: str, mistakes: float) -> IdArray:
    """:func:`searched`, kept in the cache folder under all that the row depends on."""
    if not setting.keep:
        return searched(setting, method, n, user, mistakes)
    told = asdict(settings_of(method, n))
    if not told["use_filter"]:
        told = {name: one for name, one in told.items() if name not in FILTER_ONLY}
    about = {
        "row": (method, n, user, mistakes, setting.sessions, setting.most, setting.seed),
        "settings": told,
        "rule": RULE if told["use_filter"] else "",
        "vectors": hashlib.sha256(setting.low.tobytes() + setting.deep.tobytes()).hexdigest(),
    }
    key = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:32]
    return keep(
        f"han_corel-{key}",
        lambda: searched(setting, method, n, user, mistakes),
        fresh=setting.fresh,
    )


def settings_of(method: str, n: int) -> Settings:
    """How the sessions of a method learn and show."""
    return Settings(shown=n, **LEARN.get(method, {"use_filter": False}))


def searched(setting: Setting, method: str, n: int, user: str, mistakes: float) -> IdArray:
    """The round in which each search found its target."""
    if method == "random":
        told = {"sessions": setting.sessions, "most": setting.most, "seed": setting.seed}
        return at_random(len(setting.low), n, **told).rounds
    holdings = ArrayHoldings(setting.low, {"colour": COLOUR, "texture": TEXTURE})
    if method == "default":
        both = np.hstack([setting.low, setting.deep])
        deep = slice(setting.low.shape[1], both.shape[1])
        holdings = ArrayHoldings(both, {"colour": COLOUR, "texture": TEXTURE, "deep": deep})
    scale = balanced_scale(holdings.vectors, holdings.blocks)
    only = {name: np.zeros_like(scale) for name in holdings.blocks}
    for name, part in holdings.blocks.items():
        only[name][part] = scale[part]
    start, later = only["texture"], None
    if method == "uniform weights":
        start = later = scale
    elif method == "texture only":
        later = start
    elif method == "ideal metric":
        start = later = only["colour"]
    elif method == "texture first, then ideal":
        later = only["colour"]
    person = SimulatedUser(setting.views[user], mistakes=mistakes)
    return simulate(
        holdings,
        Shuffled(person) if method == "shuffled orders" else person,
        settings=settings_of(method, n),
        sessions=setting.sessions,
        most=setting.most,
        may_keep_query=method in KEEPS_QUERY,
        weights=start,
        learn=None if later is None else lambda orders, before: (later, ()),
        seed=setting.seed,
    ).rounds


def draw(report: Report, curves: dict[tuple[str, int], IdArray], most: int) -> None:
    """Figure 3: the paper's method and the default by N; Figure 4: all methods for each N."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    def panel(axes: Any, keys: Iterator[tuple[str, int]], label: Any, title: str) -> None:
        for at, key in enumerate(keys):
            share = [(curves[key] <= by).mean() for by in range(1, most + 1)]
            look = "-" if key[0] in LEARN and key[0] != "shuffled orders" else "--"  # controls
            axes.plot(range(1, most + 1), share, look, label=label(key), c=f"C{at % 10}", lw=1.4)
        axes.set(title=title, xlabel="round", ylim=(0, 1.02), xlim=(1, most))

    sizes = sorted({n for _, n in curves})
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for at, method in zip(axes, ("as in the paper", "default")):
        panel(at, ((method, n) for n in sizes), lambda key: f"N = {key[1]}", method)
    axes[0].set_ylabel("share of targets found")
    axes[1].legend(loc="lower right", fontsize=8)
    figure.savefig(report.path("han_fig3.png"), dpi=110)
    some = [n for n in (10, 20, 30, 40) if n in sizes]
    figure, grid = pyplot.subplots(
        1, len(some), figsize=(4 * len(some), 3.8), sharey=True, layout="constrained", squeeze=False
    )
    for at, n in zip(grid[0], some):
        panel(at, ((m, n) for m in METHODS), lambda key: key[0], f"N = {n}")
    grid[0, 0].set_ylabel("share of targets found")
    lines, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside right center", fontsize=8)
    figure.savefig(report.path("han_fig4.png"), dpi=110)
    pyplot.close("all")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--fresh", action="store_true", help="compute kept rows anew")


if __name__ == "__main__":
    run("han_corel", main, __doc__, options=options)
