"""Gates and settings: what is understood, and what is refused in one line."""

from __future__ import annotations

from typing import Any

import pytest

from verify.auditing.gates import audit_settings
from verify.errors import SettingsError


def test_gates_are_read_from_texts_and_from_bands() -> None:
    """Bands open on a side, one of two ends, one text or several, or a mapping; the last two ways agree."""
    texts = ["row-variance:0.5..2", "entropy:0.3..", "largest-score-10000", "effective-keys:..1e3"]
    wanted = {
        "row-variance": (0.5, 2.0),
        "entropy": (0.3, None),
        "largest-score-10000": (None, None),
        "effective-keys": (None, 1000.0),
    }
    assert audit_settings(gate=texts).gates == wanted
    assert audit_settings(gate={**wanted, "largest-score-10000": None}).gates == wanted
    assert audit_settings(gate="entropy:0.3..1").gates == {"entropy": (0.3, 1.0)}
    assert audit_settings().gates == {}


def test_an_intended_scale_may_be_a_number() -> None:
    """A number is its own expression."""
    assert audit_settings(0.125).intended == "0.125"
    assert audit_settings("1/sqrt(d)").intended == "1/sqrt(d)"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"gate": "entropi:0..1"}, "did you mean 'entropy'"),
        ({"gate": "entropy"}, "give a band, such as entropy:"),
        ({"gate": "components:0..1"}, "components-key-variance"),
        ({"gate": "entropy:1"}, "write FINDING or FINDING:LOW..HIGH"),
        ({"gate": "entropy:.."}, "has no band"),
        ({"gate": "entropy:a..b"}, "is no two numbers"),
        ({"gate": "entropy:2..1"}, "ends below its start"),
        ({"gate": "entropy:0..inf"}, "leave out an end"),
        ({"gate": {"entropy": (float("nan"), 1.0)}}, "leave out an end"),
        ({"false_alarm": 0.0}, "must lie between"),
        ({"false_alarm": 1}, "must lie between"),
        ({"false_alarm": "often"}, "give a number"),
        ({"intended": "import os"}, "intended scale"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], complaint: str) -> None:
    """One line says what is wrong and how to write it."""
    with pytest.raises(SettingsError, match=complaint) as caught:
        audit_settings(**given)
    assert "\n" not in str(caught.value)
