"""Hold out, measure, guard: may a new model serve in the place of what serves now?

Every measured query is held out once: the model that is measured on it was learned without it.
What the guard decides rests on those measures; the model that is kept is learned from all
evidence with the same settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.evaluation import Comparison, Run, compare, judged_average_precision, measure, rank
from likewise.evaluation.guard import Verdict, guard

if TYPE_CHECKING:
    from likewise.collection.learn.evidence import Make, Marks
    from likewise.collection.learn.texts import Texts

Truth = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class HeldOut:
    """Out-of-fold runs of the new model and the runs of what it would replace."""

    runs: Mapping[str, Run]
    truth: Truth
    verdicts: Mapping[str, Verdict]

    @property
    def passed(self) -> bool:
        """Whether the guard let the model pass against every rival."""
        return all(v.activate for v in self.verdicts.values())

    @property
    def sentence(self) -> str:
        """What the guard says: of the first rival that stands in the way, or of the first."""
        blocking = [v for v in self.verdicts.values() if not v.activate]
        return (blocking or list(self.verdicts.values()))[0].sentence

    def table(self, baseline: str) -> Comparison | None:
        """All runs that cover every query, side by side with significance."""
        if not self.truth:
            return None
        whole = {name: run for name, run in self.runs.items() if len(run) == len(self.truth)}
        return compare(whole, self.truth, baseline=baseline)

    def told(self) -> dict[str, Any]:
        """As a card has it."""
        verdicts = {name: finite(asdict(v)) for name, v in self.verdicts.items()}
        return {"passed": self.passed, "sentence": self.sentence, **verdicts}


def hold_out(evidence: Marks | Texts, make: Make, seed: int) -> HeldOut:
    """Measure a method on every measured query, learned without it, beside its rivals."""
    fold = evidence.folds()
    measured = evidence.measured(fold)
    new: Run = {}
    for part in np.unique(fold[measured]):
        similarity = evidence.fit(make, fold != part).similarity_
        new |= evidence.run(similarity, np.flatnonzero((fold == part) & measured).tolist())
    queries = np.flatnonzero(measured).tolist()
    truth = evidence.truth(queries)
    rivals = evidence.rivals(queries)
    runs = {name: evidence.run(similarity, which) for name, (similarity, which) in rivals.items()}
    verdicts = {}
    for name, run in runs.items():
        of = {q: truth[q] for q in truth if q in run}
        ours, theirs = _measures(new, of), _measures(run, of)
        verdicts[name] = guard(ours[0], theirs[0], ours[1], theirs[1], baseline=name, seed=seed)
    return HeldOut({**runs, "new": new}, truth, verdicts)


def _measures(run: Run, truth: Truth) -> tuple[Any, Any]:
    """Judged-only AP and precision@1 per query; NaN where a query cannot tell models apart."""
    if not truth:
        return np.zeros(0), np.zeros(0)
    ranked = rank({query: run[query] for query in truth}, truth)
    ap = np.asarray(judged_average_precision(ranked), dtype=np.float64).copy()
    p1 = np.asarray(measure(ranked, "p1"), dtype=np.float64)
    for at, name in enumerate(ranked.names):
        if all(v > 0 for v in truth[name].values()):
            ap[at] = np.nan
    return ap, p1


def finite(value: Any) -> Any:
    """JSON knows no NaN: what could not be measured is null."""
    if isinstance(value, Mapping):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
