"""The shape of blocks: within the offered sides, cheapest among them, and the same everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples, floats
from verify.montecarlo.estimands import MIN_BLOCKS
from verify.montecarlo.planning import SIDES, best_queries, best_side, block_cost, cheapest


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


@pytest.mark.parametrize("d", [8, 64, 512])
def test_matrices_beat_single_pairs(d: int) -> None:
    """A score matrix reaches the tolerance at a fraction of the draws of independent pairs."""
    variance = gaussian(d)
    side = best_side(d, variance.__getitem__, 1e-3)
    draws = {m: 2 * m * d * variance[m] for m in (1, side)}
    assert side > 1
    # At best the gain tends to (d+3)/2; a side near √d must have a good part of it.
    assert draws[1] / draws[side] > (d + 3) / 2 / 4


def test_queries_are_never_too_many_or_none() -> None:
    """At the ends of what keys and dimensions there are."""
    assert [best_queries(*at) for at in ((1, 1), (2, 4096), (10**6, 1), (512, 512))] == [1, 16, 35, 64]


_POINTS = st.lists(
    st.tuples(st.floats(0.01, 100), st.floats(1, 1e5), st.integers(128, 10_000)), min_size=2, max_size=6
)


@examples(60)
@given(points=_POINTS, share=floats(0.05, 0.95), moved=st.integers(0, 5), other=st.integers(0, 5))
def test_the_cheapest_blocks_suffice_and_cost_least(
    points: list[tuple[float, float, int]], share: float, moved: int, other: int
) -> None:
    """They bring the variance down to what is wanted, and no exchange between two cells saves anything."""
    needed, costs, least = (np.array(one, dtype=float) for one in zip(*points, strict=True))
    most = share * float(np.sum(needed / least))
    blocks = cheapest(needed, costs, least, most)
    assert np.all(blocks >= least)
    assert np.sum(needed / blocks) == pytest.approx(most)
    one, two = moved % len(points), other % len(points)
    exchanged = blocks.copy()
    exchanged[one] = max(least[one], 0.99 * blocks[one])
    left = most - np.sum(np.delete(needed / exchanged, two))
    if one != two and left > 0:
        exchanged[two] = max(least[two], needed[two] / left)
        assert costs @ exchanged >= (costs @ blocks) * (1 - 1e-9)
