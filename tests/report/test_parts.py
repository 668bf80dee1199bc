"""What page and print share: each drawing made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.auditing.records import STATISTICAL, good
from tests.report.records import record
from tests.report.score_variance import SCORE_VARIANCE
from verify.report import parts as parts_module
from verify.report.audits.views import AuditView
from verify.report.math import Formulas
from verify.report.parts import Parts, draw_figures, draw_formulas, view_of
from verify.report.summary import panels
from verify.report.view import formulas
from verify.report.views import ReportView
from verify.text.escapes import pieces

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from verify.evidence import RunRecord


pytestmark = pytest.mark.usefixtures("cache")


def test_a_second_report_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same report; so is one drawn by two processes."""
    run = record(SCORE_VARIANCE)
    first = Parts.of(run)

    def _figures(_: object) -> list[str]:
        raise AssertionError("drawn again")

    def _formulas(_: object) -> list[str]:
        raise AssertionError("drawn again")

    for draw in (_figures, _formulas):
        monkeypatch.setattr(parts_module, draw.__name__, draw)
    second = Parts.of(run)
    assert second.figures == first.figures
    assert second.formulas.dump() == first.formulas.dump()


@pytest.mark.slow
def test_two_processes_draw_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing depends on who draws."""
    run = record()
    alone = Parts.of(run)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    monkeypatch.setattr(parts_module, "_WORTH_A_PROCESS", 1)
    assert draw_figures(run, 2) == alone.figures
    drawn = draw_formulas(alone.view, 2)
    assert sorted(drawn.dump()) == sorted(alone.formulas.dump())


def test_a_view_is_that_of_its_kind_of_record(run: RunRecord) -> None:
    """A run's report, or an audit's with what the reference says of the claims that it rests on."""
    assert isinstance(view_of(run), ReportView)
    shown = view_of(good(1, 2))
    assert isinstance(shown, AuditView)
    assert {one.id for one in shown.claims if one.standing} >= {"attention-entropy", "effective-keys"}


def test_figures_are_had_by_claim_and_figure(parts: Parts, run: RunRecord) -> None:
    """Each of the record's figures is drawn under its key, for the full edition at half the width as well."""
    keys = {f"{claim.id}.{figure.id}" for claim in run.claims for figure in claim.series}
    assert set(parts.figures) == keys | set(panels(run, "full"))
    assert all(f'id="{key}.' in svg for key, svg in parts.figures.items())


def test_an_audit_has_a_map_for_each_of_its_grids() -> None:
    """And one of all judgements; with one head and one layer there is nothing to map."""
    drawn = draw_figures(good(2, 2))
    assert len(drawn) == len(STATISTICAL) + 2
    assert all(svg.startswith("<svg") for svg in drawn.values())
    assert draw_figures(good(1, 1)) == {}


def test_what_is_asked_for_twice_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Formulas of a view are drawn before they are set, each of them once, however often it stands there."""
    asked: list[str] = []

    def _formulas(requests: Sequence[str]) -> list[str]:
        asked.extend(requests)
        return [Formulas().dump()] * len(requests)

    monkeypatch.setattr(parts_module, "_formulas", _formulas)
    shown = view_of(good(1, 2))
    draw_formulas(shown, 1)
    assert len(asked) == len(set(asked)) > 5
    wanted = {piece.text for text in formulas(shown) for piece in pieces(text) if piece.is_formula}
    assert {request.removeprefix("inline\n") for request in asked} == wanted
