"""Chunks: the sums are the same to the last bit, whoever draws what, and however it is cut up."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.montecarlo.samples import score_matrices
from tests.montecarlo.test_blocks import CELLS, Huge
from verify.montecarlo.blocks import Cell, Chunk, Drawing, Drawn, Request, draw, draw_chunk
from verify.montecarlo.distributions import NORMAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from verify.montecarlo.blocks import Sums
    from verify.montecarlo.distributions import Array


@dataclass(frozen=True)
class Numbers:
    """Blocks of normal numbers, few to a batch; more outputs make shorter chunks."""

    outputs: int = 2

    coordinates = 1 << 15
    held = 1
    scores = 1
    order, alone = 3, 0
    settings = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return a name for each output."""
        return tuple(f"n{place}" for place in range(self.outputs))

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return ``count`` vectors of normal numbers."""
        return rng.standard_normal((count, self.outputs))


CELL = Cell("numbers", (), Numbers())
BATCHES = 2 * CELL.chunk_batches + 5


def shuffled(function: Callable[[Chunk], Sums], chunks: Iterable[Chunk]) -> Iterator[Sums]:
    """Work in another order, but yield in the right one."""
    order = list(chunks)
    places = [*range(1, len(order), 2), *range(0, len(order), 2)]
    done = {place: function(order[place]) for place in places}
    return iter([done[place] for place in range(len(order))])


def same(one: Sums, other: Sums) -> bool:
    """Return whether two sums are the same, bit for bit."""
    return one.count == other.count and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("shift", "first", "second", "third", "groups")
    )


def drawn(batches: int, so_far: Drawn | None = None, cell: Cell = CELL) -> Drawn:
    """Return so many batches of a cell drawn."""
    return draw(cell, "c", 5, batches * cell.batch_blocks, so_far, map)


WHOLE = drawn(BATCHES).total


@given(st.lists(st.integers(1, BATCHES - 1), max_size=4))
def test_going_on_equals_drawing_at_once(stops: list[int]) -> None:
    """However often a sample is enlarged, within a chunk and beyond, the sums are those of one draw."""
    state: Drawn | None = None
    for stop in [*sorted(stops), BATCHES]:
        state = drawn(stop, state)
    assert state is not None
    assert same(state.total, WHOLE)


@pytest.mark.parametrize("cell", CELLS)
def test_whole_batches_are_drawn(cell: Cell) -> None:
    """At least the blocks asked for, in whole batches; asking for fewer than there are draws nothing."""
    size = cell.batch_blocks
    begun = draw(cell, "c", 5, size + 1, None, map)
    assert begun.total.count == 2 * size
    assert draw(cell, "c", 5, size, begun, map) is begun


def test_workers_and_order_do_not_matter() -> None:
    """Threads, chunks worked on in another order, and chunks that were sent away, give the same sums."""
    blocks = BATCHES * CELL.batch_blocks
    with ThreadPoolExecutor(3) as pool:
        assert same(draw(CELL, "c", 5, blocks, None, pool.map).total, WHOLE)
    assert same(draw(CELL, "c", 5, blocks, None, shuffled).total, WHOLE)

    def sent(function: Callable[[Chunk], Sums], chunks: Iterable[Chunk]) -> Iterator[Sums]:
        for chunk in chunks:
            there = pickle.loads(pickle.dumps(chunk))  # noqa: S301 - it was made here
            yield pickle.loads(pickle.dumps(function(there)))  # noqa: S301 - and so was this

    assert same(draw(CELL, "c", 5, blocks, None, sent).total, WHOLE)


def test_no_chunk_is_longer_than_that_of_its_cell() -> None:
    """Chunks end at multiples of their length, and a cell of many outputs has shorter ones."""
    chunks = list(drawn(3).missing("c", 5, BATCHES, CELL.chunk_batches))
    assert [(one.first, one.stop) for one in chunks] == [(3, 64), (64, 128), (128, BATCHES)]
    assert chunks[0].before is not None
    assert all(one.before is None for one in chunks[1:])
    assert CELL.chunk_batches == 64
    assert Cell("many", (), Numbers(729)).chunk_batches == 5


def test_claim_cell_and_seed_change_the_sample() -> None:
    """Another claim, cell or seed draws other blocks; the same ones again draw the same."""
    sampler = score_matrices(2, 2, NORMAL, NORMAL)
    places = [("c", "a", 1), ("c", "a", 2), ("c", "b", 1), ("x", "a", 1)]
    found = [draw(Cell(cell, (), sampler), claim, seed, 10, None, map).total for claim, cell, seed in places]
    assert all(not same(a, b) for i, a in enumerate(found) for b in found[:i])
    assert same(found[0], draw(Cell("a", (), sampler), "c", 1, 10, None, map).total)


def test_blocks_are_added_up_in_double_precision() -> None:
    """Whatever precision a sampler gives them in, sums are those of the same numbers in double precision."""

    @dataclass(frozen=True)
    class Rounded(Numbers):
        def sample(self, rng: np.random.Generator, count: int) -> Array:
            rounded: Array = (1000 + super().sample(rng, count)).astype(np.float32)
            return rounded

    class Doubled(Rounded):
        def sample(self, rng: np.random.Generator, count: int) -> Array:
            return super().sample(rng, count).astype(np.float64)

    chunk = Chunk(1, "claim", 0, 8)
    rounded, doubled = (draw_chunk(Cell("cell", (), sampler), chunk) for sampler in (Rounded(), Doubled()))
    assert rounded.same_as(doubled)


def test_a_sampler_must_name_what_it_gives() -> None:
    """One name for two numbers is refused, in one line that says where and what."""

    @dataclass(frozen=True)
    class Two(Huge):
        coordinates = 1 << 10

        def sample(self, rng: np.random.Generator, count: int) -> Array:
            return rng.standard_normal((count, 2))

    with pytest.raises(ValueError, match=r"claim c, cell two: .*shape \(2,\), but named mean"):
        draw(Cell("two", (), Two()), "c", 1, 10, None, map)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(wrong: float) -> None:
    """One block of it would be in every estimate: it ends the run where it was drawn."""

    class Logarithms(Numbers):
        def sample(self, rng: np.random.Generator, count: int) -> Array:
            values = super().sample(rng, count)
            values[-1, 1] = wrong
            return values

    with pytest.raises(ValueError, match="claim c, cell logs: n1 is not finite in some block"):
        draw(Cell("logs", (), Logarithms()), "c", 1, 10, None, map)


def test_an_empty_chunk_is_refused() -> None:
    """Sums over no block do not exist."""
    with pytest.raises(ValueError, match="holds no batch"):
        draw_chunk(CELL, Chunk(5, "c", 3, 3))
    with pytest.raises(ValueError, match="nothing is drawn"):
        _ = Drawn().total


def test_a_drawing_keeps_what_it_drew() -> None:
    """Each request is answered with the sums of its cell, in order, and a smaller one with no fewer."""
    other = Cell("other", (), Numbers(1))
    source = Drawing("c", 5)
    first = source([Request(CELL, 12), Request(other, 4)])
    again = source([Request(CELL, 4)])
    assert [sums.shift.size for sums in first] == [2, 1]
    assert same(again[0], first[0])
