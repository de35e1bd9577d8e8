"""Where features, store, index and similarity meet: open, add, search, teach, learn, activate.

What stands above imports from here, and what it needs of the store is named here.  A name is
looked up when it is first used, so that a command that needs little of this starts fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.collection.collection import Collection
    from likewise.collection.options import Answer, Example, Offer, Options, Query, Result
    from likewise.filters import Filter
    from likewise.store import Described, Item, Job, Model, Record
    from likewise.store.backup import backup, restore
    from likewise.store.doctor import Fact, doctor
    from likewise.store.keys import ProgramKey
    from likewise.store.paths import as_file, as_key, printable
    from likewise.store.verify import verify
    from likewise.types import Round, Session, Step

__all__ = [
    "Answer", "Collection", "Described", "Example", "Fact", "Filter", "Item", "Job", "Model",
    "Offer", "Options", "ProgramKey", "Query", "Record", "Result", "Round", "Session", "Step",
    "as_file", "as_key", "backup", "doctor", "printable", "restore", "verify",
]  # fmt: skip  # fmt: skip
_OPTIONS = ("Answer", "Example", "Offer", "Options", "Query", "Result")
_PLACES = dict.fromkeys(_OPTIONS, "collection.options")
_PLACES |= {"Collection": "collection.collection", "Filter": "filters", "ProgramKey": "store.keys"}
_PLACES |= dict.fromkeys(("Round", "Session", "Step"), "types")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"likewise.{_PLACES.get(name, 'store')}"), name)
