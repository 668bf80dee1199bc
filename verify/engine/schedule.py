"""Settles claims on any executor: tasks are pure functions of plain values, and sums are added in order.

A claim is evaluated by a task, and again by another task each time that draws were needed which take long:
these are tasks of chunks, of about a second each. So the results are the same to the last bit for any number
of workers, in whatever order they work, and whatever the store has of earlier runs.
"""

import math
import pickle
import queue
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from verify.engine.evaluate import CellToDraw, Known, Mapped, draw, evaluate, key, perform, versions
from verify.engine.preparing import Work
from verify.engine.store import Store
from verify.errors import VerifyError, described
from verify.evidence import ClaimRecord, Proof
from verify.montecarlo.blocks import Chunk, Sums

_TASK_S = 1.0  # seconds that a task should take: to send it takes a hundredth of that
_MOST_SENT = 1000  # tasks that an executor has at a time: enough for hundreds of workers


class SettledClaim(NamedTuple):
    """The record of a claim, with the seconds of its parts."""

    record: ClaimRecord
    spent_s: dict[str, float]


Task = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function of this package and its arguments, the first of which is the work that it belongs to."""

_Needed = tuple[CellToDraw, Chunk, bytes | None]
"""A chunk of a cell that is needed, and its key in the store."""

Steps = Generator[list[Task], tuple[int, Any], SettledClaim]
"""A claim on its way: yields tasks, and is sent the number and the result of each as it is done."""
# Of a claim that needs three tasks of draws, for example:
#     tasks = next(steps)                   [evaluate], which finds that draws are needed
#     tasks = steps.send((0, stretch))      [draw, draw, draw], all of which go out
#     tasks = steps.send((1, sums))         [], as the other two are still drawing
#     tasks = steps.send((0, sums))         []
#     tasks = steps.send((2, sums))         [evaluate], now with the draws; its result ends the claim
# Nothing waits inside: while the workers draw for one claim, the others are taken further.


@dataclass
class Schedule:
    """Settles claims.

    Claims that were made in this process stay here: ``mapped`` draws for them. Others are up to ``executor``,
    whose workers need the same versions as this process. ``on_progress`` is called with the random components
    ``drawn`` of those known to be ``wanted`` that the store lacks.
    """

    works: Sequence[Work]
    executor: Executor
    store: Store | None = None
    mapped: Mapped = map
    on_progress: Callable[[int, int], None] = lambda _drawn, _wanted: None
    task_s: float = _TASK_S
    drawn: int = 0
    wanted: int = 0
    _waiting: deque[tuple[Steps, int, Task]] = field(default_factory=deque)
    _settled: deque[SettledClaim] = field(default_factory=deque)

    def run(self) -> Iterator[SettledClaim]:
        """Yield each claim as it is settled.

        Raises:
            VerifyError: a setting is impossible, a claim is broken, or a worker has ended.
        """
        sent: dict[Future[Any], tuple[Steps, int]] = {}
        done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        # Each claim asks for its first task at once; which is done when does not matter to any result.
        for work in self.works:
            self._advance(self._steps(work))
        try:
            while self._waiting or sent or self._settled:
                # Where tasks are done at once, each is taken in before the next is sent.
                while self._waiting and len(sent) < _MOST_SENT and done.empty():
                    steps, number, task = self._waiting.popleft()
                    work = task[1][0]
                    if work.claim.made is not None:
                        self._advance(steps, (number, evaluate(work, "", {}, math.inf, self.mapped)))
                        continue
                    future = self.executor.submit(perform, versions(), pickle.dumps(task))
                    sent[future] = steps, number
                    future.add_done_callback(done.put)
                if sent:
                    future = done.get()
                    steps, number = sent.pop(future)
                    try:
                        result = future.result()
                    except VerifyError:
                        raise
                    except Exception as error:
                        after = "run it again" + (": it goes on from the cache" if self.store else "")
                        lost = f"a task was lost with its worker ({described(error)}); {after}"
                        raise VerifyError(lost) from error
                    self._advance(steps, (number, result))
                while self._settled:
                    yield self._settled.popleft()
        finally:
            for future in sent:
                future.cancel()

    def _steps(self, work: Work) -> Steps:
        """Have a claim derived, planned and measured, unless its record is in the store."""
        spent_s = {"derivation": 0.0, "simulation": 0.0}
        # A settled claim depends on all settings, the check of its derivation on none of them.
        record_key = key("claim", work.claim, work.settings.model_dump(mode="json"))
        derivation_key = key("derivation", work.claim)
        if content := self._stored(record_key):
            return SettledClaim(ClaimRecord.model_validate_json(content), spent_s)
        derivation_json = (self._stored(derivation_key) or b"").decode()
        known: Known = {}
        while True:
            # Evaluated anew with all that was drawn for it, perhaps in another process.
            _, stretch = yield [(evaluate, (work, derivation_json, known, self.task_s))]
            derivation_json = stretch.derivation_json
            for part, seconds in stretch.spent_s.items():
                spent_s[part] += seconds
            self._report(drawn=stretch.draws, wanted=stretch.draws)
            if stretch.record:
                break
            self._keep(derivation_key, derivation_json.encode())
            spent_s["simulation"] += yield from self._draw(work, stretch.cells, stretch.draw_s)
            known = {**stretch.known, **{(cell.id, cell.batches): cell.drawn for cell in stretch.cells}}
        record = ClaimRecord.model_validate_json(stretch.record)
        if record.derivation.status is not Proof.FAILED:  # that soon fails again
            self._keep(derivation_key, derivation_json.encode())
            self._keep(record_key, stretch.record.encode())
        return SettledClaim(record, spent_s)

    def _draw(
        self, work: Work, cells: Sequence[CellToDraw], draw_s: float
    ) -> Generator[list[Task], tuple[int, Any], float]:
        """Have the chunks drawn that cells need and the store lacks, and return the seconds that it took.

        A random component takes ``draw_s`` seconds or so.
        """
        needed, sums, groups, seconds = [], dict[tuple[str, int], Sums](), list[list[_Needed]](), math.inf
        for cell in cells:
            for chunk in cell.missing(work):
                # It is stored from its beginning to where it stops so far.
                number = chunk.first // cell.chunk_batches
                row = key("chunk", work.claim, chunk.seed, cell.id, cell.pickled.hex(), number, chunk.stop)
                needed.append((cell, chunk, row))
                if content := self._stored(row):
                    sums[cell.id, chunk.first] = Sums.from_bytes(content)
                    continue
                # What the store lacks is divided into tasks of about a second.
                if seconds >= self.task_s:
                    groups.append([])
                    seconds = 0.0
                groups[-1].append(needed[-1])
                seconds += cell.draws(chunk) * draw_s
                self._report(wanted=cell.draws(chunk))
        tasks: list[Task] = [
            (draw, (work, [(cell.pickled, chunk) for cell, chunk, _ in group])) for group in groups
        ]
        # All tasks go out with the first yield; then each result is taken in as it comes.
        seconds = 0.0
        for _ in groups:
            done, (parts, drawing_s) = yield tasks
            tasks, seconds = [], seconds + drawing_s
            for (cell, chunk, row), part in zip(groups[done], parts, strict=True):
                self._keep(row, part.to_bytes())
                sums[cell.id, chunk.first] = part
                self._report(drawn=cell.draws(chunk))
        # Added in the order of chunks, so that the totals are the same whoever came first.
        for cell, chunk, _ in needed:
            cell.add(chunk, sums[cell.id, chunk.first])
        return seconds

    def _advance(self, steps: Steps, done: tuple[int, Any] | None = None) -> None:
        """Take a claim further by the result of a task; None is the beginning."""
        try:
            tasks = next(steps) if done is None else steps.send(done)
            self._waiting.extend((steps, number, task) for number, task in enumerate(tasks))
        except StopIteration as end:
            self._settled.append(end.value)

    def _report(self, drawn: int = 0, wanted: int = 0) -> None:
        self.drawn += drawn
        self.wanted += wanted
        self.on_progress(self.drawn, self.wanted)

    def _stored(self, row: bytes | None) -> bytes | None:
        return self.store.get(row) if self.store and row else None

    def _keep(self, row: bytes | None, content: bytes) -> None:
        if self.store and row:
            self.store.put(row, content)
