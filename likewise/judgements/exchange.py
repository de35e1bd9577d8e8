"""What every file format shares: problems and results, text in lines, atomic writing."""

from __future__ import annotations

import math
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from likewise.judgements.records import Judgements
from likewise.types import BadInput, DataProblem, Judgement, NotFound

PathLike = str | os.PathLike[str]

_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x00\x00\xfe\xff": "UTF-32"}
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")


class Problem(NamedTuple):
    """A row that could not be used: its file, its line (counted from 1) and why."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.reason}"


@dataclass(frozen=True)
class ImportResult:
    """The good rows of a file, the bad ones, and how many are sound but are no judgement."""

    judgements: Judgements
    problems: tuple[Problem, ...] = ()
    skipped: int = 0


class Reading:
    """Collects the good and the bad rows of one file."""

    def __init__(self, path: Path) -> None:
        self.file = str(path)
        self.good: list[Judgement] = []
        self.problems: list[Problem] = []
        self.skipped = 0

    def bad(self, line: int, reason: str) -> None:
        """Note a row that cannot be used."""
        self.problems.append(Problem(self.file, line, reason))

    @contextmanager
    def row(self, line: int) -> Iterator[None]:
        """Within it, BadInput costs this row only."""
        try:
            yield
        except BadInput as problem:
            self.bad(line, str(problem))

    def result(self) -> ImportResult:
        """What was read."""
        ordered = tuple(sorted(self.problems, key=lambda problem: (problem.file, problem.line)))
        return ImportResult(Judgements.of(self.good), ordered, self.skipped)


# -- Reading text --------------------------------------------------------------


def existing(path: PathLike) -> Path:
    """The path, if a file is there."""
    found = Path(path)
    if not found.exists():
        raise NotFound(f"There is no file {found}.")
    if not found.is_file():
        raise BadInput(f"{found} is not a file; name the file that holds the judgements.")
    return found


def read_text(path: Path) -> str:
    """The whole text; bytes that are not UTF-8 are kept as marks that :func:`check_utf8` finds."""
    data = path.read_bytes()
    for mark, encoding in _BOMS.items():
        if data.startswith(mark):
            raise DataProblem(f"{path} is {encoding} text; save it as UTF-8 and import it again.")
    return data.decode("utf-8-sig", errors="surrogateescape")


def check_utf8(*texts: str) -> None:
    """Refuse text that came from bytes that are not UTF-8."""
    if _ESCAPED_BYTE.search("".join(texts)):
        raise BadInput("The line is not UTF-8 text; save the file as UTF-8.")


# -- Values as people write them -----------------------------------------------


def as_text(value: Any, name: str) -> str:
    """A text; whole numbers, which many people use as ids, are written out."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return str(value)
    raise BadInput(f"The {name} must be text, not {_brief(value)}.")


def as_number(value: Any, name: str) -> float:
    """A finite number, given as one or written out."""
    if value is None or value == "" or isinstance(value, bool):
        raise BadInput(f"The {name} must be a number, not {value!r}.")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"The {name} must be a number, not {_brief(value)}.") from None
    if not math.isfinite(number):
        raise BadInput(f"The {name} must be a finite number, not {_brief(value)}.")
    return number


def as_crop(value: Any) -> tuple[float, float, float, float] | None:
    """Left, top, right and bottom of a crop; None where there is none."""
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or len(value) != 4:
        raise BadInput("A crop must be four numbers: left, top, right, bottom.")
    left, top, right, bottom = (as_number(share, "crop") for share in value)
    return left, top, right, bottom


def as_time(value: Any) -> float:
    """Seconds since 1970 (UTC): a number, or a date and time in ISO 8601; nothing is 0."""
    if value is None or value == "":
        return 0.0
    if isinstance(value, str):
        with suppress(ValueError):  # 1e-05 has a dash too, and is no date
            value = datetime.fromisoformat(value) if "-" in value.strip()[1:] else value
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    return as_number(value, "time")


def number_text(number: float) -> str:
    """The shortest text that reads back as the same float64."""
    number = float(number)
    minus_zero = number == 0 and math.copysign(1.0, number) < 0
    whole = number.is_integer() and abs(number) < 1e15 and not minus_zero
    return str(int(number)) if whole else repr(number)


def _brief(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


# -- Writing -------------------------------------------------------------------


@contextmanager
def atomic(path: PathLike) -> Iterator[IO[bytes]]:
    """A file to write that takes its name only when all is written."""
    target = Path(path)
    if not target.parent.is_dir():
        raise NotFound(f"There is no folder {target.parent} to write {target.name} into.")
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            part.chmod(target.stat().st_mode & 0o777)
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_text(path: PathLike, chunks: Iterator[str] | Sequence[str]) -> None:
    """Text in UTF-8, atomically."""
    try:
        with atomic(path) as file:
            for chunk in chunks:
                file.write(chunk.encode("utf-8"))
    except UnicodeEncodeError:
        raise not_unicode(path) from None


def not_unicode(path: PathLike) -> BadInput:
    """The error for text, mostly a file name, that UTF-8 cannot hold."""
    return BadInput(
        f"A query or item has a name that is not valid Unicode, which {Path(path).name} cannot "
        "hold; export as JSONL, or rename that file."
    )
