"""The colours of a map: few steps between round numbers, so that a colour can be read as a value."""

from __future__ import annotations

import sys
from bisect import bisect
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from verify.text import numbers
from verify.text.numbers import as_decimal

if TYPE_CHECKING:
    from collections.abc import Sequence

_STEPS = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5), Decimal(10))
_MOST = 8  # steps of the ramp
_MARKS = ((1, 2, 5), (1, 3), (1,))
_PLAIN, _FINEST = 100_000, -5  # between them numbers are written without powers of ten
_LARGEST = sys.float_info.max
_WIDE = 30  # the ratio of the largest to the smallest beyond which steps are ratios


class Shade(NamedTuple):
    """A step's colour, and that of what is written on it."""

    fill: str
    ink: str


_DARK, _PALE = "#0b1c2a", "#ffffff"
# One hue, as the lightness falls: the order shows in grey and to every eye.
SHADES = (
    Shade("#e6f0f7", _DARK),
    Shade("#c5ddee", _DARK),
    Shade("#a0c8e4", _DARK),
    Shade("#75b0d8", _DARK),
    Shade("#4a95c9", _DARK),
    Shade("#1f76b0", _PALE),
    Shade("#0c5788", _PALE),
    Shade("#073a5e", _PALE),
)
"""On paper and on a light page from pale to dark; ``page.css`` turns them round on a dark one."""


@dataclass(frozen=True, slots=True)
class Ramp:
    """Steps between rising ``edges``, each with a shade; ``width`` is theirs, None where they are ratios."""

    edges: tuple[Decimal, ...]
    width: Decimal | None = None

    @classmethod
    def over(cls, values: Sequence[float]) -> Ramp:
        """Return steps that hold the values, of equal widths or, where they span decades, equal ratios."""
        low, high = as_decimal(min(values)), as_decimal(max(values))
        if low == high:
            return cls((low, high))
        if low > 0 and high > _WIDE * low:
            return cls(_ratios(low, high))
        width = _round_width((high - low) / (_MOST - 1))
        first, last = (
            (low / width).to_integral_value(ROUND_FLOOR),
            (high / width).to_integral_value(ROUND_CEILING),
        )
        return cls(tuple((first + step) * width for step in range(int(last - first) + 1)), width)

    def shade_of(self, value: float) -> int:
        """Return which shade a value has."""
        return self.shade(bisect([float(edge) for edge in self.edges[1:-1]], value))

    def shade(self, step: int) -> int:
        """Return the shade of a step: the first and last steps have the first and last shades."""
        steps = len(self.edges) - 1
        return 3 if steps == 1 else round(step * (len(SHADES) - 1) / (steps - 1))

    def labels(self) -> tuple[str, ...]:
        """Return the edges as text, with the digits that tell them apart."""
        edges = self.edges if self.edges[0] < self.edges[-1] else self.edges[:1]
        place = self._last_place()
        if place is not None:
            return tuple(numbers.fixed(float(edge), place) for edge in edges)
        apart = min((after - before for before, after in pairwise(edges)), default=Decimal(1))
        largest = max(abs(edge) for edge in edges)
        digits = min(max(largest.adjusted() - apart.adjusted() + 2, 3), 17)
        # The outermost edge may lie beyond the largest float.
        return tuple(numbers.exact(max(-_LARGEST, min(float(edge), _LARGEST)), digits) for edge in edges)

    def value(self, value: float) -> str:
        """Return a value as its cell has it: one digit finer than the steps, where these have one width."""
        place = self._last_place()
        return numbers.exact(value, 3) if place is None else numbers.fixed(value, min(place - 1, 0))

    def _last_place(self) -> int | None:
        """Return the power of ten of the last digit of the width, None where one leaves out powers of ten."""
        if self.width is None or self.width.adjusted() <= _FINEST or max(map(abs, self.edges)) >= _PLAIN:
            return None
        exponent = self.width.normalize().as_tuple().exponent
        return min(exponent, 0) if isinstance(exponent, int) else None


def _round_width(least: Decimal) -> Decimal:
    """Return the next number from ``least`` that has one of the digits of round steps."""
    power = Decimal(1).scaleb(least.adjusted())
    return next(digits * power for digits in _STEPS if digits * power >= least)


def _ratios(low: Decimal, high: Decimal) -> tuple[Decimal, ...]:
    decades = high.adjusted() - low.adjusted() + 1
    finest = next((marks for marks in _MARKS if len(_around(marks, low, high)) <= _MOST + 1), None)
    if finest:
        return _around(finest, low, high)
    stride = -(-decades // _MOST)
    return tuple(Decimal(1).scaleb(low.adjusted() + up) for up in range(0, decades + stride, stride))


def _around(marks: tuple[int, ...], low: Decimal, high: Decimal) -> tuple[Decimal, ...]:
    """Return numbers of one digit, of ``marks``, from the last below ``low`` to the first above ``high``."""
    powers = range(low.adjusted(), high.adjusted() + 2)
    every = [Decimal(mark).scaleb(power) for power in powers for mark in marks]
    first = max(place for place, one in enumerate(every) if one <= low)
    last = min(place for place, one in enumerate(every) if one >= high)
    return tuple(every[first : last + 1])
