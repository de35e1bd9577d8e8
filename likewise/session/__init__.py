"""Target search: rounds, drags to orderings, learned metric, next round."""

from likewise.session.holdings import ArrayHoldings, Holdings, MemoryRounds, Rounds
from likewise.session.kept import Kept, kept_metrics
from likewise.session.session import TargetSession
from likewise.session.settings import Board, Settings
from likewise.session.simulate import Simulated, simulate

__all__ = [
    "ArrayHoldings", "Board", "Holdings", "Kept", "MemoryRounds", "Rounds", "Settings", "Simulated",
    "TargetSession", "kept_metrics", "simulate",
]  # fmt: skip
