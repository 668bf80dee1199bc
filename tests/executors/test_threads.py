"""Threads keep order and end when interrupted; what is on record of the machine, and its freed memory."""

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from verify.errors import SettingsError
from verify.executors.machine import one_blas_thread, processors


def blas_threads() -> set[int]:
    """Return how many threads linear algebra would use in this one."""
    assert np.linalg.det(np.eye(2)) == 1
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


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
        threads = [threading.Thread(target=target) for target in (first, second)]
        for thread in threads:
            thread.start()
        threads[0].join()
        second_looks.set()
        threads[1].join()
        assert blas_threads() == {2}
    assert seen == [{1}] * 3


PROGRAM = """
import resource, sys
import numpy as np
from verify.errors import SettingsError
from verify.executors.machine import keep_freed
if sys.argv[1] == "kept":
    keep_freed()
def faults():
    for _ in range(20):
        arrays = [np.ones(1 << 17) for _ in range(4)]
        del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
first = faults()
print(faults() - first)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the C library is not glibc")
def test_freed_memory_is_taken_again_without_a_page_fault() -> None:
    """Twenty rounds of 4 MiB touch next to no new page; without it they touch most of them each time."""
    kept, given_back = (
        int(subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, check=True).stdout)
        for how in ("kept", "given-back")
    )
    assert kept < 100
    assert given_back > 1000


@pytest.mark.parametrize("workers", [0, -1])
def test_a_number_of_processors_is_possible(workers: Any) -> None:
    """At least one; None means all."""
    assert processors(None) >= 1
    assert processors(1024) == 1024
    with pytest.raises(SettingsError, match=r"workers"):
        processors(workers)
