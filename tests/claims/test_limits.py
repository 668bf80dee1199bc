"""What texts say in words, and the bounds whose sharper versions are false."""

import math
from typing import Any

import pytest
from scipy import optimize

from tests.catalogue import experiment
from verify.claims.limits.half_precision import overflowing
from verify.claims.raw_scores.score_normal_limit import largest_gap
from verify.montecarlo.experiment import Quantity, band, excess
from verify.spec.score_law import below


def test_rounded_words_are_right() -> None:
    """What the texts say in words: thirds, three quarters, two thousandths, where two curves meet."""
    assert 0.28 < 2 * below(64, -8.0) < 1 / 3, "almost a third of scaled scores beyond 1"
    assert pytest.approx(3 / 4) == (7 / 144) / (1 / 36) - 1, "overstates by three quarters"
    assert largest_gap(64) == pytest.approx(0.002, abs=0.0005), "about two thousandths"
    assert max(overflowing(n, -0.5) for n in (16, 64, 256)) < 1e-13, "less than one in 10^13"
    crossing = optimize.brentq(lambda at: (1 + at / 10) ** 4 - 1 - at, 1, 10)
    assert 6.6 < crossing < 6.7, "between the points that YaRN's factor is compared at"
    assert math.exp(6.6) == pytest.approx(735, abs=1)


BOUNDS = {
    "attention-entropy": 0.98,
    "attention-concentration": 0.97,
    "softmax-two-keys": 0.97,
    "softmax-saturation": 0.98,
    "causal-rows": 0.95,
    "length-scaling": 1.18,
    "jacobian-saturation": 0.95,
    "soft-cap": 0.98,
    "attention-sink": 0.99,
}
"""The constant of each claim's sharpest control, times its bound's."""


@pytest.mark.parametrize(
    "name",
    [name if name == "softmax-two-keys" else pytest.param(name, marks=pytest.mark.slow) for name in BOUNDS],
)
def test_a_bound_that_is_a_little_sharper_is_false(name: str) -> None:
    """By the exact value its control is wrong, and right if the bound were looser by a tenth."""
    sharper = [control for control in experiment(name).controls if control.comparison.id.endswith("-sharper")]
    checks: dict[str, Any] = {check.id: check for check in experiment(name).checks}
    factors = []
    for truth, wrong in (
        (control.truth, control.comparison) for control in sharper if control.truth is not None
    ):
        assert isinstance(wrong, Quantity)
        right = checks[wrong.id.removesuffix("-sharper")]
        # The tolerance of a bound makes no value beyond it right.
        assert excess(truth, band(wrong.prediction.value, 0.0, wrong.relation)) > 0
        factors.append(wrong.prediction.value / right.prediction.value)
        loose = wrong.prediction.value * (1.1 if wrong.relation == "≤" else 1 / 1.1)
        assert excess(truth, band(loose, 0.0, wrong.relation)) < 0
    assert pytest.approx(BOUNDS[name]) in factors
