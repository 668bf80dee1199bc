"""Scales that are read off outputs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, special

from verify.claims.modern.shared.recovery import RecoveredScales, fitted_scale, response


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
