"""The record of a derivation: its chains with what each line's check and the second net made of it."""

from __future__ import annotations

from verify.evidence import DerivationRecord, Proof, RouteRecord, StepRecord
from verify.symbolic.chains import Chain, CheckedLine, Derivation
from verify.symbolic.notation import latex, plain, proposition_latex
from verify.text.numbers import counted


def derivation_record(derivation: Derivation, bound: tuple[str, ...] = ()) -> DerivationRecord:
    """Return the record of a derivation, checked; ``bound`` are the ids of checks of what it derives."""
    main = derivation.main
    stated = {"subject": "", "result": "", "latex": ""}
    if main:
        stated = {
            "subject": latex(main.start),
            "result": plain(main.end),
            "latex": proposition_latex(main.statement),
        }
    return DerivationRecord(
        status=status(derivation),
        **stated,
        routes=tuple(map(_chain_record, derivation.chains)),
        reason=reason(derivation),
        assumptions=main.assumptions if main and not derivation.problem else (),
        bound=bound,
    )


def status(derivation: Derivation) -> Proof:
    """Return how sure a derivation is: by its checks alone, by theorems that it cites, or measured only."""
    if derivation.problem:
        return Proof.FAILED
    if derivation.main is None:
        return Proof.MEASURED
    return Proof.CITING if derivation.cited else Proof.DERIVED


def reason(derivation: Derivation) -> str:
    """Return in one sentence why a derivation has its status."""
    if derivation.problem:
        return derivation.problem
    if derivation.main is None:
        return derivation.nothing
    lines = [line for chain in derivation.chains for line in chain.checked]
    untried = sum(not line.tried for line in lines)
    holding = {1: "its one line holds", 2: "both lines hold"}.get(len(lines), f"all {len(lines)} lines hold")
    tried = "no attempt refuted it" if len(lines) == 1 else "no attempt refuted any of them"
    if untried:
        tried += f"; {counted(untried, 'line')} could be tried at no point"
    cited = ", ".join(theorem.name for theorem in derivation.cited)
    return f"{holding}, {tried}{f'; citing {cited}' if cited else ''}"


def _chain_record(chain: Chain) -> RouteRecord:
    holds = all(line.holds for line in chain.checked)
    shown = {}
    if holds:
        shown = {
            "theorem": proposition_latex(chain.statement),
            "subject": latex(chain.start),
            "result": latex(chain.end),
            "assumptions": chain.assumptions,
        }
    return RouteRecord(
        title=chain.title or "Line by line",
        start_latex=latex(chain.start),
        start_plain=plain(chain.start),
        definition=chain.defines,
        steps=tuple(map(_line_record, chain.checked)),
        name=chain.name,
        **shown,
    )


def _line_record(checked: CheckedLine) -> StepRecord:
    line = checked.line
    tried = f"; tried: {checked.tried}" if checked.tried else "; tried at no point"
    return StepRecord(
        latex=latex(line.expression),
        plain=plain(line.expression),
        relation=line.relation,
        rule=line.because,
        checked_by=f"{line.check.words}{tried if checked.holds else ''}",
        cites=tuple(theorem.name for theorem in line.check.cites),
        holds=checked.holds,
    )
