"""What a run has of a claim that is not settled yet: chunks in their turn, however they come."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.test_crews import Noting
from verify.engine.catalogue import BuiltIn, catalogue
from verify.engine.crews import Elsewhere, Here
from verify.engine.pending import PendingCell, PendingClaim
from verify.engine.runner import settings
from verify.engine.settle import Awaiting, CellToDraw, Work, advance, draw_chunks

if TYPE_CHECKING:
    from verify.montecarlo.blocks import Chunk, Sums

NAME = "sqrt-scaling-unique"
WORK = Work(BuiltIn(catalogue()[NAME].chapter, NAME), settings(profile="quick"), (), "test")


@pytest.fixture(scope="module")
def cell() -> CellToDraw:
    """Return a cell of which two chunks and a part of a third are wanted."""
    awaited = advance(WORK, "", ())
    assert isinstance(awaited, Awaiting)
    return replace(awaited.cells[0], batches=5, chunk_batches=2)


@pytest.fixture(scope="module")
def sums(cell: CellToDraw) -> dict[Any, Sums]:
    """Return the sums of the chunks that are missing at first, by where these lie."""
    chunks = list(PendingCell(cell, "code", WORK.settings.seed).missing(NAME))
    return dict(
        zip(map(_place, chunks), draw_chunks(WORK, [(cell, one) for one in chunks]).sums, strict=True)
    )


def _place(chunk: Chunk) -> Any:
    return chunk.first, chunk.stop


def pending(cell: CellToDraw) -> PendingCell:
    """Return the cell with nothing drawn of it."""
    return PendingCell(cell, "code", WORK.settings.seed)


def test_what_is_missing_is_fixed_chunks(cell: CellToDraw) -> None:
    """Two whole ones and the beginning of the third."""
    assert [_place(one) for one in pending(cell).missing(NAME)] == [(0, 2), (2, 4), (4, 5)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_chunks_are_added_in_their_turn(
    cell: CellToDraw, sums: dict[Any, Sums], order: tuple[int, ...]
) -> None:
    """In whatever order they come, to the last bit; what is early waits."""
    waiting, wanted = pending(cell), pending(cell)
    chunks = list(waiting.missing(NAME))
    for chunk in chunks:
        wanted.take(chunk, sums[_place(chunk)])
    for count, place in enumerate(order, 1):
        assert not waiting.is_drawn
        waiting.take(chunks[place], sums[_place(chunks[place])])
        assert waiting.is_drawn == (count == 3)
    assert waiting.early == {}
    assert waiting.drawn.total.first.tobytes() == wanted.drawn.total.first.tobytes()
    assert list(waiting.missing(NAME)) == []


def test_sums_fit_a_chunk_by_their_number_of_blocks(cell: CellToDraw, sums: dict[Any, Sums]) -> None:
    """Of another chunk's length, with a broken batch, or no sums at all they are not taken."""
    waiting = pending(cell)
    first, second, third = waiting.missing(NAME)
    right = sums[_place(first)]
    assert waiting.fits(first, right)
    assert waiting.fits(second, right)
    assert not waiting.fits(third, right)
    assert not waiting.fits(first, None)
    assert not waiting.fits(first, replace(right, count=right.count + 1))
    assert waiting.end_of(second, right) == 4
    assert waiting.end_of(second, replace(right, count=right.count - 1)) == -1


def test_keys_tell_chunks_apart_and_parts_of_one_belong_together(cell: CellToDraw) -> None:
    """A part of a chunk has its own key, and the beginning of the whole chunk is the same for all parts."""
    waiting = pending(cell)
    first, second, third = waiting.missing(NAME)
    whole = replace(third, stop=6)
    keys = {waiting.key(NAME, one) for one in (first, second, third, whole)}
    assert len(keys) == 4
    assert waiting.beginning(NAME, third) == waiting.beginning(NAME, whole)
    assert waiting.beginning(NAME, second) != waiting.beginning(NAME, third)
    assert waiting.beginning(NAME, third) not in keys
    assert waiting.draws(whole) == 2 * waiting.draws(third) == 2 * cell.batch_draws


def test_a_claim_that_asks_again_keeps_what_is_drawn(cell: CellToDraw) -> None:
    """Only more of it is wanted; seconds add up."""
    claim = PendingClaim(0, WORK, Here(1), has_store=False)
    claim.ask(cell)
    before = claim.cells[cell.id]
    claim.ask(replace(cell, batches=9))
    assert claim.cells[cell.id] is before
    assert before.asked.batches == 9
    for _ in range(2):
        claim.spend({"derivation": 0.5, "simulation": 0.25})
    assert claim.spent_s == {"derivation": 1.0, "simulation": 0.5}


def test_keys_are_for_a_store(cell: CellToDraw) -> None:
    """Where there is none, none is computed: that takes a run without a store a fiftieth of its time."""
    for has_store in (True, False):
        claim = PendingClaim(0, WORK, Here(1), has_store)
        claim.ask(cell)
        found = claim.settled_key, claim.derivation_key, claim.cells[cell.id].code
        assert [bool(key) for key in found] == 3 * [has_store]


def test_short_chunks_make_a_task_together_where_sending_costs(cell: CellToDraw) -> None:
    """As many as fill its time, but not before that is known, nor more than leave something for all."""
    waiting = pending(replace(cell, batches=480, chunk_batches=2))
    crew = Elsewhere(Noting(), workers=4)
    chunks = list(waiting.missing(NAME))
    assert waiting.together(chunks[0], crew) == 1
    waiting.chunk_s = crew.task_s / 10
    assert waiting.together(chunks[0], crew) == pytest.approx(10)
    assert waiting.together(chunks[240 - 60], crew) == pytest.approx(60 / 12)
    assert waiting.together(chunks[-1], crew) == 1
    waiting.chunk_s = 2.0
    assert waiting.together(chunks[0], crew) == 1
    assert waiting.together(chunks[0], Elsewhere(Noting(), workers=2000)) == 4
    assert waiting.together(chunks[0], Here(4)) == 1
