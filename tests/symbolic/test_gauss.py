"""Gauss's rules: moments that are known in closed form, and integrals by another route."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from tests.strategies import examples
from verify.symbolic.gauss import integrals, legendre, of_lengths


@given(dimension=st.integers(1, 3000), count=st.integers(2, 20))
@examples(30)
def test_moments_of_a_length_up_to_twice_the_nodes(dimension: int, count: int) -> None:
    """E |q|^p = 2^(p/2)·Γ((d+p)/2)/Γ(d/2) up to p = 2·count - 1, where the rule is exact."""
    nodes, weights = of_lengths(dimension, count)
    for power in {0, 1, 2, count, 2 * count - 1}:
        half = power / 2
        log = half * math.log(2) + special.gammaln(dimension / 2 + half) - special.gammaln(dimension / 2)
        relative = weights @ np.exp(power * np.log(nodes) - log)
        assert relative == pytest.approx(1.0, rel=1e-9 if power < count else 1e-6)


def test_with_too_few_nodes_a_moment_is_off() -> None:
    """One power beyond what the rule can do shows."""
    nodes, weights = of_lengths(3.0, 2)
    assert weights @ nodes**3 == pytest.approx(stats.chi(3).moment(3), rel=1e-12)
    assert weights @ nodes**4 != pytest.approx(stats.chi(3).moment(4), rel=1e-3)


@given(low=st.floats(-5.0, 0.0), length=st.floats(0.1, 5.0))
@examples(10)
def test_legendre_between_any_ends(low: float, length: float) -> None:
    """The integral of x⁷ by four nodes, and their number."""
    high = low + length
    nodes, weights = legendre(low, high, 4)
    exact = (high**8 - low**8) / 8
    assert len(nodes) == len(weights) == 4
    assert weights @ nodes**7 == pytest.approx(exact, abs=1e-12 * max(abs(low), abs(high)) ** 8 + 1e-14)


def test_integrals_from_edge_to_edge() -> None:
    """Of a smooth function, of one that is infinite at an end, and of one with a kink inside a part."""
    edges = np.array([0.0, 0.5, 3.0, 30.0])
    found = integrals(np.exp, -edges[::-1], 1e-14)
    np.testing.assert_allclose(found, np.diff(np.exp(-edges[::-1])), rtol=1e-13)
    assert integrals(np.log, (0.0, 1.0), 1e-14)[0] == pytest.approx(-1, abs=1e-12)
    assert integrals(lambda x: np.abs(x - 0.3), (0.0, 1.0), 1e-14)[0] == pytest.approx(0.29, abs=1e-12)


def test_what_does_not_converge_is_an_error() -> None:
    """The integral of 1/x from 0 is infinite."""
    with pytest.raises(ArithmeticError, match="no integral within 1e-14 near 0"):
        integrals(lambda x: 1 / x, (0.0, 1.0), 1e-14)
