"""Statistical findings: judged by their bands alone, and honest about what was not used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from verify.auditing.estimates import BoundedMean, Estimate
from verify.auditing.kinds import OWN_RULE, Subject
from verify.auditing.recording import Layer
from verify.auditing.statistical import AtUnitVariance, Look, Quantity, Statistical, judge
from verify.evidence.audits import Finding, Intention, Judgement

INTENTION = Intention(expression="1/sqrt(d)", latex="1", value=0.125, origin="default")
VALUES = np.random.default_rng(6).uniform(0.4, 0.6, size=200)


def found(looks: list[Look], gate: Any = None, **more: Any) -> Finding:
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


LOOKS = [Look((value,), (0.25,), left_out=2, blind=1) for value in VALUES]


def test_without_a_gate_a_finding_is_reported_with_all_that_is_known() -> None:
    """Estimate, interval, level, reference, claim, sequences and rows left out; nothing decides."""
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
    one = Estimate(0.5, 0.1, (0.25, 0.75), 9)
    assert judge(one, (0.25, 0.75)) is Judgement.CONFIRMED
    assert judge(one, (0.75, 1.0)) is Judgement.UNDECIDED
    assert judge(one, (0.7500001, 1.0)) is Judgement.REFUTED
    assert judge(Estimate(0.5, 0.1, None, 9), (0.0, 1.0)) is Judgement.UNDECIDED


def test_scores_that_are_not_finite_leave_a_gate_undecided() -> None:
    """The others are still reported; more sequences are no help, so that no number is given."""
    looks = [*LOOKS, Look(None, broken=True)]
    one = found(looks, (0.3, 0.7))
    assert one.judgement is Judgement.UNDECIDED
    assert "1 sequence left out for NaN or infinite scores" in one.reason
    assert (one.sequences, one.sequences_needed) == (200, None)
    assert found(looks).judgement is Judgement.REPORTED


def test_where_nothing_was_kept_there_is_no_estimate() -> None:
    """Sequences too short for the finding say so; where it is gated that decides nothing."""
    looks = [Look(None, left_out=3)] * 4
    one = found(looks)
    assert (one.estimate, one.judgement, one.rows_left_out) == (None, Judgement.REPORTED, 12)
    assert "no sequence has what this finding needs" in one.reason
    assert found(looks, (0.3, 0.7)).judgement is Judgement.UNDECIDED
    assert found([]).estimate is None


def test_an_own_rule_hears_whether_it_decides() -> None:
    """Without a band the rule judges; a band overrules it."""

    def rule(estimate: Estimate, decides: bool) -> tuple[Judgement, str]:
        return (Judgement.REFUTED if decides else Judgement.WARNED), f"at {estimate.blocks}"

    assert found(LOOKS, rule=rule).judgement is Judgement.WARNED
    gated = found(LOOKS, OWN_RULE, rule=rule)
    assert (gated.judgement, gated.band, gated.decides) == (Judgement.REFUTED, None, True)
    assert gated.reason.startswith("at 200")
    assert found(LOOKS, (0.3, 0.7), rule=rule).judgement is Judgement.CONFIRMED


def test_an_open_end_is_none() -> None:
    """The inverse of a mean that may be 0 has no upper end."""
    looks = [Look((value,), ()) for value in (0.0, 0.4, 0.6)]
    inverse = BoundedMean(0, lambda mean: 1 / mean if mean else float("inf"))
    kind = Statistical(
        "inverse", (Quantity("inverse", "$1/x$", "effective-keys", inverse),), lambda _: looks[0]
    )
    (one,) = kind.find(looks, Subject(Layer("a", ()), 0, 1, 1, 64, INTENTION, 0.01))
    assert one.interval == (1.0, None)
    assert one.estimate == pytest.approx(3)
