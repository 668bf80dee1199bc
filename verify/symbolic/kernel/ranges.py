"""What is surely known of a function on a range of one variable: that it is continuous, limits, convergence.

An integral is a number here: the limit of the integrals over what lies inside its ends. So a rule that turns
one into another has to know that it converges, or 1 = 2 would follow from ∞ = 2·∞.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sympy import (
    Abs,
    Add,
    Derivative,
    Dummy,
    Integral,
    Interval,
    Max,
    Min,
    Mul,
    Poly,
    Pow,
    S,
    Symbol,
    cos,
    cosh,
    diff,
    erf,
    erfc,
    exp,
    expand,
    expand_log,
    fraction,
    limit,
    log,
    oo,
    sin,
    sinh,
    tanh,
    together,
)  # fmt: skip
from sympy.core.sorting import default_sort_key
from sympy.polys.polyerrors import PolynomialError

from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.hypotheses import Hypotheses, Refused
from verify.symbolic.kernel.signs import is_known, is_real, stand_in, where_defined
from verify.symbolic.kernel.words import OPAQUE

if TYPE_CHECKING:
    from verify.symbolic.kernel.core import Theorem

_SMOOTH = (Add, Mul, exp, erf, erfc, sin, cos, sinh, cosh, tanh)
_WITHIN_ONE = (erf, sin, cos, tanh)
_CORNERED = (Abs, Max, Min)
_ELEMENTARY = (Add, Mul, Pow, exp, log, sinh, cosh, tanh)


@dataclass(frozen=True)
class On:
    """The range of one variable; what is asked of a function is asked with ``at`` for the variable.

    What is not known where ``at`` lies stays open: an end that is no number counts as infinitely far.
    """

    low: Any
    high: Any
    given: Hypotheses

    @cached_property
    def at(self) -> Any:
        """A symbol that has all values inside the range, and says which sign they have.

        It is the same for one range, so that what is known of a function there is known again.
        """
        if self.low != -oo and is_known(self.low, self.given):
            return stand_in((self.low, self.high), positive=True)
        if self.high != oo and is_known(-self.high, self.given):
            return stand_in((self.low, self.high), negative=True)
        return stand_in((self.low, self.high), real=True)

    @cached_property
    def under(self) -> Hypotheses:
        """The hypotheses, and that ``at`` lies inside the range."""
        low, high = (self.low if self.low.is_number else -oo), (self.high if self.high.is_number else oo)
        return self.given.restricted(self.at, Interval.open(low, high))

    def is_nonnegative(self, expression: Any, *, strict: bool = False) -> bool:
        """Return whether an expression in ``at`` is surely not negative all over the range."""
        if is_known(expression, self.under, strict=strict):
            return True
        if not self.at.is_positive:
            return False
        # What is positive is the logarithm of what is more than 1.
        grown = expression.xreplace({self.at: log(1 + stand_in(self.at, positive=True))})
        return is_known(grown, self.given, strict=strict)

    def settled(self, expression: Any) -> Any:
        """Return an expression with sizes, largest and smallest as what they are all over the range."""
        found = {one: self._settled(one) for one in expression.atoms(*_CORNERED)}
        return expression.xreplace(found)

    def _settled(self, one: Any) -> Any:
        if isinstance(one, Abs):
            candidates, sign = (one.args[0], -one.args[0]), 1
        else:
            candidates, sign = one.args, 1 if isinstance(one, Max) else -1
        for best in candidates:
            if all(self.is_nonnegative(sign * (best - other)) for other in candidates if other != best):
                return best
        return one

    def is_continuous(self, expression: Any, *, smooth: bool = False) -> bool:
        """Return whether an expression is continuous inside the range, and has a derivative if ``smooth``."""
        if not expression.has(self.at) or expression == self.at:
            return True
        if not all(self.is_continuous(one, smooth=smooth) for one in expression.args):
            return False
        if isinstance(expression, Pow):
            return self._is_continuous_power(*expression.args, smooth=smooth)
        if isinstance(expression, log):
            return self.is_nonnegative(expression.args[0], strict=True)
        if isinstance(expression, _CORNERED):
            return not smooth and all(map(is_real, expression.args))
        return isinstance(expression, _SMOOTH)

    def _is_continuous_power(self, base: Any, power: Any, *, smooth: bool) -> bool:
        if power.is_integer and is_known(power, self.given):
            return True
        if self.is_nonnegative(base, strict=True):
            return True
        if power.is_integer:
            return self.is_nonnegative(-base, strict=True)
        return not smooth and not power.has(self.at) and bool(power.is_positive) and self.is_nonnegative(base)

    def is_bounded(self, expression: Any) -> bool:
        """Return whether an expression surely stays between two numbers all over the range."""
        if not expression.has(self.at):
            return True
        if isinstance(expression, Add | Mul | Max | Min | Abs):
            bounded = map(self.is_bounded, expression.args)
            small = isinstance(expression, Min) and all(map(self.is_nonnegative, expression.args))
            if any(bounded) if small else all(bounded):
                return True
        if isinstance(expression, _WITHIN_ONE):
            return is_real(expression.args[0])
        if isinstance(expression, exp):
            return is_real(expression.args[0]) and self.is_nonnegative(-expression.args[0])
        if isinstance(expression, Pow) and self._is_bounded_power(*expression.args):
            return True
        return self.is_nonnegative(expression) and self.is_nonnegative(1 - expression)

    def _is_bounded_power(self, base: Any, power: Any) -> bool:
        if power.has(self.at) or not is_real(base):
            return False
        if is_known(power, self.given):
            return self.is_bounded(base) and (power.is_integer or self.is_nonnegative(base))
        apart, rest = base.as_independent(self.at, as_Add=True)
        away = is_known(apart, self.given, strict=True) and self.is_nonnegative(rest)
        return away and is_known(-power, self.given)

    def dies_away(self, expression: Any, end: Any) -> bool:
        """Return whether an expression falls to 0 at an infinite end faster than any power.

        It is a sum of products of powers, of what is bounded, and of an exponential of a polynomial that
        goes to -∞.
        """
        if isinstance(expression, Add):
            return all(self.dies_away(one, end) for one in expression.args)
        exponent, factors = S.Zero, list(Mul.make_args(expression))
        for place, factor in enumerate(factors):
            if isinstance(factor, exp) and factor.args[0].is_polynomial(self.at):
                exponent += factor.args[0]
            elif isinstance(factor, Add) and not (factor.is_polynomial(self.at) or self.is_bounded(factor)):
                others = Mul(*factors[:place], *factors[place + 1 :])
                return all(self.dies_away(one * others, end) for one in factor.args)
            elif not (factor.is_polynomial(self.at) or self.is_bounded(factor) or self._is_power(factor)):
                return False
        return _falls(expand(exponent), self.at, end, self.given)

    def _is_power(self, expression: Any) -> bool:
        """Return whether an expression is a real power of what is positive all over the range."""
        base, power = expression.as_base_exp()
        return base == self.at and bool(self.at.is_positive and power.is_real) and not power.has(self.at)

    def converges(self, function: Any, known: tuple[Theorem, ...] = ()) -> bool:
        """Return whether the integral of a function over the range surely converges.

        It is continuous up to its finite ends and dies away at the others, or is bounded and both ends are
        finite; or one of the integrals ``known``, over the same range, is that of a multiple, or of what is
        at least as large everywhere.
        """
        if any(self._is_within(function, one) for one in known):
            return True
        ends = [one for one in (self.low, self.high) if one not in {-oo, oo}]
        if not self.is_continuous(function):
            return False
        if all(self.value_at(function, {self.at: one}) is not None for one in ends):
            return all(self.dies_away(function, one) for one in (self.low, self.high) if one not in ends)
        return len(ends) == len((self.low, self.high)) and self.is_bounded(function)

    def _is_within(self, function: Any, theorem: Theorem) -> bool:
        whole = theorem.lhs
        told = theorem.relation == "=" and not theorem.hypotheses.definitions
        if not (told and isinstance(whole, Integral) and not theorem.rhs.has(oo, *OPAQUE)):
            return False
        if len(whole.limits) != 1 or tuple(whole.limits[0][1:]) != (self.low, self.high):
            return False
        larger = whole.function.xreplace({whole.variables[0]: self.at})
        if larger != 0 and same(diff(function / larger, self.at), S.Zero):
            return True
        sides = (larger - function, larger + function)
        return self.is_continuous(function) and all(map(self.is_nonnegative, sides))

    def value_at(self, expression: Any, point: dict[Any, Any]) -> Any:
        """Return the value at a finite point if it is continuous there, from inside the range, else None.

        The point is told by the values of ``at``, or of parts of the expression.
        """
        for one in sorted(expression.atoms(Pow, log), key=default_sort_key):
            if one.has(self.at) and not _is_defined(one, point, self.given):
                return None
        if not self._is_of_known_functions(expression):
            return None
        found = expression.xreplace(point)
        return None if found.has(S.NaN, S.ComplexInfinity, oo, -oo) else found

    def _is_of_known_functions(self, expression: Any) -> bool:
        if not expression.has(self.at) or expression == self.at:
            return True
        kinds = (*_SMOOTH, *_CORNERED, Pow, log)
        return isinstance(expression, kinds) and all(map(self._is_of_known_functions, expression.args))

    def limit_at(self, expression: Any, end: Any) -> Any:
        """Return the limit at an end of the range.

        Raises:
            Refused: none is known that is a number.
        """
        found = (
            self.value_at(expression, {self.at: end}) if end not in {-oo, oo} else self._far(expression, end)
        )
        if found is None:
            found = self._by_parts(expression, end)
        if found is None or not (found.is_finite or found.is_finite is None):
            raise Refused(f"no limit of {expression.xreplace({self.at: Symbol('·')})} at {end} is known")
        return expand_log(found)

    def _far(self, expression: Any, end: Any) -> Any:
        """Return the limit at an infinite end of what dies away, or is continuous in one over it."""
        if self.dies_away(expression, end):
            return S.Zero
        gone = {one: S.Zero for one in expression.atoms(exp) if one.has(self.at) and self.dies_away(one, end)}
        if gone and not expression.xreplace(gone).has(self.at):
            return self.value_at(expression, gone)
        small = Dummy("small", positive=True)
        turned = _over_small(expression.xreplace({self.at: 1 / small if end == oo else -1 / small}), small)
        near = On(S.Zero, oo, self.given)
        return near.value_at(turned.xreplace({small: near.at}), {near.at: S.Zero})

    def _by_parts(self, expression: Any, end: Any) -> Any:
        """Return the limit of a sum of constants times elementary functions of the variable alone."""
        total = S.Zero
        for term in Add.make_args(expression):
            constant, function = term.as_independent(self.at, as_Add=False)
            found = self.limit_of_one(function, end)
            if found is None or not found.is_finite:
                return None
            total += constant * found
        return total

    def limit_of_one(self, function: Any, end: Any) -> Any:
        """Return SymPy's limit of an elementary function of the variable alone, a real number or infinite."""
        if function.free_symbols - {self.at} or not self._is_elementary(function):
            return None
        found = limit(function, self.at, end, "+" if end == self.low else "-")
        return found if found.is_number and found.is_extended_real else None

    def _is_elementary(self, function: Any) -> bool:
        if not function.has(self.at) or function == self.at:
            return True
        return isinstance(function, _ELEMENTARY) and all(map(self._is_elementary, function.args))

    def goes_to(self, expression: Any, end: Any, goal: Any) -> bool:
        """Return whether the limit at an end of the range is the ``goal``, which may be infinite."""
        if goal not in {-oo, oo}:
            return same(self.limit_at(expression, end), goal)
        _, moving = expression.as_independent(self.at, as_Add=True)
        constant, function = moving.as_independent(self.at, as_Add=False)
        found = self.limit_of_one(function, end)
        for direction in (1, -1):
            if found == direction * goal:
                return is_known(direction * constant, self.given, strict=True)
        return False


def range_from(low: Any, high: Any, under: Hypotheses) -> On:
    """Return the range between two real ends.

    Raises:
        Refused: it is not known to run upwards.
    """
    upwards = low == -oo or high == oo or is_known(high - low, under) or (high - low >= 0) in under.conditions
    real = low.is_extended_real and high.is_extended_real
    if not (real and upwards and low != oo and high != -oo):
        raise Refused(f"not known: {low} is at most {high}")
    return On(low, high, under)


def _falls(polynomial: Any, at: Any, end: Any, under: Hypotheses) -> bool:
    """Return whether a polynomial surely goes to -∞ at an infinite end."""
    try:
        whole = Poly(polynomial, at)
    except PolynomialError:
        return False
    if whole.degree() < 1:
        return False
    leading = whole.LC() if end == oo or whole.degree() % 2 == 0 else -whole.LC()
    return is_known(-leading, under, strict=True)


def _is_defined(one: Any, put: dict[Any, Any], under: Hypotheses) -> bool:
    """Return whether a power or logarithm is surely continuous where values are put in."""
    inside = one.args[0].xreplace(put)
    if inside.has(S.NaN, S.ComplexInfinity, oo, -oo):
        return False
    if is_known(inside, under, strict=True):
        return True
    if isinstance(one, log) or not one.exp.is_integer:
        return False
    return is_known(one.exp.xreplace(put), under) or is_known(-inside, under, strict=True)


def _over_small(expression: Any, small: Any) -> Any:
    """Return an expression with every quotient in it brought over one denominator and reduced."""
    if not expression.has(small) or expression == small:
        return expression
    inside = expression.func(*(_over_small(one, small) for one in expression.args))
    if not isinstance(inside, Add | Mul | Pow) or (isinstance(inside, Pow) and not inside.exp.is_integer):
        return inside
    parts = {one: Dummy() for one in inside.atoms(exp, log, erf, Pow) if _is_whole(one, small)}
    plain = inside.xreplace(parts)
    back = {stand_in: one for one, stand_in in parts.items()}
    return _reduced(plain, small).xreplace(back)


def _is_whole(one: Any, small: Any) -> bool:
    return one.has(small) and not (isinstance(one, Pow) and one.exp.is_integer)


def _reduced(expression: Any, small: Any) -> Any:
    """Return a quotient of polynomials without the powers of a symbol that both have."""
    top, below = (Poly(part, small) for part in fraction(together(expression)))
    powers = [min(power for (power,) in part.monoms()) for part in (top, below)]
    common = min(powers)
    return expand(top.as_expr() / small**common) / expand(below.as_expr() / small**common)


@dataclass(frozen=True)
class Gathered:
    """An expression as a rest, and integrals over one variable and one range, each with its coefficient."""

    rest: Any
    parts: tuple[tuple[Any, Any], ...]
    low: Any
    high: Any

    def on(self, under: Hypotheses) -> On:
        """Return the range of the integrals.

        Raises:
            Refused: it is not known to run upwards.
        """
        return range_from(self.low, self.high, under)

    def integrand(self, variable: Any, at: Any) -> Any:
        """Return what is integrated in all, with another symbol for the variable."""
        return Add(*(factor * function for factor, function in self.parts)).xreplace({variable: at})

    def refuse_split(self, variable: Any, on: On, known: tuple[Theorem, ...] = ()) -> None:
        """Refuse several integrals, or one that may be taken 0 times, if they are not known to converge.

        Raises:
            Refused: one is not.
        """
        if len(self.parts) == 1 and is_nonzero(self.parts[0][0], on.given):
            return
        for _, function in self.parts:
            if not on.converges(function.xreplace({variable: on.at}), known):
                raise Refused(f"not known to converge: the integral of {function}")


def is_nonzero(expression: Any, under: Hypotheses) -> bool:
    """Return whether an expression is surely not 0."""
    return where_defined(1 / expression, under) == under if expression != 0 else False


def gathered(expression: Any, variable: Any) -> Gathered:
    """Return an expression as a rest and integrals over a variable, in which it is linear.

    Raises:
        Refused: it is not, there are none, or they run over different ranges.
    """
    opaque = expression.atoms(*OPAQUE, Derivative)
    outer = [one for one in opaque if not any(other != one and other.has(one) for other in opaque)]
    found = {one: Dummy() for one in outer if isinstance(one, Integral) and one.variables == [variable]}
    ranges = {tuple(one.limits[0][1:]) for one in found}
    if len(ranges) != 1:
        raise Refused(f"there is no integral over {variable}, or there are several ranges")
    low, high = ranges.pop()
    opened = expression.xreplace(found)
    factors = {one: diff(opened, stand_in) for one, stand_in in found.items()}
    if any(one.has(*found.values()) for one in factors.values()):
        raise Refused(f"not linear in its integrals over {variable}: {expression}")
    parts = tuple((factors[one], one.function) for one in sorted(found, key=default_sort_key))
    return Gathered(opened.xreplace(dict.fromkeys(found.values(), S.Zero)), parts, low, high)


def defined(expression: Any, under: Hypotheses) -> Hypotheses:
    """Return hypotheses under which an expression is defined, its integrals being numbers."""
    numbers = {one: Dummy(real=True) for one in expression.atoms(Integral)}
    opened = expression.xreplace(numbers)
    below = [one for one in opened.atoms(Pow, log) if one.has(*numbers.values())] if numbers else []
    return where_defined(expression if below else opened, under)
