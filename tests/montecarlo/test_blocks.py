"""The engine: moments kept equal those of all blocks, and do not depend on who draws or when."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.montecarlo.samples import groups_of, score_matrices, score_pairs
from tests.strategies import FALSE_ALARM, examples
from verify.montecarlo.blocks import Cell, Sums, draw, sample_of
from verify.montecarlo.distributions import EXPONENTIAL, NORMAL
from verify.montecarlo.inputs import SharedVectors
from verify.montecarlo.reduced import Reduced
from verify.montecarlo.statistics.pairs import AllPairs
from verify.montecarlo.streams import stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from verify.montecarlo.blocks import Sample
    from verify.montecarlo.distributions import Array

CELLS = [
    pytest.param(Cell("matrices", (), score_matrices(40, 32, NORMAL, EXPONENTIAL)), id="matrices"),
    pytest.param(
        Cell("shared", (), Reduced(SharedVectors(EXPONENTIAL, 64, 64), AllPairs())), id="shared-pairs"
    ),
    pytest.param(Cell("pairs", (), score_pairs(16, 128, NORMAL, NORMAL, (-1.0, 0.0, 2.0))), id="pairs"),
]


def all_values(cell: Cell, batches: int, seed: int = 5) -> Array:
    """Return the statistics of every block of the first ``batches`` batches."""
    return np.concatenate(
        [cell.sampler.sample(stream(seed, "c", cell.id, b), cell.batch_blocks) for b in range(batches)]
    )


def shuffled(function: Callable[[int], Sums], numbers: Iterable[int]) -> Iterator[Sums]:
    """Work in another order, but yield in the right one."""
    order = list(numbers)
    done = {number: function(number) for number in order[1::2] + order[::2][::-1]}
    return iter([done[number] for number in order])


def same(one: Sums, other: Sums) -> bool:
    """Return whether two sums are the same, bit for bit."""
    return one.count == other.count and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("shift", "first", "second", "third", "groups")
    )


@pytest.mark.parametrize("cell", CELLS)
def test_moments_equal_those_of_all_blocks(cell: Cell) -> None:
    """Mean, covariance and third central moments are those of all block vectors, computed at once."""
    values = all_values(cell, 4)
    sample: Sample = draw(cell, "c", 5, len(values), None, map).sample(cell)
    assert sample.blocks == len(values)
    assert sample.coordinates == len(values) * cell.sampler.coordinates
    assert sample.scores == len(values) * cell.sampler.scores
    assert np.allclose(sample.mean, values.mean(axis=0), rtol=1e-12)
    if cell.sampler.order == 1:
        assert sample.covariance.size == sample.third.size == sample.groups.size == 0
        return
    assert np.allclose(sample.groups, groups_of(values), rtol=1e-12)
    assert np.allclose(sample.covariance, np.cov(values.T), rtol=1e-9)
    centred = values - values.mean(axis=0)
    third = np.einsum("bi,bj,bk->ijk", centred, centred, centred) / len(values)
    assert np.allclose(sample.third, third, rtol=1e-7, atol=1e-9 * np.abs(third).max())


@examples(60)
@given(st.integers(0, 2**32), st.integers(2, 40), st.floats(-100, 100), st.integers(1, 3))
def test_moments_for_any_shift(seed: int, count: int, shift: float, size: int) -> None:
    """The shift about which sums are taken does not show in the moments."""
    rng = np.random.default_rng(seed)
    values = rng.exponential(size=(count, size))
    moved = values - shift
    sums = Sums(
        np.full(size, shift),
        count,
        moved.sum(axis=0),
        np.einsum("bi,bj->ij", moved, moved),
        np.einsum("bi,bj,bk->ijk", moved, moved, moved),
        np.zeros((0, 0)),
    )
    sample = sums.sample(Cell("any", (), score_matrices(1, 1, NORMAL, NORMAL)))
    centred = values - values.mean(axis=0)
    third = np.einsum("bi,bj,bk->ijk", centred, centred, centred) / count
    # Sums of cubes about a shift lose the digits that (1 + |shift|)³ costs.
    lost = 1e-12 * (1 + abs(shift)) ** 3
    assert np.allclose(sample.mean, values.mean(axis=0), rtol=1e-10, atol=1e-10)
    assert np.allclose(sample.covariance, np.atleast_2d(np.cov(values.T)), rtol=1e-9, atol=10 * lost)
    assert np.allclose(sample.third, third, rtol=1e-9, atol=1000 * lost)


@pytest.mark.parametrize("cell", CELLS)
def test_going_on_equals_drawing_at_once(cell: Cell) -> None:
    """Two draws, the second going on from the first, give the very sums of one draw."""
    size = cell.batch_blocks
    at_once = draw(cell, "c", 5, 5 * size, None, map)
    begun = draw(cell, "c", 5, 2 * size, None, map)
    assert same(draw(cell, "c", 5, 5 * size, begun, map), at_once)
    assert not same(begun, at_once)


@pytest.mark.parametrize("cell", CELLS)
def test_whole_batches_are_drawn(cell: Cell) -> None:
    """At least the blocks asked for, in whole batches; asking for fewer than there are draws nothing."""
    size = cell.batch_blocks
    begun = draw(cell, "c", 5, size + 1, None, map)
    assert begun.count == 2 * size
    assert draw(cell, "c", 5, size, begun, map) is begun


@pytest.mark.parametrize("cell", CELLS)
def test_workers_and_order_do_not_matter(cell: Cell) -> None:
    """Threads, and batches worked on in another order, give the same sums bit for bit."""
    blocks = 6 * cell.batch_blocks
    alone = draw(cell, "c", 5, blocks, None, map)
    with ThreadPoolExecutor(3) as pool:
        assert same(draw(cell, "c", 5, blocks, None, pool.map), alone)
    assert same(draw(cell, "c", 5, blocks, None, shuffled), alone)


def test_claim_cell_and_seed_change_the_sample() -> None:
    """Another claim, cell or seed draws other blocks; the same ones again draw the same."""
    sampler = score_matrices(2, 2, NORMAL, NORMAL)
    places = [("c", "a", 1), ("c", "a", 2), ("c", "b", 1), ("x", "a", 1)]
    found = [draw(Cell(cell, (), sampler), claim, seed, 10, None, map) for claim, cell, seed in places]
    assert all(not same(a, b) for i, a in enumerate(found) for b in found[:i])
    assert same(found[0], draw(Cell("a", (), sampler), "c", 1, 10, None, map))


@dataclass(frozen=True)
class Huge:
    """A sampler of blocks larger than a batch."""

    coordinates = 1 << 20
    held = 1
    scores = 1
    order = 3
    names = ("mean",)
    settings = ()

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return ``count`` normal numbers."""
        return rng.standard_normal((count, 1))


def test_a_batch_holds_at_least_one_block() -> None:
    """Blocks larger than a batch are drawn one by one."""
    cell = Cell("huge", (), Huge())
    assert cell.batch_blocks == 1
    assert draw(cell, "c", 1, 7, None, map).sample(cell).blocks == 7


def test_moments_far_from_zero_do_not_cancel() -> None:
    """A statistic of mean 10⁸ and spread 1 keeps its variance: sums are taken about a point nearby."""

    @dataclass(frozen=True)
    class Far(Huge):
        coordinates = 1 << 10

        def sample(self, rng: np.random.Generator, count: int) -> Array:
            return 1e8 + rng.standard_normal((count, 1))

    cell = Cell("far", (), Far())
    values = all_values(cell, 3)
    sample = draw(cell, "c", 5, len(values), None, map).sample(cell)
    assert np.allclose(sample.covariance[0, 0], np.var(values, ddof=1), rtol=1e-6)
    # Degrees of freedom times the sample variance is chi-square: exact bounds at 1e-6 in all.
    freedom = len(values) - 1
    low, high = stats.chi2.ppf(FALSE_ALARM / 2, freedom), stats.chi2.isf(FALSE_ALARM / 2, freedom)
    assert low <= freedom * sample.covariance[0, 0] <= high


def test_a_sampler_must_name_what_it_gives() -> None:
    """One name for two numbers is refused, in one line that says where and what."""

    @dataclass(frozen=True)
    class Two(Huge):
        coordinates = 1 << 10

        def sample(self, rng: np.random.Generator, count: int) -> Array:
            return rng.standard_normal((count, 2))

    with pytest.raises(ValueError, match=r"claim c, cell two: .*shape \(2,\), but named mean"):
        draw(Cell("two", (), Two()), "c", 1, 10, None, map)


def test_outputs_are_known_by_their_names() -> None:
    """A wrong name is refused, and the line says which there are."""
    cell = Cell("matrices", (), score_matrices(4, 8, NORMAL, EXPONENTIAL))
    sample = draw(cell, "c", 1, 200, None, map).sample(cell)
    assert sample.outputs["square"] == sample.mean[sample.place("square")] == sample.mean[1]
    with pytest.raises(ValueError, match="no output is called 'fourth'; the statistic gives mean, square"):
        sample.place("fourth")


def test_moments_of_blocks_at_hand_are_those_of_the_blocks() -> None:
    """Mean, covariance, third moment and the means of 128 groups, to which blocks are dealt in turn."""
    blocks = np.random.default_rng(8).exponential(size=(300, 2))
    sample = sample_of(blocks, ("a", "b"))
    moved = blocks - blocks.mean(axis=0)
    assert sample.outputs["b"] == pytest.approx(blocks[:, 1].mean())
    assert sample.covariance == pytest.approx(np.cov(blocks.T))
    assert sample.third[0, 1, 1] == pytest.approx((moved[:, 0] * moved[:, 1] ** 2).mean())
    assert sample.groups[5] == pytest.approx(blocks[[5, 133, 261]].mean(axis=0))
    assert sample_of(blocks[:100], ("a", "b")).groups.shape == (0, 0)
