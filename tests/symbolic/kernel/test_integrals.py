"""Rules for integrals: what they make, and what they must refuse: other ends, constants, what diverges."""

from typing import Any

import pytest
from sympy import (
    Derivative, Integral, Min, Rational, S, Sum, Symbol, erf, exp, log, oo, pi, sqrt, symbols,
)  # fmt: skip

from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.calculus import AtItsLeast, Compared
from verify.symbolic.kernel.core import prove
from verify.symbolic.kernel.integrals import (
    Even, IntegralByParts, Integrated, Primitive, SameIntegrands, Substituted,
)  # fmt: skip
from verify.symbolic.kernel.signs import Sign

x, w = symbols("x w", real=True)
u, a, b, T = symbols("u a b T", positive=True)
m = Symbol("m", integer=True, positive=True)
LOGISTIC = 1 / (1 + exp(-x))
SLOPE = exp(x) / (1 + exp(x)) ** 2
BELL = exp(-(x**2) / 2)
BELOW = (1 + erf(x / sqrt(2))) / 2
HARMONIC = Integral(1 / u, (u, 1, oo))


class TestPrimitive:
    """The integral is what a function with that derivative grows by."""

    @pytest.mark.parametrize(
        ("primitive", "whole", "value"),
        [
            (LOGISTIC, Integral(SLOPE, (x, -oo, oo)), S.One),
            (a * x**3 / 3, Integral(a * x**2, (x, 0, b)), a * b**3 / 3),
            (-log(1 + exp(-x)), 1 - Integral(1 / (1 + exp(x)), (x, 0, oo)) / a, 1 - log(2) / a),
            (-BELL, Integral(x * BELL, (x, 0, oo)), S.One),
        ],
    )
    def test_it_is_the_value(self, primitive: Any, whole: Any, value: Any) -> None:
        """By values or limits at the ends; a hundredth more is refused."""
        proved(Primitive(x, primitive), whole, value)
        refused(Primitive(x, primitive), whole, value * Rational(101, 100))

    @pytest.mark.parametrize(
        ("primitive", "whole", "value", "why"),
        [
            (-1 / x, Integral(x**-2, (x, -1, 1)), S(-2), "derivative all over"),
            (log(x**2) / 2, Integral(1 / x, (x, -1, 2)), log(2), "derivative all over"),
            (x**2 / 2, Integral(x, (x, 0, oo)), S.One, "no limit"),
            (log(u), HARMONIC, S.One, "no limit|no integral"),
            (a * x, Integral(2 * a, (x, 0, 1)), a, "is not what is integrated"),
            (x, Integral(1, (x, 0, w)), w, "at most"),
            (a * x**2 / 2, Derivative(Integral(a * x, (x, 0, 1)), a), S.Zero, "no integral"),
            (a * x**2 / 2, Sum(Integral(m * x, (x, 0, 1)), (m, 1, 3)), S.Zero, "no integral"),
            (x**2 / 2, Integral(x, (x, 0, 1)) ** 2, Rational(1, 4), "not linear"),
        ],
    )
    def test_what_does_not_follow_is_refused(self, primitive: Any, whole: Any, value: Any, why: str) -> None:
        """A pole or a jump inside, no limit, another derivative, ends of no order, and what is not linear."""
        assert any(one in refused(Primitive(x, primitive), whole, value) for one in why.split("|"))


class TestSubstituted:
    """Another variable, with its slope and its ends."""

    def test_it_follows_the_ends(self) -> None:
        """Rising and falling, with a parameter, and from a finite end to an infinite one."""
        whole = Integral(exp(-(x**2) / (2 * a**2)), (x, -oo, oo))
        proved(Substituted(x, w, a * w), whole, a * Integral(exp(-(w**2) / 2), (w, -oo, oo)))
        proved(Substituted(x, w, -w), Integral(x, (x, 0, 1)), Integral(-w, (w, -1, 0)))
        proved(
            Substituted(u, b, exp(b) - 1), Integral((1 + u) ** -2, (u, 0, oo)), Integral(exp(-b), (b, 0, oo))
        )

    @pytest.mark.parametrize(
        ("value", "whole", "other", "why"),
        [
            (2 * w, Integral(x, (x, 0, 2)), Integral(w, (w, 0, 1)), "times the slope"),
            (2 * w, Integral(x, (x, 0, 2)), Integral(4 * w, (w, 0, 2)), "does not lead"),
            (w**2, Integral(x, (x, 1, 1)), Integral(2 * w**3, (w, -1, 1)), "one way|no value"),
            (w + x, Integral(1, (x, 0, 1)), Integral(1, (w, 0, 1)), "stands in"),
        ],
    )
    def test_what_does_not_follow_is_refused(self, value: Any, whole: Any, other: Any, why: str) -> None:
        """No slope, other ends, a way there and back, and the old variable in the new."""
        assert any(one in refused(Substituted(x, w, value), whole, other) for one in why.split("|"))

    def test_infinity_is_no_number(self) -> None:
        """∞ = 2∞ would be one of x = u²; so would many things."""
        assert "converge" in refused(Substituted(u, b, b**2), HARMONIC, Integral(2 / b, (b, 1, oo)))


class TestSameIntegrands:
    """Constants in and out, sums apart and together."""

    def test_what_does_not_converge_is_not_taken_apart(self) -> None:
        """1/u less 1/u is 0, and infinity less infinity nothing; other ends, other integrands."""
        gap = HARMONIC - Integral(1 / u - 1 / u**2, (u, 1, oo))
        assert "converge" in refused(SameIntegrands(u), gap, Integral(u**-2, (u, 1, oo)))
        assert "converge" in refused(SameIntegrands(u), (w - 1) * HARMONIC, Integral((w - 1) / u, (u, 1, oo)))
        assert "ranges" in refused(SameIntegrands(x), Integral(x, (x, 0, 1)), Integral(x, (x, 0, 2)))
        refused(SameIntegrands(x), Integral(x, (x, 0, 1)), Integral(x**2, (x, 0, 1)))


def test_an_even_function_is_folded() -> None:
    """Twice the half; the smaller of two is known there. Odd ones, and 1% more, are refused."""
    whole = Integral(Min(1 / (1 + exp(x)), 1 / (1 + exp(-x))) * BELL, (x, -oo, oo))
    half = Integral(2 * BELL / (1 + exp(u)), (u, 0, oo)).xreplace({x: u})
    proved(Even(x, u), whole, half)
    refused(Even(x, u), whole, half * Rational(101, 100))
    assert "not even" in refused(
        Even(x), Integral(x * BELL, (x, -oo, oo)), Integral(2 * x * BELL, (x, 0, oo))
    )
    assert "half" in refused(Even(x), Integral(BELL, (x, -oo, oo)), Integral(2 * BELL, (x, 0, 1)))
    assert "converge" in refused(Even(x), Integral(x**2, (x, -oo, oo)), Integral(2 * x**2, (x, 0, oo)))


class TestByParts:
    """Integrands that differ by a derivative."""

    boundary = -m * BELL * BELOW ** (m - 1)
    first = Integral(m * (m - 1) * BELL**2 * BELOW ** (m - 2) / sqrt(2 * pi), (x, -oo, oo))
    second = Integral(m * x * BELL * BELOW ** (m - 1), (x, -oo, oo))

    def test_the_boundary_term_vanishes(self) -> None:
        """For any whole m, for the density dies away and the other factor stays between 0 and 1."""
        proved(IntegralByParts(x, self.boundary), self.first, self.second)
        proved(IntegralByParts(x, x**2), Integral(1, (x, 0, b)) + b**2, Integral(1 + 2 * x, (x, 0, b)))


class TestIntegrated:
    """A bound for all values of a variable is one of the integrals."""

    def test_a_bound_passes(self) -> None:
        """Where both converge: by an integral that is known, or surely; the order of the ends is assumed."""
        whole = prove(Primitive(x, LOGISTIC), Integral(SLOPE, (x, -oo, oo)), S.One)
        bound = prove(AtItsLeast(x**2, S.Zero), SLOPE * BELL, SLOPE)
        integral = Integral(SLOPE, (x, -oo, oo))
        known = proved(Integrated(x, -oo, oo, (whole,), bound), S.Zero, integral, relation="≤")
        assert known.lhs == Integral(SLOPE * BELL, (x, -oo, oo))
        assert "converge" in refused(Integrated(x, -oo, oo, (), bound), S.Zero, integral)
        square = prove(Sign(), S.Zero, x**2)
        known = proved(Integrated(x, w, b, (), square), S.Zero, Integral(x**2, (x, w, b)), relation="≤")
        assert known.hypotheses.conditions == {b - w >= 0}


def test_two_expressions_are_compared_by_the_sign_of_their_difference() -> None:
    """Strictly or not; the wrong way round is refused."""
    proved(Compared("≥"), 1 + x**2, 2 * x, relation="≥")
    proved(Compared("<", prove(Sign(strict=True), S.Zero, a)), b, a + b, relation="<")
    refused(Compared("≤"), 1 + x**2, 2 * x)
    refused(Compared("<"), x, x)
