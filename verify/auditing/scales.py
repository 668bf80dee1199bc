"""Scales: as they are written, and by name where a program has a wrong one.

An intended scale is an expression in d, h, D and n, read as arithmetic and never as a program. A wrong one is
named by the mistake that it most likely is, with how far scores are off and what to change.
"""

import ast
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from sympy import Float, Integer, Pow, Rational, Symbol, exp, log, nan, oo, sqrt, zoo

from verify.errors import SettingsError
from verify.symbolic.notation import latex, plain

DEFAULT = "1/sqrt(d)"
"""The intended scale where none is stated: 1/√d_k."""

WIDTHS = {
    "d": "the width of a head, d_k",
    "h": "the number of heads",
    "D": "the width of the model",
    "n": "the number of keys",
}
"""The names that an expression may have, and what they stand for."""

_SYMBOLS = {name: Symbol("d_k" if name == "d" else name, positive=True) for name in WIDTHS}
_FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[float], float]]] = {
    "sqrt": (sqrt, math.sqrt),
    "exp": (exp, math.exp),
    "log": (log, math.log),
    "ln": (log, math.log),
    "log2": (lambda of: log(of) / log(2), math.log2),
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
ROUNDING = 1e-6
"""Relative difference up to which two scales are one: they went through single precision."""

_LARGEST_DIVISOR = 1e9
_CLEAR, _VAGUE = 0.02, 0.5
_POWERS = 12


@dataclass(frozen=True)
class ScaleExpression:
    """An intended scale as it was written, and as the SymPy object that its LaTeX and value come from."""

    text: str
    expression: Any

    @property
    def latex(self) -> str:
        """Its LaTeX, with d_k for d."""
        return latex(self.expression)

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
        try:
            return _value(ast.parse(self.text.strip(), mode="eval").body, given)
        except (ArithmeticError, ValueError) as error:
            sizes = ", ".join(f"{name} = {size}" for name, size in given.items() if size is not None)
            raise self._refusal(f"is no number but 0 at {sizes}; correct the expression") from error

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
            return _bounded(_number(number), node)
        case ast.Name(id=name) if name in _SYMBOLS:
            return _SYMBOLS[name]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
            return -_read(inner) if isinstance(sign, ast.USub) else _read(inner)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return _combined(node, type(operator), _read(left), _read(right))
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _FUNCTIONS:
            of = _read(inner)
            return _bounded(_FUNCTIONS[name][0](of), node)
    raise ValueError(f"{ast.unparse(node)[:40]!r} may not stand in it")


def _value(  # noqa: C901 - a case for each kind of node
    node: ast.expr, given: Mapping[str, int | None]
) -> float:
    """Return the value of what `_read` accepts, in floating point: that has an end, whatever it is.

    Raises:
        ArithmeticError: it is too large, or has no value.
        ValueError: it is no real number, or 0.
    """

    def of(part: ast.expr) -> float:
        match part:
            case ast.Constant(value=number):
                return float(number)  # type: ignore[arg-type]  # `_read` has seen that it is one
            case ast.Name(id=name):
                return float(given[name])  # type: ignore[arg-type]  # it is known
            case ast.UnaryOp(op=sign, operand=inner):
                return -of(inner) if isinstance(sign, ast.USub) else of(inner)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return math.pow(of(left), of(right))
            case ast.BinOp(left=left, op=operator, right=right):
                return float(_OPERATORS[type(operator)](of(left), of(right)))
            case ast.Call(func=ast.Name(id=name), args=[inner]):
                return _FUNCTIONS[name][1](of(inner))
        raise ValueError

    value = of(node)
    if not math.isfinite(value) or value == 0:
        raise ValueError
    return value


def _number(number: float) -> Any:
    if isinstance(number, int):
        return Integer(number)
    ratio = Rational(repr(number)) if math.isfinite(number) else Float(number)
    # A decimal such as 0.0884 reads worse as a fraction.
    return ratio if ratio.is_Rational and ratio.q <= 1000 else Float(repr(number))


def _combined(node: ast.expr, operator: type[ast.operator], left: Any, right: Any) -> Any:
    # What would be worked out in full for a number of dimensions, such as d**d**d, has no end.
    if operator is ast.Pow and not (right.is_number and right.is_real and abs(right) <= _HIGHEST):
        raise ValueError(f"the power {plain(right)[:40]} is no number up to {_HIGHEST}")
    return _bounded(_OPERATORS[operator](left, right), node)


def _bounded(value: Any, node: ast.expr) -> Any:
    """Return the value of an expression, which is not beyond what a scale may be where it is a number.

    Powers of powers would otherwise be worked out in full, to millions of digits.
    """
    if not value.has(nan, oo, -oo, zoo):
        if not value.is_number:
            return value
        with suppress(ArithmeticError, ValueError):
            if value == 0 or abs(_value(node, dict.fromkeys(WIDTHS, 2))) <= _LARGEST:
                return value
    raise ValueError(f"has no value, or one beyond {_LARGEST:g}")


@dataclass(frozen=True)
class Widths:
    """The sizes that scales are made of: of a head, the model, the heads, and others by a word.

    ``padded`` are widths that a head may have been taken for: padded for a kernel, absorbed, of the values.
    """

    d: int
    h: int
    D: int | None = None
    padded: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Candidate:
    """A scale that has a name: how it is written, and what a program does that has it in place of another.

    ``divisor`` is what scores are divided by, as it reads in a sentence, empty where it says nothing.
    ``merges`` says whether it is worth naming beside another of the same value.
    """

    name: str
    value: float
    does: str
    divisor: str = ""
    merges: bool = True


@dataclass(frozen=True)
class Diagnosis:
    """What a wrong scale is: the candidates that fit it, the likeliest first, with cause and fix."""

    candidates: tuple[Candidate, ...]
    cause: str
    fix: str


def candidates(widths: Widths, intended: float) -> tuple[Candidate, ...]:
    """Return the scales that programs use by mistake in place of ``intended``, the likeliest first.

    Each kind was found in a public program. Of equal values the first stays, with what the second does
    besides; the intended one is not among them.
    """
    found: list[Candidate] = []
    for candidate in (*_of_widths(widths), *_of_intended(intended, widths)):
        if math.isclose(candidate.value, intended, rel_tol=ROUNDING):
            continue
        same = [one for one in found if math.isclose(one.value, candidate.value, rel_tol=ROUNDING)]
        if not same:
            found.append(candidate)
        elif candidate.merges:
            found[found.index(same[0])] = replace(same[0], does=f"{same[0].does}, or {candidate.does}")
    return tuple(found)


def diagnose(scale: float, intended: float, widths: Widths, *, uncertainty: float = 0.0) -> Diagnosis:
    """Return what explains a ``scale``, known to ± ``uncertainty``, that is not the intended one.

    A scale known to no better than 2% has at most a likeliest name, if it is near enough to one only.
    """
    room = max(uncertainty, ROUNDING * abs(scale))
    named = candidates(widths, intended)
    is_vague = room > _CLEAR * abs(scale)
    fitting = _likeliest(named, scale, room) if is_vague else _near(named, scale, room)
    factor = (fitting[0].value if fitting else scale) / intended
    should = instruction(intended, widths)
    if 0 < uncertainty >= abs(scale):
        most = abs(scale) + uncertainty
        cause = f"the scale is at most {most:.2g} in size where {intended:.6g} is intended"
        least = abs(intended) / most
        return Diagnosis((), cause, f"{should}: every score is at least {least:.2g} times too small")
    if not fitting:
        cause = f"the scale is {scale:.6g} where {intended:.6g} is intended"
        return Diagnosis((), cause, f"{should}: {how_far_off(factor)}")
    first = fitting[0]
    others = "".join(f", or {one.name}: {one.does}" for one in fitting[1:3])
    divides = first.divisor and should.startswith("divide by ")
    fix = f"{should}, not {first.divisor}" if divides else should
    return Diagnosis(
        fitting,
        f"the scale is {'most likely ' if is_vague else ''}{first.name}: {first.does}{others}",
        f"{fix}: {how_far_off(factor)}",
    )


def _near(named: Iterable[Candidate], scale: float, room: float) -> tuple[Candidate, ...]:
    """Return the candidates within ``room``, first those that are the scale up to rounding."""
    near = (one for one in named if abs(one.value - scale) <= room)
    return tuple(sorted(near, key=lambda one: abs(one.value - scale) > ROUNDING * abs(scale)))


def _likeliest(named: Iterable[Candidate], scale: float, room: float) -> tuple[Candidate, ...]:
    """Return the only candidate in the middle half of the room, if there is one.

    An interval of an audit has many standard errors. A further power of 2 is never far, and says nothing.
    """
    near = tuple(one for one in _near(named, scale, room / 2) if one.merges)
    return near if len(near) == 1 and room <= _VAGUE * abs(scale) else ()


def instruction(intended: float, widths: Widths) -> str:
    """Return what to do to have the intended scale, such as "divide by √64"."""
    if math.isclose(intended, 1, rel_tol=ROUNDING):
        return "leave scores unscaled"
    for one in _of_widths(widths):
        if one.divisor and math.isclose(one.value, intended, rel_tol=ROUNDING):
            return f"divide by {one.divisor}"
    square = intended**-2
    whole = (
        intended > 0 and square < _LARGEST_DIVISOR and math.isclose(square, round(square), rel_tol=ROUNDING)
    )
    return f"divide by √{round(square)}" if whole and round(square) > 1 else f"multiply by {intended:.6g}"


def how_far_off(factor: float) -> str:
    """Return in words what a scale that is ``factor`` times the intended one does to every score."""
    if factor == 0 or not math.isfinite(factor):
        return "scores do not reach the output"
    if factor < 0:
        return "every score has the wrong sign" + (
            "" if math.isclose(factor, -1, rel_tol=0.005) else f" and is {_off(-factor)}"
        )
    return f"every score is {_off(factor)}"


def _off(factor: float) -> str:
    word = "large" if factor > 1 else "small"
    if 0.8 < factor < 1.25:
        return f"{100 * abs(factor - 1):.2g}% too {word}"
    return f"{max(factor, 1 / factor):.3g} times too {word}"


def _root(size: int, of: str, does: str) -> Candidate:
    return Candidate(f"1/√{size} = 1/√{of}", size**-0.5, does, f"√{size}")


def _of_widths(widths: Widths) -> Iterator[Candidate]:
    d, h, model = widths.d, widths.h, widths.D
    yield _root(d, "d_k", "the default 1/√d_k is applied")
    yield Candidate("1", 1.0, "no scale is applied")
    yield Candidate(f"1/{d} = 1/d_k", 1 / d, "the root is missing", str(d))
    for word, size in widths.padded.items():
        if size != d:
            yield _root(size, f"({word})", f"the {word} is taken for d_k")
    if model is not None:
        yield _root(model, "D", "the model's width is taken for d_k")
        if model % h == 0 and d * h != model:
            yield _root(model // h, "(D/h)", "the model's width over the heads is taken for d_k")
    yield _root(d * h, "(d_k·h)", "the width of all heads together is taken for d_k")
    yield _root(h, "h", "the number of heads is taken for d_k")
    yield Candidate(f"√{d} = √d_k", d**0.5, "scores are multiplied by √d_k where they should be divided")
    only = "the root of the scale is applied to one of queries and keys only"
    yield Candidate(f"{d}^-¼ = d_k^-¼", d**-0.25, only)


def _of_intended(intended: float, widths: Widths) -> Iterator[Candidate]:
    default, the_scale, factor = widths.d**-0.5, "the intended scale", "the factor beside 1/√d_k"
    yield Candidate(f"{the_scale} squared", intended**2, "the scale is applied twice")
    yield Candidate(f"minus {the_scale}", -intended, "the sign is reversed")
    if intended > 0 and not math.isclose(intended, default, rel_tol=ROUNDING):
        inverted, once = default**2 / intended, math.sqrt(default * intended)
        does = f"{factor} divides where it should multiply"
        yield Candidate(f"{the_scale} with its factor inverted", inverted, does)
        does = f"{factor} is applied once where its square belongs"
        yield Candidate(f"{the_scale} with the root of its factor", once, does)
        does = f"1/√d_k is applied as well as {the_scale}"
        yield Candidate(f"{the_scale} times 1/√d_k", intended * default, does)
    does = "2^x is computed for e^x without the factor log₂e"
    yield Candidate(f"{the_scale} times ln 2", intended * math.log(2), does)
    for power in range(1, _POWERS + 1):
        for value, text, of in ((0.5**power, f"1/{2**power}", "of"), (2.0**power, str(2**power), "times")):
            does = f"a further factor {text} is applied, perhaps a scale left over from other code"
            yield Candidate(f"{text} {of} {the_scale}", intended * value, does, merges=False)
