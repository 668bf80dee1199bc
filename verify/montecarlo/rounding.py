"""Numbers of few significant bits, and what is lost by rounding to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verify.montecarlo.attention import softmax
from verify.montecarlo.literal import fixed_normals, largest_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.montecarlo.distributions import Array


def rounded(values: Array, bits: int) -> Array:
    """Return the nearest numbers of so many significant bits, ties to even; no exponent is out of range."""
    fraction, exponent = np.frexp(values)
    nearest: Array = np.ldexp(np.rint(np.ldexp(fraction, bits)), exponent - bits)
    return nearest


def spacing_above(at: float, bits: int) -> float:
    """Return the distance of a number of so many bits from the next, the least step that rounding keeps."""
    steps = 2.0 ** -np.arange(-8, 24)
    return float(min(step for step in steps if rounded(np.array(at + step), bits) == at + step))


def largest_move(bits: int) -> float:
    """Return how far rounding to so many bits moves a number from 1 to 2 at most, over the number."""
    numbers = np.linspace(1, 2, 4097)
    return float(np.max(np.abs(rounded(numbers, bits) / numbers - 1)))


def change_of_weights(scores: Sequence[float], bits: int) -> float:
    """Return how much a weight changes at most when the scores of its row are rounded to so many bits."""
    row = np.array(scores)
    return largest_difference(softmax(rounded(row, bits)), softmax(row))


def distance_from_half(bits: int) -> float:
    """Return the largest distance of rounded normal numbers from those that NumPy's half precision stores."""
    numbers = fixed_normals(4096)
    return largest_difference(rounded(numbers, bits), numbers.astype(np.float16))


def distance_of_orders(factor: float, bits: int) -> float:
    """Return how far normal numbers that are scaled, then rounded are from those rounded, then scaled."""
    numbers = fixed_normals(4096)
    return largest_difference(rounded(numbers * factor, bits), rounded(numbers, bits) * factor)
