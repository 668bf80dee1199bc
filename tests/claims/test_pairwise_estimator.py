"""The counting step of the pairwise estimator: more than a few sizes agree by chance."""

from __future__ import annotations

from typing import Any

import pytest

from verify.claims.raw_scores import pairwise_estimator as claim
from verify.symbolic.expectation import E


@pytest.mark.parametrize("extra", [claim.N - 3, (claim.N - 3) * (claim.N - 4)])
def test_a_term_that_vanishes_at_some_sizes_is_noticed(extra: Any) -> None:
    """A count that is wrong only for sizes not often tried does not pass."""
    (route,) = claim.derive().routes
    step = route.steps[0]
    assert step.check.holds(route.start, step.expression)
    spoiled = step.expression + extra * E(claim._score(claim.a, claim.b) ** 2)
    assert not step.check.holds(route.start, spoiled)
