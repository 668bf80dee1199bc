"""Settles claims on any executor: tasks are pure functions of plain values, and sums are added in order.

A claim is evaluated by one task, and again by another one each time that draws were needed which take long:
these are tasks of chunks, of about a second each. So the results are the same to the last bit for any number
of workers, whoever does what and when, and whatever the store has of earlier runs.
"""

import hashlib
import math
import pickle
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from verify.engine.catalogue import InMemoryClaim
from verify.engine.evaluate import (
    CellSums,
    CellToDraw,
    Mapped,
    NeedsDraws,
    Rounds,
    Stretch,
    draw,
    evaluate,
)
from verify.engine.preparing import Work
from verify.engine.store import Store
from verify.engine.tasks import key, perform, versions
from verify.errors import VerifyError, WorkerError, described
from verify.evidence import ClaimRecord, Proof
from verify.montecarlo.blocks import Chunk, Sums

_TASK_S = 1.0  # seconds that a task should take: to send it takes a hundredth of that
_MOST_SENT = 1000  # tasks that an executor has at a time: enough for hundreds of workers
_LOOK_S = 0.5  # seconds after which progress is reported, whether or not there is any


@dataclass(frozen=True)
class RunProgress:
    """How far a run is: random components drawn and from the store, of those known to be needed.

    ``seconds`` are those since it began, ``tasks`` those that workers have.
    """

    drawn: int = 0
    stored: int = 0
    wanted: int = 0
    derivations: int = 0
    seconds: float = 0.0
    tasks: int = 0

    @property
    def rate(self) -> float:
        """Random components drawn in a second."""
        return self.drawn / self.seconds if self.seconds else 0.0

    @property
    def left_s(self) -> float | None:
        """Seconds that what is known to be wanted will take at this rate; None before anything is drawn."""
        return (self.wanted - self.drawn - self.stored) / self.rate if self.rate else None


class SettledClaim(NamedTuple):
    """A settled claim, with the seconds of its parts, and what was drawn of its cells if the work asks."""

    record: ClaimRecord
    spent_s: dict[str, float]
    sums: dict[str, CellSums]


@dataclass
class PendingCell:
    """A cell that is being drawn, with the sums of chunks that came ahead of their turn, by their beginnings.

    Its ``key`` in the store is None where it is not kept.
    """

    asked: CellToDraw
    key: bytes | None
    ahead: dict[int, tuple[Chunk, Sums]] = field(default_factory=dict)

    def take(self, chunk: Chunk, sums: Sums) -> None:
        """Add the sums of a chunk in their turn."""
        self.ahead[chunk.first] = chunk, sums
        drawn = self.asked.drawn
        while drawn.batches in self.ahead:
            drawn = drawn.then(*self.ahead.pop(drawn.batches), self.asked.chunk_batches)
        self.asked = replace(self.asked, drawn=drawn)

    def draws(self, chunk: Chunk) -> int:
        """Return the random components of a chunk."""
        return (chunk.stop - chunk.first) * self.asked.batch_draws

    def chunk_key(self, chunk: Chunk) -> bytes | None:
        """Return the key of the sums of a chunk, from its beginning to where it stops so far."""
        place = f"{chunk.first // self.asked.chunk_batches} {chunk.stop}"
        return self.key and hashlib.sha256(self.key + place.encode()).digest()


@dataclass
class PendingClaim:
    """A claim that is not settled yet: what is known of it, and the cells that it waits for."""

    work: Work
    proof: str = ""
    rounds: Rounds = ()
    cells: tuple[PendingCell, ...] = ()
    draws: int = 0
    spent_s: dict[str, float] = field(default_factory=lambda: {"derivation": 0.0, "simulation": 0.0})

    @property
    def proof_key(self) -> bytes | None:
        """The key of its checked derivation."""
        return key("derivation", self.work.claim)

    @property
    def record_key(self) -> bytes | None:
        """The key of its record, which depends on the settings and on what statements want of it."""
        wanted = [part.evidence for part in self.work.wanted]
        return key("claim", self.work.claim, self.work.settings.model_dump(mode="json"), wanted)


class Schedule:
    """Settles claims.

    What is made in this process stays here: ``mapped`` draws for it. All else is up to the ``executor``,
    whose workers need the same versions as this process.
    """

    def __init__(
        self,
        works: Sequence[Work],
        executor: Executor,
        store: Store | None = None,
        mapped: Mapped = map,
        on_progress: Callable[[RunProgress], None] = lambda _progress: None,
        task_s: float = _TASK_S,
    ) -> None:
        self._works, self._executor, self._store, self._mapped = works, executor, store, mapped
        self._on_progress, self._task_s = on_progress, task_s
        self._waiting: deque[tuple[Callable[[Any], None], Callable[..., Any], tuple[Any, ...]]] = deque()
        self._sent: dict[Future[Any], Callable[[Any], None]] = {}
        self._done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._settled: deque[SettledClaim] = deque()
        self._begun = time.monotonic()
        self.progress = RunProgress()

    def run(self) -> Iterator[SettledClaim]:
        """Yield each claim as it is settled.

        Raises:
            VerifyError: a setting is impossible, a claim is broken, or a worker has ended.
        """
        for work in self._works:
            self._begin(PendingClaim(work))
        try:
            while self._waiting or self._sent or self._settled:
                # Where tasks are done at once, each is taken in before the next one is sent.
                while self._waiting and len(self._sent) < _MOST_SENT and self._done.empty():
                    self._send()
                if self._sent:
                    self._receive()
                while self._settled:
                    yield self._settled.popleft()
        finally:
            for future in self._sent:
                future.cancel()

    def _begin(self, claim: PendingClaim) -> None:
        """Have a claim evaluated, unless its record is in the store."""
        content = None if claim.work.with_sums else self._stored(claim.record_key)
        if content is not None:
            draws, _, record = content.decode().partition("\n")
            self._report(derivations=1, stored=int(draws), wanted=int(draws))
            self._settled.append(SettledClaim(ClaimRecord.model_validate_json(record), claim.spent_s, {}))
            return
        if proof := self._stored(claim.proof_key):
            claim.proof = proof.decode()
            self._report(derivations=1)
        self._evaluate(claim)

    def _evaluate(self, claim: PendingClaim) -> None:
        arguments = claim.work, claim.proof, claim.rounds, self._task_s
        self._waiting.append((partial(self._evaluated, claim), evaluate, arguments))

    def _evaluated(self, claim: PendingClaim, stretch: Stretch) -> None:
        """Take in how far a claim has come: it is settled, or needs more to be drawn."""
        for part, seconds in stretch.spent_s.items():
            claim.spent_s[part] += seconds
        result = stretch.result
        claim.draws += result.draws
        self._report(drawn=result.draws, wanted=result.draws)
        if isinstance(result, NeedsDraws):
            self._keep(claim.proof_key, stretch.proof.encode())
            claim.proof, claim.rounds = stretch.proof, result.rounds
            seed = claim.work.settings.seed
            claim.cells = tuple(
                PendingCell(cell, key("cell", claim.work.claim, seed, cell.id, cell.pickled.hex()))
                for cell in result.cells
            )
            self._draw(claim, result.draw_s)
            return
        record = ClaimRecord.model_validate_json(result.record)
        if record.derivation.status is not Proof.FAILED:  # that is soon found again
            self._keep(claim.proof_key, stretch.proof.encode())
            self._keep(claim.record_key, f"{claim.draws}\n{result.record}".encode())
        self._settled.append(SettledClaim(record, claim.spent_s, result.sums))

    def _draw(self, claim: PendingClaim, draw_s: float) -> None:
        """Have the chunks drawn that a claim needs and the store lacks, about a second's in a task."""
        missing = []
        for cell in claim.cells:
            for chunk in tuple(cell.asked.missing(claim.work)):
                self._report(wanted=cell.draws(chunk))
                if content := self._stored(cell.chunk_key(chunk)):
                    cell.take(chunk, Sums.from_bytes(content))
                    claim.draws += cell.draws(chunk)
                    self._report(stored=cell.draws(chunk))
                else:
                    missing.append((cell, chunk))
        together, seconds = [], 0.0
        for number, (cell, chunk) in enumerate(missing, 1):
            together.append((cell, chunk))
            seconds += cell.draws(chunk) * draw_s
            if seconds >= self._task_s or number == len(missing):
                asked = tuple((cell.asked.pickled, chunk) for cell, chunk in together)
                self._waiting.append((partial(self._drawn, claim, together), draw, (claim.work, asked)))
                together, seconds = [], 0.0
        self._resume(claim)

    def _drawn(
        self,
        claim: PendingClaim,
        chunks: Sequence[tuple[PendingCell, Chunk]],
        result: tuple[tuple[Sums, ...], float],
    ) -> None:
        """Take in the sums of chunks."""
        for (cell, chunk), sums in zip(chunks, result[0], strict=True):
            self._keep(cell.chunk_key(chunk), sums.to_bytes())
            cell.take(chunk, sums)
            claim.draws += cell.draws(chunk)
            self._report(drawn=cell.draws(chunk))
        claim.spent_s["simulation"] += result[1]
        self._resume(claim)

    def _resume(self, claim: PendingClaim) -> None:
        """Have a claim evaluated further once all that it waits for is drawn."""
        if all(cell.asked.is_drawn for cell in claim.cells):
            claim.rounds += (tuple(cell.asked.drawn for cell in claim.cells),)
            claim.cells = ()
            self._evaluate(claim)

    def _send(self) -> None:
        """Send a task to the executor; what belongs to a claim made in this process is done here and now."""
        then, function, arguments = self._waiting.popleft()
        if isinstance(arguments[0].claim, InMemoryClaim):
            then(evaluate(arguments[0], "", (), math.inf, self._mapped))
            return
        future = self._executor.submit(perform, versions(), pickle.dumps((function, arguments)))
        self._sent[future] = then
        future.add_done_callback(self._done.put)

    def _receive(self) -> None:
        """Wait for a task, though not for long, and take in what it returns.

        Raises:
            VerifyError: the task failed, or its worker ended: the run ends with it.
        """
        self._report()
        with suppress(queue.Empty):
            future = self._done.get(timeout=_LOOK_S)
            then = self._sent.pop(future)
            try:
                result = future.result()
            except VerifyError:
                raise
            except Exception as error:
                after = "run it again" + (": it goes on from the cache" if self._store else "")
                raise WorkerError(f"a task was lost with its worker ({described(error)}); {after}") from error
            then(result)

    def _report(self, **more: int) -> None:
        done = {name: getattr(self.progress, name) + extra for name, extra in more.items()}
        seconds = time.monotonic() - self._begun
        self.progress = replace(self.progress, **done, seconds=seconds, tasks=len(self._sent))
        self._on_progress(self.progress)

    def _stored(self, row: bytes | None) -> bytes | None:
        return self._store.get(row) if self._store and row else None

    def _keep(self, row: bytes | None, content: bytes) -> None:
        if self._store and row:
            self._store.put(row, content)
