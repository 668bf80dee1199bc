"""Inputs: what is drawn is what is said, also of vectors that depend on each other."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.montecarlo.samples import Spy, generator
from tests.strategies import FALSE_ALARM
from verify.montecarlo import inputs
from verify.montecarlo.distributions import NORMAL, UNIFORM, Array
from verify.montecarlo.inputs import (
    Linked,
    ProjectedTokens,
    Simulated,
    bartlett_components,
    bartlett_setting,
    bartlett_vectors,
)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_coordinates_are_those_drawn(columns: bool, correlation: float) -> None:  # a parameter
    """What is counted as drawn is what was drawn, also with shared components and in columns."""
    query, key = Spy(NORMAL), Spy(NORMAL)
    drawn = Simulated(query, key, 4, 2, 3, correlation)  # type: ignore[arg-type]  # spies draw
    queries, keys = drawn.draw(generator(), 5, columns=columns)
    assert (queries.shape, keys.shape) == ((5, 4, 3), (5, 2, 3))
    assert sum(x.size for x in query.drawn + key.drawn) == 5 * drawn.coordinates


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("rho", [0.3, 0.8])
def test_components_are_equicorrelated(rho: float, columns: bool) -> None:  # a parameter
    """Components of one vector have covariance ρ and variance 1; those of different vectors none.

    Central limit bounds at 1e-6 for all entries together, with the normal distribution's exact errors.
    """
    d, count, side = 3, 40_000, 2
    drawn = Simulated(NORMAL, NORMAL, side, side, d, rho)
    x = drawn.draw(generator(6), count, columns=columns)[0].reshape(count, side * d)
    covariance = x.T @ x / count
    within = rho + (1 - rho) * np.eye(d)
    expected = np.kron(np.eye(side), within)
    z = stats.norm.isf(FALSE_ALARM / 2 / covariance.size)
    assert np.all(np.abs(covariance - expected) <= z * np.sqrt((1 + expected**2) / count))


MIXING = ((1.0, 0.0, 2.0), (0.0, -1.0, 0.5), (3.0, 1.0, 0.0), (0.0, 2.0, -1.0))
"""Two query and two key components made from three numbers, no two rows alike."""
MEANS = (1.0, -2.0, 0.5, 4.0)


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


ERRORS = 5
"""Standard errors that a mean may be off."""


def agrees(values: Array, expected: float) -> bool:
    """Return whether the mean of the sets' values is what is expected, but for chance."""
    error = values.std() / math.sqrt(len(values))
    return bool(abs(values.mean() - expected) < ERRORS * error)


@pytest.mark.parametrize("d", [1, 3, 4])
def test_few_dimensions_are_drawn_as_they_are(d: int) -> None:
    """Up to as many dimensions as axes, every component is drawn."""
    drawn = bartlett_vectors(np.random.default_rng(1), 5, 6, d, 4)
    assert np.array_equal(drawn, NORMAL.draw(np.random.default_rng(1), (5, 6, d)))
    assert bartlett_components(6, d, 4) == 6 * d
    assert bartlett_setting(d, 4) == ()


@pytest.mark.parametrize(("many", "axes"), [(4, None), (6, 4), (3, 1)])
def test_axes_are_those_of_the_first_vectors(
    monkeypatch: pytest.MonkeyPatch, many: int, axes: int | None
) -> None:
    """The first vector lies along the first axis, the second in the first two; no axis is left out."""
    drawn: list[int] = []

    class Counted:
        def draw(self, rng: np.random.Generator, shape: tuple[int, ...], *, single: bool) -> Array:
            drawn.append(math.prod(shape))
            return NORMAL.draw(rng, shape, single=single)

    counted: Any = Counted()
    monkeypatch.setattr(inputs, "NORMAL", counted)
    vectors = bartlett_vectors(np.random.default_rng(2), 7, many, 9, axes)
    span = axes or many
    assert vectors.shape == (7, many, span)
    for place in range(many):
        assert np.all(vectors[:, place, : place + 1])
        assert not np.any(vectors[:, place, place + 1 :]) or place >= span
    assert np.all(vectors[:, range(span), range(span)] > 0)
    assert sum(drawn) + 7 * span == 7 * bartlett_components(many, 9, axes), (
        "a length for each axis, and normals"
    )
