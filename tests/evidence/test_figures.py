"""What is on record of a figure: a layer has as many of everything as it has points."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from verify.evidence.claims import Axis, Layer


def layer(kind: str, **more: Any) -> Layer:
    """Return a layer of two points."""
    return Layer.model_validate(
        {"kind": kind, "role": "measured", "label": "", "x": (1, 2), "y": (3, 4)} | more
    )


@pytest.mark.parametrize(
    ("kind", "changes", "what"),
    [
        ("points", {"x": (1, 2, 3)}, "its points differ in number"),
        ("line", {"y": ()}, "its points differ in number"),
        ("points", {"lo": (0,), "hi": (5, 6)}, "its points differ in number"),
        ("points", {"lo": (0, 1), "hi": (5, 6, 7)}, "its points differ in number"),
        ("points", {"lo": (0, 1)}, "ends of its intervals are missing"),
        ("points", {"hi": (5, 6)}, "ends of its intervals are missing"),
        ("band", {}, "ends of its intervals are missing"),
    ],
)
def test_what_cannot_be_drawn_is_refused(kind: str, changes: dict[str, Any], what: str) -> None:
    """Places, values and both ends of intervals are as many; a band is nothing without them."""
    with pytest.raises(ValidationError, match=what):
        layer(kind, **changes)


@pytest.mark.parametrize("kind", ["points", "line", "band", "steps"])
def test_intervals_are_whole_and_nothing_may_be_drawn(kind: str) -> None:
    """With both ends all kinds are good; so is each of them without a point."""
    assert layer(kind, lo=(0, 1), hi=(5, 6)).hi == (5.0, 6.0)
    assert layer(kind, x=(), y=()).lo == ()


def test_an_axis_is_linear_or_logarithmic() -> None:
    """Linear where nobody says otherwise."""
    assert Axis(label="n").scale == "linear"
    with pytest.raises(ValidationError, match="scale"):
        Axis.model_validate({"label": "n", "scale": "square"})
