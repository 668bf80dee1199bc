"""An interval written as a figure with its uncertainty: whether it says the interval, and how to write it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from verify.citing.figures import rounded
from verify.citing.units import is_same_size

if TYPE_CHECKING:
    from verify.citing.figures import Number
    from verify.citing.notation import Spread
    from verify.citing.value import Value


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval with the estimate in it, None where only the interval is quoted; in a quotation's unit.

    ``places`` are the powers of ten of the last digits that are printed of it.
    """

    estimate: Decimal | None
    low: Decimal
    high: Decimal
    place: int

    @property
    def centre(self) -> Decimal:
        """The estimate, or else the middle."""
        return (self.low + self.high) / 2 if self.estimate is None else self.estimate

    def distances(self, centre: Decimal, place: int) -> tuple[Decimal, Decimal]:
        """Return how far the ends are above and below, rounded up to the digit of this power of ten."""
        return rounded(self.high - centre, place, "up"), rounded(centre - self.low, place, "up")


@dataclass(frozen=True, slots=True)
class Written:
    """The numbers of an interval with the powers of ten of their last digits."""

    centre: Decimal
    place: int
    above: Decimal
    below: Decimal
    spread_place: int


def interval_of(value: Value, printed: tuple[Number, ...], unit: int) -> Interval | None:
    """Return the interval that a value is, in the unit of this power of ten; None if it is none."""
    *first, low, high = value.figures if len(value.figures) in {2, 3} else (None, None)
    if low is None or high is None or (low.rounding, high.rounding) != ("down", "up"):
        return None
    shift = printed[-1].unit - unit
    estimate = first[0].exact.scaleb(shift) if first and first[0] else None
    return Interval(estimate, low.exact.scaleb(shift), high.exact.scaleb(shift), printed[-1].place + shift)


def says(spread: Spread, interval: Interval) -> bool:
    """Return whether a figure with its uncertainty is this interval, to the digits that stand there.

    The figure is the estimate to the nearest; the uncertainty covers the interval, and with one unit less in
    its last digit would not. One number for both directions is right where they differ by no more than that.
    """
    centre, place = spread.centre, _spread_place(spread)
    if _has_two_units(spread):
        return False
    if interval.estimate is not None and abs(centre.value - interval.estimate) > _unit(centre.place) / 2:
        return False
    above, below = interval.distances(centre.value, place)
    stands = _distance(spread, spread.above)
    if spread.below is not None:
        return (stands, _distance(spread, spread.below)) == (above, below) and min(above, below) >= 0
    return _is_even(above, below, place) and stands == max(above, below)


def rewritten(spread: Spread, interval: Interval) -> Written | None:
    """Return the numbers that make it this interval, with the digits that stand there where these will do.

    None if it cannot be written so: the ends are not equally far away, or the units are two.
    """
    if _has_two_units(spread):
        return None
    if spread.above.doubt and not is_same_size(spread.centre.value, interval.centre):
        return None
    own = max(min(spread.centre.place, _spread_place(spread)), interval.place)
    for place in dict.fromkeys((own, interval.place)):
        written = _written(spread, interval, place)
        if written is not None:
            return written
    return None


def _written(spread: Spread, interval: Interval, place: int) -> Written | None:
    centre = rounded(interval.centre, place, "nearest")
    spread_place = place if spread.in_digits else max(_spread_place(spread), interval.place)
    above, below = interval.distances(centre, spread_place)
    if min(above, below) <= 0:
        return None
    if spread.below is None:
        if not _is_even(above, below, spread_place):
            return None
        above = below = max(above, below)
    return Written(centre, place, above, below, spread_place)


def _spread_place(spread: Spread) -> int:
    return spread.centre.place if spread.in_digits else spread.above.place


def _distance(spread: Spread, number: Number) -> Decimal:
    size = abs(number.value)
    return size.scaleb(spread.centre.place) if spread.in_digits else size


def _is_even(above: Decimal, below: Decimal, place: int) -> bool:
    return min(above, below) > 0 and abs(above - below) <= _unit(place)


def _has_two_units(spread: Spread) -> bool:
    numbers = (spread.centre, spread.above, spread.below or spread.above)
    is_shared = {(one.unit, one.power, one.shared) for one in numbers}
    return len(is_shared) > 1 or any(one.joined for one in numbers)


def _unit(place: int) -> Decimal:
    return Decimal(1).scaleb(place)
