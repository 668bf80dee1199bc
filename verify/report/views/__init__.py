"""All that the templates print, as frozen records: the builders make each once, the templates only read."""

from verify.report.views.calibration import Blind, CalibrationView, EventRow, LevelRow
from verify.report.views.cards import (
    CardView,
    Cell,
    ChapterView,
    CheckTable,
    ContrastView,
    ControlTable,
    ControlView,
    FactView,
    FigureView,
    FitView,
    GroupView,
    ReferenceView,
    RouteView,
    RowView,
    StepView,
    Title,
)
from verify.report.views.false_claims import FalseClaimsView, FalseKindRow, FalsifiedView
from verify.report.views.run import BudgetView, ReportView
from verify.report.views.screen import ChangesView, ChangeView, MeasuredPanel, MeasuredSide
from verify.report.views.sources import OpenView, PartView, SourceView, StatementView
from verify.report.views.summary import AnswerView, KeyView, LimitView, SummaryView

__all__ = [
    "AnswerView",
    "Blind",
    "BudgetView",
    "CalibrationView",
    "CardView",
    "Cell",
    "ChangeView",
    "ChangesView",
    "ChapterView",
    "CheckTable",
    "ContrastView",
    "ControlTable",
    "ControlView",
    "EventRow",
    "FactView",
    "FalseClaimsView",
    "FalseKindRow",
    "FalsifiedView",
    "FigureView",
    "FitView",
    "GroupView",
    "KeyView",
    "LevelRow",
    "LimitView",
    "MeasuredPanel",
    "MeasuredSide",
    "OpenView",
    "PartView",
    "ReferenceView",
    "ReportView",
    "RouteView",
    "RowView",
    "SourceView",
    "StatementView",
    "StepView",
    "SummaryView",
    "Title",
]
