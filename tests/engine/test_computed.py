"""Numbers that statements' parts have computed: as the file has them, and what a sample scatters by."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from pydantic import TypeAdapter, ValidationError
from scipy.stats import norm
from sympy import Rational, sqrt

from tests.strategies import floats
from verify.engine.computed import Dimension, Number, Sample, Vector, exact, listed, value_of


@given(floats(-4, 4), floats(0, 1))
def test_a_sample_is_as_improbable_as_twice_its_smaller_tail(low: float, width: float) -> None:
    """Twice, for it might have been off to the other side; all that rounds to the figure counts."""
    found = Sample(1.0, norm.cdf).probability(low, low + width)
    tail = norm.cdf(low + width) if low + width / 2 < 0 else norm.sf(low)
    assert found == pytest.approx(min(1, 2 * tail), abs=1e-12)


def test_a_number_is_the_decimal_that_stands_there() -> None:
    """Not the float next to it; an exact expression is the nearest float."""
    assert exact(0.1) == Rational(1, 10)
    assert exact(3) == 3
    assert value_of(sqrt(2)) == math.sqrt(2)
    assert value_of(Rational(1, 3) ** 40) == (1 / 3**40)


def test_numbers_stand_in_a_row() -> None:
    """As short as they are."""
    assert listed([1, 2.5, 1e-7]) == "1, 2.5, 1e-07"


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Number, [0, -2.5], [math.nan, math.inf, "x"]),
        (Dimension, [1, 10**9], [0, 10**9 + 1, 1.5]),
        (Vector, [(1,), (1.5,) * 64], [(), (1,) * 65, (math.nan,)]),
    ],
)
def test_inputs_have_ends(kind: Any, good: list[Any], bad: list[Any]) -> None:
    """What a file may ask for is finite."""
    of = TypeAdapter(kind)
    assert [of.validate_python(one) for one in good] == good
    for one in bad:
        with pytest.raises(ValidationError):
            of.validate_python(one)
