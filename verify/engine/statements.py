"""Decides the statements of the source documents from the evidence of a run, to the printed precision."""

from collections.abc import Mapping, Sequence
from typing import Any

from verify.engine.sources import PartEntry, SourceBook, StatementEntry, compute
from verify.errors import SourcesError, unknown
from verify.evidence import ClaimRecord, Outcome, Part, Proof, Statement, Verdict
from verify.text.numbers import as_printed, rounds_to

_ABOUT = ", which is about {}: less than one unit of its last digit away"


def decide(book: SourceBook, claims: Sequence[ClaimRecord]) -> tuple[Statement, ...]:
    """Return every statement of ``book`` with the outcome that the evidence of ``claims`` gives it.

    A part is open (``holds`` is None) when its claim is not among ``claims``, the claim's derivation
    failed, or its evidence is undecided. Else it holds or not, and the parts make the outcome: with an open
    part, ``open``; with a false printed part, ``misprinted``; with a false figure in the text, or all of the
    text false, ``wrong``; with a part of the text false, ``holds-with-conditions``; else ``holds``. The
    verdict ``approximate`` means that the exact assertion is excluded though the measurement is within
    tolerance; it satisfies a part only where the source says "about", and elsewhere limits the outcome to
    ``holds-with-conditions``. A figure that the source says is "about" may be off by less than one unit of
    its last digit. While a statement is open its note names the evidence it waits for, and where the
    outcome is not that which the note was written for, the parts' reasons stand in its place.

    Raises:
        SourcesError: a part names a check, control or fact that its claim does not have.
    """
    by_id = {claim.id: claim for claim in claims}
    for place, part in book.parts():
        claim = by_id.get(part.claim or "")
        # A failed derivation ends its claim before there is any evidence.
        if claim is not None and part.evidence_id and claim.derivation.status is not Proof.FAILED:
            names = [finding.id for finding in getattr(claim, f"{part.evidence_kind}s")]
            if part.evidence_id not in names:
                missing = unknown(part.evidence_kind, part.evidence_id, names, "correct it")
                raise SourcesError(f"{place}: the claim {claim.id} has {missing}")
    return tuple(_statement(entry, by_id) for entry in book.statements)


def _statement(entry: StatementEntry, claims: Mapping[str, ClaimRecord]) -> Statement:
    parts = []
    for part in entry.parts:
        claim, printed = part.claim or "", part.printed or ""
        if part.compute is None:
            decided = _by_evidence(part, claims.get(claim))
        else:
            # A printed figure is compared with the computed value to its own digits.
            computed = compute(part.compute, part.d_k)
            claim, shown = computed.claim, as_printed(computed.value, printed)
            holds = rounds_to(computed.value, printed, about=part.about)
            against = "" if shown == printed else _ABOUT.format(printed) if holds else f", not {printed}"
            reason = f"{computed.words} is {shown}{against}."
            decided = {"holds": holds, "reason": reason, "computed": shown}
        decided = {"evidence": part.evidence or "computed", "computed": None, "exactly": True} | decided
        parts.append(Part(text=part.text, claim=claim, kind=part.kind, printed=part.printed, **decided))
    statement = Statement(
        id=entry.id,
        source=entry.source,
        text=entry.text,
        claim=entry.claim,
        noted=entry.noted,
        note=entry.note or "",
        parts=tuple(parts),
    )
    # A note stands beside the outcome that it was written for, and beside no other.
    note = statement.note
    if statement.outcome is Outcome.OPEN:
        awaited = dict.fromkeys(part.claim for part in parts if part.holds is None)
        note = f"Still open: it waits for evidence from {', '.join(awaited)}."
    elif not note or statement.outcome is not entry.noted:
        note = " ".join(part.reason for part in parts)
    return statement.model_copy(update={"note": note})


def _by_evidence(part: PartEntry, claim: ClaimRecord | None) -> dict[str, Any]:
    """Return the words for a part from its evidence's verdict, and the figure that it predicts, if any."""
    if claim is None or claim.derivation.status is Proof.FAILED:
        lacking = f"{part.claim}, which would decide it, is not in this run."
        return _open(f"the derivation of {claim.id} failed, so there is no evidence." if claim else lacking)
    kind, name, figure = part.evidence_kind, part.evidence_id, None
    subject = f"the {kind} {name} of {claim.id}"
    match kind:
        case "verdict":
            subject, verdict = f"the claim {claim.id}", claim.verdict
        case "control":
            subject, verdict = f"the negative {subject[4:]}", claim.control(name).verdict
        case "check":
            verdict, figure = claim.check(name).verdict, claim.check(name).prediction
        case _:
            # A fact is exact: there is nothing to measure.
            verdict = Verdict.CONFIRMED
            figure = next(fact.value for fact in claim.facts if fact.id == name)
    if verdict is Verdict.UNDECIDED:
        return _open(f"{subject} is undecided.")
    if part.printed is not None and figure is not None:
        if verdict is Verdict.REFUTED:
            return _open(f"measurement refutes the prediction of {part.claim}, no figure is settled.")
        computed, holds = as_printed(figure, part.printed), rounds_to(figure, part.printed, about=part.about)
        reason = f"The computed value rounds to the printed {part.printed}."
        if computed != part.printed:
            against = (_ABOUT if holds else ", not to the printed {}").format(part.printed)
            reason = f"The computed value rounds to {computed}{against}."
        exactly = part.about or verdict is not Verdict.APPROXIMATE
        return {"holds": holds, "reason": reason, "computed": computed, "exactly": exactly}
    if verdict is Verdict.APPROXIMATE:
        but = ("holds, but not exactly", "holds; the source says no more than that")[part.about]
        return {"holds": True, "reason": f"Within the tolerance, {subject} {but}.", "exactly": part.about}
    return {"holds": verdict is Verdict.CONFIRMED, "reason": f"By this run, {subject} is {verdict}."}


def _open(reason: str) -> dict[str, Any]:
    return {"holds": None, "reason": f"Open: {reason}"}
