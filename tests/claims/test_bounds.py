"""Bounds as measured: each has a control a little sharper, and a looser bound leaves its control standing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.catalogue import experiment
from verify.montecarlo.experiment import Exact, Quantity, band, excess

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
    sharper = [one for one in experiment(name).controls if one.comparison.id.endswith("-sharper")]
    assert sharper
    known = [one for one in sharper if one.truth is not None]
    checks: dict[str, Any] = {one.id: one for one in experiment(name).checks}
    factors = []
    for control in known:
        wrong = control.comparison
        assert isinstance(wrong, Quantity)
        assert control.truth is not None
        right = checks[wrong.id.removesuffix("-sharper")]
        width = wrong.tolerance.width(wrong.prediction.value, 0.05)
        within = band(wrong.prediction.value, width, wrong.relation)
        assert excess(control.truth, within) > 0
        factors.append(wrong.prediction.value / right.prediction.value)
        loose = wrong.prediction.value * (1.1 if wrong.relation == "≤" else 1 / 1.1)
        assert excess(control.truth, band(loose, width, wrong.relation)) < 0
    assert pytest.approx(BOUNDS[name]) in factors


@pytest.mark.slow
def test_the_largest_of_a_million_scores_is_held_against_both_roots() -> None:
    """√(2 ln n) bounds it, √(1.5 ln n) does not."""
    both = experiment("attention-concentration")
    found = [
        one for one in (*both.checks, *(one.comparison for one in both.controls)) if isinstance(one, Exact)
    ]
    gaps = {one.id: one.computed / one.prediction.value for one in found}
    assert gaps["largest-n1000000"] == pytest.approx(0.925, abs=1e-3)
    assert gaps["largest-too-small"] > 1
