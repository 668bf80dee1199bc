"""Crews: a task arrives whole or is refused, and what it raises is one of the tool's errors."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any

import pytest

from verify.engine.catalogue import BuiltIn
from verify.engine.crews import Elsewhere, perform
from verify.engine.keys import made_by
from verify.engine.settle import Work
from verify.errors import ClaimError, SettingsError, WorkerError
from verify.evidence import Settings

if TYPE_CHECKING:
    from verify.executors.workers import Task


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


class Noting(Executor):
    """Takes tasks, does none, and notes what they are near to."""

    def __init__(self) -> None:
        self.near: list[str] = []

    def hand_out(self, task: Task) -> Future[Any]:
        """Note it."""
        self.near.append(task.near)
        return Future()


def test_the_stretches_of_a_claim_stay_together_where_the_executor_can() -> None:
    """What one worker has derived it need not derive again; what is drawn may be drawn anywhere."""
    executor = Noting()
    crew = Elsewhere(executor)
    first, second = (
        Work(BuiltIn("raw_scores", name), Settings(), (), "run") for name in ("score-mean", "score-variance")
    )
    for work in (first, second, first):
        crew.settle(work, "", ())
        crew.draw(work, ())
    settled, drawn = executor.near[::2], executor.near[1::2]
    assert settled[0] == settled[2] != settled[1]
    assert drawn == ["", "", ""]
