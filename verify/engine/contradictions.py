"""What contradicts itself in a file of sources: between its keys, and between its texts and their numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verify.engine import computations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from verify.engine.entries import PartEntry, StatementEntry
    from verify.engine.origin import Place
    from verify.evidence import Source

# An exponent and an index are a part of their formula.
_NUMBER = re.compile(r"(?<![A-Za-z_0-9.^])(?<![\^_]\{)\d+(?:\.\d+)?")
_ANY_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_BIND = "correct it, compute it, or list it under given"


def numbers_without(text: str, others: Iterable[str]) -> list[str]:
    """Return the numbers of a text that none of the others has; 0 and 1 are limits, and bound by none."""
    known = {"0", "1", *(found for other in others for found in _ANY_NUMBER.findall(other))}
    return [found for found in dict.fromkeys(_NUMBER.findall(text)) if found not in known]


def contradictions(
    documents: Sequence[Source], statements: Sequence[StatementEntry]
) -> Iterator[tuple[Place, str]]:
    """Yield what is wrong between keys, which the types of the single keys cannot show."""
    sources = [source.id for source in documents]
    yield from _repeats("source", sources)
    yield from _repeats("statement", [entry.id for entry in statements])
    for i, entry in enumerate(statements):
        if entry.source not in sources:
            yield ("statement", i, "source"), f"is none of the sources {', '.join(sources)}; name one of them"
        for key, remedy in _statement_contradictions(entry):
            yield ("statement", i, key), remedy
        for j, part in enumerate(entry.parts):
            if part.compute is not None and numbers_without(part.printed or "", (entry.text, part.text)):
                remedy = "stands nowhere in the text; correct one of them"
                yield ("statement", i, "part", j, "printed"), remedy
            for key, remedy in _part_contradictions(part):
                yield ("statement", i, "part", j, key), remedy


def _repeats(table: str, ids: list[str]) -> Iterator[tuple[Place, str]]:
    for i, name in enumerate(ids):
        if name in ids[:i]:
            yield (table, i, "id"), f"is the id of an earlier {table}, too; give each its own"


def _statement_contradictions(entry: StatementEntry) -> Iterator[tuple[str, str]]:
    if entry.claim is not None and entry.claim not in {part.claim for part in entry.parts}:
        yield "claim", "decides none of the parts; name the claim of one of them"
    if entry.claim is None and any(part.compute is None for part in entry.parts):
        yield "claim", "is missing; add it, for not all of its parts are computed"
    if (entry.note is None) != (entry.noted is None):
        key = "note" if entry.note is None else "noted"
        yield key, "is missing beside the other; note and noted go together: add it"
    for number in _unbound(entry):
        yield "text", f"has the number {number}, which no part of it has; {_BIND}"


def _unbound(entry: StatementEntry) -> list[str]:
    """Return the numbers of a statement's text that none of its parts has."""
    parts = [part for one in entry.parts for part in (one.text, *one.given, *_figures(one))]
    return numbers_without(entry.text, (*parts, *entry.given))


def _figures(part: PartEntry) -> tuple[str, ...]:
    """Return all in which a part's numbers may stand besides its text: what decides it."""
    return (part.printed or "", part.evidence_id, str(part.compute or ""))


def _part_contradictions(part: PartEntry) -> Iterator[tuple[str, str]]:
    yield from _evidence_contradictions(part)
    for number in numbers_without(part.text, (*part.given, *_figures(part))):
        yield "text", f"has the number {number}, which neither its figure nor its evidence has; {_BIND}"
    if part.compute is None:
        yield from _figure_contradictions(part)


def _evidence_contradictions(part: PartEntry) -> Iterator[tuple[str, str]]:
    """Yield what is wrong about that which decides a part: a claim's evidence, or a computation."""
    if part.compute is None:
        for key in ("claim", "evidence"):
            if getattr(part, key) is None:
                yield key, "is missing; add it, or what to compute"
        return
    for key in ("claim", "evidence"):
        if getattr(part, key) is not None:
            yield key, "has no place beside compute; remove one of them"
    if part.kind == "says" or part.printed is None:
        yield "kind", 'must be "prints", with the figure as printed, for what is computed; correct it'
    try:
        computations.inputs_of(part.compute)
    except ValueError as error:
        yield "compute", str(error)


def _figure_contradictions(part: PartEntry) -> Iterator[tuple[str, str]]:
    by = part.evidence_kind
    if part.kind == "says" and by == "fact":
        yield "evidence", 'is a figure, which decides only kind "prints"; name a verdict, check or control'
    if part.kind == "prints" and by == "verdict":
        yield "evidence", 'has no figure for kind "prints"; name a fact, check or control'
    has_figure = part.kind == "prints" and by in {"fact", "check"}
    if has_figure and part.printed is None:
        yield "printed", 'is missing for kind "prints"; add the figure as printed'
    if not has_figure and part.printed is not None:
        yield "printed", 'needs kind "prints" and a fact or check to compare with; remove it or name those'
