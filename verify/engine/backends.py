"""Where the work for claims is done: in this process, in worker processes, or by any other executor.

A claim is evaluated in one process of this machine from its beginning to its end; chunks are drawn anywhere.
"""

import pickle
import platform
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Any, Protocol

from verify.engine.evaluate import CellToDraw, Work, begin, draw_chunks, forget, resume
from verify.engine.keys import made_by
from verify.errors import SettingsError
from verify.executors.machine import Threads
from verify.executors.workers import Task, Workers, done_now, portable
from verify.montecarlo.blocks import Chunk, Sums

Chunks = Sequence[tuple[CellToDraw, Chunk]]


IN_HAND = 3
"""Tasks sent to each worker of an executor at a time, so that none waits for the next one to arrive."""

_TASK_S = 1.0  # seconds that a task for an executor should take: sending it takes a hundredth of that

_WITH_ONE_CHUNK = 512
"""Workers that this process can keep busy with tasks of one chunk; with more of them, tasks are longer."""

_UNKNOWN_WORKERS = 16  # workers of an executor that does not say how many it has


class Backend(Protocol):
    """Evaluates claims and draws chunks; each task is a future.

    ``workers`` are busy at the same time. A task has ``chunks_at_once`` at least, and more where they take
    less than ``task_s`` seconds.
    """

    task_s: float

    @property
    def workers(self) -> int:
        """How many there are now."""

    @property
    def chunks_at_once(self) -> int:
        """How many chunks make a task at least."""

    def has_room(self, work: Work, in_hand: int, *, is_evaluated: bool) -> bool:
        """Return whether a task should be handed out now, with ``in_hand`` tasks of all claims here.

        One that ``is_evaluated`` begins or resumes the claim, others draw.
        """

    def evaluate(self, work: Work, proof: str, sums: Sequence[Sums] | None) -> Future[Any]:
        """Return what will hold the next result of the claim's ``ClaimEvaluation``.

        It begins, with the ``proof`` if there is one, where ``sums`` is None, and else resumes with these.
        """

    def draw(self, work: Work, chunks: Chunks) -> Future[Any]:
        """Return what will hold the result of ``draw_chunks``."""

    def release(self, work: Work) -> None:
        """Keep nothing for a claim that is settled."""

    def refuse_if_gone(self) -> None:
        """Raise an error where no worker is left.

        Raises:
            WorkerError: none is.
        """


class InProcessBackend:
    """This process evaluates, and ``workers`` of its threads draw."""

    chunks_at_once = 1
    task_s = 0.0

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._threads: Threads | None = None
        self._works: dict[str, Work] = {}

    def has_room(self, work: Work, in_hand: int, *, is_evaluated: bool) -> bool:  # noqa: ARG002
        """Return whether a thread is free."""
        return in_hand < self.workers

    def evaluate(self, work: Work, proof: str, sums: Sequence[Sums] | None) -> Future[Any]:
        """Begin or resume at once."""
        if sums is not None:
            return done_now(resume, work, sums)
        self._works[work.key] = work
        return done_now(begin, work, proof)

    def draw(self, work: Work, chunks: Chunks) -> Future[Any]:
        """Draw in a thread, or at once."""
        if self.workers == 1:
            return done_now(draw_chunks, work, chunks)
        self._threads = self._threads or Threads(self.workers)
        return self._threads.submit(draw_chunks, work, chunks)

    def release(self, work: Work) -> None:
        """Forget the claim."""
        self._works.pop(work.key, None)
        forget(work)

    def refuse_if_gone(self) -> None:
        """Do nothing: this process is there."""

    def close(self) -> None:
        """End the threads, and what was not settled."""
        for work in tuple(self._works.values()):
            self.release(work)
        if self._threads is not None:
            self._threads.shutdown()


class ProcessBackend:
    """Worker processes of this machine; a claim is evaluated in one of them from beginning to end."""

    chunks_at_once = 1
    task_s = 0.0

    def __init__(self, workers: Workers) -> None:
        self.workers, self._workers = workers.count, workers

    def has_room(self, work: Work, in_hand: int, *, is_evaluated: bool) -> bool:  # noqa: ARG002
        """Return whether a process is free, the claim's own where it is evaluated."""
        return self._workers.has_room(work.key if is_evaluated else "")

    def evaluate(self, work: Work, proof: str, sums: Sequence[Sums] | None) -> Future[Any]:
        """Resume in the process that evaluates the claim; begin in any."""
        task = Task(begin, (work, proof)) if sums is None else Task(resume, (work, sums))
        return self._workers.hand_out(replace(task, near=work.key))

    def draw(self, work: Work, chunks: Chunks) -> Future[Any]:
        """Draw in any process; what cannot be pickled in that which evaluates the claim."""
        at_home = not all(cell.pickled for cell, _ in chunks)
        return self._workers.hand_out(Task(draw_chunks, (work, chunks), near=work.key if at_home else ""))

    def release(self, work: Work) -> None:
        """Let the claim's process go where others need the room."""
        self._workers.release(work.key)

    def refuse_if_gone(self) -> None:
        """Do nothing: a process that ends is noticed by its task."""


class ExecutorBackend:
    """Any executor whose workers have the same version of this tool draws, such as one of a cluster.

    Its attribute ``workers`` says how many it has, and its method ``refuse_if_gone`` raises where none is
    left, if there are such. ``local`` evaluates.
    """

    task_s = _TASK_S

    def __init__(self, executor: Executor, local: InProcessBackend | ProcessBackend) -> None:
        self._executor, self._local = executor, local

    @property
    def workers(self) -> int:
        """How many the executor says that it has now: more may have joined it."""
        return int(getattr(self._executor, "workers", _UNKNOWN_WORKERS))

    @property
    def chunks_at_once(self) -> int:
        """More than one where this process could not keep all workers busy otherwise."""
        return -(-self.workers // _WITH_ONE_CHUNK)

    def has_room(self, work: Work, in_hand: int, *, is_evaluated: bool) -> bool:
        """Return whether a local process, or a worker of the executor, should have another task."""
        if is_evaluated:
            return isinstance(self._local, InProcessBackend) or self._local.has_room(
                work, in_hand, is_evaluated=True
            )
        return in_hand < IN_HAND * self.workers

    def evaluate(self, work: Work, proof: str, sums: Sequence[Sums] | None) -> Future[Any]:
        """Begin or resume on this machine."""
        return self._local.evaluate(work, proof, sums)

    def draw(self, work: Work, chunks: Chunks) -> Future[Any]:
        """Draw wherever there is room; on this machine what cannot be pickled."""
        if not all(cell.pickled for cell, _ in chunks):
            return self._local.draw(work, chunks)
        return self._executor.submit(perform, made_by(), pickle.dumps((draw_chunks, (work, chunks))))

    def release(self, work: Work) -> None:
        """Forget the claim on this machine."""
        self._local.release(work)

    def refuse_if_gone(self) -> None:
        """Raise where the executor says that no worker is left."""
        getattr(self._executor, "refuse_if_gone", lambda: None)()


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
    except BaseException as error:  # noqa: BLE001 - a claim file may do anything
        raise portable(error) from None
