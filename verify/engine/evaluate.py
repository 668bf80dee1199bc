"""What is put on record of one claim: its derivation, its evidence, its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.claims.chapters import CHAPTERS
from verify.engine.measure import measure
from verify.engine.verdict import ErrorBudget, claim_verdict
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
from verify.montecarlo.experiment import Experiment, Fit
from verify.montecarlo.fits import ordinary
from verify.spec.claim import Claim, several
from verify.spec.words import Words
from verify.symbolic.printing import latex, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from verify.engine.samples import Remembered
    from verify.montecarlo.blocks import Sums
    from verify.montecarlo.chunks import Request
    from verify.spec.claim import Findings
    from verify.symbolic.derivation import Derivation, Examined


@dataclass(frozen=True)
class Evidence:
    """What is on record of a claim besides its derivation."""

    checks: tuple[Check, ...] = ()
    controls: tuple[Control, ...] = ()
    fits: tuple[OrdinaryFit, ...] = ()
    facts: tuple[Fact, ...] = ()
    series: tuple[Figure, ...] = ()


NOTHING = Evidence()


def measured(
    claim: Claim,
    derivation: Derivation,
    planned: tuple[Experiment, tuple[Fact, ...]],
    settings: Settings,
    source: Callable[[Sequence[Request]], Sequence[Sums]],
    remembered: Remembered,
) -> Evidence:
    """Return the evidence of a claim whose experiment and facts are ``planned``; ``source`` has the sums.

    What is ``remembered`` of this experiment is not computed again.
    """
    experiment, facts = planned
    budget = ErrorBudget(settings.false_alarm)
    findings, controls = measure(experiment, claim.id, settings, budget, source, remembered)
    checks = tuple(findings.checks.values())
    words = Words(claim, derivation, facts, experiment, checks)
    return Evidence(
        checks=checks,
        controls=controls,
        fits=tuple(_ordinary_fits(experiment, findings)),
        facts=facts,
        series=tuple(map(words.drawn, several(claim.figures(derivation, findings)))),
    )


def claim_record(words: Words, proof: DerivationRecord, evidence: Evidence) -> ClaimRecord:
    """Return the sealed record of a claim in these ``words``, with its evidence and verdict."""
    claim = words.claim
    verdict, reason = claim_verdict(proof.status, proof.reason, evidence.checks, evidence.controls)
    return ClaimRecord(
        id=claim.id,
        chapter=claim.chapter,
        chapter_title=CHAPTERS[claim.chapter].title,
        **words.found(evidence.checks).said(),
        assumptions=claim.assumptions,
        references=claim.references,
        verdict=verdict,
        reason=reason,
        derivation=proof,
        **vars(evidence),
    ).sealed()


def derivation_record(derivation: Derivation, examined: Examined) -> DerivationRecord:
    """Return the record of a derivation whose steps were examined."""
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
