"""Where queries and keys come from: what is drawn is what is said; recorded blocks stay as they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.montecarlo.samples import Spy, generator
from tests.strategies import FALSE_ALARM
from verify.montecarlo.distributions import NORMAL, UNIFORM, UNIT_INTERVAL
from verify.montecarlo.inputs import SharedVectors, Simulated, vectors


def test_inputs_say_what_they_draw() -> None:
    """Dimension, distributions and correlation come from the fields that are drawn by."""
    assert dict(Simulated(NORMAL, UNIT_INTERVAL.moved(1, 2), 4, 5, 3, 0.25).settings) == {
        "d_k": 3,
        "query": "normal",
        "key": "1 + 2·U(0,1)",
        "correlation": 0.25,
    }
    assert "correlation" not in dict(Simulated(NORMAL, NORMAL, 4, 4, 3).settings)
    assert dict(SharedVectors(UNIFORM, 9, 2).settings) == {"d_k": 2, "vectors": 9, "components": "uniform"}


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_coordinates_are_those_drawn(columns: bool, correlation: float) -> None:  # a parameter
    """What is counted as drawn is what was drawn, also with shared components and in columns."""
    query, key = Spy(NORMAL), Spy(NORMAL)
    drawn = Simulated(query, key, 4, 2, 3, correlation)  # type: ignore[arg-type]  # spies draw
    queries, keys = drawn.draw(generator(), 5, columns=columns)
    assert (queries.shape, keys.shape) == ((5, 4, 3), (5, 2, 3))
    assert sum(x.size for x in query.drawn + key.drawn) == 5 * drawn.coordinates


def test_columns_are_rows_in_memory() -> None:
    """One component of all vectors lies together; the numbers are those of the stream in that order."""
    across = vectors(generator(2), NORMAL, (5, 4, 3), columns=True)
    assert across.swapaxes(1, 2).flags.c_contiguous
    assert np.array_equal(across.swapaxes(1, 2), NORMAL.draw(generator(2), (5, 3, 4)))
    assert vectors(generator(2), NORMAL, (5, 4, 3), columns=False).flags.c_contiguous


def test_shared_vectors_are_queries_and_keys() -> None:
    """Nothing is drawn twice."""
    queries, keys = SharedVectors(NORMAL, 4, 3).draw(generator(3), 5, columns=True)
    assert queries is keys


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
