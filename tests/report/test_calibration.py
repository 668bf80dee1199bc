"""The calibration study as the method chapter prints it."""

from __future__ import annotations

from scipy import stats

from tests.calibration.study import CONFIDENCE, together
from verify.evidence import Calibration, Counted
from verify.report.calibration import calibration


def row(events: int, *, level: float | None = None, setting: str = "", at_least: bool = False) -> Counted:
    """Return a row of 1000 trials with made-up bounds around its rate."""
    rate = events / 1000
    return Counted(
        what="an interval misses",
        setting=setting,
        level=level,
        trials=1000,
        events=events,
        allowed=level or 0.9,
        at_least=at_least,
        low=rate / 2,
        high=min(1.0, rate * 2),
    )


def table(*rows: Counted) -> Calibration:
    """Return a study of these rows."""
    return Calibration(
        seed=1, command="the command", version="0", confidence=CONFIDENCE, rows=rows, together=together(rows)
    )


def test_rows_of_a_level_are_summed_and_the_worst_is_named() -> None:
    """Two cells at one level become one row with both trials, and name the cell that missed more often."""
    shown = calibration(table(row(4, level=0.01, setting="a"), row(9, level=0.01, setting="b")))
    assert shown is not None
    (level,) = shown.levels
    assert (level.trials, level.events, level.worst, level.in_order) == ("2000", "13", "9 of 1000: b", True)
    # Clopper and Pearson, from the quantiles of the beta law.
    tail = (1 - CONFIDENCE) / 2
    low, high = stats.beta.ppf(tail, 13, 1988), stats.beta.isf(tail, 14, 1987)
    assert level.bounds == f"{low:.2g} to {high:.2g}"


def test_levels_come_from_large_to_small_and_other_events_apart() -> None:
    """Rows without a level form the second table."""
    shown = calibration(table(row(0, level=0.001), row(5, level=0.01), row(950, at_least=True)))
    assert shown is not None
    assert [one.level for one in shown.levels] == ["0.01", "0.001"]
    (event,) = shown.events
    assert event.design == "at least 0.9"


def test_a_row_out_of_order_says_so() -> None:
    """Too many misses, or too few successes, are not in order."""
    shown = calibration(table(row(50, level=0.01), row(300, at_least=True)))
    assert shown is not None
    assert not any(one.in_order for one in shown.levels)
    assert not any(one.in_order for one in shown.events)


def test_the_level_at_which_nothing_was_missed_says_how_far_it_sees() -> None:
    """No miss in 1000 trials leaves rates up to 0.99% open; a miss says more than that."""
    shown = calibration(table(row(0, level=1e-6), row(5, level=0.01)))
    assert shown is not None
    assert shown.blind is not None
    assert (shown.blind.level, shown.blind.trials) == ("1×10⁻⁶", "1000")
    assert shown.blind.bound == "0.0099"
    missed = calibration(table(row(1, level=1e-6)))
    assert missed is not None
    assert missed.blind is None


def test_no_study_no_table() -> None:
    """A record without a study prints none."""
    assert calibration(None) is None
