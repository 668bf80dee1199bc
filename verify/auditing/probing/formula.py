"""The formula in d, h, D and n that a scale follows when widths, heads and tokens are varied."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from verify.auditing.intention import scale_expression

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.auditing.probing.scores import Measured

_CLOSE = 1e-3
_QUARTERS = 4
_STEEP = 4  # no scale follows a width so steeply; the rounding of a scale of 0 does


def formula_of(measured: Sequence[Measured]) -> str | None:
    """Return an expression that gives every measured scale; None where there is none of the kind.

    It is a number times powers of d, h and n, in quarters, or ln n in place of a power of n.
    """
    first = measured[0]
    powers = {name: _power(measured, name) for name in ("d", "h", "n")}
    for parts in _attempts(measured, powers):
        known = math.prod(scale_expression(part).value(d=first.d, h=first.h, n=first.n) for part in parts)
        number = first.scale / known
        text = _written(number, parts)
        if all(_fits(text, one) for one in measured):
            return text
    return None


def _attempts(measured: Sequence[Measured], powers: dict[str, float | None]) -> Iterator[list[str]]:
    d, h, n = (powers[name] for name in ("d", "h", "n"))
    plain = [_factor(name, power) for name, power in (("d", d), ("h", h)) if power]
    if n:
        yield [*plain, _factor("n", n)]
    if len({one.n for one in measured}) > 1:
        yield [*plain, "log(n)"]
    yield plain


def _power(measured: Sequence[Measured], name: str) -> float | None:
    """Return the power of a width, in quarters, from two settings that differ in it alone; None without."""
    first = measured[0]
    for other in measured[1:]:
        differs = {axis for axis in ("d", "h", "n") if getattr(other, axis) != getattr(first, axis)}
        ratio = other.scale / first.scale
        if differs == {name} and ratio > 0:
            power = math.log(ratio) / math.log(getattr(other, name) / getattr(first, name))
            return round(power * _QUARTERS) / _QUARTERS if abs(power) < _STEEP else None
    return None


def _factor(name: str, power: float) -> str:
    """Return a power as one would write it."""
    if power == 1:
        return name
    if power == 0.5:
        return f"sqrt({name})"
    return {-1.0: f"1/{name}", -0.5: f"1/sqrt({name})"}.get(power, f"{name}**{power:g}")


def _written(number: float, parts: Sequence[str]) -> str:
    """Return the product as one expression: "1/sqrt(d*h)" for the product of both roots."""
    below = [part.removeprefix("1/") for part in parts if part.startswith("1/")]
    above = [part for part in parts if not part.startswith("1/")]
    sign = "-" if number < 0 else ""
    size = abs(number)
    if not math.isclose(size, 1, rel_tol=_CLOSE) or not parts:
        above = [_number(size), *above]
    if below and all(part.startswith("sqrt(") for part in below):
        below = [f"sqrt({'*'.join(part[5:-1] for part in below)})"]
    top = "*".join(above) or "1"
    if not below:
        return f"{sign}{top}"
    return f"{sign}{top}/{below[0] if len(below) == 1 else '(' + '*'.join(below) + ')'}"


def _number(size: float) -> str:
    """Return a number, a short one where that is as near as a scale is known."""
    rounded = (float(f"{size:.{digits}g}") for digits in (1, 2, 3, 4, 6))
    return f"{next((one for one in rounded if math.isclose(one, size, rel_tol=1e-5)), size):g}"


def _fits(text: str, one: Measured) -> bool:
    value = scale_expression(text).value(d=one.d, h=one.h, D=one.d * one.h, n=one.n)
    return math.isclose(value, one.scale, rel_tol=_CLOSE)
