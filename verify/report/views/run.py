"""What the report shows of a whole run; all other views are parts of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verify.evidence.words import Tally
    from verify.report.views.calibration import CalibrationView
    from verify.report.views.cards import CardView, ChapterView, FigureView
    from verify.report.views.false_claims import FalseClaimsView, FalsifiedView
    from verify.report.views.screen import ChangesView, MeasuredPanel
    from verify.report.views.sources import SourceView, StatementView
    from verify.report.views.summary import SummaryView


@dataclass(frozen=True, slots=True)
class BudgetView:
    """The numbers of a run's error budget; ``share`` is that of one place, ``spent`` the run's own bound."""

    false_alarm: str
    places: str
    share: str
    checks: str
    controls: str
    spent: str
    rule: str


@dataclass(frozen=True, slots=True)
class ReportView:
    """The whole report."""

    verdicts: tuple[Tally, ...]
    proofs: tuple[Tally, ...]
    outcomes: tuple[Tally, ...]
    claims: int
    checks: str
    controls: int
    controls_refuted: int
    statements: int
    decided: int
    figure: FigureView | None
    example: str
    entries: tuple[tuple[str, str], ...]
    formats: str
    chapters: tuple[ChapterView, ...]
    sources: tuple[SourceView, ...]
    concerns: tuple[CardView, ...]
    corrections: tuple[StatementView, ...]
    summary: SummaryView
    explorer: tuple[MeasuredPanel, ...]
    changes: ChangesView | None
    settings: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    budget: BudgetView
    calibration: CalibrationView | None
    false_claims: FalseClaimsView | None
    falsified: FalsifiedView | None
    seed: str
    profile: str
    tolerance: str
    version: str
    date: str
    created: str
    year: str
    digest: str
    command: str
    claim_files: int
