"""How many files a process may have open at once, and the sentence for when it is too few."""

from __future__ import annotations

import errno
import os

from likewise.types import DataProblem

TOO_MANY = {errno.EMFILE, errno.ENFILE}
ENOUGH = 256
"""What a server with some dozen visitors gets along with."""
_MOST_ON_MACOS = 10_240  # a soft limit above it is refused, although the hard one says «unlimited»


def limit() -> tuple[int, int] | None:
    """How many files this process may open, and up to which number it may raise that itself."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return None
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def raise_limit() -> None:
    """Allow this process, and those that it starts, as many open files as the system lets it."""
    found = limit()
    if found is None or found[0] == found[1]:
        return
    import resource

    for most in (found[1], _MOST_ON_MACOS):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, found[1]))
            return
        except (ValueError, OSError):
            continue


def too_many() -> DataProblem:
    """What a person can do when no more files can be opened."""
    found = limit()
    most = f" ({found[0]:,} are allowed)" if found else ""
    return DataProblem(
        f"Too many files are open{most}; allow more with «ulimit -n 4096» before starting "
        "likewise, or close other programs: what was acknowledged before is kept."
    )


def spare(count: int) -> None:
    """Raise the system's own error where not so many more files can be opened now."""
    held = []
    try:
        for _ in range(count):
            held.append(os.open(os.devnull, os.O_RDONLY))
    finally:
        for descriptor in held:
            os.close(descriptor)
