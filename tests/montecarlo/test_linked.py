"""Queries and keys that depend on each other or on their tokens: what is drawn is what is said."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.montecarlo.samples import generator
from verify.montecarlo.distributions import NORMAL, UNIFORM
from verify.montecarlo.inputs import Linked, ProjectedTokens

MIXING = ((1.0, 0.0, 2.0), (0.0, -1.0, 0.5), (3.0, 1.0, 0.0), (0.0, 2.0, -1.0))
"""Two query and two key components made from three numbers, no two rows alike."""
MEANS = (1.0, -2.0, 0.5, 4.0)


@pytest.mark.parametrize("columns", [False, True])
def test_shapes(columns: bool) -> None:  # a parameter of the test
    """As many queries and keys as are said, of as many components."""
    for drawn in (Linked(3, 4, NORMAL, MIXING, MEANS), ProjectedTokens(6, 2, 3, NORMAL, Fraction(1, 4))):
        queries, keys = drawn.draw(generator(1), 5, columns=columns)
        m, n, d = drawn.shape
        assert (queries.shape, keys.shape) == ((5, m, d), (5, n, d))
        assert drawn.held > drawn.coordinates


class TestSettings:
    """What the samplers say of themselves is what they draw."""

    def test_the_covariance_is_that_of_the_components(self) -> None:
        """The recorded matrix has a row for each query component, and agrees with what is drawn."""
        pairs = Linked(1, 50_000, NORMAL, MIXING, MEANS)
        assert dict(pairs.settings) == {
            "d_k": 2,
            "components": "normal",
            "Cov(q, k)": "[3 −2; −1 −2.5]",
            "Cov(q)": "[5 1; 1 1.25]",
            "Cov(k)": "[10 2; 2 5]",
            "means": "[1 −2; 0.5 4]",
        }
        queries, keys = (one[0] for one in pairs.draw(generator(3), 1, columns=False))
        drawn = np.cov(queries, keys, rowvar=False)
        stated = [[5, 1, 3, -2], [1, 1.25, -1, -2.5], [3, -1, 10, 2], [-2, -2.5, 2, 5]]
        assert np.allclose(drawn, np.array(stated), atol=0.3)

    def test_queries_and_keys_may_be_made_separately(self) -> None:
        """Each by the same matrix, from numbers of its own."""
        own = ((1.0, 0.0), (0.6, 0.8))
        mixing = ((1.0, 0, 0, 0), (0.6, 0.8, 0, 0), (0, 0, 1.0, 0), (0, 0, 0.6, 0.8))
        assert Linked.separate(3, 4, NORMAL, own) == Linked(3, 4, NORMAL, mixing, (0.0,) * 4)
        assert Linked.separate(3, 4, NORMAL, own, MEANS).means == MEANS

    def test_a_key_that_is_the_query_is_said_to_be(self) -> None:
        """A matrix of ones alone would not say so for every distribution."""
        own = dict(Linked(8, 4, UNIFORM, ((1.0,), (1.0,)), (0.0, 0.0)).settings)
        assert own == {"d_k": 8, "components": "uniform", "key": "the query itself"}
        other = dict(Linked(8, 4, NORMAL, ((1.0, 0.0), (0.5, 0.75)), (0.0, 0.0)).settings)
        assert other["Cov(q, k)"] == "0.5"

    def test_projections(self) -> None:
        """Dimensions, and the distribution and variance of the entries."""
        assert dict(ProjectedTokens(6, 2, 3, NORMAL, Fraction(1, 4)).settings) == {
            "d_k": 2,
            "token width": 6,
            "entries": "normal",
            "entry variance": "1/4",
        }
