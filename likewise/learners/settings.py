"""Settings as dataclasses: read and checked in one way for learners and for every surface."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from likewise.types import BadInput

S = TypeVar("S")
TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}
"""Names of types as JSON has them."""
WORDS = {"boolean": "true or false", "integer": "a whole number", "number": "a number"}


def setting(default: Any, help: str, least: float | None = None, most: float | None = None) -> Any:
    """A field of a settings dataclass: its default, one sentence, and its bounds."""
    return field(default=default, metadata={"help": help, "least": least, "most": most})


@dataclass(frozen=True)
class Setting:
    """One thing that can be set, as every surface tells it.

    ``optional``: it may be none, and then it is chosen or left out.  ``several``: it may be a
    list of values to try.
    """

    name: str
    type: Literal["boolean", "integer", "number", "string"]
    default: Any
    least: float | None
    most: float | None
    choices: tuple[str, ...]
    optional: bool
    several: bool
    help: str

    @property
    def takes(self) -> str:
        """What it can be, in words."""
        words = WORDS.get(self.type, "a text")
        if self.choices:
            words = "one of " + ", ".join(self.choices)
        if self.least is not None and 0 < self.least < 1e-6:
            words += " above 0"
        elif self.least is not None:
            words += f" from {self.least:g} to" if self.most else f" of at least {self.least:g}"
        if self.most is not None:
            words += f" {self.most:g}"
        return words + " or none" * self.optional + " (or a list of them)" * self.several

    def read(self, value: Any) -> Any:
        """The value as the dataclass has it; refused where it is none that it can take."""
        if self.several and isinstance(value, (list, tuple)) and value:
            return tuple(self.read(one) for one in value)
        if value is None and self.optional:
            return None
        wanted = {"boolean": bool, "integer": Integral, "number": Real, "string": str}[self.type]
        right = isinstance(value, wanted) and isinstance(value, bool) == (self.type == "boolean")
        if right and self.choices:
            right = value in self.choices
        elif right and self.type in ("integer", "number"):
            value = float(value) if self.type == "number" else int(value)
            low, high = self.least, self.most
            right = math.isfinite(value) and (low is None or value >= low)
            right = right and (high is None or value <= high)
        if not right:
            raise BadInput(f"{self.name} is {self.takes}, not {value!r}.")
        return value


def settings_of(kind: Any) -> tuple[Setting, ...]:
    """The settings that a dataclass declares."""
    hints, out = get_type_hints(kind), []
    for one in fields(kind):
        hint = hints[one.name]
        parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        base = next(p for p in parts if p is not NoneType and get_origin(p) is not tuple)
        choices = get_args(base) if get_origin(base) is Literal else ()
        type_: Any = TYPES[str if choices else base]
        least, most, help = (one.metadata.get(key) for key in ("least", "most", "help"))
        several = any(get_origin(p) is tuple for p in parts)
        given = (one.default, least, most, choices, NoneType in parts, several, help or "")
        out.append(Setting(one.name, type_, *given))
    return tuple(out)


def read_settings(kind: type[S], given: Mapping[str, Any], method: str) -> S:
    """Settings from what a person wrote; one sentence says what there is where it is wrong."""
    known = {one.name: one for one in settings_of(kind)}
    for name in given:
        if name not in known:
            there = f"its settings are {', '.join(known)}" if known else "it has none"
            raise BadInput(f"{method} has no setting {name!r}; {there}.")
    return kind(**{name: known[name].read(value) for name, value in given.items()})


def still_known(kind: Any, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Of settings that an earlier version kept, those that there are, with values they can take."""
    kept: dict[str, Any] = {}
    for one in settings_of(kind):
        try:
            kept |= {one.name: one.read(stored[one.name])} if one.name in stored else {}
        except BadInput:  # a form that there is no more: what is usual now instead
            continue
    return kept


def check_learner(learner: Any, kind: type) -> None:
    """Refuse a learner whose parameters are none that its settings can be."""
    own = {one.name for one in settings_of(kind)} & vars(learner).keys()
    read_settings(kind, {name: getattr(learner, name) for name in own}, type(learner).__name__)


def several(value: Any) -> tuple[Any, ...]:
    """The values that are to be tried: one, or those of a list."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def from_text(text: str) -> Any:
    """A value as a command line has it: true, yes, no, none, a number, a text, or several."""
    if "," in text:
        return [from_text(part) for part in text.split(",")]
    word = text.strip()
    named = {"yes": True, "true": True, "no": False, "false": False, "none": None}
    if word.lower() in named:
        return named[word.lower()]
    for number in (int, float):
        try:
            return number(word)
        except ValueError:
            continue
    return word
