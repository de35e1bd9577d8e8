"""Where features, store, index and similarity meet: open, add, search, teach, learn, activate.

What stands above imports from here, and what it needs of the store is named here.
"""

from likewise.collection.collection import Collection
from likewise.collection.options import Answer, Example, Offer, Options, Query, Result
from likewise.filters import Filter
from likewise.store import (
    Described,
    Fact,
    Item,
    Job,
    Model,
    Record,
    Round,
    Session,
    Step,
    as_file,
    as_key,
    backup,
    doctor,
    printable,
    restore,
    verify,
)

__all__ = [
    "Answer",
    "Collection",
    "Described",
    "Example",
    "Fact",
    "Filter",
    "Item",
    "Job",
    "Model",
    "Offer",
    "Options",
    "Query",
    "Record",
    "Result",
    "Round",
    "Session",
    "Step",
    "as_file",
    "as_key",
    "backup",
    "doctor",
    "printable",
    "restore",
    "verify",
]
