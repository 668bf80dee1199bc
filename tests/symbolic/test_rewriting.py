"""Steps that put in, rewrite and sum: what follows holds, and a little beside it does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import E as EULER
from sympy import Rational, S, Sum, cos, cosh, diff, exp, expand, expand_trig, sin, sinh, symbols, tanh
from verify.symbolic.kernel.rewriting import ClosedSums, FirstTerms, PutIn, SameExponentials

from verify.symbolic.checks import By, Identity

a, c, x, y = symbols("a c x y", positive=True)
i, n = symbols("i n", integer=True, positive=True)


def test_values_are_put_in_on_both_sides() -> None:
    """Then the other check decides; its words and its reach stay."""
    numerical = By("as numbers", lambda one, other: bool(one == other), "numerical")
    assert PutIn({a: x + y}).holds(a**2, x**2 + 2 * x * y + y**2)
    assert not PutIn({a: x + y}).holds(a**2, x**2 + x * y + y**2)
    assert PutIn({a: S(2)}, numerical).holds(a, S(2))
    assert (PutIn({a: x}).reach, PutIn({a: x}, numerical).reach) == ("general", "numerical")
    assert PutIn({a: x**2}).label == f"$a = x^{{2}}$ put in; {Identity().label}"


@given(st.integers(1, 3), st.integers(1, 3))
def test_the_same_functions_in_exponentials(one: int, other: int) -> None:
    """Sums of angles, circular and hyperbolic; an angle more is another function."""
    assert SameExponentials().holds(sin(one * x + other * y), expand_trig(sin(one * x + other * y)))
    assert SameExponentials().holds(
        cosh(one * x) * sinh(other * y), expand((cosh(one * x) * sinh(other * y)).rewrite(exp))
    )
    assert not SameExponentials().holds(cos(one * x), cos((one + 1) * x))
    assert not SameExponentials().holds(tanh(one * x), tanh(one * x) * Rational(101, 100))


def test_quotients_of_exponentials() -> None:
    """Half the argument of tanh, and another that is not."""
    assert SameExponentials().holds(sinh(x) / (1 + cosh(x)), tanh(x / 2))
    assert not SameExponentials().holds(sinh(x) / (1 + cosh(x)), tanh(x))
    assert not SameExponentials().holds(tanh(x), 2 * tanh(x))


CUBES = Sum(i**3, (i, 1, n))


@pytest.mark.parametrize(
    ("before", "closed", "holds"),
    [
        (CUBES, n**2 * (n + 1) ** 2 / 4, True),
        (CUBES, n**2 * (n + 1) ** 2 / 4 + 1, False),
        (CUBES, n**3, False),
        (Sum(exp(-x * i), (i, 1, n)), (1 - exp(-x * n)) / (exp(x) - 1), True),
        (Sum(exp(-x * i), (i, 1, n)), 1 / (exp(x) - 1), False),
        (Sum(EULER**i, (i, 2, n)), (EULER ** (n + 1) - EULER**2) / (EULER - 1), True),
    ],
)
def test_a_sum_in_closed_form(before: Any, closed: Any, *, holds: bool) -> None:
    """By the first value, which may not be that at 1, and the next term: a constant more is noticed."""
    assert ClosedSums().holds(before, closed) is holds


def test_sums_inside_an_expression() -> None:
    """Each is put in closed form; a wrong form does not pass, whatever the result."""
    squares, form = Sum(i**2, (i, 1, n)), n * (n + 1) * (2 * n + 1) / 6
    assert ClosedSums({squares: form}).holds(c / squares, c / form)
    assert not ClosedSums({squares: form}).holds(c / squares, 2 * c / form)
    assert not ClosedSums({squares: 2 * form}).holds(c / squares, c / form / 2)


def test_first_terms_are_all_up_to_an_order() -> None:
    """None may be left out, changed, or from beyond it."""
    before = tanh(1 / c)
    assert FirstTerms(c, 4).holds(before, 1 / c - 1 / (3 * c**3))
    assert not FirstTerms(c, 4).holds(before, 1 / c)
    assert not FirstTerms(c, 4).holds(before, 1 / c - 1 / (3 * c**3) + 2 / (15 * c**5))
    assert not FirstTerms(c, 5).holds(before, 1 / c - 1 / (3 * c**3))
    assert FirstTerms(c, 5).holds(before, 1 / c - 1 / (3 * c**3) + 2 / (15 * c**5))


def test_a_derivative_is_taken_before_values_are_put_in() -> None:
    """So that it is one in the symbol, not in what stands for it."""
    assert PutIn({x: y**2}).holds(diff(x**2, x, evaluate=False), 2 * y**2)
