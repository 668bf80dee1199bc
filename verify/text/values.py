"""The value of a formula that is made of numbers alone, as SymPy prints them in LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Context, Decimal, localcontext

_TOKEN = re.compile(r"\s*(\\[a-z]+|\d+|[-+^{}()\[\]e])\s*", re.ASCII)
_EXPONENT = re.compile(r"\de", re.ASCII)
"""As a program prints a number; a product with e has a space."""
_MOST_TOKENS = 200
_DIGITS = 50
"""So many that a difference of numbers that are nearly the same has those of a float."""
_E, _PI = Decimal(1).exp(Context(_DIGITS)), Decimal("3.14159265358979323846264338327950288419716939937511")
_FUNCTIONS: dict[str, Callable[[Decimal], Decimal]] = {
    r"\ln": Decimal.ln,
    r"\log": Decimal.ln,
    r"\exp": Decimal.exp,
    r"\sqrt": Decimal.sqrt,
}


def value_of(latex: str) -> float | None:
    """Return the value of a formula of whole numbers, e and π; None of any other, and where it has none."""
    tokens = _TOKEN.findall(latex)
    is_other = "".join(tokens) != re.sub(r"\s", "", latex) or _EXPONENT.search(latex)
    if is_other or len(tokens) > _MOST_TOKENS:
        return None
    with localcontext(Context(_DIGITS)), suppress(ValueError, ArithmeticError):
        value = float(_FormulaValue(tokens).value())
        return value if math.isfinite(value) else None
    return None


class _FormulaValue:
    """Reads a formula from its first token to its last.

    Raises:
        ValueError: it is none that is known.
        ArithmeticError: it has no value.
    """

    def __init__(self, tokens: list[str]) -> None:
        # Brackets say the same however large they are drawn.
        self._tokens = [one for one in tokens if one not in {r"\left", r"\right"}]

    def value(self) -> Decimal:
        """Return what the whole formula comes to."""
        found = self._sum()
        if self._tokens:
            raise ValueError(self._tokens[0])
        return found

    def _next(self) -> str:
        return self._tokens[0] if self._tokens else ""

    def _taken(self, wanted: str = "") -> str:
        if not self._tokens or (wanted and self._tokens[0] != wanted):
            raise ValueError(self._next())
        return self._tokens.pop(0)

    def _sum(self) -> Decimal:
        found = Decimal(0)
        sign = self._taken() if self._next() in {"-", "+"} else "+"
        while sign:
            found += self._product() if sign == "+" else -self._product()
            sign = self._taken() if self._next() in {"-", "+"} else ""
        return found

    def _product(self) -> Decimal:
        found = self._power()
        while self._next() not in {"", "+", "-", "}", ")", "]"}:
            if self._next() == r"\cdot":
                self._taken()
            elif self._next().isdigit():
                raise ValueError(self._next())
            found *= self._power()
        return found

    def _power(self) -> Decimal:
        base = self._part()
        if self._next() != "^":
            return base
        self._taken()
        return base ** self._part()

    def _part(self) -> Decimal:
        part = self._taken()
        if part.isdigit():
            return Decimal(part)
        if part in {"{", "("}:
            found = self._sum()
            self._taken("}" if part == "{" else ")")
            return found
        if part == r"\frac":
            return self._part() / self._part()
        if part == r"\sqrt" and self._next() == "[":
            return self._root()
        if part in _FUNCTIONS:
            return _FUNCTIONS[part](self._part())
        if part in {"e", r"\pi"}:
            return _E if part == "e" else _PI
        raise ValueError(part)

    def _root(self) -> Decimal:
        self._taken("[")
        degree = self._sum()
        self._taken("]")
        return self._part() ** (1 / degree)
