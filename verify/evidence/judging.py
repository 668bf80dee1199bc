"""The one judge: from intervals and bands to verdicts, within one false-alarm budget for the whole run.

A run judges by it, and so does whatever reads a record: of a file, a store or a cluster nothing is believed
that these rules can work out again.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from verify.errors import SettingsError
from verify.evidence.claims import Check, ControlRecord, Proof, Verdict
from verify.evidence.runs import Budget, Outcome, Part

Interval = tuple[float, float]

PLACES = 1000
"""Shares of the budget. A fixed number, so that no check's level depends on which claims are run."""
WIDE = 2.0
"""A tolerance of more than this many times the run's needs a reason in words."""
OF_ITSELF = "the prediction"
"""What a tolerance is a fraction of, where nothing else is said."""
_DERIVED = {
    Proof.PROVED: "derived, and ",
    Proof.REVIEWED: "its derivation is reviewed, not proved, and ",
    Proof.AT_EXAMPLES: "its derivation is checked at examples, and ",
    Proof.IN_PART: "derived in part, and ",
}
GROWTH, PLANNED_LOOK, MAX_LOOKS = 1.5, 2, 11
"""A sample grows by half of itself at each look after the first.

The second is of the planned size, of a bound the first. Two of three checks are decided at the first look,
and of those that are open at the planned size most by the next half. The last is of 38 times the planned
size; then a check is undecided.
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
        (unmeasured, Verdict.UNDECIDED, "nothing was measured, or no negative control was judged"),
        (refuted, Verdict.REFUTED, f"by {refuted}"),
        (standing, Verdict.UNDECIDED, f"negative control not rejected: {standing}"),
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
        "its negative control is rejected"
        if controls == 1
        else f"{_all(str(controls))} negative controls are rejected"
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
