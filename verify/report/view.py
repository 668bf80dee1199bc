"""From a run's record to what the templates print: counts, chapters, corrections, settings."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from verify.evidence import Outcome, Proof, Verdict
from verify.report import numbers
from verify.report.cards import CardView, FigureView, card
from verify.report.latex import Prose, Tex, pieces
from verify.report.words import Badge, badge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.evidence import Part, RunRecord, Source, Statement

PROFILE_TOLERANCES = {"quick": 0.05, "standard": 0.01, "deep": 0.002}
_STORY = "score-variance"


@dataclass(frozen=True, slots=True)
class Tally:
    """How often a verdict occurs."""

    badge: Badge
    count: int


@dataclass(frozen=True, slots=True)
class ChapterView:
    """The claims of a chapter."""

    id: str
    number: int
    title: Prose
    cards: tuple[CardView, ...]


@dataclass(frozen=True, slots=True)
class PartView:
    """One thing a statement says and what decided it."""

    text: Prose
    printed: str
    computed: str
    evidence: str
    badge: Badge
    reason: Prose


@dataclass(frozen=True, slots=True)
class StatementView:
    """A source's statement with its outcome; ``claim`` is the deciding claim's anchor, if it was run."""

    id: str
    source_title: str
    text: Prose
    printed: str
    computed: str
    outcome: Badge
    note: Prose
    claim: str
    parts: tuple[PartView, ...]


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source document and its statements."""

    id: str
    title: str
    byline: str
    tallies: tuple[Tally, ...]
    statements: tuple[StatementView, ...]


@dataclass(frozen=True, slots=True)
class ReportView:
    """The whole report."""

    verdicts: tuple[Tally, ...]
    proofs: tuple[Tally, ...]
    outcomes: tuple[Tally, ...]
    claims: int
    checks: int
    controls: int
    controls_refuted: int
    statements: int
    decided: int
    figure: FigureView | None
    figure_claim: CardView | None
    chapters: tuple[ChapterView, ...]
    sources: tuple[SourceView, ...]
    concerns: tuple[CardView, ...]
    corrections: tuple[StatementView, ...]
    settings: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    budget: dict[str, str]
    seed: str
    profile: str
    version: str
    date: str
    created: str
    year: str
    digest: str
    command: str
    elapsed: str


def view(record: RunRecord) -> ReportView:
    """Return what the report prints about a run."""
    chapters = _chapters(record)
    cards = [one for chapter in chapters for one in chapter.cards]
    sources = _sources(record, {one.id for one in cards})
    figured = next((c for c in cards if c.id == _STORY and c.figures), None) or next(
        (c for c in cards if c.figures), None
    )
    controls = [control for claim in record.claims for control in claim.controls]
    created = creation(record)
    return ReportView(
        verdicts=_tallies(Counter(claim.verdict for claim in record.claims), Verdict),
        proofs=_tallies(Counter(claim.derivation.status for claim in record.claims), Proof),
        outcomes=_tallies(Counter(statement.outcome for statement in record.statements), Outcome),
        claims=len(record.claims),
        checks=sum(len(claim.checks) for claim in record.claims),
        controls=len(controls),
        controls_refuted=sum(control.verdict is Verdict.REFUTED for control in controls),
        statements=len(record.statements),
        decided=sum(statement.outcome is not Outcome.OPEN for statement in record.statements),
        figure=figured.figures[0] if figured else None,
        figure_claim=figured,
        chapters=chapters,
        sources=sources,
        concerns=tuple(c for c in cards if c.verdict.tone != "good" or c.proof.tone == "bad"),
        corrections=_corrections(sources),
        settings=_settings(record),
        environment=tuple(sorted(record.run.environment.items())),
        budget=_budget(record),
        seed=str(record.run.settings.seed),
        profile=record.run.settings.profile,
        version=record.tool.version,
        date=f"{created.day} {created:%B %Y}",
        created=created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        year=str(created.year),
        digest=digest(record),
        command=_command(record),
        elapsed=numbers.seconds(record.run.elapsed_s),
    )


def creation(record: RunRecord) -> datetime:
    """Return when the run was made, in UTC; a time without a zone counts as UTC."""
    created = datetime.fromisoformat(record.run.created)
    return (created if created.tzinfo else created.replace(tzinfo=UTC)).astimezone(UTC)


def digest(record: RunRecord) -> str:
    """Return the SHA-256, in hexadecimal, of the claims' own digests: the same for the same findings."""
    text = "\n".join(f"{claim.id} {claim.digest}" for claim in record.claims)
    return hashlib.sha256(text.encode()).hexdigest()


def formulas(of: Any) -> Iterator[Prose | Tex]:
    """Yield every text of a view that may hold LaTeX."""
    if isinstance(of, (Tex, Prose)):
        if isinstance(of, Tex) or any(piece.is_formula for piece in pieces(of)):
            yield of
    elif isinstance(of, tuple):
        for item in of:
            yield from formulas(item)
    elif dataclasses.is_dataclass(of) and not isinstance(of, type):
        for field in dataclasses.fields(of):
            yield from formulas(getattr(of, field.name))


def _tallies(counts: Counter[Any], kinds: type[Verdict | Proof | Outcome]) -> tuple[Tally, ...]:
    return tuple(Tally(badge(kind), counts[kind]) for kind in kinds if counts[kind])


def _chapters(record: RunRecord) -> tuple[ChapterView, ...]:
    order: dict[str, list[Any]] = {}
    for claim in record.claims:
        order.setdefault(claim.chapter, []).append(claim)
    return tuple(
        ChapterView(
            id=f"chapter-{number}",
            number=number,
            title=Prose(claims[0].chapter_title),
            cards=tuple(card(claim, f"{number}.{place}") for place, claim in enumerate(claims, 1)),
        )
        for number, claims in enumerate(order.values(), 1)
    )


def _sources(record: RunRecord, claims: set[str]) -> tuple[SourceView, ...]:
    sources = {source.id: source for source in record.sources}
    return tuple(
        _source(sources[key], tuple(statements), claims)
        for key, statements in groupby(
            sorted(record.statements, key=lambda statement: list(sources).index(statement.source)),
            key=lambda statement: statement.source,
        )
    )


def _source(source: Source, statements: tuple[Statement, ...], claims: set[str]) -> SourceView:
    return SourceView(
        id=f"source-{source.id}",
        title=source.title,
        byline=", ".join(filter(None, [source.kind, source.author and f"by {source.author}"])),
        tallies=_tallies(Counter(statement.outcome for statement in statements), Outcome),
        statements=tuple(
            StatementView(
                id=statement.id,
                source_title=source.title,
                text=Prose(statement.text),
                printed=statement.printed or "",
                computed=statement.computed or "",
                outcome=badge(statement.outcome),
                note=Prose(statement.note),
                claim=statement.claim if statement.claim in claims and statement.claim else "",
                parts=tuple(_part(part, claims) for part in statement.parts),
            )
            for statement in statements
        ),
    )


def _part(part: Part, claims: set[str]) -> PartView:
    word = {True: Outcome.HOLDS, False: Outcome.WRONG, None: Outcome.OPEN}[part.holds]
    if part.kind == "prints" and part.holds is False:
        word = Outcome.MISPRINTED
    return PartView(
        text=Prose(part.text),
        printed=part.printed or "",
        computed=part.computed or "",
        evidence=part.claim if part.claim in claims else "",
        badge=badge(word),
        reason=Prose(part.reason),
    )


def _corrections(sources: tuple[SourceView, ...]) -> tuple[StatementView, ...]:
    wrong = (badge(Outcome.MISPRINTED), badge(Outcome.WRONG))
    return tuple(s for source in sources for s in source.statements if s.outcome in wrong)


def _settings(record: RunRecord) -> tuple[tuple[str, str], ...]:
    settings = record.run.settings
    phases = ((f"time, {name}", numbers.seconds(spent)) for name, spent in record.run.phases_s.items())
    return (
        ("seed", str(settings.seed)),
        ("profile", settings.profile),
        ("tolerance", f"±{numbers.percent(settings.tolerance)}"),
        ("false alarms, whole run", f"at most {numbers.percent(settings.false_alarm)}"),
        ("power aimed at", numbers.percent(settings.power)),
        ("made", record.run.created),
        ("time, whole run", numbers.seconds(record.run.elapsed_s)),
        *phases,
    )


def _budget(record: RunRecord) -> dict[str, str]:
    budget = record.run.budget
    return {
        "false_alarm": numbers.small(budget.false_alarm),
        "places": numbers.count(budget.places),
        "share": numbers.small(budget.false_alarm / budget.places) if budget.places else "0",
        "checks": numbers.count(budget.checks),
        "controls": numbers.count(budget.controls),
        "spent": numbers.small(budget.spent),
        "rule": budget.rule,
    }


def _command(record: RunRecord) -> str:
    settings, usual = record.run.settings, type(record.run.settings)()
    words = ["sdpa-verify report", f"--seed {settings.seed}", f"--profile {settings.profile}"]
    if settings.tolerance != PROFILE_TOLERANCES[settings.profile]:
        words.append(f"--tolerance {settings.tolerance:g}")
    if settings.false_alarm != usual.false_alarm:
        words.append(f"--false-alarm {settings.false_alarm:g}")
    if settings.power != usual.power:
        words.append(f"--power {settings.power:g}")
    return " ".join(words)
