"""What is on record of an audited layer: findings agree with themselves and with their layer."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tests.auditing.records import good
from verify.errors import ClaimError
from verify.evidence.audits import Finding, Judgement, LayerRecord

LAYER = good(1, 2).layers[0]
FINDING: dict[str, Any] = {
    "id": "entropy-head-1",
    "kind": "entropy",
    "head": 1,
    "quantity": "entropy",
    "estimate": 0.5,
    "interval": (0.4, 0.6),
    "band": (0.3, 0.9),
    "exact": False,
    "judgement": Judgement.CONFIRMED,
    "decides": True,
    "sequences": 12,
}


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"interval": (0.51, 0.6)}, "its estimate lies below its interval"),
        ({"interval": (0.4, 0.49)}, "its estimate lies above its interval"),
        ({"band": (0.9, 0.3)}, "its band is upside down"),
        ({"judgement": Judgement.REPORTED}, "it decides, but is only reported"),
        ({"estimate": None, "interval": (None, 0.6)}, "it has an interval but no estimate"),
        ({"estimate": None, "interval": (0.4, None)}, "it has an interval but no estimate"),
        (
            {"estimate": None, "interval": (None, None), "standard_error": 0.1},
            "it has a standard error but no estimate",
        ),
    ],
)
def test_a_finding_that_contradicts_itself_is_refused(changes: dict[str, Any], what: str) -> None:
    """Estimate in its interval, band the right way up, and nothing that decides is only reported."""
    with pytest.raises(ValidationError, match=what):
        Finding.model_validate(FINDING | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"interval": (0.5, 0.5)},
        {"interval": (None, 0.5)},
        {"interval": (0.5, None)},
        {"band": (0.7, 0.7)},
        {"band": (None, 0.1)},
        {"estimate": None, "interval": (None, None)},
        {"judgement": Judgement.REPORTED, "decides": False, "band": None},
    ],
)
def test_ends_belong_to_intervals_and_bands_and_may_be_open(changes: dict[str, Any]) -> None:
    """What lies at an end is inside; a finding may lie outside its band, which its judgement says."""
    made = Finding.model_validate(FINDING | changes)
    assert {name: getattr(made, name) for name in changes} == changes


@pytest.mark.parametrize(
    ("head", "finding", "name"),
    [(1, "entropy-head-1", "entropy"), (None, "scale-head-1", "scale-head-1"), (1, "entropy-head-11", None)],
)
def test_findings_of_one_name_differ_by_their_head_alone(
    head: int | None, finding: str, name: str | None
) -> None:
    """The name is the id without the finding's own head, and without any other."""
    assert Finding.model_validate(FINDING | {"id": finding, "head": head}).name == (name or finding)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"tokens": (9, 3)}, "its fewest tokens are more than its most"),
        ({"id": "audit"}, "audit means something else in keys; choose another id"),
        ({"heads": 1}, "it has 1 heads, and a finding on another"),
        ({"findings": (LAYER.findings[0],) * 2}, "scale-applied is the name of two findings"),
        ({"heads": 10_001}, "less than or equal to 10000"),
    ],
)
def test_a_layer_that_contradicts_itself_is_refused(changes: dict[str, Any], what: str) -> None:
    """Tokens in order, an id that keys can hold, findings on its own heads and each named once."""
    with pytest.raises(ValidationError, match=what):
        LayerRecord.model_validate(LAYER.model_dump() | changes)
    assert LayerRecord.model_validate(LAYER.model_dump()) == LAYER


def test_a_finding_is_had_by_its_id() -> None:
    """An unknown one is refused with its layer and the nearest, in one line."""
    assert LAYER.finding("scale-applied") is LAYER.findings[0]
    with pytest.raises(ClaimError) as caught:
        LAYER.finding("scale-aplied")
    assert str(caught.value).startswith(f"layer {LAYER.id}: ")
    assert "did you mean 'scale-applied'" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_finding_is_shown_in_a_line() -> None:
    """With what was found, not with all its fields."""
    assert repr(Finding.model_validate(FINDING)) == (
        "Finding(id='entropy-head-1', estimate=0.5, interval=(0.4, 0.6), judgement='confirmed')"
    )
