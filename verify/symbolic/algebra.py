"""Whether an expression is identically zero, the quick answers first."""

from __future__ import annotations

from typing import Any

from sympy import Expr, Integer, S, expand, prime, simplify


def is_zero(expression: Any) -> bool:
    """Return whether SymPy finds ``expression`` identically zero."""
    if expression == S.Zero:
        return True
    if differs_somewhere(expression):
        return False
    return bool(expand(expression) == S.Zero or simplify(expression) == S.Zero)


def differs_somewhere(expression: Any) -> bool:
    """Return whether a rational function is not 0 with primes for its symbols.

    That settles at once what takes ``simplify`` long. Nothing is said of other functions, of poles, or of
    symbols that cannot be positive integers.
    """
    if not (isinstance(expression, Expr) and expression.is_rational_function()):
        return False
    symbols = sorted(expression.free_symbols, key=str)
    if any(one.is_positive is False or one.is_integer is False for one in symbols):
        return False
    value = expression.xreplace({one: Integer(prime(place + 5)) for place, one in enumerate(symbols)})
    return bool(value.is_Rational and value != S.Zero)
