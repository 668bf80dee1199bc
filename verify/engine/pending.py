"""What a run has of a claim that is not settled yet: answers, cells, and the chunks drawn of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from verify.engine.keys import cell_code, chunk_key, derivation_key, settled_key
from verify.montecarlo.blocks import Chunk, Drawn, Sums

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.engine.crews import Crew
    from verify.engine.settle import CellToDraw, Work


@dataclass
class PendingCell:
    """A cell of a claim, what is drawn of it, and what was drawn ahead of its turn.

    ``chunk_s`` are the seconds that a worker took for a whole chunk of it, 0 where nobody knows yet.
    """

    asked: CellToDraw
    code: str
    seed: int
    drawn: Drawn = field(default_factory=Drawn)
    early: dict[int, tuple[Chunk, Sums]] = field(default_factory=dict)
    chunk_s: float = 0.0

    def share(self, chunk: Chunk) -> float:
        """Return how much of a whole chunk this one is."""
        return (chunk.stop - chunk.first) / self.asked.chunk_batches

    def together(self, chunk: Chunk, crew: Crew) -> float:
        """Return how many of the cell's chunks, from this one on, make a task of the length that is wanted.

        That is one until it is known how long one takes, and so few that all who work get some.
        """
        left = (self.asked.batches - chunk.first) / self.asked.chunk_batches
        fitting = min(crew.task_s / self.chunk_s, left / crew.count) if self.chunk_s else 1.0
        return max(crew.chunks_at_once, fitting)

    def missing(self, claim: str) -> Iterator[Chunk]:
        """Yield the chunks that are still to be drawn."""
        return self.drawn.missing(claim, self.seed, self.asked.batches, self.asked.chunk_batches)

    def take(self, chunk: Chunk, sums: Sums) -> None:
        """Add a chunk's sums in their turn."""
        self.early[chunk.first] = chunk, sums
        while self.drawn.batches in self.early:
            self.drawn = self.drawn.then(*self.early.pop(self.drawn.batches), self.asked.chunk_batches)

    def key(self, claim: str, chunk: Chunk) -> bytes:
        """Return the key of what a chunk's sums are, with those before them."""
        return chunk_key(self.code, self.seed, claim, self.asked.id, self._start(chunk), chunk.stop)

    def beginning(self, claim: str, chunk: Chunk) -> bytes:
        """Return the key of the last unfinished part of that chunk that was drawn."""
        return chunk_key(self.code, self.seed, claim, self.asked.id, self._start(chunk), -1)

    def fits(self, chunk: Chunk, sums: object) -> bool:
        """Return whether these can be the sums of that chunk: of as many blocks."""
        return isinstance(sums, Sums) and self.end_of(chunk, sums) == chunk.stop

    def end_of(self, chunk: Chunk, sums: Sums) -> int:
        """Return the batch up to which these sums reach, in the chunk's own chunk; -1 in the midst of one."""
        batches, more = divmod(sums.count, self.asked.batch_blocks)
        return -1 if more else self._start(chunk) + batches

    @property
    def left_draws(self) -> int:
        """The random components of what is asked for and not drawn."""
        return max(0, self.asked.batches - self.drawn.batches) * self.asked.batch_draws

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
    """A claim that is being settled; without a store there are no keys to compute."""

    place: int
    work: Work
    crew: Crew
    has_store: bool
    proof: str = ""
    answers: list[tuple[Sums, ...]] = field(default_factory=list)
    cells: dict[str, PendingCell] = field(default_factory=dict)
    awaited: tuple[str, ...] = ()
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

    def spend(self, spent: dict[str, float]) -> None:
        """Add to the seconds spent."""
        for name, seconds in spent.items():
            self.spent_s[name] += seconds
