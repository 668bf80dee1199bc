"""Verdicts and the false-alarm budget: the band rule, its edges, and what a whole claim comes to."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from tests.strategies import FALSE_ALARM, examples, floats, spans
from verify.engine.verdict import MAX_LOOKS, PLACES, ErrorBudget, claim_verdict, judge, refuting_power
from verify.errors import SettingsError
from verify.evidence import Check, Control, Proof, Verdict
from verify.montecarlo.estimands import Measured
from verify.montecarlo.experiment import band, excess

if TYPE_CHECKING:
    from verify.engine.verdict import Interval
    from verify.montecarlo.experiment import Relation

CONFIRMED, APPROXIMATE, REFUTED, UNDECIDED = Verdict


class TestJudge:
    """One interval, one prediction, one band."""

    BAND = (9.0, 11.0)

    @pytest.mark.parametrize(
        ("interval", "verdict"),
        [
            pytest.param((9.5, 10.5), CONFIRMED, id="inside-with-the-prediction"),
            pytest.param((9.0, 11.0), CONFIRMED, id="the-band-itself"),
            pytest.param((10.0, 10.0), CONFIRMED, id="exactly-the-prediction"),
            pytest.param((10.0, 10.5), CONFIRMED, id="prediction-on-the-lower-end"),
            pytest.param((9.5, 10.0), CONFIRMED, id="prediction-on-the-upper-end"),
            pytest.param((10.1, 10.5), APPROXIMATE, id="inside-without-the-prediction"),
            pytest.param((9.0, 9.9), APPROXIMATE, id="inside-from-the-lower-edge"),
            pytest.param((10.1, 11.0), APPROXIMATE, id="inside-to-the-upper-edge"),
            pytest.param((8.0, 10.5), UNDECIDED, id="across-the-lower-edge"),
            pytest.param((9.5, 12.0), UNDECIDED, id="across-the-upper-edge"),
            pytest.param((8.0, 12.0), UNDECIDED, id="around-the-band"),
            pytest.param((8.0, 9.0), UNDECIDED, id="touching-from-below"),
            pytest.param((11.0, 12.0), UNDECIDED, id="touching-from-above"),
            pytest.param((8.0, math.nextafter(9.0, 0)), REFUTED, id="just-below"),
            pytest.param((math.nextafter(11.0, 12), 12.0), REFUTED, id="just-above"),
            pytest.param((-5.0, -4.0), REFUTED, id="far-off"),
            pytest.param((math.nan, math.nan), UNDECIDED, id="not-a-number"),
            pytest.param((-math.inf, math.inf), UNDECIDED, id="no-information"),
        ],
    )
    def test_the_table(self, interval: Interval, verdict: Verdict) -> None:
        """Edges belong to the band."""
        assert judge(interval, 10.0, self.BAND) is verdict

    @examples(50)
    @given(spans(), floats(-10, 10), spans())
    def test_an_unreliable_interval_decides_nothing(
        self, interval: Interval, prediction: float, within: Interval
    ) -> None:
        """Whatever it is, an interval that cannot be trusted leaves the check undecided."""
        assert judge(interval, prediction, within, reliable=False) is UNDECIDED

    @examples(300)
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

    @examples(100)
    @given(spans(), floats(-10, 10), floats(0, 5), floats(0, 5))
    def test_a_wider_interval_never_decides_more(
        self, interval: Interval, prediction: float, width: float, margin: float
    ) -> None:
        """What an interval leaves open, a wider one leaves open; small samples are not rewarded."""
        within = band(prediction, width)
        wider = (interval[0] - margin, interval[1] + margin)
        if judge(interval, prediction, within) is UNDECIDED:
            assert judge(wider, prediction, within) is UNDECIDED

    def test_exact_values_are_equal_or_refuted(self) -> None:
        """With no width at all there is nothing between equal and refuted."""
        assert judge((2.0, 2.0), 2.0, band(2.0, 0.0)) is CONFIRMED
        assert judge((2.0, 2.0), math.nextafter(2.0, 3), band(math.nextafter(2.0, 3), 0.0)) is REFUTED


class TestBounds:
    """Predictions that bound the quantity instead of giving it."""

    @pytest.mark.parametrize(
        ("relation", "interval", "expected"),
        [
            ("≤", (-50.0, 9.0), CONFIRMED),
            ("≤", (9.0, 10.5), CONFIRMED),
            ("≤", (10.0, 11.0), CONFIRMED),
            ("≤", (math.nextafter(10.0, 11), 10.9), REFUTED),
            ("≤", (9.9, 11.5), UNDECIDED),
            ("≤", (10.0, 11.5), UNDECIDED),
            ("≤", (10.5, 11.5), REFUTED),
            ("≤", (11.1, 12.0), REFUTED),
            ("≥", (11.0, 99.0), CONFIRMED),
            ("≥", (9.5, 11.0), CONFIRMED),
            ("≥", (9.0, 10.0), CONFIRMED),
            ("≥", (9.1, math.nextafter(10.0, 9)), REFUTED),
            ("≥", (8.0, 10.1), UNDECIDED),
            ("≥", (8.0, 10.0), UNDECIDED),
            ("≥", (8.0, 9.5), REFUTED),
            ("≥", (7.0, 8.9), REFUTED),
        ],
    )
    def test_one_side_is_open(self, relation: Relation, interval: Interval, expected: Verdict) -> None:
        """A bound of 10 ± 1 is kept on one side of it, and broken by what lies wholly on the other."""
        assert judge(interval, 10.0, band(10.0, 1.0, relation)) is expected

    @examples(200)
    @given(spans(), floats(-10, 10), floats(0, 5))
    def test_mirrored(self, interval: Interval, prediction: float, width: float) -> None:
        """An upper bound of a quantity is a lower bound of its opposite."""
        upper = judge(interval, prediction, band(prediction, width, "≤"))
        turned = (-interval[1], -interval[0])
        assert judge(turned, -prediction, band(-prediction, width, "≥")) is upper

    @examples(200)
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

    @examples(100)
    @given(floats(-20, 20), floats(-10, 10), floats(0, 5))
    def test_excess(self, value: float, prediction: float, width: float) -> None:
        """Positive outside the band, negative inside, and 0 on its edge."""
        assert excess(value, band(prediction, width)) == pytest.approx(abs(value - prediction) - width)
        assert excess(value, band(prediction, width, "≤")) == pytest.approx(value - prediction - width)
        assert excess(value, band(prediction, width, "≥")) == pytest.approx(prediction - value - width)

    def test_power_counts_the_closed_side_only(self) -> None:
        """A value far beyond an upper bound is refuted with power 1, one far below it never."""
        above, below = (Measured(v, 1.0, (v - 4, v + 4), 1, 1) for v in (40.0, -40.0))
        assert refuting_power(above, band(10.0, 1.0, "≤")) > 1 - 1e-6
        assert refuting_power(below, band(10.0, 1.0, "≤")) == 0.0


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

    def test_later_looks_get_less(self) -> None:
        """Look k has 1/k² of the first."""
        budget = ErrorBudget(1e-3)
        assert [budget.share(k) for k in (2, 3, 6)] == pytest.approx(
            [budget.share(1) / k**2 for k in (2, 3, 6)]
        )

    def test_the_record(self) -> None:
        """What is spent is the used places' part."""
        budget = ErrorBudget(1e-3).record(250, 40)
        assert (budget.places, budget.checks, budget.controls) == (PLACES, 250, 40)
        assert budget.spent == pytest.approx(2.5e-4)
        assert ErrorBudget(0.01).record(PLACES, 0).spent == pytest.approx(0.01)

    def test_too_many_checks_are_refused(self) -> None:
        """A budget is never overdrawn in silence."""
        with pytest.raises(SettingsError, match=f"{PLACES + 1} checks.*{PLACES} places; run fewer"):
            ErrorBudget(1e-3).record(PLACES + 1, 0)


class TestRefutingPower:
    """The probability with which a wrong version is refuted."""

    @staticmethod
    def measured(value: float, error: float, quantile: float = 4.0) -> Measured:
        """Return an estimate with a symmetric interval."""
        half = quantile * error
        return Measured(value, error, (value - half, value + half), 100, 100)

    @pytest.mark.parametrize("distance", [3.0, 4.0, 4.5, 6.0, -4.0, -5.0])
    def test_against_simulation(self, distance: float) -> None:
        """Of 20,000 estimates about the truth the stated part is disjoint, by the exact binomial bound."""
        truth, error, within = 10.0 + distance, 1.0, (10.0, 10.0)
        power = refuting_power(self.measured(truth + 0.3, error), within, truth)
        drawn = np.random.default_rng(3).normal(truth, error, 20_000)
        disjoint = int(np.sum((drawn - 4 > 10) | (drawn + 4 < 10)))
        low, high = (stats.binom.ppf(tail, 20_000, power) for tail in (FALSE_ALARM / 2, 1 - FALSE_ALARM / 2))
        assert low <= disjoint <= high

    def test_sides_and_edges(self) -> None:
        """One half where the interval just touches, on either side; none inside, nearly all far off."""
        assert refuting_power(self.measured(15.0, 1.0), (9.0, 11.0)) == pytest.approx(0.5)
        assert refuting_power(self.measured(5.0, 1.0), (9.0, 11.0)) == pytest.approx(0.5)
        assert refuting_power(self.measured(10.0, 1.0), (9.0, 11.0)) < 1e-6
        assert refuting_power(self.measured(40.0, 1.0), (9.0, 11.0)) > 1 - 1e-6

    def test_asymmetric_intervals(self) -> None:
        """Only the reach towards the band counts."""
        above = Measured(15.0, 1.0, (13.0, 99.0), 1, 1)
        assert refuting_power(above, (9.0, 11.0)) == pytest.approx(stats.norm.cdf(2))
        below = Measured(5.0, 1.0, (-99.0, 8.0), 1, 1)
        assert refuting_power(below, (9.0, 11.0)) == pytest.approx(stats.norm.cdf(1))

    def test_the_derived_error_is_preferred(self) -> None:
        """Where the error is derived, the measured one is not used."""
        one = Measured(15.0, 50.0, (13.0, 17.0), 1, 1, model_error=1.0)
        assert refuting_power(one, (9.0, 11.0)) == pytest.approx(stats.norm.cdf(2))

    @pytest.mark.parametrize(("value", "power"), [(12.0, 1.0), (8.0, 1.0), (10.5, 0.0), (11.0, 0.0)])
    def test_without_error(self, value: float, power: float) -> None:
        """An exact value is refuted surely or not at all."""
        assert refuting_power(self.measured(value, 0.0), (9.0, 11.0)) == power

    @examples(60)
    @given(floats(-20, 20), floats(0.01, 5), floats(1, 7), floats(0, 5))
    def test_further_off_is_refuted_more_often(
        self, value: float, error: float, quantile: float, further: float
    ) -> None:
        """Power grows with the distance from the band."""
        assume(value != 0)
        near = refuting_power(self.measured(value, error, quantile), (-1.0, 1.0))
        far = refuting_power(
            self.measured(value + math.copysign(further, value), error, quantile), (-1.0, 1.0)
        )
        assert 0 <= near <= far + 1e-12
        assert far <= 1


def check(name: str, verdict: Verdict) -> Check:
    """Return a check with this verdict."""
    return Check(
        id=name,
        quantity="",
        method="monte-carlo",
        cell={},
        prediction=1,
        prediction_latex="1",
        estimate=1,
        standard_error=0.1,
        interval=(0.9, 1.1),
        level=0.99,
        tolerance=0.1,
        tolerance_of="the prediction",
        band=(0.9, 1.1),
        verdict=verdict,
        looks=1,
        blocks=1,
        draws=1,
    )


def control(name: str, verdict: Verdict) -> Control:
    """Return a control with this verdict."""
    return Control(
        id=name,
        what="",
        cell={},
        prediction=2,
        estimate=1,
        interval=(0.9, 1.1),
        band=(1.8, 2.2),
        verdict=verdict,
        power=1,
        blocks=1,
        draws=1,
    )


class TestOfClaim:
    """What checks, controls and derivation come to together."""

    @pytest.mark.parametrize("proof", Proof)
    @pytest.mark.parametrize(("one", "two", "wrong"), list(product(Verdict, repeat=3)))
    def test_every_combination(self, proof: Proof, one: Verdict, two: Verdict, wrong: Verdict) -> None:
        """The worst counts; nothing is confirmed while a proof failed or a control stands."""
        verdict, reason = claim_verdict(
            proof, "step 2", [check("one", one), check("two", two)], [control("wrong", wrong)]
        )
        if proof is Proof.FAILED:
            expected = UNDECIDED
        elif REFUTED in (one, two):
            expected = REFUTED
        elif wrong is not REFUTED or UNDECIDED in (one, two):
            expected = UNDECIDED
        elif APPROXIMATE in (one, two):
            expected = APPROXIMATE
        else:
            expected = CONFIRMED
        assert verdict is expected
        assert reason
        assert "\n" not in reason

    def test_reasons_name_the_culprit(self) -> None:
        """Each reason says which check, control or step it was."""
        good, bad = check("good", CONFIRMED), control("wrong", REFUTED)
        ending = "exact checks agree; its wrong version is refuted"
        computed = good.model_copy(update={"method": "exact"})
        loose = good.model_copy(update={"origin": "computed"})
        vague = check("vague", UNDECIDED).model_copy(update={"reason": "too skewed"})
        cases = [
            (Proof.PROVED, [good, check("off", REFUTED)], [bad], "refuted by off"),
            (Proof.FAILED, [], [], "the derivation failed, so nothing was drawn: step 2"),
            (Proof.PROVED, [good], [control("w", CONFIRMED)], "the wrong version was not refuted: w"),
            (Proof.PROVED, [good, check("open", UNDECIDED)], [bad], "undecided at the largest sample: open"),
            (
                Proof.PROVED,
                [good, check("near", APPROXIMATE)],
                [bad],
                "within tolerance, but the exact value is excluded: near",
            ),
            (
                Proof.PROVED,
                [good],
                [bad],
                "derived, and its measured check agrees; its wrong version is refuted",
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
                "both measured checks agree; both wrong versions are refuted",
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
                "derived in part, and its exact check agrees; its wrong version is refuted",
            ),
            (
                Proof.PROVED,
                [good, vague],
                [bad],
                "undecided at the largest sample: vague (too skewed)",
            ),
        ]
        for proof, checks, controls, reason in cases:
            assert claim_verdict(proof, "step 2", checks, controls)[1] == reason


@examples(50)
@given(st.lists(st.sampled_from(Verdict), min_size=1, max_size=4))
def test_the_order_of_checks_does_not_matter(verdicts: list[Verdict]) -> None:
    """A claim's verdict is a function of the set of its checks."""
    checks = [check(f"c{i}", verdict) for i, verdict in enumerate(verdicts)]
    turned = checks[::-1]
    assert (
        claim_verdict(Proof.PROVED, "", checks, [control("w", REFUTED)])[0]
        is claim_verdict(Proof.PROVED, "", turned, [control("w", REFUTED)])[0]
    )
