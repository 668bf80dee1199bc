"""Euler's integrals with symbolic parameters: of powers times an exponential, or times a power of a sum.

``integrate`` finds them too, by way of Meijer's G-functions and a hundred times as slowly. Source: NIST
Digital Library of Mathematical Functions, 5.2.1, 5.9.1 and 5.12.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from sympy import (
    Add,
    Integral,
    Mul,
    Poly,
    S,
    exp,
    expand,
    gamma,
    oo,
)

from verify.symbolic.kernel.core import Conclusion, Hypotheses, Refused, Rule, rule
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.signs import is_known, where_defined


@cache
def euler(integrand: Any, variable: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the integral of ``integrand`` over a ``variable`` from 0 to infinity, and what must be positive.

    It is ∫ x^(a-1)·exp(-r·x^m) dx = Γ(a/m)/(m·r^(a/m)) or ∫ x^(a-1)/(u + c·x)^(a+b) dx = B(a, b)/(c^a·u^b),
    where it converges: a, b, r, u and c are positive.

    Raises:
        Refused: the integrand has neither form, or a parameter is known not to be positive.
    """
    parts = _Parts(integrand, variable)
    a = parts.power + 1
    if parts.exponent != 0 and parts.base is None:
        ((order, rate),) = _monomials(-parts.exponent, variable, integrand)
        needed = parts.positive(a / order, rate)
        return parts.constant * gamma(a / order) / (order * rate ** (a / order)), needed
    if parts.exponent == 0 and parts.base is not None:
        slope, level = Poly(parts.base, variable).all_coeffs()
        b = -parts.of_base - a
        needed = parts.positive(a, b, slope, level)
        return parts.constant * gamma(a) * gamma(b) / gamma(a + b) / (slope**a * level**b), needed
    raise parts.error()


def euler_integral(integrand: Any, variable: Any) -> Any:
    """Return the integral of ``integrand`` over a ``variable`` from 0 to infinity, as ``euler`` does."""
    return euler(integrand, variable)[0]


def _monomials(polynomial: Any, variable: Any, integrand: Any) -> list[tuple[int, Any]]:
    terms = [(power, rate) for (power,), rate in Poly(polynomial, variable).terms() if power]
    if len(terms) != 1:
        raise Refused(f"{integrand}: the exponent has several powers of {variable}")
    return terms


class _Parts:
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


@rule
@dataclass(frozen=True)
class EulerIntegrals(Rule):
    """One side is the other with its integrals over some ``variables`` from 0 to infinity done.

    Where a parameter is not known to be positive, that it is becomes a hypothesis: the integral converges
    there alone. What stands before an integral stays.
    """

    variables: tuple[Any, ...]
    label = "Euler’s integrals of the gamma and the beta function, symbolic parameters"

    def __init__(self, *variables: Any) -> None:
        object.__setattr__(self, "variables", variables)

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, where the integrals converge."""
        conditions: list[Any] = []
        sides = [self._done(side, conditions) for side in (before, after)]
        if not _same_integrals(*sides):
            raise Refused(f"the sides are {sides[0]} and {sides[1]}")
        for one in conditions:
            if not is_known(one, under, strict=True):
                under = under.having(one > 0)
        return Conclusion(hypotheses=where_defined(before, where_defined(after, under)))

    def _done(self, side: Any, conditions: list[Any]) -> Any:
        """Return a side with its integrals done; ``conditions`` get what must be positive for that."""
        if not isinstance(side, Integral):
            parts = {one: self._done(one, conditions) for one in side.atoms(Integral) if _is_outer(one, side)}
            return side.xreplace(parts)
        function, left = self._done(side.function, conditions), []
        for limit in side.limits:
            variable, *ends = limit
            if variable not in self.variables:
                left.append(limit)
            elif tuple(ends) == (0, oo):
                function, needed = euler(function, variable)
                conditions.extend(needed)
            else:
                raise Refused(f"{side}: an integral of Euler runs from 0 to infinity")
        return Integral(function, *left) if left else function


def _is_outer(one: Any, side: Any) -> bool:
    return not any(other != one and other.has(one) for other in side.atoms(Integral))


def _same_integrals(one: Any, other: Any) -> bool:
    """Return whether two expressions are equal, integrals over the same ranges by what they integrate."""
    if isinstance(one, Integral) and isinstance(other, Integral) and one.limits == other.limits:
        return same(one.function, other.function)
    return same(one, other)
