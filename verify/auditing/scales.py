"""Scales: as they are written, what they are called, and what a program with a wrong scale does."""

import ast
import math
import operator
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from verify.errors import SettingsError

DEFAULT = "1/sqrt(d)"
"""What is intended where nobody says: 1/√d_k."""

ROUNDING = 1e-6
"""Relative difference up to which two scales are the same: they went through single precision."""

_FUNCTIONS = {"sqrt": math.sqrt, "exp": math.exp, "log": math.log, "ln": math.log, "log2": math.log2}
_OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}
_LONGEST = 200
_LARGEST, _LARGEST_DIVISOR = 1e30, 1e9
_PRECISE = 2e-4  # what an estimate is known to where outputs are in single precision
_CLEAR, _VAGUE = 0.02, 0.5  # a scale known to no better than 2% has at most a likeliest name


class ScaleExpression(NamedTuple):
    """An intended scale as it was written; in floating point every expression has an end."""

    text: str
    tree: ast.expr

    def value(self, *, d: int, h: int | None = None, D: int | None = None, n: int | None = None) -> float:  # noqa: N803 - D is the field's name for the model's width
        """Return the value for heads of width ``d``, ``h`` heads, a model of width ``D`` and ``n`` keys.

        Raises:
            SettingsError: the expression needs a width that is not known, or it has no value there.
        """
        sizes = {name: size for name, size in (("d", d), ("h", h), ("D", D), ("n", n)) if size is not None}
        place = f"intended scale {self.text!r}:"
        if D is None and any(isinstance(node, ast.Name) and node.id == "D" for node in ast.walk(self.tree)):
            raise SettingsError(f"{place} D, the model's width, is not known; write its number instead")
        try:
            value = _value(self.tree, sizes)
        except (ArithmeticError, ValueError):
            value = math.nan
        if not 0 < abs(value) < _LARGEST:
            known = ", ".join(f"{name} = {size}" for name, size in sizes.items())
            raise SettingsError(f"{place} is not a number other than 0 at {known}; correct the expression")
        return value


@lru_cache(maxsize=256)
def scale_expression(text: str) -> ScaleExpression:
    """Return the intended scale that ``text`` says, such as ``1/sqrt(d)`` or ``256**-0.5``.

    It may have numbers, + - * / ** and parentheses, d or d_k, h, D and n, and sqrt, exp, log (or ln), log2.

    Raises:
        SettingsError: it has anything else, or is no expression.
    """
    if len(text) > _LONGEST:
        raise SettingsError(f"intended scale: has more than {_LONGEST} characters; shorten it")
    place = f"intended scale {text!r}:"
    usage = "write it with numbers, + - * / **, sqrt, exp, log, log2 and d, h, D, n, such as 1/sqrt(d)"
    try:
        tree = ast.parse(re.sub(r"\bd_k\b", "d", text.strip()), mode="eval").body
        with suppress(ArithmeticError, ValueError):
            _value(tree, dict.fromkeys("dhDn", 2))
    except SettingsError as error:
        raise SettingsError(f"{place} {error}; {usage}") from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SettingsError(f"{place} is not an expression; {usage}") from error
    return ScaleExpression(text, tree)


def _value(node: ast.AST, sizes: Mapping[str, int]) -> float:
    """Return the value of an expression; whatever a scale does not have is refused."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.Name(id=name) if name in sizes:
            return float(sizes[name])
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](_value(inner, sizes))
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as op, operand=inner):
            return _value(inner, sizes) * (-1 if isinstance(op, ast.USub) else 1)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return float(_OPERATORS[type(op)](_value(left, sizes), _value(right, sizes)))
    raise SettingsError(f"{ast.unparse(node)[:40]!r} is not allowed in it")


@dataclass(frozen=True)
class Widths:
    """The sizes that scales are made of: of a head, the model, the heads, and others by a word.

    ``padded`` are widths that a head may have been taken for: padded for a kernel, absorbed, of the values.
    """

    d: int
    h: int
    D: int | None = None
    padded: Mapping[str, int] = field(default_factory=dict)


class NamedScale(NamedTuple):
    """A scale that has a name, and what a program does that has it in place of another."""

    name: str
    value: float
    does: str


def named_scales(widths: Widths, intended: float) -> list[NamedScale]:
    """Return the scales that programs use by mistake in place of ``intended``, the likeliest first.

    Each was seen in a public program. Of equal values the first stays, with what the others do besides.
    """
    d, h, model = widths.d, widths.h, widths.D
    roots = [(n, f"({word})", f"the {word} is taken for d_k") for word, n in widths.padded.items() if n != d]
    if model is not None:
        roots.append((model, "D", "the model's width is taken for d_k"))
        if model % h == 0 and model != d * h:
            roots.append((model // h, "(D/h)", "the model's width over the heads is taken for d_k"))
    roots.append((d * h, "(d_k·h)", "the width of all heads together is taken for d_k"))
    roots.append((h, "h", "the number of heads is taken for d_k"))
    default, meant, factor = d**-0.5, "the intended scale", "the factor beside 1/√d_k"
    table = [
        (f"1/√{d} = 1/√d_k", default, "the default 1/√d_k is applied"),
        ("1", 1.0, "no scale is applied"),
        (f"1/{d} = 1/d_k", 1 / d, "the root is missing"),
        *((f"1/√{n} = 1/√{of}", n**-0.5, does) for n, of, does in roots),
        (f"√{d} = √d_k", d**0.5, "scores are multiplied by √d_k where they should be divided"),
        (f"{d}^-¼ = d_k^-¼", d**-0.25, "the root of the scale is applied to one of queries and keys only"),
        (f"{meant} squared", intended**2, "the scale is applied twice"),
        (f"minus {meant}", -intended, "the sign is reversed"),
    ]
    if intended > 0 and not _same(intended, default):
        # Such as mscale² of YaRN in DeepSeek's attention, which was forgotten, inverted, and not squared.
        inverted, root = default**2 / intended, math.sqrt(default * intended)
        twice = "1/√d_k is applied as well as the intended scale"
        table += [
            (f"{meant} with its factor inverted", inverted, f"{factor} divides where it should multiply"),
            (
                f"{meant} with the root of its factor",
                root,
                f"{factor} is applied once where its square belongs",
            ),
            (f"{meant} times 1/√d_k", intended * default, twice),
        ]
    base_2 = "2^x is computed for e^x without the factor log₂e"
    table.append((f"{meant} times ln 2", intended * math.log(2), base_2))
    scales: dict[float, NamedScale] = {}
    for name, value, does in table:
        equal = next((other for other in scales if _same(other, value)), None)
        if equal is None:
            scales[value] = NamedScale(name, value, does)
        else:
            scales[equal] = scales[equal]._replace(does=f"{scales[equal].does}, or {does}")
    return [scale for value, scale in scales.items() if not _same(value, intended)]


def _same(scale: float, other: float) -> bool:
    return math.isclose(scale, other, rel_tol=ROUNDING)


def diagnose(scale: float, intended: float, widths: Widths, *, uncertainty: float = 0.0) -> tuple[str, str]:
    """Return cause and fix of a ``scale``, known to ± ``uncertainty``, that is not the intended scale.

    A scale known to no better than 2% has at most a likeliest name, if it is near enough to that alone.
    """
    # What to do instead is said as the field writes it: a root that is a whole number, where there is one.
    square, room = 1 / intended / intended, max(uncertainty, ROUNDING * abs(scale))
    fix = f"multiply by {intended:.6g}"
    if _same(intended, 1):
        fix = "leave scores unscaled"
    elif _same(intended, 1 / widths.d):
        fix = f"divide by {widths.d}"
    elif intended > 0 and 1.5 < square < _LARGEST_DIVISOR and _same(square, round(square)):
        fix = f"divide by √{round(square)}"
    # Where even the sign is not known, no name fits better than another.
    if room >= abs(scale):
        return f"the scale is at most {abs(scale) + room:.2g} in size where {intended:.6g} is intended", fix
    is_vague, factor = room > _CLEAR * abs(scale), scale / intended
    reach = room / 2 if is_vague else room  # an interval has many standard errors
    fitting = [named for named in named_scales(widths, intended) if abs(named.value - scale) <= reach]
    fitting.sort(key=lambda named: abs(named.value - scale) > ROUNDING * abs(scale))
    # Scales that are left over, as of a cache in 8 bits, are most often powers of 2.
    power = 2.0 ** round(math.log2(factor)) if factor > 0 and not is_vague else 1.0
    if fitting and not (is_vague and (len(fitting) > 1 or room > _VAGUE * abs(scale))):
        factor, wrong = fitting[0].value / intended, fitting[0].name.partition(" ")[0]
        if wrong.startswith("1/") and fix.startswith("divide"):
            fix += f", not {wrong.removeprefix('1/')}"
        names = ", or ".join(f"{named.name}: {named.does}" for named in fitting[:3])
        cause = f"the scale is {'most likely ' if is_vague else ''}{names}"
    elif power != 1 and abs(power * intended - scale) <= room:
        factor, times = power, f"1/{1 / power:.0f}" if power < 1 else f"{power:.0f}"
        cause = f"the scale is {times} {'of' if power < 1 else 'times'} the intended scale: a further factor "
        cause += f"{times} is applied, perhaps a scale left over from other code"
    else:
        cause = f"the scale is {in_known_digits(scale, uncertainty)} where {intended:.6g} is intended"
    return cause, f"{fix}: {_how_far_off(factor)}"


def in_known_digits(scale: float, uncertainty: float) -> str:
    """Return a scale as given, or an estimate in so few digits that heads that are alike read alike."""
    steps = {1e-7: 7, 1e-5: 6, _PRECISE: 4}
    digits = next((count for share, count in steps.items() if uncertainty <= share * abs(scale)), 3)
    return f"{scale:.{digits}g}"


def _how_far_off(factor: float) -> str:
    """Return in words what a scale that is ``factor`` times the intended scale does to every score."""
    size, word = abs(factor), "large" if abs(factor) > 1 else "small"
    off = f"{max(size, 1 / size):.3g} times too {word}"
    if 0.79 < size < 1.27:  # between numbers that programs have, so that rounding decides nothing
        off = f"{100 * abs(size - 1):.2g}% too {word}"
    if factor > 0:
        return f"every score is {off}"
    return "every score has the wrong sign" + (f" and is {off}" if abs(size - 1) > 0.005 else "")
