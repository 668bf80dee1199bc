"""Bounds by calculus: what holds everywhere is accepted, what fails somewhere or is not tight is not."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import Poly, Rational, S, Symbol, cosh, exp, log, oo, sqrt, symbols, tanh
from verify.symbolic.kernel.bounds import AtItsLeast, AtItsMost, FromZero, Jensen, OnRange, never_negative

from tests.strategies import examples
from verify.symbolic.kernel.moments import E

x, y, c = symbols("x y c", positive=True)
z = Symbol("z", real=True)


@pytest.mark.parametrize(
    ("of", "relation"),
    [(log(x), "≤"), (sqrt(x), "≤"), (x / (x + y), "≤"), (x**2, "≥"), (1 / x, "≥"), (exp(x), "≥")],
)
def test_jensen_goes_one_way_alone(of: Any, relation: Any) -> None:
    """A concave function's mean is at most its value at the mean, a convex one's at least."""
    other: Any = {"≤": "≥", "≥": "≤"}[relation]
    at_mean = of.subs(x, E(x))
    assert Jensen(x, relation).holds(E(of), at_mean)
    assert not Jensen(x, other).holds(E(of), at_mean)
    assert not Jensen(x, relation).holds(E(of), 2 * at_mean)
    assert not Jensen(x, relation).holds(E(of), of)


def test_jensen_needs_one_curvature_everywhere() -> None:
    """A cube of a real number is curved both ways; a logistic curve too."""
    assert not Jensen(z, "≤").holds(E(z**3), E(z) ** 3)
    assert not Jensen(z, "≥").holds(E(z**3), E(z) ** 3)
    assert not Jensen(z, "≤").holds(E(1 / (1 + exp(-z))), 1 / (1 + exp(-E(z))))


def test_the_least_value_of_an_argument() -> None:
    """Where an expression falls it is at most what it is there; a place before it is refused."""
    of = y / (y + cosh(z))
    assert AtItsLeast(cosh(z), 1).holds(of, y / (y + 1))
    assert not AtItsLeast(cosh(z), 1, "≥").holds(of, y / (y + 1))
    assert not AtItsLeast(cosh(z), 2).holds(of, y / (y + 2))
    assert not AtItsLeast(cosh(z), 1).holds(of, y / (y + 2))
    assert AtItsLeast(x, 0, "≥").holds(x**2 + y, y)
    assert not AtItsLeast(x, 1, "≥").holds(x**2 + y, y + 1)


def test_a_bound_from_zero_has_the_best_constant() -> None:
    """x² - tanh² x ≤ 2x⁴/3, for real scores under any cap; a hundredth less or more does not pass."""
    lost = z**2 - (c * tanh(z / c)) ** 2
    right = 2 * z**4 / (3 * c**2)
    assert FromZero(z, c).holds(E(lost), E(right))
    for factor in (Rational(99, 100), Rational(101, 100)):
        assert not FromZero(z, c).holds(E(lost), E(factor * right))
    assert not FromZero(z).holds(tanh(z) ** 2, 2 * z**2)
    assert FromZero(z).holds(tanh(z) ** 2, z**2)
    assert not FromZero(z).holds(z**2, tanh(z) ** 2)
    assert not FromZero(z).holds(z**2 - z**3, z**2)


def test_a_range_of_a_polynomial() -> None:
    """It starts where the sides meet and ends before the bound does."""
    power, line = (1 + x / 10) ** 4, 1 + x
    end, beyond = Rational(33, 5), Rational(20, 3)
    assert OnRange(x, S.Zero, end, beyond).holds(power, line)
    assert OnRange(x, S.Zero, end, beyond, "≥").holds(-power, -line)
    assert not OnRange(x, S.Zero, beyond, S(7)).holds(power, line)
    assert not OnRange(x, S.Zero, end, S(6)).holds(power, line)
    assert not OnRange(x, S.Zero, end, beyond).holds(power, line + Rational(1, 100))
    assert not OnRange(x, S.Zero, end, beyond).holds(line, power)


@examples(40)
@given(st.lists(st.fractions(-2, 2, max_denominator=8), min_size=1, max_size=4), st.booleans())
def test_signs_of_polynomials(roots: list[Fraction], positive: bool) -> None:
    """By their roots, which Sturm's theorem does not see: the sign between all of them that lie inside."""
    polynomial = Poly.from_list([1], x)
    for root in roots:
        polynomial *= Poly(x - Rational(root.numerator, root.denominator), x)
    expression = polynomial.as_expr() * (1 if positive else -1)
    ends = sorted({Fraction(0), Fraction(1), *(one for one in roots if 0 < one < 1)})
    between = [(low + high) / 2 for low, high in pairwise(ends)]
    values = [np.prod([float(at - root) for root in roots]) * (1 if positive else -1) for at in between]
    assert never_negative(expression, x, S.Zero, S.One) is all(value > 0 for value in values)


def test_signs_up_to_infinity() -> None:
    """A root beyond every point that one would try."""
    assert never_negative(x**2 + 1, x, S.Zero, oo)
    assert never_negative((x - 3) ** 2, x, S.Zero, oo)
    assert not never_negative((x - 10**9) * (x - 1 - 10**9), x, S.Zero, oo)


def test_the_most_of_a_concave_function() -> None:
    """It is where the slope vanishes; neither beside that nor where the function is convex."""
    assert AtItsMost(z, 3).holds(1 - (z - 3) ** 2, S.One)
    assert AtItsMost(x, 1).holds(log(x) - x + y, y - 1)
    assert not AtItsMost(z, 3).holds(1 - (z - 3) ** 2, S(2))
    assert not AtItsMost(z, 2).holds(1 - (z - 3) ** 2, S.Zero)
    assert not AtItsMost(z, 3).holds(1 + (z - 3) ** 2, S.One)
    assert not AtItsMost(z, 0).holds(z**3, S.Zero)
