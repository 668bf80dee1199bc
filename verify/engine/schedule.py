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
from typing import Any, NamedTuple

from verify.engine.evaluate import CellToDraw, Mapped, Rounds, draw, evaluate, key, perform, versions
from verify.engine.preparing import Work
from verify.engine.store import Store
from verify.errors import VerifyError, described
from verify.evidence import ClaimRecord, Proof
from verify.montecarlo.blocks import Chunk, Drawn, Sums

_TASK_S = 1.0  # seconds that a task should take: to send it takes a hundredth of that
_MOST_SENT = 1000  # tasks that an executor has at a time: enough for hundreds of workers


class SettledClaim(NamedTuple):
    """The record of a claim, with the seconds of its parts."""

    record: ClaimRecord
    spent_s: dict[str, float]


Task = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function of this package and its arguments, the first of which is the work that it belongs to."""

Steps = Generator[list[Task], tuple[int, Any], SettledClaim]
"""A claim on its way: yields tasks, and is sent the number and the result of each as it is done."""
# Of a claim that needs three tasks of draws, for example:
#     tasks = next(steps)                   [evaluate], which finds that draws are needed
#     tasks = steps.send((0, stretch))      [draw, draw, draw], all of which go out
#     tasks = steps.send((1, sums))         [], as the other two are still drawing
#     tasks = steps.send((0, sums))         []
#     tasks = steps.send((2, sums))         [evaluate], now with the draws; its result ends the claim
# Nothing waits inside: while the workers draw for one claim, the others are taken further.


class Schedule:
    """Settles claims.

    Claims that were made in this process stay here: ``mapped`` draws for them. Others are up to ``executor``,
    whose workers need the same versions as this process. ``on_progress`` is called with the random components
    ``drawn`` of those known to be ``wanted`` that the store lacks.
    """

    def __init__(
        self,
        works: Sequence[Work],
        executor: Executor,
        store: Store | None = None,
        mapped: Mapped = map,
        on_progress: Callable[[int, int], None] = lambda _drawn, _wanted: None,
        task_s: float = _TASK_S,
    ) -> None:
        self._works, self._executor, self._store, self._mapped = works, executor, store, mapped
        self._on_progress, self._task_s = on_progress, task_s
        self._waiting: deque[tuple[Steps, int, Task]] = deque()
        self._sent: dict[Future[Any], tuple[Steps, int]] = {}
        self._done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._settled: deque[SettledClaim] = deque()
        self.drawn = self.wanted = 0

    def run(self) -> Iterator[SettledClaim]:
        """Yield each claim as it is settled.

        Raises:
            VerifyError: a setting is impossible, a claim is broken, or a worker has ended.
        """
        # Each claim asks for its first task at once; which is done when does not matter to any result.
        for work in self._works:
            self._advance(self._steps(work))
        try:
            while self._waiting or self._sent or self._settled:
                # Where tasks are done at once, each is taken in before the next is sent.
                while self._waiting and len(self._sent) < _MOST_SENT and self._done.empty():
                    self._send(*self._waiting.popleft())
                if self._sent:
                    self._receive(self._done.get())
                while self._settled:
                    yield self._settled.popleft()
        finally:
            for future in self._sent:
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
        rounds: Rounds = ()
        while True:
            # Evaluated anew with all that was drawn for it, perhaps in another process.
            _, stretch = yield [(evaluate, (work, derivation_json, rounds, self._task_s))]
            derivation_json = stretch.derivation_json
            for part, seconds in stretch.spent_s.items():
                spent_s[part] += seconds
            self._report(drawn=stretch.draws, wanted=stretch.draws)
            if stretch.record:
                break
            self._keep(derivation_key, derivation_json.encode())
            drawn = yield from self._draw(work, stretch.cells, stretch.draw_s, spent_s)
            rounds = (*stretch.rounds, drawn)
        record = ClaimRecord.model_validate_json(stretch.record)
        if record.derivation.status is not Proof.FAILED:  # that soon fails again
            self._keep(derivation_key, derivation_json.encode())
            self._keep(record_key, stretch.record.encode())
        return SettledClaim(record, spent_s)

    def _draw(
        self, work: Work, asked: Sequence[CellToDraw], draw_s: float, spent_s: dict[str, float]
    ) -> Generator[list[Task], tuple[int, Any], tuple[Drawn, ...]]:
        """Have the chunks drawn that cells need and the store lacks; a random component takes ``draw_s``."""
        # Of each cell, the chunks that came ahead of their turn, by their first batches.
        cells, ahead = list(asked), [dict[int, tuple[Chunk, Sums]]() for _ in asked]
        # First what the store has; the rest is divided into tasks, in the order of cells and chunks.
        groups: list[list[tuple[int, Chunk, int]]] = []
        seconds = math.inf
        for place, cell in enumerate(asked):
            for chunk in cell.missing(work):
                if content := self._stored(_chunk_key(work, cell, chunk)):
                    ahead[place][chunk.first] = chunk, Sums.from_bytes(content)
                    continue
                draws = (chunk.stop - chunk.first) * cell.batch_draws
                self._report(wanted=draws)
                # About a second's in a task.
                if seconds >= self._task_s:
                    groups.append([])
                    seconds = 0.0
                groups[-1].append((place, chunk, draws))
                seconds += draws * draw_s
        tasks: list[Task] = [
            (draw, (work, [(asked[place].pickled, chunk) for place, chunk, _ in group])) for group in groups
        ]
        # All tasks go out with the first yield; then each result is taken in as it comes.
        for _ in groups:
            number, (parts, drawing_s) = yield tasks
            tasks = []
            spent_s["simulation"] += drawing_s
            for (place, chunk, draws), sums in zip(groups[number], parts, strict=True):
                self._keep(_chunk_key(work, asked[place], chunk), sums.to_bytes())
                ahead[place][chunk.first] = chunk, sums
                cells[place] = _in_turn(cells[place], ahead[place])
                self._report(drawn=draws)
        return tuple(_in_turn(*both).drawn for both in zip(cells, ahead, strict=True))

    def _advance(self, steps: Steps, done: tuple[int, Any] | None = None) -> None:
        """Take a claim further by the result of a task; None is the beginning."""
        try:
            tasks = next(steps) if done is None else steps.send(done)
            self._waiting.extend((steps, number, task) for number, task in enumerate(tasks))
        except StopIteration as end:
            self._settled.append(end.value)

    def _send(self, steps: Steps, number: int, task: Task) -> None:
        """Send a task to the executor; a task of a claim made in this process is done here and now."""
        work = task[1][0]
        if work.claim.made is not None:
            self._advance(steps, (number, evaluate(work, "", (), math.inf, self._mapped)))
            return
        future = self._executor.submit(perform, versions(), pickle.dumps(task))
        self._sent[future] = steps, number
        future.add_done_callback(self._done.put)

    def _receive(self, future: Future[Any]) -> None:
        """Take in the result of a task; where it failed, or its worker ended, the run ends with it."""
        steps, number = self._sent.pop(future)
        try:
            result = future.result()
        except VerifyError:
            raise
        except Exception as error:
            after = "run it again" + (": it goes on from the cache" if self._store else "")
            raise VerifyError(f"a task was lost with its worker ({described(error)}); {after}") from error
        self._advance(steps, (number, result))

    def _report(self, drawn: int = 0, wanted: int = 0) -> None:
        self.drawn += drawn
        self.wanted += wanted
        self._on_progress(self.drawn, self.wanted)

    def _stored(self, row: bytes | None) -> bytes | None:
        return self._store.get(row) if self._store and row else None

    def _keep(self, row: bytes | None, content: bytes) -> None:
        if self._store and row:
            self._store.put(row, content)


def _in_turn(cell: CellToDraw, ahead: dict[int, tuple[Chunk, Sums]]) -> CellToDraw:
    """Return a cell with those of its chunks added whose turn it is; so sums are the same in any order."""
    while cell.drawn.batches in ahead:
        cell = cell.then(*ahead.pop(cell.drawn.batches))
    return cell


def _chunk_key(work: Work, cell: CellToDraw, chunk: Chunk) -> bytes | None:
    """Return the key of the sums of a chunk, from its beginning to where it stops so far."""
    place = chunk.first // cell.chunk_batches, chunk.stop
    return key("chunk", work.claim, chunk.seed, cell.id, cell.pickled.hex(), *place)
