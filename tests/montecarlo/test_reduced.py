"""Inputs with statistics: the cell says what both are, and recorded blocks give NumPy's moments."""

from __future__ import annotations

import numpy as np
import pytest

from tests.montecarlo.samples import generator, groups_of, score_matrices, score_pairs
from verify.montecarlo.distributions import NORMAL, RADEMACHER
from verify.montecarlo.estimands import variance
from verify.montecarlo.inputs import Recorded, Simulated
from verify.montecarlo.reduced import Reduced, sample_of
from verify.montecarlo.statistics.scores import ScoreMoments, ScorePowers


def test_settings_are_those_of_both() -> None:
    """First the input's, then the statistic's."""
    both = {"d_k": 2, "query": "normal", "key": "Rademacher"}
    assert dict(score_matrices(2, 4, NORMAL, RADEMACHER, 0.5, 0.25).settings) == {
        **both,
        "correlation": 0.25,
        "scale": 0.5,
        "block": "4×4",
    }
    assert "scale" not in dict(score_matrices(2, 4, NORMAL, NORMAL).settings)
    assert dict(score_pairs(2, 8, NORMAL, RADEMACHER, (-1.0,)).settings) == {**both, "point": -1.0}
    assert dict(score_pairs(2, 8, NORMAL, RADEMACHER, (-1.0, 1.0)).settings) == {**both, "points": 2}
    drawn = Simulated(NORMAL, RADEMACHER, 9, 7, 2)
    assert dict(Reduced(drawn, ScorePowers((2, 4))).settings) == {**both, "block": "9×7"}


def test_memory_is_that_of_both() -> None:
    """What is drawn, and what is made of it."""
    sampler = score_matrices(2, 4, NORMAL, NORMAL)
    assert sampler.held == sampler.coordinates + 2 * 4


class TestSampleOf:
    """Moments over recorded sequences."""

    def test_moments_are_those_of_the_sequences(self) -> None:
        """Mean, covariance, groups and counts of every sequence's own statistic, batch by batch."""
        rng = generator(1)
        queries, keys = rng.normal(size=(700, 30, 16)), 1 + rng.normal(size=(700, 20, 16))
        sample = sample_of(Recorded(queries, keys), ScoreMoments(0.25))
        scores = 0.25 * queries @ keys.transpose(0, 2, 1)
        values = np.stack([scores.mean(axis=(1, 2)), (scores**2).mean(axis=(1, 2))], axis=1)
        assert (sample.blocks, sample.coordinates, sample.scores) == (700, 700 * 50 * 16, 700 * 600)
        assert np.allclose(sample.mean, values.mean(axis=0), rtol=1e-12)
        assert np.allclose(sample.covariance, np.cov(values.T), rtol=1e-9)
        assert np.allclose(sample.groups, groups_of(values), rtol=1e-10)
        assert variance().measure(sample, 0.01).value == pytest.approx(scores.var(), rel=1e-10)

    def test_one_sequence_has_no_scatter(self) -> None:
        """It is refused, and the line says how many are needed."""
        one = np.ones((1, 3, 2))
        with pytest.raises(ValueError, match="1 recorded sequences have no scatter; record two or more"):
            sample_of(Recorded(one, one), ScoreMoments())
