"""Softmax with symbolic n: what its checks accept, and what they do not let through."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import Sum

from tests.symbolic.all_scores import mean_over_scores
from verify.symbolic.kernel.algebra import is_zero
from verify.symbolic.kernel.words import E, n, p, s, sigma
from verify.symbolic.softmax import i, written_out

SQUARES = Sum(p[i] ** 2, (i, 1, n))
INNER = E(Sum(p[i] * s[i], (i, 1, n)))
STEIN = sigma**2 * (1 - E(SQUARES))


@pytest.mark.parametrize(
    ("after", "holds"),
    [(1 - SQUARES, True), (1 - SQUARES / 2, False), (1 - Sum(p[i] ** 3, (i, 1, n)), False)],
)
def test_written_out_separates_right_from_wrong(after: Any, holds: bool) -> None:
    """Σp(1-p) = 1 - Σp², and no other thing."""
    before = Sum(p[i] * (1 - p[i]), (i, 1, n))
    assert all(is_zero(written_out(before - after, keys)) for keys in (2, 3)) is holds


def test_integration_separates_right_from_wrong() -> None:
    """Stein's identity holds to nine digits; one part in a million is noticed."""
    for keys, deviation in ((2, 0.5), (3, 2.0)):
        inner, stein = (mean_over_scores(side, keys, deviation) for side in (INNER, STEIN))
        assert inner == pytest.approx(stein, rel=1e-9)
        assert inner != pytest.approx(stein * (1 + 1e-6), rel=1e-9)
