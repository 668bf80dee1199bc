"""What single queries send back: the sampler's statistics, drawn again and computed key by key."""

from __future__ import annotations

import numpy as np
import pytest

from tests.montecarlo.samples import SINGLE
from verify.claims.gradients.shared.samplers import SingleQueries, sums_within
from verify.montecarlo.distributions import LAPLACE, NORMAL, Array

SAMPLER = SingleQueries(5, 4, 3, 2, scale=0.7, edges=(0.0, 0.1, 0.5, 1.0), values=LAPLACE)


def test_statistics_key_by_key() -> None:
    """The same draws, softmax and its gradient in loops, one query at a time."""
    found = SAMPLER.sample(np.random.default_rng(1), 6)
    rng = np.random.default_rng(1)
    query, upstream = (NORMAL.draw(rng, (6, 2, 1, width)) for width in (5, 3))
    keys, values = NORMAL.draw(rng, (6, 1, 4, 5)), LAPLACE.draw(rng, (6, 1, 4, 3))
    for block in range(6):
        rows = [
            _one(query[block, row, 0], keys[block, 0], values[block, 0], upstream[block, row, 0])
            for row in range(2)
        ]
        # A gradient whose terms cancel is off by a rounding of theirs.
        np.testing.assert_allclose(found[block], np.mean(rows, axis=0), rtol=SINGLE, atol=1e-7)


def _one(query: Array, keys: Array, values: Array, upstream: Array) -> Array:
    weights = np.exp(0.7 * keys @ query)
    weights /= weights.sum()
    sent = values @ upstream
    spread, sums = np.zeros(3), np.zeros(3)
    for key in range(4):
        of_score = sum(weights[other] * ((key == other) - weights[key]) * sent[other] for other in range(4))
        place = 0 if weights[key] <= 0.1 else 1 if weights[key] <= 0.5 else 2
        spread[place] += weights[key] * (1 - weights[key])
        sums[place] += abs(of_score) / np.abs(sent).max()
    length = np.sum(upstream**2)
    return np.array([np.sum(weights**2) * length, length, *np.stack([spread, sums], axis=1).ravel()])


def test_it_says_what_it_draws() -> None:
    """Five components each of two queries and four keys, three of each value and of each gradient."""
    assert SAMPLER.coordinates == 6 * 5 + 6 * 3
    assert SAMPLER.scores == 8
    assert SAMPLER.held > SAMPLER.coordinates


def test_without_edges_there_are_two_statistics() -> None:
    """The means of the squared norms; no query sends more to the values than it got."""
    found = SingleQueries(5, 4, 3, 1).sample(np.random.default_rng(1), 100)
    assert found.shape == (100, 2)
    assert np.all(found[:, 0] < found[:, 1])
    assert found[:, 1].mean() == pytest.approx(3, rel=0.3)


def test_sums_within_classes() -> None:
    """What lies on an edge belongs to the class below it; what lies beyond all edges, to none."""
    values = np.array([[0.1, 0.2, 0.3, 0.9], [0.2, 0.25, 0.0, 0.1]])
    weights = np.array([[1.0, 2.0, 4.0, 8.0], [1.0, 2.0, 4.0, 8.0]])
    found = sums_within(values, (weights, -weights), (0.1, 0.2, 0.5))
    assert found.tolist() == [[2, -2, 4, -4], [1, -1, 2, -2]]


def test_nothing_breaks_where_a_row_is_saturated() -> None:
    """Large scores: probabilities that underflow to 0 fall into no class, and all stays finite."""
    sampler = SingleQueries(256, 8, 4, 3, scale=20.0, edges=(0.0, 0.5, 1.0))
    found = sampler.sample(np.random.default_rng(1), 50)
    assert np.all(np.isfinite(found))
    assert np.all(found[:, 0] <= found[:, 1] * (1 + 1e-12))
    assert np.all(found[:, 2:] >= 0)


def test_classes_are_named_by_their_edges() -> None:
    """Two names for each class, in the order of the edges; between no two successive ones there is none."""
    classes = ((0.0, 0.1), (0.1, 0.5), (0.5, 1.0))
    of_classes = [name for ends in classes for name in (SAMPLER.spread(*ends), SAMPLER.length(*ends))]
    assert SAMPLER.names == ("to-values", "from-above", *of_classes)
    assert SAMPLER.length(0.0, 0.5) not in SAMPLER.names


def test_settings_are_what_is_drawn() -> None:
    """Dimensions, sizes, scale, and the distribution of the values."""
    assert dict(SAMPLER.settings) == {
        "d_k": 5,
        "d_v": 3,
        "keys": 4,
        "queries": 2,
        "query, key": "normal",
        "values": "Laplace",
        "scale": 0.7,
    }
