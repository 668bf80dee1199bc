"""Moments of components against NumPy, and products of two sequences that err on no side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.auditing.calls import arrays
from verify.auditing.block import Block
from verify.auditing.recording import Call
from verify.auditing.spread import crossed_variance, key_spread, query_spread

SCALE = 0.3
Q, K, _ = (array.astype(np.float32) for array in arrays(8, sequences=2, heads=1, queries=20, keys=30, d=5))
BLOCKS = [Block(Call(Q, K + 2, scale=SCALE), place, 0, SCALE) for place in (0, 1)]


def test_moments_are_those_of_numpy() -> None:
    """Mean, unbiased covariance, second moment and mean square of the vectors."""
    for found, vectors in ((query_spread(BLOCKS[1]), Q[1, 0]), (key_spread(BLOCKS[0]), K[0, 0] + 2)):
        assert found.mean == pytest.approx(vectors.mean(axis=0), rel=1e-5)
        assert found.covariance == pytest.approx(np.cov(vectors.T), rel=1e-4, abs=1e-6)
        assert found.second_moment() == pytest.approx(vectors.T @ vectors / len(vectors), rel=1e-4, abs=1e-6)
        assert found.mean_square == pytest.approx(float((vectors**2).mean()), rel=1e-5)


def test_the_crossed_variance_is_that_of_scores_with_the_other_sequence() -> None:
    """The mean over queries of the variance over the other sequence's keys, both ways round."""
    scores = [SCALE * Q[one, 0] @ (K[1 - one, 0] + 2).T for one in (0, 1)]
    wanted = np.mean([one.var(axis=1, ddof=1).mean() for one in scores])
    assert crossed_variance(*BLOCKS) == pytest.approx(float(wanted), rel=1e-5)


def test_a_single_vector_has_no_covariance() -> None:
    """One token has a mean, and NaN for all that takes two."""
    found = query_spread(Block(Call(Q[:, :, :1], K), 0, 0, SCALE))
    assert found.mean == pytest.approx(Q[0, 0, 0])
    assert np.isnan(found.covariance).all()


def test_keys_that_no_query_sees_do_not_count() -> None:
    """Padding may hold anything, as may what a bias hides and what lies beyond the last causal query."""
    wanted = key_spread(Block(Call(Q, K[:, :, :20]), 0, 0, SCALE))
    padded = K.copy()
    padded[:, :, 20:] = np.nan
    shown = np.arange(30) < 20
    hiding = np.where(shown, 0.0, -np.inf).astype(np.float32)
    options: tuple[dict[str, Any], ...] = (
        {"mask": shown[None, None, None]},
        {"bias": hiding},
        {"causal": True},
    )
    for one in options:
        found = key_spread(Block(Call(Q, padded, **one), 0, 0, SCALE))
        assert found.vectors == 20
        assert found.covariance == pytest.approx(wanted.covariance)
    nothing = key_spread(Block(Call(Q, K, mask=np.zeros((1, 1, 1, 30), dtype=bool)), 0, 0, SCALE))
    assert nothing.vectors == 0
    assert np.isnan(nothing.mean).all()
