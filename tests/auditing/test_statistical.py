"""Statistical findings: estimates, bands, names, and honesty about what was not used."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.auditing.calls import SCALE, arrays, call, of_vectors
from tests.auditing.records import good
from verify.auditing.audit import audit_settings, kind_of, kinds
from verify.auditing.blocks import OWN_RULE, Block, Subject
from verify.auditing.recording import Layer
from verify.auditing.statistical import (
    FEWEST_BLOCKS,
    AtUnitVariance,
    BlockStatistics,
    BoundedMean,
    MeanFunction,
    Quantity,
    ShareOfBlocks,
    Statistical,
    blocks_needed,
    judge,
)
from verify.claims.chapters import CHAPTERS
from verify.errors import SettingsError
from verify.evidence.audits import Finding, Intention, Judgement
from verify.montecarlo.estimands import Measured, component, ratio
from verify.montecarlo.intervals import betting_mean, bounded_mean, student_quantile
from verify.symbolic.row_integrals import mean_entropy, mean_squares

if TYPE_CHECKING:
    from verify.auditing.audit import Kind
    from verify.evidence.audits import Finding


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
    """Estimates lie within four standard errors of what the claims say of them."""
    one = standard[name]
    assert one.standard_error is not None
    assert one.estimate == pytest.approx(truth, abs=4 * one.standard_error)
    assert one.standard_error < 0.05


def test_rows_of_unit_variance_come_near_their_reference_values(standard: dict[str, Finding]) -> None:
    """Entropy, effective keys, largest weight and Jacobian of real rows lie near those of normal scores."""
    assert standard["entropy"].reference is not None
    assert standard["entropy"].reference.value == pytest.approx(
        mean_entropy(KEYS, 1.0).value / math.log(KEYS)
    )
    wanted = {
        "effective-keys": 1 / mean_squares(KEYS, 1.0).value,
        "gradient-pass-trace": 1 - mean_squares(KEYS, 1.0).value,
    }
    for name in (
        "entropy",
        "effective-keys",
        "largest-probability",
        "gradient-pass-trace",
        "gradient-pass-norm",
    ):
        one = standard[name]
        assert one.reference is not None
        assert one.reference.value == pytest.approx(wanted.get(name, one.reference.value))
        assert one.estimate == pytest.approx(one.reference.value, rel=0.08)


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
def test_every_kind_keeps_to_the_contract(kind: Kind) -> None:
    """Of a sequence in which no key is seen it makes a finding a name at most, and estimates no statistic."""
    blind = replace(call(queries=9, keys=9), value=None, output=None, mask=np.zeros((1, 1), bool))
    found = list(kind.find([kind.reduce(Block(blind, 0, 0, SCALE))], SUBJECT))
    assert {one.name for one in found} <= set(kind.names)
    assert len({one.id for one in found}) == len(found)
    assert {one.kind for one in found} <= {kind.name}
    assert kind.places in (0, len(kind.names))
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
    assert (of_vectors(q * length, k * length)["independence"].estimate or 0) > 1.5


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


INTENTION = Intention(expression="1/sqrt(d)", latex="1", value=0.125, origin="default")
VALUES = np.random.default_rng(6).uniform(0.4, 0.6, size=200)


def found(looks: list[BlockStatistics], gate: Any = None, **more: Any) -> Finding:
    """Return the finding of head 2 on a share, held against the band ``gate``."""
    quantity = Quantity(
        "share",
        "$x$",
        "attention-entropy",
        BoundedMean(0),
        reference=AtUnitVariance("effective-keys", lambda known: float(known[0])),
        **more,
    )
    kind = Statistical("shares", (quantity,), lambda _: looks[0])
    gates = {} if gate is None else {"share": gate}
    (finding,) = kind.find(looks, Subject(Layer("a", ()), 2, 4, 4, 64, INTENTION, 0.01, gates))
    return finding


LOOKS = [BlockStatistics((value,), (0.25,), left_out=2, blind=1) for value in VALUES]


def test_without_a_gate_a_finding_is_reported_with_all_that_is_known() -> None:
    """Measured, interval, level, reference, claim, sequences and rows left out; nothing decides."""
    one = found(LOOKS)
    assert (one.id, one.kind, one.head) == ("share-head-2", "shares", 2)
    assert one.estimate is not None
    assert one.estimate == pytest.approx(VALUES.mean())
    assert (one.interval[0] or 1) < one.estimate < (one.interval[1] or 0)
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
def test_a_gate_decides_by_the_interval(band: Any, judgement: Judgement) -> None:
    """Inside confirms, outside refutes, anything else is undecided, with a number of sequences."""
    one = found(LOOKS, band)
    assert (one.judgement, one.decides, one.band) == (judgement, True, band)
    assert (one.sequences_needed is not None) == (judgement is Judgement.UNDECIDED)
    assert one.sequences_needed is None or one.sequences_needed > 200


def test_an_estimate_at_the_edge_says_no_number() -> None:
    """No number of sequences is sure to decide where the estimate may lie on either side."""
    one = found(LOOKS, (float(VALUES.mean()), 0.9))
    assert (one.judgement, one.sequences_needed) == (Judgement.UNDECIDED, None)
    assert "too near the edge of the band to say how many sequences would decide" in one.reason


def test_the_edge_of_a_band_belongs_to_it() -> None:
    """An interval that ends where the band does lies inside; one that only touches it is not outside."""
    one = Measured(0.5, 0.1, (0.25, 0.75), 9, 0)
    assert judge(one, (0.25, 0.75)) is Judgement.CONFIRMED
    assert judge(one, (0.75, 1.0)) is Judgement.UNDECIDED
    assert judge(one, (0.7500001, 1.0)) is Judgement.REFUTED
    assert judge(Measured(0.5, 0.1, (-math.inf, math.inf), 9, 0), (0.0, 1.0)) is Judgement.UNDECIDED


def test_scores_that_are_not_finite_leave_a_gate_undecided() -> None:
    """The others are still reported; more sequences are no help, so that no number is given."""
    looks = [*LOOKS, BlockStatistics(None, broken=True)]
    one = found(looks, (0.3, 0.7))
    assert one.judgement is Judgement.UNDECIDED
    assert "1 sequence left out for NaN or infinite scores" in one.reason
    assert (one.sequences, one.sequences_needed) == (200, None)
    assert found(looks).judgement is Judgement.REPORTED


def test_where_nothing_was_kept_there_is_no_estimate() -> None:
    """Sequences too short for the finding say so; where it is gated that decides nothing."""
    looks = [BlockStatistics(None, left_out=3)] * 4
    one = found(looks)
    assert (one.estimate, one.judgement, one.rows_left_out) == (None, Judgement.REPORTED, 12)
    assert "no sequence has what this finding needs" in one.reason
    assert found(looks, (0.3, 0.7)).judgement is Judgement.UNDECIDED
    assert found([]).estimate is None


def test_an_own_rule_hears_whether_it_decides() -> None:
    """Without a band the rule judges; a band overrules it."""

    def rule(estimate: Measured, decides: bool) -> tuple[Judgement, str]:
        return (Judgement.REFUTED if decides else Judgement.WARNED), f"at {estimate.blocks}"

    assert found(LOOKS, rule=rule).judgement is Judgement.WARNED
    gated = found(LOOKS, OWN_RULE, rule=rule)
    assert (gated.judgement, gated.band, gated.decides) == (Judgement.REFUTED, None, True)
    assert gated.reason.startswith("at 200")
    assert found(LOOKS, (0.3, 0.7), rule=rule).judgement is Judgement.CONFIRMED


def test_an_open_end_is_none() -> None:
    """The inverse of a mean that may be 0 has no upper end."""
    looks = [BlockStatistics((value,), ()) for value in (0.0, 0.4, 0.6)]
    inverse = BoundedMean(0, lambda mean: 1 / mean if mean else float("inf"))
    kind = Statistical(
        "inverse", (Quantity("inverse", "$1/x$", "effective-keys", inverse),), lambda _: looks[0]
    )
    (one,) = kind.find(looks, Subject(Layer("a", ()), 0, 1, 1, 64, INTENTION, 0.01))
    assert one.interval == (1.0, None)
    assert one.estimate == pytest.approx(3)


RNG = np.random.default_rng(4)
EVEN = MeanFunction(component("x"), ("x",))


def ends(found: Measured) -> tuple[float, float]:
    """Return the interval, which there must be."""
    assert found.reliable
    return found.interval


def test_a_bounded_mean_keeps_its_interval_through_a_function() -> None:
    """Of 1/m the ends change places; the error goes through the slope."""
    values = RNG.uniform(0.2, 0.4, size=(50, 1))
    plain, inverse = BoundedMean(0), BoundedMean(0, lambda mean: 1 / mean)
    one, other = plain.measure(values, 0.01), inverse.measure(values, 0.01)
    assert one.interval == betting_mean(values[:, 0], 0.01)
    assert other.interval == (1 / ends(one)[1], 1 / ends(one)[0])
    assert other.value == 1 / one.value
    assert other.error == pytest.approx(one.error / one.value**2, rel=1e-4)


def test_a_share_has_the_interval_of_rare_events() -> None:
    """None of 20 sequences leaves room for some of all."""
    found = ShareOfBlocks(0).measure(np.zeros((20, 1)), 0.01)
    assert (found.value, found.interval) == (0.0, bounded_mean(0.0, 0.01, 20))
    assert ends(found)[1] > 0.1


def test_student_interval_is_at_least_as_wide_as_the_plain_one() -> None:
    """With little skewness the interval holds Student's, and is hardly wider."""
    values = RNG.normal(3, 1, size=(200, 1))
    found = EVEN.measure(values, 0.01)
    width = student_quantile(0.01, 200) * float(values.std(ddof=1)) / math.sqrt(200)
    assert found.value == pytest.approx(values.mean())
    low, high = ends(found)
    assert low <= found.value - width * (1 - 1e-9)
    assert high >= found.value + width * (1 - 1e-9)
    assert high - low < 2.2 * width


def test_few_or_skewed_blocks_have_no_interval_and_a_number_that_would_do() -> None:
    """Seven blocks are too few for any; of a hundred exponential ones thousands are needed at 1e-6."""
    few = EVEN.measure(RNG.normal(size=(FEWEST_BLOCKS - 1, 1)), 0.05)
    assert (few.reliable, few.interval) == (False, (-math.inf, math.inf))
    assert math.isnan(few.error)
    assert few.needed == FEWEST_BLOCKS
    skewed = EVEN.measure(RNG.exponential(size=(100, 1)), 1e-6)
    assert not skewed.reliable
    assert "skewed" in skewed.doubt
    assert 300 < (skewed.needed or 0) < 30_000
    alike = EVEN.measure(np.ones((50, 1)), 0.05)
    assert not alike.reliable
    assert "agree" in alike.doubt


def test_a_ratio_of_means_is_measured_by_the_catalogues_estimand() -> None:
    """A ratio's standard error is that of its linearisation."""
    blocks = np.column_stack([RNG.normal(4, 1, 500), RNG.normal(2, 0.1, 500)])
    found = MeanFunction(ratio("a", "b"), ("a", "b")).measure(blocks, 0.01)
    linear = blocks[:, 0] / blocks[:, 1].mean() - found.value * blocks[:, 1] / blocks[:, 1].mean()
    assert found.value == pytest.approx(blocks[:, 0].mean() / blocks[:, 1].mean())
    assert found.error == pytest.approx(linear.std(ddof=1) / math.sqrt(500))


def test_blocks_needed_follow_the_distance_to_the_band() -> None:
    """Four times as many blocks halve the interval; near the edge no number can be said."""
    exact = Measured(1.0, 0.0, (0.5, 1.6), 50, 0)
    assert blocks_needed(exact, (0.7, None)) == 50 * 4
    assert blocks_needed(exact, (0.1, 1.3)) == 50 * 4
    found = replace(exact, error=0.1)
    assert 400 < (blocks_needed(found, (0.7, None)) or 0) < 600
    assert blocks_needed(found, (1.0, None)) is None
    assert blocks_needed(found, (1.05, None)) is None
    assert blocks_needed(replace(exact, error=math.nan), (0.7, None)) is None
    assert blocks_needed(found, (0.0, 9.0)) == 51
    assert (
        blocks_needed(
            Measured(1.0, math.nan, (-math.inf, math.inf), 3, 0, doubt="too few", needed=8), (0.5, 2.0)
        )
        == 8
    )


@pytest.mark.parametrize("blocks", [12, 40, 150])
def test_as_many_blocks_as_are_said_to_decide_mostly_do(blocks: int) -> None:
    """Of 60 undecided samples, new ones of the size that each calls for decide in four of five cases."""
    rng, band = np.random.default_rng(blocks), (0.9, None)
    decided: list[bool] = []
    while len(decided) < 60:
        found = EVEN.measure(rng.normal(1, 0.5, size=(blocks, 1)), 1e-3)
        needed = blocks_needed(found, band)
        if not found.reliable or needed is None or judge(found, band) is not Judgement.UNDECIDED:
            continue
        values = rng.normal(1, 0.5, size=(min(needed, 100_000), 1))
        decided.append(judge(EVEN.measure(values, 1e-3), band) is not Judgement.UNDECIDED)
    assert np.mean(decided) >= 0.75


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
        ({"gate": "entropy:a..b"}, "is no two numbers"),
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
