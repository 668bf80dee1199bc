"""Whether the output is that of the declared attention."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.auditing.calls import call
from tests.auditing.findings.found import of_calls
from verify.evidence.audits import Judgement


def test_coarser_arithmetic_is_a_warning() -> None:
    """An output of half precision stored in single precision with digits beyond it is warned of."""
    one = call()
    wobble = 1 + 1e-4 * np.random.default_rng(1).uniform(-1, 1, one.query.shape)
    found = of_calls(replace(one, output=(np.asarray(one.output) * wobble).astype(np.float32)))[
        "reconstruction"
    ]
    assert found.judgement is Judgement.WARNED
    assert "11 binary digits" in found.reason


def test_zeros_where_attention_has_none_are_refuted() -> None:
    """An output that was never written is wrong whatever the scale; one of zeros from zeros tells nothing."""
    one = call()
    found = of_calls(replace(one, output=np.zeros_like(one.output)))
    assert found["reconstruction"].judgement is Judgement.REFUTED
    assert "the output is 0 throughout" in found["reconstruction"].cause
    assert (
        found["scale-implied"].reason == "no scale reproduces the output; see the finding on reconstruction"
    )
    nothing = of_calls(replace(one, value=np.zeros_like(one.value), output=np.zeros_like(one.output)))
    for kind in ("scale-implied", "reconstruction"):
        assert nothing[kind].judgement is Judgement.UNDECIDED
        assert nothing[kind].reason == "the output is 0 throughout, as it should be, and tells no scale"
