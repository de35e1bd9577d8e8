"""Where features, store, index and similarity meet: open, add, search, teach, learn, activate."""

from likewise.collection.answers import Answer, Result
from likewise.collection.collection import Collection
from likewise.collection.queries import Example, Query

__all__ = ["Answer", "Collection", "Example", "Query", "Result"]
