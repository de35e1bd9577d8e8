"""What every experiment and benchmark shares: arguments, a printed table, a JSON file.

An experiment is a function from a :class:`Report` to nothing: it adds rows, and the
report prints them as they come and writes them at the end.

    def main(report: Report) -> None:
        report.row(method="plain", map=0.466, paper=0.462)

    if __name__ == "__main__":
        run("plain_mnist", main, __doc__)
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from likewise.types import LikewiseError

VERSIONS = ("numpy", "scipy", "numba", "scikit-learn", "faiss-cpu", "onnxruntime", "Pillow")


class Report:
    """Rows of one run: printed as they are added, written as JSON at the end.

    Parameters
    ----------
    name
        The module's name, for instance ``kuang_mnist``.
    quick
        Whether to run at toy size (what the tests do).
    seed
        Seed of every random choice of the run.
    settings
        What else the run was told.
    """

    def __init__(
        self,
        name: str,
        *,
        quick: bool = False,
        seed: int = 0,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.name, self.quick, self.seed = name, quick, seed
        self.settings: dict[str, Any] = {"quick": quick, "seed": seed, **(settings or {})}
        self.rows: list[dict[str, Any]] = []
        self.started = time.perf_counter()
        self._header: tuple[str, ...] = ()

    def say(self, text: str = "") -> None:
        """Print a line of prose between the rows."""
        print(text, flush=True)
        self._header = ()

    def row(self, **values: Any) -> dict[str, Any]:
        """Add and print one row: settings that vary and measures under their fixed names."""
        row = {key: _plain(value) for key, value in values.items() if value is not None}
        self.rows.append(row)
        keys = tuple(row)
        if keys != self._header:
            self._header = keys
            print("  ".join(_cell(key, key) for key in keys))
        print("  ".join(_cell(key, row[key]) for key in keys), flush=True)
        return row

    def as_json(self) -> dict[str, Any]:
        """The whole run: name, settings, seconds, versions, rows."""
        versions = {"python": platform.python_version()}
        for package in VERSIONS:
            try:
                versions[package] = metadata.version(package)
            except metadata.PackageNotFoundError:
                continue
        return {
            "name": self.name,
            "settings": self.settings,
            "seconds": round(time.perf_counter() - self.started, 3),
            "versions": versions,
            "rows": self.rows,
        }

    def path(self, file: str) -> Path:
        """Where a plot of this run goes: the folder ``results`` unless told otherwise."""
        folder = Path(self.settings.get("out") or "results")
        folder.mkdir(parents=True, exist_ok=True)
        return folder / file


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return value


def _cell(key: str, value: Any) -> str:
    width = max(len(key), 18 if key in ("method", "peer") else 9)
    if isinstance(value, float):
        text = (
            f"{value:.4f}"
            if abs(value) < 1000 and (value == 0 or abs(value) >= 1e-3)
            else f"{value:.3g}"
        )
        return text.rjust(width)
    return str(value).ljust(width) if isinstance(value, str) else str(value).rjust(width)


def run(
    name: str,
    main: Callable[[Report], None],
    doc: str | None,
    argv: Sequence[str] | None = None,
    options: Callable[[argparse.ArgumentParser], None] | None = None,
) -> Report:
    """Parse ``--quick --json --seed --out``, run ``main``, print the time, write the JSON."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="toy size, seconds instead of minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE")
    parser.add_argument("--seed", type=int, default=0, help="seed of every random choice")
    parser.add_argument("--out", metavar="FOLDER", help="where plots go (default: results)")
    if options is not None:
        options(parser)
    arguments = vars(parser.parse_args(argv))
    target = arguments.pop("json")
    for folder in (arguments["out"], target and target.parent):
        try:  # before the work, so that none is lost
            if folder is not None:
                Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"{folder} cannot be written to ({error.strerror}); name another folder")
    quick, seed = arguments.pop("quick"), arguments.pop("seed")
    report = Report(name, quick=quick, seed=seed, settings=arguments)
    try:
        main(report)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        raise SystemExit(3) from None
    except LikewiseError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    finally:
        if target is not None and report.rows:
            target.write_text(json.dumps(report.as_json(), indent=1) + os.linesep, encoding="utf-8")
    print(f"{name}: {len(report.rows)} rows in {time.perf_counter() - report.started:.1f} s")
    return report


def peak_mib() -> float:
    """Largest resident memory of this process so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 if sys.platform != "darwin" else 1024 * 1024)


def best_of(times: int, call: Callable[[], Any]) -> float:
    """Smallest of several wall-clock times of a call, in seconds."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def percentiles_ms(seconds: Sequence[float]) -> tuple[float, float]:
    """(p50, p99) of a list of seconds, in milliseconds."""
    p50, p99 = np.percentile(np.asarray(seconds) * 1e3, [50, 99])
    return float(p50), float(p99)
