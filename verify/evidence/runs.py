"""What is on record of a whole run: claims, statements, settings and budget; and of the judge itself."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from verify import defaults
from verify.evidence.claims import USER, ClaimRecord
from verify.evidence.judging import PLACES, RULE, Outcome, Proof, Verdict
from verify.evidence.records import Record, Sealed, by_id, computed_property
from verify.evidence.texts import (
    SLUG,
    Address,
    Count,
    Digest,
    Line,
    Many,
    Moment,
    Named,
    Positive,
    Rate,
    Seed,
    Share,
    Slug,
    Text,
    Version,
)


class Counted(Record):
    """One row of the calibration: events counted in independent repetitions.

    ``allowed`` is the probability that the design allows (``at_least`` False) or promises (True); ``low``
    and ``high`` are the exact two-sided bounds of the events' probability. ``setting`` and ``level`` say
    of which cell and at which false-exclusion rate, where rows form a table.
    """

    what: Text
    setting: Text = ""
    level: Share | None = None
    trials: Annotated[int, Field(gt=0, le=2**63 - 1)]
    events: Count
    allowed: Share
    at_least: bool = False
    low: Share
    high: Share

    @property
    def in_order(self) -> bool:
        """Whether what was counted is compatible with what the design allows or promises."""
        # It is not in order only where even the bound on the design's side is beyond what that allows.
        return self.high >= self.allowed if self.at_least else self.low <= self.allowed


class Calibration(Record):
    """How the judge itself fared: the table of the calibration study, with what made it.

    ``together`` adds up all cells of the same event and level.
    """

    seed: Seed
    command: Line
    version: Version
    confidence: Share
    rows: Many[Counted]
    together: Many[Counted] = ()


class FalseKind(Record):
    """The false claims of one kind: ``of`` how many, how many are ``caught``, and ``by`` what how many.

    Beside each is the nearest true claim; ``neighbours`` counts those that are derived and confirmed.
    ``uncaught`` says of each that is not caught, by its name, why.
    """

    kind: Slug
    of: Count
    caught: Count
    by: Named[Count]
    neighbours: Count
    uncaught: Named[Text] = Field(default_factory=dict)


class FalseClaims(Record):
    """How claims fared that are false: the table of the campaign, with what made it."""

    command: Line
    version: Version
    kinds: Many[FalseKind]


class Part(Record):
    """One thing that a statement says, decided by one piece of evidence; ``holds`` is None while open.

    ``exactly`` is false where it holds within the tolerance only, and the source says more than that.
    """

    text: Text
    claim: Slug
    evidence: Annotated[str, Field(pattern=rf"^(verdict|computed|(check|control|fact):{SLUG[1:-1]})$")]
    kind: Literal["says", "prints"]
    printed: Text | None
    computed: Text | None
    holds: bool | None
    exactly: bool = True
    reason: Text


class SourceRecord(Record):
    """A document that states what is commonly believed.

    ``author``, ``date`` and ``url`` are None where the document, as it reached us, does not say.
    """

    id: Slug
    title: Text
    kind: Text
    author: Text | None = None
    date: Text | None = None
    url: Address | None = None


class Statement(Record):
    """Something a source says, with the outcome that its parts come to.

    ``noted`` is the outcome that its note was written for: the known outcome, which a run may contradict.
    """

    id: Slug
    source: Slug
    text: Text
    claim: Slug | None
    noted: Outcome | None = None
    note: Text
    parts: Many[Part]

    @computed_property
    def outcome(self) -> Outcome:
        """What its parts come to."""
        if any(part.holds is None for part in self.parts):
            return Outcome.OPEN
        # A false figure on the page is a misprint, whatever is said around it.
        if any(part.kind == "prints" and not part.holds for part in self.parts):
            return Outcome.MISPRINTED
        said = [part for part in self.parts if part.kind == "says"]
        # A figure that is false is so under any condition.
        if any(part.printed is not None and not part.holds for part in said) or (
            said and not any(part.holds for part in said)
        ):
            return Outcome.WRONG
        exactly = all(part.exactly for part in self.parts)
        return Outcome.HOLDS if all(part.holds for part in said) and exactly else Outcome.WITH_CONDITIONS

    @property
    def printed(self) -> str | None:
        """The figures that it prints, None if there are none."""
        return ", ".join(part.printed for part in self.parts if part.printed is not None) or None

    @property
    def computed(self) -> str | None:
        """What is computed of the figures that it prints, None while any of it is not known."""
        figures = [part.computed for part in self.parts if part.printed is not None]
        return ", ".join(filter(None, figures)) if all(figures) and figures else None


class Tool(Record):
    """What made the results."""

    name: Slug = "sdpa-verify"
    version: Version


class Settings(Record):
    """The settings that results depend on, besides the claims themselves."""

    seed: Seed = defaults.SEED
    profile: Literal["quick", "standard", "deep"] = defaults.PROFILE
    tolerance: Rate = defaults.PROFILES[defaults.PROFILE]
    false_alarm: Rate = defaults.FALSE_ALARM
    power: Rate = defaults.POWER


class Budget(Record):
    """How the false-alarm rate of a whole run is shared out.

    ``places`` equal shares exist whatever claims run; each measured check uses up one of them.
    """

    false_alarm: Share
    places: Count
    rule: Text


class Presentation(Record):
    """What a report is called, what it asks and who signs it; None where its own default serves."""

    title: Text | None = None
    question: Text | None = None
    author: Line | None = None


class Run(Record):
    """The run: its settings, its error budget, and where and when it was made.

    ``claims`` are the ids asked for; none means all of the catalogue, or all that decide a statement of the
    sources that were asked for. ``own_sources`` says that the statements are the user's own, and ``pack`` is
    the name of a pack that ships. ``spent_s`` are the seconds of each claim's derivation and
    simulation, which overlap where there are several workers, and are 0 where the cache had it. ``numbers``
    are those of the claims in the catalogue, by id, where not all of them ran.
    """

    settings: Settings
    claims: Many[Slug] = ()
    own_sources: bool = False
    pack: Slug | None = None
    environment: Named[Line]
    created: Moment
    elapsed_s: Positive
    phases_s: Named[Positive]
    spent_s: Named[Named[Positive]] = Field(default_factory=dict)
    numbers: Named[Line] = Field(default_factory=dict)
    presentation: Presentation = Field(default_factory=Presentation)

    @computed_property
    def budget(self) -> Budget:
        """How its false-alarm rate is shared out."""
        return Budget(false_alarm=self.settings.false_alarm, places=PLACES, rule=RULE)


class RunRecord(Sealed):
    """All results of a run; what ``results.json`` holds.

    ``schema`` is the version of the JSON form, raised when a reader of the old form would go wrong.
    ``seal`` is a digest of all the rest, so that a change by hand does not pass for a result.
    """

    schema_version: Literal[6] = Field(default=6, alias="schema")
    tool: Tool
    run: Run
    claims: Many[ClaimRecord]
    sources: Many[SourceRecord]
    statements: Many[Statement]
    calibration: Calibration | None = None
    false_claims: FalseClaims | None = None
    seal: Digest = ""

    @computed_property
    def spent(self) -> float:
        """The part of its false-alarm rate that the run's measured checks use up."""
        return self.run.settings.false_alarm * self.measured_checks / PLACES

    def claim(self, name: str) -> ClaimRecord:
        """Return the record of the claim of this id, or raise a ClaimError that suggests the nearest."""
        return by_id(self.claims, name, "this run: ", "claim")

    @property
    def own_claims(self) -> int:
        """How many claims are the user's own, each of which takes a file to run it from the command line."""
        return sum(claim.chapter == USER for claim in self.claims)

    @property
    def measured_checks(self) -> int:
        """How many checks rest on blocks drawn."""
        return sum(claim.measured_checks for claim in self.claims)

    @property
    def exact_checks(self) -> int:
        """How many checks compare computed values, with nothing drawn."""
        return sum(claim.exact_checks for claim in self.claims)

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        yield "claims", len(self.claims)
        yield from Counter(str(claim.verdict) for claim in self.claims).items()
        yield from (("profile", self.run.settings.profile), ("seed", self.run.settings.seed))

    def __str__(self) -> str:
        """Return one line a claim: its id, verdict and reason."""
        return "\n".join(f"{claim.id}: {claim.verdict} ({claim.reason})" for claim in self.claims)

    def fails(self, statement: Statement) -> bool:
        """Return whether a statement is misprinted or wrong, and not one that ships and is known to be."""
        is_known = statement.outcome is statement.noted and not self.run.own_sources
        return statement.outcome in {Outcome.MISPRINTED, Outcome.WRONG} and not is_known

    @property
    def exit_status(self) -> int:
        """1 if anything is refuted or a derivation failed, else 3 if undecided, else 0.

        A statement of the user's own that is misprinted or wrong counts as refuted.
        """
        verdicts = {claim.verdict for claim in self.claims}
        # Nothing was drawn for a claim whose derivation failed, so its verdict is undecided only.
        failed = any(claim.derivation.status is Proof.FAILED for claim in self.claims)
        if failed or Verdict.REFUTED in verdicts or any(map(self.fails, self.statements)):
            return 1
        return 3 if Verdict.UNDECIDED in verdicts else 0
