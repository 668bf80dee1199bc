"""Values of formulas that are made of numbers alone."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import E, Rational, cbrt, exp, latex, log, pi, sqrt

from verify.text.numbers import value_of

_NUMBERS = st.fractions(min_value=-50, max_value=50, max_denominator=99).map(
    lambda one: Rational(one.numerator, one.denominator)
)
_FORMULAS = st.recursive(
    _NUMBERS | st.sampled_from([pi, E]),
    lambda inner: (
        st.tuples(inner, inner).map(lambda two: two[0] + two[1])
        | st.tuples(inner, inner).map(lambda two: two[0] * two[1])
        | inner.map(lambda one: 1 / one if one else one)
        | inner.map(lambda one: sqrt(abs(one)))
        | inner.map(lambda one: cbrt(abs(one)))
        | inner.map(lambda one: log(abs(one) + 1))
        | inner.map(lambda one: exp(-abs(one)))
    ),
    max_leaves=6,
)


@given(_FORMULAS)
def test_what_sympy_prints_has_its_value(formula: object) -> None:
    """As it is printed in the records: sums, products, powers, roots, logarithms, exponentials."""
    printed = latex(formula, ln_notation=True)
    found = value_of(printed)
    if found is not None:
        assert math.isclose(found, float(formula), rel_tol=1e-9, abs_tol=1e-40), printed  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        (r"- \frac{60506}{9}", -60506 / 9),
        (r"\frac{1}{e^{-1} + 1}", 1 / (1 + math.exp(-1))),
        (r"\frac{15 \cdot 2^{\frac{2}{3}} \sqrt[3]{5}}{4}", 15 / 4 * 4 ** (1 / 3) * 5 ** (1 / 3)),
        (r"2 \ln{\left(16 \right)}", 2 * math.log(16)),
        (r"\frac{1}{2 \sqrt{\pi}}", 1 / (2 * math.sqrt(math.pi))),
        (r"10001 - 100 \sqrt{10002}", 1 / (10001 + 100 * math.sqrt(10002)) * (10001**2 - 10**4 * 10002)),
    ],
)
def test_the_formulas_of_the_catalogue_have_one(formula: str, value: float) -> None:
    """Also where two numbers nearly cancel."""
    found = value_of(formula)
    assert found is not None
    assert math.isclose(found, value, rel_tol=1e-9)


@pytest.mark.parametrize(
    "formula",
    ["", "x", "d_{k}", "0.5", "1e5", "1e-05", "10 000", "1 +", "{1", r"\frac{1}{0}", r"\ln{\left(0 \right)}",
     r"9^{9^{9}}", r"\operatorname{erf}{\left(1 \right)}", "٣", "{" * 10**5],
)  # fmt: skip
def test_of_others_it_is_not_known(formula: str) -> None:
    """Decimals are rounded, a number with an exponent is no product with e, and nothing takes long."""
    assert value_of(formula) is None
