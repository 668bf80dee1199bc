"""The one judge: from intervals and bands to verdicts, within one false-alarm budget for the whole run.

A run judges by it, and so does whatever reads a record: of a file, a store or a cluster nothing is believed
that these rules can work out again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.errors import SettingsError
from verify.evidence.claims import Check, ClaimRecord, ControlRecord, DerivationRecord, Proof, Verdict
from verify.evidence.runs import Budget, Outcome, Part, RunRecord, Settings, Statement
from verify.text.numbers import rounds_to

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from verify.evidence.claims import Band

Interval = tuple[float, float]

PLACES = 1000
"""Shares of the budget. A fixed number, so that no check's level depends on which claims are run."""
WIDE = 2.0
"""A tolerance of more than this many times the run's needs a reason in words."""
OF_ITSELF = "the prediction"
"""What a tolerance is a fraction of, where nothing else is said."""
_CLOSE = 1e-9

_DERIVED = {
    Proof.PROVED: "derived, and ",
    Proof.REVIEWED: "its derivation is reviewed, not proved, and ",
    Proof.AT_EXAMPLES: "its derivation is checked at examples, and ",
    Proof.IN_PART: "derived in part, and ",
}
GROWTH, MAX_LOOKS = 1.5, 10
"""A sample grows by half of itself at each look after the first, up to 38 times, before a check is undecided.

Most of those that are open at the planned size are decided by the next half, so doubling drew more.
"""


@dataclass(frozen=True)
class ErrorBudget:
    """The false-alarm rate of the whole run and the share of each check at each look.

    Each check gets 1/PLACES of the rate (Bonferroni), and look k of it 6/(π²k²) of that; the looks'
    shares add up to at most the check's, however many there are.
    """

    rate: float

    def share(self, look: int) -> float:
        """Return the false-exclusion rate of one check at its look number ``look``, from 1 on."""
        return self.rate / PLACES * 6 / (math.pi * look) ** 2

    def record(self, checks: int, controls: int) -> Budget:
        """Return the budget as evidence.

        Raises:
            SettingsError: there are more checks than places.
        """
        if checks > PLACES:
            raise SettingsError(
                f"{checks} checks, but the false-alarm budget has {PLACES} places; run fewer claims at once"
            )
        return Budget(
            false_alarm=self.rate,
            places=PLACES,
            checks=checks,
            controls=controls,
            spent=self.rate * checks / PLACES,
            rule=f"each check has 1/{PLACES} of the rate, look k of it 6/(π²k²) of that",
        )


def judge(interval: Interval, prediction: float, within: Interval, *, reliable: bool = True) -> Verdict:
    """Return what a simultaneous interval says of a prediction with its band ``within``.

    Disjoint from the band, or wholly beyond a bound: refuted; the tolerance of a bound lets an interval
    around it reach over, it makes no value beyond it right. Inside the band: confirmed, or approximate if
    that is no bound's and the exact prediction is excluded. Anything else, and any unreliable interval:
    undecided.
    """
    low, high = interval
    if not reliable:
        return Verdict.UNDECIDED
    least = prediction if within[1] == math.inf else within[0]
    most = prediction if within[0] == -math.inf else within[1]
    if high < least or low > most:
        return Verdict.REFUTED
    if within[0] <= low and high <= within[1]:
        agrees = low <= prediction <= high or not all(map(math.isfinite, within))
        return Verdict.CONFIRMED if agrees else Verdict.APPROXIMATE
    return Verdict.UNDECIDED


def judge_exact(value: float, within: Interval) -> Verdict:
    """Return confirmed where a computed value lies in the band, else refuted."""
    return Verdict.CONFIRMED if within[0] <= value <= within[1] else Verdict.REFUTED


def claim_verdict(
    proof: Proof, proof_reason: str, checks: Sequence[Check], controls: Sequence[ControlRecord]
) -> tuple[Verdict, str]:
    """Return the verdict of a whole claim and one sentence of reason."""
    refuted, approximate = (_named(checks, one) for one in (Verdict.REFUTED, Verdict.APPROXIMATE))
    undecided = "; ".join(
        f"{check.id} ({check.reason})" if check.reason else check.id
        for check in checks
        if check.verdict is Verdict.UNDECIDED
    )
    standing = ", ".join(c.id for c in controls if c.verdict is not Verdict.REFUTED)
    unmeasured = not checks or not controls
    failed = f"the derivation failed, so nothing was drawn: {proof_reason}"
    cases = (
        (proof is Proof.FAILED, Verdict.UNDECIDED, failed),
        (unmeasured, Verdict.UNDECIDED, "nothing was measured, or nothing could have been refuted"),
        (refuted, Verdict.REFUTED, f"by {refuted}"),
        (standing, Verdict.UNDECIDED, f"the wrong version was not refuted: {standing}"),
        (undecided, Verdict.UNDECIDED, f"undecided at the largest sample: {undecided}"),
        (
            approximate,
            Verdict.APPROXIMATE,
            f"within tolerance, but the exact value is excluded: {approximate}",
        ),
    )
    for applies, verdict, reason in cases:
        if applies:
            return verdict, reason
    return Verdict.CONFIRMED, _success(proof, checks, len(controls))


def _named(checks: Iterable[Check], verdict: Verdict) -> str:
    return ", ".join(check.id for check in checks if check.verdict is verdict)


def _success(proof: Proof, checks: Sequence[Check], controls: int) -> str:
    derived = _DERIVED.get(proof, "")
    measured = [check for check in checks if check.method != "exact"]
    held = sum(check.origin == "derived" for check in measured)
    if derived and held < len(measured):
        part = f"{held} of {len(measured)} checks bound to it, and "
        derived = derived.removesuffix("and ") + (part if held else "though not bound to what is measured; ")
    exact = sum(check.method == "exact" for check in checks)
    kinds = {"measured": len(checks) - exact, "exact": exact}
    counted = [f"{count} {kind}" for kind, count in kinds.items() if count]
    if len(checks) == 1:
        agreed = f"its {counted[0].removeprefix('1 ')} check agrees"
    else:
        agreed = f"{_all(' and '.join(counted))} checks agree"
    wrong = (
        "its wrong version is refuted"
        if controls == 1
        else f"{_all(str(controls))} wrong versions are refuted"
    )
    return f"{derived}{agreed}; {wrong}"


def _all(counted: str) -> str:
    """Return ``all 3``, ``all 2 measured and 1 exact``, but ``both`` where there are two of a kind."""
    number, _, kind = counted.partition(" ")
    return f"both {kind}".strip() if number == "2" and " " not in kind else f"all {counted}"


def outcome_of(parts: Sequence[Part], *, exactly: bool) -> Outcome:
    """Return what a statement's parts come to; ``exactly`` is false where one holds within tolerance only."""
    if any(part.holds is None for part in parts):
        return Outcome.OPEN
    if any(part.kind == "prints" and not part.holds for part in parts):
        return Outcome.MISPRINTED
    said = [part for part in parts if part.kind == "says"]
    # A figure that is false is so under any condition.
    if any(part.printed is not None and not part.holds for part in said) or (
        said and not any(part.holds for part in said)
    ):
        return Outcome.WRONG
    return Outcome.HOLDS if all(part.holds for part in said) and exactly else Outcome.WITH_CONDITIONS


def contradictions_of_claim(claim: ClaimRecord) -> Iterator[str]:
    """Yield what in a claim's record is not what its own numbers make of it, with the place."""
    for check in claim.checks:
        yield from (f"check {check.id}: {wrong}" for wrong in _of_check(check))
    for control in claim.controls:
        judged = _judged(control, exact=control.blocks == 0)
        if control.verdict not in {judged, Verdict.UNDECIDED}:
            yield f"control {control.id}: its verdict is {control.verdict}, its interval makes it {judged}"
    yield from _of_derivation(claim.derivation, claim.checks)
    proof = claim.derivation
    verdict, reason = claim_verdict(proof.status, proof.reason, claim.checks, claim.controls)
    if claim.verdict is not verdict:
        yield f"its verdict is {claim.verdict}, its checks and controls make it {verdict}"
    elif claim.reason != reason:
        yield f"its reason is not that of its verdict, {reason!r}"


def _ends(band: Band) -> Interval:
    low, high = band
    return -math.inf if low is None else low, math.inf if high is None else high


def _judged(one: Check | ControlRecord, *, exact: bool) -> Verdict:
    within = _ends(one.band)
    return judge_exact(one.estimate, within) if exact else judge(one.interval, one.prediction, within)


def _of_check(check: Check) -> Iterator[str]:
    exact = check.method == "exact"
    judged = _judged(check, exact=exact)
    is_open = check.verdict is Verdict.UNDECIDED and not exact and check.reason
    drawn = (check.blocks, check.draws, check.looks)
    reached = [abs(end - check.prediction) for end in check.band if end is not None]
    size = 1.0 if exact else abs(check.prediction) if check.tolerance_of == OF_ITSELF else None
    width = reached[0] if size is None else size * check.tolerance
    wrong = {
        f"its verdict is {check.verdict}, its interval makes it {judged}": (
            check.verdict is not judged and not is_open
        ),
        "it is exact, and has draws or an interval of more than its value": (
            exact and (drawn != (0, 0, 0) or check.interval != (check.estimate, check.estimate))
        ),
        f"it was measured with {check.blocks} blocks in {check.looks} looks": (
            not exact and not (check.blocks and 1 <= check.looks <= MAX_LOOKS)
        ),
        "its band is not its prediction with its tolerance": not all(
            math.isclose(one, width, rel_tol=1e-6, abs_tol=4e-16 * max(1.0, abs(check.prediction)))
            for one in reached
        ),
    }
    yield from (text for text, applies in wrong.items() if applies)


def _of_derivation(proof: DerivationRecord, checks: Sequence[Check]) -> Iterator[str]:
    """Yield what contradicts a derivation's status and what is bound to it; a failed one has no checks."""
    reaches = {step.reach for route in proof.routes for step in route.steps}
    holds = all(step.holds for route in proof.routes for step in route.steps)
    unbound = {check.id for check in checks if check.method != "exact" and check.origin == "derived"} - set(
        proof.bound
    )
    less = {
        Proof.PROVED: bool(proof.beyond) or reaches != {"all-values"},
        Proof.REVIEWED: bool(reaches & {"these-values", "numerically"}),
        Proof.FAILED: bool(checks),
    }
    if less.get(proof.status, False) or not (holds or proof.status is Proof.FAILED):
        yield f"its derivation is called {proof.status}, and its steps say otherwise"
    if unbound or set(proof.bound) - {check.id for check in checks}:
        yield "its derivation is bound to other checks than those whose predictions are called derived"


def contradictions_of_run(record: RunRecord) -> Iterator[str]:
    """Yield what in a run's record is not what its own numbers make of it, with the place."""
    chosen, budget = record.run.settings, ErrorBudget(record.run.settings.false_alarm)
    for claim in record.claims:
        yield from (f"claim {claim.id}: {one}" for one in contradictions_of_claim(claim))
        yield from (f"claim {claim.id}: {one}" for one in _of_settings(claim, chosen))
    counts = record.measured_checks, sum(len(claim.controls) for claim in record.claims)
    if record.measured_checks <= PLACES and record.run.budget != budget.record(*counts):
        yield "its error budget is not that of its checks and settings"
    claims = {claim.id: claim for claim in record.claims}
    for statement in record.statements:
        yield from (f"statement {statement.id}: {one}" for one in _of_statement(statement, claims))


def _of_settings(claim: ClaimRecord, chosen: Settings) -> Iterator[str]:
    budget = ErrorBudget(chosen.false_alarm)
    for check in claim.checks:
        if check.method == "exact":
            continue
        if not math.isclose(1 - check.level, budget.share(check.looks), rel_tol=1e-6):
            yield f"check {check.id}: its level is not that of look {check.looks} of the run's budget"
        if check.tolerance > WIDE * chosen.tolerance * (1 + _CLOSE) and not check.tolerance_because:
            yield f"check {check.id}: its tolerance is wide, and it does not say why"


def _of_statement(statement: Statement, claims: Mapping[str, ClaimRecord]) -> Iterator[str]:
    exactly = {True}
    for number, part in enumerate(statement.parts, 1):
        if part.evidence.startswith("compute:"):
            continue
        verdict, figure = _evidence(part, claims.get(part.claim))
        if part.holds not in _possible(part, verdict, figure):
            yield f"part {number}: its evidence is {verdict}, which does not go with {part.holds}"
        if verdict is Verdict.APPROXIMATE:
            # Unless the source says no more than "about".
            exactly.add(False)
    outcomes = [outcome_of(statement.parts, exactly=one) for one in exactly]
    if statement.outcome not in outcomes:
        yield f"its outcome is {statement.outcome}, its parts make it {outcomes[0]}"


def _evidence(part: Part, claim: ClaimRecord | None) -> tuple[Verdict | None, float | None]:
    """Return the verdict that decides a part, None where there is none, and the figure it predicts."""
    if claim is None or claim.derivation.status is Proof.FAILED:
        return Verdict.UNDECIDED, None
    found: dict[str, tuple[Verdict, float | None]] = {"verdict": (claim.verdict, None)}
    found |= {f"check:{one.id}": (one.verdict, one.prediction) for one in claim.checks}
    found |= {f"control:{one.id}": (one.verdict, None) for one in claim.controls}
    found |= {f"fact:{one.id}": (Verdict.CONFIRMED, one.value) for one in claim.facts}
    return found.get(part.evidence, (None, None))


def _possible(part: Part, verdict: Verdict | None, figure: float | None) -> set[bool | None]:
    """Return what the evidence lets a part be: held, not, or open (None)."""
    is_printed = part.printed is not None and figure is not None
    if verdict is None:
        return set()
    if verdict is Verdict.UNDECIDED or (is_printed and verdict is Verdict.REFUTED):
        return {None}
    if part.printed is not None and figure is not None:
        return {rounds_to(figure, part.printed, about=about) for about in (False, True)}
    return {verdict is not Verdict.REFUTED}
