"""The exact findings: which they make, when they decide, and what gates do to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import verify
from tests.auditing.calls import SCALE, call
from verify.auditing.recording import Intended, Layer, Recording
from verify.evidence.audits import Finding, Judgement

if TYPE_CHECKING:
    from verify.auditing.recording import Call


def _findings(*calls: Call, intended: str = "1/sqrt(d)", **options: Any) -> dict[str, Finding]:
    recording = Recording("tests", (Layer("attention", calls, Intended(intended, "given")),))
    record = verify.audit(recording, workers=1, **options)
    return {one.kind: one for one in record.findings if one.head == 0}


def test_queries_and_keys_alone_decide_nothing_of_the_output() -> None:
    """Without values and output the implied scale and the reconstruction are reported as not looked at."""
    one = call()
    found = _findings(replace(one, value=None, output=None, scale=None))
    assert "scale-applied" not in found
    for kind in ("scale-implied", "reconstruction"):
        assert (found[kind].judgement, found[kind].decides) == (Judgement.REPORTED, False)
        assert found[kind].reason == "no call was recorded with its values and output"
    asked = _findings(replace(one, value=None, output=None), gate=["scale-implied"])["scale-implied"]
    assert (asked.judgement, asked.decides) == (Judgement.UNDECIDED, True)


@pytest.mark.parametrize(
    ("given", "judgement"),
    [
        (SCALE, Judgement.CONFIRMED),
        (float(np.float32(SCALE)), Judgement.CONFIRMED),
        (SCALE * (1 + 1e-3), Judgement.WARNED),
        (SCALE * 1.01, Judgement.REFUTED),
        (1.0, Judgement.REFUTED),
    ],
)
def test_factor_given_must_be_the_intended_one_up_to_rounding(given: float, judgement: Judgement) -> None:
    """Single precision is no difference, bfloat16's rounding a warning, 1% wrong."""
    assert _findings(replace(call(), scale=given))["scale-applied"].judgement is judgement


def test_the_farthest_factor_of_all_calls_counts() -> None:
    """One call among many with a scale of its own is enough."""
    found = _findings(call(), replace(call(seed=1), scale=SCALE / 2), call(seed=2))["scale-applied"]
    assert found.estimate == 0.5
    assert found.judgement is Judgement.REFUTED


def test_one_sequence_with_another_scale_is_enough() -> None:
    """The implied scale is judged sequence by sequence before all together."""
    found = _findings(call(), call(seed=1, applied=SCALE / 2), call(seed=2))["scale-implied"]
    assert found.judgement is Judgement.REFUTED
    assert found.estimate == pytest.approx(0.5, rel=1e-3)


def test_gates_move_the_bands() -> None:
    """A gate of one's own replaces the rule: 5% is allowed, or 1e-9 demanded."""
    one = call(applied=1.03 * SCALE)
    assert _findings(one)["scale-implied"].judgement is Judgement.REFUTED
    allowed = _findings(one, gate=["scale-implied:0.95..1.05"])["scale-implied"]
    assert (allowed.judgement, allowed.band) == (Judgement.CONFIRMED, (0.95, 1.05))
    strict = _findings(call(), gate=["reconstruction:0..1e-12"])["reconstruction"]
    assert strict.judgement is Judgement.REFUTED


def test_scale_that_goes_with_the_number_of_keys_is_held_against_its_formula() -> None:
    """Calls of different lengths are each held against the scale intended for their length."""
    calls = [call(keys=keys, applied=np.log(keys) * SCALE) for keys in (20, 50)]
    calls = [replace(one, scale=None) for one in calls]
    assert _findings(*calls, intended="log(n)/sqrt(d)")["scale-implied"].judgement is Judgement.CONFIRMED
    assert _findings(*calls, intended="log(20)/sqrt(d)")["scale-implied"].judgement is Judgement.REFUTED


def test_coarser_arithmetic_is_a_warning() -> None:
    """An output of half precision stored in single precision with digits beyond it is warned of."""
    one = call()
    wobble = 1 + 1e-4 * np.random.default_rng(1).uniform(-1, 1, one.query.shape)
    found = _findings(replace(one, output=(np.asarray(one.output) * wobble).astype(np.float32)))[
        "reconstruction"
    ]
    assert found.judgement is Judgement.WARNED
    assert "11 binary digits" in found.reason


def test_infinities_in_the_output_are_left_to_the_finding_on_overflow() -> None:
    """The other findings are undecided and say where to look."""
    one = call()
    output = np.array(one.output)
    output[0, 0] = np.inf
    found = _findings(replace(one, output=output))
    assert found["overflow"].judgement is Judgement.REFUTED
    for kind in ("scale-implied", "reconstruction"):
        assert found[kind].judgement in (Judgement.UNDECIDED, Judgement.CONFIRMED)


def test_a_single_key_leaves_the_scale_undecided() -> None:
    """With one key every scale gives the same output, and the finding says so."""
    found = _findings(call(keys=1))["scale-implied"]
    assert found.judgement is Judgement.UNDECIDED
    assert "with one key every scale gives the same output" in found.reason


def test_zeros_where_attention_has_none_are_refuted() -> None:
    """An output that was never written is wrong whatever the scale; one of zeros from zeros tells nothing."""
    one = call()
    found = _findings(replace(one, output=np.zeros_like(one.output)))
    assert found["reconstruction"].judgement is Judgement.REFUTED
    assert "the output is 0 throughout" in found["reconstruction"].cause
    assert (
        found["scale-implied"].reason == "no scale reproduces the output; see the finding on reconstruction"
    )
    nothing = _findings(replace(one, value=np.zeros_like(one.value), output=np.zeros_like(one.output)))
    for kind in ("scale-implied", "reconstruction"):
        assert nothing[kind].judgement is Judgement.UNDECIDED
        assert nothing[kind].reason == "the output is 0 throughout, as it should be, and tells no scale"


def test_a_scale_lost_in_rounding_has_neither_sign_nor_size() -> None:
    """Of scores that do not reach the output only a bound of the scale is known, of either sign."""
    found = _findings(call(applied=1e-30))["scale-implied"]
    assert found.judgement is Judgement.REFUTED
    assert found.cause.startswith("the scale is at most ")
    assert "sign" not in found.fix


def test_sequences_in_which_nothing_is_seen_have_no_numbers() -> None:
    """Where a mask hides all keys, all is undecided or reported, and no number is called NaN or infinite."""
    one = call()
    hidden = replace(one, mask=np.zeros((1, 1, 1, 1), bool), output=np.zeros_like(one.output))
    found = _findings(hidden, gate=("row-variance:0.5..2",))
    assert {one.judgement for one in found.values() if one.estimate is None} == {
        Judgement.REPORTED,
        Judgement.UNDECIDED,
    }
    assert found["row-variance"].judgement is Judgement.UNDECIDED
    assert not [one.reason for one in found.values() if "infinit" in one.reason]
