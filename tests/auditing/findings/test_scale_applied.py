"""The factor that a call was given: up to rounding it must be the intended one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.auditing.calls import SCALE, call
from tests.auditing.findings.found import of_calls
from verify.evidence.audits import Judgement


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
    assert of_calls(replace(call(), scale=given))["scale-applied"].judgement is judgement


def test_the_farthest_factor_of_all_calls_counts() -> None:
    """One call among many with a scale of its own is enough."""
    found = of_calls(call(), replace(call(seed=1), scale=SCALE / 2), call(seed=2))["scale-applied"]
    assert found.estimate == 0.5
    assert found.judgement is Judgement.REFUTED
