"""Memory that is freed is at hand for the next array, and not taken from the system again."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from verify.executors.memory import made_for_good, peak_memory

PROGRAM = """
import resource, sys
import numpy as np
from verify.executors.memory import keep_freed
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


def test_the_peak_is_that_of_this_process() -> None:
    """It has Python and NumPy in it, never falls, and grows with what is taken."""
    before = peak_memory()
    if before == 0:
        pytest.skip("the system does not say")
    assert 10**7 < before < 10**11
    taken = b"x" * before
    assert peak_memory() - before > 0.3 * len(taken)


def test_what_is_made_for_good_is_no_garbage() -> None:
    """None is looked for meanwhile, even where something is raised, nor among it later."""
    before = gc.get_freeze_count()

    def make() -> None:
        with made_for_good():
            assert not gc.isenabled()
            kept.append([[] for _ in range(1000)])
            raise ValueError

    kept: list[object] = []
    try:
        with pytest.raises(ValueError, match=r"^$"):
            make()
        assert gc.isenabled()
        assert gc.get_freeze_count() >= before + 1000
    finally:
        gc.unfreeze()
