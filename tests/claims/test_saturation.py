"""How the Jacobian's norm falls: the identity, the bound and the limit by other integrals, and wrong ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import integrate

from tests.symbolic.all_scores import mean_over_scores
from verify.claims.gradients.shared.large_scores import lemmas, limit
from verify.claims.gradients.shared.saturation import (
    OF_GAP,
    bound,
    by_ties,
    g,
    identity,
    inverse_length,
    of_two_keys,
    two_keys,
)
from verify.montecarlo.attention import softmax
from verify.symbolic.derivation import Derivation
from verify.symbolic.extremes import largest, number
from verify.symbolic.scores import d

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.symbolic.routes import Route


@pytest.mark.parametrize("route", [identity, limit, largest, by_ties, bound, two_keys, inverse_length])
def test_every_chain_is_proved(route: Callable[[], Route]) -> None:
    """By rules of the kernel alone."""
    assert Derivation.of(route()).examine().status == "proved"


def test_so_are_the_bounds_that_the_limit_lies_between() -> None:
    """The lower one tends to the limit from below."""
    for one in lemmas():
        assert Derivation.of(one).examine().status == "proved"
    low, high = (number(one, 16, 1e8) for one in (lemmas()[-1].end, limit().end))
    assert 0.99 * high < low < high


@pytest.mark.parametrize("deviation", [0.5, 3.0])
def test_the_identity_holds_beyond_what_the_check_tries(deviation: float) -> None:
    """Three keys and other deviations; twice the right side is noticed."""
    known = identity()
    sides = (mean_over_scores(side, 3, deviation) for side in (known.start, known.end))
    one, other = sides
    assert one == pytest.approx(other, rel=1e-6)
    assert one != pytest.approx(2 * other, rel=1e-6)


def test_the_bound_and_the_limit_for_many_keys() -> None:
    """Sixteen keys by simulation: below the bound at any deviation, towards the limit at large ones."""
    drawn = np.random.default_rng(1).normal(size=(100_000, 16))
    scaled = []
    for deviation in (1.0, 8.0, 40.0):
        weights = softmax(deviation * drawn)
        squares = np.sum(weights**2, axis=1)
        mean = np.mean(squares - 2 * np.sum(weights**3, axis=1) + squares**2)
        assert mean < number(bound().end, 16, deviation)
        scaled.append(deviation * mean / number(limit().end, 16))
    assert scaled == sorted(scaled)
    assert scaled[-1] == pytest.approx(1, abs=0.08)


@pytest.mark.parametrize(("dimension", "scale"), [(1, 1.0), (4, 0.5), (16, 1.0), (64, 0.125)])
def test_two_keys_by_a_double_integral(dimension: int, scale: float) -> None:
    """The mean over gap and length by SciPy's adaptive rule, with the slope of the logistic function."""
    below = 2 ** (dimension / 2 - 1) * math.gamma(dimension / 2) * math.sqrt(2 * math.pi)

    def integrand(score: float, length: float) -> float:
        odds = math.exp(-math.sqrt(2) * scale * length * score)
        density = length ** (dimension - 1) * math.exp(-(length**2) / 2 - score**2 / 2) / below
        return 4 * (odds / (1 + odds) ** 2) ** 2 * density

    top = math.sqrt(dimension) + 7
    expected, _ = integrate.dblquad(integrand, 0, top, 0, 9, epsabs=1e-7)
    assert of_two_keys(dimension, scale) == pytest.approx(2 * expected, abs=1e-4)


def test_the_gap_function_is_that_of_two_keys() -> None:
    """(2p(1-p))² from the matrix itself."""
    for gap in (0.0, 0.7, 5.0):
        weights = softmax(np.array([gap, 0.0]))
        matrix = np.diag(weights) - np.outer(weights, weights)
        assert float(OF_GAP.subs(g, gap)) == pytest.approx(np.linalg.norm(matrix) ** 2, rel=1e-9)


def test_one_over_the_length_by_simulation() -> None:
    """The mean of one over the length of a query of eight components."""
    lengths = np.linalg.norm(np.random.default_rng(1).normal(size=(100_000, 8)), axis=1)
    assert float(inverse_length().end.subs(d, 8)) == pytest.approx(np.mean(1 / lengths), rel=0.01)
