"""What the full edition says once: settings of tables, power, figures' numbers."""

import re

import pytest

from tests.report.golden import Spelled
from tests.report.records import record
from tests.report.score_variance import SCORE_VARIANCE
from verify.evidence import RunRecord, Verdict
from verify.report.full import full_view
from verify.report.math import Formulas
from verify.report.typeset import render
from verify.report.view import view
from verify.report.views.full import FullView


@pytest.fixture(scope="module")
def full() -> FullView:
    """Return the full edition's view of the made-up run."""
    run = record()
    return full_view(run, view(run))


def test_every_claim_is_there_and_figures_are_numbered(full: FullView, run: RunRecord) -> None:
    """Figures count from one, in the order of the claims, drawn at half the width."""
    assert [one.card.id for one in full.cards] == [claim.id for claim in run.claims]
    assert [one.number for one in full.figures] == list(range(1, len(full.figures) + 1))
    keys = [f"half.{claim.id}.{figure.id}" for claim in run.claims for figure in claim.series]
    assert [one.figure.key for one in full.figures] == keys


def test_checks_stand_in_two_tables_none_twice(full: FullView, run: RunRecord) -> None:
    """Exact checks have a table of their own, without columns that they leave empty."""
    for shown, claim in zip(full.cards, run.claims, strict=True):
        tables = (shown.measured, shown.exact)
        rows = [[row for group in table.groups for row in group.rows] for table in tables]
        exact = [f"{claim.id}.{check.id}" for check in claim.checks if check.method == "exact"]
        assert [row.anchor for row in rows[1]] == exact
        assert len(rows[0]) + len(rows[1]) == len(claim.checks)
        assert all(row.low.text for row in rows[0])
        assert not any(row.low.text or row.sample for row in rows[1])


def test_no_check_stands_alone_under_a_heading(full: FullView) -> None:
    """A single check carries its own title."""
    for shown in full.cards:
        for group in shown.measured.groups + shown.exact.groups:
            assert group.title is None or len(group.rows) > 1


def test_what_never_varies_is_said_once(full: FullView, run: RunRecord) -> None:
    """Verdicts and powers have columns only where they differ or do not simply hold."""
    for shown, claim in zip(full.cards, run.claims, strict=True):
        assert shown.confirmed == all(check.verdict is Verdict.CONFIRMED for check in claim.checks)
        assert shown.refuted == all(control.verdict is Verdict.REFUTED for control in claim.controls)
        assert bool(shown.power) == (len({row.power for row in shown.card.controls.rows}) == 1)


def test_the_sheet_prints_verdicts_that_differ_and_counts_those_that_do_not() -> None:
    """A column of verdicts is there for the claim that is not wholly confirmed, and only for it."""
    run = record()
    seen = view(run)
    page = render("report-full.pdf.j2", seen, Formulas(), Spelled(), full=full_view(run, seen))
    cards = dict(re.findall(r'<article class="card" id="([^"]+)"(.*?)</article>', page, flags=re.DOTALL))
    assert list(cards) == [claim.id for claim in run.claims]
    assert "Verdict</th>" in cards["pairwise-estimator"]
    confirmed = cards[SCORE_VARIANCE.id]
    assert "Verdict</th>" not in confirmed
    assert "Checks, all confirmed." in confirmed
    for check in SCORE_VARIANCE.checks:
        assert f'id="{SCORE_VARIANCE.id}.{check.id}"' in confirmed
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r'\bid="([^"]+)"', page))
