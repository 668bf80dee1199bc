"""Programs of few bits and of one pass, by plain loops and by formats that NumPy has."""

import math

import numpy as np
import pytest

from verify.claims.newer import online_softmax
from verify.spec.arrays import softmax

RNG = np.random.default_rng(8)


@pytest.mark.parametrize("lag", [0.0, 1.0, 8.0])
def test_one_pass_is_softmax(lag: float) -> None:
    """Whatever the lag; the reference never lags by more, and no partial sum is beyond the bound."""
    scores = 3 * RNG.normal(size=(8, 40))
    weights, most = online_softmax.one_pass(scores, lag)
    assert weights == pytest.approx(softmax(scores))
    stored = online_softmax.references(scores, lag)
    assert np.all(scores - stored <= lag)
    assert np.all(most <= 1 + 39 * math.exp(lag))
    assert np.array_equal(online_softmax.references(scores, 0.0), np.maximum.accumulate(scores, axis=1))
