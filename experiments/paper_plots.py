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


def fig4(
    path: Path, sigmas: list[float], norm: list[float], angle: list[float], shown: Any
) -> None:
    """Length and angle of the weights over sigma, and the first ten pictures at three of them.

    ``shown`` are rows of (name, pictures, which are right), the query first.
    """
    figure = plt.figure(figsize=(9, 3.0))
    left = figure.add_axes((0.07, 0.17, 0.30, 0.75))
    left.plot(sigmas, norm, marker=".", label="length")
    left.plot(sigmas, angle, marker=".", label="angle to ones, radians")
    left.set_xlabel("sigma")
    left.grid(alpha=0.3)
    left.legend(fontsize=8)
    _strips(figure, shown, (0.45, 0.10, 0.53, 0.82))
    figure.savefig(path, dpi=80)
    plt.close(figure)


def fig9(path: Path, shown: Any) -> None:
    """The first results of some queries, one row per query and method."""
    figure = plt.figure(figsize=(11, 0.42 * len(shown)))
    _strips(figure, shown, (0.10, 0.01, 0.89, 0.98))
    figure.savefig(path, dpi=80)
    plt.close(figure)


def _strips(figure: Any, shown: Any, box: tuple[float, float, float, float]) -> None:
    """Rows of pictures: the query framed in black, wrong ones in red."""
    left, bottom, width, height = box
    across = max(len(pictures) for _, pictures, _ in shown)
    for at, (name, pictures, right) in enumerate(shown):
        y = bottom + height * (1 - (at + 1) / len(shown))
        figure.text(left - 0.01, y + 0.4 * height / len(shown), name, ha="right", fontsize=7)
        for place, (picture, good) in enumerate(zip(pictures, right)):
            cell = (left + width * place / across, y)
            axis = figure.add_axes((*cell, 0.92 * width / across, 0.88 * height / len(shown)))
            axis.imshow(picture, cmap="gray_r")
            axis.set_xticks([])
            axis.set_yticks([])
            for side in axis.spines.values():
                side.set_color("black" if place == 0 else "#ccc" if good else "red")
                side.set_linewidth(2 if place == 0 or not good else 0.5)


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
