"""The counting step of the pairwise estimator: more than a few sizes agree by chance."""

from __future__ import annotations

from typing import Any

import pytest

from tests.following import holds, holds_with
from verify.claims.raw_scores import pairwise_estimator as claim
from verify.symbolic.kernel.words import E
from verify.symbolic.scores import d


@pytest.mark.parametrize("extra", [claim.N - 3, (claim.N - 3) * (claim.N - 4)])
def test_a_term_that_vanishes_at_some_sizes_is_noticed(extra: Any) -> None:
    """A count that is wrong only for sizes not often tried does not pass."""
    (route,) = claim.derive().routes
    step = route.steps[0]
    assert holds(route)
    spoiled = step.expression + extra * E(claim._score(claim.a, claim.b) ** 2)
    assert not holds_with(route, spoiled)


@pytest.mark.parametrize(
    "extra",
    [
        (d - 1) * (d - 2) * claim.mu**4,
        (d - 1) * (d - 2) * (d - 3) * claim.mu**4,
        claim.mu**4,
    ],
)
def test_a_term_that_vanishes_in_some_dimensions_is_noticed(extra: Any) -> None:
    """A polynomial in d that is 0 in the few dimensions tried does not pass either."""
    (route,) = claim.derive().routes
    step = route.steps[0]
    assert not holds_with(route, step.expression + extra / (claim.N * (claim.N - 1)))
