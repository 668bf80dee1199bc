"""The formula of a scale, from what was measured at several sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verify.auditing.intention import scale_expression
from verify.auditing.probing.formula import formula_of
from verify.auditing.probing.scores import Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = ((64, 4, 16), (128, 4, 16), (32, 4, 16), (64, 8, 16), (64, 4, 32))
FORMULAS = (
    "1/sqrt(d)", "1", "0.0625", "2/d", "1/sqrt(d*h)", "0.7*d**-0.25", "log(n)/sqrt(d)", "sqrt(d)",
    "-1/sqrt(n)", "3/h", "10", "250/d",
)  # fmt: skip


def _measured(text: str, sizes: Sequence[tuple[int, int, int]] = SIZES) -> list[Measured]:
    values = [scale_expression(text).value(d=d, h=h, n=n) for d, h, n in sizes]
    return [
        Measured(d, h, n, "float32", value, (value, value), 0.0, fits=True)
        for (d, h, n), value in zip(sizes, values, strict=True)
    ]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_found_as_one_would_write_it(text: str) -> None:
    """The text that comes back is the text that was measured."""
    assert formula_of(_measured(text)) == text


@settings(max_examples=25)  # SymPy reads every text
@given(
    st.floats(0.01, 100),
    st.sampled_from([-1, -0.75, -0.5, -0.25, 0, 0.5]),
    st.sampled_from([-1, -0.5, 0, 0.25]),
)
def test_products_of_powers_are_found_with_their_value(number: float, d: float, h: float) -> None:
    """Whatever the number and the powers in quarters, the formula has the measured values."""
    text = f"{number!r}*d**({d})*h**({h})"
    found = formula_of(_measured(text))
    assert found is not None
    for one in _measured(text):
        assert scale_expression(found).value(d=one.d, h=one.h, n=one.n) == pytest.approx(one.scale, rel=1e-3)


def test_what_follows_no_such_formula_has_none() -> None:
    """A scale with a step in the width, or a sum, is not forced into a power."""
    assert formula_of(_measured("1/sqrt(d + 40)")) is None
    assert formula_of(_measured("0.1 + 1/h")) is None


def test_one_setting_alone_gives_a_number() -> None:
    """Where nothing could be varied, the formula is the number itself."""
    assert formula_of(_measured("1/sqrt(d)", SIZES[:1])) == "0.125"
