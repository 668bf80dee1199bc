"""The exact findings: which they make, when they decide, and what gates do to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.auditing.calls import SCALE, call
from tests.auditing.findings.found import of_calls
from verify.evidence.audits import Judgement


def test_queries_and_keys_alone_decide_nothing_of_the_output() -> None:
    """Without values and output the implied scale and the reconstruction are reported as not looked at."""
    one = call()
    found = of_calls(replace(one, value=None, output=None, scale=None))
    assert "scale-applied" not in found
    for kind in ("scale-implied", "reconstruction"):
        assert (found[kind].judgement, found[kind].decides) == (Judgement.REPORTED, False)
        assert found[kind].reason == "no call was recorded with its values and output"
    asked = of_calls(replace(one, value=None, output=None), gate=["scale-implied"])["scale-implied"]
    assert (asked.judgement, asked.decides) == (Judgement.UNDECIDED, True)


def test_gates_move_the_bands() -> None:
    """A gate of one's own replaces the rule: 5% is allowed, or 1e-9 demanded."""
    one = call(applied=1.03 * SCALE)
    assert of_calls(one)["scale-implied"].judgement is Judgement.REFUTED
    allowed = of_calls(one, gate=["scale-implied:0.95..1.05"])["scale-implied"]
    assert (allowed.judgement, allowed.band) == (Judgement.CONFIRMED, (0.95, 1.05))
    strict = of_calls(call(), gate=["reconstruction:0..1e-12"])["reconstruction"]
    assert strict.judgement is Judgement.REFUTED


def test_infinities_in_the_output_are_left_to_the_finding_on_overflow() -> None:
    """The other findings are undecided and say where to look."""
    one = call()
    output = np.array(one.output)
    output[0, 0] = np.inf
    found = of_calls(replace(one, output=output))
    assert found["overflow"].judgement is Judgement.REFUTED
    for kind in ("scale-implied", "reconstruction"):
        assert found[kind].judgement in (Judgement.UNDECIDED, Judgement.CONFIRMED)


def test_sequences_in_which_nothing_is_seen_have_no_numbers() -> None:
    """Where a mask hides all keys, all is undecided or reported, and no number is called NaN or infinite."""
    one = call()
    hidden = replace(one, mask=np.zeros((1, 1, 1, 1), bool), output=np.zeros_like(one.output))
    found = of_calls(hidden, gate=("row-variance:0.5..2",))
    assert {one.judgement for one in found.values() if one.estimate is None} == {
        Judgement.REPORTED,
        Judgement.UNDECIDED,
    }
    assert found["row-variance"].judgement is Judgement.UNDECIDED
    assert not [one.reason for one in found.values() if "infinit" in one.reason]
