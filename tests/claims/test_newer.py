"""Newer kinds of attention: samplers, sums in few bits and passes over keys, by loops and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from tests.montecarlo.samples import generator
from verify.claims.newer.shared.rounding import (
    WIDTH,
    ClippedScores,
    clipped,
    distance_from_temperature,
    in_e4m3,
    in_int8,
    in_pairs,
    in_turn,
    one_pass,
    references,
    rotation,
    running,
)
from verify.claims.newer.shared.rows import (
    AdaptiveRows,
    DifferentialRows,
    LeadingRows,
    Rows,
    SecondValues,
    SigmoidRows,
    SoftpickRows,
    SphereRows,
    correlation_of_two,
    factor_at,
    growth_of_scale,
    mean_of_largest,
    mean_of_leader,
    mean_of_sigmoids,
    mean_of_softpick,
    mean_over_signs,
    mean_slope,
)
from verify.claims.newer.shared.termwise import weight_of_leader
from verify.montecarlo.attention import softmax

RNG = np.random.default_rng(8)


@pytest.mark.parametrize(
    ("sampler", "of_one", "mean"),
    [
        (SigmoidRows(16), "total", mean_of_sigmoids(16)),
        (SigmoidRows(4, 0.25), "total", mean_of_sigmoids(4, 0.25)),
        (SphereRows(64, 3, 20.0), "largest", mean_of_largest(64, 3, 20.0)),
        (SphereRows(16, 5, 4.0), "largest", mean_of_largest(16, 5, 4.0)),
        (SoftpickRows(16), "total", mean_of_softpick(16)),
        (LeadingRows(16, 2.0, 1.0, 0.5), "leader", mean_of_leader(16, 2.0, 1.0, 0.5)),
    ],
)
def test_means_over_rows_are_those_of_draws(sampler: Rows, of_one: str, mean: float) -> None:
    """Integrals agree with ten thousand rows within five standard errors."""
    drawn = sampler.sample(generator(), 1000)[:, sampler.names.index(of_one)]
    assert abs(drawn.mean() - mean) < 5 * drawn.std() / math.sqrt(len(drawn))


def test_rows_by_loops() -> None:
    """Each sum, weight by weight."""
    row = np.array([0.3, -1.2, 2.0])
    (total,) = SigmoidRows(3).reduce(row)
    assert total == pytest.approx(sum(1 / (1 + 3 * math.exp(-one)) for one in row))
    sums, zero = SoftpickRows(3).reduce(row)
    above = [math.exp(one) - 1 for one in row]
    assert sums == pytest.approx((above[0] + above[2]) / sum(map(abs, above)))
    assert zero == pytest.approx(1 / 3)
    (leader,) = LeadingRows(3, 1.0, 0.5, 2.0).reduce(np.array([0.9, 0.0, 1.0]))
    assert leader == pytest.approx(1 / (1 + 3**-2.0 + 3**-3.0))
    entropy, control = AdaptiveRows(3).reduce(np.array([0.5, 1.5, 2.0]))
    assert entropy == pytest.approx(stats.entropy(softmax(np.array([0.5, 1.5, 2.0]))))
    assert control == pytest.approx((1.5 + 0.5 * math.e) / 3)


def test_the_published_factor_by_hand() -> None:
    """One above where the polynomial is below, the polynomial elsewhere."""
    assert factor_at(0.0) == factor_at(math.log(1024)) == 1
    by_hand = -0.037 * 16 + 0.481 * 8 - 2.3 * 4 + 4.917 * 2 - 1.791
    assert factor_at(2.0) == pytest.approx(by_hand)


def test_two_levels() -> None:
    """A leader's weight, and a mean over signs of two keys."""
    assert weight_of_leader(1.0, 3) == pytest.approx(math.e / (math.e + 2))
    assert mean_over_signs(np.max, 2, 0.5) == pytest.approx(0.5 * 0.5 + 0.5 / (1 + math.exp(-1)))
    slope, _ = integrate.quad(
        lambda gap: 2 * stats.logistic.pdf(gap) * stats.norm.pdf(gap, scale=math.sqrt(2)), -20, 20
    )
    assert mean_slope(1.0) == pytest.approx(slope)


def test_differential_rows_by_hand() -> None:
    """One map less a multiple of another, whose scores have the correlation."""
    first, other = RNG.normal(size=(2, 4, 5))
    less, square, own, squares = DifferentialRows(5, 0.6, 0.25).reduce(first, other)
    one, two = softmax(first), softmax(0.6 * first + 0.8 * other)
    assert less == pytest.approx(np.full(4, 0.15))
    assert square == pytest.approx(((one - 0.25 * two) ** 2).mean(axis=1))
    assert own == pytest.approx(np.full(4, 0.2))
    assert squares == pytest.approx((one**2).mean(axis=1))
    assert correlation_of_two(0.0) == pytest.approx(0, abs=1e-12)
    assert correlation_of_two(1.0) == pytest.approx(1)


def test_clipping_bounds_the_largest_score_alone() -> None:
    """At the level if it was above it, untouched if not; what is far below stays there."""
    queries, keys = RNG.normal(size=(2, 1, 6, 4))
    scores = queries @ keys.swapaxes(1, 2)
    level = scores.max() / 3
    assert clipped(queries, keys, level).max() == pytest.approx(level)
    assert clipped(queries, keys, 2 * scores.max()) == pytest.approx(scores)
    assert ClippedScores(level, 6).reduce(queries, keys) == (scores.min() / 3 < -level)
    assert distance_from_temperature(4.0) < 1e-12 < distance_from_temperature(4.0, 0.5)


@pytest.mark.parametrize("threshold", [0.0, 1.0, 8.0])
def test_one_pass_is_softmax(threshold: float) -> None:
    """Whatever the threshold; the reference never lags by more."""
    scores = 3 * RNG.normal(size=(8, 40))
    weights, most = one_pass(scores, threshold)
    assert weights == pytest.approx(softmax(scores))
    stored = references(scores, threshold)
    assert np.all(scores - stored <= threshold)
    assert np.all(most <= 40 * math.exp(threshold))
    assert np.array_equal(references(scores, 0.0), np.maximum.accumulate(scores, axis=1))


def test_sums_in_few_bits() -> None:
    """As NumPy's half precision has them, one after the other and in pairs."""
    terms = RNG.random(256).astype(np.float16)
    total = np.float16(0)
    for one in terms:
        total += one
    wide = terms.astype(np.float64)
    assert in_turn(wide, 11) == total == running(wide, 11)[-1]
    pairs = terms
    while len(pairs) > 1:
        pairs = pairs[::2] + pairs[1::2]
    assert in_pairs(wide, 11) == pairs[0]


def test_eight_bits_and_rotation() -> None:
    """The rotation is orthogonal; numbers of a format stay, others move by half a step at most."""
    assert rotation() @ rotation().T == pytest.approx(np.eye(WIDTH), abs=1e-12)
    stays = np.array([[448.0, 416.0, 1.125, 2.0**-9, 0.0]])
    assert np.array_equal(in_e4m3(stays), stays)
    whole = np.array([[127.0, -3.0, 0.4]])
    assert np.array_equal(in_int8(whole), [[127.0, -3.0, 0.0]])


def test_spheres_and_singular_values() -> None:
    """Shapes, and a value of each that is known."""
    assert SphereRows(4, 3, 0.0).sample(generator(), 3) == pytest.approx(np.full((3, 1), 0.25))
    keys = generator().normal(size=(5, 3))
    (found,) = SphereRows(5, 3, 7.0).reduce(*keys.T)
    cosines = keys / np.linalg.norm(keys, axis=1, keepdims=True)
    queries = [sign * unit for unit in np.eye(3) for sign in (1, -1)]
    scores = [7.0 * cosines @ query for query in queries]
    assert found == pytest.approx([np.exp(one.max()) / np.exp(one).sum() for one in scores], rel=1e-6)
    assert mean_of_largest(2, 3, 0.0) == pytest.approx(0.5)
    assert growth_of_scale(3, 512, 4096) == pytest.approx(1, abs=0.01)
    assert SecondValues(8, 0.0).sample(generator(), 2) == pytest.approx(np.zeros((2, 1)), abs=1e-6)
    found = SecondValues(8, 0.5, 4).sample(generator(), 5)
    assert found.shape == (5, 1)
    assert np.all((found > 0) & (found < 1))
