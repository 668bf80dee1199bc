"""What page and print share: each drawing made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.report.records import record
from verify.report import parts
from verify.report.parts import Parts

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.usefixtures("cache")


def test_a_second_report_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same report; so is one drawn by two processes."""
    run = record()
    first = Parts.of(run)

    def _figures(_: object) -> list[str]:
        raise AssertionError("drawn again")

    def _formulas(_: object) -> list[str]:
        raise AssertionError("drawn again")

    for draw in (_figures, _formulas):
        monkeypatch.setattr(parts, draw.__name__, draw)
    second = Parts.of(run)
    assert second.figures == first.figures
    assert second.formulas.dump() == first.formulas.dump()


@pytest.mark.slow
def test_two_processes_draw_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing depends on who draws."""
    run = record()
    alone = Parts.of(run)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    monkeypatch.setattr(parts, "_WORTH_A_PROCESS", 1)
    assert parts.draw_figures(run, 2) == alone.figures
    drawn = parts.draw_formulas(alone.view, 2)
    assert sorted(drawn.dump()) == sorted(alone.formulas.dump())
