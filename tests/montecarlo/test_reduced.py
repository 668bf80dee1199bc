"""Inputs with statistics: the cell says what both are."""

from __future__ import annotations

from tests.montecarlo.samples import score_matrices, score_pairs
from verify.montecarlo.distributions import NORMAL, RADEMACHER
from verify.montecarlo.inputs import Simulated
from verify.montecarlo.statistics import Reduced, ScorePowers


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
