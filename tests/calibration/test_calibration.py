"""The verdicts are calibrated: a smaller run of the study, and the stored table."""

from __future__ import annotations

import pytest

from tests.calibration.study import LEVELS, study, together
from verify.evidence import Calibration
from verify.files.names import shipped_folder


@pytest.mark.slow
def test_nothing_misses_or_alarms_more_often_than_its_design_allows() -> None:
    """Every row of a fresh study is in order; a sound judge fails this once in about fifty versions."""
    rows = study(0.01)
    assert len(rows) > 100
    assert not [f"{row.what} {row.setting}: {row.events} of {row.trials}" for row in rows if not row.in_order]


def test_the_stored_table_is_in_order_and_complete() -> None:
    """The table that the report prints has every level, and no row that contradicts the design."""
    table = Calibration.model_validate_json((shipped_folder("data") / "calibration.json").read_text("utf-8"))
    assert {row.level for row in table.rows if row.level} == set(LEVELS)
    assert not [row for row in table.rows if not row.in_order]
    assert "tests.calibration.study" in table.command
    assert table.together == together(table.rows)
    assert not [row for row in table.together if not row.in_order]
