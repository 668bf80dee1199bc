"""Training as training-stability simulates it: descent along numerical gradients, and what is said of it."""

import math

import numpy as np

from verify.claims.gradients import training_stability as claim
from verify.montecarlo.distributions import Array

KEYS, COPIES, WIDTH = 3, 2, 2


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
    lost = claim.losses((first, second), tokens, queries, scales, rates)
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
    own = claim.in_own_axes(full)
    assert own.shape == (2, 2 * WIDTH, 2 * WIDTH)
    lost = [
        claim.losses((both[:, None, :WIDTH], both[:, None, WIDTH:]), tokens, queries, *np.ones((2, 1)))
        for both in (full, own)
    ]
    np.testing.assert_allclose(lost[1], lost[0], rtol=1e-9)
