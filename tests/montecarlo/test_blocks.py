"""Blocks and chunks: power sums are the moments, and the same to the last bit however they are drawn."""

import pickle
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.montecarlo.samples import NOTHING, draw, sample_of, score_variance
from tests.strategies import examples
from verify.montecarlo.blocks import Cell, Chunk, Drawn, Sample, Sums, sums_of
from verify.montecarlo.distributions import EXPONENTIAL, NORMAL, Array, stream
from verify.montecarlo.quantities import measurement
from verify.symbolic.vocabulary import Dot, E, Family, a, b, d, m

x = Family("x", m, d)
PAIRS, _ = measurement(
    "pairs", {"square": E(Dot(x, a, x, b) ** 2)}, {x: EXPONENTIAL}, {m: 64, d: 64}, tolerance=0.1
)
CELLS = [
    pytest.param(score_variance(40, 32, NORMAL, EXPONENTIAL)[0], id="matrices"),
    pytest.param(PAIRS, id="shared-pairs"),
    pytest.param(replace(PAIRS, order=1), id="means-alone"),
]


@pytest.mark.parametrize("cell", CELLS)
def test_moments_equal_those_of_all_blocks(cell: Cell) -> None:
    """Mean, covariance and third central moments are those of all block vectors, computed at once."""
    streams = (stream(5, "c", cell.id, batch) for batch in range(4))
    values = np.concatenate([cell.sample(rng, cell.batch_blocks) for rng in streams])
    sample: Sample = draw(cell, "c", 5, len(values)).total.sample(cell)
    assert sample.blocks == len(values)
    assert sample.coordinates == len(values) * cell.coordinates
    assert sample.scores == len(values) * cell.scores
    assert np.allclose(sample.mean, values.mean(axis=0), rtol=1e-12)
    if cell.order == 1:
        assert sample.covariance.size == sample.third.size == sample.groups.size == 0
        return
    own = sample_of(values)
    assert np.allclose(sample.groups, own.groups, rtol=1e-12)
    assert np.allclose(sample.covariance, own.covariance, rtol=1e-9)
    assert np.allclose(sample.third, own.third, rtol=1e-7, atol=1e-9 * np.abs(own.third).max())


@examples(60)
@given(st.integers(0, 2**32), st.integers(2, 40), st.floats(-100, 100), st.integers(1, 3))
def test_moments_for_any_shift(seed: int, count: int, shift: float, size: int) -> None:
    """The shift about which sums are taken does not show in the moments."""
    values = np.random.default_rng(seed).exponential(size=(count, size))
    sample, own = sums_of(values, np.full(size, shift), 3, 0).sample(CELL), sample_of(values)
    # Sums of cubes about a shift lose the digits that (1 + |shift|)³ costs.
    lost = 1e-12 * (1 + abs(shift)) ** 3
    assert np.allclose(sample.mean, own.mean, rtol=1e-10, atol=1e-10)
    assert np.allclose(sample.covariance, own.covariance, rtol=1e-9, atol=10 * lost)
    assert np.allclose(sample.third, own.third, rtol=1e-9, atol=1000 * lost)


@pytest.mark.parametrize("order", [1, 3])
def test_sums_are_kept_as_bytes(order: int) -> None:
    """What is read is what was written, to the last bit."""
    sums = sums_of(np.random.default_rng(3).random((7, 2)), np.array([0.1, -0.0]), order, 5)
    again = Sums.from_bytes(sums.to_bytes())
    assert again.to_bytes() == sums.to_bytes()
    assert again.plus(sums).count == 14


@dataclass(frozen=True)
class Numbers(Cell):
    """Blocks of two normal numbers, few to a batch."""

    coordinates = 1 << 15
    names = ("n0", "n1")

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return ``count`` vectors of normal numbers."""
        return rng.standard_normal((count, 2))


CELL = Numbers("numbers")
BATCHES = 2 * CELL.chunk_batches + 5


def sent(function: Callable[[Chunk], Sums], chunks: Iterable[Chunk]) -> list[Sums]:
    """Send chunks away and have them worked on in another order, but return results in the right one."""
    there = [pickle.loads(pickle.dumps(chunk)) for chunk in chunks]  # noqa: S301 - they were made here
    back = [pickle.loads(pickle.dumps(function(chunk))) for chunk in reversed(there)]  # noqa: S301 - and so were these
    return back[::-1]


def drawn(batches: int, so_far: Drawn = NOTHING) -> Drawn:
    """Return a number of batches drawn."""
    return draw(CELL, "c", 5, batches * CELL.batch_blocks, so_far)


WHOLE = drawn(BATCHES).total.to_bytes()


@pytest.mark.slow
@examples(25)
@given(st.lists(st.integers(1, BATCHES - 1), max_size=4))
def test_going_on_equals_drawing_at_once(stops: list[int]) -> None:
    """However often a sample is enlarged, within a chunk and beyond, the sums are those of one draw."""
    state = NOTHING
    for stop in [*sorted(stops), BATCHES]:
        state = drawn(stop, state)
    assert state.total.to_bytes() == WHOLE


def test_workers_and_order_do_not_matter() -> None:
    """Threads, chunks worked on in another order, and chunks that were sent away, give the same sums."""
    blocks = BATCHES * CELL.batch_blocks
    with ThreadPoolExecutor(3) as pool:
        assert draw(CELL, "c", 5, blocks, mapper=pool.map).total.to_bytes() == WHOLE
    assert draw(CELL, "c", 5, blocks, mapper=sent).total.to_bytes() == WHOLE


def test_claim_cell_and_seed_change_the_sample() -> None:
    """Another claim, cell or seed draws other blocks; the same ones again draw the same."""
    cell, _ = score_variance(2, 2, NORMAL)
    places = [("c", "a", 1), ("c", "a", 2), ("c", "b", 1), ("x", "a", 1), ("c", "a", 1)]
    first, *others, again = (
        draw(replace(cell, id=name), claim, seed, 10).total.to_bytes() for claim, name, seed in places
    )
    assert first == again
    assert len({first, *others}) == 4


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(wrong: float) -> None:
    """One block of it would be in every estimate: it ends the run where it was drawn."""

    class Logarithms(Numbers):
        def sample(self, rng: np.random.Generator, count: int) -> Array:
            values = super().sample(rng, count)
            values[-1, 1] = wrong
            return values

    with pytest.raises(ValueError, match="claim c, cell logs: n1 is not finite in some block"):
        draw(Logarithms("logs"), "c", 1, 10)
