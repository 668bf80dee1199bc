"""Rows at both scales: the statistics from the Jacobians themselves, row by row."""

from __future__ import annotations

import numpy as np
import pytest

from verify.montecarlo.attention import softmax
from verify.montecarlo.both_scales import BothScales
from verify.montecarlo.differentiate import complex_step
from verify.montecarlo.distributions import NORMAL

SAMPLER = BothScales(9, 3, 4)


def test_statistics_are_the_norms_of_the_jacobians() -> None:
    """The same draws, softmax differentiated row by row at both scales."""
    found = SAMPLER.sample(np.random.default_rng(1), 5)
    rng = np.random.default_rng(1)
    queries, keys = NORMAL.draw(rng, (5, 3, 9)), NORMAL.draw(rng, (5, 4, 9))
    for block in range(5):
        for place, scale in enumerate((1.0, 1 / 3)):
            rows = [scale * keys[block] @ query for query in queries[block]]
            norms = [np.linalg.norm(complex_step(softmax, row)) ** 2 for row in rows]
            assert found[block, place] == pytest.approx(np.mean(norms), rel=1e-9)


def test_it_says_what_it_draws() -> None:
    """Nine components each of three queries and four keys."""
    assert SAMPLER.coordinates == 63
    assert SAMPLER.scores == 12
    assert SAMPLER.held > SAMPLER.coordinates
