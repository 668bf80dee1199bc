"""Threads: the same results in the same order, and an end when interrupted."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from verify.executors.threads import one_blas_thread, thread_map


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_results_come_in_the_order_of_the_batches(workers: int) -> None:
    """Any number of threads gives what the builtin map gives, also for fewer batches than threads."""
    for batches in (range(0), range(1), range(5), range(10, 31)):
        with thread_map(workers) as spread:
            assert list(spread(lambda n: n * n, batches)) == [n * n for n in batches]


def test_several_threads_work() -> None:
    """With two workers two threads have a hand in it."""

    def who(_: int) -> int:
        time.sleep(0.01)
        return threading.get_ident()

    with thread_map(2) as spread:
        assert len(set(spread(who, range(8)))) == 2


def test_an_error_in_a_batch_is_raised() -> None:
    """What goes wrong in a thread is not lost."""
    with pytest.raises(ZeroDivisionError), thread_map(2) as spread:
        list(spread(lambda n: 1 // n, range(4)))


def test_after_an_interruption_no_further_batch_is_begun() -> None:
    """The threads stop after the batch at hand, however many are left."""
    begun: list[int] = []

    def slow(number: int) -> None:
        begun.append(number)
        time.sleep(0.02)
        if number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), thread_map(2) as spread:
        list(spread(slow, range(10_000)))
    time.sleep(0.1)
    assert len(begun) < 100


def blas_threads() -> set[int]:
    """Return how many threads linear algebra would use in this one."""
    assert np.linalg.det(np.eye(2)) == 1
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_whoever_wants_one_thread_has_it() -> None:
    """Also a thread that comes after the main one has had its way, and one that is left over by another.

    More threads add products up in another order, so that the last digits would depend on who draws.
    """
    seen: list[set[int]] = []
    first_leaves, second_looks = threading.Event(), threading.Event()

    def first() -> None:
        with one_blas_thread():
            seen.append(blas_threads())
            first_leaves.wait(10)

    def second() -> None:
        with one_blas_thread():
            first_leaves.set()
            second_looks.wait(10)
            seen.append(blas_threads())

    with threadpool_limits(limits=2):
        with one_blas_thread():
            seen.append(blas_threads())
        assert blas_threads() == {2}
        threads = [threading.Thread(target=one) for one in (first, second)]
        for one in threads:
            one.start()
        threads[0].join()
        second_looks.set()
        threads[1].join()
        assert blas_threads() == {2}
    assert seen == [{1}] * 3
