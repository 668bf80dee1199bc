"""What is on record of an audit: the findings on the layers and heads of somebody's own attention."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from verify.evidence.causes import lines
from verify.evidence.findings import Band
from verify.evidence.layers import (
    RESERVED,
    Finding,
    Heads,
    Intention,
    Judgement,
    LayerRecord,
    Origin,
    Reference,
)
from verify.evidence.records import Record, Sealed, Shown, by_id
from verify.evidence.runs import Tool
from verify.evidence.texts import (
    Code,
    Count,
    Digest,
    Line,
    Many,
    Moment,
    Named,
    Positive,
    Rate,
    Text,
    refuse_repeated,
)

if TYPE_CHECKING:
    from typing import Self

__all__ = [
    "RESERVED",
    "AuditBudget",
    "AuditRecord",
    "AuditSettings",
    "Finding",
    "Heads",
    "Intention",
    "Judgement",
    "LayerRecord",
    "Origin",
    "Reference",
]


class AuditBudget(Record):
    """How the false-alarm rate of the audit is shared out, fixed before the data are seen."""

    false_alarm: Rate
    places: Count
    rule: Text


class AuditSettings(Record):
    """What was asked of the audit: gates by the kind of finding, and the options that results depend on."""

    false_alarm: Rate
    intended: Code | None = None
    gates: Named[Band] = Field(default_factory=dict)


class AuditRecord(Sealed):
    """Everything that an audit found; what ``audit.json`` holds.

    ``left_out`` says what of the program could not be seen, or was not looked at, and why. ``seal`` is a
    digest of all the rest, so that a change by hand does not pass for a result.
    """

    schema_version: Literal[1] = Field(default=1, alias="audit_schema")
    tool: Tool
    settings: AuditSettings
    budget: AuditBudget
    source: Line
    layers: Many[LayerRecord]
    left_out: Many[Text] = ()
    environment: Named[Line]
    created: Moment
    elapsed_s: Positive
    seal: Digest = ""

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        refuse_repeated((layer.id for layer in self.layers), "layers")
        return self

    def layer(self, name: str) -> LayerRecord:
        """Return the record of the layer of this id.

        Raises:
            ClaimError: the audit has no such layer; the nearest one is suggested.
        """
        return by_id(self.layers, name, "this audit: ", "layer")

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, layer by layer."""
        return tuple(one for layer in self.layers for one in layer.findings)

    def exit_status(self) -> int:
        """Return 1 if a finding that decides is refuted, else 3 if one is undecided, else 0."""
        deciding = {one.judgement for one in self.findings if one.decides}
        if Judgement.REFUTED in deciding:
            return 1
        return 3 if Judgement.UNDECIDED in deciding else 0

    def __repr_args__(self) -> Shown:
        yield "layers", len(self.layers)
        counts = Counter(str(one.judgement) for one in self.findings)
        yield from ((str(one), counts[one]) for one in Judgement if counts[one])

    def __str__(self) -> str:
        """Return one line a cause of what is wrong, undecided or near a limit, and at last the counts."""
        return "\n".join(lines(self.layers, self.left_out))
