"""Scores beside values: against plain loops over the same draws."""

from __future__ import annotations

import numpy as np
import pytest

from verify.claims.pipeline.shared.beside_values import ScoresBesideValues
from verify.montecarlo.distributions import LAPLACE, NORMAL, Array


def test_values_are_drawn_and_kept_apart() -> None:
    """Scores and values come from draws of their own; the last statistic pairs each key with its value."""
    sampler = ScoresBesideValues(4, 6, 3, NORMAL, LAPLACE)
    found = sampler.sample(np.random.default_rng(2), 2)
    rng = np.random.default_rng(2)
    queries, keys = (NORMAL.draw(rng, (2, 3, 4)) for _ in range(2))
    values = LAPLACE.draw(rng, (2, 3, 6))
    assert sampler.coordinates == (2 * 4 + 6) * 3
    for block in range(2):
        assert found[block] == pytest.approx(_paired(queries[block], keys[block], values[block]))


def test_without_a_law_the_values_are_the_keys() -> None:
    """Nothing more is drawn, and every key is paired with itself."""
    sampler = ScoresBesideValues(4, 4, 3, NORMAL)
    rng = np.random.default_rng(2)
    queries, keys = (NORMAL.draw(rng, (2, 3, 4)) for _ in range(2))
    assert sampler.coordinates == 2 * 4 * 3
    found = sampler.sample(np.random.default_rng(2), 2)
    for block in range(2):
        assert found[block] == pytest.approx(_paired(queries[block], keys[block], keys[block]))


def _paired(queries: Array, keys: Array, values: Array) -> list[float]:
    """Return the statistics of one block, score by score."""
    scores = [[float(query @ key) for key in keys] for query in queries]
    sizes = [float(np.mean(value**2)) for value in values]
    flat = [one for row in scores for one in row]
    products = [one**2 * size for row in scores for one, size in zip(row, sizes, strict=True)]
    squares = [one**2 for one in flat]
    return [float(np.mean(each)) for each in (flat, squares, sizes, products)]


def test_settings_say_whose_values_they_are() -> None:
    """Values of their own have a distribution, others are the keys."""
    own = dict(ScoresBesideValues(4, 6, 3, NORMAL, LAPLACE).settings)
    assert own == {"d_k": 4, "d_v": 6, "query, key": "normal", "values": "Laplace", "block": "3×3"}
    assert dict(ScoresBesideValues(4, 4, 3, NORMAL).settings)["values"] == "the keys"
