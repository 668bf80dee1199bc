"""Hypothesis strategies that several test modules share, and the settings they run under."""

from fractions import Fraction
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from verify.montecarlo.distributions import EXPONENTIAL, LAPLACE, NORMAL, RADEMACHER, UNIFORM, UNIT_INTERVAL
from verify.montecarlo.distributions import Distribution, student_t
from verify.montecarlo.estimands import Measured

FALSE_ALARM = 1e-6
"""How often a statistical assertion may fail for a right program; every bound is derived from it."""

DISTRIBUTIONS = (NORMAL, UNIFORM, RADEMACHER, LAPLACE, student_t(9), EXPONENTIAL, UNIT_INTERVAL)
"""Laws of every kind of shape, with at least eight moments."""


def examples(number: int) -> settings:
    """Return the settings of all tests with ``number`` examples."""
    return settings(max_examples=number)


def fractions(size: int = 5, denominators: int = 6) -> st.SearchStrategy[Fraction]:
    """Return fractions between ±``size``."""
    return st.fractions(-size, size, max_denominator=denominators)


def distributions() -> st.SearchStrategy[Distribution]:
    """Return component distributions with four moments, some of them moved and scaled."""
    base = st.sampled_from(DISTRIBUTIONS)
    scales = fractions().filter(bool)
    return st.builds(
        lambda distribution, loc, scale: distribution.moved(loc, scale), base, fractions(), scales
    )


def floats(low: float, high: float) -> st.SearchStrategy[float]:
    """Return finite floats between ``low`` and ``high``."""
    return st.floats(low, high, allow_nan=False, allow_infinity=False)


def alphas() -> st.SearchStrategy[float]:
    """Return false-exclusion rates from a coin's to those of a shared budget."""
    return st.floats(-8, -0.5).map(lambda exponent: 10.0**exponent)


def spans() -> st.SearchStrategy[tuple[float, float]]:
    """Return intervals (low, high), some of them single points."""
    return st.tuples(floats(-10, 10), st.just(0.0) | floats(1e-6, 10)).map(lambda x: (x[0], x[0] + x[1]))


def measured(value: float, error: float, blocks: int = 1000, **others: Any) -> Measured:
    """Return an estimate with the interval value ± 5·error."""
    return Measured(value, error, (value - 5 * error, value + 5 * error), blocks, 10 * blocks, **others)
