"""The scale that the output implies: judged sequence by sequence, and open where nothing tells it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.auditing.calls import SCALE, call
from tests.auditing.findings.found import of_calls
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
