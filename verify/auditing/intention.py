"""The intended scale: an expression in d, h, D and n, read as arithmetic and never as a program."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sympy import Float, Integer, Pow, Rational, Symbol, exp, log, nan, oo, sqrt, zoo

from verify.errors import SettingsError
from verify.symbolic.printing import latex, plain

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT = "1/sqrt(d)"
"""What is intended where nobody says otherwise: 1/√d_k."""

WIDTHS = {
    "d": "the width of a head, d_k",
    "h": "the number of heads",
    "D": "the width of the model",
    "n": "the number of keys",
}
"""The names that an expression may have, and what they stand for."""

_SYMBOLS = {name: Symbol("d_k" if name == "d" else name, positive=True) for name in WIDTHS}
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sqrt": sqrt,
    "exp": exp,
    "log": log,
    "ln": log,
    "log2": lambda of: log(of) / log(2),
}
_LONGEST = 200
_LARGEST = 1e30
_HIGHEST = 16
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.Pow: Pow,
}


@dataclass(frozen=True)
class ScaleExpression:
    """An intended scale as it was written, and as the SymPy object that its LaTeX and value come from."""

    text: str
    expression: Any

    @property
    def latex(self) -> str:
        """Its LaTeX, with d_k for d."""
        return latex(self.expression)

    @property
    def plain(self) -> str:
        """The expression as one line of text, simplified as SymPy does of itself."""
        return plain(self.expression)

    def value(self, *, d: int, h: int | None = None, D: int | None = None, n: int | None = None) -> float:  # noqa: N803 - D is the field's name for the model's width
        """Return the value for heads of width ``d``, ``h`` heads, a model of width ``D`` and ``n`` keys.

        Raises:
            SettingsError: the expression needs a width that is not known, or it has no value there.
        """
        given = {"d": d, "h": h, "D": D, "n": n}
        known = {_SYMBOLS[name]: size for name, size in given.items() if size is not None}
        missing = self.expression.free_symbols - set(known)
        for name, symbol in _SYMBOLS.items():
            if symbol in missing:
                raise self._refusal(f"{name}, {WIDTHS[name]}, is not known; write its number instead")
        value = complex(self.expression.subs(known).evalf())
        if value.imag or not math.isfinite(value.real) or value.real == 0:
            sizes = ", ".join(f"{name} = {size}" for name, size in given.items() if size is not None)
            raise self._refusal(f"is no number but 0 at {sizes}; correct the expression")
        return value.real

    def _refusal(self, what: str) -> SettingsError:
        return SettingsError(f"intended scale {self.text!r}: {what}")


@lru_cache(maxsize=256)
def scale_expression(text: str) -> ScaleExpression:
    """Return the intended scale that ``text`` says, such as ``1/sqrt(d)`` or ``256**-0.5``.

    It may have numbers, + - * / ** and parentheses, the names of `WIDTHS`, and sqrt, exp, log (or ln), log2.

    Raises:
        SettingsError: it has anything else, or numbers that no scale has.
    """
    if len(text) > _LONGEST:
        raise SettingsError(f"intended scale: has more than {_LONGEST} characters; shorten it")
    try:
        return ScaleExpression(text, _read(ast.parse(text.strip(), mode="eval").body))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        what = str(error) if type(error) is ValueError else "is no expression"
        usage = "write it with numbers, + - * / **, sqrt, exp, log, log2 and d, h, D, n, such as 1/sqrt(d)"
        raise SettingsError(f"intended scale {text!r}: {what}; {usage}") from error


def _read(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _bounded(_number(number))
        case ast.Name(id=name) if name in _SYMBOLS:
            return _SYMBOLS[name]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
            return -_read(inner) if isinstance(sign, ast.USub) else _read(inner)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return _combined(operator, _read(left), _read(right))
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](_read(inner)))
    raise ValueError(f"{ast.unparse(node)[:40]!r} may not stand in it")


def _number(number: float) -> Any:
    if isinstance(number, int):
        return Integer(number)
    ratio = Rational(repr(number)) if math.isfinite(number) else Float(number)
    # A decimal such as 0.0884 reads worse as a fraction.
    return ratio if ratio.is_Rational and ratio.q <= 1000 else Float(repr(number))


def _combined(operator: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(operator, ast.Pow) and right.is_number and abs(right) > _HIGHEST:
        raise ValueError(f"the power {plain(right)[:40]} is beyond {_HIGHEST}")
    return _bounded(_OPERATORS[type(operator)](left, right))


def _bounded(value: Any) -> Any:
    # Powers of powers would otherwise be worked out in full, to millions of digits.
    if value.has(nan, oo, -oo, zoo) or (value.is_number and abs(complex(value.evalf(8))) > _LARGEST):
        raise ValueError(f"has no value, or one beyond {_LARGEST:g}")
    return value
