"""Inputs: what is drawn is what is said, also of vectors that depend on each other."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.montecarlo.samples import Spy, generator
from tests.strategies import FALSE_ALARM
from verify.montecarlo import inputs
from verify.montecarlo.distributions import NORMAL, Array
from verify.montecarlo.inputs import (
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
