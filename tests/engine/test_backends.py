"""Backends: a task arrives whole or is refused, and what it raises is one of the tool's errors."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from verify.engine.backends import IN_HAND, ExecutorBackend, InProcessBackend, perform
from verify.engine.catalogue import BuiltIn
from verify.engine.evaluate import Work
from verify.engine.keys import made_by
from verify.engine.runner import settings
from verify.errors import ClaimError, SettingsError, WorkerError


def complain(text: str) -> None:
    """Raise as a claim does."""
    raise ClaimError(text)


@pytest.mark.parametrize("name", ["sdpa-verify", "numpy", "python", "instructions", "sympy"])
def test_a_worker_with_another_version_is_refused(name: str) -> None:
    """One line names what differs; the task is not even read."""
    with pytest.raises(
        SettingsError, match=rf"^worker on .*: has {name} .*; use workers with the same$"
    ) as caught:
        perform({**made_by(), name: "0.0"}, b"no pickle")
    assert "\n" not in str(caught.value)


def test_a_task_is_done_with_the_same_version() -> None:
    """Its result comes back, and its errors are the tool's."""
    assert perform(made_by(), pickle.dumps((abs, (-3,)))) == 3
    with pytest.raises(ClaimError, match=r"^wrong$"):
        perform(made_by(), pickle.dumps((complain, ("wrong",))))
    with pytest.raises(WorkerError, match="ValueError: invalid literal"):
        perform(made_by(), pickle.dumps((int, ("x",))))
    with pytest.raises(WorkerError, match="SystemExit: 3"):
        perform(made_by(), pickle.dumps((sys.exit, (3,))))


def test_workers_that_join_later_are_handed_work() -> None:
    """The executor is asked anew how many it has: for the room, and for the length of a task."""
    with ThreadPoolExecutor(1) as executor:
        executor.workers = 1  # type: ignore[attr-defined]
        backend = ExecutorBackend(executor, InProcessBackend(1))
        work = Work(BuiltIn("scores", "score-mean"), settings(profile="quick"), (), "test")
        assert (backend.workers, backend.chunks_at_once) == (1, 1)
        assert not backend.has_room(work, IN_HAND, is_evaluated=False)
        executor.workers = 1000  # type: ignore[attr-defined]
        assert (backend.workers, backend.chunks_at_once) == (1000, 2)
        assert backend.has_room(work, IN_HAND, is_evaluated=False)
