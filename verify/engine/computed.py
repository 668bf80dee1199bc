"""Numbers that statements' parts have computed: exact ones, and those that a sample scatters around."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, StrictFloat, StrictInt
from sympy import N, Rational

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_DIGITS = 30
INCOMPATIBLE = 0.001
"""Below this probability of what is as extreme, one sample contradicts what is derived."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one sample's statistic is expected to be: its standard deviation, for words, and its law.

    ``below`` gives the probability that the statistic is at most so large.
    """

    deviation: float
    below: Callable[[float], float]

    def probability(self, low: float, high: float) -> float:
        """Return twice the smaller of the probabilities of at most ``high`` and of at least ``low``.

        A printed figure stands for all numbers from ``low`` to ``high`` that round to it.
        """
        return min(1.0, 2 * self.below(high), 2 * (1 - self.below(low)))


@dataclass(frozen=True, slots=True)
class Computed:
    """A number, in words; where it is what a ``sample`` scatters around, with the sample's law."""

    value: float
    words: str
    sample: Sample | None = None


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("must be finite; correct it")
    return value


Number = Annotated[StrictInt | StrictFloat, AfterValidator(_finite)]
Dimension = Annotated[StrictInt, Field(ge=1, le=10**9)]
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
