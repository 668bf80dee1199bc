"""The verdicts are calibrated: a smaller run of the study, and the stored table."""

from dataclasses import replace
from typing import Any

import pytest

from tests.calibration.study import LEVELS, coverage, study, together
from verify.evidence import Calibration
from verify.files import shipped_folder
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.estimands import Measured, Smooth


@pytest.mark.slow
def test_nothing_misses_or_alarms_more_often_than_its_design_allows() -> None:
    """Every row of a fresh study is in order; a sound judge fails this once in about fifty versions."""
    rows = study(0.01)
    assert len(rows) > 100
    assert not [f"{row.what} {row.setting}: {row.events} of {row.trials}" for row in rows if not row.in_order]


def test_intervals_of_half_their_width_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In as many repetitions of one setting as the study above has."""
    measure = Smooth.measure

    def halved(self: Smooth, sample: Any, alpha: float) -> Measured:
        measured = measure(self, sample, alpha)
        low, high = measured.interval
        return replace(measured, interval=((low + measured.value) / 2, (high + measured.value) / 2))

    monkeypatch.setattr(Smooth, "measure", halved)
    assert not coverage((NORMAL, 4, 1, 200))[0].in_order


def test_the_stored_table_is_in_order_and_complete() -> None:
    """The table that the report prints has every level, and no row that contradicts the design."""
    table = Calibration.model_validate_json((shipped_folder("data") / "calibration.json").read_text("utf-8"))
    assert {row.level for row in table.rows if row.level} == set(LEVELS)
    assert not [row for row in table.rows if not row.in_order]
    assert "tests.calibration.study" in table.command
    assert table.together == together(table.rows)
    assert not [row for row in table.together if not row.in_order]
