"""Fits through measured points: what a law's line, its slope and its exponent must be."""

from __future__ import annotations

import pytest
from sympy import S

from verify.errors import ClaimError
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.experiment import Fit
from verify.spec.cells import score_cell
from verify.spec.checks import variances
from verify.spec.fitting import fits, in_dimension, linear_fits, no_slope, slope_of
from verify.symbolic.scores import d

CELLS = [score_cell(n, NORMAL, NORMAL, 0.05) for n in (1, 2, 8)]
POINTS = variances(CELLS, "Var", 3 * d)


class TestFits:
    """Coefficients of lines through points."""

    def test_the_point_of_a_dimension(self) -> None:
        """Found by what its cell records."""
        assert in_dimension(POINTS, 8) is POINTS[2]

    def test_a_line(self) -> None:
        """Every expected value is a derivative or value of the result: 3d has slope 3 and exponent 1."""
        made = linear_fits(POINTS, 3 * d, "my-")
        found = {one.id: one for one in made}
        assert {name: one.prediction.value for name, one in found.items()} == {
            "my-slope": 3.0,
            "my-intercept": 0.0,
            "my-curvature": 0.0,
            "my-exponent": 1.0,
            "my-lack-of-fit": 0.0,
        }
        assert found["my-slope"].tolerance.width(3.0, 0.01) == pytest.approx(0.03)
        assert found["my-intercept"].tolerance.width(0.0, 0.01) == pytest.approx(3 * 0.01 * 3)
        assert found["my-curvature"].tolerance.width(0.0, 0.01) == pytest.approx(3 * 0.01 * 3 / 8)
        assert found["my-exponent"].tolerance.width(1.0, 0.01) == pytest.approx(0.01 / 3)
        assert found["my-slope"].label == "slope of Var"

    def test_a_law_with_an_offset_has_no_one_exponent(self) -> None:
        """It has a slope of its own, and is refused where a line through zero is meant."""
        assert slope_of(3 * d + 2, "my-").expected == 3
        with pytest.raises(ClaimError, match=r"is no number: d_k is left in it"):
            linear_fits(POINTS, 3 * d + 2)

    def test_a_level_has_no_slope(self) -> None:
        """Up to the level over the largest place, whatever it is measured against."""
        (level,) = fits(variances(CELLS, "Var", 5), no_slope(S(5), 8, "my-", against="$d_k$"), label="all")
        assert (level.id, level.label, level.prediction.value) == ("my-slope", "slope of all", 0.0)
        assert level.tolerance.width(0.0, 0.01) == pytest.approx(0.01 * 5 / 8)
        against = no_slope(S(5), 8, against="number of tokens")
        assert against.words == "slope against the number of tokens"
        assert against.tolerance.of == "the level over the largest number of tokens"

    def test_weights(self) -> None:
        """Lines weigh by the inverse square of the prediction, log-log lines evenly."""
        made = {one.id: one for one in linear_fits(POINTS, 3 * d)}
        assert made["slope"].fit.weights == pytest.approx((1 / 9, 1 / 36, 1 / 576))
        assert made["exponent"].fit.weights == (1.0, 1.0, 1.0)
        assert made["slope"].fit.x == (1.0, 2.0, 8.0)
        assert all(isinstance(one, Fit) for one in made.values())
