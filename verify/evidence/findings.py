"""What a claim's measurement finds: checks, controls, ordinary fits and exact values."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from verify.evidence.records import Record, Shown, shown, table
from verify.evidence.texts import Count, Formula, Named, Positive, Share, Slug, Text, refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self


Setting = Annotated[int, Field(ge=-(2**63), lt=2**63)] | float | Text
Relation = Literal["=", "≤", "≥"]
Band = tuple[float | None, float | None]
Origin = Literal["derived", "computed", "set"]
Method = Literal["monte-carlo", "fit", "exact"]


class Verdict(StrEnum):
    """What the measurement says of a prediction or of a whole claim."""

    CONFIRMED = "confirmed"
    APPROXIMATE = "approximate"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


class Check(Record):
    """One comparison of an estimate with its prediction, which by ``relation`` is its value or a bound.

    ``interval`` is simultaneous at ``level`` over the whole run; ``band`` is the prediction with its
    tolerance, None where a bound leaves a side open; ``tolerance_of`` says in words what the tolerance is
    a fraction of, ``tolerance_because`` why it is wide, if it is, and ``uncontrolled`` why no control goes
    through the same code, if none does. The prediction is ``derived``: a theorem says it of just what is
    measured; or ``computed`` from what is derived; or a threshold ``set`` in advance. ``tightness`` is the
    estimate over a bound, None where the prediction is no bound, a threshold, or 0. ``reason`` says of an
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
    tolerance_because: Text = ""
    uncontrolled: Text = ""
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

    @model_serializer(mode="wrap")
    def _without_what_is_not_said(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out words that are not needed: so the digests of claims without them stay what they were."""
        content: dict[str, Any] = write(self)
        for name in ("tolerance_because", "uncontrolled"):
            if not getattr(self, name):
                content.pop(name, None)
        return content

    def __repr_args__(self) -> Shown:
        return shown(self, "id", "estimate", "interval", "relation", "prediction", "verdict")

    def _repr_html_(self) -> str:
        """Return the check as a table of one row, which notebooks show."""
        return table_of([self])

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

    @property
    def is_near_miss(self) -> bool:
        """Whether it is the claim with one number moved just too far, which nobody states; by its id."""
        return self.id.startswith(("biased-", "bent-")) or self.id.endswith("-sharper")

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        refuse(_misplaced(self))
        return self

    def __repr_args__(self) -> Shown:
        return shown(self, "id", "estimate", "interval", "relation", "prediction", "verdict", "power")


def tightness(relation: Relation, origin: Origin, estimate: float, prediction: float) -> float | None:
    """Return the estimate over its bound, None where the prediction is none, a threshold, or 0."""
    bound = relation != "=" and origin != "set" and prediction != 0
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


_COLUMNS = ("check", "quantity", "predicted", "estimate", "interval", "verdict")


def table_of(checks: Iterable[Check]) -> str:
    """Return the HTML table of some checks, which notebooks show."""
    return table(_COLUMNS, [_row(check) for check in checks])


def _row(check: Check) -> tuple[str, ...]:
    low, high = check.interval
    shown = (f"{check.relation.removeprefix('=')}{check.prediction:.6g}", f"{check.estimate:.6g}")
    return check.id, check.quantity, *shown, f"{low:.6g} to {high:.6g}", check.verdict
