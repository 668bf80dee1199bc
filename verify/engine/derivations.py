"""The record of a derivation: its chains with the verdicts of each line's check and the second net."""

from __future__ import annotations

from verify.evidence import ChainRecord, CoqRecord, DerivationRecord, LineRecord, Proof
from verify.proofs.record import is_current, recorded
from verify.symbolic.chains import Chain, Derivation
from verify.symbolic.notation import latex, plain
from verify.text.numbers import counted


def derivation_record(derivation: Derivation, claim: str = "") -> DerivationRecord:
    """Return the record of a claim's derivation, checked, with its proof in Coq if it has that."""
    status, reason = standing(derivation, claim)
    proofs = recorded()
    known = status.stands and claim in proofs["claims"]
    coq = None
    if status is Proof.PROVED:
        coq = CoqRecord(**proofs["claims"][claim], version=proofs["coq"], library=proofs["library"])
    return DerivationRecord(
        status=status,
        chains=tuple(map(_chain_record, derivation.chains)),
        result=plain(derivation.main.end) if derivation.main else "",
        reason=reason,
        coq=coq,
        stale=known and coq is None,
    )


def standing(derivation: Derivation, claim: str = "") -> tuple[Proof, str]:
    """Return how sure the derivation of a claim is, and why, in one sentence.

    It is proved where the statement that Coq proved, as recorded, is that of the main chain now.
    """
    if derivation.problem:
        return Proof.FAILED, derivation.problem
    if derivation.main is None:
        return Proof.MEASURED, derivation.nothing
    lines = [line for chain in derivation.chains for line in chain.checked]
    holding = {1: "its one line holds", 2: "both lines hold"}.get(len(lines), f"all {len(lines)} lines hold")
    reason = f"{holding}, no attempt refuted {'it' if len(lines) == 1 else 'any of them'}"
    if untried := sum(not line.tried for line in lines):
        reason += f"; {counted(untried, 'line')} could be tried at no point"
    status = Proof.CITING if derivation.cited else Proof.DERIVED
    if derivation.cited:
        reason += f"; citing {', '.join(theorem.name for theorem in derivation.cited)}"
    if claim not in recorded()["claims"]:
        return status, reason
    # Whoever changes a claim's main line after Coq has run is told, and the claim is derived again, no more.
    if is_current(claim, derivation):
        return Proof.PROVED, f"{reason}; Coq proved the main statement"
    return status, f"{reason}; what Coq proved, as recorded, is another statement"


def _chain_record(chain: Chain) -> ChainRecord:
    holds, lines = all(line.holds for line in chain.checked), []
    for checked in chain.checked:
        line, words = checked.line, checked.line.check.words
        if checked.holds:
            words += f"; tried: {checked.tried}" if checked.tried else "; tried at no point"
        lines.append(
            LineRecord(
                relation=line.relation,
                latex=latex(line.expression),
                because=line.because,
                checked=words,
                cites=tuple(theorem.name for theorem in line.check.cites),
                holds=checked.holds,
            )
        )
    return ChainRecord(
        name=chain.name,
        title=chain.title or "Line by line",
        definition=chain.defines,
        start=latex(chain.start),
        lines=tuple(lines),
        shows=latex(chain.proposition) if holds else "",
        assumptions=chain.assumptions if holds else (),
    )
