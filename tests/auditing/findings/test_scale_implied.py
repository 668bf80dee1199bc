"""The scale that the output implies: judged sequence by sequence, and open where nothing tells it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.auditing.calls import SCALE, attention, call
from tests.auditing.findings.found import of_calls
from verify.auditing.recording import Call
from verify.evidence.audits import Judgement


def test_one_sequence_with_another_scale_is_enough() -> None:
    """The implied scale is judged sequence by sequence before all together."""
    found = of_calls(call(), call(seed=1, applied=SCALE / 2), call(seed=2))["scale-implied"]
    assert found.judgement is Judgement.REFUTED
    assert found.estimate == pytest.approx(0.5, rel=1e-3)


def test_scale_that_goes_with_the_number_of_keys_is_held_against_its_formula() -> None:
    """Calls of different lengths are each held against the scale intended for their length."""
    calls = [call(keys=keys, applied=np.log(keys) * SCALE) for keys in (20, 50)]
    calls = [replace(one, scale=None) for one in calls]
    assert of_calls(*calls, intended="log(n)/sqrt(d)")["scale-implied"].judgement is Judgement.CONFIRMED
    assert of_calls(*calls, intended="log(20)/sqrt(d)")["scale-implied"].judgement is Judgement.REFUTED


def test_a_single_key_leaves_the_scale_undecided() -> None:
    """With one key every scale gives the same output, and the finding says so."""
    found = of_calls(call(keys=1))["scale-implied"]
    assert found.judgement is Judgement.UNDECIDED
    assert "with one key every scale gives the same output" in found.reason


def test_a_scale_lost_in_rounding_has_neither_sign_nor_size() -> None:
    """Of scores that do not reach the output only a bound of the scale is known, of either sign."""
    found = of_calls(call(applied=1e-30))["scale-implied"]
    assert found.judgement is Judgement.REFUTED
    assert found.cause.startswith("the scale is at most ")
    assert "sign" not in found.fix


def test_a_scale_that_the_output_does_not_tell_has_no_number() -> None:
    """Copies of one token have no estimate; tokens that hardly differ have no share of uncertainty."""
    rng = np.random.default_rng(3)
    for apart in (0.0, 1e-6):
        made = rng.standard_normal((3, 1, 1, 1, 64)) + apart * rng.standard_normal((3, 1, 1, 32, 64))
        q, k, v = made.astype(np.float32)
        found = of_calls(Call(q, k, v, attention(q, k, v)))["scale-implied"]
        assert found.judgement is Judgement.UNDECIDED
        assert "%" not in found.reason
        if apart:
            assert "what it changes is lost in rounding" in found.reason
        else:
            assert "does not depend on the scale" in found.reason
            assert found.estimate is None


def test_where_all_keys_are_hidden_that_is_the_reason() -> None:
    """There are keys, but no query sees one."""
    found = of_calls(replace(call(), mask=np.zeros((24, 24), dtype=bool), output=np.zeros((2, 4, 24, 64))))
    for name in ("scale-implied", "reconstruction"):
        assert found[name].judgement is Judgement.UNDECIDED
        assert found[name].reason.startswith("every key is hidden from every query")


def test_a_causal_program_that_is_not_declared_so_is_told_how_to_declare_it() -> None:
    """The program may be right and what was said of it wrong."""
    one = replace(call(causal=True), causal=False)
    found = of_calls(one)["reconstruction"]
    assert found.cause == "the mask is causal"
    assert found.fix.endswith("or declare this mask (causal=True)")
