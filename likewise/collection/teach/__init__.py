"""What people said: written down, kept in mind by query, offered where it fits."""

from likewise.collection.teach.teaching import Teaching

__all__ = ["Teaching"]
