"""What is searched: the look of pictures, and the objects they show; one protocol for both."""

from likewise.collection.lines.line import Line, View
from likewise.collection.lines.look import Look
from likewise.collection.lines.objects import Objects

__all__ = ["Line", "Look", "Objects", "View"]
