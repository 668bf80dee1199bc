"""What is put on record of one claim: its derivation, its evidence, its verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

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
from verify.montecarlo.experiment import Experiment, Fit, ordinary
from verify.spec.claim import Claim, several
from verify.spec.words import Words
from verify.symbolic.derivation import relation_of
from verify.symbolic.hypotheses import assumptions_of
from verify.symbolic.kernel.core import Reach
from verify.symbolic.printing import latex, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from verify.engine.samples import Remembered
    from verify.montecarlo.blocks import Request, Sums
    from verify.spec.claim import Findings
    from verify.symbolic.derivation import Derivation, Examined
    from verify.symbolic.routes import Followed


@dataclass(frozen=True)
class Evidence:
    """What is on record of a claim besides its derivation."""

    checks: tuple[Check, ...] = ()
    controls: tuple[Control, ...] = ()
    fits: tuple[OrdinaryFit, ...] = ()
    facts: tuple[Fact, ...] = ()
    series: tuple[Figure, ...] = ()


NOTHING = Evidence()

REACHES: dict[Reach, Literal["all-values", "these-values", "reviewed", "numerically"]] = {
    Reach.ALL_VALUES: "all-values",
    Reach.THESE_VALUES: "these-values",
    Reach.REVIEWED: "reviewed",
    Reach.NUMERICALLY: "numerically",
}


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
    evidence = replace(evidence, checks=tuple(_with_origin(check, proof) for check in evidence.checks))
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


def _with_origin(check: Check, proof: DerivationRecord) -> Check:
    """Return a check whose prediction is called derived only if a theorem is bound to what it measures."""
    if check.origin == "set" or check.method == "exact" or check.id in proof.bound:
        return check
    return check.model_copy(update={"origin": "computed"})


def derivation_record(
    derivation: Derivation, examined: Examined, bound: tuple[str, ...] = ()
) -> DerivationRecord:
    """Return the record of an examined derivation; ``bound`` are the checks that it is bound to."""
    return DerivationRecord(
        status=Proof(examined.status),
        **_stated(derivation, examined),
        routes=tuple(_route(derivation, one) for one in examined.routes),
        agreement=examined.agreement,
        reason=examined.reason,
        beyond=derivation.beyond,
        assumptions=assumptions_of(examined.theorem) if examined.theorem else (),
        bound=bound,
    )


def _route(derivation: Derivation, followed: Followed) -> Route:
    route, theorem = followed.route, followed.theorem
    sides = (
        {
            "theorem": latex(relation_of(theorem)),
            "subject": latex(theorem.lhs),
            "result": latex(theorem.rhs),
            "assumptions": assumptions_of(theorem),
        }
        if theorem
        else {}
    )
    steps = tuple(
        Step(
            latex=latex(one.step.expression),
            plain=plain(one.step.expression),
            relation=one.relation,
            rule=one.step.words,
            checked_by=one.step.rule.label,
            reach=REACHES[one.reach],
            holds=one.holds,
        )
        for one in followed.steps
    )
    return Route(
        title=route.title,
        start_latex=latex(route.start),
        start_plain=plain(route.start),
        definition=derivation.meaning_of(route.start),
        steps=steps,
        name=route.name,
        **sides,
    )


def _stated(derivation: Derivation, examined: Examined) -> dict[str, str]:
    if derivation.unclaimed:
        return {"subject": "", "result": "", "latex": ""}
    theorem = examined.theorem
    return {
        "subject": latex(theorem.lhs if theorem else derivation.subject),
        "result": plain(derivation.result),
        "latex": latex(relation_of(theorem)) if theorem else latex(derivation.result),
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
