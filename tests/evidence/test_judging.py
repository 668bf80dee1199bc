"""Verdicts, what a claim's parts come to, and the false-alarm budget."""

import math
from itertools import product
from typing import Any

from hypothesis import given

from tests.report.builders import check, check_that_is, control_that_is, exact_check
from tests.strategies import examples, floats, spans
from verify.evidence import Check, Proof, Verdict
from verify.evidence.claims import claim_verdict
from verify.evidence.judging import MAX_LOOKS, PLACES, Interval, judge, share
from verify.montecarlo.experiment import band

CONFIRMED, APPROXIMATE, REFUTED, UNDECIDED = Verdict


@examples(100)
@given(spans(), floats(-10, 10), floats(0, 5))
def test_every_verdict_means_what_it_says(interval: Interval, prediction: float, width: float) -> None:
    """Refuted exactly if disjoint; confirmed exactly if inside and around the prediction; and so on."""
    within = band(prediction, width)
    inside = within[0] <= interval[0] and interval[1] <= within[1]
    disjoint = interval[1] < within[0] or within[1] < interval[0]
    around = interval[0] <= prediction <= interval[1]
    expected = {
        REFUTED: disjoint,
        CONFIRMED: inside and around,
        APPROXIMATE: inside and not around,
        UNDECIDED: not inside and not disjoint,
    }
    verdict = judge(interval, prediction, within)
    assert expected[verdict]
    assert sum(expected.values()) == 1
    if not around:
        assert verdict is not CONFIRMED


@examples(80)
@given(spans(), floats(-10, 10), floats(0, 5), floats(1, 9))
def test_no_tolerance_saves_a_bound(
    interval: Interval, prediction: float, width: float, wider: float
) -> None:
    """Wholly beyond a bound every interval refutes it, at any tolerance; no other one does."""
    beyond = interval[0] > prediction
    for half in (width, wider * width):
        verdict = judge(interval, prediction, band(prediction, half, "≤"))
        assert (verdict is REFUTED) == beyond
        assert verdict is not APPROXIMATE


@examples(30)
@given(floats(1e-9, 0.2))
def test_the_looks_of_all_checks_stay_within_the_rate(rate: float) -> None:
    """However many looks, a check spends at most 1/PLACES of the rate, and all places the rate."""
    shares = [share(rate, look) for look in range(1, 2000)]
    assert math.fsum(shares) <= rate / PLACES
    assert PLACES * math.fsum(shares[:MAX_LOOKS]) <= rate
    # Nearly all of it is spent in the end: the series 6/(π²k²) adds up to 1.
    assert math.fsum(shares) > 0.999 * rate / PLACES


def test_the_worst_part_decides_a_claim() -> None:
    """The worst counts; nothing is confirmed while a proof failed or a control stands."""
    for proof, first, second, control in product(Proof, Verdict, Verdict, Verdict):
        verdict, reason = claim_verdict(
            proof,
            "step 2",
            [check_that_is(first, "one"), check_that_is(second, "two")],
            [control_that_is(control, "wrong")],
        )
        order = (UNDECIDED,) if proof is Proof.FAILED else (REFUTED, UNDECIDED, APPROXIMATE, CONFIRMED)
        stands = UNDECIDED if control is not REFUTED or proof is Proof.FAILED else CONFIRMED
        expected = next(worst for worst in order if worst in (first, second, stands))
        assert verdict is expected, (proof, first, second, control)
        assert reason
        assert "\n" not in reason


def test_reasons_name_the_culprit() -> None:
    """Each reason says which check, control or step it was."""
    good, wrong = check_that_is(CONFIRMED, "good"), control_that_is(REFUTED, "wrong")
    fit, computed = (good.model_copy(update={"method": method}) for method in ("fit", "exact"))
    vague, other = check_that_is(UNDECIDED, "vague"), good.model_copy(update={"origin": "set"})
    off, far, near = check_that_is(REFUTED, "off"), check("far", 130, 64), check_that_is(APPROXIMATE, "near")

    def reason(*checks: Check, proof: Proof = Proof.DERIVED, controls: Any = (wrong,)) -> str:
        return claim_verdict(proof, "step 2", checks, controls)[1]

    by_far = "by far (measured 130.00, predicted 64: 2 times as large), and by off"
    assert reason(good, off, far, exact_check("e", 1.0, "1", "p")) == by_far
    failed = "the derivation failed, so nothing was drawn: step 2"
    assert reason(proof=Proof.FAILED, controls=()) == failed
    assert reason(controls=()) == "nothing was measured, or no negative control was judged"
    assert reason(good, controls=[control_that_is(CONFIRMED, "w")]) == "negative control not rejected: w"
    assert reason(good, vague) == "undecided at the largest sample: vague (it is made up)"
    assert reason(good, near) == "within tolerance, but the exact value is excluded: near"
    rejected = "1 wrong version rejected"
    assert reason(good) == f"derived; 1 measurement agrees, {rejected}"
    unmeasured = "derived, but no check measures what is derived"
    assert reason(other) == f"{unmeasured}; 1 measurement agrees, {rejected}"
    several = "derived; 2 measurements, 1 fit and 1 computed value agree, 2 wrong versions rejected"
    assert reason(good, good, fit, computed, controls=(wrong, wrong)) == several
    assert reason(fit, good, fit, proof=Proof.MEASURED) == f"1 measurement and 2 fits agree, {rejected}"
    citing = f"derived, citing a theorem; 1 computed value agrees, {rejected}"
    assert reason(computed, proof=Proof.CITING) == citing
