"""Score statistics are those of the scale that the program applied, not of the one that was meant."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.auditing.calls import SCALE, call
from verify.auditing.audit import audit
from verify.auditing.block import Block
from verify.auditing.implied import implied_unlike_declared
from verify.auditing.recording import Call, Layer, Recording
from verify.evidence.audits import AuditSettings, Finding


def findings(*calls: Call) -> dict[str, Finding]:
    """Return what an audit finds of the first head, by the findings' ids."""
    record = audit(
        Recording("calls", [Layer("attention", calls)]), AuditSettings(false_alarm=1e-3), workers=1
    )
    return {one.id.removesuffix("-head-0"): one for one in record.findings if one.head == 0}


@pytest.mark.parametrize("given", [None, SCALE])
def test_statistics_are_those_of_the_scale_that_the_output_implies(given: float | None) -> None:
    """No scale is applied, whether one was given or not: variance, entropy and scores are those without."""
    wrong = replace(call(applied=1.0, sequences=8, queries=40, keys=40), scale=given)
    found = findings(wrong)
    products = np.asarray(wrong.query @ np.swapaxes(wrong.key, -1, -2))[:, 0]
    weights = np.exp(products - products.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    wanted = {
        "row-variance": products.var(axis=-1, ddof=1).mean(),
        "largest-probability": weights.max(axis=-1).mean(),
        "gradient-pass-trace": 1 - np.square(weights).sum(axis=-1).mean(),
    }
    assert {name: found[name].estimate for name in wanted} == pytest.approx(wanted, rel=1e-3)
    assert f"the largest seen is {products.max():.3g}" in found["largest-score-100"].reason
    for name in (*wanted, "entropy", "largest-score-100"):
        assert "scores have the scale that the output implies, 1" in found[name].reason


def test_right_attention_has_the_statistics_of_the_declared_scale() -> None:
    """And nothing is said of the scale."""
    right = call(sequences=8, queries=40, keys=40)
    found, without = findings(right), findings(replace(right, value=None, output=None))
    for name in ("row-variance", "entropy", "largest-score-100"):
        assert found[name].estimate == without[name].estimate
        assert "implies" not in found[name].reason


def test_sequences_without_an_output_take_the_scale_of_those_before() -> None:
    """Of two calls, one has no output: the program is the same."""
    wrong = replace(call(applied=1.0, sequences=8, queries=40, keys=40), scale=None)
    blind = replace(wrong, value=None, output=None)
    assert findings(wrong, blind)["row-variance"].estimate == pytest.approx(
        findings(wrong)["row-variance"].estimate
    )
    assert findings(blind)["row-variance"].estimate == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"applied": 1.0}, 1.0),
        ({"applied": -SCALE}, -SCALE),
        ({}, None),
        ({"applied": 1.005 * SCALE}, None),
        ({"dtype": np.float16, "deviation": 0.00005}, 0.7),
        ({"keys": 1}, 0.7),
    ],
)
def test_scale_is_the_implied_one_only_where_the_output_tells(
    options: dict[str, Any], expected: float | None
) -> None:
    """Within the tolerance it is the declared one; where nothing tells, what was found before stands."""
    found = implied_unlike_declared(Block(call(**options), 0, 0, SCALE), 0.7)
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-3))


def test_output_that_no_scale_gives_leaves_what_was_found_before() -> None:
    """Noise for an output implies nothing."""
    one = call()
    noise = replace(one, output=np.random.default_rng(1).standard_normal(one.query.shape))
    assert implied_unlike_declared(Block(noise, 0, 0, SCALE), 0.7) == 0.7
