"""Decides what the source documents state from the evidence of a run, to the precision they print."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from verify.engine.computations import INCOMPATIBLE, Computed, SampleLaw
from verify.engine.sources import PartEntry, SourceBook, StatementEntry, Wanted
from verify.evidence import ClaimRecord, Outcome, Part, Proof, Statement, Verdict
from verify.evidence.judging import outcome_of
from verify.text.numbers import as_printed, last_digit, printed_number, rounds_to

_ABOUT = ", which is about {}: less than one unit of its last digit away"
_BOUNDS = (INCOMPATIBLE, 1e-4, 1e-5)
"""What a probability may be said to be below; smaller ones are not evaluated reliably."""


@dataclass(frozen=True)
class _Answer:
    """What the evidence says of one part; ``exactly`` is false when it holds only within the tolerance."""

    holds: bool | None
    reason: str
    computed: str | None = None
    exactly: bool = True


def decide(book: SourceBook, claims: Sequence[ClaimRecord]) -> tuple[Statement, ...]:
    """Return every statement of ``book`` with the outcome that the evidence of ``claims`` gives it.

    A part is open (``holds`` is None) when its claim is not among ``claims``, the claim's derivation
    failed, or its evidence is undecided. Else it holds or not, and the parts make the outcome: any
    open, ``open``; something printed is false, ``misprinted``; a figure that is said is false, or
    everything said is, ``wrong``; some of it is, ``holds-with-conditions``; nothing is, ``holds``. The
    verdict ``approximate`` means that the exact assertion is excluded though the measurement is within
    tolerance; it satisfies a part only where the source says "about", and elsewhere limits the outcome to
    ``holds-with-conditions``. A figure that the source says is "about" may be off by less than one unit of
    its last digit. While a statement is open its note says what it waits for, and where the
    outcome is not the one that the note was written for, the parts' reasons stand in its place.

    Raises:
        SourcesError: a part names a check, control or fact that its claim does not have.
    """
    for claim in claims:
        # A failed derivation ends its claim before there is any evidence.
        if claim.derivation.status is not Proof.FAILED:
            refuse_absent_evidence(book.wanted(claim.id), claim.id, claim.checks, claim.controls, claim.facts)
    by_id = {claim.id: claim for claim in claims}
    return tuple(_decided(entry, by_id) for entry in book.statements)


class HasId(Protocol):
    """A check, control or fact, on record or still to be measured."""

    @property
    def id(self) -> str:
        """Its name within the claim."""


def refuse_absent_evidence(
    wanted: Iterable[Wanted],
    claim: str,
    checks: Iterable[HasId],
    controls: Iterable[HasId],
    facts: Iterable[HasId],
) -> None:
    """Refuse statements that rest on evidence which ``claim`` does not have.

    Raises:
        SourcesError: a check, control or fact is ``wanted`` that is not among those given.
    """
    kinds = {"check": checks, "control": controls, "fact": facts}
    present = {f"{kind}:{one.id}" for kind, group in kinds.items() for one in group}
    for one in wanted:
        one.found_among(claim, present)


def _decided(entry: StatementEntry, claims: Mapping[str, ClaimRecord]) -> Statement:
    findings = [_found(part, claims) for part in entry.parts]
    parts = tuple(
        Part(
            text=part.text,
            claim=part.computed().claim if part.compute else part.claim or "",
            evidence="computed" if part.compute else part.evidence or "",
            kind=part.kind,
            printed=part.printed,
            computed=finding.computed,
            holds=finding.holds,
            exactly=finding.exactly,
            reason=finding.reason,
        )
        for part, finding in zip(entry.parts, findings, strict=True)
    )
    figures = [part for part in parts if part.printed is not None]
    outcome = outcome_of(parts)
    return Statement(
        id=entry.id,
        source=entry.source,
        text=entry.text,
        claim=entry.claim,
        printed=_listed(part.printed for part in figures),
        computed=_listed(part.computed for part in figures),
        noted=entry.noted,
        note=_note(entry, outcome, parts),
        parts=parts,
    )


def _found(part: PartEntry, claims: Mapping[str, ClaimRecord]) -> _Answer:
    if part.compute is not None:
        return _held_against_computed(part, part.computed())
    return _examined(part, claims.get(part.claim or ""))


def _held_against_computed(part: PartEntry, computed: Computed) -> _Answer:
    """Hold a printed figure against what is computed: to its digits, or as one sample of those expected."""
    printed = part.printed or ""
    shown = as_printed(computed.value, printed)
    if computed.sample is not None:
        return _held_against_sample(part, shown, computed.words, computed.sample)
    holds = rounds_to(computed.value, printed, about=part.about)
    against = "" if shown == printed else _ABOUT.format(printed) if holds else f", not {printed}"
    return _Answer(holds, f"{computed.words} is {shown}{against}.", shown)


def _held_against_sample(part: PartEntry, shown: str, words: str, sample: SampleLaw) -> _Answer:
    printed = part.printed or ""
    figure, unit = printed_number(printed), 100 if printed.endswith("%") else 1
    half = last_digit(printed) / (1 if part.about else 2)
    chance = sample.probability(float((figure - half) / unit), float((figure + half) / unit))
    fits = chance >= INCOMPATIBLE
    said = f"{chance:.2g}" if fits else f"below {min(one for one in _BOUNDS if one >= chance):g}"
    return _Answer(
        fits,
        f"{words} scatters around {shown}, by {sample.deviation:.2g}. One as extreme as {printed} has "
        f"probability {said}, twice its tail of the exact law for normal components, evaluated "
        f"numerically; so {printed} {'is compatible with' if fits else 'contradicts'} it.",
        shown,
    )


def _listed(figures: Iterable[str | None]) -> str | None:
    """Return the figures in a row, or None if there are none or some are not known yet."""
    known = list(figures)
    return ", ".join(figure for figure in known if figure) if known and all(known) else None


def _note(entry: StatementEntry, outcome: Outcome, parts: Sequence[Part]) -> str:
    """Return the written note where it fits the outcome, else the reasons that the parts give."""
    if outcome is Outcome.OPEN:
        return _awaited(parts)
    if entry.note is not None and outcome is entry.noted:
        return entry.note
    return " ".join(part.reason for part in parts)


def _awaited(parts: Sequence[Part]) -> str:
    claims = list(dict.fromkeys(part.claim for part in parts if part.holds is None))
    return f"Still open: it waits for evidence from {', '.join(claims)}."


def _examined(part: PartEntry, claim: ClaimRecord | None) -> _Answer:
    if claim is None:
        return _Answer(None, f"Open: {part.claim}, which would decide it, is not in this run.")
    if claim.derivation.status is Proof.FAILED:
        return _Answer(None, f"Open: the derivation of {claim.id} failed, so there is no evidence.")
    verdict, figure = _evidence(part, claim)
    judged = _judged(verdict, part)
    if judged.holds is None or figure is None or part.printed is None:
        return judged
    if not judged.holds:
        return _Answer(
            None, f"Open: measurement refutes the prediction of {part.claim}, no figure is settled."
        )
    computed = as_printed(figure, part.printed)
    holds, rounded_to = rounds_to(figure, part.printed, about=part.about), "The computed value rounds to"
    if computed == part.printed:
        reason = f"{rounded_to} the printed {part.printed}."
    else:
        against = _ABOUT if holds else ", not to the printed {}"
        reason = f"{rounded_to} {computed}{against.format(part.printed)}."
    return _Answer(holds, reason, computed, judged.exactly)


def _evidence(part: PartEntry, claim: ClaimRecord) -> tuple[Verdict, float | None]:
    """Return the verdict that decides a part and, where the evidence has one, the figure it predicts."""
    wanted = part.evidence_id
    match part.evidence_kind:
        case "verdict":
            return claim.verdict, None
        case "check":
            return next((check.verdict, check.prediction) for check in claim.checks if check.id == wanted)
        case "control":
            return next((control.verdict, None) for control in claim.controls if control.id == wanted)
        case _:
            # A fact is exact: there is nothing to measure.
            return next((Verdict.CONFIRMED, fact.value) for fact in claim.facts if fact.id == wanted)


def _judged(verdict: Verdict, part: PartEntry) -> _Answer:
    subject = _subject(part)
    match verdict:
        case Verdict.UNDECIDED:
            return _Answer(None, f"Open: {subject} is undecided.")
        case Verdict.APPROXIMATE if part.about:
            return _Answer(True, f"Within the tolerance, {subject} holds; the source says no more than that.")
        case Verdict.APPROXIMATE:
            return _Answer(True, f"Within the tolerance, {subject} holds, but not exactly.", exactly=False)
    return _Answer(verdict is Verdict.CONFIRMED, f"By this run, {subject} is {verdict}.")


def _subject(part: PartEntry) -> str:
    if part.evidence_kind == "verdict":
        return f"the claim {part.claim}"
    if part.evidence_kind == "control":
        return f"the negative control {part.evidence_id} of {part.claim}"
    return f"the {part.evidence_kind} {part.evidence_id} of {part.claim}"
