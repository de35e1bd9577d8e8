"""One thread for linear algebra, and all of them again afterwards."""

from __future__ import annotations

import threading

import pytest
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController

from likewise.solvers.threads import one_blas_thread

BLAS = ThreadpoolController().select(user_api="blas")


def threads() -> list[int]:
    return [lib["num_threads"] for lib in BLAS.info()]


@pytest.fixture(autouse=True)
def two_threads():
    with BLAS.limit(limits=2):
        yield


def test_one_inside_and_as_before_outside_even_after_an_error():
    before = threads()
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        1 / len(set(threads()) - {1})
    assert threads() == before


def test_whoever_comes_second_changes_nothing():
    """The second one leaves last, and must not set back what it found: one thread."""
    before = threads()
    entered, leave = threading.Event(), threading.Event()

    def second() -> None:
        with one_blas_thread():
            entered.set()
            leave.wait(10)

    other = threading.Thread(target=second)
    with one_blas_thread():
        assert set(threads()) == {1}
        other.start()
        assert entered.wait(10)
        with one_blas_thread():  # within itself too
            pass
        assert set(threads()) == {1}
    assert threads() == before
    leave.set()
    other.join()
    assert threads() == before
    with one_blas_thread():
        assert set(threads()) == {1}
