"""The records of a run and their JSON form, ``results.json``; other people's programs read it."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Setting = int | float | str
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
    """What the symbolic side says of a claim."""

    PROVED = "proved"
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

    ``relation`` is "=" where the expression equals the one before it, and "⇒" where it follows from it.
    """

    relation: Literal["=", "⇒"] = "="
    latex: str
    plain: str
    rule: str
    checked_by: str
    holds: bool


class Route(Record):
    """One chain of steps from its start; a claim derived two ways has two."""

    title: str
    start_latex: str
    start_plain: str
    steps: tuple[Step, ...]


class DerivationRecord(Record):
    """The symbolic side of a claim; ``result`` is the derived expression as plain text, ``latex`` printed."""

    status: Proof
    subject: str
    result: str
    latex: str
    routes: tuple[Route, ...]
    agreement: str
    reason: str


class Check(Record):
    """One comparison of an estimate with its prediction.

    ``interval`` is simultaneous at ``level`` over the whole run; ``band`` is the prediction with its
    tolerance; ``tolerance_of`` says in words what the tolerance is a fraction of. An ``exact`` check
    compares two exact values and has no blocks.
    """

    id: str = Slug
    quantity: str
    method: Method
    cell: dict[str, Setting]
    prediction: float
    prediction_latex: str
    estimate: float
    standard_error: float
    interval: tuple[float, float]
    level: float
    tolerance: float
    tolerance_of: str
    band: tuple[float, float]
    verdict: Verdict
    looks: int
    blocks: int
    draws: int


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
    band: tuple[float, float]
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

    def sealed(self) -> ClaimRecord:
        """Return this record with its digest set: SHA-256 of its content as canonical JSON."""
        return self.model_copy(update={"digest": digest_of(self)})


class Part(Record):
    """One thing that a statement says, decided by one piece of evidence; ``holds`` is None while open."""

    text: str
    claim: str
    evidence: str
    kind: Literal["says", "prints"]
    printed: str | None
    computed: str | None
    holds: bool | None
    reason: str


class Source(Record):
    """A document that states what is commonly believed."""

    id: str = Slug
    title: str
    kind: str
    author: str | None = None


class Statement(Record):
    """Something a source says, with the outcome that the run computed."""

    id: str = Slug
    source: str
    text: str
    claim: str | None
    printed: str | None
    computed: str | None
    outcome: Outcome
    note: str
    parts: tuple[Part, ...]


class Counted(Record):
    """One row of the calibration: events counted in independent repetitions.

    ``allowed`` is the probability that the design allows (``at_least`` False) or promises (True); ``low``
    and ``high`` are the exact two-sided bounds of the events' probability. ``setting`` and ``level`` say
    of which cell and at which false-exclusion rate, where rows form a table.
    """

    what: str
    setting: str = ""
    level: float | None = None
    trials: int
    events: int
    allowed: float
    at_least: bool = False
    low: float
    high: float

    @property
    def in_order(self) -> bool:
        """Whether what was counted is compatible with what the design allows or promises."""
        return self.high >= self.allowed if self.at_least else self.low <= self.allowed


class Calibration(Record):
    """How the judge itself fared: the table of the calibration study, with what made it."""

    seed: int
    command: str
    version: str
    confidence: float
    rows: tuple[Counted, ...]


class Tool(Record):
    """What made the results."""

    name: str = "sdpa-verify"
    version: str


PROFILES = {"quick": 0.05, "standard": 0.01, "deep": 0.002}
"""The relative tolerance that each profile stands for."""


class Settings(Record):
    """The settings that results depend on, besides the claims themselves."""

    seed: int = 20170612
    profile: Literal["quick", "standard", "deep"] = "standard"
    tolerance: float = 0.01
    false_alarm: float = 1e-3
    power: float = 0.95


class Budget(Record):
    """How the false-alarm rate of the whole run is shared out.

    ``places`` equal shares exist whatever claims run; ``checks`` of them are used, so the run's own
    bound is ``spent``, at most ``false_alarm``.
    """

    false_alarm: float
    places: int
    checks: int
    controls: int
    spent: float
    rule: str


class Run(Record):
    """The run: its settings, its error budget, and where and when it was made.

    ``claims`` are the ids asked for; none means all of the catalogue. ``claim_files`` counts the claim
    files of the user's own.
    """

    settings: Settings
    claims: tuple[str, ...] = ()
    claim_files: int = 0
    budget: Budget
    environment: dict[str, str]
    created: str
    elapsed_s: float
    phases_s: dict[str, float]


class RunRecord(Record):
    """Everything a run found; what ``results.json`` holds.

    ``schema`` is the version of the JSON form, raised when a reader of the old form would go wrong.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    tool: Tool
    run: Run
    claims: tuple[ClaimRecord, ...]
    sources: tuple[Source, ...]
    statements: tuple[Statement, ...]
    calibration: Calibration | None = None

    def to_json(self) -> str:
        """Return the JSON text of this record, ending with a newline."""
        return self.model_dump_json(by_alias=True, indent=1) + "\n"

    def exit_status(self) -> int:
        """Return 1 if anything is refuted or a derivation failed, else 3 if undecided, else 0."""
        if any(c.verdict is Verdict.REFUTED or c.derivation.status is Proof.FAILED for c in self.claims):
            return 1
        return 3 if any(c.verdict is Verdict.UNDECIDED for c in self.claims) else 0


def digest_of(record: ClaimRecord) -> str:
    """Return the SHA-256, in hexadecimal, of a claim's record as canonical JSON without its digest."""
    content = record.model_dump(mode="json", exclude={"digest"})
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
