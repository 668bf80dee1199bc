"""A claim before and after it is measured: derived, planned and validated, and put on record in its words."""

import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from sympy import Symbol

from verify import evidence
from verify.claims.chapters import CHAPTERS
from verify.engine.catalogue import Entry
from verify.errors import ClaimError, nearest
from verify.evidence import Check, ClaimRecord, DerivationRecord, Fact, Proof, Settings
from verify.evidence.judging import WIDE
from verify.executors.workers import no_garbage_collection
from verify.montecarlo.experiment import (
    Allowance,
    Comparison,
    Exact,
    Experiment,
    Fit,
    Quantity,
    Tolerance,
    cells_of,
    every_comparison,
    ordinary,
)
from verify.proofs.statement import is_current, recorded
from verify.spec.claim import Findings, Words
from verify.symbolic.chains import Derivation, Related
from verify.symbolic.notation import latex, plain
from verify.text.latex import plain as unformatted
from verify.text.numbers import counted


@dataclass(frozen=True)
class Work:
    """All that a claim's evidence depends on; all can go to other processes but claims made in this one."""

    claim: Entry
    settings: Settings


class Prepared(NamedTuple):
    """A claim that is derived and planned: its words, the record of its derivation, and its experiment.

    It has no experiment where its derivation failed: there is no prediction to be measured.
    """

    words: Words
    derivation: DerivationRecord
    experiment: Experiment | None = None


def prepare(work: Work, derivation_json: str) -> Prepared:
    """Derive and plan a claim; an experiment that could only fail after drawing is refused here.

    ``derivation_json`` is the record of its checked derivation, empty where it is to be checked.
    """
    claim, tolerance = work.claim.claim, work.settings.tolerance
    with no_garbage_collection():  # an eighth of the time, and expressions leave little of it
        derivation = claim.derived()
        if derivation_json:
            record = DerivationRecord.model_validate_json(derivation_json)
        else:
            record = derivation_record(derivation, claim.id)
        if record.status is Proof.FAILED:
            return Prepared(Words(claim, derivation), record)
        experiment = claim.measured_by(derivation, tolerance)
        facts = claim.exact_values(derivation, tolerance)
        validate(experiment, claim.id, facts)
        ids = [check.id for check in experiment.checks]
        if claim.headline and claim.headline not in ids:
            near = nearest(claim.headline, ids) or "name one"
            raise ClaimError(f"claim {claim.id}: its headline {claim.headline!r} is no check of it; {near}")
        words = Words(claim, derivation, facts, experiment)
        # A slot that nothing fills is refused before anything is drawn, too.
        words.texts()
        experiment = words.spoken(experiment)
    return Prepared(replace(words, experiment=experiment), record, experiment)


# --- derivations ---


def derivation_record(derivation: Derivation, claim: str = "") -> DerivationRecord:
    """Return the record of a claim's derivation, checked, with its proof in Coq if it has that."""
    chains = []
    for chain in derivation.chains:
        lines, holds = [], not any(line.problem for line in chain.checked)
        for checked in chain.checked:
            line, words = checked.line, checked.line.check.words
            if not checked.problem:
                words += f"; tried: {checked.tried}" if checked.tried else "; tried at no point"
            lines.append(
                evidence.LineRecord(
                    relation=line.relation,
                    latex=latex(line.expression),
                    because=line.because,
                    checked=words,
                    cites=tuple(theorem.name for theorem in line.check.cites),
                    holds=not checked.problem,
                )
            )
        shows = latex(Related(chain.start, Symbol(chain.relation), chain.end)) if holds else ""
        chains.append(
            evidence.ChainRecord(
                name=chain.name,
                title=chain.title or "Line by line",
                definition=chain.defines,
                start=latex(chain.start),
                lines=tuple(lines),
                shows=shows,
                assumptions=chain.assumptions if holds else (),
            )
        )
    status, reason = standing(derivation, claim)
    proofs, coq = recorded(), None
    if status is Proof.PROVED:
        coq = evidence.CoqRecord(**proofs["claims"][claim], version=proofs["coq"], library=proofs["library"])
    return DerivationRecord(
        status=status,
        chains=tuple(chains),
        result=plain(derivation.main.end) if derivation.main else "",
        reason=reason,
        coq=coq,
        stale=status.stands and claim in proofs["claims"] and coq is None,
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


def derivation_text(derivation: Derivation, width: int, assumed: Sequence[str] = ()) -> list[str]:
    """Return what is assumed, and each chain with what checks and trials say of its lines, as blocks of text.

    ``assumed`` is what its claim assumes besides.
    """
    wrapped = partial(
        textwrap.fill, width=width, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False
    )
    blocks = []
    if stated := [*(derivation.main.assumptions if derivation.main else ()), *assumed]:
        items = (wrapped(unformatted(text), initial_indent="  - ") for text in stated)
        blocks.append("\n".join(["Assumptions", *items]))
    for chain in derivation.chains:
        head = f"Derivation: {unformatted(chain.title)}" if chain.title else "Derivation"
        if chain.defines:
            head += f"\n  Definition: {unformatted(chain.defines)}"
        lines = [head, "", wrapped(plain(chain.start), initial_indent="    ")]
        for checked in chain.checked:
            line = checked.line
            tried = f"tried: {checked.tried}" if checked.tried else "tried at no point"
            ending = f"✓ {unformatted(line.check.words)}, {tried}"
            if checked.problem:
                ending = f"✗ {checked.problem}"
            lines.append(wrapped(plain(line.expression), initial_indent=f"  {line.relation} "))
            lines.append(wrapped(f"{unformatted(line.because)} ({ending})", initial_indent=" " * 6))
        blocks.append("\n".join(lines))
    return blocks


# --- experiments that could not fail ---

_ROUNDING = 1e-6  # of the prediction or of 1: the rounding of single precision, and more


def validate(experiment: Experiment, claim: str, facts: tuple[Fact, ...] = ()) -> None:
    """Refuse an experiment that could not fail, or in which something is unclear.

    Raises:
        ClaimError: no check or no control; an id that is no slug or names two findings; numbers that are not
            finite; a check without a word on why its tolerance is wide, or without a control; a block that
            takes more memory than a machine has to spare.
    """
    if not experiment.checks or not experiment.controls:
        raise ClaimError(f"claim {claim}: needs at least one check and one control, or it could not fail")
    comparisons = every_comparison(experiment)
    for compared in comparisons:
        where = f"claim {claim}, check {compared.id}"
        if not re.fullmatch(evidence.SLUG, compared.id):
            raise ClaimError(f"{where}: its id is not of lower-case words joined by hyphens; rename it")
        computed = compared.computed if isinstance(compared, Exact) else 0.0
        for what, value in (("prediction", compared.prediction.value), ("computed value", computed)):
            if not math.isfinite(value):
                raise ClaimError(f"{where}: its {what} is {value:g}; give a finite number")
    # A control that takes another way through the code would not notice a mistake in the check's.
    routes = {_route(control.comparison) for control in experiment.controls}
    for check in experiment.checks:
        route = _route(check)
        no_control = f"no control goes through its code ({route[0]}); add a wrong version of it"
        if mistake := _silent(check) or ("" if route in routes else no_control):
            raise ClaimError(f"claim {claim}, check {check.id}: {mistake}")
    for cell in cells_of(comparisons):
        if cell.too_large:
            raise ClaimError(f"claim {claim}, cell {cell.id}: {cell.too_large}")
    # A finding is linked to and cited by its claim and its name.
    for name, times in Counter(finding.id for finding in (*comparisons, *facts)).items():
        if times > 1:
            raise ClaimError(f"claim {claim}: {name!r} names two findings; rename the fact")


def _route(comparison: Comparison) -> tuple[str, ...]:
    """Return the code that a comparison and a control of it go through, in words and by its names."""
    match comparison:
        case Fit(fit=fit, target=target):
            return "the same model and coefficient", fit.model, target
        case Quantity(estimand=estimand, relation=relation):
            return "the same kind of estimand, and the same relation", type(estimand).__name__, relation
        case Exact(code=code, label=label):
            # Functions of NumPy 2.0's own have no qualified name.
            return "the same function", str(getattr(code, "__qualname__", code)) if code else label


def _silent(check: Comparison) -> str:
    """Return what is to be said of a tolerance and is not, nothing where it needs no words."""
    prediction = check.prediction.value
    if isinstance(check, Exact):
        allowed, rounding = check.allowance, _ROUNDING * max(1.0, abs(prediction))
        if allowed.of != Allowance.of or allowed.size <= rounding:
            return ""
        too_large = f"its allowance is {allowed.size:g}, which is more than rounding"
        return f'{too_large}; make it smaller, or say for what it is: of="…"'
    tolerance = check.tolerance
    misnamed = tolerance.of == Tolerance.of and tolerance.scale != abs(prediction)
    if tolerance.scale is not None and (misnamed or not tolerance.of.strip()):
        return f'its tolerance is a share of {tolerance.scale:g}; say of what: of="…"'
    # Of the prediction or, where that is 0, of the scale.
    times = tolerance.width(prediction, 1.0) / abs(prediction) if prediction else tolerance.factor
    if times <= WIDE * (1 + 1e-9) or tolerance.because.strip():
        return ""
    wide = f"{times:.3g} times the run's, of {'the prediction' if prediction else tolerance.of}"
    return f'its tolerance is {wide}; make it at most twice, or say why it is so wide: because="…"'


# --- records ---


def claim_record(
    prepared: Prepared,
    findings: Findings | None = None,
    controls: tuple[evidence.ControlRecord, ...] = (),
    tolerance: float = 0.0,
) -> ClaimRecord:
    """Return the record of a claim; where its derivation failed there are no findings."""
    words, experiment = prepared.words, prepared.experiment
    claim, measured = words.claim, dict[str, Any](checks=(), controls=())
    if findings is not None and experiment is not None:
        words = replace(words, checks=tuple(findings.checks.values()))
        figures = claim.drawn(words.derivation, findings, tolerance)
        measured = {
            "checks": words.checks,
            "controls": controls,
            "facts": words.facts,
            "fits": tuple(_ordinary_fits(experiment, findings.checks)),
            "series": tuple(map(words.drawn, figures)),
        }
    return ClaimRecord(
        id=claim.id,
        chapter=claim.chapter,
        chapter_title=CHAPTERS[claim.chapter],
        **words.texts(),
        assumptions=claim.assumptions,
        references=claim.references,
        authors=claim.authors,
        headline=claim.headline,
        derivation=prepared.derivation,
        **measured,
    ).sealed()


def _ordinary_fits(experiment: Experiment, checks: Mapping[str, Check]) -> Iterator[evidence.OrdinaryFit]:
    """Yield an unweighted line for each set of points that a weighted fit goes through."""
    seen: set[tuple[str, ...]] = set()
    for fit in (check for check in experiment.checks if isinstance(check, Fit)):
        members = tuple(member.id for member in fit.members)
        if fit.fit.model == "power" or members in seen:
            continue
        seen.add(members)
        slope, intercept, r_squared = ordinary(fit.fit.x, [checks[name].estimate for name in members])
        name = fit.id if fit.id.startswith("ordinary") else f"ordinary-{fit.id}"
        line = {"slope": slope, "intercept": intercept, "r_squared": r_squared}
        yield evidence.OrdinaryFit(id=name, quantity=fit.members[0].label, **line)
