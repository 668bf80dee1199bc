"""What is on record of one claim: derivation, checks, controls, figures, verdict."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from verify.errors import ClaimError, unknown
from verify.escapes import for_html
from verify.evidence.texts import (
    Address,
    Chapter,
    Code,
    Count,
    Digest,
    Formula,
    Line,
    Many,
    Named,
    Positive,
    Share,
    Slug,
    Text,
    few,
    refuse,
    refuse_repeated,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

Setting = Annotated[int, Field(ge=-(2**63), lt=2**63)] | float | Text
Relation = Literal["=", "≤", "≥"]
Band = tuple[float | None, float | None]
Reach = Literal["general", "examples", "numerical"]
Origin = Literal["derived", "set"]
Method = Literal["monte-carlo", "fit", "exact"]
RESERVED = frozenset(["run", "source"])
"""What keys of citations start with that are no claim's."""


class Verdict(StrEnum):
    """What the measurement says of a prediction or of a whole claim."""

    CONFIRMED = "confirmed"
    APPROXIMATE = "approximate"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


class Proof(StrEnum):
    """What the symbolic side says of a claim.

    Proved: every step is checked for all values; of nothing else is it said without more that it is derived.
    At examples: every step is checked, some at a few sizes or numerically; beyond these they stand on the
    rule that they name. In part: the statement says more than was derived, and the record says what.
    Failed: some step does not hold; then nothing was drawn, and the record has no checks.
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

    @model_validator(mode="before")
    @classmethod
    def _has_few_keys(cls, data: object) -> object:
        return few(data)


Shown = Iterable[tuple[str, object]]
"""What the text of a record, for people, shows of it: names and values."""


def shown(record: Record, *names: str) -> Shown:
    """Yield some fields of a record for its text; that of all fields would fill pages."""
    for name in names:
        value = getattr(record, name)
        yield name, str(value) if isinstance(value, StrEnum) else value


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


_Part = TypeVar("_Part", bound=_Identified)


def by_id(parts: Sequence[_Part], name: str, where: str, what: str) -> _Part:
    """Return the one of ``parts`` whose id is ``name``; ``where`` and ``what`` are for the message.

    Raises:
        ClaimError: there is none; the nearest one is suggested.
    """
    found = {part.id: part for part in parts}
    if name not in found:
        some = f"the {what}s are {', '.join(found)}" if 0 < len(found) < 9 else f"there are {len(found)}"
        raise ClaimError(where + unknown(what, name, found, some))
    return found[name]


class Assumption(Record):
    """One condition under which a claim is made; ``text`` may hold LaTeX between dollar signs."""

    id: Slug
    text: Text


class Reference(Record):
    """Where a formula or method comes from."""

    key: Line
    text: Text
    url: Address | None = None


class Step(Record):
    """One step of a derivation: the expression reached, the rule that led there, how it was checked.

    ``relation`` says how the expression stands to the one before it; "⇒" where it follows
    from it, "⇔" where each follows from the other.
    ``reach`` says what the check covers: all values, exactly a few sizes, or numbers at a few points.
    """

    relation: Literal["=", "⇒", "⇔", "≤", "≥"] = "="
    latex: Formula
    plain: Code
    rule: Text
    checked_by: Text
    reach: Reach = "general"
    holds: bool


class Route(Record):
    """One chain of steps from its start; a claim derived two ways has two.

    ``definition`` says in words what the start is, where it is neither the subject nor derived before.
    """

    title: Text
    start_latex: Formula
    start_plain: Code
    definition: Text = ""
    steps: Many[Step]


class DerivationRecord(Record):
    """The symbolic side of a claim; ``result`` is the derived expression as plain text, ``latex`` printed.

    ``beyond`` says what of the statement is not derived, and what it rests on instead.
    """

    status: Proof
    subject: Formula
    result: Code
    latex: Formula
    routes: Many[Route]
    agreement: Text
    reason: Text
    beyond: Text = ""


class Check(Record):
    """One comparison of an estimate with its prediction, which by ``relation`` is its value or a bound.

    ``interval`` is simultaneous at ``level`` over the whole run; ``band`` is the prediction with its
    tolerance, None where a bound leaves a side open; ``tolerance_of`` says in words what the tolerance is
    a fraction of. The prediction is ``derived``, or a threshold ``set`` in advance. ``tightness`` is the
    estimate over a derived bound, None where the prediction is no such bound, or is 0. ``reason`` says of an
    undecided check what keeps it open and what would help, of others which interval decided it if not the
    usual one.

    An ``exact`` check compares two computed values and has no blocks; its tolerance, if any, is absolute, and
    ``tolerance_of`` says what it is for: rounding, the distance from a limit, …
    """

    id: Slug
    quantity: Text
    method: Method
    cell: Named[Setting]
    prediction: float
    prediction_latex: Formula
    origin: Origin = "derived"
    estimate: float
    standard_error: Positive
    interval: tuple[float, float]
    level: Share
    relation: Relation = "="
    tolerance: Positive
    tolerance_of: Text
    band: Band
    verdict: Verdict
    reason: Text = ""
    tightness: float | None = None
    looks: Count
    blocks: Count
    draws: Count

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        refuse(_misplaced(self))
        wanted = tightness(self.relation, self.origin, self.estimate, self.prediction)
        refuse([(self.tightness not in {None, wanted}, "its tightness is not estimate over bound")])
        return self

    def __repr_args__(self) -> Shown:
        return shown(self, "id", "estimate", "interval", "relation", "prediction", "verdict")

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

    id: Slug
    what: Text
    cell: Named[Setting]
    prediction: float
    estimate: float
    interval: tuple[float, float]
    relation: Relation = "="
    band: Band
    verdict: Verdict
    power: Share
    blocks: Count
    draws: Count

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        refuse(_misplaced(self))
        return self

    def __repr_args__(self) -> Shown:
        return shown(self, "id", "estimate", "interval", "relation", "prediction", "verdict", "power")


def tightness(relation: Relation, origin: Origin, estimate: float, prediction: float) -> float | None:
    """Return the estimate over its derived bound, None where the prediction is no such bound, or is 0."""
    bound = relation != "=" and origin == "derived" and prediction != 0
    return estimate / prediction if bound else None


def _misplaced(finding: Check | Control) -> Iterator[tuple[bool, str]]:
    """Yield what may be wrong between a finding's numbers, and whether it is."""
    (low, high), (lowest, highest) = finding.interval, finding.band
    yield low > high, "its interval is upside down"
    yield not low <= finding.estimate <= high, "its estimate lies outside its interval"
    open_sides = {"=": (False, False), "≤": (True, False), "≥": (False, True)}[finding.relation]
    yield (lowest is None, highest is None) != open_sides, "its band does not fit its relation"
    below = lowest is not None and finding.prediction < lowest
    above = highest is not None and finding.prediction > highest
    yield below or above, "its prediction lies outside its band"


class OrdinaryFit(Record):
    """An unweighted straight-line fit, shown as description and never used as evidence."""

    id: Slug
    quantity: Text
    slope: float
    intercept: float
    r_squared: float


class Fact(Record):
    """An exact value that the claim computes and that a source may have printed."""

    id: Slug
    what: Text
    latex: Formula
    value: float


class Axis(Record):
    """An axis of a figure."""

    label: Text
    scale: Literal["linear", "log"] = "linear"


class Layer(Record):
    """One set of points of a figure; ``lo`` and ``hi`` are its interval, empty where it has none."""

    kind: Literal["points", "line", "band", "steps"]
    role: Literal["truth", "measured", "control", "other"]
    label: Text
    x: Many[float]
    y: Many[float]
    lo: Many[float] = ()
    hi: Many[float] = ()

    @model_validator(mode="after")
    def _has_as_many_of_each(self) -> Self:
        sizes = {len(self.x), len(self.y), *(len(ends) for ends in (self.lo, self.hi) if ends)}
        missing = bool(self.lo) != bool(self.hi) or (self.kind == "band" and not self.lo and bool(self.x))
        refuse(
            [(len(sizes) > 1, "its points differ in number"), (missing, "ends of its intervals are missing")]
        )
        return self


class Figure(Record):
    """What a figure draws: one message, with the text that stands in for it."""

    id: Slug
    title: Text
    alt: Text
    x: Axis
    y: Axis
    layers: Many[Layer]


class ClaimRecord(Record):
    """All evidence for one claim; ``digest`` covers everything else in it."""

    id: Slug
    chapter: Chapter
    chapter_title: Text
    title: Text
    statement: Text
    meaning: Text
    assumptions: Many[Assumption]
    references: Many[Reference]
    verdict: Verdict
    reason: Text
    derivation: DerivationRecord
    checks: Many[Check]
    controls: Many[Control]
    fits: Many[OrdinaryFit] = ()
    facts: Many[Fact] = ()
    series: Many[Figure] = ()
    digest: Digest = ""

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        refuse([(self.id in RESERVED, f"{self.id} means something else in keys; choose another id")])
        named: tuple[Check | Control | Fact, ...] = (*self.checks, *self.controls, *self.facts)
        refuse_repeated((one.id for one in named), "findings")
        refuse_repeated((one.id for one in self.series), "figures")
        return self

    def check(self, name: str) -> Check:
        """Return the check of this id.

        Raises:
            ClaimError: the claim has no such check; the nearest one is suggested.
        """
        return by_id(self.checks, name, f"claim {self.id}: ", "check")

    def control(self, name: str) -> Control:
        """Return the control of this id.

        Raises:
            ClaimError: the claim has no such control; the nearest one is suggested.
        """
        return by_id(self.controls, name, f"claim {self.id}: ", "control")

    def __repr_args__(self) -> Shown:
        yield from shown(self, "id", "verdict")
        yield "derivation", str(self.derivation.status)
        yield "checks", len(self.checks)
        yield "controls", len(self.controls)

    def _repr_html_(self) -> str:
        """Return title, verdict and the table of checks, which notebooks show."""
        head = f"<p><b>{for_html(self.title)}</b>: {self.verdict}. {for_html(self.reason)}</p>"
        return head + table(_COLUMNS, [_row(check) for check in self.checks])

    @property
    def exact_checks(self) -> int:
        """How many of the checks compare computed values, with nothing drawn."""
        return sum(check.method == "exact" for check in self.checks)

    @property
    def measured_checks(self) -> int:
        """How many of the checks rest on blocks drawn."""
        return len(self.checks) - self.exact_checks

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
    names = "".join(f"<th>{for_html(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{for_html(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def digest_of(record: ClaimRecord) -> str:
    """Return the SHA-256, in hexadecimal, of a claim's record as canonical JSON without its digest."""
    return fingerprint(record, without="digest")


def fingerprint(record: Record, without: str) -> str:
    """Return the SHA-256, in hexadecimal, of a record as canonical JSON ``without`` one of its fields."""
    content = record.model_dump(mode="json", by_alias=True, exclude={without})
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
