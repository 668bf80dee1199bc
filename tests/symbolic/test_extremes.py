"""The largest of n normal variables: by simulation, by its integral, by ties, and what is not its mean."""

import math

import numpy as np
import pytest

from verify.symbolic.extremes import LARGEST, TIES, number


@pytest.mark.parametrize("keys", [2, 5, 16])
def test_the_largest_score_and_the_ties_are_the_same_number(keys: int) -> None:
    """M_n by simulation, by its integral, and by the density of a tie of the two largest."""
    drawn = np.random.default_rng(keys).normal(size=(200_000, keys))
    assert number(LARGEST, keys) == pytest.approx(drawn.max(axis=1).mean(), abs=0.01)
    assert number(TIES, keys) == pytest.approx(number(LARGEST, keys), rel=1e-9)
    assert number(LARGEST, 2) == pytest.approx(1 / math.sqrt(math.pi), rel=1e-9)
