"""Settles one claim: derive, measure, judge, and put it on record."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verify.claims.chapters import CHAPTERS
from verify.engine.catalogue import ClaimFile, built_in, catalogue, load
from verify.engine.measure import measure
from verify.engine.samples import every_comparison, validate
from verify.engine.statements import refuse_absent_evidence
from verify.engine.verdict import ErrorBudget, claim_verdict
from verify.errors import ClaimError, claim_errors, correction
from verify.evidence import (
    Check,
    ClaimRecord,
    Control,
    DerivationRecord,
    Fact,
    Figure,
    OrdinaryFit,
    Proof,
    Route,
    Settings,
    Step,
)
from verify.executors.threads import thread_map
from verify.executors.workers import Task
from verify.montecarlo.chunks import Drawing
from verify.montecarlo.experiment import Exact, Experiment, Fit
from verify.montecarlo.fits import ordinary
from verify.spec.claim import USER, Claim, several
from verify.symbolic.printing import latex, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from verify.engine.sources import Wanted
    from verify.spec.claim import Findings
    from verify.symbolic.derivation import Derivation, Examined


@dataclass(frozen=True)
class Settled:
    """A claim's evidence, and the seconds that derivation and simulation took."""

    record: ClaimRecord
    spent_s: dict[str, float]


def task(claim: Claim | ClaimFile, settings: Settings, threads: int, wanted: Sequence[Wanted]) -> Task:
    """Return the task of settling a claim; ``received`` reads its result, the arguments are as of ``settle``.

    A claim file of the user's own goes to a process as a file, a claim that comes with the tool by its name.
    A claim made in this process, be it a changed one of the tool's, may hold anything and stays here.
    """
    if isinstance(claim, ClaimFile):
        return Task(_settle_file, (claim.path, claim.id, settings, threads, wanted), isolate=str(claim.path))
    if catalogue().get(claim.id) is claim:
        return Task(_settle_built_in, (claim.chapter, claim.id, settings, threads, wanted))
    return Task(settle, (claim, settings, threads, wanted), here=True)


def received(claim: Claim | ClaimFile, result: Any) -> Settled:
    """Return what the task of settling a claim has led to.

    Raises:
        ClaimError: it is no evidence for that claim.
    """
    if not isinstance(claim, ClaimFile):
        settled: Settled = result
        return settled
    try:
        record, spent = result
        settled = Settled(ClaimRecord.model_validate_json(record), spent)
    except ValueError as error:
        raise ClaimError(
            f"claim {claim.id}: its evidence is malformed: {error}; {correction(claim.path)}"
        ) from error
    if (settled.record.id, settled.record.chapter) != (claim.id, USER):
        changed = f"its id has become {settled.record.id}"
        raise ClaimError(f"claim {claim.id}: {changed}; {correction(claim.path)}")
    return settled


def _settle_file(
    path: Path, name: str, settings: Settings, threads: int, wanted: Sequence[Wanted]
) -> tuple[str, dict[str, float]]:
    """Settle the claim of a file; its record is JSON, with nothing in it that only this process knows."""
    with claim_errors(name, path):
        settled = settle(load(path), settings, threads, wanted, origin=path)
        return settled.record.model_dump_json(by_alias=True), settled.spent_s


def _settle_built_in(
    chapter: str, name: str, settings: Settings, threads: int, wanted: Sequence[Wanted]
) -> Settled:
    return settle(built_in(chapter, name.replace("-", "_")), settings, threads, wanted)


def settle(
    claim: Claim,
    settings: Settings,
    threads: int,
    wanted: Sequence[Wanted] = (),
    origin: object = "",
) -> Settled:
    """Return all evidence for one claim, drawn by so many threads, whose number changes nothing.

    A failed derivation ends the claim: what it was to predict is not measured. ``wanted`` is the evidence
    that the sources' statements rest on; nothing is drawn if some does not exist. ``origin`` is the claim's
    file, for messages.

    Raises:
        VerifyError: a setting is impossible for this claim, or the claim is broken.
    """
    begun = time.perf_counter()
    with claim_errors(claim.id, origin):
        derivation = claim.derive()
        proof = _derivation_record(derivation, derivation.examine())
        evidence = _NOTHING
        derived = time.perf_counter()
        if proof.status is not Proof.FAILED:
            experiment, facts = _planned(claim, derivation, settings, wanted)
            derived = time.perf_counter()
            evidence = _measured(claim, derivation, (experiment, facts), settings, threads)
        record = _record(claim, proof, evidence)
    spent = {"derivation": derived - begun, "simulation": time.perf_counter() - derived}
    return Settled(record, {name: round(seconds, 3) for name, seconds in spent.items()})


@dataclass(frozen=True)
class _Evidence:
    """What is on record of a claim besides its derivation."""

    checks: tuple[Check, ...] = ()
    controls: tuple[Control, ...] = ()
    fits: tuple[OrdinaryFit, ...] = ()
    facts: tuple[Fact, ...] = ()
    series: tuple[Figure, ...] = ()


_NOTHING = _Evidence()


def _planned(
    claim: Claim, derivation: Derivation, settings: Settings, wanted: Sequence[Wanted]
) -> tuple[Experiment, tuple[Fact, ...]]:
    """Return the claim's experiment and facts, refusing what could only fail after drawing."""
    experiment = claim.experiment(derivation, settings.tolerance)
    validate(experiment, claim.id)
    facts = several(claim.facts(derivation))
    comparisons = tuple(control.comparison for control in experiment.controls)
    _refuse_double_names(claim.id, [one.id for one in (*every_comparison(experiment), *facts)])
    refuse_absent_evidence(wanted, claim.id, experiment.checks, comparisons, facts)
    # A claim that outgrows the error budget is refused before it is measured.
    drawn = sum(not isinstance(check, Exact) for check in experiment.checks)
    ErrorBudget(settings.false_alarm).record(drawn, 0)
    return experiment, facts


def _measured(
    claim: Claim,
    derivation: Derivation,
    planned: tuple[Experiment, tuple[Fact, ...]],
    settings: Settings,
    threads: int,
) -> _Evidence:
    experiment, facts = planned
    with thread_map(threads) as mapper:
        budget = ErrorBudget(settings.false_alarm)
        source = Drawing(claim.id, settings.seed, mapper)
        findings, controls = measure(experiment, claim.id, settings, budget, source)
    return _Evidence(
        checks=tuple(findings.checks.values()),
        controls=controls,
        fits=tuple(_ordinary_fits(experiment, findings)),
        facts=facts,
        series=several(claim.figures(derivation, findings)),
    )


def _record(claim: Claim, proof: DerivationRecord, evidence: _Evidence) -> ClaimRecord:
    verdict, reason = claim_verdict(proof.status, proof.reason, evidence.checks, evidence.controls)
    return ClaimRecord(
        id=claim.id,
        chapter=claim.chapter,
        chapter_title=CHAPTERS[claim.chapter].title,
        title=claim.title,
        statement=claim.statement,
        meaning=claim.meaning,
        assumptions=claim.assumptions,
        references=claim.references,
        verdict=verdict,
        reason=reason,
        derivation=proof,
        **vars(evidence),
    ).sealed()


def _refuse_double_names(claim: str, names: Sequence[str]) -> None:
    """Refuse a name given twice: a finding is linked to and cited by its claim and its name."""
    for name in names:
        if names.count(name) > 1:
            raise ClaimError(f"claim {claim}: {name!r} names two findings; rename the fact")


def _derivation_record(derivation: Derivation, examined: Examined) -> DerivationRecord:
    return DerivationRecord(
        status=Proof(examined.status),
        **_stated(derivation),
        routes=tuple(
            Route(
                title=route.title,
                start_latex=latex(route.start),
                start_plain=plain(route.start),
                definition=derivation.meaning_of(route.start),
                steps=tuple(
                    Step(
                        latex=latex(one.step.expression),
                        plain=plain(one.step.expression),
                        relation=one.step.relation,
                        rule=one.step.rule,
                        checked_by=one.step.check.label,
                        reach=one.step.check.reach,
                        holds=one.holds,
                    )
                    for one in steps
                ),
            )
            for route, steps in examined.routes
        ),
        agreement=examined.agreement,
        reason=examined.reason,
        beyond=derivation.beyond,
    )


def _stated(derivation: Derivation) -> dict[str, str]:
    if derivation.unclaimed:
        return {"subject": "", "result": "", "latex": ""}
    return {
        "subject": latex(derivation.subject),
        "result": plain(derivation.result),
        "latex": latex(derivation.equation),
    }


def _ordinary_fits(experiment: Experiment, findings: Findings) -> Iterator[OrdinaryFit]:
    """Yield one unweighted line for each set of points that a weighted fit goes through."""
    seen: set[tuple[str, ...]] = set()
    for check in experiment.checks:
        if not isinstance(check, Fit) or check.fit.model == "power":
            continue
        members = tuple(member.id for member in check.members)
        if members in seen:
            continue
        seen.add(members)
        slope, intercept, r_squared = ordinary(check.fit.x, [findings.checks[m].estimate for m in members])
        name = check.id if check.id.startswith("ordinary") else f"ordinary-{check.id}"
        yield OrdinaryFit(
            id=name, quantity=check.members[0].label, slope=slope, intercept=intercept, r_squared=r_squared
        )
