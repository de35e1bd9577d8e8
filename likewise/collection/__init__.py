"""Where features, store, index and similarity meet: open, add, search, teach, learn, activate."""

from likewise.collection.collection import Collection
from likewise.collection.options import Answer, Example, Options, Query, Result

__all__ = ["Answer", "Collection", "Example", "Options", "Query", "Result"]
