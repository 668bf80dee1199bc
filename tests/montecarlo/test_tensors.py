"""Distributions and statistics in PyTorch: those of NumPy, but for the rounding of single precision."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from tests.strategies import FALSE_ALARM
from verify.montecarlo import devices
from verify.montecarlo.distributions import (
    CAUCHY,
    EXPONENTIAL,
    LAPLACE,
    NORMAL,
    RADEMACHER,
    UNIFORM,
    UNIT_INTERVAL,
    Distribution,
    student_t,
)
from verify.montecarlo.inputs import SharedVectors, Simulated
from verify.montecarlo.rows import BothScales, CausalRows, RowVariance, SoftmaxRows
from verify.montecarlo.statistics import EntryProducts, PairMoments, ScoreMoments, ScorePowers

if TYPE_CHECKING:
    from verify.montecarlo.statistics import Statistic

torch: Any = pytest.importorskip("torch")

DRAWN = [NORMAL, UNIFORM, UNIT_INTERVAL, RADEMACHER, LAPLACE, EXPONENTIAL]
REDUCED = [
    ScoreMoments(),
    ScoreMoments(0.25),
    ScorePowers((1, 2, 4)),
    RowVariance(),
    SoftmaxRows(("largest", "squares", "entropy", "sharp", "jacobian", "product")),
    SoftmaxRows(("entropy", "jacobian"), 1 / 4),
    BothScales(),
    CausalRows((2, 5, 12), 1 / 4),
]


def numbers(seed: int = 3) -> devices.Numbers:
    """Return numbers of the processor's generator in PyTorch."""
    return devices.Numbers(torch, "cpu", seed)


@pytest.mark.parametrize("distribution", DRAWN, ids=lambda one: one.name)
@pytest.mark.parametrize(("loc", "scale"), [(0, 1), (2, -3)])
def test_components_have_the_stated_moments(distribution: Distribution, loc: int, scale: int) -> None:
    """Up to the second; the fourth bounds how far a sample's may be. Two samples are not the same."""
    moved = distribution.moved(loc, scale)
    drawn = devices.vectors_of(numbers(), moved, 2, 100_001).double().numpy()
    bound = stats.norm.isf(FALSE_ALARM / 2)
    _, first, second, _, fourth = map(float, moved.moments(4))
    for half in drawn:
        count = half.size
        assert abs(half.mean() - first) < bound * math.sqrt((second - first**2) / count) + 1e-6
        assert abs((half**2).mean() - second) <= bound * math.sqrt((fourth - second**2) / count) + 1e-5
    assert not np.array_equal(*drawn)


@pytest.mark.parametrize("distribution", DRAWN[:1] + DRAWN[4:], ids=lambda one: one.name)
def test_tails_are_those_of_the_distribution(distribution: Distribution) -> None:
    """The largest of two samples that NumPy and PyTorch draw are compatible, by Kolmogorov and Smirnov."""
    here = distribution.draw(np.random.default_rng(1), (20_000,))
    there = devices.vectors_of(numbers(), distribution, 20_000).double().numpy()
    assert stats.ks_2samp(here, there).pvalue > FALSE_ALARM


@pytest.mark.parametrize("statistic", REDUCED, ids=repr)
def test_statistics_are_those_of_the_array_code(statistic: Statistic) -> None:
    """For the same queries and keys, to the rounding of single precision."""
    source = Simulated(NORMAL, EXPONENTIAL, 6, 12, 16)
    queries, keys = devices.queries_and_keys(numbers(), source, 50)
    found = devices.reduce(torch, statistic, queries, keys)
    assert found.dtype == torch.float64
    expected = statistic.reduce(queries.double().numpy(), keys.double().numpy())
    assert found.shape == (50, len(statistic.names))
    assert np.allclose(found.numpy(), expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("gap", [1.0, 6.0, 12.0, 20.0])
def test_nothing_cancels_in_rows_that_are_nearly_one_hot(gap: float) -> None:
    """Of two keys the Jacobian's squared norm is 4p²(1 - p)², which is 1e-16 where p is 5e-9."""
    queries, keys = torch.ones(1, 1, 1), torch.tensor([[[0.0], [-gap]]])
    ((norm, product),) = devices.reduce(torch, SoftmaxRows(("jacobian", "product")), queries, keys).tolist()
    small = math.exp(-gap) / (1 + math.exp(-gap))
    assert product == pytest.approx(small * (1 - small), rel=1e-6)
    assert norm == pytest.approx(4 * (small * (1 - small)) ** 2, rel=1e-5, abs=1e-15)


def test_correlated_components_share_a_part() -> None:
    """As √(1 - ρ)·x + √ρ·x₀ has it: variance 1, and ρ between components of a vector, not of two."""
    queries, _ = devices.queries_and_keys(numbers(), Simulated(NORMAL, NORMAL, 2, 2, 2, 0.3), 100_000)
    found = np.corrcoef(queries.reshape(-1, 4).double().numpy().T)
    expected = np.kron(np.eye(2), np.array([[1, 0.3], [0.3, 1]]))
    assert np.abs(found - expected).max() < 6 / math.sqrt(100_000)


def test_one_seed_is_one_sample() -> None:
    """And another one another."""
    first, again, other = (numbers(seed).normal(100) for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_what_is_not_known_there_is_not_drawn_there() -> None:
    """Distributions without a counterpart, other inputs, and other statistics."""
    assert all(devices.can_draw(Simulated(one.moved(1, 2), NORMAL, 2, 2, 2)) for one in DRAWN)
    for other in (CAUCHY, student_t(9)):
        assert not devices.can_draw(Simulated(NORMAL, other, 2, 2, 2))
    only_called_normal = Distribution("normal", NORMAL.base_moments, CAUCHY.fill)
    assert not devices.can_draw(Simulated(only_called_normal, NORMAL, 2, 2, 2))
    assert not devices.can_draw(SharedVectors(NORMAL, 2, 2))
    assert all(devices.can_reduce(one) for one in REDUCED)
    assert not devices.can_reduce(EntryProducts())
    assert not devices.can_reduce(PairMoments())
