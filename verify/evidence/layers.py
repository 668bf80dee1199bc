"""What is on record of an audited layer: its shape, its intended scale, and the findings on its heads."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from verify.evidence.findings import Band
from verify.evidence.records import Record, Shown, by_id
from verify.evidence.texts import (
    Code,
    Count,
    Formula,
    Line,
    Many,
    Positive,
    Share,
    Slug,
    Text,
    refuse,
    refuse_repeated,
)

if TYPE_CHECKING:
    from typing import Self

Origin = Literal["given", "recorded", "configuration", "default"]
"""Where the intended scale comes from: the user, the recording, the model's configuration, or 1/√d_k."""


Heads = Annotated[int, Field(ge=0, le=10_000)]
"""A number of heads; maps have a cell for each, so there is an end to them."""

RESERVED = frozenset(["audit"])
"""What keys of citations start with that are no layer's."""


class Judgement(StrEnum):
    """What an audit says of a finding.

    Reported: nothing was asked of it. Warned: near a limit, which does not fail the audit.
    """

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    WARNED = "warned"
    REPORTED = "reported"


class Reference(Record):
    """What the catalogue derives for the same quantity at unit variance, and which claim derives it."""

    value: float
    claim: Slug


class Finding(Record):
    """One thing found of a head, or where ``head`` is None of all heads of a layer together.

    ``claim`` is the claim of the catalogue in which the formula of ``quantity`` is derived.
    ``estimate`` is None where there is nothing to estimate, and then so are error and interval; an exact
    finding has an interval only where rounding leaves one. ``interval`` is simultaneous at ``level`` over the
    whole audit; an open end is None. ``band`` is what the finding is held against, None where it is only
    reported. ``decides`` says whether it counts for the exit status. ``cause`` names what would explain a
    refuted finding and ``fix`` what to change, both empty where nothing is known. ``sequences`` is the number
    of independent blocks; ``rows_left_out`` counts rows that were not used, and ``reason`` says why.
    """

    id: Slug
    kind: Slug
    head: Count | None
    quantity: Text
    claim: Slug | None = None
    estimate: float | None
    standard_error: Positive | None = None
    interval: Annotated[tuple[float | None, float | None], Field()] = (None, None)
    level: Share = 1.0
    exact: bool
    band: Band | None = None
    reference: Reference | None = None
    judgement: Judgement
    decides: bool
    reason: Text = ""
    cause: Text = ""
    fix: Text = ""
    sequences: Count
    sequences_needed: Count | None = None
    rows_left_out: Count = 0

    @property
    def needed_bound(self) -> str:
        """How ``sequences_needed`` is meant: "about" so many, "at least" where there is no interval yet."""
        return "at least" if self.interval == (None, None) else "about"

    @property
    def name(self) -> str:
        """The id without the head: what the same finding on other heads shares with it."""
        return self.id if self.head is None else self.id.removesuffix(f"-head-{self.head}")

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        low, high = self.interval
        lowest, highest = self.band or (None, None)
        refuse(
            [
                (lowest is not None and highest is not None and lowest > highest, "its band is upside down"),
                (self.decides and self.judgement is Judgement.REPORTED, "it decides, but is only reported"),
            ]
        )
        if self.estimate is None:
            refuse(
                [
                    (low is not None or high is not None, "it has an interval but no estimate"),
                    (self.standard_error is not None, "it has a standard error but no estimate"),
                ]
            )
            return self
        refuse(
            [
                (low is not None and low > self.estimate, "its estimate lies below its interval"),
                (high is not None and high < self.estimate, "its estimate lies above its interval"),
            ]
        )
        return self

    def __repr_args__(self) -> Shown:
        yield from (("id", self.id), ("estimate", self.estimate), ("interval", self.interval))
        yield "judgement", str(self.judgement)


class Intention(Record):
    """The scale that was intended: the expression in d, h, D and n, its value, and who said so."""

    expression: Code
    latex: Formula
    value: float
    origin: Origin
    where: Text = ""


class LayerRecord(Record):
    """One layer of the recording: what was seen of it, what was intended, and what was found.

    ``tokens`` are the fewest and most that a sequence has; ``key_heads`` differs from ``heads`` where queries
    share keys.
    """

    id: Slug
    name: Line
    heads: Heads
    key_heads: Heads
    d_k: Count
    d_v: Count | None
    sequences: Count
    tokens: tuple[Count, Count]
    dtype: Line
    backend: Line = ""
    intention: Intention
    findings: Many[Finding]
    notes: Many[Text] = ()

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        heads = {one.head for one in self.findings if one.head is not None}
        refuse(
            [
                (self.id in RESERVED, f"{self.id} means something else in keys; choose another id"),
                (self.tokens[0] > self.tokens[1], "its fewest tokens are more than its most"),
                (
                    max(heads, default=-1) >= self.heads,
                    f"it has {self.heads} heads, and a finding on another",
                ),
            ]
        )
        refuse_repeated((one.id for one in self.findings), "findings")
        return self

    def finding(self, name: str) -> Finding:
        """Return the finding of this id.

        Raises:
            ClaimError: the layer has no such finding; the nearest one is suggested.
        """
        return by_id(self.findings, name, f"layer {self.id}: ", "finding")
