"""Signs and bounds by calculus: what holds everywhere is proved, what fails somewhere is not."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import (
    FiniteSet, Interval, Poly, Range, Rational, S, Sum, Symbol, cosh, exp, log, oo, sqrt, symbols, tanh,
)  # fmt: skip

from tests.strategies import examples
from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.calculus import AtItsLeast, AtItsMost, FromZero, Jensen, OnRange, Rising
from verify.symbolic.kernel.core import Rule, prove
from verify.symbolic.kernel.hypotheses import NOTHING, Population
from verify.symbolic.kernel.signs import Sign, lies_in, where_defined
from verify.symbolic.kernel.words import E, n, p, x

a, b, c = symbols("a b c", positive=True)
r, y, z = symbols("r y z", real=True)
count = Symbol("m", integer=True, positive=True)
UNIT = NOTHING.restricted(r, Interval(0, 1))


class TestSigns:
    """0 ≤ e and 0 < e, over the domains of the symbols."""

    @pytest.mark.parametrize(
        ("expression", "under", "strict"),
        [
            ((r - y) ** 2 + a, NOTHING, True),
            ((r - y) ** 2, NOTHING, False),
            (1 - r, UNIT, False),
            (1 + r, UNIT, True),
            (1 - r, NOTHING.restricted(r, Interval.open(0, 1)), True),
            (r**2 - r + 1, NOTHING, True),
            (count - 2, NOTHING.restricted(count, Range(3, oo)), True),
            (E((r - 1) ** 2), NOTHING, False),
            (Sum(x[1] ** 2 * a, (count, 1, n)), NOTHING, False),
        ],
    )
    def test_what_is_known(self, expression: Any, under: Any, strict: bool) -> None:
        """And not of its opposite, nor of a little less."""
        proved(Sign(strict), S.Zero, expression, under, "<" if strict else "≤")
        assert refused(Sign(strict), S.Zero, -expression, under).startswith("not known to be")
        refused(Sign(), S.Zero, expression - 10**6, under)

    @pytest.mark.parametrize(
        ("expression", "under"),
        [
            (r, NOTHING),
            (r - Rational(1, 2), UNIT),
            (a - 1, NOTHING),
            (r**2 - r + Rational(6, 25), NOTHING),
            ((S.ImaginaryUnit * r) ** 2, NOTHING),
            (Symbol("w") ** 2, NOTHING),
        ],
    )
    def test_what_is_negative_somewhere(self, expression: Any, under: Any) -> None:
        """However little, and however rarely."""
        assert refused(Sign(), S.Zero, expression, under).startswith("not known to be nowhere negative")

    def test_where_it_is_defined(self) -> None:
        """What is divided by is not 0, and what a logarithm is taken of is positive."""
        assert not prove(Sign(), S.Zero, 1 / (r - 1) ** 2).hypotheses.domain(r).contains(1)
        assert where_defined(log(r) + 1 / y, NOTHING).domain(r) == Interval.open(0, oo)
        assert where_defined(r**y, NOTHING).domain(r) == S.Reals - FiniteSet(0)
        assert where_defined(log(1 + exp(r)) / (1 + r**2) + a**y + log(p[1]) + r**a, NOTHING) == NOTHING

    @pytest.mark.parametrize(
        ("expression", "domain", "lies"),
        [
            (a + b, Interval.open(0, oo), True),
            (a - b, Interval.open(0, oo), False),
            (r**2, Interval(0, oo), True),
            (a / (a + b), Interval(0, 1), True),
            (S(2), Range(1, oo), True),
            (a, Range(1, oo), False),
            (Symbol("w"), S.Complexes, True),
        ],
    )
    def test_domains(self, expression: Any, domain: Any, lies: bool) -> None:
        """What surely lies in one is found to."""
        assert lies_in(expression, domain, NOTHING) is lies


@examples(12)
@given(st.lists(st.fractions(-2, 2, max_denominator=8), min_size=1, max_size=4), st.booleans())
def test_signs_of_polynomials(roots: list[Fraction], positive: bool) -> None:
    """By their roots, which Sturm's theorem does not see: the sign between all of them that lie inside."""
    polynomial = Poly.from_list([1], r)
    for root in roots:
        polynomial *= Poly(r - Rational(root.numerator, root.denominator), r)
    expression = polynomial.as_expr() * (1 if positive else -1)
    ends = sorted({Fraction(0), Fraction(1), *(one for one in roots if 0 < one < 1)})
    between = [(low + high) / 2 for low, high in pairwise(ends)]
    values = [np.prod([float(at - root) for root in roots]) * (1 if positive else -1) for at in between]
    if all(value > 0 for value in values):
        proved(Sign(), S.Zero, expression.expand(), UNIT, "≤")
    else:
        refused(Sign(), S.Zero, expression.expand(), UNIT)


class TestJensen:
    """The mean of a concave function is at most its value at the mean, of a convex one at least."""

    @pytest.mark.parametrize(
        ("of", "relation"),
        [(log(a), "≤"), (sqrt(a), "≤"), (a / (a + b), "≤"), (a**2, "≥"), (1 / a, "≥"), (exp(a), "≥")],
    )
    def test_one_way_alone(self, of: Any, relation: str) -> None:
        """For any law of the variable, which the theorem says."""
        other = {"≤": "≥", "≥": "≤"}[relation]
        at_mean = of.subs(a, E(a))
        found = proved(Jensen(a, relation), E(of), at_mean, relation=relation)
        assert found.hypotheses.law == Population({a: None})
        assert "not known to be nowhere negative" in refused(Jensen(a, other), E(of), at_mean)
        for wrong in (2 * at_mean, of):
            assert "not the function of the mean" in refused(Jensen(a, relation), E(of), wrong)

    def test_one_curvature_everywhere(self) -> None:
        """A cube of a real number is curved both ways; a logistic curve too."""
        for relation in "≤≥":
            refused(Jensen(r, relation), E(r**3), E(r) ** 3)
            refused(Jensen(r, relation), E(1 / (1 + exp(-r))), 1 / (1 + exp(-E(r))))
        assert refused(Jensen(a, "="), E(a), E(a)) == "= is no bound"


class TestLeastAndMost:
    """An argument is put at its least, a concave function at its most."""

    def test_least(self) -> None:
        """Where an expression falls it is at most what it is there; a place before it is refused."""
        of = a / (a + cosh(r))
        proved(AtItsLeast(cosh(r), S.One), of, a / (a + 1), relation="≤")
        proved(AtItsLeast(b, S.Zero, "≥"), b**2 + a, a, relation="≥")
        for rule, before, after in (
            (AtItsLeast(cosh(r), S.One, "≥"), of, a / (a + 1)),
            (AtItsLeast(cosh(r), S(2)), of, a / (a + 2)),
            (AtItsLeast(cosh(r), S.One), of, a / (a + 2)),
            (AtItsLeast(b, S.One, "≥"), b**2 + a, a + 1),
        ):
            refused(rule, before, after)

    def test_most(self) -> None:
        """It is where the slope vanishes; neither beside that nor where the function is convex."""
        proved(AtItsMost(r, S(3)), 1 - (r - 3) ** 2, S.One, relation="≤")
        proved(AtItsMost(a, S.One), log(a) - a + y, y - 1, relation="≤")
        for variable, at, before, after, words in (
            (r, S(3), 1 - (r - 3) ** 2, S(2), "not the value there"),
            (r, S(2), 1 - (r - 3) ** 2, S.Zero, "not level at 2"),
            (r, S(3), 1 + (r - 3) ** 2, S.One, "nowhere negative"),
            (r, S.Zero, r**3, S.Zero, "nowhere negative"),
            (a, S.Zero, -(a**2), S.Zero, "0 lies in"),
            (count, S.One, -((count - 1) ** 2), S.Zero, "no interval"),
            (r, S(2), log(r**2) - r, log(S(4)) - 2, "not known to be smooth"),
        ):
            assert words in refused(AtItsMost(variable, at), before, after)


class TestRising:
    """A function is at least what it is at the low end."""

    FROM_0 = NOTHING.restricted(r, Interval(0, oo))

    def test_by_its_slope(self) -> None:
        """The low end must be there, the value right, and the slope nowhere negative."""
        proved(Rising(r), S.Zero, r - tanh(r), self.FROM_0, "≤")
        proved(Rising(r), S.One, r**3 + r + 1, self.FROM_0, "≤")
        assert "has no low end" in refused(Rising(r), S.Zero, r)
        assert "has no low end" in refused(Rising(a), S.Zero, a)
        assert "not the value at the low end" in refused(Rising(r), S.One, r**3, self.FROM_0)
        refused(Rising(r), S.Zero, (r - 1) ** 2 - 1, self.FROM_0)


class TestRanges:
    """Polynomials on a range, and their roots."""

    def test_a_range(self) -> None:
        """It starts where the sides meet and ends before the bound does; the theorem is for it alone."""
        power, line = (1 + a / 10) ** 4, 1 + a
        end, beyond = Rational(33, 5), Rational(20, 3)
        found = proved(OnRange(a, S.Zero, end, beyond), power, line, relation="≤")
        assert found.hypotheses.domain(a) == Interval.Lopen(0, end)
        proved(OnRange(a, S.Zero, end, beyond, "≥"), -power, -line, relation="≥")
        for low, high, past, before, after in (
            (S.Zero, beyond, S(7), power, line),
            (S.Zero, end, S(6), power, line),
            (S.Zero, end, beyond, power, line + Rational(1, 100)),
            (S.Zero, end, beyond, line, power),
        ):
            refused(OnRange(a, low, high, past), before, after)


class TestFromZero:
    """Bounds of even functions by derivatives from 0 on."""

    def test_the_best_constant(self) -> None:
        """r² - tanh² r ≤ 2r⁴/3, for real scores under any cap; one per cent less or more does not pass."""
        lost = r**2 - (c * tanh(r / c)) ** 2
        right = 2 * r**4 / (3 * c**2)
        proved(FromZero(r, c), E(lost), E(right), relation="≤")
        for wrong in (Rational(99, 100), Rational(101, 100)):
            refused(FromZero(r, c), E(lost), E(wrong * right))
        proved(FromZero(r), tanh(r) ** 2, r**2, relation="≤")

    @pytest.mark.parametrize(
        ("rule", "before", "after", "words"),
        [
            (FromZero(r), tanh(r) ** 2, 2 * r**2, ""),
            (FromZero(r), r**2, tanh(r) ** 2, "changes its sign"),
            (FromZero(r), r**2 - r**3, r**2, "not even"),
            (FromZero(a), tanh(a) ** 2, a**2, "must be any real number"),
        ],
    )
    def test_what_does_not_follow(self, rule: Rule, before: Any, after: Any, words: str) -> None:
        """The other way round, for odd functions, units of any sign."""
        assert words in refused(rule, before, after)
