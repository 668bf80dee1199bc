"""Units after a figure: signs and words that are one, and what may be one or may not."""

from __future__ import annotations

from decimal import Decimal

import pytest

from verify.citing.figures import Unit, is_same_size, unit_after


@pytest.mark.parametrize(
    ("text", "inside", "unit"),
    [
        ("99%", 3, Unit(-2)),
        (r"99 \%", 2, Unit(-2)),
        ("5‰", 1, Unit(-3)),
        ("**9** per cent", 5, Unit(-2)),
        ("9\nper cent", 1, Unit(-2)),
        ("9\n\nper cent", 1, Unit()),
        ("9\n%", 1, Unit()),
        ("9\nk", 1, Unit()),
        ("9 k", 3, Unit(3)),
        ("9 k", 1, Unit(3, "k")),
        ("9k", 1, Unit(3)),
        ("9 M.", 1, Unit(6, "M")),
        ("9 K", 1, Unit(doubt="K")),
        ("9 bn", 1, Unit(doubt="bn")),
        ("9\nbn", 1, Unit()),
        ("9\ntrillion", 1, Unit(doubt="trillion")),
        ("9 of", 1, Unit()),
        ("9 draws", 1, Unit()),
        ("9σ", 1, Unit(joined=True)),
    ],
)
def test_units(text: str, inside: int, unit: Unit) -> None:
    """A line may break before a whole word alone; one letter outside the quotation is in doubt."""
    end = max(place for place, sign in enumerate(text) if sign.isdigit()) + 1
    assert unit_after(text, end, inside) == unit


@pytest.mark.parametrize(("old", "new", "same"), [("1", "2.9", True), ("-1", "-2", True), ("1", "3", False)])
def test_sizes(old: str, new: str, same: bool) -> None:
    """Within a factor of three, of the same sign; 0 and what has no end are of no size."""
    assert is_same_size(Decimal(old), Decimal(new)) is same
    assert is_same_size(Decimal(new), Decimal(old)) is same
    assert not any(is_same_size(Decimal(old), Decimal(none)) for none in ("0", "Infinity"))
