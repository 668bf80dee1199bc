"""Stated moments against draws: right ones pass, whatever the tails; wrong ones are reported by name."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.montecarlo.samples import score_matrices
from verify.engine.validation import validate
from verify.errors import ClaimError
from verify.montecarlo.blocks import Cell
from verify.montecarlo.distributions import (
    CAUCHY,
    EXPONENTIAL,
    LAPLACE,
    NORMAL,
    RADEMACHER,
    STANDARD_DISTRIBUTIONS,
    UNIFORM,
    UNIT_INTERVAL,
    Distribution,
    moments_contradiction,
    student_t,
)
from verify.montecarlo.estimands import variance
from verify.montecarlo.experiment import Control, Experiment, Prediction, Quantity

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array

SHIPPED = (*STANDARD_DISTRIBUTIONS, UNIT_INTERVAL, CAUCHY, student_t(3), student_t(4), student_t(5))


@pytest.mark.parametrize("distribution", SHIPPED, ids=lambda distribution: distribution.name)
def test_right_moments_pass(distribution: Distribution) -> None:
    """Heavy tails are no reproach: where a power has no variance, its mean lies in a few rare terms."""
    assert moments_contradiction(distribution) is None


@pytest.mark.parametrize(
    "distribution", [NORMAL, EXPONENTIAL, UNIT_INTERVAL], ids=lambda distribution: distribution.name
)
def test_moved_laws_pass(distribution: Distribution) -> None:
    """What is judged are moments about the mean, so a far shift does not blur them."""
    assert moments_contradiction(distribution.moved(100, Fraction(1, 3))) is None


def stating(distribution: Distribution, order: int, value: Fraction) -> Distribution:
    """Return the distribution with another moment stated."""
    moments = list(distribution.base_moments)
    moments[order] = value
    return replace(distribution, base_moments=tuple(moments))


@pytest.mark.parametrize(
    ("distribution", "order", "value", "said"),
    [
        pytest.param(NORMAL, 1, Fraction(1, 50), "a mean of 0.02, but what it draws has", id="mean"),
        pytest.param(NORMAL, 2, Fraction(51, 50), "a variance of 1.02, but", id="variance"),
        pytest.param(UNIFORM, 2, Fraction(49, 50), "a variance of 0.98, but", id="uniform variance"),
        pytest.param(EXPONENTIAL, 3, Fraction(0), "a third central moment of 0, but", id="no skewness"),
        pytest.param(UNIFORM, 4, Fraction(3), "a fourth central moment of 3, but", id="normal kurtosis"),
        pytest.param(NORMAL, 4, Fraction(0), "a fourth central moment of 0, but", id="excess kurtosis"),
        pytest.param(LAPLACE, 4, Fraction(3), "a fourth central moment of 3, but", id="excess of Laplace"),
        pytest.param(EXPONENTIAL, 4, Fraction(6), "a fourth central moment of 6, but", id="excess of skewed"),
        pytest.param(RADEMACHER, 4, Fraction(101, 100), "a fourth central moment of 1.01", id="of signs"),
    ],
)
def test_wrong_moments_are_reported(
    distribution: Distribution, order: int, value: Fraction, said: str
) -> None:
    """Each moment by its name, with what was drawn."""
    found = moments_contradiction(stating(distribution, order, value))
    assert found is not None
    assert said in found


@pytest.mark.parametrize(
    "distribution",
    [student_t(3), student_t(5), LAPLACE, EXPONENTIAL],
    ids=lambda distribution: distribution.name,
)
def test_no_false_alarm_on_other_streams(distribution: Distribution) -> None:
    """The same distribution under other names is judged on other draws: 10 streams, none raises an alarm."""
    assert not any(
        moments_contradiction(replace(distribution, base=f"{distribution.base} {number}"))
        for number in range(10)
    )


def _fill_with_nothing(_: np.random.Generator, out: Array) -> None:
    out[...] = np.nan


def test_numbers_that_are_none_are_reported() -> None:
    """A distribution that draws no numbers is refused, whatever it states."""
    distribution = Distribution("nothing", (Fraction(1),), _fill_with_nothing)
    assert moments_contradiction(distribution) == "draws numbers that are not finite"


def test_a_claim_with_a_misstated_law_is_refused() -> None:
    """One line says which claim, cell and distribution, and what to correct."""
    wrong = stating(UNIFORM, 4, Fraction(3))
    cell = Cell("d4", (("d_k", 4),), score_matrices(4, 8, NORMAL, wrong))
    check = Quantity("variance", "Var", cell, variance(), Prediction(4.0, "4"))
    control = Control("it is 5", replace(check, id="five", prediction=Prediction(5.0, "5")))
    with pytest.raises(
        ClaimError,
        match=r"claim mine, cell d4: the distribution 'uniform' states a fourth .*; correct its moments",
    ):
        validate(Experiment((check,), (control,)), "mine")
