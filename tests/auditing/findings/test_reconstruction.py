"""Whether the output is that of the declared attention."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.auditing.calls import call
from tests.auditing.findings.found import of_calls
from verify.auditing.findings.reconstruction import _number
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


@pytest.mark.parametrize(
    ("scale", "shown"),
    [
        (1 / 32, "1/32"), (1 / 32 * (1 + 1e-7), "1/32"), (-1 / 64 * (1 - 1e-7), "-1/64"),
        (128**-0.5, "1/√128"), (0.2004, "0.2"), (1.0, "1"), (3.0, "3"),
        (0.30004, "0.3"), (1e-9, "1e-09"), (0.0, "0"),
    ],
)  # fmt: skip
def test_rounding_does_not_tell_equal_scales_apart(scale: float, shown: str) -> None:
    """To three or four digits 1/32 and 1/64 lie just between two numbers."""
    assert _number(scale) == shown
