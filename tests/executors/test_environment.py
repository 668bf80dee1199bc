"""What is on record of the machine and its libraries."""

from __future__ import annotations

import platform

import numpy as np

from verify.executors.environment import environment


def test_versions_and_machine_are_on_record() -> None:
    """Python, system, processors, workers, linear algebra and the packages asked for, all as texts."""
    found = environment(3, ("numpy",))
    assert list(found) == ["python", "system", "processors", "workers", "linear algebra", "numpy"]
    assert (found["python"], found["workers"]) == (platform.python_version(), "3")
    assert found["numpy"] == np.__version__
    assert all(isinstance(value, str) for value in found.values())
