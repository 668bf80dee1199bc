"""Hands out the work of a run: which claim is evaluated or drawn for next, and what the store has already."""

import queue
import time
from bisect import insort
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import count, islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from verify.engine.backends import IN_HAND, Backend
from verify.engine.catalogue import ClaimFile, broken
from verify.engine.evaluate import (
    CellToDraw,
    ChunkSums,
    NeedsDraws,
    Settled,
    Work,
    broken_evidence,
    is_of,
    received,
)
from verify.engine.keys import cell_code, chunk_key, derivation_key, settled_key
from verify.engine.statements import refuse_absent_evidence
from verify.engine.store import Store, chunk_of, claim_of, derivation_of
from verify.errors import ClaimError, SourcesError, WorkerError
from verify.evidence import ClaimRecord, Proof
from verify.executors.workers import ProcessEndedError
from verify.montecarlo.blocks import Chunk, Drawn, Sample, Sums

_Read = TypeVar("_Read")

_LOOK_S = 0.5  # seconds between looks at whether there are workers left
_AT_ONCE = 64  # chunks that are looked up in the store together

_MOST_AGAIN = 3
"""Times that chunks are drawn again, each by another process, where the process that draws them ends."""

_OTHERWISE = "its sums are about another mean than those drawn otherwise"

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
    """A cell of a claim, what is drawn of it, and what was drawn ahead of its turn."""

    asked: CellToDraw
    code: str
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

    def key(self, claim: str, chunk: Chunk) -> bytes:
        """Return the key of what a chunk's sums are, with those before them."""
        return chunk_key(self.code, self.seed, claim, self.asked.id, self._start(chunk), chunk.stop)

    def beginning(self, claim: str, chunk: Chunk) -> bytes:
        """Return the key of the last unfinished part of that chunk that was drawn."""
        return chunk_key(self.code, self.seed, claim, self.asked.id, self._start(chunk), -1)

    def fits(self, chunk: Chunk, sums: object) -> bool:
        """Return whether these can be the sums of that chunk: sound, and of as many blocks and outputs."""
        return (
            isinstance(sums, Sums)
            and self.end_of(chunk, sums) == chunk.stop
            and sums.shape == self.asked.shape
            and not sums.contradiction()
        )

    def agrees(self, sums: Sums) -> bool:
        """Return whether these are about the same shift as what is there of the cell."""
        early = (sums for _, sums in self.early.values())
        known = next((one for one in (self.drawn.whole, self.drawn.part, *early) if one is not None), sums)
        return np.array_equal(known.shift, sums.shift)

    def end_of(self, chunk: Chunk, sums: Sums) -> int:
        """Return the batch up to which these sums reach, in the chunk's own chunk; -1 in the midst of one."""
        batches, more = divmod(sums.count, self.asked.batch_blocks)
        return -1 if more else self._start(chunk) + batches

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

    def _start(self, chunk: Chunk) -> int:
        return chunk.first // self.asked.chunk_batches * self.asked.chunk_batches

    @property
    def is_drawn(self) -> bool:
        """Whether all that was asked for is there."""
        return self.drawn.batches >= self.asked.batches


@dataclass
class PendingClaim:
    """A claim that is not settled yet; without a store there are no keys to compute.

    ``is_evaluated_again`` says that the process that evaluated it has ended once. ``recalled`` are the keys
    of the rows of the store that were used, None once they have proved wrong: then no more are. ``draw_s``
    are the seconds of the last task for each random component, 0 before there was one.
    """

    place: int
    work: Work
    backend: Backend
    has_store: bool
    proof: str = ""
    is_evaluated_again: bool = False
    recalled: set[bytes] | None = field(default_factory=set)
    answers: list[tuple[Sums, ...]] = field(default_factory=list)
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
            code = cell_code(self.work.claim, asked.pickled, asked.modules) if self.has_store else ""
            self.cells[asked.id] = PendingCell(asked, code, self.work.settings.seed)

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
    turns begin with. So at the end only many chunks are left, which any worker can draw. A claim file is
    settled in one go instead: its process ends when others need the room.
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
            if self._store is not None:
                self._store.flush()

    def _next_event(self) -> None:
        """Take in the next result; while there is none, see that there are workers."""
        if not self._queue.next_done(_LOOK_S):
            for backend in {claim.backend for claim in self._claims}:
                backend.refuse_if_gone()
            if self._store is not None:
                self._store.flush()
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
        kept = partial(_settled_before, claim.work)
        settled = None if self._on_sums else self._recalled(claim, "claim", claim.settled_key, kept)
        if settled is not None:
            record, draws = settled
            self._report(derivations=1, stored=draws, wanted=draws)
            self._outcomes.append(SettledClaim(claim.place, record, claim.spent_s))
            return
        claim.proof = self._recalled(claim, "derivation", claim.derivation_key, derivation_of) or ""
        self._report(derivations=bool(claim.proof))
        yield from self._evaluate(claim)

    def _recalled(
        self, claim: PendingClaim, kind: str, key: bytes | None, read: Callable[[bytes, bytes], _Read]
    ) -> _Read | None:
        """Return what ``read`` makes of the store's row under a key; one that does not hold is removed."""
        if self._store is None or key is None or claim.recalled is None:
            return None
        content = self._store.get(kind, [key]).get(key)
        return None if content is None else self._judged(claim, key, content, read)

    def _judged(
        self, claim: PendingClaim, key: bytes, content: bytes, read: Callable[[bytes, bytes], _Read]
    ) -> _Read | None:
        """Return what ``read`` makes of a row; it is removed where it is not what it should be."""
        try:
            found = read(key, content)
        except ValueError as error:
            self._remove(claim, [key], str(error))
            return None
        if claim.recalled is not None:
            claim.recalled.add(key)
        return found

    def _remove(self, claim: PendingClaim, keys: Iterable[bytes], why: str) -> None:
        if self._store is not None:
            self._store.remove(keys, f"of claim {claim.work.claim.id}: {why}")

    def _begin_again(self, claim: PendingClaim, why: str) -> bool:
        """Settle a claim without the store, if what was used of it may be why it cannot be settled."""
        if not claim.recalled:
            return False
        self._remove(claim, claim.recalled, why)
        claim.recalled, claim.proof = None, ""
        claim.backend.release(claim.work)
        # Draws that are under way are of the cells before.
        claim.answers, claim.cells, claim.awaited = [], {}, ()
        self._queue.add(_NEXT, claim, self._evaluate(claim))
        return True

    def _keep_progress(
        self, claim: PendingClaim, result: Settled | NeedsDraws, record: ClaimRecord | None = None
    ) -> None:
        """Store a derivation that was checked now, and the ``record`` of a claim that is settled now.

        None that failed: that is soon found again.
        """
        if self._store is None or (record and record.derivation.status is Proof.FAILED):
            return
        if claim.derivation_key is not None and not claim.proof:
            key = claim.derivation_key
            self._store.put("derivation", key, key + result.proof.encode())
        if claim.settled_key is not None and isinstance(result, Settled):
            draws = sum(cell.asked.batch_draws * cell.drawn.batches for cell in claim.cells.values())
            key = claim.settled_key
            self._store.put("claim", key, key + f"{draws}\n{result.record}".encode())

    def _evaluate(self, claim: PendingClaim) -> Tasks:
        future = claim.backend.evaluate(claim.work, claim.proof, tuple(claim.answers))
        yield future, partial(self._evaluated, claim)

    def _evaluated(self, claim: PendingClaim, future: Future[Any]) -> None:
        """Take in how far a claim has come: it is settled, or needs more to be drawn."""
        try:
            result = _result(claim, future)
            record = received(claim.work, result) if isinstance(result, Settled) else None
        except ProcessEndedError as error:
            if claim.is_evaluated_again:
                raise broken(claim.work.claim, error) from error
            claim.is_evaluated_again = True
            self._queue.add(_NEXT, claim, self._evaluate(claim))
            return
        except ClaimError as error:
            if self._begin_again(claim, str(error)):
                return
            raise
        if not isinstance(result, Settled | NeedsDraws):
            raise broken_evidence(claim.work.claim, f"{type(result).__name__} is none")
        claim.spend(result.spent_s)
        self._keep_progress(claim, result, record)
        if isinstance(result, NeedsDraws):
            self._want(claim, result)
        elif record is not None:
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
        weight = 0 if isinstance(claim.work.claim, ClaimFile) else 1 + claim.wanted_draws
        self._queue.add(weight, claim, self._draw(claim))

    def _draw(self, claim: PendingClaim) -> Tasks:
        """Hand out the chunks that a claim awaits and the store does not have, small ones together."""
        together: list[tuple[PendingCell, Chunk]] = []
        share, cells = 0.0, claim.cells
        for cell, chunk in self._to_draw(claim):
            together.append((cell, chunk))
            share += cell.draws(chunk) / claim.task_draws(cell, chunk, self._queue.other_draws(claim))
            if share >= 1:
                yield self._handed_out(claim, together)
                together, share = [], 0.0
        if claim.cells is not cells:
            return
        if together:
            yield self._handed_out(claim, together)
        self._resume(claim)

    def _handed_out(
        self, claim: PendingClaim, some: list[tuple[PendingCell, Chunk]], again: int = 0
    ) -> tuple[Future[Any], Callable[[Future[Any]], None]]:
        future = claim.backend.draw(claim.work, tuple((cell.asked, chunk) for cell, chunk in some))
        return future, partial(self._drawn, claim, some, again)

    def _to_draw(self, claim: PendingClaim) -> Iterator[tuple[PendingCell, Chunk]]:
        """Yield the chunks that are to be drawn; those that are stored are taken from there."""
        for cell in map(claim.cells.__getitem__, claim.awaited):
            chunks = cell.missing(claim.work.claim.id)
            while some := list(islice(chunks, _AT_ONCE)):
                self._report(wanted=sum(cell.draws(chunk) for chunk in some))
                kept = self._kept(claim, cell, some)
                for chunk in some:
                    done, sums = kept.get(chunk.first, (chunk.first, None))
                    if sums is not None and not cell.agrees(sums):
                        self._begin_again(claim, f"cell {cell.asked.id}: {_OTHERWISE}")
                        return
                    if sums is not None:
                        part = replace(chunk, stop=done)
                        cell.take(part, sums)
                        self._report(stored=cell.draws(part))
                    if done < chunk.stop:
                        yield cell, replace(chunk, first=done, before=sums or chunk.before)

    def _kept(
        self, claim: PendingClaim, cell: PendingCell, chunks: Sequence[Chunk]
    ) -> dict[int, tuple[int, Sums]]:
        """Return what the store has of some chunks, by their first batches: up to which one, and its sums.

        That is all of a chunk or, where an earlier run wanted less, the beginning of it.
        """
        if self._store is None or not cell.code or claim.recalled is None:
            return {}
        found: dict[int, tuple[int, Sums]] = {}
        for key_of in (cell.key, cell.beginning):
            keys = {key_of(claim.work.claim.id, chunk): chunk for chunk in chunks if chunk.first not in found}
            for key, content in self._store.get("chunk", list(keys)).items():
                chunk, sums = keys[key], self._judged(claim, key, content, partial(_drawn_before, cell))
                stop = chunk.first if sums is None else cell.end_of(chunk, sums)
                if sums is not None and chunk.first < stop <= chunk.stop:
                    found[chunk.first] = stop, sums
        return found

    def _keep(self, claim: PendingClaim, cell: PendingCell, chunk: Chunk, sums: Sums) -> None:
        """Store a chunk's sums; those of an unfinished one also as what a later run goes on from."""
        if self._store is not None and cell.code:
            keys = [cell.key(claim.work.claim.id, chunk)]
            if chunk.stop % cell.asked.chunk_batches:
                keys.append(cell.beginning(claim.work.claim.id, chunk))
            for key in keys:
                self._store.put("chunk", key, key + sums.to_bytes())

    def _drawn(
        self, claim: PendingClaim, some: list[tuple[PendingCell, Chunk]], again: int, future: Future[Any]
    ) -> None:
        """Take in the sums of chunks that were drawn; where their process has ended, draw them again."""
        if any(claim.cells.get(cell.asked.id) is not cell for cell, _ in some):
            return
        try:
            result = _result(claim, future)
        except ProcessEndedError as error:
            if again == _MOST_AGAIN:
                raise broken(claim.work.claim, error) from error
            self._queue.add(0, claim, (self._handed_out(claim, some, again + 1) for _ in range(1)))
            return
        sums = result.sums if isinstance(result, ChunkSums) else ()
        if wrong := _misfit(some, sums):
            if self._begin_again(claim, wrong):
                return
            raise broken_evidence(claim.work.claim, wrong)
        claim.spend({"simulation": result.spent_s})
        claim.draw_s = result.spent_s / sum(cell.draws(chunk) for cell, chunk in some)
        for (cell, chunk), one in zip(some, sums, strict=True):
            self._keep(claim, cell, chunk, one)
            cell.take(chunk, one)
            self._report(drawn=cell.draws(chunk))
        self._resume(claim)

    def _resume(self, claim: PendingClaim) -> None:
        """Evaluate a claim further once all that it awaits is drawn."""
        cells = [claim.cells[name] for name in claim.awaited]
        if cells and all(cell.is_drawn for cell in cells):
            claim.answers.append(tuple(cell.drawn.total for cell in cells))
            claim.awaited = ()
            self._queue.add(_NEXT, claim, self._evaluate(claim))


def _misfit(some: Sequence[tuple[PendingCell, Chunk]], sums: Sequence[Sums]) -> str:
    """Return why these are not the sums of some chunks, empty where they can be."""
    if len(sums) != len(some) or not all(
        cell.fits(chunk, one) for (cell, chunk), one in zip(some, sums, strict=True)
    ):
        return "its sums are not those of what was to be drawn"
    agree = all(cell.agrees(one) for (cell, _), one in zip(some, sums, strict=True))
    return "" if agree else _OTHERWISE


def _settled_before(work: Work, key: bytes, content: bytes) -> tuple[ClaimRecord, int]:
    """Return what a row has of a settled claim, and how many numbers it took.

    Raises:
        ValueError: it is of another claim, does not hold, or lacks what statements rest on.
    """
    record, draws = claim_of(key, content, work.settings)
    if not is_of(record, work.claim):
        raise ValueError(f"it is of claim {record.id}")
    try:
        refuse_absent_evidence(work.wanted, record.id, record.checks, record.controls, record.facts)
    except SourcesError as error:
        raise ValueError("it lacks evidence that statements rest on") from error
    return record, draws


def _drawn_before(cell: PendingCell, key: bytes, content: bytes) -> Sums:
    """Return the sums that a row has.

    Raises:
        ValueError: they are none of the cell's.
    """
    sums = chunk_of(key, content)
    if sums.shape != cell.asked.shape:
        raise ValueError(f"cell {cell.asked.id}: its sums are of other outputs")
    return sums


def _result(claim: PendingClaim, future: Future[Any]) -> Any:
    """Return the result of a task of a claim.

    Raises:
        ProcessEndedError: its process has ended, and may be replaced: it was not a claim file's.
        ClaimError: the task failed.
    """
    try:
        return future.result()
    except WorkerError as error:
        if isinstance(error, ProcessEndedError) and not isinstance(claim.work.claim, ClaimFile):
            raise
        raise broken(claim.work.claim, error) from error
    except CancelledError as error:
        claim.backend.refuse_if_gone()
        raise broken(claim.work.claim, WorkerError("its task was cancelled")) from error
