"""Hands out the work of a run: who derives and draws what next, and what the store has already."""

from __future__ import annotations

import queue
import time
from collections import deque
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from verify.engine.catalogue import broken
from verify.engine.claim_files import ClaimFile
from verify.engine.hands import IN_TURN, NEXT, Hands, Tasks
from verify.engine.pending import PendingCell, PendingClaim
from verify.engine.settle import Awaiting, Drawings, Settled, broken_evidence
from verify.errors import WorkerError
from verify.montecarlo.blocks import Sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from verify.engine.crews import Crew
    from verify.engine.settle import Work
    from verify.engine.store import Store
    from verify.montecarlo.blocks import Chunk

_LOOK_S = 0.5
"""Seconds between looks at whether those at work are still there."""

_AT_ONCE = 64
"""Chunks that are looked up in the store together."""


@dataclass(frozen=True)
class Progress:
    """How far a run is: random components drawn and from the store, of those known to be wanted.

    ``seconds`` are those since it began, ``workers`` how many are at work.
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


class Outcome(NamedTuple):
    """A settled claim, by its place in the run, with the seconds of its parts."""

    place: int
    settled: Settled
    spent_s: dict[str, float]


class Schedule:
    """Settles claims chunk by chunk; what it gives does not depend on who works, nor in which order.

    Derivations come first, then the smallest draws: most of these are pilots, which claims that take several
    turns begin with. So at the end there is nothing left but many chunks, which any worker can draw.
    A claim file is settled in one go instead: what its process has at hand goes when others need the room.
    """

    def __init__(
        self,
        works: Sequence[Work],
        crew_of: Callable[[Work], Crew],
        store: Store | None = None,
        on_start: Callable[[str], None] = lambda _claim: None,
        on_progress: Callable[[Progress], None] = lambda _progress: None,
    ) -> None:
        self._claims = [
            PendingClaim(place, work, crew_of(work), store is not None) for place, work in enumerate(works)
        ]
        self._store, self._on_start, self._on_progress = store, on_start, on_progress
        crews = {id(claim.crew): claim.crew for claim in self._claims}
        self._hands = [Hands(crew) for crew in crews.values()]
        self._done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._outcomes: deque[Outcome] = deque()
        self._begun = time.monotonic()
        self.progress = Progress()

    def run(self) -> Iterator[Outcome]:
        """Yield each claim as it is settled.

        Raises:
            VerifyError: a setting is impossible, a claim is broken, or nobody is left to work.
        """
        for claim in self._claims:
            self._hands_of(claim).add(IN_TURN, self._begin(claim))
        left = len(self._claims)
        try:
            while left:
                is_at_work = self._hand_out()
                while self._outcomes:
                    left -= 1
                    yield self._outcomes.popleft()
                if is_at_work:
                    self._heed()
        finally:
            for hands in self._hands:
                for future in hands.open:
                    future.cancel()
            if self._store is not None:
                self._store.flush()

    def _hand_out(self) -> bool:
        """Hand out what there is room for, and return whether anything is in hand."""
        for hands in self._hands:
            hands.fill(self._done)
        return any(hands.open for hands in self._hands)

    def _hands_of(self, claim: PendingClaim) -> Hands:
        return next(hands for hands in self._hands if hands.crew is claim.crew)

    def _heed(self) -> None:
        """Take in the next result; while there is none, see that somebody is at work."""
        try:
            future = self._done.get(timeout=_LOOK_S)
        except queue.Empty:
            for hands in self._hands:
                hands.crew.refuse_if_gone()
            if self._store is not None:
                self._store.flush()
            self._report()
            return
        for hands in self._hands:
            if future in hands.open:
                hands.open.pop(future)(future)
        self._report()

    def _report(self, **more: int) -> None:
        done = {name: getattr(self.progress, name) + count for name, count in more.items()}
        at_work = sum(min(len(hands.open), hands.crew.workers) for hands in self._hands)
        seconds = time.monotonic() - self._begun
        self.progress = replace(self.progress, **done, seconds=seconds, workers=at_work)
        self._on_progress(self.progress)

    def _begin(self, claim: PendingClaim) -> Tasks:
        self._on_start(claim.work.claim.id)
        if kept := self._recalled("claim", claim.settled_key):
            self._take_over(claim, kept)
            return
        claim.proof = self._recalled("derivation", claim.derivation_key).decode()
        self._report(derivations=bool(claim.proof))
        yield from self._settle(claim)

    def _recalled(self, kind: str, key: bytes | None) -> bytes:
        """Return what the store has under a key, nothing where it has nothing."""
        if self._store is None or key is None:
            return b""
        return self._store.get(kind, [key]).get(key, b"")

    def _take_over(self, claim: PendingClaim, kept: bytes) -> None:
        """Take a claim that an earlier run has settled in the same way; its record follows its draws."""
        draws, _, record = kept.decode().partition("\n")
        self._report(derivations=1, stored=int(draws), wanted=int(draws))
        self._outcomes.append(Outcome(claim.place, Settled(record, "", {}), claim.spent_s))

    def _keep_progress(self, claim: PendingClaim, result: Settled | Awaiting) -> None:
        """Store a derivation that was checked now, and the record of a claim that is settled now."""
        if self._store is None:
            return
        if claim.derivation_key is not None and not claim.proof:
            self._store.put("derivation", claim.derivation_key, result.proof.encode())
        if claim.settled_key is not None and isinstance(result, Settled):
            draws = sum(cell.asked.batch_draws * cell.drawn.batches for cell in claim.cells.values())
            self._store.put("claim", claim.settled_key, f"{draws}\n{result.record}".encode())

    def _settle(self, claim: PendingClaim) -> Tasks:
        future = claim.crew.settle(claim.work, claim.proof, tuple(claim.answers))
        yield future, partial(self._advanced, claim)

    def _advanced(self, claim: PendingClaim, future: Future[Any]) -> None:
        """Take in how far a claim has come: it is settled, or needs more to be drawn."""
        result = _result(claim, future)
        if not isinstance(result, Settled | Awaiting):
            raise broken_evidence(claim.work.claim, f"{type(result).__name__} is none")
        claim.spend(result.spent_s)
        self._keep_progress(claim, result)
        claim.proof = result.proof
        if isinstance(result, Settled):
            self._outcomes.append(Outcome(claim.place, result, claim.spent_s))
            return
        claim.awaited = tuple(cell.id for cell in result.cells)
        for cell in result.cells:
            claim.ask(cell)
        weight = NEXT if isinstance(claim.work.claim, ClaimFile) else claim.wanted_draws
        self._hands_of(claim).add(weight, self._draw(claim))

    def _draw(self, claim: PendingClaim) -> Tasks:
        """Hand out the chunks that a claim awaits and the store does not have, small ones together."""
        together: list[tuple[PendingCell, Chunk]] = []
        share = 0.0
        for cell, chunk in self._to_draw(claim):
            together.append((cell, chunk))
            share += cell.share(chunk) / cell.together(chunk, claim.crew)
            if share >= 1:
                yield self._handed_out(claim, together)
                together, share = [], 0.0
        if together:
            yield self._handed_out(claim, together)
        self._go_on(claim)

    def _handed_out(
        self, claim: PendingClaim, some: list[tuple[PendingCell, Chunk]]
    ) -> tuple[Future[Any], Callable[[Any], None]]:
        future = claim.crew.draw(claim.work, tuple((cell.asked, chunk) for cell, chunk in some))
        return future, partial(self._drawn, claim, some)

    def _to_draw(self, claim: PendingClaim) -> Iterator[tuple[PendingCell, Chunk]]:
        """Yield the chunks that are to be drawn; those that are stored are taken from there."""
        for cell in map(claim.cells.__getitem__, claim.awaited):
            chunks = cell.missing(claim.work.claim.id)
            while some := list(islice(chunks, _AT_ONCE)):
                self._report(wanted=sum(cell.draws(chunk) for chunk in some))
                kept = self._kept(claim, cell, some)
                for chunk in some:
                    done, sums = kept.get(chunk.first, (chunk.first, None))
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
        if self._store is None or not cell.code:
            return {}
        found: dict[int, tuple[int, Sums]] = {}
        for key_of in (cell.key, cell.beginning):
            keys = {key_of(claim.work.claim.id, chunk): chunk for chunk in chunks if chunk.first not in found}
            for key, content in self._store.get("chunk", list(keys)).items():
                chunk, sums = keys[key], Sums.from_bytes(content)
                stop = cell.end_of(chunk, sums)
                if chunk.first < stop <= chunk.stop:
                    found[chunk.first] = stop, sums
        return found

    def _keep(self, claim: PendingClaim, cell: PendingCell, chunk: Chunk, sums: Sums) -> None:
        """Store a chunk's sums; those of an unfinished one also as what a later run goes on from."""
        if self._store is not None and cell.code:
            self._store.put("chunk", cell.key(claim.work.claim.id, chunk), sums.to_bytes())
            if chunk.stop % cell.asked.chunk_batches:
                self._store.put("chunk", cell.beginning(claim.work.claim.id, chunk), sums.to_bytes())

    def _drawn(self, claim: PendingClaim, some: list[tuple[PendingCell, Chunk]], future: Future[Any]) -> None:
        """Take in the sums of chunks that were drawn."""
        result = _result(claim, future)
        sums = result.sums if isinstance(result, Drawings) else ()
        if len(sums) != len(some) or not all(
            cell.fits(chunk, one) for (cell, chunk), one in zip(some, sums, strict=True)
        ):
            raise broken_evidence(claim.work.claim, "its sums are not those of what was to be drawn")
        claim.spend({"simulation": result.spent_s})
        if len({cell.asked.id for cell, _ in some}) == 1:
            some[0][0].chunk_s = result.spent_s / sum(cell.share(chunk) for cell, chunk in some)
        for (cell, chunk), one in zip(some, sums, strict=True):
            self._keep(claim, cell, chunk, one)
            cell.take(chunk, one)
            self._report(drawn=cell.draws(chunk))
        self._go_on(claim)

    def _go_on(self, claim: PendingClaim) -> None:
        """Settle a claim further once all that it awaits is drawn."""
        cells = [claim.cells[name] for name in claim.awaited]
        if cells and all(cell.is_drawn for cell in cells):
            claim.answers.append(tuple(cell.drawn.total for cell in cells))
            claim.awaited = ()
            self._hands_of(claim).add(NEXT, self._settle(claim))


def _result(claim: PendingClaim, future: Future[Any]) -> Any:
    try:
        return future.result()
    except WorkerError as error:
        raise broken(claim.work.claim, error) from error
    except CancelledError as error:
        claim.crew.refuse_if_gone()
        raise broken(claim.work.claim, WorkerError("its task was cancelled")) from error
