"""Entries of score matrices against loops over them, and values that stay beside."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from verify.montecarlo.distributions import LAPLACE, NORMAL, Array
from verify.montecarlo.pipeline import ScoreMatrixEntries, ScoresBesideValues


def test_entries_pair_by_pair() -> None:
    """Each statistic is the mean over the entries or pairs of entries that its name says."""
    sampler, m = ScoreMatrixEntries(5, 3, NORMAL, NORMAL), 3
    found = sampler.sample(np.random.default_rng(1), 2)
    rng = np.random.default_rng(1)
    queries, keys = NORMAL.draw(rng, (2, m, 5)), NORMAL.draw(rng, (2, m, 5))
    at = {name: place for place, name in enumerate(sampler.names)}
    for block in range(2):
        s = np.array([[q @ k for k in keys[block]] for q in queries[block]])
        cells = list(product(range(m), range(m)))
        pairs = [(a, b) for a in cells for b in cells if a != b]
        row = [(a, b) for a, b in pairs if a[0] == b[0]]
        apart = [(a, b) for a, b in pairs if a[0] != b[0] and a[1] != b[1]]
        expected = {
            "first": s[0, 0],
            "first-square": s[0, 0] ** 2,
            "last": s[-1, -1],
            "last-square": s[-1, -1] ** 2,
            "corners": s[0, 0] * s[-1, -1],
            "mean": s.mean(),
            "square": (s**2).mean(),
            "row-product": np.mean([s[a] * s[b] for a, b in row]),
            "row-squares": np.mean([s[a] ** 2 * s[b] ** 2 for a, b in row]),
            "apart-squares": np.mean([s[a] ** 2 * s[b] ** 2 for a, b in apart]),
        }
        assert set(expected) == set(at)
        for name, value in expected.items():
            assert found[block, at[name]] == pytest.approx(value), name
    assert (sampler.coordinates, sampler.scores) == (30, 9)
    assert sampler.held > sampler.coordinates


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
