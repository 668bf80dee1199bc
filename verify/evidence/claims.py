"""What is on record of one claim: derivation, checks, controls, figures, verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from verify.errors import ClaimError
from verify.evidence.judging import Proof, Verdict, ends_of, judge, judge_exact, still_open
from verify.evidence.plots import Figure, plot_figure
from verify.evidence.records import Record, by_id, computed_property, digest_of
from verify.evidence.texts import (
    Address,
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
)
from verify.text import numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Setting = Annotated[int, Field(ge=-(2**63), lt=2**63)] | float | Text
Relation = Literal["=", "≤", "≥"]
Band = tuple[float | None, float | None]
Origin = Literal["derived", "computed", "set"]
Method = Literal["monte-carlo", "fit", "exact"]


class Check(Record):
    """One comparison of an estimate with its prediction, which by ``relation`` is its value or a bound.

    ``interval`` is simultaneous at ``level`` over the whole run; ``band`` is the prediction with its
    tolerance, None where a bound leaves a side open; ``tolerance_of`` says in words what the tolerance is
    a fraction of, and ``tolerance_because`` why it is wide, if it is. The prediction is ``derived`` where a
    chain says it of just what is measured; any other is a threshold, ``computed`` from what is derived or
    ``set`` in advance. ``basis`` names the interval where it is not the usual kind, and ``doubt`` says why it
    cannot be relied on and what would help, if so.

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
    band: Band
    basis: Text = ""
    doubt: Text = ""
    looks: Count
    blocks: Count
    draws: Count

    @computed_property
    def verdict(self) -> Verdict:
        """What its interval, or its computed value, says of the prediction."""
        if self.method == "exact":
            return judge_exact(self.estimate, ends_of(self.band))
        return judge(self.interval, self.prediction, ends_of(self.band), reliable=not self.doubt)

    @computed_property
    def reason(self) -> str:
        """What keeps it open and what would help, else the interval that decided, if of an unusual kind."""
        if self.verdict is not Verdict.UNDECIDED:
            return self.basis
        return self.doubt or still_open(
            self.estimate, self.interval, self.prediction, ends_of(self.band), self.blocks
        )

    @computed_property
    def tightness(self) -> float | None:
        """The estimate over a bound; None where there is none, or it is set in advance or next to 0."""
        if self.relation == "=" or self.origin == "set" or self.prediction == 0:
            return None
        # A prediction that is nearly 0 may make it too large for a number, and JSON has no infinity.
        quotient = self.estimate / self.prediction
        return quotient if math.isfinite(quotient) else None

    @property
    def is_threshold(self) -> bool:
        """Whether no chain says the prediction of what is measured."""
        return self.origin != "derived"

    @property
    def half_width(self) -> float:
        """How far the band reaches from the prediction, in the quantity's units."""
        # A bound leaves a side open; else both ends are equally far.
        return next(abs(end - self.prediction) for end in self.band if end is not None)

    @property
    def deviation(self) -> float:
        """How far the estimate lies from the prediction, in half-widths of the band."""
        # Of two exact values that differ at all, infinitely many.
        distance = abs(self.estimate - self.prediction)
        return distance / self.half_width if self.half_width else math.inf if distance else 0.0


class ControlRecord(Record):
    """A deliberately wrong version of the claim; it is in order only when its verdict is refuted.

    ``power`` is the probability, at the sample size used, that the wrong version is refuted, and ``doubt``
    says why its interval cannot be relied on, if so. Nothing is drawn for a control of computed values.
    """

    id: Slug
    what: Text
    cell: Named[Setting]
    prediction: float
    estimate: float
    interval: tuple[float, float]
    relation: Relation = "="
    band: Band
    doubt: Text = ""
    power: Share
    blocks: Count
    draws: Count

    @computed_property
    def verdict(self) -> Verdict:
        """What its interval, or its computed value, says of the wrong prediction."""
        if not self.blocks:
            return judge_exact(self.estimate, ends_of(self.band))
        return judge(self.interval, self.prediction, ends_of(self.band), reliable=not self.doubt)

    @property
    def is_near_miss(self) -> bool:
        """Whether it is the claim with one number moved just too far, as its id says."""
        # So `verify.spec.experiment` names the controls that it makes of checks.
        return self.id.startswith(("biased-", "bent-")) or self.id.endswith("-sharper")


def claim_verdict(
    proof: Proof, proof_reason: str, checks: Sequence[Check], controls: Sequence[ControlRecord]
) -> tuple[Verdict, str]:
    """Return the verdict of a whole claim and one sentence of reason."""
    if proof is Proof.FAILED or not checks or not controls:
        failed = f"the derivation failed, so nothing was drawn: {proof_reason}"
        unmeasured = "nothing was measured, or no negative control was judged"
        return Verdict.UNDECIDED, failed if proof is Proof.FAILED else unmeasured
    # A refuted check counts whatever else is open. A control that stands goes before open checks: where a
    # wrong version passes, so might the claim.
    of = {verdict: [check for check in checks if check.verdict is verdict] for verdict in Verdict}
    if refuted := of[Verdict.REFUTED]:
        # Such as "by at-d64 (measured 130.0, predicted 64: 2 times as large), and by at-d16". Deviations are
        # in half-widths of their bands, so that checks of different tolerances compare.
        worst, *others = sorted(refuted, key=lambda check: -check.deviation)
        shown = numbers.estimate(worst.estimate, worst.standard_error, worst.interval).alone
        bound = f"{worst.relation} ".removeprefix("= ")
        expected = f"predicted {bound}{numbers.beside(worst.prediction, worst.standard_error)}"
        measured = f"{'computed' if worst.method == 'exact' else 'measured'} {shown}, {expected}"
        apart = ": ".join(filter(None, [measured, numbers.apart(worst.estimate, worst.prediction)]))
        also = f", and by {', '.join(check.id for check in others)}" if others else ""
        return Verdict.REFUTED, f"by {worst.id} ({apart}){also}"
    if standing := ", ".join(control.id for control in controls if control.verdict is not Verdict.REFUTED):
        return Verdict.UNDECIDED, f"negative control not rejected: {standing}"
    if undecided := of[Verdict.UNDECIDED]:
        why = (f"{check.id} ({check.reason})" if check.reason else check.id for check in undecided)
        return Verdict.UNDECIDED, f"undecided at the largest sample: {'; '.join(why)}"
    if near := ", ".join(check.id for check in of[Verdict.APPROXIMATE]):
        return Verdict.APPROXIMATE, f"within tolerance, but the exact value is excluded: {near}"
    return Verdict.CONFIRMED, _success(proof, checks, len(controls))


_GRADES = {Proof.PROVED: "proved", Proof.DERIVED: "derived", Proof.CITING: "derived, citing a theorem"}


def _success(proof: Proof, checks: Sequence[Check], controls: int) -> str:
    """Return such as "derived; 16 measurements and 1 fit agree, 6 wrong versions rejected"."""
    kinds = {"monte-carlo": "measurement", "fit": "fit", "exact": "computed value"}
    many = {name: sum(check.method == method for check in checks) for method, name in kinds.items()}
    *most, last = (numbers.counted(count, name) for name, count in many.items() if count)
    agreeing = f"{', '.join(most)} and {last}" if most else last
    verb, grade = "agrees" if len(checks) == 1 else "agree", _GRADES.get(proof, "")
    # A likely mistake: another quantity is measured than the chain is about.
    if grade and not any(check.origin == "derived" for check in checks if check.method != "fit"):
        grade += ", but no check measures what is derived"
    rejected = f"{agreeing} {verb}, {numbers.counted(controls, 'wrong version')} rejected"
    return f"{grade}; {rejected}" if grade else rejected


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


USER = "user"
"""The chapter of a user's own claims."""
RESERVED = frozenset(["run", "source"])
"""What keys of citations start with that are no claim's."""


class Assumption(Record):
    """One condition under which a claim is made; ``text`` may hold LaTeX between dollar signs."""

    id: Slug
    text: Text


class Reference(Record):
    """Where a formula or method comes from."""

    key: Line
    text: Text
    url: Address | None = None


class LineRecord(Record):
    """One line of a chain: the expression reached, in words how it follows, and how that was checked.

    ``relation`` says how the expression stands to that before it; "⇔" where each follows from the other,
    "~" where these are its first terms. ``cites`` names the published theorems that the line rests on.
    """

    relation: Literal["=", "⇔", "≤", "≥", "<", ">", "~"] = "="
    latex: Formula
    because: Text
    checked: Text
    cites: Many[Text] = ()
    holds: bool


class ChainRecord(Record):
    """What follows line by line from an expression, its ``start``; a claim derived two ways has two chains.

    ``definition`` says in words what the start is, where it is neither the subject nor derived before. Texts
    speak of the chain by its ``name``; a claim's main chain has none. it ``shows`` this as a whole, if all
    its lines hold; ``assumptions`` are all that it assumes.
    """

    name: Text = ""
    title: Text
    definition: Text = ""
    start: Formula
    lines: Many[LineRecord]
    shows: Formula
    assumptions: Many[Text] = ()


class CoqRecord(Record):
    """What Coq proved of a claim: a theorem, its ``statement`` as it was compiled, and what that rests on.

    ``version`` is Coq's, and ``library`` the digest of the definitions and theorems that are shipped for it.
    """

    theorem: Code
    statement: Code
    digest: Digest
    axioms: Many[Code]
    version: Code
    library: Digest


class DerivationRecord(Record):
    """The symbolic side of a claim; ``result`` is what the main chain ends with, as plain text.

    ``coq`` is what is recorded of its proof in Coq; where that is of another statement, it is ``stale``, and
    the claim is not proved by it.
    """

    status: Proof
    chains: Many[ChainRecord]
    result: Code = ""
    reason: Text
    coq: CoqRecord | None = None
    stale: bool = False

    @property
    def main(self) -> ChainRecord | None:
        """The chain of what the claim says, None where nothing is derived for that."""
        if self.status is Proof.MEASURED:
            return None
        # Other chains have names; a chain that is alone is the main one, whatever it is called.
        return next((chain for chain in self.chains if not chain.name or len(self.chains) == 1), None)

    def grade(self, chain: ChainRecord) -> Proof:
        """Return how sure a chain is; proved where it shows and assumes what the main chain does."""
        if self.status is not Proof.PROVED or self.main is None:
            return self.status
        # Coq proved the main statement alone; another way to the very same statement is proved with it.
        if (chain.shows, chain.assumptions) == (self.main.shows, self.main.assumptions):
            return Proof.PROVED
        cites = any(line.cites for other in self.chains for line in other.lines)
        return Proof.CITING if cites else Proof.DERIVED

    @property
    def latex(self) -> str:
        """What the main chain states, empty where there is none."""
        return self.main.shows if self.main else ""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """All that the main chain assumes."""
        return self.main.assumptions if self.main else ()


class ClaimRecord(Record):
    """All evidence for one claim; ``digest`` covers everything else in it that is not computed from the rest.

    ``headline`` is the id of the check of what the title speaks of, empty where the claim names none.
    """

    in_short: ClassVar[tuple[str, ...]] = ("id", "verdict", "reason")

    id: Slug
    chapter: Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,100}$")]
    chapter_title: Text
    title: Text
    statement: Text
    meaning: Text
    assumptions: Many[Assumption]
    references: Many[Reference]
    derivation: DerivationRecord
    checks: Many[Check]
    controls: Many[ControlRecord]
    fits: Many[OrdinaryFit] = ()
    facts: Many[Fact] = ()
    series: Many[Figure] = ()
    authors: Many[Text] = ()
    headline: Slug | Literal[""] = ""
    digest: Digest = ""

    @computed_property
    def verdict(self) -> Verdict:
        """What derivation, checks and controls come to."""
        return claim_verdict(self.derivation.status, self.derivation.reason, self.checks, self.controls)[0]

    @computed_property
    def reason(self) -> str:
        """Why, in one sentence."""
        return claim_verdict(self.derivation.status, self.derivation.reason, self.checks, self.controls)[1]

    def check(self, name: str) -> Check:
        """Return the check of this id, or raise a ClaimError that suggests the nearest."""
        return by_id(self.checks, name, f"claim {self.id}: ", "check")

    def control(self, name: str) -> ControlRecord:
        """Return the control of this id, or raise a ClaimError that suggests the nearest."""
        return by_id(self.controls, name, f"claim {self.id}: ", "control")

    def plot(self, figure: str = "", ax: Axes | None = None) -> Axes:
        """Return matplotlib's axes, new axes if none are given, with a figure of the claim.

        ``figure`` is the id of one of its ``series``, the first by default. Where there is none of this id,
        the ClaimError suggests the nearest.
        """
        if not self.series:
            raise ClaimError(f"claim {self.id}: has no figures")
        chosen = figure or self.series[0].id
        return plot_figure(by_id(self.series, chosen, f"claim {self.id}: ", "figure"), ax)

    @property
    def exact_checks(self) -> int:
        """How many of the checks compare computed values, with nothing drawn."""
        return sum(check.method == "exact" for check in self.checks)

    @property
    def measured_checks(self) -> int:
        """How many of the checks rest on blocks drawn."""
        return len(self.checks) - self.exact_checks

    def sealed(self) -> ClaimRecord:
        """Return this record with its digest set."""
        return self.model_copy(update={"digest": digest_of(self)})
