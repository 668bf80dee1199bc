"""Hands out the work of a run: which claim is evaluated or drawn for next, and what the store has already."""

import queue
import time
from bisect import insort
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import count
from typing import Any, NamedTuple, TypeVar

from verify.engine.backends import IN_HAND, Backend
from verify.engine.evaluate import CellToDraw, ChunkSums, NeedsDraws, Settled, Work
from verify.engine.keys import cell_key, chunk_key, derivation_key, settled_key
from verify.engine.store import Store
from verify.errors import WorkerError, described
from verify.evidence import ClaimRecord, DerivationRecord, Proof
from verify.montecarlo.blocks import Chunk, Drawn, Sample, Sums

_Read = TypeVar("_Read")

_LOOK_S = 0.5  # seconds between looks at whether there are workers left

_NEXT, _IN_TURN = -2, -1
"""Weights before those of all draws: of a claim whose draws are there, and of one that is to begin."""


@dataclass(frozen=True)
class RunProgress:
    """How far a run is: random components drawn and from the store, of those known to be needed.

    ``seconds`` are those since it began, ``workers`` how many are busy.
    """

    drawn: int = 0
    stored: int = 0
    wanted: int = 0
    derivations: int = 0
    seconds: float = 0.0
    workers: int = 0

    @property
    def rate(self) -> float:
        """Random components drawn in a second."""
        return self.drawn / self.seconds if self.seconds else 0.0

    @property
    def left_s(self) -> float | None:
        """Seconds that what is known to be wanted will take at this rate; None before anything is drawn."""
        return (self.wanted - self.drawn - self.stored) / self.rate if self.rate else None


class CellSums(NamedTuple):
    """What was drawn of a cell: its settings, and the moments of its blocks by the names of their outputs."""

    settings: dict[str, int | float | str]
    sample: Sample


OnSums = Callable[[str, dict[str, CellSums]], None]
"""Is called with a claim's id, and with what was drawn of each of its cells by their ids."""


class SettledClaim(NamedTuple):
    """A settled claim, by its place in the run, with the seconds of its parts."""

    place: int
    record: ClaimRecord
    spent_s: dict[str, float]


@dataclass
class PendingCell:
    """A cell of a claim, what is drawn of it, and what was drawn ahead of its turn.

    ``key`` is that of its chunks in the store, None where they are not kept.
    """

    asked: CellToDraw
    key: bytes | None
    seed: int
    drawn: Drawn = field(default_factory=Drawn)
    early: dict[int, tuple[Chunk, Sums]] = field(default_factory=dict)

    def missing(self, claim: str) -> Iterator[Chunk]:
        """Yield the chunks that are still to be drawn."""
        return self.drawn.missing(claim, self.seed, self.asked.batches, self.asked.chunk_batches)

    def take(self, chunk: Chunk, sums: Sums) -> None:
        """Add a chunk's sums in their turn."""
        self.early[chunk.first] = chunk, sums
        while self.drawn.batches in self.early:
            self.drawn = self.drawn.then(*self.early.pop(self.drawn.batches), self.asked.chunk_batches)

    @property
    def sums(self) -> CellSums:
        """What is drawn so far."""
        per_block = self.asked.batch_draws // self.asked.batch_blocks
        sample = self.drawn.total.moments(per_block, self.asked.scores, self.asked.names)
        return CellSums(dict(self.asked.settings), sample)

    def keys(self, chunk: Chunk) -> tuple[bytes, ...]:
        """Return the keys of a chunk in the store: as far as it goes, and of what was drawn of it last."""
        start = chunk.first // self.asked.chunk_batches * self.asked.chunk_batches
        return () if self.key is None else tuple(chunk_key(self.key, start, end) for end in (chunk.stop, -1))

    def reached(self, chunk: Chunk, sums: Sums) -> Chunk:
        """Return the part of a chunk that these sums, from the store, reach up to."""
        start = chunk.first // self.asked.chunk_batches * self.asked.chunk_batches
        return replace(chunk, stop=start + sums.count // self.asked.batch_blocks)

    @property
    def left_draws(self) -> int:
        """The random components of what is asked for and not drawn."""
        return max(0, self.asked.batches - self.drawn.batches) * self.asked.batch_draws

    @property
    def chunk_draws(self) -> int:
        """The random components of a whole chunk."""
        return self.asked.chunk_batches * self.asked.batch_draws

    def draws(self, chunk: Chunk) -> int:
        """Return the random components that a chunk takes."""
        return (chunk.stop - chunk.first) * self.asked.batch_draws

    @property
    def is_drawn(self) -> bool:
        """Whether all that was asked for is there."""
        return self.drawn.batches >= self.asked.batches


@dataclass
class PendingClaim:
    """A claim that is not settled yet; without a store there are no keys to compute.

    ``draw_s`` are the seconds of the last task for each random component, 0 before there was one.
    """

    place: int
    work: Work
    backend: Backend
    has_store: bool
    proof: str = ""
    cells: dict[str, PendingCell] = field(default_factory=dict)
    awaited: tuple[str, ...] = ()
    draw_s: float = 0.0
    spent_s: dict[str, float] = field(default_factory=lambda: {"derivation": 0.0, "simulation": 0.0})

    @cached_property
    def derivation_key(self) -> bytes | None:
        """Where its checked derivation is in the store, None where it is not."""
        return derivation_key(self.work.claim) if self.has_store else None

    @cached_property
    def settled_key(self) -> bytes | None:
        """Where its record is in the store, None where it is not."""
        if not self.has_store:
            return None
        return settled_key(self.work.claim, self.work.settings, self.work.wanted)

    def ask(self, asked: CellToDraw) -> None:
        """Want more of a cell."""
        if asked.id in self.cells:
            self.cells[asked.id].asked = asked
        else:
            work, key = self.work, None
            if self.has_store:
                key = cell_key(work.claim, work.settings.seed, asked.id, asked.pickled)
            self.cells[asked.id] = PendingCell(asked, key, work.settings.seed)

    @property
    def wanted_draws(self) -> int:
        """The random components that it takes to draw what is awaited."""
        return sum(self.cells[name].left_draws for name in self.awaited)

    def task_draws(self, cell: PendingCell, chunk: Chunk, others: int) -> float:
        """Return the random components of a task, from this chunk on, that takes as long as is wanted.

        They are few enough that all workers get some of what is awaited: by other claims, that is ``others``.
        """
        least = self.backend.chunks_at_once * cell.chunk_draws
        if not self.draw_s:
            return least
        after = self.awaited[self.awaited.index(cell.asked.id) + 1 :]
        left = (cell.asked.batches - chunk.first) * cell.asked.batch_draws + others
        left += sum(self.cells[name].left_draws for name in after)
        return max(least, min(self.backend.task_s / self.draw_s, left / (IN_HAND * self.backend.workers)))

    def spend(self, spent: dict[str, float]) -> None:
        """Add to the seconds spent."""
        for name, seconds in spent.items():
            self.spent_s[name] += seconds


Tasks = Iterator[tuple[Future[Any], Callable[[Future[Any]], None]]]
"""Hands out one task each time it is asked: what will hold its result, and what is done with that."""


@dataclass(order=True)
class Job:
    """Tasks of one claim; a draw weighs as many as the random components that it asks for."""

    weight: int
    turn: int
    claim: PendingClaim = field(compare=False)
    tasks: Tasks = field(compare=False)


class WorkQueue:
    """Jobs that wait, and the tasks in hand.

    Jobs with the least weight go first, in the order of their turns, as far as their backends have room.
    """

    def __init__(self) -> None:
        self.in_hand: dict[Future[Any], tuple[Backend, Callable[[Future[Any]], None]]] = {}
        self._jobs: list[Job] = []
        self._turns = count()
        self._done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()

    def add(self, weight: int, claim: PendingClaim, tasks: Tasks) -> None:
        """Have these tasks wait."""
        insort(self._jobs, Job(weight, next(self._turns), claim, tasks))

    def fill(self) -> None:
        """Hand out tasks as long as there are some, and room."""
        while job := self._next_job():
            try:
                # Asking for a task may add a job that goes before this one.
                future, then = next(job.tasks)
            except StopIteration:
                self._jobs.remove(job)
                continue
            self.in_hand[future] = job.claim.backend, then
            future.add_done_callback(self._done.put)

    def _next_job(self) -> Job | None:
        counts = self.counts()
        for job in self._jobs:
            backend = job.claim.backend
            if backend.has_room(job.claim.work, counts[backend], is_evaluated=job.weight < 0):
                return job
        return None

    def other_draws(self, claim: PendingClaim) -> int:
        """Return the random components that the jobs of other claims ask for."""
        return sum(job.weight for job in self._jobs if job.weight > 0 and job.claim is not claim)

    def counts(self) -> Counter[Backend]:
        """Return how many tasks each backend has in hand."""
        return Counter(backend for backend, _ in self.in_hand.values())

    def next_done(self, seconds: float) -> bool:
        """Take in the next result; False where there is none within these seconds."""
        try:
            future = self._done.get(timeout=seconds)
        except queue.Empty:
            return False
        _, then = self.in_hand.pop(future)
        then(future)
        return True


class Schedule:
    """Settles claims chunk by chunk; the results do not depend on the workers, nor on the order.

    Derivations come first, then the smallest draws: most of these are pilots, which claims that take several
    turns begin with. So at the end only many chunks are left, which any worker can draw.
    """

    def __init__(
        self,
        works: Sequence[Work],
        backend_of: Callable[[Work], Backend],
        store: Store | None = None,
        on_start: Callable[[str], None] = lambda _claim: None,
        on_progress: Callable[[RunProgress], None] = lambda _progress: None,
        on_sums: OnSums | None = None,
    ) -> None:
        self._claims = [
            PendingClaim(place, work, backend_of(work), store is not None) for place, work in enumerate(works)
        ]
        self._store, self._on_start, self._on_progress = store, on_start, on_progress
        self._on_sums = on_sums
        self._queue = WorkQueue()
        self._outcomes: deque[SettledClaim] = deque()
        self._begun = time.monotonic()
        self.progress = RunProgress()

    def run(self) -> Iterator[SettledClaim]:
        """Yield each claim as it is settled.

        Raises:
            VerifyError: a setting is impossible, a claim is broken, or no worker is left.
        """
        for claim in self._claims:
            self._queue.add(_IN_TURN, claim, self._begin(claim))
        left = len(self._claims)
        try:
            while left:
                self._queue.fill()
                while self._outcomes:
                    left -= 1
                    yield self._outcomes.popleft()
                if self._queue.in_hand:
                    self._next_event()
        finally:
            for future in self._queue.in_hand:
                future.cancel()

    def _next_event(self) -> None:
        """Take in the next result; while there is none, see that there are workers."""
        if not self._queue.next_done(_LOOK_S):
            for backend in {claim.backend for claim in self._claims}:
                backend.refuse_if_gone()
        self._report()

    def _report(self, **more: int) -> None:
        done = {name: getattr(self.progress, name) + extra for name, extra in more.items()}
        busy = sum(min(number, backend.workers) for backend, number in self._queue.counts().items())
        seconds = time.monotonic() - self._begun
        self.progress = replace(self.progress, **done, seconds=seconds, workers=busy)
        self._on_progress(self.progress)

    def _begin(self, claim: PendingClaim) -> Tasks:
        self._on_start(claim.work.claim.id)
        # A record that is kept has no sums with it; those of its chunks are kept as well.
        settled = None if self._on_sums else self._stored(claim.settled_key, _settled_claim)
        if settled is not None:
            record, draws = settled
            self._report(derivations=1, stored=draws, wanted=draws)
            self._outcomes.append(SettledClaim(claim.place, record, claim.spent_s))
            return
        claim.proof = self._stored(claim.derivation_key, _derivation) or ""
        self._report(derivations=bool(claim.proof))
        yield from self._evaluate(claim)

    def _stored(self, key: bytes | None, read: Callable[[bytes], _Read]) -> _Read | None:
        """Return what ``read`` makes of the store's row under a key, None where it cannot read it."""
        content = None if self._store is None or key is None else self._store.get(key)
        try:
            return None if content is None else read(content)
        except ValueError:
            return None

    def _keep_progress(
        self, claim: PendingClaim, result: Settled | NeedsDraws, record: ClaimRecord | None = None
    ) -> None:
        """Store a derivation that was checked now, and the ``record`` of a claim that is settled now.

        None that failed: that is soon found again.
        """
        if self._store is None or (record and record.derivation.status is Proof.FAILED):
            return
        if claim.derivation_key is not None and not claim.proof:
            self._store.put(claim.derivation_key, result.proof.encode())
        if claim.settled_key is not None and isinstance(result, Settled):
            draws = sum(cell.asked.batch_draws * cell.drawn.batches for cell in claim.cells.values())
            self._store.put(claim.settled_key, f"{draws}\n{result.record}".encode())

    def _evaluate(self, claim: PendingClaim, sums: Sequence[Sums] | None = None) -> Tasks:
        future = claim.backend.evaluate(claim.work, claim.proof, sums)
        yield future, partial(self._evaluated, claim)

    def _evaluated(self, claim: PendingClaim, future: Future[Any]) -> None:
        """Take in how far a claim has come: it is settled, or needs more to be drawn."""
        result: Settled | NeedsDraws = self._result(claim, future)
        claim.spend(result.spent_s)
        if isinstance(result, NeedsDraws):
            self._keep_progress(claim, result)
            self._want(claim, result)
        else:
            record = ClaimRecord.model_validate_json(result.record)
            self._keep_progress(claim, result, record)
            self._finish(claim, record)

    def _finish(self, claim: PendingClaim, record: ClaimRecord) -> None:
        """Let go of a claim that is settled, and pass on what came of it."""
        claim.backend.release(claim.work)
        if self._on_sums:
            self._on_sums(claim.work.claim.id, {name: cell.sums for name, cell in claim.cells.items()})
        self._outcomes.append(SettledClaim(claim.place, record, claim.spent_s))

    def _want(self, claim: PendingClaim, needed: NeedsDraws) -> None:
        """Have drawn what a claim needs."""
        claim.proof = needed.proof
        claim.awaited = tuple(cell.id for cell in needed.cells)
        for cell in needed.cells:
            claim.ask(cell)
        # A draw weighs at least 1, however little is left of it.
        self._report(wanted=claim.wanted_draws)
        self._queue.add(1 + claim.wanted_draws, claim, self._draw(claim))

    def _draw(self, claim: PendingClaim) -> Tasks:
        """Hand out the chunks that a claim awaits and the store does not have, small ones together."""
        together: list[tuple[PendingCell, Chunk]] = []
        share = 0.0
        for cell, chunk in self._to_draw(claim):
            together.append((cell, chunk))
            share += cell.draws(chunk) / claim.task_draws(cell, chunk, self._queue.other_draws(claim))
            if share >= 1:
                yield self._handed_out(claim, together)
                together, share = [], 0.0
        if together:
            yield self._handed_out(claim, together)
        self._resume(claim)

    def _handed_out(
        self, claim: PendingClaim, together: list[tuple[PendingCell, Chunk]]
    ) -> tuple[Future[Any], Callable[[Future[Any]], None]]:
        future = claim.backend.draw(claim.work, tuple((cell.asked, chunk) for cell, chunk in together))
        return future, partial(self._drawn, claim, together)

    def _to_draw(self, claim: PendingClaim) -> Iterator[tuple[PendingCell, Chunk]]:
        """Yield the chunks that are to be drawn; those that are stored are taken from there."""
        for cell in map(claim.cells.__getitem__, claim.awaited):
            for chunk in cell.missing(claim.work.claim.id):
                rest = chunk
                # All of it or, where an earlier run wanted less, the beginning of it.
                for sums in filter(None, (self._stored(key, Sums.from_bytes) for key in cell.keys(chunk))):
                    part = cell.reached(chunk, sums)
                    if chunk.first < part.stop <= chunk.stop:
                        cell.take(part, sums)
                        self._report(stored=cell.draws(part))
                        rest = replace(chunk, first=part.stop, before=sums)
                        break
                if rest.first < rest.stop:
                    yield cell, rest

    def _drawn(
        self, claim: PendingClaim, together: list[tuple[PendingCell, Chunk]], future: Future[Any]
    ) -> None:
        """Take in the sums of chunks that were drawn."""
        result: ChunkSums = self._result(claim, future)
        claim.spend({"simulation": result.spent_s})
        claim.draw_s = result.spent_s / sum(cell.draws(chunk) for cell, chunk in together)
        for (cell, chunk), sums in zip(together, result.sums, strict=True):
            if self._store is not None:
                # Those of an unfinished chunk also as what a later run goes on from.
                for key in cell.keys(chunk)[: 1 + bool(chunk.stop % cell.asked.chunk_batches)]:
                    self._store.put(key, sums.to_bytes())
            cell.take(chunk, sums)
            self._report(drawn=cell.draws(chunk))
        self._resume(claim)

    def _resume(self, claim: PendingClaim) -> None:
        """Evaluate a claim further once all that it awaits is drawn."""
        cells = [claim.cells[name] for name in claim.awaited]
        if cells and all(cell.is_drawn for cell in cells):
            claim.awaited = ()
            self._queue.add(_NEXT, claim, self._evaluate(claim, [cell.drawn.total for cell in cells]))

    def _result(self, claim: PendingClaim, future: Future[Any]) -> Any:
        """Return the result of a task of a claim.

        Raises:
            VerifyError: the task failed, or its worker ended: the run ends with it.
        """
        try:
            return future.result()
        except (WorkerError, CancelledError, BrokenExecutor) as error:
            claim.backend.refuse_if_gone()
            what = str(error) if isinstance(error, WorkerError) else described(error)
            after = "run it again" if self._store is None else "run it again: it goes on from the store"
            raise WorkerError(f"claim {claim.work.claim.id}: {what}; {after}") from error


def _settled_claim(content: bytes) -> tuple[ClaimRecord, int]:
    """Return the record of a settled claim that a row holds, and how many random components it took."""
    draws, _, record = content.partition(b"\n")
    return ClaimRecord.model_validate_json(record), int(draws)


def _derivation(content: bytes) -> str:
    """Return the record of a checked derivation that a row holds, as JSON."""
    DerivationRecord.model_validate_json(content)
    return content.decode()
