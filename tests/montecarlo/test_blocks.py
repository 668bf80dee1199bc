"""The engine: moments kept equal those of all blocks, and do not depend on who draws or when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.montecarlo.samples import groups_of, score_matrices, score_pairs
from tests.strategies import FALSE_ALARM, examples
from verify.montecarlo.blocks import Cell, Sums, draw, sample_of, sums_of
from verify.montecarlo.distributions import EXPONENTIAL, NORMAL, stream
from verify.montecarlo.groups import Linearised
from verify.montecarlo.inputs import SharedVectors
from verify.montecarlo.statistics import AllPairs, Reduced

if TYPE_CHECKING:
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


@dataclass(frozen=True)
class Huge:
    """A sampler of blocks larger than a batch."""

    coordinates = 1 << 20
    held = 1
    scores = 1
    order, alone = 3, 0
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


def test_outputs_that_are_taken_alone_are_in_no_third_moment() -> None:
    """All else is as it was; a smooth function of such an output is refused where its skewness counts."""
    blocks = np.random.default_rng(8).exponential(size=(300, 3))
    shift, names = blocks.mean(axis=0), ("a", "b", "share-0")
    whole, fewer = (sums_of(blocks, shift, 3, before=0, alone=alone).moments(0, 0, names) for alone in (0, 1))
    assert fewer.third.shape == (2, 2, 2)
    assert np.allclose(fewer.third, whole.third[:2, :2, :2])
    assert np.array_equal(fewer.covariance, whole.covariance)
    assert np.array_equal(fewer.groups, whole.groups)
    slope = np.array([1.0, -2.0, 0.0])
    assert Linearised(fewer, slope).skewness == pytest.approx(Linearised(whole, slope).skewness)
    with pytest.raises(ValueError, match="taken alone"):
        _ = Linearised(fewer, slope[::-1]).skewness


@pytest.mark.parametrize(("order", "alone"), [(1, 0), (3, 0), (3, 1)])
def test_sums_are_kept_as_bytes(order: int, alone: int) -> None:
    """What is read is what was written, to the last bit; other bytes are refused."""
    sums = sums_of(np.random.default_rng(3).random((7, 2)), np.array([0.1, -0.0]), order, 5, alone)
    again = Sums.from_bytes(sums.to_bytes())
    assert again.to_bytes() == sums.to_bytes()
    assert again.plus(sums).count == 14
    for wrong in (b"", sums.to_bytes()[:-8], sums.to_bytes() + bytes(8)):
        with pytest.raises(ValueError, match="sums"):
            Sums.from_bytes(wrong)


def test_sums_about_different_points_are_not_added() -> None:
    """Their second orders do not add up."""
    values = np.random.default_rng(3).random((7, 1))
    with pytest.raises(ValueError, match="different shifts"):
        sums_of(values, np.zeros(1), 3, 0).plus(sums_of(values, np.ones(1), 3, 7))
