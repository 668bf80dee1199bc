"""Integrals with a formula of their own, cut in two and exchanged with each other and with sums.

Sources: NIST Digital Library of Mathematical Functions, 7.7.3 (Gauss), 8.4.8 (incomplete gamma function),
10.32.10 and 10.43.19 (modified Bessel functions).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sympy import (
    Abs,
    Add,
    Dummy,
    I,
    Integral,
    Max,
    Min,
    Mul,
    Poly,
    S,
    Sum,
    besselk,
    binomial,
    cos,
    erf,
    exp,
    expand,
    factorial,
    gamma,
    oo,
    pi,
    sign,
    sin,
    sqrt,
)
from sympy.polys.polyerrors import PolynomialError

from verify.symbolic.kernel.core import Conclusion, Existence, Rule, Theorem
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.gate import bound_in
from verify.symbolic.kernel.hypotheses import Hypotheses, Refused
from verify.symbolic.kernel.ranges import range_from
from verify.symbolic.kernel.signs import is_known, where_defined
from verify.symbolic.kernel.words import E, Var

_BINDERS = (Sum, Integral)


def outermost(expression: Any, *kinds: Any) -> list[Any]:
    """Return the parts of these kinds in an expression that stand inside no other of them."""
    parts = expression.atoms(*kinds)
    return [one for one in parts if not any(other != one and other.has(one) for other in parts)]


def alike(one: Any, other: Any) -> bool:
    """Return whether two expressions are equal, with sums, integrals and means compared by what is inside.

    A constant before a sum or an integral may stand in it as well.
    """
    one, other = _gathered(one), _gathered(other)
    if same(one, other):
        return True
    kinds = (*_BINDERS, E)
    theirs, mine, matched = outermost(other, *kinds), {}, {}
    for part in outermost(one, *kinds):
        twin = next((it for it in theirs if it not in matched and _are_twins(part, it)), None)
        if twin is not None:
            mine[part] = matched[twin] = Dummy(real=part.is_real, positive=part.is_positive)
    return bool(mine) and same(one.xreplace(mine), other.xreplace(matched))


def _are_twins(one: Any, other: Any) -> bool:
    if one == other:
        return True
    if type(one) is not type(other) or one.args[1:] != other.args[1:]:
        return False
    return alike(one.args[0], other.args[0])


def _gathered(expression: Any) -> Any:
    """Return a product of a sum or an integral and of constants as one sum or integral."""
    if not isinstance(expression, Mul):
        return expression
    whole = [one for one in expression.args if isinstance(one, _BINDERS)]
    if len(whole) != 1:
        return expression
    beside = Mul(*(one for one in expression.args if one is not whole[0]))
    function, *limits = whole[0].args
    if beside.free_symbols & set(whole[0].variables):
        return expression
    return whole[0].func(beside * function, *limits)


def is_bounded(expression: Any) -> bool:
    """Return whether an expression visibly stays between two numbers, for whatever real values."""
    if expression.is_number:
        return bool(expression.is_finite)
    if isinstance(expression, Add | Mul):
        return all(map(is_bounded, expression.args))
    if isinstance(expression, cos | sin | sign):
        return bool(expression.args[0].is_real)
    return isinstance(expression, exp) and bool((expression.args[0] / I).is_real)


class ByFormula(Rule):
    """One side is the other with its integrals over some ``variables`` done by a formula.

    Where a parameter is not known to be positive, that it is becomes a hypothesis: the integral converges
    there alone. What stands before an integral stays.
    """

    existence: ClassVar[Existence] = "alike"
    integrates: ClassVar[bool] = True
    variables: tuple[Any, ...]

    def __init__(self, *variables: Any) -> None:
        object.__setattr__(self, "variables", variables)

    def formula(self, function: Any, variable: Any, low: Any, high: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return an integral, and what must be positive.

        Raises:
            Refused: there is no formula of this kind.
        """
        raise NotImplementedError

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, where the integrals converge."""
        conditions: list[Any] = []
        sides = (before, after)
        done, other = (self._done(side, conditions, under) for side in sides)
        if (done, other) == sides or not alike(done, other):
            raise Refused(f"the sides are {done} and {other}")
        inside = {one for side in sides for mean in side.atoms(E, Var) for one in mean.free_symbols}
        inside |= bound_in(before) | bound_in(after)
        for one in conditions:
            if not is_known(one, under, strict=True):
                if one.free_symbols & inside:
                    raise Refused(f"{one} must be positive, and may be random, or is bound")
                under = under.having(one > 0)
        return Conclusion(hypotheses=where_defined(before, where_defined(after, under)))

    def _done(self, side: Any, conditions: list[Any], under: Hypotheses) -> Any:
        if not isinstance(side, Integral):
            return side.xreplace(
                {one: self._done(one, conditions, under) for one in outermost(side, Integral)}
            )
        function, left = self._done(side.function, conditions, under), []
        for limit in side.limits:
            if limit[0] not in self.variables:
                left.append(limit)
                continue
            if left and not is_known(function, under):
                raise Refused(f"{limit[0]} may not come first: not known to be nowhere negative: {function}")
            function, needed = self.formula(function, *limit)
            conditions.extend(needed)
        return Integral(function, *left) if left else function


def _refuse_unless_from(low: Any, high: Any, *ranges: tuple[Any, Any]) -> None:
    if (low, high) not in ranges:
        raise Refused(f"the formula is for other ends than {low} and {high}")


class _Factors:
    """The factors of an integrand: what is constant, a power of the variable, an exponent, one more."""

    def __init__(self, function: Any, variable: Any) -> None:
        self.constant, self.power, self.exponent, self.others = S.One, S.Zero, S.Zero, []
        for factor in Mul.make_args(expand(function, deep=False, mul=False, power_exp=False)):
            base, power = factor.as_base_exp()
            if not factor.has(variable):
                self.constant *= factor
            elif isinstance(factor, exp):
                self.exponent += factor.args[0]
            elif base == variable and not power.has(variable):
                self.power += power
            else:
                self.others.append(factor)

    def rates(self, variable: Any, times: int, degree: int) -> list[Any]:
        """Return the coefficients of the exponent times a power of the variable, from the highest on.

        Raises:
            Refused: it is no polynomial of that degree.
        """
        try:
            found = Poly(expand(self.exponent * variable**times), variable).all_coeffs()
        except PolynomialError as error:
            raise Refused(f"the exponent {self.exponent} has another form") from error
        if len(found) > degree + 1:
            raise Refused(f"the exponent {self.exponent} has another form")
        return [*([S.Zero] * (degree + 1 - len(found))), *found]


@dataclass(frozen=True, init=False)
class GaussIntegrals(ByFormula):
    """∫ exp(-ay² + by + c) dy = √(π/a)·exp(b²/4a + c) over the whole line, for a > 0 and any complex b.

    Up to a place z it is (1 + erf(√a·z - b/(2√a)))/2 of that, for real b. For b = 0 a cosine of ty may stand
    in it, the real part for b = it, and half of it is that from 0 on.
    """

    variables: tuple[Any, ...]
    label = "Gauss’s integral: the square completed"

    def formula(self, function: Any, variable: Any, low: Any, high: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return the integral, and that the coefficient of the square must be positive."""
        parts = _Factors(function, variable)
        square, linear, fixed = parts.rates(variable, 0, 2)
        moved = linear**2
        if len(parts.others) == 1 and isinstance(parts.others[0], cos) and linear == 0:
            rate = parts.others.pop().args[0] / variable
            if rate.has(variable) or not rate.is_real:
                raise Refused("the cosine is not of a multiple")
            moved = -(rate**2)
            _refuse_unless_from(low, high, (-oo, oo), (S.Zero, oo))
        if parts.others or parts.power != 0 or square.is_positive or not square.is_real:
            raise Refused(f"{function}: this is none of Gauss’s integrals")
        if (low, high) != (-oo, oo) and not (
            linear.is_real and low.is_extended_real and high.is_extended_real
        ):
            raise Refused("part of the line needs a real integrand and real ends")
        whole = parts.constant * sqrt(pi / -square) * exp(fixed - moved / (4 * square))
        first, last = (_share_below(one, -square, linear) for one in (low, high))
        return whole * (last - first) / 2, (-square,)


def _share_below(end: Any, square: Any, linear: Any) -> Any:
    """Return twice the share of the whole line's integral up to an end, less 1."""
    if end in {oo, -oo}:
        return S.One if end == oo else S.NegativeOne
    return erf(sqrt(square) * end - linear / (2 * sqrt(square)))


@dataclass(frozen=True, init=False)
class BesselIntegrals(ByFormula):
    """Two integrals from 0 to infinity, of which one gives K and the other has it inside.

    ∫ w^(a-1)·exp(-pw - r/w) dw = 2(r/p)^(a/2)·K_a(2√(pr)) for p, r > 0, and
    ∫ x^(a-1)·K_ν(px) dx = 2^(a-2)·Γ((a-ν)/2)·Γ((a+ν)/2)/p^a for p, a - ν and a + ν > 0.
    """

    variables: tuple[Any, ...]
    label = "integrals with modified Bessel functions, symbolic parameters"

    def formula(self, function: Any, variable: Any, low: Any, high: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return the integral, and what must be positive."""
        _refuse_unless_from(low, high, (S.Zero, oo))
        parts = _Factors(function, variable)
        a = parts.power + 1
        if not parts.others:
            falling, fixed, rising = (-one for one in parts.rates(variable, 1, 2))
            _refuse_complex(a, falling, rising)
            size = 2 * (rising / falling) ** (a / 2) * besselk(a, 2 * sqrt(falling * rising))
            return parts.constant * exp(-fixed) * size, (falling, rising)
        if len(parts.others) != 1 or not isinstance(parts.others[0], besselk) or parts.exponent != 0:
            raise Refused(f"{function}: this is none of these integrals")
        order, inside = parts.others[0].args
        rate = inside / variable
        if order.has(variable) or rate.has(variable):
            raise Refused("the Bessel function is not of a multiple")
        _refuse_complex(a, order, rate)
        gammas = gamma((a - order) / 2) * gamma((a + order) / 2)
        return parts.constant * 2 ** (a - 2) * gammas / rate**a, (rate, a - order, a + order)


def _refuse_complex(*parameters: Any) -> None:
    if not all(one.is_real for one in parameters):
        raise Refused("a parameter is not known to be real")


@dataclass(frozen=True)
class GammaTail(ByFormula):
    """∫ v^(m-1)·exp(-rv) dv from c on is (m-1)!·exp(-rc)/r^m·Σ(rc)^k/k!, k from 0 to m - 1.

    For a positive whole m, r > 0 and c ≥ 0. Both sides fall from (m-1)!/r^m at the rate of the integrand.
    """

    variable: Any
    index: Any
    label = "the tail of a gamma number of whole order"

    @property
    def variables(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The variable that is integrated over."""
        return (self.variable,)

    def formula(self, function: Any, variable: Any, low: Any, high: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return the integral, and that the rate must be positive."""
        parts = _Factors(function, variable)
        slope, fixed = parts.rates(variable, 0, 1)
        order, rate, k = parts.power + 1, -slope, self.index
        if parts.others or high != oo or not (order.is_integer and order.is_positive and rate.is_real):
            raise Refused(f"{function}: this is no density of a gamma number of whole order")
        if not (low.is_nonnegative and k.is_Symbol and k.is_integer and k.is_nonnegative):
            raise Refused(f"{low} and {k} must not be negative")
        terms = Sum((rate * low) ** k / factorial(k), (k, 0, order - 1))
        return parts.constant * gamma(order) * exp(fixed - rate * low) / rate**order * terms, (rate,)


@dataclass(frozen=True)
class SplitAt(Rule):
    """An integral is that up to a place and that from there on, and signs are what they are on either side.

    That goes for the larger or smaller of two and for sizes, too. Either part surely converges.
    """

    existence: ClassVar[Existence] = "alike"
    integrates: ClassVar[bool] = True
    variable: Any
    at: Any
    label = "the range is cut in two, on each of which the sign is known"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        y, at = self.variable, self.at
        parts = [one for one in before.atoms(Integral) if one.variables[0] == y]
        if len(parts) != 1 or at.has(y):
            raise Refused(f"there is not one integral over {y}, from within")
        (_, low, high), *outer = parts[0].limits
        function = parts[0].function
        cut = Add(*(_over_range(function, y, *ends, under) for ends in ((low, at), (at, high))))
        cut = before.xreplace({parts[0]: Integral(cut, *outer) if outer else cut})
        if not alike(cut, after):
            raise Refused(f"cut, it is {cut}")
        return Conclusion(hypotheses=where_defined(after, under))


def _over_range(function: Any, variable: Any, low: Any, high: Any, under: Hypotheses) -> Any:
    """Return an integral with the signs in it that are known all over its range.

    Raises:
        Refused: the range is not known to run upwards, or the integral to converge.
    """
    on, rest = range_from(low, high, under), Dummy(positive=True)
    if high == oo:
        inside = variable if low == -oo else low + rest
    elif low == -oo:
        inside = high - rest
    else:
        inside = low + (high - low) * rest / (1 + rest)
    put = {}
    for one in outermost(function, sign, Abs, Min, Max):
        put[one] = _decided(one, lambda a: is_known(a.xreplace({variable: inside}), under, strict=True))
    found = function.xreplace(put)
    if found != 0 and not on.converges(found.xreplace({variable: on.at})):
        raise Refused(f"not known to converge from {low} to {high}: {found}")
    return S.Zero if found == 0 else Integral(found, (variable, low, high))


def _decided(one: Any, is_positive: Any) -> Any:
    """Return what a sign, a size, or the smaller or larger of two is where a sign is known; else itself."""
    first, second = (*one.args, S.Zero)[:2]
    if len(one.args) > 2:
        return one
    for larger, smaller, direction in ((first, second, 1), (second, first, -1)):
        if is_positive(larger - smaller):
            if isinstance(one, sign):
                return S(direction)
            return larger - smaller if isinstance(one, Abs) else smaller if isinstance(one, Min) else larger
    return one


@dataclass(frozen=True)
class BinomialTheorem(Rule):
    """(a + b)^n is the sum of C(n, j)·a^(n-j)·b^j over j from 0 to n, n being a whole number from 0 on."""

    existence: ClassVar[Existence] = "alike"
    power: Any
    second: Any
    index: Any
    label = "the binomial theorem"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        (base, n), j, b = self.power.as_base_exp(), self.index, self.second
        if not (n.is_integer and n.is_nonnegative and j.is_Symbol and j.is_integer and j.is_nonnegative):
            raise Refused(f"{n} and {j} must be whole numbers from 0 on")
        if before.has(j) or self.power.has(j) or b.has(j) or not before.has(self.power):
            raise Refused(f"{j} has a meaning already, or {self.power} does not stand there")
        terms = Sum(binomial(n, j) * (base - b) ** (n - j) * b**j, (j, 0, n))
        if not alike(before.xreplace({self.power: terms}), after):
            raise Refused("the other side is not this with the power multiplied out")
        return Conclusion(hypotheses=under)


@dataclass(frozen=True)
class Exchanged(Rule):
    """Sums and integrals change their order: of what is nowhere negative (Tonelli), or finite (Fubini).

    Both sides run over the same places, each over ends that may name what is summed outside it. What is
    bounded, such as a cosine, may stand in it where ``finite`` is the theorem that the rest has a finite
    value.
    """

    finite: Theorem | None = None
    label = "sums and integrals of what is nowhere negative change their order"

    @property
    def existence(self) -> Existence:  # type: ignore[override]
        """That all exists where the rest has a finite value."""
        return "alike" if self.finite is None else "all"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        (here, function), (there, other) = map(_flat, (before, after))
        if sorted(here, key=str) != sorted(there, key=str) or not same(function, other):
            raise Refused("the sides run over other places, or add up something else")
        if {one[0] for one in here} & (before.free_symbols | after.free_symbols):
            raise Refused("an end names what is summed within")
        bounded = [one for one in Mul.make_args(function) if not one.is_number and is_bounded(one)]
        rest = function / Mul(*bounded)
        if not is_known(rest, under):
            raise Refused(f"not known to be nowhere negative: {rest}")
        if bounded:
            self._refuse_infinite(here, rest)
        return Conclusion(hypotheses=under)

    def _refuse_infinite(self, places: list[Any], rest: Any) -> None:
        value = S.Zero if self.finite is None else self.finite.rhs
        if self.finite is None or self.finite.relation != "=" or same(value, S.Zero) or value.has(oo, -oo):
            raise Refused("what changes its sign needs the theorem that the rest has a finite value")
        known, function = _flat(self.finite.lhs)
        elsewhere = {one[0]: Dummy(**one[0].assumptions0) for one in places}
        there, other = (one.xreplace(elsewhere) for one in (function, rest))
        if sorted(known, key=str) != sorted(places, key=str) or not same(function * other, there * rest):
            raise Refused("the theorem is about something else")


def _flat(expression: Any) -> tuple[list[Any], Any]:
    """Return over what nested sums and integrals run, outermost first, and what they add up."""
    constant: Any = S.One
    places: list[Any] = []
    while True:
        whole = [one for one in Mul.make_args(expression) if isinstance(one, _BINDERS)]
        if len(whole) != 1:
            if expression.has(*_BINDERS):
                raise Refused(f"{expression} is no nest of sums and integrals")
            return places, constant * expression
        beside = Mul(*(one for one in Mul.make_args(expression) if one is not whole[0]))
        constant *= beside
        names = {one[0] for one in places}
        for variable, *ends in reversed(whole[0].limits):
            if variable in names or constant.has(variable) or len(ends) != len(("low", "high")):
                raise Refused(f"{variable} names two things")
            names.add(variable)
            places.append((variable, type(whole[0]).__name__, *ends))
        expression = whole[0].function
