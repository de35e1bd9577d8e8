"""Plots in the form of the figures of Kuang et al."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt

CUTS = ("p1", "p10", "p30", "p100", "p300", "p1000")


def fig5(path: Path, sweep: dict[int, list[dict[str, Any]]]) -> None:
    """MAP and precision@1,000 against sigma, a line for each number of labels."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    for n, points in sweep.items():
        sigma = [float(point["sigma"][0]) for point in points]
        for axis, name in zip(axes, ("map", "p1000")):
            height = [float(point[name].mean()) for point in points]
            (line,) = axis.plot(sigma, height, marker=".", label=f"N = {n}")
            best = int(np.argmax(height))
            axis.plot(sigma[best], height[best], "*", ms=12, color=line.get_color())
    _finish(figure, axes, ("MAP", "precision@1,000"), ("sigma", "sigma"), path)


def fig6(path: Path, curves: dict[str, dict[str, Any]]) -> None:
    """Recall against precision, and precision at a cut, a line a method."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    for method, values in curves.items():
        curve = values["curve"].mean(axis=0)
        axes[0].plot(np.linspace(0, 1, len(curve)), curve, label=method)
        height = [float(values[name].mean()) for name in CUTS]
        axes[1].plot([int(name[1:]) for name in CUTS], height, marker=".", label=method)
    axes[1].set_xscale("log")
    _finish(figure, axes, ("precision", "precision"), ("recall", "first R results"), path)


def lines(
    path: Path,
    series: dict[str, tuple[list[float], list[float]]],
    *,
    across: str,
    up: str,
    log: bool = False,
) -> None:
    """One panel with a line for each series."""
    figure, axis = plt.subplots(figsize=(5.4, 3.4))
    for name, (x, y) in series.items():
        axis.plot(x, y, marker=".", label=name)
    if log:
        axis.set_xscale("log")
    _finish(figure, [axis], (up,), (across,), path)


def _finish(figure: Any, axes: Any, up: Any, across: Any, path: Path) -> None:
    for axis, y, x in zip(axes, up, across):
        axis.set_ylabel(y)
        axis.set_xlabel(x)
        axis.grid(alpha=0.3)
    axes[-1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=80)
    plt.close(figure)
