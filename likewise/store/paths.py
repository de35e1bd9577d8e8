"""Names of files as the bytes that the system uses, and as text that a person can read.

A file name may hold anything but a zero byte: newlines, emoji, bytes that are no UTF-8.
The catalogue keeps the bytes, which round trip; the text is for showing and for words.
"""

from __future__ import annotations

import os
import sys

from likewise.filters import AnyPath
from likewise.types import BadInput

_SYSTEM = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()


def as_key(path: AnyPath) -> bytes:
    """The bytes that name a file: relative to the collection's folder, ``/`` between parts."""
    key = os.fsencode(os.fspath(path))
    if os.sep != "/":
        key = key.replace(os.sep.encode(), b"/")
    if not key or b"\0" in key:
        raise BadInput(f"A path must hold at least one byte and no zero byte, not {path!r}.")
    return key


def as_file(key: bytes) -> str:
    """The name to open a file by; bytes that are no UTF-8 survive as surrogates."""
    return key.decode(*_SYSTEM)


def printable(key: bytes) -> str:
    """The name as a person may read it; what cannot be shown is written as an escape."""
    text = key.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
