"""Audits on record: what they come to, and what is said of them in lines by cause."""

from typing import Any

import pytest

from tests.auditing.records import bad, good
from verify.evidence.audits import AuditRecord, Judgement, summary_lines, together


def test_the_worst_finding_that_decides_gives_exit_status_and_verdict() -> None:
    """1 for a refuted one, else 3 for an undecided one, else 0, whatever is only reported."""
    assert good().exit_status == 0
    assert bad().exit_status == 1
    ends = {}
    for judgement in Judgement:
        audit = _with(good(1, 1), {"judgement": judgement})
        ends[judgement.value] = audit.exit_status, str(audit).splitlines()[-1].partition(":")[0]
    assert ends == {
        "confirmed": (0, "confirmed"),
        "refuted": (1, "refuted"),
        "undecided": (3, "undecided"),
        "warned": (0, "confirmed"),
        "reported": (0, "nothing decides"),
    }
    partly = good().model_copy(update={"unseen": ("calls",)})
    assert (partly.exit_status, partly.verdict) == (3, "confirmed in part")


def test_one_cause_is_one_line_over_layers_and_kinds() -> None:
    """Those on most heads come first; where no cause is known, what was found is said."""
    wrong, mask, undecided, *_, counts = str(bad(4, 4)).splitlines()
    assert wrong.startswith("✗ decoder.layers.0–2.self_attn: scale refuted: the scale is 1/√512 = 1/√D: ")
    assert wrong.endswith("; divide by √64, not √512: every score is 2.83 times too small")
    assert mask.startswith("✗ decoder.layers.3.self_attn, head 1: formula refuted: the mask")
    assert undecided.startswith("? decoder.layers.3.self_attn: scale undecided: the scale over the intended")
    assert counts.startswith("refuted: 4 layers, 16 heads; 24 calls, ")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"cause": "", "reason": "half of the range", "fix": "scale"}, "is 0.3; half of the range; scale"),
        ({"cause": "no scale", "reason": "looked at 3 rows", "fix": "divide"}, "refuted: no scale; divide"),
    ],
)
def test_a_fix_does_not_hide_what_was_found(changes: dict[str, str], line: str) -> None:
    """Without a cause, the line has the measured number and the reason before the fix."""
    wrong = {"estimate": 0.3, "judgement": Judgement.REFUTED, "heads": (), **changes}
    assert next(summary_lines(_with(good(1, 1), wrong))).endswith(line)


def _with(audit: AuditRecord, *changes: dict[str, Any]) -> AuditRecord:
    """Return an audit with these changes to the first finding of each layer, and without the others."""
    layers = [
        layer.model_copy(update={"findings": (layer.findings[0].model_copy(update=change),)})
        for layer, change in zip(audit.layers, changes, strict=True)
    ]
    return audit.model_copy(update={"layers": tuple(layers)})


def test_places_stay_short() -> None:
    """What has no common pattern is listed up to three."""
    assert together(["encoder", "decoder", "cross"]) == "encoder, decoder, cross"
    assert together([f"{name}.attn" for name in "abcdefg"]) == "a.attn, b.attn, c.attn and 4 more layers"
    heads = [{"heads": (n,), "judgement": Judgement.WARNED} for n in range(8)]
    assert "head 2 and 5 more groups of heads: mask" in next(summary_lines(_with(good(8, 8), *heads)))
