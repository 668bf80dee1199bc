"""Scores beside values: against plain loops over the same draws."""

from __future__ import annotations

import numpy as np
import pytest

from verify.claims.pipeline.shared import ScoresBesideValues
from verify.montecarlo.distributions import NORMAL, Array


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
