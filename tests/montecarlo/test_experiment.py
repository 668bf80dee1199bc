"""Weighted fits, and their intervals, which hold."""

import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.montecarlo.samples import at_least
from tests.strategies import FALSE_ALARM, examples, floats, measured
from verify.montecarlo.estimands import Measured
from verify.montecarlo.experiment import Model, Target, WeightedFit, ordinary

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
    ours = [fit.measure(t, points(y, [0.1] * len(y)), 0.01).value for t in TARGETS[: degree + 1]]
    logarithmic = model == "power"
    abscissae, ordinates = (np.log(x), np.log(y)) if logarithmic else (np.array(x), np.array(y))
    theirs = np.polyfit(abscissae, ordinates, degree, w=np.sqrt(weights))[::-1]
    assert np.allclose(ours, theirs, rtol=1e-6, atol=1e-7)


def test_the_larger_of_two_errors_makes_the_interval() -> None:
    """The interval rests on the measured or the model's error, whichever is larger, with Student's t."""
    fit = WeightedFit("line", X, BY_SIZE)
    small = [measured(x, 0.01 * x, model_error=0.03 * x) for x in X]
    large = [measured(x, 0.03 * x, model_error=0.01 * x) for x in X]
    by_model, by_points = (fit.measure("slope", group, 0.01) for group in (small, large))
    assert by_model.interval == pytest.approx(by_points.interval)
    quantile = stats.t.isf(0.005, 999)
    assert by_points.interval[1] - by_points.value == pytest.approx(quantile * by_points.error)
    assert by_model.model_error == pytest.approx(by_points.error)
    # Blocks and draws add up, and points without skewness are reliable together.
    assert (by_points.blocks, by_points.coordinates, by_points.doubt) == (9000, 90_000, "")


def test_skewed_points_make_a_fit_unreliable() -> None:
    """What is too skewed for the level is not judged: coefficients and misfit alike."""
    fit = WeightedFit("line", X, BY_SIZE)
    skewed = [measured(x, 0.02 * x, skewness=0.5) for x in X]
    assert fit.measure("slope", skewed, FALSE_ALARM).doubt
    assert fit.measure("misfit", skewed, FALSE_ALARM).doubt
    assert not fit.measure("slope", skewed, 0.5).doubt


def test_a_bent_line_is_found() -> None:
    """x^1.1 is no line: the interval excludes zero at 1e-6 although R² of the ordinary fit is 0.99."""
    y = [x**1.1 for x in X]
    _, _, r_squared = ordinary(X, y)
    assert r_squared > 0.99
    bent, line = points(y, [0.01 * v for v in y]), WeightedFit("line", X, BY_SIZE)
    misfit = line.measure("misfit", bent, FALSE_ALARM)
    assert misfit.interval[0] > 0
    assert misfit.interval[0] <= misfit.value <= misfit.interval[1]


@pytest.mark.parametrize("bend", [0.0, 0.05])
def test_a_misfit_covers_the_truth(bend: float) -> None:
    """At 95% the interval holds the true distance at least as often as promised, bound at 1e-6."""
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    truth = x * (1 + bend * np.array([1, -1, 1, -1, 1]))
    sigma = 0.02 * x
    slope, constant = np.polyfit(x, truth, 1, w=1 / sigma)
    distance = math.sqrt(
        np.sum(((truth - constant - slope * x) / sigma) ** 2) / np.sum(((constant + slope * x) / sigma) ** 2)
    )
    fit, covered = WeightedFit("line", tuple(x), tuple(sigma**-2)), 0
    for values in truth + sigma * np.random.default_rng(3).normal(size=(200, 5)):
        low, high = fit.measure("misfit", points(values, sigma), 0.05).interval
        covered += low <= distance * (1 + 1e-9) + 1e-9 and distance <= high * (1 + 0.02) + 1e-9
    assert at_least(covered, 200, 0.95)
