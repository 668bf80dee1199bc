"""What the sources state, as printed: decided statements with their parts, open ones in short."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from verify.evidence import Outcome, Part, Source, Statement
from verify.evidence.words import badge, tallies
from verify.report.views import OpenView, PartView, SourceView, StatementView
from verify.text.latex import Prose

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from verify.evidence import RunRecord


def sources(record: RunRecord) -> tuple[SourceView, ...]:
    """Return the sources of a record's statements, in the record's order."""
    known = {source.id: source for source in record.sources}
    order = list(known)
    anchors = set(_anchors(record))
    return tuple(
        _source(known[key], tuple(statements), anchors)
        for key, statements in groupby(
            sorted(record.statements, key=lambda statement: order.index(statement.source)),
            key=lambda statement: statement.source,
        )
    )


def corrections(sources: tuple[SourceView, ...]) -> tuple[StatementView, ...]:
    """Return the statements that did not simply hold, the most serious first."""
    kinds = [badge(kind) for kind in (Outcome.WRONG, Outcome.MISPRINTED, Outcome.WITH_CONDITIONS)]
    found = [one for source in sources for one in source.statements if one.outcome in kinds]
    return tuple(sorted(found, key=lambda one: kinds.index(one.outcome)))


def deciding(record: RunRecord, claim: str) -> Iterator[str]:
    """Yield the anchors of the documents with a statement that a claim helps to decide, each once."""
    for source in record.sources:
        stated = (one for one in record.statements if one.source == source.id)
        if any(claim in {one.claim, *(part.claim for part in one.parts)} for one in stated):
            yield _anchor(source)


def _anchor(source: Source) -> str:
    return f"source-{source.id}"


def _anchors(record: RunRecord) -> Iterator[str]:
    for claim in record.claims:
        yield claim.id
        groups = (claim.checks, claim.controls, claim.facts)
        yield from (f"{claim.id}.{evidence.id}" for group in groups for evidence in group)


def _source(source: Source, statements: tuple[Statement, ...], anchors: AbstractSet[str]) -> SourceView:
    return SourceView(
        id=_anchor(source),
        title=source.title,
        byline=_byline(source),
        tallies=tallies(Counter(statement.outcome for statement in statements), Outcome),
        statements=tuple(_statement(one, anchors) for one in statements if one.outcome is not Outcome.OPEN),
        open=tuple(_open(one) for one in statements if one.outcome is Outcome.OPEN),
    )


def _byline(source: Source) -> str:
    """Return kind, author, date and address of a document; what is missing is named as missing."""
    author = f"by {source.author}" if source.author else "no author given"
    return ", ".join(filter(None, [source.kind, author, source.date or "no date given", source.url]))


def _statement(statement: Statement, anchors: AbstractSet[str]) -> StatementView:
    return StatementView(
        id=statement.id,
        text=Prose(statement.text),
        printed=statement.printed or "",
        computed=statement.computed or "",
        outcome=badge(statement.outcome),
        note=Prose(statement.note),
        parts=tuple(_part(part, anchors) for part in statement.parts),
    )


def _open(statement: Statement) -> OpenView:
    waiting = [part.claim for part in statement.parts if part.holds is None]
    if not waiting and statement.claim:
        waiting = [statement.claim]
    return OpenView(statement.id, Prose(statement.text), tuple(dict.fromkeys(waiting)))


def _part(part: Part, anchors: AbstractSet[str]) -> PartView:
    word = {True: Outcome.HOLDS, False: Outcome.WRONG, None: Outcome.OPEN}[part.holds]
    if part.kind == "prints" and part.holds is False:
        word = Outcome.MISPRINTED
    _, _, evidence = part.evidence.partition(":")
    name = ".".join(filter(None, [part.claim, evidence]))
    return PartView(
        text=Prose(part.text),
        printed=part.printed or "",
        computed=part.computed or "",
        badge=badge(word),
        # Where a part simply holds, the evidence it links to is enough.
        reason=Prose("" if part.holds else part.reason),
        link=next((anchor for anchor in (name, part.claim) if anchor in anchors), ""),
        name=name,
    )
