"""The bound for row t: only what is linear in σ² may be averaged by putting in the mean of σ²."""

from __future__ import annotations

from dataclasses import replace

from sympy import S, log

from tests.following import holds
from verify.claims.limits import causal_rows as claim
from verify.symbolic.kernel.words import n, sigma


def test_the_mean_of_a_square_is_not_put_into_anything_else() -> None:
    """Neither a bound with σ⁴ nor one with σ passes, though at σ = 1 each gives the same."""
    row = next(one for one in claim.derive().lemmas if one.end == log(claim.t) - S.Half)
    assert holds(row)
    for power in (1, 4):
        assert not holds(replace(row, start=log(n) - sigma**power / 2))
    assert not holds(replace(row, start=log(n) - sigma**2))
