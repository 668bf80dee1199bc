"""The machine: what goes on record of it, and memory that is freed is at hand for the next array."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from verify.errors import SettingsError
from verify.executors.machine import environment, made_for_good, peak_memory, processors

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
    before, threshold = gc.get_freeze_count(), gc.get_threshold()

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
        assert gc.get_threshold()[0] > threshold[0]
    finally:
        gc.unfreeze()
        gc.set_threshold(*threshold)


def test_versions_and_machine_are_on_record() -> None:
    """Python, system, processors, workers, linear algebra and the packages asked for, all as texts."""
    found = environment(3, ("numpy",))
    assert list(found) == ["python", "system", "processors", "workers", "linear algebra", "numpy"]
    assert (found["python"], found["workers"]) == (platform.python_version(), "3")
    assert found["numpy"] == np.__version__
    assert all(isinstance(value, str) for value in found.values())


@pytest.mark.parametrize("workers", [0, -1, 1025, True, 1.5, "2"])
def test_a_number_of_processors_is_possible(workers: Any) -> None:
    """Within what a machine may have; None means all."""
    assert 1 <= processors(None) <= 1024
    assert processors(1024) == 1024
    with pytest.raises(SettingsError, match=r"workers"):
        processors(workers)
