"""What is on record of one claim: derivation, checks, controls, figures, verdict."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from html import escape
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Iterable

Setting = int | float | str
Relation = Literal["=", "≤", "≥"]
Band = tuple[float | None, float | None]
Reach = Literal["general", "examples", "numerical"]
Origin = Literal["derived", "set"]
Method = Literal["monte-carlo", "fit", "exact"]
SLUG = r"^[a-z0-9]+(-[a-z0-9]+)*$"
Slug = Field(pattern=SLUG)


class Verdict(StrEnum):
    """What the measurement says of a prediction or of a whole claim."""

    CONFIRMED = "confirmed"
    APPROXIMATE = "approximate"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


class Proof(StrEnum):
    """What the symbolic side says of a claim.

    Proved: every step is checked for all values. At examples: every step is checked, some at a few sizes or
    numerically; beyond these they stand on the rule that they name. In part: the statement says more than
    was derived, and the record says what.
    """

    PROVED = "proved"
    AT_EXAMPLES = "checked-at-examples"
    IN_PART = "in-part"
    FAILED = "failed"
    NOT_CLAIMED = "not-claimed"


class Outcome(StrEnum):
    """What the run says of a statement of a source document."""

    HOLDS = "holds"
    WITH_CONDITIONS = "holds-with-conditions"
    MISPRINTED = "misprinted"
    WRONG = "wrong"
    OPEN = "open"


class Record(BaseModel):
    """Base of all records: frozen, and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False)


class Assumption(Record):
    """One condition under which a claim is made; ``text`` may hold LaTeX between dollar signs."""

    id: str = Slug
    text: str


class Reference(Record):
    """Where a formula or method comes from."""

    key: str
    text: str
    url: str | None = None


class Step(Record):
    """One step of a derivation: the expression reached, the rule that led there, how it was checked.

    ``relation`` says how the expression stands to the one before it; "⇒" where it follows
    from it, "⇔" where each follows from the other.
    ``reach`` says what the check covers: all values, exactly a few sizes, or numbers at a few points.
    """

    relation: Literal["=", "⇒", "⇔", "≤", "≥"] = "="
    latex: str
    plain: str
    rule: str
    checked_by: str
    reach: Reach = "general"
    holds: bool


class Route(Record):
    """One chain of steps from its start; a claim derived two ways has two."""

    title: str
    start_latex: str
    start_plain: str
    steps: tuple[Step, ...]


class DerivationRecord(Record):
    """The symbolic side of a claim; ``result`` is the derived expression as plain text, ``latex`` printed.

    ``beyond`` says what of the statement is not derived, and what it rests on instead.
    """

    status: Proof
    subject: str
    result: str
    latex: str
    routes: tuple[Route, ...]
    agreement: str
    reason: str
    beyond: str = ""


class Check(Record):
    """One comparison of an estimate with its prediction, which by ``relation`` is its value or a bound.

    ``interval`` is simultaneous at ``level`` over the whole run; ``band`` is the prediction with its
    tolerance, None where a bound leaves a side open; ``tolerance_of`` says in words what the tolerance is
    a fraction of. The prediction is ``derived``, or a threshold ``set`` in advance.

    An ``exact`` check compares two computed values and has no blocks; its tolerance, if any, is absolute, and
    ``tolerance_of`` says what it is for: rounding, the distance from a limit, …
    """

    id: str = Slug
    quantity: str
    method: Method
    cell: dict[str, Setting]
    prediction: float
    prediction_latex: str
    origin: Origin = "derived"
    estimate: float
    standard_error: float
    interval: tuple[float, float]
    level: float
    relation: Relation = "="
    tolerance: float
    tolerance_of: str
    band: Band
    verdict: Verdict
    looks: int
    blocks: int
    draws: int

    def _repr_html_(self) -> str:
        """Return the check as a table of one row, which notebooks show."""
        return table(_COLUMNS, [_row(self)])

    @property
    def half_width(self) -> float:
        """How far the band reaches from the prediction, in the quantity's units."""
        return next(abs(end - self.prediction) for end in self.band if end is not None)


class Control(Record):
    """A deliberately wrong version of the claim; it is in order only when its verdict is refuted.

    ``power`` is the probability, at the sample size used, that the wrong version is refuted.
    """

    id: str = Slug
    what: str
    cell: dict[str, Setting]
    prediction: float
    estimate: float
    interval: tuple[float, float]
    relation: Relation = "="
    band: Band
    verdict: Verdict
    power: float
    blocks: int
    draws: int


class OrdinaryFit(Record):
    """An unweighted straight-line fit, shown as description and never used as evidence."""

    id: str = Slug
    quantity: str
    slope: float
    intercept: float
    r_squared: float


class Fact(Record):
    """An exact value that the claim computes and that a source may have printed."""

    id: str = Slug
    what: str
    latex: str
    value: float


class Axis(Record):
    """An axis of a figure."""

    label: str
    scale: Literal["linear", "log"] = "linear"


class Layer(Record):
    """One set of points of a figure; ``lo`` and ``hi`` are its interval, empty where it has none."""

    kind: Literal["points", "line", "band", "steps"]
    role: Literal["truth", "measured", "control", "other"]
    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    lo: tuple[float, ...] = ()
    hi: tuple[float, ...] = ()


class Figure(Record):
    """What a figure draws: one message, with the text that stands in for it."""

    id: str = Slug
    title: str
    alt: str
    x: Axis
    y: Axis
    layers: tuple[Layer, ...]


class ClaimRecord(Record):
    """All evidence for one claim; ``digest`` covers everything else in it."""

    id: str = Slug
    chapter: str
    chapter_title: str
    title: str
    statement: str
    meaning: str
    assumptions: tuple[Assumption, ...]
    references: tuple[Reference, ...]
    verdict: Verdict
    reason: str
    derivation: DerivationRecord
    checks: tuple[Check, ...]
    controls: tuple[Control, ...]
    fits: tuple[OrdinaryFit, ...] = ()
    facts: tuple[Fact, ...] = ()
    series: tuple[Figure, ...] = ()
    digest: str = ""

    def _repr_html_(self) -> str:
        """Return title, verdict and the table of checks, which notebooks show."""
        head = f"<p><b>{escape(self.title)}</b>: {self.verdict}. {escape(self.reason)}</p>"
        return head + table(_COLUMNS, [_row(check) for check in self.checks])

    def sealed(self) -> ClaimRecord:
        """Return this record with its digest set: SHA-256 of its content as canonical JSON."""
        return self.model_copy(update={"digest": digest_of(self)})


_COLUMNS = ("check", "quantity", "predicted", "estimate", "interval", "verdict")


def _row(check: Check) -> tuple[str, ...]:
    low, high = check.interval
    shown = (f"{check.relation.removeprefix('=')}{check.prediction:.6g}", f"{check.estimate:.6g}")
    return check.id, check.quantity, *shown, f"{low:.6g} to {high:.6g}", check.verdict


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return an HTML table of plain texts."""
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def digest_of(record: ClaimRecord) -> str:
    """Return the SHA-256, in hexadecimal, of a claim's record as canonical JSON without its digest."""
    return fingerprint(record, without="digest")


def fingerprint(record: Record, without: str) -> str:
    """Return the SHA-256, in hexadecimal, of a record as canonical JSON ``without`` one of its fields."""
    content = record.model_dump(mode="json", by_alias=True, exclude={without})
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
