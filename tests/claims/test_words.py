"""Numbers in the words of claims about scores: each is worked out here, and stands in the text so."""

from __future__ import annotations

import numpy as np
import pytest

from verify.claims.limits.half_precision import _tail
from verify.claims.raw_scores.score_normal_limit import _largest_gap
from verify.claims.raw_scores.worked_dot_products import _p_value
from verify.montecarlo.distributions import UNIT_INTERVAL
from verify.montecarlo.inputs import SharedVectors
from verify.montecarlo.statistics import AllPairs, Reduced
from verify.symbolic.law import below


def test_rounded_words_are_right() -> None:
    """What the texts say in words: thirds, three quarters, one in five or six, two thousandths."""
    assert 0.28 < 2 * below(64, -8.0) < 1 / 3, "almost a third of scaled scores beyond 1"
    assert pytest.approx(3 / 4) == (7 / 144) / (1 / 36) - 1, "overstates by three quarters"
    assert 1 / 6 < _p_value(2) < 1 / 5, "about one in five or six trials"
    assert _largest_gap(64) == pytest.approx(0.002, abs=0.0005), "about two thousandths"
    assert max(_tail(n, -0.5) for n in (16, 64, 256)) < 1e-13, "less than one in 10^13"


@pytest.mark.parametrize(("dimension", "scatter"), [(1, 0.14), (8, 0.125)])
def test_a_single_run_of_the_popular_experiment_scatters(dimension: int, scatter: float) -> None:
    """By 12 to 14%, of which 4950 independent pairs would leave far less."""
    blocks = Reduced(SharedVectors(UNIT_INTERVAL, 100, dimension), AllPairs()).sample(
        np.random.default_rng(1), 4000
    )
    found = blocks[:, 0] - blocks[:, 1]
    assert found.std() / found.mean() == pytest.approx(scatter, abs=0.01)
