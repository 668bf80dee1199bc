"""Samplers of rows, values and scales: against plain loops over the same draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, special

from verify.montecarlo.distributions import LAPLACE, NORMAL, Array
from verify.montecarlo.samplers import NormalRows, RecoveredScales, ScoresBesideValues, fitted_scale, response


def test_normal_rows_have_their_deviation() -> None:
    """Of tiny deviation, a row is nearly even; of a huge one, nearly all on one key."""
    even = NormalRows(8, 4, 1e-6, NORMAL, ("squares",)).sample(np.random.default_rng(3), 10)
    frozen = NormalRows(8, 4, 1e6, NORMAL, ("squares",)).sample(np.random.default_rng(3), 10)
    assert even == pytest.approx(1 / 8)
    assert frozen == pytest.approx(1)


def test_values_are_drawn_and_kept_apart() -> None:
    """Scores and values come from draws of their own; the last statistic pairs each key with its value."""
    sampler = ScoresBesideValues(4, 6, 3, NORMAL, LAPLACE)
    found = sampler.sample(np.random.default_rng(2), 2)
    rng = np.random.default_rng(2)
    queries, keys = (NORMAL.draw(rng, (2, 3, 4)) for _ in range(2))
    values = LAPLACE.draw(rng, (2, 3, 6))
    assert sampler.coordinates == (2 * 4 + 6) * 3
    for block in range(2):
        assert found[block] == pytest.approx(_paired(queries[block], keys[block], values[block]))


def test_without_a_law_the_values_are_the_keys() -> None:
    """Nothing more is drawn, and every key is paired with itself."""
    sampler = ScoresBesideValues(4, 4, 3, NORMAL)
    rng = np.random.default_rng(2)
    queries, keys = (NORMAL.draw(rng, (2, 3, 4)) for _ in range(2))
    assert sampler.coordinates == 2 * 4 * 3
    found = sampler.sample(np.random.default_rng(2), 2)
    for block in range(2):
        assert found[block] == pytest.approx(_paired(queries[block], keys[block], keys[block]))


def _paired(queries: Array, keys: Array, values: Array) -> list[float]:
    """Return the statistics of one block, score by score."""
    scores = [[float(query @ key) for key in keys] for query in queries]
    sizes = [float(np.mean(value**2)) for value in values]
    flat = [one for row in scores for one in row]
    products = [one**2 * size for row in scores for one, size in zip(row, sizes, strict=True)]
    squares = [one**2 for one in flat]
    return [float(np.mean(each)) for each in (flat, squares, sizes, products)]


def test_settings_say_whose_values_they_are() -> None:
    """Values of their own have a distribution, others are the keys."""
    own = dict(ScoresBesideValues(4, 6, 3, NORMAL, LAPLACE).settings)
    assert own == {"d_k": 4, "d_v": 6, "query, key": "normal", "values": "Laplace", "block": "3×3"}
    assert dict(ScoresBesideValues(4, 4, 3, NORMAL).settings)["values"] == "the keys"


def _row(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return 3 * rng.normal(size=6), rng.normal(size=(6, 4))


def test_the_response_is_softmax_and_its_slope() -> None:
    """The output is SciPy's softmax times the values, and the slope that of small differences."""
    scores, values = _row(1)
    output, slope = response(scores, values, 0.3)
    np.testing.assert_allclose(output, special.softmax(0.3 * scores) @ values, rtol=1e-13)
    high, low = (response(scores, values, 0.3 + step)[0] for step in (1e-5, -1e-5))
    np.testing.assert_allclose(slope, (high - low) / 2e-5, rtol=1e-7)


@pytest.mark.parametrize("start", [0.2, 0.3, 0.4])
def test_the_fit_is_the_least_squares_one(start: float) -> None:
    """From near starts, with errors, the fitted scale is where SciPy finds the least sum of squares."""
    scores, values = _row(2)
    output = response(scores, values, 0.3)[0] + 0.01 * np.random.default_rng(5).normal(size=4)
    found = float(fitted_scale(scores, values, output, start))
    best = optimize.minimize_scalar(
        lambda c: float(np.sum((response(scores, values, c)[0] - output) ** 2)), (0.2, 0.4), tol=1e-12
    )
    assert found == pytest.approx(float(best.x), abs=1e-6)


def test_deviations_are_in_standard_errors() -> None:
    """Over many rows the deviation has mean 0 and mean square 1, within five of their own errors."""
    blocks = 20_000
    drawn = RecoveredScales(16, 8, 4, 0.25, 1e-5).sample(np.random.default_rng(7), blocks)
    assert abs(drawn[:, 0].mean()) < 5 / math.sqrt(blocks)
    assert abs(drawn[:, 1].mean() - 1) < 5 * math.sqrt(2 / blocks)


def test_settings_say_what_is_drawn() -> None:
    """The settings name the sizes, the scale and the errors that the sampler has."""
    assert dict(RecoveredScales(16, 8, 4, 0.25, 1e-5, times=3).settings) == {
        "n": 8,
        "d_k": 16,
        "d_v": 4,
        "scale": 0.25,
        "error of an entry": 1e-5,
        "block": "one row, 3 times errors",
    }
