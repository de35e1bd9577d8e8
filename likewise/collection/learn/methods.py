"""Every way of learning, declared once: Python, command line, HTTP and page take it from here.

An installed package brings a method of its own by an entry point of the group
``likewise.methods`` that names a :class:`Method`; see docs/add-a-learner.md.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal

from likewise.learners import SIMILARITIES
from likewise.learners import own_settings as own
from likewise.learners.settings import read_settings, settings_of
from likewise.types import BadInput, DataProblem

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from likewise.store import Model

GROUP = "likewise.methods"

Line = Literal["look", "objects"]
SLOTS = {"look": "default", "text": "words", "objects": "same-object"}
"""What a model can be active for (its task), and the slot that the store keeps it in."""


@dataclass(frozen=True)
class Method:
    """A way of learning.

    Parameters
    ----------
    name
        What people write: small letters, digits and hyphens.
    title, help
        What the page calls it, and one sentence on when to use it.
    learner
        ``module:Class``, imported when it learns: ``Class(plain, *, seed, **settings)`` with
        ``fit(X, preferences, queries)``, ``similarity_`` and ``report_``; with the evidence
        ``Groups`` also ``marks=``.
    settings
        A frozen dataclass with defaults; see :func:`likewise.learners.settings.setting`.
    line
        What is searched with it: ``look``, or ``objects`` (visual words).
    role
        ``ranks`` (pictures for pictures), or ``reads`` (text).
    evidence
        ``module:Class`` that gathers what it learns from.
    similarity
        ``module:Class`` of what it learns, where that is none of likewise's own similarities.
    """

    name: str
    title: str
    help: str
    learner: str
    settings: type
    line: Line = "look"
    role: Literal["ranks", "reads"] = "ranks"
    evidence: str = "likewise.collection.learn.evidence:Marks"
    similarity: str = ""
    package: str = ""
    """The installed package that brought it; empty for likewise's own."""

    @property
    def task(self) -> str:
        """What its models are active for: ``look``, ``objects`` or ``text``."""
        return "text" if self.role == "reads" else self.line

    def read(self, given: Mapping[str, Any] | None) -> Any:
        """Its settings, from what a person wrote."""
        return read_settings(self.settings, given or {}, self.name)

    def part(self, what: Literal["learner", "evidence", "similarity"]) -> Any:
        """One of its classes, imported now."""
        place = getattr(self, what)
        try:
            return resolve_name(place)
        except Exception as error:
            raise DataProblem(f"The method {self.name} cannot be used: {_why(error)}") from error

    def as_json(self) -> dict[str, Any]:
        """As every surface tells it."""
        return {
            "name": self.name,
            "title": self.title,
            "help": self.help,
            "line": self.line,
            "role": self.role,
            "task": self.task,
            "package": self.package,
            "settings": [asdict(one) for one in settings_of(self.settings)],
        }


# -- likewise's own ------------------------------------------------------------------

DEFAULT = "bilinear"
OWN = (
    Method(
        DEFAULT,
        "What looks similar, from marks",
        "Learns what the pictures you marked have in common, and leads queries near taught ones; "
        "good with few marks, right ones alone teach too.",
        "likewise.learners.bilinear_learner:BilinearLearner",
        own.BilinearSettings,
        evidence="likewise.collection.learn.evidence:Groups",
    ),
    Method(
        "reference-queries",
        "What looks similar near taught photos, as in the paper",
        "Learns weights of its own for every search you taught; a new search takes those of its "
        "nearest ones. Needs right and wrong marks.",
        "likewise.learners.reference_learner:ReferenceLearner",
        own.ReferenceSettings,
    ),
    Method(
        "top-precision",
        "What comes first, from marks or folders",
        "Learns one matrix for all queries that brings right pictures to the very top; needs many "
        "marks, or folders that each hold one kind of picture (labels=folders).",
        "likewise.learners.top_precision:TopPrecisionLearner",
        own.TopPrecisionSettings,
        evidence="likewise.collection.learn.folders:MarksOrFolders",
    ),
    Method(
        "ranked-cca",
        "What words look like, from clicks and captions",
        "Learns to read text, so that words find pictures that carry none.",
        "likewise.learners.click_learner:ClickLearner",
        own.RankedCCASettings,
        role="reads",
        evidence="likewise.collection.learn.texts:Texts",
    ),
    Method(
        "word-table",
        "What shows the same object, from marks",
        "Learns what shared visual words say, from marks on same-object searches.",
        "likewise.learners.word_table_learner:WordTableLearner",
        own.WordTableSettings,
        line="objects",
        evidence="likewise.collection.learn.evidence:MarksAndOthers",
    ),
)
STORED = {"clicks": "ranked-cca", "clicks-compact": "ranked-cca", "words": "word-table"}
"""Names that cards and jobs of earlier versions have."""


# -- finding them --------------------------------------------------------------------


class Methods(Mapping[str, Method]):
    """Methods by name: likewise's own, then those of installed packages, found when needed."""

    def __init__(self) -> None:
        self._own = {method.name: method for method in OWN}

    @cached_property
    def _brought(self) -> tuple[dict[str, Method], list[str]]:
        """Methods of installed packages, and one sentence for each that cannot be used."""
        found: dict[str, Method] = {}
        problems = []
        from importlib.metadata import entry_points  # slow, and most commands name no method

        for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
            package = point.dist.name if point.dist is not None else point.value
            try:
                method = _checked(point, package)
                if method.name in self._own or method.name in found:
                    raise BadInput(f"there is a method {method.name} already.")
                found[method.name] = method
            except (Exception, SystemExit) as error:
                problems.append(
                    f"The method {point.name} of the package {package} is left out: {_why(error)}"
                )
        return found, problems

    def __getitem__(self, name: str) -> Method:
        if name in self._own:
            return self._own[name]
        found = self._brought[0].get(name)
        if found is None:
            raise BadInput(f"There is no method {name!r}; there are {', '.join(self)}.")
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._brought[0]

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from self._brought[0]

    def __len__(self) -> int:
        return len(self._own) + len(self._brought[0])

    @property
    def problems(self) -> list[str]:
        """One sentence for each method that an installed package declares wrongly."""
        return self._brought[1]

    def stored(self, *names: Any) -> Method | None:
        """The method that the first known of the names in a card or job means."""
        for name in names:
            if isinstance(name, str) and STORED.get(name, name) in self:
                return self[STORED.get(name, name)]
        return None

    def of_card(self, card: Mapping[str, Any]) -> Method | None:
        """The method that made a model; None where it is not installed here."""
        return self.stored(card.get("method"), card.get("objective"), card.get("kind"))

    def task(self, card: Mapping[str, Any]) -> str:
        """What a model can be active for."""
        method = self.of_card(card)
        known = card.get("task") if method is None else method.task
        return known if known in SLOTS else "look"

    def as_json(self, model: Model, active: Container[int] = ()) -> dict[str, Any]:
        """A model with its card, as every surface tells it; ``active``: numbers of active ones."""
        return {
            "id": model.id, "name": model.name, "task": self.task(model.card),
            "active": model.id in active, "made": model.made, "space": model.space,
            "card": dict(model.card),
        }  # fmt: skip

    def similarity(self, card: Mapping[str, Any]) -> Any | None:
        """The class that a model is restored by; None where nobody here knows its kind."""
        kind = card.get("kind")
        if isinstance(kind, str) and kind in SIMILARITIES:
            return SIMILARITIES[kind]
        method = self.of_card(card)
        if method is None or not method.similarity:
            return None
        try:
            found = method.part("similarity")
        except DataProblem:
            return None
        return found if getattr(found, "kind", None) == kind else None


def _checked(point: EntryPoint, package: str) -> Method:
    method = point.load()
    if not isinstance(method, Method):
        raise BadInput(f"{point.value} is no Method.")
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", method.name) or method.task not in SLOTS:
        raise BadInput("its name, line or role is none that there can be.")
    method.settings()
    settings_of(method.settings)
    return replace(method, package=package)


def _why(error: BaseException) -> str:
    return f"{str(error) or type(error).__name__}".rstrip(".") + "."


METHODS = Methods()
