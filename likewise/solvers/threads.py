"""One thread for linear algebra, where many small products or many callers would only wait.

BLAS shares one pool of threads: callers on several threads queue for it, and for small products
handing the work out takes longer than doing it.
"""

from __future__ import annotations

import os
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
    with _at_most(1):
        yield


@contextmanager
def free_blas_threads() -> Iterator[None]:
    """BLAS takes the cores that others leave free, for one long product.

    On a busy machine its threads wait for each other by turning in a loop: six times the work.
    """
    cores = os.cpu_count() or 1
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    with _at_most(max(1, round(cores - busy))):
        yield


@contextmanager
def _at_most(threads: int) -> Iterator[None]:
    if not _held.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=threads, user_api="blas"):
            yield
    finally:
        _held.release()


@cache
def _controller() -> ThreadpoolController:
    """Knows the libraries that are loaded when it is made: numpy's BLAS and scipy's."""
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()
