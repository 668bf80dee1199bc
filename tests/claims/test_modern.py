"""What today's models do to scores, against the same values worked out here by other means."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import optimize
from sympy import Rational

from tests.catalogue import derivation, experiment
from verify.claims.modern import (
    dropped_weights,
    linear_bias,
    rotary_positions,
    soft_cap,
)
from verify.montecarlo.experiment import Exact, Quantity
from verify.symbolic.kernel.words import n, sigma
from verify.symbolic.scores import d

RNG = np.random.default_rng(18)


def predicted(claim: str, check: str) -> float:
    """Return what a check of a claim predicts."""
    return next(one.prediction.value for one in experiment(claim).checks if one.id == check)


@pytest.mark.parametrize(
    ("dimension", "second", "fourth"),
    [(2, Rational(1, 2), Rational(3, 8)), (3, Rational(1, 3), Rational(1, 5))],
)
def test_cosines_of_a_circle_and_of_a_sphere(dimension: int, second: Rational, fourth: Rational) -> None:
    """A cosine is cos of an even angle in the plane, and by Archimedes even on [-1, 1] in space."""
    *moments, _ = derivation("query-key-normalisation").lemmas
    assert tuple(one.end.subs(d, dimension) for one in moments) == (second, fourth)


@pytest.mark.parametrize("distance", [0, 1, 10])
def test_rotary_moments_by_matrices(distance: int) -> None:
    """Mean, and the variance tr(Σ_q R Σ_k Rᵀ) + |μ_q|² + |μ_k|², with rotations as plain matrices."""
    mean_q, mean_k = np.split(np.array(rotary_positions.MEANS), 2)
    own = np.array([[1, rotary_positions.MIXED], [rotary_positions.MIXED, 1]])
    mean = variance = mixed = 0.0
    for place in range(rotary_positions.PAIRS):
        angle = -distance * 10000 ** (-place / rotary_positions.PAIRS)
        turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        mean += mean_q @ turn @ mean_k
        variance += 2 + mean_q @ mean_q + mean_k @ mean_k
        mixed += np.trace(own @ turn @ own @ turn.T)
    for check, value in (("mean", mean), ("variance", variance), ("correlated", mixed)):
        assert predicted("rotary-positions", f"{check}-at{distance}") == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(("keys", "slope"), [(1, 0.5), (2, 1.0), (7, 0.3)])
def test_a_linear_bias_in_plain_sums(keys: int, slope: float) -> None:
    """The variance of the distances themselves, and the squares of their softmax."""
    bias = -slope * np.arange(keys)
    given = {n: keys, linear_bias.m: slope}
    derived = derivation("linear-bias")
    assert float(derived.result.subs({**given, sigma: 0})) == pytest.approx(bias.var())
    weights = np.exp(bias) / np.exp(bias).sum()
    assert float(derived.lemmas[0].end.subs(given)) == pytest.approx((weights**2).sum())


@pytest.mark.parametrize("cap", [1, 4])
def test_what_a_cap_takes_of_drawn_scores(cap: int) -> None:
    """Within six standard errors of plain draws; and below the bound for a law with much heavier tails."""
    scores = np.einsum("ij,ij->i", *RNG.normal(size=(2, 200_000, soft_cap.D))) / soft_cap.D**0.5
    lost = scores**2 - (cap * np.tanh(scores / cap)) ** 2
    exact = predicted("soft-cap", f"lost-c{cap}")
    assert abs(lost.mean() - exact) < 6 * lost.std() / len(lost) ** 0.5
    heavy = RNG.standard_t(5, 1000)
    assert np.all(heavy**2 - (cap * np.tanh(heavy / cap)) ** 2 <= 2 * heavy**4 / (3 * cap**2))


def test_heads_of_one_dimension_share_a_key_by_hand() -> None:
    """Cov(q²k², q'²k²) = E k⁴ - 1 = 2 and Var(q²k²) = 9 - 1, for normal q, q' and k."""
    assert predicted("grouped-queries", "squares-d1") == pytest.approx(2 / 8)


def test_dropout_by_all_masks() -> None:
    """Mean and variance over the eight masks of three weights, and the mean weight over those of two keys."""
    rate, weights, values = 0.3, np.array([0.5, 0.3, 0.2]), np.array([1.0, -2.0, 4.0])
    masks = np.array(list(product((0, 1), repeat=3)))
    chances = np.prod(np.where(masks, 1 - rate, rate), axis=1)
    outputs = masks @ (weights * values) / (1 - rate)
    mean = chances @ outputs
    assert mean == pytest.approx(weights @ values)
    variance = rate / (1 - rate) * (weights**2 @ values**2)
    assert chances @ (outputs - mean) ** 2 == pytest.approx(variance)
    two, chosen = np.array([0.8, 0.2]), np.array([[1, 0], [0, 1], [1, 1]])
    share = np.prod(np.where(chosen, 1 - rate, rate), axis=1)
    kept = (chosen * two)[:, 0] / (chosen @ two)
    end = derivation("dropped-weights").lemmas[1].end
    given = {dropped_weights.first: 0.8, dropped_weights.r: rate}
    assert float(end.subs(given)) == pytest.approx(share @ kept / share.sum())


def test_where_yarns_factor_takes_back_all() -> None:
    """(1 + ℓ/10)⁴ meets 1 + ℓ between the two points that the claim compares."""
    crossing = optimize.brentq(lambda at: (1 + at / 10) ** 4 - 1 - at, 1, 10)
    assert 6.6 < crossing < 6.7
    assert math.exp(6.6) == pytest.approx(735, abs=1)


def test_what_two_close_scores_lose() -> None:
    """Half a score apart they weigh 0.62 and 0.38, and rounded one half each."""
    found = next(one for one in experiment("low-precision-scores").checks if one.id == "change")
    assert isinstance(found, Exact)
    assert found.computed == pytest.approx(1 / (1 + math.exp(-0.5)) - 0.5, abs=1e-5)
    assert found.prediction.value == pytest.approx(math.tanh(0.125))


@pytest.mark.parametrize("keys", [4, 64])
def test_half_of_the_weight_is_lost_at_the_logarithm_of_the_keys(keys: int) -> None:
    """In many dimensions the bound is 1/(1 + exp(b - ln n - ½))."""
    bound = derivation("attention-sink").result
    at_half = bound.subs({n: keys, d: 1e6}).subs(
        {one: math.log(keys) + 0.5 for one in bound.free_symbols - {n, d}}
    )
    assert float(at_half) == pytest.approx(0.5, abs=1e-6)
    found = [one for one in experiment("attention-sink").checks if one.id.startswith(f"kept-n{keys}")]
    assert all(isinstance(one, Quantity) for one in found)
