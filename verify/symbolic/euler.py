"""Euler's integrals with symbolic parameters: of powers times an exponential, or times a power of a sum.

``integrate`` finds them too, by way of Meijer's G-functions and a hundred times as slowly. Source: NIST
Digital Library of Mathematical Functions, 5.2.1, 5.9.1 and 5.12.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from sympy import (
    Add,
    Integral,
    Mul,
    Poly,
    Pow,
    S,
    exp,
    expand,
    expand_log,
    gamma,
    gammasimp,
    log,
    oo,
    together,
)

from verify.symbolic.expectation import DerivationError
from verify.symbolic.printing import plain

if TYPE_CHECKING:
    from verify.symbolic.checks import Reach


@cache
def euler_integral(integrand: Any, variable: Any) -> Any:
    """Return the integral of ``integrand`` over a ``variable`` from 0 to infinity.

    It is ∫ x^(a-1)·exp(-r·x^m) dx = Γ(a/m)/(m·r^(a/m)) or ∫ x^(a-1)/(u + c·x)^(a+b) dx = B(a, b)/(c^a·u^b),
    for parameters for which it converges: a, b, r, u and c are positive.

    Raises:
        DerivationError: the integrand has neither form, or a parameter is known not to be positive.
    """
    parts = _Parts(integrand, variable)
    a = parts.power + 1
    if parts.exponent != 0 and parts.base is None:
        ((order, rate),) = _monomials(-parts.exponent, variable, integrand)
        parts.refuse_unless_positive(a / order, rate)
        return parts.constant * gamma(a / order) / (order * rate ** (a / order))
    if parts.exponent == 0 and parts.base is not None:
        slope, level = Poly(parts.base, variable).all_coeffs()
        b = -parts.of_base - a
        parts.refuse_unless_positive(a, b, slope, level)
        return parts.constant * gamma(a) * gamma(b) / gamma(a + b) / (slope**a * level**b)
    raise parts.error()


def _monomials(polynomial: Any, variable: Any, integrand: Any) -> list[tuple[int, Any]]:
    terms = [(power, rate) for (power,), rate in Poly(polynomial, variable).terms() if power]
    if len(terms) != 1:
        raise DerivationError(f"{plain(integrand)}: the exponent has several powers of {plain(variable)}")
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

    def refuse_unless_positive(self, *parameters: Any) -> None:
        """Refuse parameters for which the integral does not converge."""
        if any(one.is_positive is False for one in parameters):
            raise self.error()

    def error(self) -> DerivationError:
        """Return that the integrand has none of the forms."""
        return DerivationError(f"{plain(self._integrand)}: this is none of Euler's integrals")


def same_products(one: Any, other: Any) -> bool:
    """Return whether two products of powers of what is positive and of gamma functions are equal.

    Factorials are gamma functions, Γ(x + 1) is x Γ(x), and the logarithm of the ratio must be 0.
    """
    ratio = gammasimp((one / other).rewrite(gamma))
    ratio = ratio.replace(_is_power_of_sum, lambda one: together(one.base) ** one.exp)
    return bool(expand(expand_log(log(ratio), force=True)) == S.Zero)


def _is_power_of_sum(expression: Any) -> bool:
    return isinstance(expression, Pow) and isinstance(expression.base, Add)


@dataclass(frozen=True)
class SameGammas:
    """The ratio of both sides, products of gamma functions and powers, is 1 by Γ(x + 1) = x Γ(x)."""

    label: ClassVar[str] = "SymPy: Γ(x + 1) = x Γ(x)"
    reach: ClassVar[Reach] = "general"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether the ratio is 1."""
        return same_products(before, after)


@dataclass(frozen=True, init=False)
class EulerIntegrals:
    """One side is the other with its integrals over some ``variables`` from 0 to infinity done."""

    variables: tuple[Any, ...]
    label: ClassVar[str] = "Euler’s integrals of the gamma and the beta function, symbolic parameters"
    reach: ClassVar[Reach] = "general"

    def __init__(self, *variables: Any) -> None:
        object.__setattr__(self, "variables", variables)

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether both sides integrate the same over the same ranges once that is done.

        Raises:
            DerivationError: an integral over one of the variables is none of Euler's.
        """
        sides = [self._done(side) for side in (before, after)]
        limits = [side.limits if isinstance(side, Integral) else () for side in sides]
        functions = (side.function if isinstance(side, Integral) else side for side in sides)
        return limits[0] == limits[1] and same_products(*functions)

    def _done(self, side: Any) -> Any:
        """Return a side without its integrals over the variables, whether they are its own or inner ones."""
        if not isinstance(side, Integral):
            return side
        function, left = side.function, []
        for limit in side.limits:
            variable, *ends = limit
            if variable not in self.variables:
                left.append(limit)
            elif tuple(ends) == (0, oo):
                function = euler_integral(function, variable)
            else:
                raise DerivationError(f"{plain(side)}: an integral of Euler runs from 0 to infinity")
        return Integral(function, *left) if left else function
