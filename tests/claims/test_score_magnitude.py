"""The mean size stays below its asymptote: by the root of the mean square, and by nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import Symbol, sqrt

from tests.following import holds, holds_with
from verify.claims.raw_scores import score_magnitude as claim
from verify.symbolic.kernel.words import E
from verify.symbolic.scores import d

LENGTH = claim.LENGTH


@pytest.mark.parametrize(
    ("number", "wrong"),
    [
        pytest.param(0, sqrt(E(LENGTH)), id="the mean, not the mean square"),
        pytest.param(0, E(LENGTH**2), id="no root"),
        pytest.param(0, sqrt(E(Symbol("w") ** 2)), id="another variable"),
        pytest.param(1, d, id="the mean square itself"),
        pytest.param(1, sqrt(d + 1), id="another dimension"),
    ],
)
def test_a_wrong_step_to_the_bound_is_noticed(number: int, wrong: Any) -> None:
    """Each step of the bound fails with another expression in its place."""
    bound = claim.derive().lemmas[0]
    assert holds(bound, number)
    assert not holds_with(bound, wrong, number)


def test_a_share_is_positive() -> None:
    """Squares do not tell a share from its negative, so the step asks for the sign."""
    share = claim.derive().lemmas[1]
    assert holds(share, -1)
    assert not holds_with(share, -share.end, -1)
