"""One thread for linear algebra, where many small products or many callers would only wait.

BLAS shares one pool of threads: callers on several threads queue for it, and for small products
handing the work out takes longer than doing it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_held = threading.Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Every BLAS call of the process runs on its caller's thread.

    Whoever enters while another is inside changes nothing: the first one sets the number of
    threads back, to what it was before.
    """
    if not _held.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _held.release()


@cache
def _controller() -> ThreadpoolController:
    """Knows the libraries that are loaded when it is made: numpy's BLAS and scipy's."""
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()
