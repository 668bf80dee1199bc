"""What the report shows of a claim: its card, with tables, derivation and figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verify.evidence.words import Badge
    from verify.text.latex import Prose, Tex


@dataclass(frozen=True, slots=True)
class Cell:
    """A number in a right-aligned column; ``pad`` (em) keeps its decimal point under the others'."""

    text: str
    pad: float


@dataclass(frozen=True, slots=True)
class Title:
    """What a check or several of them are about: quantity, prediction in symbols, method and tolerance."""

    quantity: Prose
    formula: Prose
    note: Prose


@dataclass(frozen=True, slots=True)
class RowView:
    """One check as a row; ``title`` is None where its group has one for all its rows.

    ``remark`` says how close a bound is and what is unusual about the check.
    """

    anchor: str
    title: Title | None
    label: Prose
    remark: Prose
    predicted: Cell
    estimate: Cell
    error: Cell
    low: Cell
    high: Cell
    sample: str
    verdict: Badge


@dataclass(frozen=True, slots=True)
class GroupView:
    """Checks of one quantity, or of one fit, under a common title; or single checks each with its own."""

    title: Title | None
    rows: tuple[RowView, ...]


@dataclass(frozen=True, slots=True)
class CheckTable:
    """A claim's checks; ``common`` are the settings printed once above them, ``widths`` (em) of columns."""

    groups: tuple[GroupView, ...]
    common: tuple[Prose, ...]
    widths: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ControlView:
    """A wrong version of the claim and what became of it."""

    anchor: str
    what: Prose
    predicted: str
    found: str
    power: str
    verdict: Badge


@dataclass(frozen=True, slots=True)
class ControlTable:
    """A claim's controls; ``common`` are the settings printed once above them, ``widths`` (em) of columns."""

    rows: tuple[ControlView, ...]
    common: Prose
    widths: tuple[float, ...]
    refuted: int


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of a derivation; ``relation`` says how it stands to the one before."""

    relation: Prose
    rule: Prose
    formula: Tex
    checked: Prose
    holds: bool


@dataclass(frozen=True, slots=True)
class RouteView:
    """One chain of steps from the expression it starts with; ``label`` is what a screen reader calls it.

    ``opening`` stands beside the start and says what it is, if it is defined there.
    """

    title: Prose
    label: str
    opening: Prose
    start: Tex
    steps: tuple[StepView, ...]


@dataclass(frozen=True, slots=True)
class FigureView:
    """A drawn figure: ``key`` finds its drawing; ``values`` is the text to take along, if any."""

    key: str
    title: Prose
    alt: str
    values: str = ""


@dataclass(frozen=True, slots=True)
class FitView:
    """An ordinary straight-line fit, printed as description only; ``unexplained`` is 1 − R²."""

    quantity: Prose
    slope: str
    intercept: str
    unexplained: str


@dataclass(frozen=True, slots=True)
class FactView:
    """An exact value; ``formula`` is empty where it would only repeat the value."""

    anchor: str
    what: Prose
    formula: Prose
    value: str


@dataclass(frozen=True, slots=True)
class ReferenceView:
    """A publication that a claim rests on; ``url`` is a web address or None."""

    text: Prose
    url: str | None


@dataclass(frozen=True, slots=True)
class ContrastView:
    """What a claim's number is, in short, and the wrong version that it speaks against, if there is one.

    ``basis`` is whether the number is measured or computed.
    """

    basis: str
    found: Prose
    wrong: Prose


@dataclass(frozen=True, slots=True)
class CardView:
    """Everything the report prints about one claim.

    ``contrast`` is the number that stands for it where there is room for one, None without a check.
    ``citation`` is in parts, of which the second is a key and the fourth what was measured: those of others
    can stand there.
    ``sources`` are the anchors of the documents with a statement that it decides.
    """

    id: str
    number: str
    title: Prose
    plain_title: str
    statement: Prose
    meaning: Prose
    assumptions: tuple[Prose, ...]
    stated: tuple[Prose, ...]
    verdict: Badge
    proof: Badge
    alarms: tuple[str, ...]
    outcome: str
    reason: Prose
    headline: Prose | None
    headline_label: str
    contrast: ContrastView | None
    result: Tex | None
    routes: tuple[RouteView, ...]
    agreement: Prose
    proof_reason: Prose
    checks: CheckTable
    level: str
    counted: str
    basis: str
    deviation: str
    figures: tuple[FigureView, ...]
    controls: ControlTable
    fits: tuple[FitView, ...]
    facts: tuple[FactView, ...]
    references: tuple[ReferenceView, ...]
    digest: str
    citation: tuple[str, str, str, str, str]
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChapterView:
    """The claims of a chapter; ``figure`` is the one that stands for it, at half the width of the text."""

    id: str
    number: int
    title: Prose
    cards: tuple[CardView, ...]
    figure: FigureView | None
