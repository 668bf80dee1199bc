"""Expectations for any number of keys: what they are, and which bounds their checks let through."""

from typing import Any

import pytest
from sympy import Sum, exp, log

from tests.symbolic.all_scores import mean_over_scores
from verify.claims.gradients.shared.jacobian import FROBENIUS
from verify.symbolic.kernel.words import E, n, p, s, sigma
from verify.symbolic.row_means import row_mean
from verify.symbolic.softmax import i, j

pytestmark = pytest.mark.slow  # of the former core, which is no longer worked on

SQUARES = Sum(p[i] ** 2, (i, 1, n))
INNER = Sum(p[i] * s[i], (i, 1, n))
TOTAL = E(log(Sum(exp(s[i]), (i, 1, n))))
ENTROPY = E(-Sum(p[i] * log(p[i]), (i, 1, n)))


@pytest.mark.parametrize("keys", [pytest.param(2, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize(
    "expression",
    [
        ENTROPY,
        TOTAL,
        E(FROBENIUS),
        E(1 - SQUARES) / 2,
        sigma**2 * E(INNER) - n * log(n),
        E(Sum(s[j] * (p[j] ** 2 - 2 * p[j] * SQUARES), (j, 1, n))),
        E(SQUARES * INNER**2),
        E(SQUARES * Sum(s[j], (j, 1, n))),
    ],
)
def test_against_integration_over_all_scores(expression: Any, keys: int) -> None:
    """The same number by another route, to twelve digits."""
    for deviation in (0.5, 1.0, 2.0):
        found = row_mean(expression, keys, deviation)
        assert found.value == pytest.approx(mean_over_scores(expression, keys, deviation), abs=1e-12)
        assert found.error < 1e-11


@pytest.mark.parametrize(
    "expression",
    [E(SQUARES) ** 2, E(Sum(s[i], (i, 1, n))), E(Sum(p[i], (i, 1, 5))), E(Sum(exp(p[i]), (i, 1, n)))],
)
def test_what_has_no_such_integral_is_refused(expression: Any) -> None:
    """A square of an expectation, scores without weights, other sums: no number, rather than a wrong one."""
    with pytest.raises((ValueError, TypeError)):
        row_mean(expression, 3, 1.0)
