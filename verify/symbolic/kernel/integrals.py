"""Integrals: by a primitive, with another variable, by parts, folded, bounded; and Euler's, by formula.

Those are of powers times an exponential, or times a power of a sum, with symbolic parameters.
``integrate`` finds them too, by way of Meijer's G-functions and a hundred times as slowly. Source: NIST
Digital Library of Mathematical Functions, 5.2.1, 5.9.1 and 5.12.3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

from sympy import Add, I, Integral, Interval, Mul, Poly, Pow, S, diff, exp, expand, gamma, log, oo

from verify.symbolic.kernel.core import Conclusion, Existence, Rule, Theorem
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.hypotheses import Hypotheses, Refused
from verify.symbolic.kernel.ranges import On, defined, gathered, range_from
from verify.symbolic.kernel.signs import is_known, where_defined
from verify.symbolic.kernel.special_integrals import ByFormula


@cache
def euler(integrand: Any, variable: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the integral of ``integrand`` over a ``variable`` from 0 to infinity, and what must be positive.

    It is ∫ x^(a-1)·exp(-r·x^m) dx = Γ(a/m)/(m·r^(a/m)) or ∫ x^(a-1)/(u + c·x)^(a+b) dx = B(a, b)/(c^a·u^b),
    where it converges: a, b, r, u and c are positive. A complex r with a positive real part will do as well.

    Raises:
        Refused: the integrand has neither form, or a parameter is known not to be positive.
    """
    parts = _IntegrandFactors(integrand, variable)
    a = parts.power + 1
    if parts.exponent != 0 and parts.base is None:
        ((order, rate),) = _monomials(-parts.exponent, variable, integrand)
        needed = parts.positive(a / order, rate.as_real_imag()[0] if rate.has(I) else rate)
        return parts.constant * gamma(a / order) / (order * rate ** (a / order)), needed
    if parts.exponent == 0 and parts.base is not None:
        slope, level = Poly(parts.base, variable).all_coeffs()
        b = -parts.of_base - a
        needed = parts.positive(a, b, slope, level)
        return parts.constant * gamma(a) * gamma(b) / gamma(a + b) / (slope**a * level**b), needed
    raise parts.error()


def _monomials(polynomial: Any, variable: Any, integrand: Any) -> list[tuple[int, Any]]:
    terms = [(power, rate) for (power,), rate in Poly(polynomial, variable).terms() if power]
    if len(terms) != 1:
        raise Refused(f"{integrand}: the exponent has several powers of {variable}")
    return terms


class _IntegrandFactors:
    """The factors of an integrand: what is constant, the power of the variable, an exponent, one sum."""

    def __init__(self, integrand: Any, variable: Any) -> None:
        self._integrand = integrand
        self.constant, self.power, self.exponent = S.One, S.Zero, S.Zero
        self.base, self.of_base = None, S.Zero
        for factor in Mul.make_args(expand(integrand, deep=False, mul=False, power_exp=False)):
            base, power = factor.as_base_exp()
            if not factor.has(variable):
                self.constant *= factor
            elif isinstance(factor, exp):
                self._add_exponent(factor.args[0], variable)
            elif power.has(variable):
                raise self.error()
            elif base == variable:
                self.power += power
            elif isinstance(base, Add) and self.base in {None, base}:
                self.base, self.of_base = base, self.of_base + power
            else:
                raise self.error()

    def _add_exponent(self, exponent: Any, variable: Any) -> None:
        """Add an exponent, what is free of the variable to the constant."""
        moving = expand(exponent)
        fixed = moving.subs(variable, 0)
        self.constant *= exp(fixed)
        self.exponent += expand(moving - fixed)

    def positive(self, *parameters: Any) -> tuple[Any, ...]:
        """Return those of the parameters that SymPy does not know to be positive, as they must be."""
        if any(one.is_positive is False for one in parameters):
            raise self.error()
        return tuple(one for one in parameters if not one.is_positive)

    def error(self) -> Refused:
        """Return that the integrand has none of the forms."""
        return Refused(f"{self._integrand}: this is none of Euler's integrals")


@dataclass(frozen=True, init=False)
class EulerIntegrals(ByFormula):
    """∫ x^(a-1)·exp(-r·x^m) dx and ∫ x^(a-1)/(u + c·x)^(a+b) dx from 0 to infinity, by ``euler``."""

    variables: tuple[Any, ...]
    label = "Euler’s integrals of the gamma and the beta function, symbolic parameters"

    def formula(self, function: Any, variable: Any, low: Any, high: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return the integral, and what must be positive."""
        if (low, high) != (S.Zero, oo):
            raise Refused(f"{function}: an integral of Euler runs from 0 to infinity")
        return euler(function, variable)


@dataclass(frozen=True)
class Primitive(Rule):
    """An integral over a ``variable`` is what its ``primitive`` grows by from the lower to the upper end.

    The primitive has the integrand as its derivative all over the range inside, and a limit at either end.
    """

    integrates: ClassVar[bool] = True
    variable: Any
    primitive: Any
    label = "a primitive: its derivative is the integrand, its limits at the ends"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation; that the integral converges follows too."""
        whole = gathered(before, self.variable)
        on = whole.on(under)
        if len(whole.parts) != 1:
            raise Refused(f"there are several integrals over {self.variable}")
        ((factor, function),) = whole.parts
        primitive, integrand = (one.xreplace({self.variable: on.at}) for one in (self.primitive, function))
        if not on.is_continuous(primitive, smooth=True):
            raise Refused(f"not known to have a derivative all over the range: {self.primitive}")
        if not same(diff(primitive, on.at), integrand):
            raise Refused(f"the derivative of {self.primitive} is not what is integrated")
        value = on.limit_at(primitive, on.high) - on.limit_at(primitive, on.low)
        if not same(whole.rest + factor * value, after):
            raise Refused(f"the integral is {value}")
        for one in self.primitive.atoms(Pow, log):
            if not one.has(self.variable):
                under = where_defined(one, under)
        return Conclusion(hypotheses=defined(before, defined(after, under)))


@dataclass(frozen=True)
class Substituted(Rule):
    """An integral over a ``variable`` is one over ``new``, of which the variable is the ``value``.

    The value has a derivative that is nowhere 0, and leads from end to end. The integrand is continuous, and
    either integral converges: surely, or by those ``known_integrals``.
    """

    integrates: ClassVar[bool] = True
    variable: Any
    new: Any
    value: Any
    known_integrals: tuple[Theorem, ...] = ()
    label = "another variable: what the old one is, its slope, and the ends"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        old, fresh = gathered(before, self.variable), gathered(after, self.new)
        on, over = old.on(under), fresh.on(under)
        if self.variable != self.new and self.value.has(self.variable):
            raise Refused(f"{self.variable} stands in what it is to be")
        value = self.value.xreplace({self.new: over.at})
        slope = diff(value, over.at)
        rises = over.is_nonnegative(slope, strict=True)
        moves = rises or over.is_nonnegative(-slope, strict=True)
        if not (over.is_continuous(value, smooth=True) and moves):
            raise Refused(f"not known to move one way: {self.value}")
        ends = (on.low, on.high) if rises else (on.high, on.low)
        if not (over.goes_to(value, over.low, ends[0]) and over.goes_to(value, over.high, ends[1])):
            raise Refused(f"{self.value} does not lead from {ends[0]} to {ends[1]}")
        function, other = old.integrand(self.variable, on.at), fresh.integrand(self.new, over.at)
        if not same(function.xreplace({on.at: value}) * (slope if rises else -slope), other):
            raise Refused("what is integrated is not this times the slope")
        if not (same(old.rest, fresh.rest) and on.is_continuous(function)):
            raise Refused("the rest differs, or the integrand is not known to be continuous")
        known = self.known_integrals
        if not (on.converges(function, known) or over.converges(other, known)):
            raise Refused("not known to converge")
        old.refuse_split(self.variable, on, known)
        fresh.refuse_split(self.new, over, known)
        return Conclusion(hypotheses=defined(before, defined(after, under)))


@dataclass(frozen=True)
class SameIntegrands(Rule):
    """Integrals over one range are equal where what they integrate is, in all, over that range.

    So constants may be taken out or in, integrals over the same range added up or taken apart, each of which
    converges; sizes, largest and smallest are what they are all over the range. The variable on the other
    side may be ``new``.
    """

    existence: ClassVar[Existence] = "alike"
    variable: Any
    new: Any = None
    known_integrals: tuple[Theorem, ...] = ()
    label = "the integrands are equal"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        new = self.variable if self.new is None else self.new
        one, other = gathered(before, self.variable), gathered(after, new)
        on = one.on(under)
        if (one.low, one.high) != (other.low, other.high) or not same(one.rest, other.rest):
            raise Refused("the ranges, or what stands beside the integrals, differ")
        sides = one.integrand(self.variable, on.at), other.integrand(new, on.at)
        if not same(*map(on.settled, sides)):
            raise Refused(f"the integrands are {sides[0]} and {sides[1]}")
        one.refuse_split(self.variable, on, self.known_integrals)
        other.refuse_split(new, on, self.known_integrals)
        return Conclusion(hypotheses=defined(before, defined(after, under)))


@dataclass(frozen=True)
class Even(Rule):
    """The integral of an even function, between ends as far on either side of 0, is twice that from 0 on.

    Sizes, largest and smallest are what they are there. The integral converges: surely, or by those
    ``known_integrals``.
    """

    integrates: ClassVar[bool] = True
    variable: Any
    new: Any = None
    known_integrals: tuple[Theorem, ...] = ()
    label = "an even function: twice the integral from 0 on"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        new = self.variable if self.new is None else self.new
        whole, half = gathered(before, self.variable), gathered(after, new)
        if (half.low, half.high) != (S.Zero, whole.high) or whole.low != -whole.high:
            raise Refused("the ranges are not a whole and its half")
        on, over = whole.on(under), half.on(under)
        function = whole.integrand(self.variable, on.at)
        if not same(function.xreplace({on.at: -on.at}), function):
            raise Refused(f"not even: {function}")
        doubled = over.settled(2 * function.xreplace({on.at: over.at}))
        if not (same(doubled, half.integrand(new, over.at)) and same(whole.rest, half.rest)):
            raise Refused(f"half of it is {doubled}")
        known = self.known_integrals
        if not (on.converges(function, known) or over.converges(doubled, known)):
            raise Refused("not known to converge")
        whole.refuse_split(self.variable, on, self.known_integrals)
        half.refuse_split(new, over, self.known_integrals)
        return Conclusion(hypotheses=defined(before, defined(after, under)))


@dataclass(frozen=True)
class IntegralByParts(Rule):
    """Two integrals over one range differ by what a ``boundary`` term grows by over it.

    Its derivative is what the integrands differ by, the second less the first. One of both converges, and so
    does the other.
    """

    integrates: ClassVar[bool] = True
    variable: Any
    boundary: Any
    known_integrals: tuple[Theorem, ...] = ()
    label = "by parts: the integrands differ by a derivative, of what is known at both ends"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        one, other = gathered(before, self.variable), gathered(after, self.variable)
        if (one.low, one.high) != (other.low, other.high):
            raise Refused("the ranges differ")
        on = one.on(under)
        boundary = self.boundary.xreplace({self.variable: on.at})
        functions = [side.integrand(self.variable, on.at) for side in (one, other)]
        if not on.is_continuous(boundary, smooth=True):
            raise Refused(f"not known to have a derivative all over the range: {self.boundary}")
        if not same(functions[1] - functions[0], diff(boundary, on.at)):
            raise Refused(f"the integrands do not differ by the derivative of {self.boundary}")
        grown = on.limit_at(boundary, on.high) - on.limit_at(boundary, on.low)
        if not same(one.rest - other.rest, grown):
            raise Refused(f"the boundary term grows by {grown}")
        if not any(on.converges(function, self.known_integrals) for function in functions):
            raise Refused("not known to converge")
        one.refuse_split(self.variable, on, self.known_integrals)
        other.refuse_split(self.variable, on, self.known_integrals)
        return Conclusion(hypotheses=defined(before, defined(after, under)))


@dataclass(frozen=True)
class Integrated(Rule):
    """From l ≤ r for all values of a ``variable`` between two ends that of their integrals between these.

    The same goes for an equation. Both sides are continuous there, and both integrals converge: surely, by
    those ``known_integrals``, or the one as its integrand lies between 0 and that of the other.
    """

    integrates: ClassVar[bool] = True
    variable: Any
    low: Any
    high: Any
    known_integrals: tuple[Theorem, ...] = ()
    known: Any = None
    moves: ClassVar[bool] = True
    label = "the same, integrated"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the relation of the integrals."""
        known, variable, low, high = self.known, self.variable, S(self.low), S(self.high)
        if known.relation not in {"=", "≤", "≥", "<", ">"}:
            raise Refused(f"{known.relation} is not integrated")
        if not variable.is_Symbol or low.has(variable) or high.has(variable):
            raise Refused(f"{variable} must be a symbol that the ends do not name")
        hypotheses = self._without_variable(known.hypotheses)
        if oo not in {-low, high} and not is_known(high - low, hypotheses):
            hypotheses = hypotheses.having(high - low >= 0)
        on = range_from(low, high, hypotheses)
        _refuse_outside(on, known.hypotheses.domain(variable))
        sides = [one.xreplace({variable: on.at}) for one in (known.lhs, known.rhs)]
        if not all(map(on.is_continuous, sides)):
            raise Refused("not known to be continuous all over the range")
        self._refuse_divergent(on, known.relation, *sides)
        lhs, rhs = (Integral(one, (variable, low, high)) for one in (known.lhs, known.rhs))
        if rhs != after and not same(rhs, after):
            raise Refused(f"integrated it is {rhs}")
        relation = {"<": "≤", ">": "≥"}.get(known.relation, known.relation)
        return Conclusion(relation, hypotheses, lhs=lhs)

    def _without_variable(self, under: Hypotheses) -> Hypotheses:
        """Return hypotheses without the domain of the variable.

        Raises:
            Refused: they say more of it than that.
        """
        law = under.law and under.law.moments
        said = {one for condition in under.conditions for one in condition.free_symbols}
        said |= {one for pair in under.definitions for part in pair for one in part.free_symbols}
        said |= {one for entry in under.entries for one in entry}
        if self.variable in said or (law and self.variable in law):
            raise Refused(f"the hypotheses say more of {self.variable} than its domain")
        domains = tuple((one, domain) for one, domain in under.domains if one != self.variable)
        return replace(under, domains=domains)

    def _refuse_divergent(self, on: On, relation: str, *sides: Any) -> None:
        smaller, larger = reversed(sides) if relation in {"≥", ">"} else sides
        first, second = (on.converges(one, self.known_integrals) for one in (smaller, larger))
        if (first and second) or (relation == "=" and (first or second)):
            return
        if not ((second and on.is_nonnegative(smaller)) or (first and on.is_nonnegative(-larger))):
            raise Refused("not known to converge")


def _refuse_outside(on: On, domain: Any) -> None:
    """Refuse a range beyond the values of a domain."""
    if domain in {S.Reals, S.Complexes}:
        return
    if not isinstance(domain, Interval):
        raise Refused(f"the domain {domain} is no interval")
    low = domain.inf == -oo or is_known(on.low - domain.inf, on.given)
    high = domain.sup == oo or is_known(domain.sup - on.high, on.given)
    if not (low and high):
        raise Refused(f"it holds in {domain} only")
