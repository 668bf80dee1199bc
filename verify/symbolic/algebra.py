"""Whether an expression is identically zero, the quick answers first."""

from __future__ import annotations

from typing import Any

from sympy import Derivative, Expr, Float, Integer, Limit, S, expand, fraction, prime, simplify, together
from sympy.concrete.expr_with_limits import ExprWithLimits

_DIGITS, _SURELY = 40, Float("1e-15")


def is_zero(expression: Any) -> bool:
    """Return whether SymPy finds ``expression`` identically zero."""
    if expression == S.Zero:
        return True
    if differs_somewhere(expression):
        return False
    return bool(expand(expression) == S.Zero or simplify(expression) == S.Zero)


def is_rational_zero(expression: Any) -> bool:
    """Return whether a rational function of symbols is identically zero."""
    return bool(fraction(together(expression))[0].expand() == S.Zero)


def differs_somewhere(expression: Any) -> bool:
    """Return whether an expression is surely not 0 with primes for its symbols, exactly or to many digits.

    That settles at once what takes ``simplify`` long. Nothing is said of what is no number then, of sums,
    integrals and limits, or of symbols that cannot be positive integers.
    """
    if not isinstance(expression, Expr) or expression.has(ExprWithLimits, Derivative, Limit):
        return False
    symbols = sorted(expression.free_symbols, key=str)
    if any(one.is_positive is False or one.is_integer is False for one in symbols):
        return False
    value = expression.xreplace({one: Integer(prime(place + 5)) for place, one in enumerate(symbols)})
    if value.is_Rational:
        return bool(value != S.Zero)
    # Digits that cancel leave a number of low precision, which is then smaller than this.
    number = value.evalf(_DIGITS)
    return bool(number.is_number and number.is_finite and abs(number) > _SURELY)
