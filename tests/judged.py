"""Records that tests make up, judged as a run judges, so that they load."""

import math
from typing import Any

from verify.evidence import (
    Check, ClaimRecord, ControlRecord, DerivationRecord, Proof, RunRecord, Settings, Statement, Verdict,
    tightness,
)  # fmt: skip
from verify.evidence.contradictions import decided
from verify.evidence.judging import (
    MAX_LOOKS, OF_ITSELF, WIDE, ErrorBudget, claim_verdict, judge, judge_exact, outcome_of,
)  # fmt: skip


def judged(record: RunRecord) -> RunRecord:
    """Return the record with its claims judged, its statements decided and its budget, sealed."""
    chosen = record.run.settings
    claims = tuple(judged_claim(claim, chosen) for claim in record.claims)
    by_id = {claim.id: claim for claim in claims}
    changed = record.model_copy(
        update={
            "claims": claims,
            "statements": tuple(decided_statement(one, by_id) for one in record.statements),
        }
    )
    controls = sum(len(claim.controls) for claim in claims)
    budget = ErrorBudget(chosen.false_alarm).record(changed.measured_checks, controls)
    run = record.run.model_copy(update={"budget": budget})
    return RunRecord.model_validate(changed.model_copy(update={"run": run}).sealed().model_dump())


def judged_claim(claim: ClaimRecord, chosen: Settings | None = None) -> ClaimRecord:
    """Return the claim's record with what follows from its numbers, sealed; what is open stays so."""
    chosen = chosen or Settings()
    proof = _with_status(claim.derivation)
    failed = proof.status is Proof.FAILED
    checks = () if failed else tuple(_check(one, chosen) for one in claim.checks)
    controls = () if failed else tuple(map(_control, claim.controls))
    bound = tuple(one.id for one in checks if one.method != "exact" and one.origin == "derived")
    proof = proof.model_copy(update={"bound": bound})
    verdict, reason = claim_verdict(proof.status, proof.reason, checks, controls)
    update = {
        "checks": checks,
        "controls": controls,
        "derivation": proof,
        "verdict": verdict,
        "reason": reason,
    }
    return claim.model_copy(update=update).sealed()


def _with_status(proof: DerivationRecord) -> DerivationRecord:
    """Return a derivation that is called no more than its steps allow."""
    steps = [step for route in proof.routes for step in route.steps]
    if not all(step.holds for step in steps):
        return proof.model_copy(update={"status": Proof.FAILED})
    if proof.status is Proof.FAILED:
        return proof
    if not steps or proof.status is Proof.NOT_CLAIMED:
        return proof.model_copy(update={"status": Proof.NOT_CLAIMED, "agreement": ""})
    called = {True: Proof.IN_PART, False: Proof.PROVED}[bool(proof.beyond)]
    agreement = proof.agreement or "the route ends in the stated result"
    return proof.model_copy(update={"status": called, "agreement": agreement})


def _check(check: Check, chosen: Settings) -> Check:
    update: dict[str, Any]
    if check.method == "exact":
        point = (check.estimate, check.estimate)
        update = {"interval": point, "looks": 0, "blocks": 0, "draws": 0, "level": 1.0}
        width = check.tolerance
    else:
        looks = min(max(1, check.looks), MAX_LOOKS)
        level = 1 - ErrorBudget(chosen.false_alarm).share(looks)
        update = {"looks": looks, "level": level}
        blocks, (low, high) = max(1, check.blocks), check.interval
        update |= {"blocks": blocks, "draws": max(blocks, check.draws)}
        update["standard_error"] = min(check.standard_error, high - low)
        of_itself = check.tolerance_of == OF_ITSELF
        width = abs(check.prediction) * check.tolerance if of_itself else check.half_width
        width *= bool(check.tolerance)
        most = WIDE * chosen.tolerance
        if check.tolerance > most or width > most * abs(check.prediction) > 0:
            update["tolerance_because"] = check.tolerance_because or "it is made up"
    band = _around(check, width)
    update |= {
        "band": band,
        "tightness": tightness(check.relation, check.origin, check.estimate, check.prediction),
    }
    within, interval = _ends(band), update.get("interval", check.interval)
    verdict = (
        judge_exact(check.estimate, within)
        if check.method == "exact"
        else judge(interval, check.prediction, within)
    )
    if check.verdict is Verdict.UNDECIDED and check.method != "exact":
        verdict = check.verdict
    if verdict is Verdict.UNDECIDED and not check.reason:
        update["reason"] = "it is open"
    return check.model_copy(update={**update, "verdict": verdict})


def _control(control: ControlRecord) -> ControlRecord:
    width = max(abs(end - control.prediction) for end in control.band if end is not None)
    band = _around(control, width)
    update: dict[str, Any] = {"band": band, "draws": max(control.blocks, control.draws)}
    if not control.blocks:
        update |= {"draws": 0, "interval": (control.estimate, control.estimate)}
        verdict = judge_exact(control.estimate, _ends(band))
    elif control.verdict is not Verdict.UNDECIDED:
        verdict = judge(control.interval, control.prediction, _ends(band))
    else:
        verdict = control.verdict
    return control.model_copy(update={**update, "verdict": verdict})


def _around(one: Check | ControlRecord, width: float) -> tuple[float | None, float | None]:
    low, high = one.band
    return None if low is None else one.prediction - width, None if high is None else one.prediction + width


def _ends(band: tuple[float | None, float | None]) -> tuple[float, float]:
    low, high = band
    return -math.inf if low is None else low, math.inf if high is None else high


def decided_statement(statement: Statement, claims: dict[str, ClaimRecord]) -> Statement:
    """Return the statement as these claims decide it; a part whose evidence is missing stays as it is."""
    parts, exactly = [], [True]
    for part in statement.parts:
        verdict, possible = decided(part, claims)
        exactly += [False] * (verdict is Verdict.APPROXIMATE)
        holds = part.holds if part.holds in possible or not possible else next(iter(possible))
        parts.append(part.model_copy(update={"holds": holds}))
    outcomes = [outcome_of(parts, exactly=one) for one in exactly]
    outcome = statement.outcome if statement.outcome in outcomes else outcomes[0]
    return statement.model_copy(update={"parts": tuple(parts), "outcome": outcome})
