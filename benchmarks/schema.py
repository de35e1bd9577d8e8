"""The HTTP API against its own document: 1,000 examples an operation, and never a 5xx.

python -m benchmarks.schema            (needs the development packages)

The same check as in the tests, with twenty times as many examples; it ends with an error at
the first answer that the document does not promise.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from experiments.report import Report, run

ROOT = Path(__file__).parents[1]
TEST = "tests/server/test_schema.py"


def main(report: Report) -> None:
    examples = 1 if report.quick else 1_000
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TEST],
        cwd=ROOT,
        env={**os.environ, "LIKEWISE_EXAMPLES": str(examples)},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout}\nThe API does not keep to its document.")
    report.row(method="schemathesis", examples=examples, seconds=time.perf_counter() - started)


if __name__ == "__main__":
    run("schema", main, __doc__)
