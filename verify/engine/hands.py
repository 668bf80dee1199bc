"""What a crew has in hand, and what waits for it in the order in which it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import queue

    from verify.engine.crews import Crew

Tasks = Iterator[tuple[Future[Any], Callable[[Any], None]]]
"""Hands out one task each time it is asked: what will hold its result, and what is done with that."""

NEXT, IN_TURN = -2, -1
"""What goes before all draws: the next stretch of a claim whose draws are there, and the first of each."""


@dataclass(order=True)
class Job:
    """Tasks of one claim; those with the least ``weight`` are handed out first, in the order of their turns.

    A draw weighs as many as the random components that it asks for.
    """

    weight: int
    turn: int
    tasks: Tasks = field(compare=False)


@dataclass
class Hands:
    """A crew with what it has in hand and what waits for it."""

    crew: Crew
    open: dict[Future[Any], Callable[[Future[Any]], None]] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    turns: Iterator[int] = field(default_factory=count)

    def add(self, weight: int, tasks: Tasks) -> None:
        """Have these tasks wait."""
        heappush(self.jobs, Job(weight, next(self.turns), tasks))

    def fill(self, done: queue.SimpleQueue[Future[Any]]) -> None:
        """Hand out tasks as long as there are some, and room."""
        while self.jobs and len(self.open) < self.crew.count:
            job = heappop(self.jobs)
            try:
                # Asking for a task may add a job that goes before this one.
                future, then = next(job.tasks)
            except StopIteration:
                continue
            heappush(self.jobs, job)
            self.open[future] = then
            future.add_done_callback(done.put)
