"""An interval as a figure with its uncertainty: what says it, and what is written so that it does."""

from __future__ import annotations

from decimal import Decimal

import pytest

from verify.citing.figures import numbers_in
from verify.citing.notation import Interval, Spread, interval_of, rewritten, says
from verify.citing.values import Figure, Value

ESTIMATE, LOW, HIGH = Decimal("1.00083"), Decimal("0.99784"), Decimal("1.00381")
WHOLE = Interval(ESTIMATE, LOW, HIGH, -4)
ENDS = Interval(None, LOW, HIGH, -4)


def spread(centre: str, above: str, below: str | None = None, *, in_digits: bool = False) -> Spread:
    """Return a figure with its uncertainty."""
    middle, up = numbers_in(centre)[0], numbers_in(above)[0]
    return Spread(middle, up, numbers_in(below)[0] if below else None, in_digits)


@pytest.mark.parametrize(
    ("written", "is_so"),
    [
        (spread("1.0008", "0.0031"), True),
        (spread("1.0008", "0.0030"), False),  # it leaves an end out
        (spread("1.0008", "0.0032"), False),  # one unit less would do
        (spread("1.0009", "0.0030"), False),  # not the estimate
        (spread("1.001", "0.004"), True),
        (spread("1.0008", "0.0031", "0.0030"), True),
        (spread("1.0008", "0.0030", "0.0031"), False),
        (spread("1.0008", "31", in_digits=True), True),
        (spread("1.0008", "30", in_digits=True), False),
        (spread("100.08%", "0.0031"), False),  # two units
    ],
)
def test_an_uncertainty_covers_the_interval_and_no_more(written: Spread, is_so: bool) -> None:
    """To the digits that stand there; the figure is the estimate to the nearest."""
    assert says(written, WHOLE) is is_so


def test_of_an_interval_alone_any_figure_in_it_will_do() -> None:
    """As long as the uncertainty fits."""
    assert says(spread("1.0008", "0.0031"), ENDS)
    assert says(spread("1.0009", "0.0031"), ENDS) is says(
        spread("1.0009", "0.0031"), Interval(None, LOW, HIGH, -4)
    )
    assert not says(spread("1.5", "0.0031"), ENDS)


@pytest.mark.parametrize("interval", [WHOLE, ENDS])
@pytest.mark.parametrize(
    "old",
    [
        spread("1.02", "0.0050"), spread("1.0200", "0.0050"), spread("1.0200", "50", in_digits=True),
        spread("1.02", "0.0035", "0.0020"), spread("7", "1"),
    ],
)  # fmt: skip
def test_what_is_written_says_the_interval(interval: Interval, old: Spread) -> None:
    """With digits no finer than the report prints."""
    found = rewritten(old, interval)
    assert found is not None
    assert found.place >= interval.place
    assert found.spread_place >= interval.place
    assert found.centre + found.above >= interval.high
    assert found.centre - found.below <= interval.low
    unit = Decimal(1).scaleb(found.spread_place)
    assert (
        found.centre + found.above - unit < interval.high or found.centre - found.below + unit > interval.low
    )


def test_what_cannot_be_written_so_is_not() -> None:
    """One uncertainty for ends that are not equally far away, or two units."""
    skewed = Interval(Decimal("1.0"), Decimal("0.9"), Decimal("1.5"), -1)
    assert rewritten(spread("1.0", "0.2"), skewed) is None
    assert rewritten(spread("1.0", "0.2", "0.1"), skewed) is not None
    assert rewritten(spread("100%", "0.2"), WHOLE) is None


def test_a_value_is_an_interval_where_its_ends_are_rounded_outwards() -> None:
    """In the unit that is asked for."""
    low, high = Figure(LOW, "down"), Figure(HIGH, "up")
    printed = numbers_in("1.0008 0.9978 1.0039")
    both = Value("k", "", (Figure(ESTIMATE), low, high), "k")
    assert interval_of(both, printed, 0) == WHOLE
    assert interval_of(Value("k", "", (low, high), "k"), printed, 0) == ENDS
    percent = interval_of(both, printed, -2)
    assert percent is not None
    assert (percent.estimate, percent.place) == (ESTIMATE * 100, -2)
    for figures in ((), (low,), (high, low), (low, low, high, high)):
        assert interval_of(Value("k", "", figures, "k"), printed, 0) is None
