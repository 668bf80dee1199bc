"""What is on record of one claim: derivation, checks, controls, figures, verdict."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from pydantic import model_validator

from verify.evidence.figures import Figure
from verify.evidence.findings import Check, Control, Fact, OrdinaryFit, Verdict, table_of
from verify.evidence.records import Record, Shown, by_id, fingerprint, shown
from verify.evidence.texts import (
    Address,
    Chapter,
    Code,
    Digest,
    Formula,
    Line,
    Many,
    Slug,
    Text,
    refuse,
    refuse_repeated,
)
from verify.text.escapes import for_html

if TYPE_CHECKING:
    from typing import Self


Reach = Literal["all-values", "these-values", "reviewed", "numerically"]
RESERVED = frozenset(["run", "source"])
"""What keys of citations start with that are no claim's."""


class Proof(StrEnum):
    """What the symbolic side says of a claim.

    Proved: the kernel's rules make a theorem of every chain, for all values of its hypotheses; of nothing
    else is it said without more that it is derived. Reviewed: some step stands on a rule of its author's,
    which somebody has read. At examples: some step holds at given values or numerically only. In part: the
    statement says more than was derived, and the record says what. Failed: some step does not hold; then
    nothing was drawn, and the record has no checks.
    """

    PROVED = "proved"
    REVIEWED = "reviewed"
    AT_EXAMPLES = "checked-at-examples"
    IN_PART = "in-part"
    FAILED = "failed"
    NOT_CLAIMED = "not-claimed"


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
    """One step of a derivation: the expression reached, in words how it follows, the kernel's rule for that.

    ``relation`` says how the expression stands to the one before it; "⇒" where a whole theorem was turned
    into another, "⇔" where each follows from the other, "~" where these are its first terms.
    ``reach`` says how far the step holds.
    """

    relation: Literal["=", "⇒", "⇔", "≤", "≥", "<", ">", "~"] = "="
    latex: Formula
    plain: Code
    rule: Text
    checked_by: Text
    reach: Reach = "all-values"
    holds: bool


class Route(Record):
    """One chain of steps from its start; a claim derived two ways has two.

    ``definition`` says in words what the start is, where it is neither the subject nor derived before. Texts
    speak of the chain by its ``name``. ``theorem`` is what it proves as a whole, ``subject`` and ``result``
    its sides, ``assumptions`` all that it assumes; they are empty where a step does not hold.
    """

    title: Text
    start_latex: Formula
    start_plain: Code
    definition: Text = ""
    steps: Many[Step]
    name: Text = ""
    theorem: Formula = ""
    subject: Formula = ""
    result: Formula = ""
    assumptions: Many[Text] = ()


class DerivationRecord(Record):
    """The symbolic side of a claim; ``result`` is the derived expression as plain text, ``latex`` printed.

    ``assumptions`` are the hypotheses of the main theorem, all of them. ``beyond`` says what of the statement
    is not derived, and what it rests on instead. ``bound`` are the checks whose predictions some theorem says
    of just what they measure, as was seen on the draws of their own statistics.
    """

    status: Proof
    subject: Formula
    result: Code
    latex: Formula
    routes: Many[Route]
    agreement: Text
    reason: Text
    beyond: Text = ""
    assumptions: Many[Text] = ()
    bound: Many[Slug] = ()


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
        return head + table_of(self.checks)

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


def digest_of(record: ClaimRecord) -> str:
    """Return the SHA-256, in hexadecimal, of a claim's record as canonical JSON without its digest."""
    return fingerprint(record, without="digest")
