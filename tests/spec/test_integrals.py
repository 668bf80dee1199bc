"""Means over normal rows by one-dimensional integrals."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import special
from sympy import Expr, log, sqrt

from verify.errors import ClaimError
from verify.spec import ON_PAPER, E, Entropy, Largest, LogSumExp, Softmax, a, b, d, integrated, j, l, n
from verify.spec import over_keys, s, score, score_of, sigma, squares

x = sigma * s[a, j]
p, p_of_l = Softmax(x, j), Softmax(sigma * s[a, l], l)
SPREAD = over_keys(p * (x - over_keys(p_of_l * sigma * s[a, l], l)) ** 2)


def hermite(function: object, deviation: float, points: int = 120) -> float:
    """Return the mean of a function of two keys' scores by Gauss and Hermite's rule on a grid."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    scores = deviation * np.stack(np.meshgrid(nodes, nodes), -1)
    return float(weights @ function(scores) @ weights / (2 * math.pi))  # type: ignore[operator]


weights_of = partial(special.softmax, axis=-1)


@pytest.mark.parametrize(
    ("expression", "function"),
    [
        (p * p_of_l, lambda s: weights_of(s).prod(-1)),
        (squares(x), lambda s: (weights_of(s) ** 2).sum(-1)),
        (squares(x) ** 2, lambda s: (weights_of(s) ** 2).sum(-1) ** 2),
        (over_keys(p * s[a, j]), lambda s: (weights_of(s) * s).sum(-1) / 0.7),
        (p * squares(x), lambda s: weights_of(s)[..., 0] * (weights_of(s) ** 2).sum(-1)),
        (SPREAD, lambda s: (weights_of(s) * s**2).sum(-1) - (weights_of(s) * s).sum(-1) ** 2),
        (Entropy(x, j), lambda s: -(weights_of(s) * np.log(weights_of(s))).sum(-1)),
        (-over_keys(p * log(p)), lambda s: -(weights_of(s) * np.log(weights_of(s))).sum(-1)),
        (LogSumExp(x, j) * squares(x), lambda s: np.log(np.exp(s).sum(-1)) * (weights_of(s) ** 2).sum(-1)),
    ],
)
def test_two_keys_agree_with_a_grid(expression: Expr, function: object) -> None:
    """A mean over two keys is what the product rule over both scores gives."""
    expected = hermite(function, 0.7)
    assert integrated(E(expression), {n: 2, sigma: 0.7}) == pytest.approx(expected, rel=1e-11)


@given(st.integers(2, 1000), st.floats(0.2, 8.0))
@settings(max_examples=25, deadline=None)
def test_weights_add_up_to_one(keys: int, deviation: float) -> None:
    """A mean weight is 1/n, squares and pairs make 1."""
    at = {n: keys, sigma: deviation}
    assert integrated(n * E(p), at) == pytest.approx(1, abs=1e-11)
    assert integrated(E(squares(x)) + n * (n - 1) * E(p * p_of_l), at) == pytest.approx(1, abs=1e-11)


def test_largest() -> None:
    """The largest score of two has the mean σ/√π, and the largest weight of 3 joins on to that of 2."""
    assert integrated(E(Largest(x, j)), {n: 2, sigma: 3}) == pytest.approx(3 / math.sqrt(math.pi), rel=1e-12)
    mean = [integrated(E(Largest(p, j)), {n: keys, sigma: 1e-3}) for keys in (2, 3)]
    assert mean == pytest.approx([1 / 2, 1 / 3], abs=1e-3)


def test_scores_of_a_query_are_averaged_over_its_length() -> None:
    """In many dimensions scaled scores are as good as independent ones; a coarser rule is near."""
    quantity = E(squares(score / sqrt(d)))
    far = integrated(quantity, {n: 16, d: 10**6})
    assert far == pytest.approx(integrated(E(squares(s[a, j])), {n: 16}), rel=1e-5)
    coarse = integrated(quantity, {n: 16, d: 4}, ON_PAPER)
    assert coarse == pytest.approx(integrated(quantity, {n: 16, d: 4}), rel=1e-3)


@pytest.mark.parametrize(
    "expression",
    [
        Softmax(x, j) * Softmax(2 * x, j),
        p * p.xreplace({a: b}),
        LogSumExp(x, j) ** 2,
        Largest(x, j) * squares(x),
        over_keys(x**2),
        squares(score_of(b, j)),
        squares(x**2),
        squares(x + 1),
    ],
)
def test_what_is_not_integrated_is_refused(expression: Expr) -> None:
    """Several scales, powers of a log-sum-exp, products with the largest, bare or squared scores."""
    with pytest.raises(ClaimError, match="integra"):
        integrated(E(expression), {n: 4, sigma: 1, d: 3})
