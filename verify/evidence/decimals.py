"""Floats as decimal numbers, and rounding at a decimal place: the one place where printed digits are made."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal


def as_decimal(value: float) -> Decimal:
    """Return the shortest decimal that reads back as the float: 0.95 means 0.95, not 0.9499999…."""
    return Decimal(repr(float(value)))


def rounded(value: Decimal, place: int, rounding: str = ROUND_HALF_EVEN) -> Decimal:
    """Return ``value`` rounded to a multiple of ``10**place``, exactly, however many digits that takes.

    ``rounding`` is one of the modes of the ``decimal`` module. For ``place <= 0`` the result has exactly
    ``-place`` decimals, trailing zeros included.

    Raises:
        ValueError: the value is not finite.
    """
    if not value.is_finite():
        raise ValueError(f"{value} cannot be rounded")
    # The default precision of 28 digits is less than a float may need.
    digits = 2 + max(value.adjusted() - place, len(value.as_tuple().digits))
    wide = Context(prec=digits)
    whole = wide.scaleb(value, -place).quantize(Decimal(1), rounding, wide)
    return wide.scaleb(whole, place)
