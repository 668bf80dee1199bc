"""All that the templates print of an audit, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verify.evidence.words import Badge, Tally
    from verify.report.views import Cell, FigureView
    from verify.text.latex import Prose


@dataclass(frozen=True, slots=True)
class LineView:
    """What is wrong, near a limit or undecided, in one line for all layers and heads that share it.

    ``link`` is the anchor of the first of its findings; ``needed`` says how many sequences would decide.
    """

    badge: Badge
    where: str
    what: Prose
    cause: Prose
    fix: Prose
    needed: str
    link: str


@dataclass(frozen=True, slots=True)
class LinesView:
    """Lines of one judgement; ``more`` are left to the tables."""

    lines: tuple[LineView, ...]
    more: int


@dataclass(frozen=True, slots=True)
class IntentionView:
    """A scale that was intended, for which layers, and who said so."""

    formula: Prose
    value: str
    origin: Prose
    where: str


@dataclass(frozen=True, slots=True)
class ShapeView:
    """Layers of one shape."""

    where: str
    heads: str
    widths: str
    sequences: str
    tokens: str
    dtype: str
    backend: str


@dataclass(frozen=True, slots=True)
class MatrixView:
    """The values of a map as a table: names of its columns, and of each row the name and the cells."""

    label: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class MapView:
    """A map of layers × heads with its values as a table; ``claims`` derive its formula.

    Of ``narrow`` ones two stand side by side.
    """

    name: str
    figure: FigureView
    narrow: bool
    note: Prose
    matrix: MatrixView
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A finding as a row, or several heads' with the same judgement; a text is empty where there is none."""

    heads: str
    remark: Prose
    estimate: Cell
    error: Cell
    low: Cell
    high: Cell
    against: str
    badge: Badge


@dataclass(frozen=True, slots=True)
class FoundGroup:
    """The findings of one name in a layer; ``note`` says what all its rows have in common."""

    anchor: str
    name: str
    quantity: Prose
    note: Prose
    claims: tuple[str, ...]
    rows: tuple[FoundRow, ...]


@dataclass(frozen=True, slots=True)
class LayerView:
    """A layer with its findings; ``widths`` (em) are those of the table's columns after the first."""

    id: str
    name: str
    summary: Prose
    tallies: tuple[Tally, ...]
    notes: tuple[Prose, ...]
    groups: tuple[FoundGroup, ...]
    widths: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim that findings rest on; all but its id is empty where the reference results lack it."""

    id: str
    title: Prose
    statement: Prose
    standing: str


@dataclass(frozen=True, slots=True)
class AuditView:
    """The whole report of an audit."""

    source: str
    outcome: str
    tone: str
    seen: str
    decided: str
    judged: tuple[Tally, ...]
    reported: str
    intentions: tuple[IntentionView, ...]
    wrong: LinesView
    undecided: LinesView
    warned: LinesView
    left_out: tuple[Prose, ...]
    overview: FigureView | None
    overview_narrow: bool
    maps: tuple[MapView, ...]
    shapes: tuple[ShapeView, ...]
    layers: tuple[LayerView, ...]
    merged: bool
    claims: tuple[ClaimView, ...]
    budget: tuple[tuple[str, str], ...]
    gates: tuple[tuple[str, str], ...]
    false_alarm: str
    environment: tuple[tuple[str, str], ...]
    version: str
    date: str
    created: str
    year: str
    seal: str
