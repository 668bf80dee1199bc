"""Verdicts and the false-alarm budget; records that contradict their own numbers are refused."""

import math
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.report.builders import check, control
from tests.strategies import examples, floats, spans
from verify.errors import ResultsError, SettingsError
from verify.evidence import Check, ControlRecord, Proof, RunRecord, Verdict, digest_of
from verify.evidence.judging import MAX_LOOKS, PLACES, ErrorBudget, Interval, claim_verdict, judge
from verify.evidence.load import load, shipped
from verify.montecarlo.experiment import band

Change = Callable[[dict[str, Any]], None]

CONFIRMED, APPROXIMATE, REFUTED, UNDECIDED = Verdict


class TestJudge:
    """One interval, one prediction, one band."""

    BAND = (9.0, 11.0)

    @examples(100)
    @given(spans(), floats(-10, 10), floats(0, 5))
    def test_every_verdict_means_what_it_says(
        self, interval: Interval, prediction: float, width: float
    ) -> None:
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


class TestBounds:
    """Predictions that bound the quantity instead of giving it."""

    @examples(80)
    @given(spans(), floats(-10, 10), floats(0, 5), floats(1, 9))
    def test_no_tolerance_saves_a_bound(
        self, interval: Interval, prediction: float, width: float, wider: float
    ) -> None:
        """Wholly beyond a bound every interval refutes it, at any tolerance; no other one does."""
        beyond = interval[0] > prediction
        for one in (width, wider * width):
            verdict = judge(interval, prediction, band(prediction, one, "≤"))
            assert (verdict is REFUTED) == beyond
            assert verdict is not APPROXIMATE


class TestFalseAlarms:
    """The budget of the whole run."""

    @examples(30)
    @given(floats(1e-9, 0.2))
    def test_the_looks_of_all_checks_stay_within_the_rate(self, rate: float) -> None:
        """However many looks, a check spends at most 1/PLACES of the rate, and all places the rate."""
        shares = [ErrorBudget(rate).share(look) for look in range(1, 2000)]
        assert math.fsum(shares) <= rate / PLACES
        assert PLACES * math.fsum(shares[:MAX_LOOKS]) <= rate
        # Nearly all of it is spent in the end: the series 6/(π²k²) adds up to 1.
        assert math.fsum(shares) > 0.999 * rate / PLACES

    def test_too_many_checks_are_refused(self) -> None:
        """A budget is never overdrawn in silence."""
        with pytest.raises(SettingsError, match=f"{PLACES + 1} checks.*{PLACES} places; run fewer"):
            ErrorBudget(1e-3).record(PLACES + 1, 0)


def made(name: str, verdict: Verdict) -> Check:
    """Return a measured check with this verdict."""
    return check(name, 1, 1, verdict=verdict)


def wrong(name: str, verdict: Verdict) -> ControlRecord:
    """Return a control with this verdict."""
    return control(name, "", 2, 1, verdict=verdict)


class TestOfClaim:
    """What checks, controls and derivation come to together."""

    def test_every_combination(self) -> None:
        """The worst counts; nothing is confirmed while a proof failed or a control stands."""
        for proof, one, two, other in product(Proof, Verdict, Verdict, Verdict):
            verdict, reason = claim_verdict(
                proof, "step 2", [made("one", one), made("two", two)], [wrong("wrong", other)]
            )
            if proof is Proof.FAILED:
                expected = UNDECIDED
            elif REFUTED in (one, two):
                expected = REFUTED
            elif other is not REFUTED or UNDECIDED in (one, two):
                expected = UNDECIDED
            elif APPROXIMATE in (one, two):
                expected = APPROXIMATE
            else:
                expected = CONFIRMED
            assert verdict is expected, (proof, one, two, other)
            assert reason
            assert "\n" not in reason

    def test_reasons_name_the_culprit(self) -> None:
        """Each reason says which check, control or step it was."""
        good, bad = made("good", CONFIRMED), wrong("wrong", REFUTED)
        ending = "exact checks agree; its negative control is rejected"
        computed = good.model_copy(update={"method": "exact"})
        loose = good.model_copy(update={"origin": "computed"})
        vague = made("vague", UNDECIDED).model_copy(update={"reason": "too skewed"})
        cases = [
            (Proof.PROVED, [good, made("off", REFUTED)], [bad], "by off"),
            (Proof.FAILED, [], [], "the derivation failed, so nothing was drawn: step 2"),
            (Proof.PROVED, [good], [wrong("w", CONFIRMED)], "negative control not rejected: w"),
            (Proof.PROVED, [good, made("open", UNDECIDED)], [bad], "undecided at the largest sample: open"),
            (
                Proof.PROVED,
                [good, made("near", APPROXIMATE)],
                [bad],
                "within tolerance, but the exact value is excluded: near",
            ),
            (
                Proof.PROVED,
                [good],
                [bad],
                "derived, and its measured check agrees; its negative control is rejected",
            ),
            (
                Proof.PROVED,
                [good, loose, computed],
                [bad],
                f"derived, 1 of 2 checks bound to it, and all 2 measured and 1 {ending}",
            ),
            (
                Proof.PROVED,
                [loose, computed],
                [bad],
                f"derived, though not bound to what is measured; all 1 measured and 1 {ending}",
            ),
            (
                Proof.NOT_CLAIMED,
                [good, good],
                [bad, bad],
                "both measured checks agree; both negative controls are rejected",
            ),
            (
                Proof.AT_EXAMPLES,
                [good, good, computed],
                [bad],
                f"its derivation is checked at examples, and all 2 measured and 1 {ending}",
            ),
            (
                Proof.IN_PART,
                [computed],
                [bad],
                "derived in part, and its exact check agrees; its negative control is rejected",
            ),
            (Proof.PROVED, [good, vague], [bad], "undecided at the largest sample: vague (too skewed)"),
        ]
        for proof, checks, controls, reason in cases:
            assert claim_verdict(proof, "step 2", checks, controls)[1] == reason


@pytest.fixture(scope="module")
def honest() -> dict[str, Any]:
    """Return a few claims of the reference as a file has them."""
    record = shipped()
    names = {"score-variance", "softmax-saturation", "worked-dot-products", "gradient-through-layers"}
    claims = tuple(one for one in record.claims if one.id in names)
    statements = tuple(one for one in record.statements if {part.claim for part in one.parts} <= names)
    checks = sum(one.measured_checks for one in claims)
    budget = record.run.budget.model_copy(
        update={
            "checks": checks,
            "controls": sum(len(one.controls) for one in claims),
            "spent": record.run.budget.false_alarm * checks / record.run.budget.places,
        }
    )
    run = record.run.model_copy(update={"budget": budget})
    changed = {"claims": claims, "statements": statements, "run": run}
    return record.model_copy(update=changed).model_dump(mode="json", by_alias=True)


def sealed_again(content: dict[str, Any], change: Change, path: Path) -> Path:
    """Write a changed copy whose digests and seal fit, as a forger would."""
    record = RunRecord.model_validate(content).model_dump(mode="json", by_alias=True)
    change(record)
    forged = RunRecord.model_validate(record)
    claims = tuple(one.model_copy(update={"digest": digest_of(one)}) for one in forged.claims)
    path.write_text(forged.model_copy(update={"claims": claims}).sealed().to_json(), encoding="utf-8")
    return path


def _set(place: str, to: Any) -> Change:
    *outer, last = [int(step) if step.isdigit() else step for step in place.split(".")]

    def change(record: dict[str, Any]) -> None:
        inside: Any = record
        for step in outer:
            inside = inside[step]
        inside[last] = to

    return change


def _control_stands(record: dict[str, Any]) -> None:
    for one in record["claims"][0]["controls"]:
        one["verdict"] = "confirmed"


def _no_reason(record: dict[str, Any]) -> None:
    record["claims"][0]["checks"][0] |= {"verdict": "undecided", "reason": ""}


def _five_times(record: dict[str, Any]) -> None:
    check = record["claims"][0]["checks"][0]
    for name in ("prediction", "estimate", "standard_error"):
        check[name] *= 5
    for name in ("interval", "band"):
        check[name] = [5 * end for end in check[name]]


FORGED: dict[str, tuple[Change, str]] = {
    "check refuted, claim confirmed": (
        _set("claims.0.checks.0.verdict", "refuted"),
        "check variance-d1: its verdict is refuted, its interval makes it confirmed",
    ),
    "undecided without a reason": (_no_reason, "check variance-d1: its verdict is undecided"),
    "all controls confirmed": (_control_stands, "control d-squared: its verdict is confirmed"),
    "no checks": (_set("claims.0.checks", []), "its derivation is bound to other checks"),
    "no controls": (_set("claims.0.controls", []), "its checks and controls make it undecided"),
    "vast interval": (_set("claims.0.checks.0.interval", [-1e308, 1e308]), "its interval makes it undecided"),
    "wide tolerance": (_set("claims.0.checks.0.tolerance", 0.99), "its band is not its prediction"),
    "wide band": (_set("claims.0.checks.0.band", [0.01, 1.99]), "its band is not its prediction"),
    "another level": (_set("claims.0.checks.0.level", 0.5), "its level is not that of look 2"),
    "all numbers but the formula": (_five_times, "its prediction is not the value of its formula"),
    "no draws": (_set("claims.0.checks.0.blocks", 0), "with 0 blocks in 2 looks"),
    "fewer draws than blocks": (_set("claims.0.checks.0.draws", 1), "blocks in 2 looks"),
    "a control's draws": (_set("claims.0.controls.0.draws", 1), "it has more blocks than draws"),
    "vast error": (
        _set("claims.0.checks.0.standard_error", 1e308),
        "its standard error is larger than its interval",
    ),
    "called proved": (_set("claims.3.derivation.status", "proved"), "called proved"),
    "called reviewed": (_set("claims.0.derivation.status", "reviewed"), "called reviewed"),
    "called not claimed": (_set("claims.0.derivation.status", "not-claimed"), "called not-claimed"),
    "a route has no steps": (_set("claims.0.derivation.routes.0.steps", []), "its steps say otherwise"),
    "a step does not hold": (
        _set("claims.0.derivation.routes.0.steps.0.holds", False),
        "its steps say otherwise",
    ),
    "not bound": (_set("claims.0.derivation.bound", []), "its derivation is bound to other checks"),
    "claim refuted": (_set("claims.0.verdict", "refuted"), "its verdict is refuted"),
    "another reason": (_set("claims.0.reason", "by decree"), "its reason is not that of its verdict"),
    "larger tolerance of the run": (_set("run.settings.false_alarm", 0.01), "its level is not"),
    "a claim left out": (_set("run.claims", ["score-mean"]), "claim score-mean was asked for, and is"),
    "budget": (_set("run.budget.spent", 0.0), "its error budget is not that of its checks"),
    "another figure": (
        _set("claims.0.facts.2.value", 2.001),
        "fact exact-variance-d2: its value is not that of its formula",
    ),
    "another rounded figure": (
        _set("claims.2.facts.0.value", 0.668649),
        "fact one-dimension: its value is not that of its formula",
    ),
    "statement wrong": (_set("statements.0.outcome", "wrong"), "statement v1: its outcome is wrong"),
    "part open": (_set("statements.0.parts.0.holds", None), "statement v1: part 1"),
}


def test_an_honest_record_is_read(honest: dict[str, Any], tmp_path: Path) -> None:
    """Sealed again without a change it loads."""
    path = sealed_again(honest, lambda _: None, tmp_path / "results.json")
    assert len(load(path).claims) == 4


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_record_is_refused(honest: dict[str, Any], tmp_path: Path, name: str) -> None:
    """In one line that names the place."""
    change, message = FORGED[name]
    path = sealed_again(honest, change, tmp_path / "results.json")
    with pytest.raises(ResultsError) as raised:
        load(path)
    text = str(raised.value)
    assert message in text
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
