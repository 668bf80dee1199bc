"""Entries of score matrices against loops over them, and values that stay beside."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from verify.montecarlo.components import NORMAL
from verify.montecarlo.pipeline import ScoreMatrixEntries, ScoresBesideValues


def test_entries_pair_by_pair() -> None:
    """Each statistic is the mean over the entries or pairs of entries that its name says."""
    sampler, m = ScoreMatrixEntries(5, 3, NORMAL, NORMAL), 3
    found = sampler.sample(np.random.default_rng(1), 2)
    rng = np.random.default_rng(1)
    queries, keys = NORMAL.draw(rng, (2, m, 5)), NORMAL.draw(rng, (2, m, 5))
    at = sampler.POSITIONS
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
    """Scores and values come from draws of their own; the last statistic is the product of two others."""
    sampler = ScoresBesideValues(4, 6, 3, NORMAL)
    found = sampler.sample(np.random.default_rng(2), 2)
    rng = np.random.default_rng(2)
    queries, keys, values = (NORMAL.draw(rng, (2, 3, d)) for d in (4, 4, 6))
    for block in range(2):
        scores = queries[block] @ keys[block].T
        squares, sizes = (scores**2).mean(), (values[block] ** 2).mean()
        assert found[block] == pytest.approx([scores.mean(), squares, sizes, squares * sizes])
    assert sampler.coordinates == (2 * 4 + 6) * 3
