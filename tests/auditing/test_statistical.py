"""Statistical findings: estimates, bands, names, and honesty about what was not used."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.auditing.calls import SCALE, arrays, call, of_vectors
from tests.auditing.records import good
from verify.auditing.audit import FindingKind, audit_settings, kind_of, kinds
from verify.auditing.blocks import OWN_RULE, Subject
from verify.auditing.layers import Seen, run_through
from verify.auditing.recording import Call, Layer
from verify.auditing.rows import RowMeans
from verify.auditing.statistical import (
    AtUnitVariance, Estimate, HeadQuantity, Statistical, fewest_sequences, median_interval, needed_to_decide,
    share_interval,
)  # fmt: skip
from verify.claims.chapters import CHAPTERS
from verify.errors import SettingsError
from verify.evidence.audits import Finding, Judgement
from verify.montecarlo.intervals import betting_mean
from verify.symbolic.row_integrals import mean_entropy

WIDTH, KEYS = 16, 64


def normal(sequences: int = 60, **more: Any) -> tuple[Any, Any]:
    """Return standard normal queries and keys of one head."""
    q, k, _ = arrays(21, sequences=sequences, heads=1, queries=48, keys=KEYS, d=WIDTH, **more)
    return q.astype(np.float32), k.astype(np.float32)


@pytest.fixture(scope="module")
def standard() -> dict[str, Finding]:
    """Findings on standard normal queries and keys, with the right scale."""
    return of_vectors(*normal())


def test_every_kind_is_found_and_names_its_findings_once() -> None:
    """No name is another's, and a finding leads back to its kind."""
    names = [name for kind in kinds() for name in kind.names]
    assert len(names) == len(set(names))
    assert len({kind.name for kind in kinds()}) == len(kinds())
    assert all(kind_of(name).names.count(name) == 1 for name in names)
    assert {"row-variance", "components", "gradient-pass", "largest-score"} <= {kind.name for kind in kinds()}


def test_an_unknown_finding_is_refused_with_the_nearest() -> None:
    """A kind of several findings asks for one of them."""
    with pytest.raises(SettingsError, match="did you mean 'row-variance'"):
        kind_of("row-varance")
    with pytest.raises(SettingsError, match="name one of gradient-pass-trace, gradient-pass-norm"):
        kind_of("gradient-pass")


def test_every_formula_is_a_claim_of_the_catalogue() -> None:
    """The claim that a finding names exists."""
    claims = {name for chapter in CHAPTERS.values() for name in chapter.claims}
    quantities = [one for kind in kinds() if isinstance(kind, Statistical) for one in kind.quantities]
    named = {one.claim for one in quantities} | {one.reference.claim for one in quantities if one.reference}
    assert named <= {*claims, None}
    assert len(named) > 5


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("row-variance", 1.0),
        ("independence", 1.0),
        ("components-query-mean", 0.0),
        ("components-key-variance", 1.0),
        ("components-query-dimension", 1.0),
        ("components-key-dimension", 1.0),
    ],
)
def test_standard_components_have_the_textbook_values(
    standard: dict[str, Finding], name: str, truth: float
) -> None:
    """Estimates lie near what the claims say of them, and their intervals hold it."""
    one = standard[name]
    low, high = one.interval
    assert low is not None
    assert high is not None
    assert low <= truth <= high
    assert one.estimate == pytest.approx(truth, abs=0.03)


def test_causal_rows_have_the_reference_of_as_many_keys() -> None:
    """Under a causal mask the reference is the mean over the rows' own numbers of keys."""
    q, k, _ = arrays(2, sequences=4, heads=1, queries=20, keys=20, d=WIDTH)
    one = of_vectors(q.astype(np.float32), k.astype(np.float32), causal=True)["entropy"]
    wanted = np.mean([mean_entropy(keys, 1.0).value / math.log(keys) for keys in range(8, 21)])
    assert one.reference is not None
    assert one.reference.value == pytest.approx(float(wanted))
    assert one.rows_left_out == 4 * 7


def test_a_single_token_or_sequence_is_no_crash() -> None:
    """One token sees one key: no row is used. One sequence has no partner and no interval."""
    one = of_vectors(
        np.ones((3, 1, 1, WIDTH), np.float32), np.ones((3, 1, 1, WIDTH), np.float32), gate="entropy:0..1"
    )
    assert (one["entropy"].estimate, one["entropy"].judgement) == (None, Judgement.UNDECIDED)
    assert one["components-query-dimension"].estimate is None
    alone = of_vectors(*(array[:1] for array in normal(2)))
    assert alone["independence"].estimate is None
    assert alone["row-variance"].interval == (None, None)
    assert "too few" in alone["row-variance"].reason


LAYER = good(1, 1).layers[0]
SUBJECT = Subject(Layer("attention", ()), 0, 8, 8, 64, LAYER.intention, 1e-6)


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_every_kind_keeps_to_the_contract(kind: FindingKind) -> None:
    """Of a sequence in which no key is seen it makes a finding a name at most, and estimates no statistic."""
    blind = replace(call(queries=9, keys=9), value=None, output=None, mask=np.zeros((1, 1), bool))
    seen = Seen(1)
    run_through([blind], seen, lambda _: SCALE, lambda _: None, map)
    found = list(kind.find(seen, [SUBJECT]))
    assert {one.name for one in found} <= set(kind.names)
    assert len({one.id for one in found}) == len(found)
    assert {one.kind for one in found} <= {kind.name}
    assert kind.places in (0, len(kind.names), 2 * len(kind.names))
    if isinstance(kind, Statistical) and kind.name != "largest-score":
        assert [one.estimate for one in found] == [None] * len(kind.names)
        assert not [one for one in found if one.decides]


def test_correlated_components_have_a_smaller_dimension() -> None:
    """With eight of sixteen components copied from the others the effective dimension is a half."""
    q, k = normal()
    q[..., 8:] = q[..., :8]
    one = of_vectors(q, k)["components-query-dimension"]
    assert one.estimate == pytest.approx(0.5, abs=0.05)
    assert "see correlated-components" in one.reason


def test_queries_that_know_their_sequences_keys_are_not_independent() -> None:
    """Where queries and keys are long in the same sequences, rows vary more than independence allows."""
    q, k = normal()
    length = np.exp(0.5 * np.random.default_rng(3).standard_normal((60, 1, 1, 1))).astype(np.float32)
    assert of_vectors(q * length, k)["independence"].estimate == pytest.approx(1.0, abs=0.05)
    assert (of_vectors(q * length, k * length)["independence"].interval[0] or 0) > 1.1


def test_a_wrong_scale_shows_in_the_row_variance_and_its_remark() -> None:
    """Scaled by 1/d in place of 1/√d rows vary by 1/d, and the scale that would make it 1 is named."""
    one = of_vectors(*normal(), scale=1 / WIDTH)["row-variance"]
    assert one.estimate == pytest.approx(1 / WIDTH, rel=0.1)
    assert "a scale of 0.2" in one.reason
    nothing = of_vectors(*normal(), scale=0.0)
    assert "all scores agree" in nothing["row-variance"].reason
    assert nothing["independence"].estimate is None


def test_means_of_keys_shift_rows_and_are_told_from_variance() -> None:
    """Keys with mean 1 in every component: half of the scores' variance lies between rows."""
    q, k = normal()
    found = of_vectors(q, k + 1)
    assert found["shift-share"].estimate == pytest.approx(0.5, abs=0.03)
    assert found["row-variance"].estimate == pytest.approx(1.0, abs=0.05)
    assert found["components-key-mean"].estimate == pytest.approx(1.0, abs=0.03)
    assert "score-variance asks for mean 0" in found["components-key-mean"].reason
    assert found["components-query-mean"].reason == ""


def test_large_scores_are_counted_by_sequence_and_refuted_past_the_last_limit() -> None:
    """A third of the sequences has a score past 1e4; a gate decides by it."""
    q, k = normal()
    q[::3] *= 4000
    found = of_vectors(q, k, gate="largest-score-10000")
    past = found["largest-score-10000"]
    assert past.estimate == pytest.approx(1 / 3)
    assert (past.judgement, past.decides) == (Judgement.REFUTED, True)
    assert (found["largest-score-100"].judgement, found["largest-score-100"].decides) == (
        Judgement.WARNED,
        False,
    )
    calm = of_vectors(*normal(), gate="largest-score-10000")["largest-score-10000"]
    assert calm.judgement is Judgement.CONFIRMED
    assert "larger ones may not have been seen" in calm.reason
    assert (calm.interval[1] or 0) > 0


def test_an_infinite_score_is_the_largest() -> None:
    """It passes every limit, although no mean over rows exists."""
    q, k = normal(8)
    k[2, 0, 5, :] = np.inf
    q[2] = np.abs(q[2])
    found = of_vectors(q, k)
    assert found["largest-score-10000"].estimate == pytest.approx(1 / 8)
    assert found["entropy"].sequences == 7


VALUES = np.random.default_rng(6).uniform(0.4, 0.6, size=200)


def quantity(**more: Any) -> HeadQuantity:
    """Return a quantity of rows: their variance, by its median unless it is bounded."""
    return HeadQuantity("share", "$x$", "attention-entropy", lambda rows: rows.variance, **more)


def found(values: Any, gate: Any = None, *, labels: Any = None, **more: Any) -> Finding:
    """Return the finding of head 0 on these numbers of sequences, compared with the band ``gate``."""
    count, values = len(values), np.asarray(values, dtype=np.float64)[:, None]
    nothing, none = np.zeros((count, 1)), np.zeros((count, 1), dtype=np.intp)
    patterns = np.empty((count, 1), dtype=object)
    patterns[:, 0] = [((8,), (1,))] * count
    rows = RowMeans(
        **dict.fromkeys(RowMeans._fields, nothing)
        | {"variance": values, "finite": np.isfinite(values), "few": none + 2, "blind": none + 1}
        | {"patterns": patterns, "padding": none}
    )
    seen = Seen(1)
    seen.__dict__["new_rows"] = rows
    seen.__dict__["distinct"] = np.ones(count, bool) if labels is None else np.asarray(labels)
    seen.__dict__["implied"] = np.full((count, 1), np.nan)
    kind = Statistical("shares", (quantity(**more),))
    gates = {} if gate is None else {"share": gate}
    (finding,) = kind.find(seen, [Subject(Layer("a", ()), 0, 4, 4, 64, LAYER.intention, 0.01, gates)])
    return finding


def test_without_a_gate_a_finding_is_reported_with_all_that_is_known() -> None:
    """Median, interval, level, reference, claim, sequences and rows left out; nothing decides."""
    one = found(VALUES, reference=AtUnitVariance("effective-keys", lambda keys: keys / 32))
    assert (one.id, one.kind, one.head) == ("share-head-0", "shares", 0)
    assert one.estimate == np.median(VALUES)
    assert (one.interval[0] or 1) < (one.estimate or 0) < (one.interval[1] or 0)
    assert (one.level, one.sequences, one.rows_left_out) == (0.99, 200, 400)
    assert one.reference is not None
    assert (one.reference.value, one.reference.claim, one.claim) == (
        0.25,
        "effective-keys",
        "attention-entropy",
    )
    assert (one.judgement, one.decides, one.band) == (Judgement.REPORTED, False, None)
    assert "200 rows left out that see no key" in one.reason


@pytest.mark.parametrize(
    ("band", "judgement"),
    [
        ((0.3, 0.7), Judgement.CONFIRMED),
        ((0.3, None), Judgement.CONFIRMED),
        ((None, 0.3), Judgement.REFUTED),
        ((0.7, 0.9), Judgement.REFUTED),
        ((0.501, 0.9), Judgement.UNDECIDED),
    ],
)
def test_a_gate_decides_by_the_share_inside_the_band(band: Any, judgement: Judgement) -> None:
    """More than half inside confirms, less than half refutes, anything else is undecided."""
    one = found(VALUES, band)
    assert (one.judgement, one.decides, one.band) == (judgement, True, band)
    assert re.search("[0-9]+ of 200 lie inside the band, which proves [0-9]+% to [0-9]+% of all", one.reason)
    if judgement is Judgement.UNDECIDED:
        assert (one.sequences_needed or 300) > 200


@pytest.mark.parametrize(("count", "proved"), [(48, "90%"), (200, "97%")])
def test_a_confirmed_gate_says_how_much_it_proves(count: int, proved: str) -> None:
    """Even if all sequences lie inside: the lower bound of the share at this level, here 99%."""
    one = found(np.linspace(0.4, 0.6, count), (0.3, 0.7))
    assert one.judgement is not Judgement.REFUTED
    assert f"{count} of {count} lie inside the band, which proves {proved} to 100% of all" in one.reason


def test_a_median_does_not_hide_what_is_rare() -> None:
    """3% of the sequences have five times the value: a mean over all is refused, the share is printed."""
    values = np.where(np.arange(200) % 33 == 5, 5.0, 1.0) * np.random.default_rng(3).permutation(VALUES)
    one = found(values, (0.3, 0.7))
    assert one.judgement is Judgement.CONFIRMED
    assert "194 of 200 lie inside the band" in one.reason
    assert found(values, (None, 0.7), are_bounded=False).estimate == np.median(values)


def test_few_sequences_are_undecided_and_say_how_many_would_do() -> None:
    """Five sequences prove nothing at 99%, wherever they lie."""
    one = found(VALUES[:5], (0.3, 0.7))
    assert one.judgement is Judgement.UNDECIDED
    assert 5 < (one.sequences_needed or 0) < 30
    assert found(VALUES[: one.sequences_needed], (0.3, 0.7)).judgement is Judgement.CONFIRMED
    alone = found(VALUES[:5])
    assert (alone.interval, alone.judgement) == ((None, None), Judgement.REPORTED)
    assert "5 sequences are too few for an interval, which takes 8" in alone.reason


def test_about_half_inside_says_no_number() -> None:
    """No number of sequences is sure to decide."""
    one = found(VALUES, (float(np.median(VALUES)), 0.9))
    assert (one.judgement, one.sequences_needed) == (Judgement.UNDECIDED, None)
    assert "no number of them is sure to decide" in one.reason


def test_scores_that_are_not_finite_leave_a_gate_undecided() -> None:
    """The others are still reported; more sequences are no help, so that no number is given."""
    one = found([*VALUES, np.nan], (0.3, 0.7))
    assert one.judgement is Judgement.UNDECIDED
    assert "1 sequence left out for NaN or infinite scores" in one.reason
    assert (one.sequences, one.sequences_needed) == (200, None)
    assert found([*VALUES, np.nan]).judgement is Judgement.REPORTED


def test_equal_sequences_count_as_one_and_as_many() -> None:
    """The interval is the hull of both, and the gate holds either way."""
    order = np.random.default_rng(2).permutation(500)
    values = np.concatenate([VALUES, np.repeat(0.9, 300)])[order]
    labels = np.array((np.arange(500) <= 200)[order])
    whole, once = found(values).interval, found(values[labels]).interval
    assert found(values, labels=labels).interval == (once[0], whole[1])
    assert found(values, (0.3, 0.7)).judgement is Judgement.REFUTED
    assert found(values[labels], (0.3, 0.7)).judgement is Judgement.CONFIRMED
    assert found(values, (0.3, 0.7), labels=labels).judgement is Judgement.UNDECIDED


def test_equal_sequences_are_found_in_what_is_audited() -> None:
    """By their vectors, without their padding."""
    q, k = normal(30)
    q[10:20], k[10:20] = q[:10], k[:10]
    seen = Seen(1)
    run_through([Call(q, k)], seen, lambda _: SCALE, lambda _: None, map)
    assert list(np.flatnonzero(~seen.distinct)) == list(range(10, 20))
    token, padded = np.ones((1, 1, 40, 4), np.float32), np.arange(40) < 30
    rng = np.random.default_rng(1)
    token[:, :, :30] = rng.standard_normal((1, 1, 30, 4))
    other = np.where(padded[:, None], token, 7).astype(np.float32)
    seen = Seen(1)
    calls = [Call(one, one, mask=padded[None, None, None]) for one in (token, other)]
    run_through(
        [*calls, Call(token[:, :, :30], token[:, :, :30])], seen, lambda _: SCALE, lambda _: None, map
    )
    assert list(seen.distinct) == [True, False, False]


def test_sequences_that_follow_each_other_and_are_alike_are_warned_of() -> None:
    """Eight of a document: no gate is confirmed on them as if they were independent."""
    values = np.repeat(VALUES[::8], 8) + 1e-3 * VALUES
    one = found(values, (0.3, 0.7))
    assert "sequences that follow each other are alike (a rank correlation of 0." in one.reason
    assert one.judgement is Judgement.UNDECIDED
    assert "follow each other" not in found(VALUES, (0.3, 0.7)).reason


def test_an_own_rule_hears_whether_it_decides() -> None:
    """Without a band the rule judges; a band overrules it."""

    def rule(estimate: Estimate, decides: bool) -> tuple[Judgement, str]:
        return (Judgement.REFUTED if decides else Judgement.WARNED), f"at {estimate.sequences}"

    some = np.zeros(200)
    assert found(some, rule=rule).judgement is Judgement.WARNED
    gated = found(some, OWN_RULE, rule=rule)
    assert (gated.judgement, gated.band, gated.decides) == (Judgement.REFUTED, None, True)
    assert gated.reason.startswith("at 200")
    assert found(some, (0.0, 0.7), rule=rule).judgement is Judgement.CONFIRMED


def test_a_bounded_mean_keeps_its_interval_through_a_function() -> None:
    """Of 1/m the ends change places, and an end that is open is None."""
    values = np.random.default_rng(4).uniform(0.2, 0.4, size=50)
    (plain,) = quantity(are_bounded=True).measure(values[:, None], 0.01)
    turned = quantity(are_bounded=True, function=lambda mean: 1 / mean if mean else math.inf)
    (inverse,) = turned.measure(values[:, None], 0.01)
    assert plain.interval == pytest.approx(betting_mean(values, 0.01))
    assert inverse.interval == (1 / plain.interval[1], 1 / plain.interval[0])
    one = found([0.0, 0.4, 0.6], are_bounded=True, function=lambda mean: 1 / mean if mean else math.inf)
    assert one.estimate == pytest.approx(3)
    assert one.interval == (1.0, None)


def test_the_interval_of_a_median_misses_no_more_often_than_coins_say() -> None:
    """One rank further in would miss more often than it may; of too few values it is the whole line."""
    for count in (8, 22, 100, 1000):
        for alpha in (0.05, 1e-3, 7e-6):
            low, high = median_interval(np.arange(count, dtype=float), alpha)
            if not math.isfinite(low):
                assert count < fewest_sequences(alpha)
                continue
            assert high == count - 1 - low
            assert 2 * stats.binom.cdf(low, count, 0.5) <= alpha < 2 * stats.binom.cdf(low + 1, count, 0.5)


def test_a_share_has_the_exact_interval() -> None:
    """At its ends this count or more, or fewer, has half the rate."""
    low, high = share_interval(7, 20, 0.05)
    assert stats.binom.sf(6, 20, low) == pytest.approx(0.025)
    assert stats.binom.cdf(7, 20, high) == pytest.approx(0.025)
    assert share_interval(0, 20, 0.05)[0] == 0
    assert share_interval(20, 20, 0.05)[1] == 1


@pytest.mark.parametrize(("count", "number"), [(10, 12), (30, 40), (60, 100), (5, 40)])
def test_as_many_sequences_as_are_said_to_decide_mostly_do(count: int, number: int) -> None:
    """Where the share is what it seems: the number decides with it, and one in four less does not."""
    needed = needed_to_decide(count, number, 1e-4) or 0
    assert needed > number
    low, high = share_interval(round(count / number * needed), needed, 1e-4)
    assert low > 0.5 or high < 0.5


def test_gates_are_read_from_texts_and_from_bands() -> None:
    """Bands open on a side, one of two ends, one text or several, or a mapping; the last two ways agree."""
    texts = ["row-variance:0.5..2", "entropy:0.3..", "largest-score-10000", "effective-keys:..1e3"]
    wanted = {
        "row-variance": (0.5, 2.0),
        "entropy": (0.3, None),
        "largest-score-10000": (None, None),
        "effective-keys": (None, 1000.0),
    }
    assert audit_settings(gate=texts).gates == wanted
    assert audit_settings(gate={**wanted, "largest-score-10000": None}).gates == wanted
    assert audit_settings(gate="entropy:0.3..1").gates == {"entropy": (0.3, 1.0)}
    assert audit_settings().gates == {}


def test_an_intended_scale_may_be_a_number() -> None:
    """A number is its own expression."""
    assert audit_settings(0.125).intended == "0.125"
    assert audit_settings("1/sqrt(d)").intended == "1/sqrt(d)"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"gate": "entropi:0..1"}, "did you mean 'entropy'"),
        ({"gate": "entropy"}, "give a band, such as entropy:"),
        ({"gate": "components:0..1"}, "components-key-variance"),
        ({"gate": "entropy:1"}, "write FINDING or FINDING:LOW..HIGH"),
        ({"gate": "entropy:.."}, "has no band"),
        ({"gate": "entropy:a..b"}, "is not two numbers"),
        ({"gate": "entropy:2..1"}, "ends below its start"),
        ({"gate": "entropy:0..inf"}, "leave out an end"),
        ({"gate": {"entropy": (float("nan"), 1.0)}}, "leave out an end"),
        ({"false_alarm": 0.0}, "must lie between"),
        ({"false_alarm": 1}, "must lie between"),
        ({"false_alarm": "often"}, "give a number"),
        ({"intended": "import os"}, "intended scale"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], complaint: str) -> None:
    """One line says what is wrong and how to write it."""
    with pytest.raises(SettingsError, match=complaint) as caught:
        audit_settings(**given)
    assert "\n" not in str(caught.value)
