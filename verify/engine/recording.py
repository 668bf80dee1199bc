"""The record of a claim: what was derived and measured of it, in its words."""

from collections.abc import Container, Iterator
from dataclasses import replace
from typing import Any

from verify.claims.chapters import CHAPTERS
from verify.engine.preparing import Prepared
from verify.errors import ClaimError, nearest
from verify.evidence import Check, ClaimRecord, ControlRecord, OrdinaryFit
from verify.montecarlo.experiment import Experiment, Fit, ordinary
from verify.spec.claim import Findings
from verify.spec.experiment import bound_to


def claim_record(
    prepared: Prepared,
    findings: Findings | None = None,
    controls: tuple[ControlRecord, ...] = (),
    tolerance: float = 0.0,
) -> ClaimRecord:
    """Return the record of a claim; where its derivation failed there are no findings."""
    words, claim = prepared.words, prepared.words.claim
    evidence: dict[str, Any] = {"checks": (), "controls": ()}
    if findings is not None and prepared.experiment is not None:
        checks = tuple(findings.checks.values())
        ids = [check.id for check in checks]
        if claim.headline and ids and claim.headline not in ids:
            near = nearest(claim.headline, ids)
            raise ClaimError(
                f"claim {claim.id}: its headline {claim.headline!r} is no check of it; {near or 'name one'}"
            )
        derived = bound_to(prepared.experiment)
        figures = claim.drawn(prepared.derivation, findings, tolerance)
        evidence = {
            "checks": tuple(_with_origin(check, derived) for check in checks),
            "controls": controls,
            "facts": prepared.facts,
            "fits": tuple(_ordinary_fits(prepared.experiment, findings)),
            "series": tuple(map(replace(words, checks=checks).drawn, figures)),
        }
    return ClaimRecord(
        id=claim.id,
        chapter=claim.chapter,
        chapter_title=CHAPTERS[claim.chapter].title,
        **replace(words, checks=evidence["checks"]).said(),
        assumptions=claim.assumptions,
        references=claim.references,
        authors=claim.authors,
        headline=claim.headline,
        derivation=prepared.proof,
        **evidence,
    ).sealed()


def _with_origin(check: Check, derived: Container[str]) -> Check:
    """Return a check whose prediction is called a threshold unless a chain derives what it measures."""
    if check.origin == "set" or check.method == "exact" or check.id in derived:
        return check
    return check.model_copy(update={"origin": "computed"})


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
