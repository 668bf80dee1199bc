"""Numbers that statements' parts have computed: exact ones, and those that a sample scatters around."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field
from sympy import N, Rational

if TYPE_CHECKING:
    from collections.abc import Iterable

_DIGITS = 30
INCOMPATIBLE = 0.001
"""Below this probability of a deviation as large, one sample contradicts what is derived."""


@dataclass(frozen=True, slots=True)
class Computed:
    """A number, in words, and the standard deviation of one sample's around it; 0 where it is exact."""

    value: float
    words: str
    deviation: float = 0.0

    def probability(self, printed: float) -> float:
        """Return the probability of a sample at least as far away as the one printed, by the normal law."""
        return math.erfc(abs(printed - self.value) / (self.deviation * math.sqrt(2)))


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("must be finite; correct it")
    return value


Number = Annotated[int | float, AfterValidator(_finite)]
Dimension = Annotated[int, Field(ge=1, le=10**9)]
Vector = Annotated[tuple[Number, ...], Field(min_length=1, max_length=64)]


def exact(number: float) -> Any:
    """Return a number of the file as the decimal that stands there."""
    return Rational(str(number))


def value_of(expression: Any) -> float:
    """Return an exact expression as the nearest float."""
    return float(N(expression, _DIGITS))


def listed(numbers: Iterable[float]) -> str:
    """Return numbers in a row."""
    return ", ".join(f"{number:g}" for number in numbers)
