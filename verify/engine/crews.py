"""Who works for a claim: threads of this process, processes of its own, or any other executor."""

from __future__ import annotations

import pickle
import platform
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol

from verify.engine.claim_files import ClaimFile
from verify.engine.keys import made_by
from verify.engine.settle import advance, draw_chunks
from verify.errors import SettingsError, VerifyError, WorkerError, described
from verify.executors.threads import Threads
from verify.executors.workers import TakesTasks, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from verify.engine.settle import CellToDraw, Work
    from verify.executors.workers import Workers
    from verify.montecarlo.blocks import Chunk, Sums

_WORTH_A_PROCESS = 10**9
"""Random components that take longer to draw than a process takes to start."""


_IN_HAND = 3
"""Tasks in hand for each worker, so that none waits for the next one to arrive."""

_TASK_S = 1.0
"""Seconds of a task that is sent elsewhere: sending it and taking in its result take a hundredth of that."""

_WITH_ONE_CHUNK = 512
"""Workers that this process can keep busy with tasks of one chunk; with more of them, tasks are longer."""


class Crew(Protocol):
    """Executors that work for claims; each task is one future."""

    @property
    def workers(self) -> int:
        """How many work at the same time."""

    @property
    def count(self) -> int:
        """How many tasks are best in hand at a time."""

    @property
    def chunks_at_once(self) -> int:
        """How many chunks make a task, at least: more where handing them out one by one takes too long."""

    @property
    def task_s(self) -> float:
        """Seconds that a task should take where chunks are so short that more of them can make one."""

    def settle(self, work: Work, proof: str, answers: Sequence[Sequence[Sums]]) -> Future[Any]:
        """Return what will hold the result of ``advance``."""

    def draw(self, work: Work, chunks: Sequence[tuple[CellToDraw, Chunk]]) -> Future[Any]:
        """Return what will hold the result of ``draw_chunks``."""

    def refuse_if_gone(self) -> None:
        """Raise what is wrong where there is nobody left to work.

        Raises:
            WorkerError: nobody is.
        """


class Here:
    """This process settles, and so many of its threads draw."""

    chunks_at_once = 1
    task_s = 0.0

    def __init__(self, workers: int) -> None:
        self.workers = self.count = workers
        self._threads: Threads | None = None

    def settle(self, work: Work, proof: str, answers: Sequence[Sequence[Sums]]) -> Future[Any]:
        """Settle at once."""
        return _done(advance, work, proof, answers)

    def draw(self, work: Work, chunks: Sequence[tuple[CellToDraw, Chunk]]) -> Future[Any]:
        """Draw in a thread, or at once."""
        if self.workers == 1:
            return _done(draw_chunks, work, chunks)
        self._threads = self._threads or Threads(self.workers)
        return self._threads.submit(draw_chunks, work, chunks)

    def refuse_if_gone(self) -> None:
        """Do nothing: this process is there."""

    def close(self) -> None:
        """End the threads."""
        if self._threads is not None:
            self._threads.shutdown()


def _done(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    future: Future[Any] = Future()
    try:
        future.set_result(function(*arguments))
    except Exception as error:  # noqa: BLE001 - whoever asks for the result gets it
        future.set_exception(error)
    return future


class Local:
    """Processes of this one's own; a claim file's run nothing else."""

    chunks_at_once = 1
    task_s = 0.0

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        # A task that waits for the one process that has its claim at hand leaves no other idle.
        self.workers, self.count = workers.count, 4 * workers.count

    def settle(self, work: Work, proof: str, answers: Sequence[Sequence[Sums]]) -> Future[Any]:
        """Settle in one process, which has at hand what it computed for the claim before."""
        task = Task(advance, (work, proof, answers), isolate=_isolation(work), near=work.claim.id)
        return self._workers.hand_out(task)

    def draw(self, work: Work, chunks: Sequence[tuple[CellToDraw, Chunk]]) -> Future[Any]:
        """Draw in any process; for a claim file in that which settles it, unless it takes long."""
        isolate = _isolation(work)
        draws = sum(cell.batches * cell.batch_draws for cell, _ in chunks)
        near = work.claim.id if isolate and draws < _WORTH_A_PROCESS else ""
        return self._workers.hand_out(Task(draw_chunks, (work, chunks), isolate=isolate, near=near))

    def refuse_if_gone(self) -> None:
        """Do nothing: a process that ends is noticed by its task."""


def _isolation(work: Work) -> str:
    return str(work.claim.path) if isinstance(work.claim, ClaimFile) else ""


class Elsewhere:
    """Any executor whose workers have the same version of this tool, such as one of a cluster.

    ``workers`` is how many of them there are; ``check`` raises where nobody is left to work.
    """

    task_s = _TASK_S

    def __init__(
        self, executor: Executor, workers: int = 16, check: Callable[[], None] = lambda: None
    ) -> None:
        self._executor, self.workers, self.refuse_if_gone = executor, workers, check
        self.count = _IN_HAND * workers
        self.chunks_at_once = -(-workers // _WITH_ONE_CHUNK)

    def settle(self, work: Work, proof: str, answers: Sequence[Sequence[Sums]]) -> Future[Any]:
        """Settle wherever there is room; where the executor can, beside what was computed for it before."""
        return self._submit(f"{work.run} {work.claim.id}", advance, work, proof, answers)

    def draw(self, work: Work, chunks: Sequence[tuple[CellToDraw, Chunk]]) -> Future[Any]:
        """Draw wherever there is room."""
        return self._submit("", draw_chunks, work, chunks)

    def _submit(self, near: str, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        task = Task(perform, (made_by(), pickle.dumps((function, arguments))), near=near)
        if isinstance(self._executor, TakesTasks):
            return self._executor.hand_out(task)
        return self._executor.submit(task.function, *task.arguments)


def perform(wanted: dict[str, str], task: bytes) -> Any:
    """Return what a task leads to on another machine, if that would lead to the same here.

    ``wanted`` is what ``made_by`` says where the task comes from, and ``task`` a pickle of a function of this
    tool with its arguments.

    Raises:
        SettingsError: the machines differ in what decides the digits of results.
        VerifyError: what the task has raised.
    """
    here = made_by()
    for name, version in wanted.items():
        if here.get(name) != version:
            raise SettingsError(
                f"worker on {platform.node()}: has {name} {here.get(name)}, this run {version}; "
                "use workers with the same"
            )
    function, arguments = pickle.loads(task)  # noqa: S301 - an executor runs what it is given
    try:
        return function(*arguments)
    except VerifyError:
        raise
    except BaseException as error:  # noqa: BLE001 - a claim file may do anything
        raise WorkerError(described(error)) from None
