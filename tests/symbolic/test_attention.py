"""Attention entry by entry: what its check accepts, and wrong gradients that it does not."""

from typing import Any

import numpy as np
import pytest
from sympy import S, Sum

from verify.montecarlo.attention import gradients, probabilities
from verify.symbolic.attention import (
    DIFFERENTIATED, DK, DP, DQ, DS, DV, G, K, P, Q, V, a, b, c, d_v, h, j, k, m, value,
)  # fmt: skip
from verify.symbolic.kernel.core import Reach, prove
from verify.symbolic.kernel.hypotheses import Refused
from verify.symbolic.kernel.words import n

pytestmark = pytest.mark.slow  # of the former core, which is no longer worked on

INNER = Sum(P[a, k] * DP[a, k], (k, 1, n))
OF_SCORES = P[a, j] * (DP[a, j] - INNER)


@pytest.mark.parametrize(
    ("derivative", "formula"),
    [
        pytest.param(DV[j, b], Sum(P[a, j] * G[a, b], (a, 1, m)), id="values"),
        pytest.param(DP[a, j], Sum(G[a, b] * V[j, b], (b, 1, d_v)), id="probabilities"),
        pytest.param(DS[a, j], OF_SCORES, id="scores"),
        pytest.param(DQ[a, h], c * Sum(DS[a, j] * K[j, h], (j, 1, n)), id="queries"),
        pytest.param(DK[j, h], c * Sum(DS[a, j] * Q[a, h], (a, 1, m)), id="keys"),
    ],
)
def test_the_gradients_are_accepted(derivative: Any, formula: Any) -> None:
    """Each formula of the matrices' entries is what SymPy finds by differentiating the loss."""
    assert prove(DIFFERENTIATED, derivative, formula).relation == "="
    with pytest.raises(Refused):
        prove(DIFFERENTIATED, derivative, formula * S(101) / 100)


@pytest.mark.parametrize(
    ("derivative", "formula"),
    [
        pytest.param(DS[a, j], P[a, j] * DP[a, j], id="the sum's own change left out"),
        pytest.param(DS[a, j], P[a, j] * (1 - P[a, j]) * DP[a, j], id="as if logistic"),
        pytest.param(DS[a, j], P[a, j] * (DP[a, j] + INNER), id="the wrong sign"),
        pytest.param(DQ[a, h], Sum(DS[a, j] * K[j, h], (j, 1, n)), id="the scale left out"),
        pytest.param(DK[j, h], c * Sum(DS[a, j] * K[j, h], (a, 1, m)), id="keys for queries"),
        pytest.param(DV[j, b], Sum(P[a, j] * G[a, b], (a, 1, m)) / m, id="a mean for a sum"),
        pytest.param(DV[j, b], P[1, j] * G[1, b], id="one query only"),
    ],
)
def test_wrong_gradients_are_not(derivative: Any, formula: Any) -> None:
    """Popular slips, right at the smallest shapes some of them, fail at another."""
    with pytest.raises(Refused):
        prove(DIFFERENTIATED, derivative, formula)


def test_values_are_those_of_the_array_code() -> None:
    """The derived gradient of the queries, put in numbers, entry by entry."""
    rng = np.random.default_rng(1)
    queries, keys, values = (rng.normal(size=size) for size in ((2, 3), (4, 3), (4, 2)))
    upstream = rng.normal(size=(2, 2))
    weights = probabilities(queries, keys, 0.3)
    found = gradients(queries, keys, values, weights, upstream, 0.3)
    known = {Q: queries, K: keys, V: values, P: weights, DS: found.scores, G: upstream}
    of_queries = value(c * Sum(DS[a, j] * K[j, h], (j, 1, n)), (a, h), known, 0.3)
    np.testing.assert_allclose(of_queries, found.queries, rtol=1e-12)
    of_values = value(Sum(P[a, j] * G[a, b], (a, 1, m)), (j, b), known, 0.3)
    np.testing.assert_allclose(of_values, found.values, rtol=1e-12)


def test_the_label_says_how_far() -> None:
    """Any sizes, and the theorem says where its indices run."""
    assert "any number of queries, keys and dimensions" in DIFFERENTIATED.label
    theorem = prove(DIFFERENTIATED, DV[j, b], Sum(P[a, j] * G[a, b], (a, 1, m)))
    assert theorem.reach == Reach.ALL_VALUES
    assert theorem.hypotheses.ranges == {j: n, b: d_v}
