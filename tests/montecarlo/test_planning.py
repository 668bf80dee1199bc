"""The shape of blocks: within the offered sides, cheapest among them, and the same everywhere."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples, floats
from verify.montecarlo.estimands import MIN_BLOCKS
from verify.montecarlo.planning import SIDES, best_queries, best_side, block_cost


def gaussian(d: int) -> dict[int, float]:
    """Return the relative block variance of Gaussian scores for every side."""
    return {m: (4 * d / m + (2 * d**2 + 2 * d) / m**2) / d**2 for m in SIDES}


@examples(60)
@given(st.integers(1, 4096), floats(1e-3, 0.2))
def test_one_of_the_sides_and_always_the_same(d: int, tolerance: float) -> None:
    """The choice is one of the sides offered, and no other costs less for the blocks it needs."""
    variance = gaussian(d)
    side = best_side(d, variance.__getitem__, tolerance)
    assert side in SIDES
    assert side == best_side(d, variance.__getitem__, tolerance)
    costs = {m: max(MIN_BLOCKS, 49 * variance[m] / tolerance**2) * block_cost(d, m) for m in SIDES}
    assert costs[side] <= min(costs.values()) * (1 + 1e-9)


@pytest.mark.parametrize("d", [1, 8, 64, 1024])
def test_larger_blocks_cost_more(d: int) -> None:
    """The cost of a block grows with its side, and at least with what it draws."""
    costs = [block_cost(d, side) for side in SIDES]
    assert all(a < b for a, b in pairwise(costs))
    assert all(cost >= 2 * side * d for cost, side in zip(costs, SIDES, strict=True))


@pytest.mark.parametrize("d", [8, 64, 512])
def test_matrices_beat_single_pairs(d: int) -> None:
    """A score matrix reaches the tolerance at a fraction of the draws of independent pairs."""
    variance = gaussian(d)
    side = best_side(d, variance.__getitem__, 1e-3)
    draws = {m: 2 * m * d * variance[m] for m in (1, side)}
    assert side > 1
    # At best the gain tends to (d+3)/2; a side near √d must have a good part of it.
    assert draws[1] / draws[side] > (d + 3) / 2 / 4


@examples(60)
@given(keys=st.integers(2, 60), d=st.integers(1, 60))
def test_queries_that_share_keys_cost_least_for_what_they_tell(keys: int, d: int) -> None:
    """No other number has a smaller product of what is drawn and of the variance of the rows' mean."""
    costs = {m: (m + keys) * (1 / m + 1 / d) for m in range(1, 8 * keys + 1)}
    assert costs[best_queries(keys, d)] <= 1.01 * min(costs.values())


def test_queries_are_never_too_many_or_none() -> None:
    """At the ends of what keys and dimensions there are."""
    assert [best_queries(*at) for at in ((1, 1), (2, 4096), (10**6, 1), (512, 512))] == [1, 16, 64, 64]
