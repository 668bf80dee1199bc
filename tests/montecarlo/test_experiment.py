"""What a claim measures, and weighted fits whose intervals hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.montecarlo.samples import score_matrices
from tests.strategies import FALSE_ALARM, examples, floats, measured
from verify.montecarlo.blocks import Cell
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.estimands import Bounded, DistanceToLaw, Quantile, Ratio, component, ratio, variance
from verify.montecarlo.experiment import Exact, Fit, Prediction, Quantity, WeightedFit, ordinary, route_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verify.montecarlo.estimands import Measured
    from verify.montecarlo.experiment import Model, Target


ONE = Prediction(1.0, "1")
CELL = Cell("d8", (), score_matrices(8, 4, NORMAL, NORMAL))


def test_a_quantity_goes_through_its_sampler_its_estimand_and_its_relation() -> None:
    """Cells, labels, predictions and settings of one class of sampler do not matter."""
    checked = Quantity("one", "a", CELL, variance(), ONE)
    wider = Cell("d9", (("d_k", 9),), score_matrices(9, 4, NORMAL, NORMAL, scale=2.0))
    assert route_of(checked) == ("quantity", "Simulated", "ScoreMoments", "variance", "=")
    assert route_of(Quantity("two", "b", wider, variance(block_variance=0.5), ONE)) == route_of(checked)
    assert route_of(Quantity("two", "b", CELL, component("mean"), ONE)) != route_of(checked)
    assert route_of(Quantity("two", "b", CELL, variance(), ONE, relation="≤")) != route_of(checked)


def test_kinds_of_estimands_differ() -> None:
    """No two of them go through the same code."""
    grid = Quantile((0.0, 1.0))
    kinds = [
        one.kind
        for one in (
            component("mean"),
            variance(),
            ratio("mean", "square"),
            DistanceToLaw((0.5,)),
            Bounded("mean"),
            grid,
            Ratio(grid, grid),
        )
    ]
    assert len(set(kinds)) == len(kinds)
    assert component("mean", 2.0).kind == component("square").kind == "component"


def test_a_fit_goes_through_its_model_and_its_coefficient() -> None:
    """Whatever it is fitted to."""
    members = tuple(Quantity(f"v{n}", "v", CELL, variance(), ONE) for n in range(3))
    line = WeightedFit("line", (1.0, 2.0, 3.0), (1.0, 1.0, 1.0))
    slope = Fit("slope", "slope", members, line, "slope", ONE)
    assert route_of(slope) == ("fit", "line", "slope")
    assert route_of(Fit("level", "level", members, line, "constant", ONE)) != route_of(slope)


def test_an_exact_comparison_goes_through_the_function_that_it_names() -> None:
    """Whatever its label and its relation; without a name, the label stands for the function."""
    named = Exact("one", "a", (), ONE, 1.0, code=math.fsum)
    assert route_of(named) == route_of(Exact("two", "b", (), ONE, 2.0, relation="≤", code=math.fsum))
    assert route_of(named) == ("exact", "fsum")
    assert route_of(Exact("two", "b", (), ONE, 2.0)) == ("exact", "b")


X = (1.0, 2.0, 3.0, 8.0, 64.0, 100.0, 512.0, 1000.0, 1024.0)
BY_SIZE = tuple(x**-2 for x in X)
TARGETS: tuple[Target, ...] = ("constant", "slope", "square")


def points(values: Iterable[float], errors: Iterable[float]) -> list[Measured]:
    """Return estimates with these values and errors."""
    return [measured(v, e) for v, e in zip(values, errors, strict=True)]


@st.composite
def weighted_points(draw: st.DrawFn) -> tuple[list[float], list[float], list[float]]:
    """Return distinct x, y and positive weights."""
    size = draw(st.integers(4, 8))
    x = draw(st.lists(st.integers(1, 60), min_size=size, max_size=size, unique=True))
    y = draw(st.lists(floats(0.1, 50), min_size=size, max_size=size))
    weights = draw(st.lists(floats(0.01, 10), min_size=size, max_size=size))
    return [float(v) for v in x], y, weights


@pytest.mark.parametrize(("model", "degree"), [("line", 1), ("parabola", 2), ("power", 1)])
@examples(40)
@given(weighted_points())
def test_coefficients_are_those_of_polyfit(
    model: Model, degree: int, drawn: tuple[list[float], list[float], list[float]]
) -> None:
    """NumPy's polynomial fit with the roots of the weights gives the same coefficients."""
    x, y, weights = drawn
    fit = WeightedFit(model, tuple(x), tuple(weights))
    found = [fit.coefficient(t, points(y, [0.1] * len(y)), 0.01).value for t in TARGETS[: degree + 1]]
    logarithmic = model == "power"
    abscissae, ordinates = (np.log(x), np.log(y)) if logarithmic else (np.array(x), np.array(y))
    theirs = np.polyfit(abscissae, ordinates, degree, w=np.sqrt(weights))[::-1]
    assert np.allclose(found, theirs, rtol=1e-6, atol=1e-7)


@examples(40)
@given(floats(-100, 100), floats(0.1, 100))
def test_an_exact_line_has_its_coefficients_and_no_misfit(constant: float, slope: float) -> None:
    """On the claim's own dimensions, from 1 to 1024, the fit reproduces a line and finds no lack of fit."""
    y = [constant + slope * x for x in X]
    ones = points(y, [0.01 * x for x in X])
    line = WeightedFit("line", X, BY_SIZE)
    assert line.coefficient("constant", ones, 0.01).value == pytest.approx(constant, rel=1e-7, abs=1e-7)
    assert line.coefficient("slope", ones, 0.01).value == pytest.approx(slope, rel=1e-7)
    bend = WeightedFit("parabola", X, BY_SIZE).coefficient("square", ones, 0.01)
    assert bend.value == pytest.approx(0, abs=1e-9 * (slope + abs(constant)))
    misfit = line.misfit(ones, 0.01)
    assert misfit.value == 0
    assert misfit.interval[0] == 0


@examples(40)
@given(floats(0.1, 10), floats(-2, 2))
def test_a_power_law_has_its_exponent(factor: float, exponent: float) -> None:
    """A power law c·xᵇ is a line on log-log axes with slope b."""
    ones = points([factor * x**exponent for x in X], [0.01 * factor * x**exponent for x in X])
    fit = WeightedFit("power", X, (1.0,) * len(X))
    assert fit.coefficient("slope", ones, 0.01).value == pytest.approx(exponent, abs=1e-9)
    assert fit.coefficient("constant", ones, 0.01).value == pytest.approx(math.log(factor), abs=1e-9)
    assert fit.misfit(ones, 0.01).interval[0] == 0


def test_the_weights_do_not_bias() -> None:
    """Any weights find an exact line; only the errors differ."""
    ones = points([2 * x for x in X], [0.05 * x for x in X])
    good, bad = (WeightedFit("line", X, w).coefficient("slope", ones, 0.01) for w in (BY_SIZE, (1.0,) * 9))
    assert good.value == pytest.approx(bad.value)
    assert good.error < bad.error


class TestErrors:
    """Standard errors of the coefficients."""

    ERRORS = tuple(0.02 * x for x in X)

    @pytest.mark.parametrize(
        ("model", "target"), [("line", "slope"), ("line", "constant"), ("parabola", "square")]
    )
    def test_against_simulation(self, model: Model, target: Target) -> None:
        """The spread of 1000 fits to normal points is the stated error, by the exact chi-square bound."""
        fit = WeightedFit(model, X, BY_SIZE)
        rng = np.random.default_rng(4)
        drawn = np.array(X) + rng.normal(size=(1000, len(X))) * self.ERRORS
        found = np.array([fit.coefficient(target, points(row, self.ERRORS), 0.01).value for row in drawn])
        stated = fit.coefficient(target, points(X, self.ERRORS), 0.01)
        statistic = float(((found - stated.value) ** 2).sum()) / stated.error**2
        low, high = stats.chi2.ppf(FALSE_ALARM / 2, 1000), stats.chi2.isf(FALSE_ALARM / 2, 1000)
        assert low <= statistic <= high

    @pytest.mark.parametrize("target", ["slope", "constant"])
    def test_the_planned_error_is_the_one_that_comes_out(self, target: Target) -> None:
        """Planning and measuring use the same formula."""
        fit = WeightedFit("line", X, BY_SIZE)
        assert fit.planned_error(target, self.ERRORS) == pytest.approx(
            fit.coefficient(target, points(X, self.ERRORS), 0.01).error
        )

    def test_the_larger_of_two_errors_makes_the_interval(self) -> None:
        """The interval rests on the measured or the model's error, whichever is larger, with Student's t."""
        fit = WeightedFit("line", X, BY_SIZE)
        small = [measured(x, 0.01 * x, model_error=0.03 * x) for x in X]
        large = [measured(x, 0.03 * x, model_error=0.01 * x) for x in X]
        one, two = (fit.coefficient("slope", group, 0.01) for group in (small, large))
        assert one.interval == pytest.approx(two.interval)
        quantile = stats.t.isf(0.005, 999)
        assert two.interval[1] - two.value == pytest.approx(quantile * two.error)
        assert one.model_error == pytest.approx(two.error)

    def test_what_a_fit_rests_on(self) -> None:
        """Blocks and draws add up; points without skewness are reliable together."""
        ones = points(X, self.ERRORS)
        fit = WeightedFit("line", X, BY_SIZE)
        found = fit.coefficient("slope", ones, 0.01)
        assert (found.blocks, found.coordinates, found.reliable) == (9000, 90_000, True)

    def test_skewness_of_a_coefficient(self) -> None:
        """Third moments of independent points add up: the skewness of the coefficient, by simulation.

        Gamma-distributed points of known skewness; the bound is the central limit one at 1e-6.
        """
        shape, count = 4.0, 200_000
        skewness = 2 / math.sqrt(shape)
        x, errors = (1.0, 2.0, 5.0), (0.1, 0.3, 0.2)
        fit = WeightedFit("line", x, (1.0, 1.0, 1.0))
        ones = [measured(v, e, skewness=skewness) for v, e in zip(x, errors, strict=True)]
        stated = fit.coefficient("slope", ones, 0.01)
        row = [fit.coefficient("slope", points(unit, errors), 0.01).value for unit in np.eye(3)]
        noise = (np.random.default_rng(6).gamma(shape, size=(count, 3)) - shape) / math.sqrt(shape)
        cubes = ((noise * errors) @ row / stated.error) ** 3
        bound = stats.norm.isf(FALSE_ALARM / 2) * cubes.std() / math.sqrt(count)
        assert abs(cubes.mean() - stated.skewness) <= bound

    def test_skewed_points_make_a_fit_unreliable(self) -> None:
        """What is too skewed for the level is not judged: coefficients and misfit alike."""
        fit = WeightedFit("line", X, BY_SIZE)
        skewed = [measured(x, 0.02 * x, skewness=0.5) for x in X]
        assert not fit.coefficient("slope", skewed, FALSE_ALARM).reliable
        assert not fit.misfit(skewed, FALSE_ALARM).reliable
        assert fit.coefficient("slope", skewed, 0.5).reliable


class TestMisfit:
    """The relative distance from the fitted curve."""

    def test_a_bent_line_is_found(self) -> None:
        """x^1.1 is no line: the interval excludes zero at 1e-6 although R² of the ordinary fit is 0.99."""
        y = [x**1.1 for x in X]
        _, _, r_squared = ordinary(X, y)
        assert r_squared > 0.99
        misfit = WeightedFit("line", X, BY_SIZE).misfit(points(y, [0.01 * v for v in y]), FALSE_ALARM)
        assert misfit.interval[0] > 0
        assert misfit.interval[0] <= misfit.value <= misfit.interval[1]

    def test_the_value_is_the_relative_distance(self) -> None:
        """With precise points the value is the root mean square of the relative distances themselves."""
        x = (1.0, 2.0, 3.0, 4.0)
        y = [10.0, 20.0, 30.0, 44.0]
        sigma = 1e-4
        weights = [sigma**-2] * 4
        slope, constant = np.polyfit(x, y, 1)
        fitted = constant + slope * np.array(x)
        expected = math.sqrt(np.sum((np.array(y) - fitted) ** 2) / np.sum(fitted**2))
        misfit = WeightedFit("line", x, tuple(weights)).misfit(points(y, [sigma] * 4), 0.01)
        assert misfit.value == pytest.approx(expected, rel=1e-4)

    @pytest.mark.parametrize("bend", [0.0, 0.05])
    def test_covers_the_truth(self, bend: float) -> None:
        """At 95% the interval holds the true distance at least as often as promised, bound at 1e-6."""
        x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
        truth = x * (1 + bend * np.array([1, -1, 1, -1, 1]))
        sigma = 0.02 * x
        slope, constant = np.polyfit(x, truth, 1, w=1 / sigma)
        distance = math.sqrt(
            np.sum(((truth - constant - slope * x) / sigma) ** 2)
            / np.sum(((constant + slope * x) / sigma) ** 2)
        )
        rng = np.random.default_rng(3)
        fit = WeightedFit("line", tuple(x), tuple(sigma**-2))
        covered = 0
        for _ in range(200):
            low, high = fit.misfit(points(truth + sigma * rng.normal(size=5), sigma), 0.05).interval
            covered += low <= distance * (1 + 1e-9) + 1e-9 and distance <= high * (1 + 0.02) + 1e-9
        assert covered >= stats.binom.ppf(FALSE_ALARM, 200, 0.95)


def test_ordinary_fit_describes() -> None:
    """Slope, intercept and R² of an unweighted line."""
    assert ordinary([1, 2, 3], [3, 5, 7]) == pytest.approx((2, 1, 1))
