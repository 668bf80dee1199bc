"""Programs of claims, by plain loops, numerical gradients, by hand and by formats that NumPy has."""

import math

import numpy as np
import pytest

from verify.claims.gradients import training_stability
from verify.claims.modern.attention_sink import beside_sink
from verify.claims.newer import eight_bit_rotation, low_precision_sums, online_softmax
from verify.claims.newer.score_clip import clipped
from verify.spec.arrays import Array, softmax

RNG = np.random.default_rng(18)
KEYS, COPIES, WIDTH = 3, 2, 2


def test_a_sink_is_one_key_more_without_a_value() -> None:
    """Weights are exponentials over the sum of all and the sink's; alone it leaves nothing or all."""
    scores = RNG.normal(size=(3, 4))
    expected = [[math.exp(score) / (sum(map(math.exp, row)) + math.e) for score in row] for row in scores]
    assert beside_sink(scores, 1.0) == pytest.approx(np.array(expected))
    assert beside_sink(scores, -np.inf) == pytest.approx(softmax(scores))
    assert beside_sink(scores, 800.0) == pytest.approx(0.0)


def test_clipping_bounds_the_largest_score_alone() -> None:
    """At the level if it was above it, untouched if not; what is far below stays there."""
    queries, keys = RNG.normal(size=(2, 6, 4))
    scores = queries @ keys.T
    level = scores.max() / 3
    assert clipped(queries, keys, level).max() == pytest.approx(level)
    assert clipped(queries, keys, 2 * scores.max()) == pytest.approx(scores)


@pytest.mark.parametrize("lag", [0.0, 1.0, 8.0])
def test_one_pass_is_softmax(lag: float) -> None:
    """Whatever the lag; the reference never lags by more, and no partial sum is beyond the bound."""
    scores = 3 * RNG.normal(size=(8, 40))
    weights, most, reference = online_softmax.single_pass(scores, lag)
    assert weights == pytest.approx(softmax(scores))
    assert np.all(scores.max(axis=1) - reference <= lag)
    assert np.all(most <= 1 + 39 * math.exp(lag))


def test_sums_in_few_bits() -> None:
    """As NumPy's half precision has them, one after the other and in pairs."""
    terms = RNG.random(256).astype(np.float16)
    total = np.float16(0)
    for term in terms:
        total += term
    wide = terms.astype(np.float64)
    assert low_precision_sums.in_turn(wide, 11) == total
    pairs = terms
    while len(pairs) > 1:
        pairs = pairs[::2] + pairs[1::2]
    assert low_precision_sums.in_pairs(wide, 11) == pairs[0]


def test_eight_bits_and_rotation() -> None:
    """Rotations are orthogonal; numbers of a format stay, others move by half a step at most."""
    for turn in eight_bit_rotation.TURNS.values():
        assert turn @ turn.T == pytest.approx(np.eye(eight_bit_rotation.WIDTH), abs=1e-12)
    stays = np.array([[448.0, 416.0, 1.125, 2.0**-9, 0.0]])
    assert np.array_equal(eight_bit_rotation.in_e4m3(stays), stays)
    whole = np.array([[127.0, -3.0, 0.4]])
    assert np.array_equal(eight_bit_rotation.in_int8(whole), [[127.0, -3.0, 0.0]])


def data(rng: np.random.Generator, seeds: int, steps: int) -> tuple[Array, Array]:
    """Return tokens, and queries that are noisy copies of them."""
    tokens = rng.standard_normal((seeds, steps, KEYS, WIDTH))
    queries = np.repeat(tokens, COPIES, axis=-2)
    return tokens, queries + 0.5 * rng.standard_normal(queries.shape)


def loss(of_query: Array, of_key: Array, tokens: Array, queries: Array, scale: float) -> float:
    """Return the loss of one step, query by query; queries come in the order of the tokens they copy."""
    total = 0.0
    for place, query in enumerate(queries):
        weights = [math.exp(scale * float((query @ of_query) @ (token @ of_key))) for token in tokens]
        for key, weight in enumerate(weights):
            wanted = float(key == place // COPIES)
            total += (weight / math.fsum(weights) - wanted) ** 2
    return total / (2 * len(queries))


def slope(which: int, weights: list[Array], tokens: Array, queries: Array, scale: float) -> Array:
    """Return the loss's gradient with respect to one of the weights, by central differences."""
    slopes = np.zeros_like(weights[which])
    for place in np.ndindex(slopes.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = [part.copy() for part in weights]
            moved[which][place] += step
            ends.append(loss(moved[0], moved[1], tokens, queries, scale))
        slopes[place] = (ends[0] - ends[1]) / 2e-6
    return slopes


def test_descent_by_differences() -> None:
    """Losses of several runs over several steps equal those of descent along the numerical gradient."""
    rng = np.random.default_rng(1)
    seeds, size, steps = 2, 3, 4
    scales, rates = np.array([1.0, 0.5, 0.5]), np.array([0.5, 0.5, 2.0])
    start = [rng.standard_normal((seeds, 1, WIDTH, size)) for _ in range(2)]
    tokens, queries = data(rng, seeds, steps)
    first, second = (np.repeat(part, 3, axis=1) for part in start)
    lost = training_stability.losses((first, second), tokens, queries, scales, rates)
    assert lost.shape == (seeds, 3, steps)
    assert np.array_equal(first, np.repeat(start[0], 3, axis=1)), "the initial weights are not changed"
    for seed in range(seeds):
        for run in range(3):
            weights = [part[seed, 0] for part in start]
            for step in range(steps):
                seen = tokens[seed, step], queries[seed, step]
                expected = loss(weights[0], weights[1], *seen, scales[run])
                assert math.isclose(lost[seed, run, step], expected, rel_tol=1e-6)
                slopes = [slope(which, weights, *seen, scales[run]) for which in (0, 1)]
                weights = [part - rates[run] * by for part, by in zip(weights, slopes, strict=True)]


def test_training_in_own_axes_is_the_same() -> None:
    """Weights of 50 dimensions, written in the axes of what they span, lose as much at every step."""
    rng = np.random.default_rng(3)
    full = rng.standard_normal((2, 2 * WIDTH, 50))
    tokens, queries = data(rng, 2, 6)
    own = training_stability.in_own_axes(full)
    assert own.shape == (2, 2 * WIDTH, 2 * WIDTH)
    lost = []
    for both in (full, own):
        weights = both[:, None, :WIDTH], both[:, None, WIDTH:]
        lost.append(training_stability.losses(weights, tokens, queries, *np.ones((2, 1))))
    np.testing.assert_allclose(lost[1], lost[0], rtol=1e-9)
