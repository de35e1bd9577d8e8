"""One way from judgements to a model with a card: gather, hold out, guard, fit, tell."""

from __future__ import annotations

import time
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

from likewise.collection.learn.evidence import Sources
from likewise.collection.learn.guard import finite, hold_out, spent_looks
from likewise.collection.learn.methods import SLOTS, Method
from likewise.store import Drawn
from likewise.types import DataProblem, LikewiseError


class Prepared(NamedTuple):
    """A learned model that is not stored yet."""

    name: str
    arrays: dict[str, Any]
    card: dict[str, Any]
    space: str
    drawn: tuple[Drawn, ...] = ()
    """What its check asks."""


def prepare(method: Method, settings: Any, sources: Sources, name: str = "") -> Prepared:
    """Learn and measure a model without storing it, so that a child process may."""
    try:
        return _prepare(method, settings, sources, name)
    except LikewiseError:
        raise
    except Exception as error:
        if not method.package:
            raise
        raise DataProblem(
            f"The method {method.name} of the package {method.package} failed: "
            f"{type(error).__name__}: {error}"
        ) from error


def _prepare(method: Method, settings: Any, sources: Sources, name: str) -> Prepared:
    started = time.perf_counter()
    kind, given = method.part("evidence"), asdict(settings)
    own = {taken: given[taken] for taken in kind.takes}
    learners = {key: value for key, value in given.items() if key not in own}
    evidence = kind.gather(sources, **own)
    make = partial(method.part("learner"), sources.view.plain, seed=sources.seed, **learners)
    slot = SLOTS[method.task]
    held = hold_out(evidence, make, slot, sources.seed)
    learned = held.learned
    compared = held.table(evidence.baseline)
    arrays, written = learned.similarity_.to_arrays()
    card = {
        "method": method.name,
        "task": method.task,
        "kind": learned.similarity_.kind,
        "similarity": written,
        "settings": given,
        "seed": sources.seed,
        "report": asdict(learned.report_),
        "held_out": [] if compared is None else [dict(row) for row in compared.rows],
        **evidence.told(learned, held, compared),
        "guard": held.told(len(sources.view), spent_looks(evidence, slot)),
        "against": None if sources.active is None else sources.active[0].id,
        "seconds": time.perf_counter() - started,
        "time": time.time(),
    }
    arrays |= evidence.arrays()
    return Prepared(name or method.name, arrays, finite(card), sources.view.space, held.drawn)
