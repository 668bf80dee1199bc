"""Streams, and distributions whose draws have the moments that they state."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from tests.montecarlo.samples import generator
from tests.strategies import FALSE_ALARM, distributions, examples, fractions
from verify.errors import ClaimError
from verify.montecarlo.distributions import EXPONENTIAL, LAPLACE, NORMAL, UNIFORM, UNIT_INTERVAL, Array
from verify.montecarlo.distributions import Distribution, stream, student_t

DRAWS = 200_000

CONTINUOUS = [
    pytest.param(NORMAL, stats.norm(), id="normal"),
    pytest.param(UNIFORM, stats.uniform(-math.sqrt(3), 2 * math.sqrt(3)), id="uniform"),
    pytest.param(UNIT_INTERVAL, stats.uniform(), id="U(0,1)"),
    pytest.param(LAPLACE, stats.laplace(scale=math.sqrt(0.5)), id="laplace"),
    pytest.param(EXPONENTIAL, stats.expon(-1), id="exponential"),
    *(pytest.param(student_t(v), stats.t(v, scale=math.sqrt(1 - 2 / v)), id=f"t{v}") for v in (3, 4, 5, 9)),
]


@pytest.mark.parametrize(("distribution", "reference"), CONTINUOUS)
def test_moments_against_numerical_integration(distribution: Distribution, reference: Any) -> None:
    """Every recorded moment is the integral of xⁿ against SciPy's density."""
    low, high = reference.support()
    middle = float(reference.median())
    for n, exact in enumerate(distribution.moments(len(distribution.base_moments) - 1)):

        def integrand(x: float, n: int = n) -> float:
            return float(x**n * reference.pdf(x))

        below, below_error = integrate.quad(integrand, low, middle, limit=200)
        above, above_error = integrate.quad(integrand, middle, high, limit=200)
        value, error = below + above, below_error + above_error
        assert abs(value - float(exact)) <= 10 * error + 1e-9


@pytest.mark.parametrize(("distribution", "reference"), CONTINUOUS)
def test_draws_follow_the_law(distribution: Distribution, reference: Any) -> None:
    """The largest gap between the draws' and SciPy's distribution function is within its exact bound.

    Massart's constant makes √(ln(2/α)/2n) hold for every n, here at α = 1e-6.
    """
    draws = np.sort(distribution.draw(generator(1), (DRAWS,)))
    expected = reference.cdf(draws)
    steps = np.arange(DRAWS + 1) / DRAWS
    gap = max(np.max(expected - steps[:-1]), np.max(steps[1:] - expected))
    assert gap <= math.sqrt(math.log(2 / FALSE_ALARM) / (2 * DRAWS))


@examples(40)
@given(distributions(), fractions(), fractions().filter(bool))
def test_moments_move_along(distribution: Distribution, a: Fraction, b: Fraction) -> None:
    """The mean moves along, central moments scale with powers of b."""
    moved = distribution.moved(a, b)
    assert moved.mean == a + b * distribution.mean
    central = distribution.central_moments(4)
    assert moved.central_moments(4) == tuple(b**order * central[order] for order in range(5))


@examples(30)
@given(distributions(), fractions(), fractions(), st.integers(0, 2**32))
def test_draws_move_along(distribution: Distribution, a: Fraction, b: Fraction, seed: int) -> None:
    """From the same stream come the same numbers, moved."""
    plain: Array = distribution.draw(generator(seed), (20,))
    moved = distribution.moved(a, b).draw(generator(seed), (20,))
    assert np.allclose(moved, float(a) + float(b) * plain, rtol=1e-12, atol=1e-9)


PINNED = [759511605, 1483611121, 1564504643]


def test_the_numbers_are_pinned() -> None:
    """Published results must stay reproducible: a change of the stream is a change of every result."""
    assert stream(20170612, "score-variance", "d64", 0).integers(2**32, size=3).tolist() == PINNED


def test_draws_that_are_no_numbers_are_told_as_that() -> None:
    """A quantile of them would have no density, and a variance would not be finite."""

    def fill(rng: np.random.Generator, out: Array) -> None:
        out[...] = np.where(rng.random(out.shape) < 0.5, np.nan, 1.0)

    with pytest.raises(ClaimError, match="distribution half: its fill writes NaN"):
        Distribution("half", (Fraction(1),), fill).draw(generator(3), (100,))
