"""What an audit says in a terminal and in Python: a line for each cause, with all its layers and heads."""

from __future__ import annotations

import pytest

from tests.auditing.records import bad, good
from verify.evidence.audits import Judgement, summary_lines


def test_one_cause_is_one_line_over_layers_and_kinds() -> None:
    """Those that decide come first; where no cause is known, the worst head stands for its like."""
    wrong, mask, undecided, *_, counts = str(bad(4, 4)).splitlines()
    assert wrong.startswith(
        "✗ decoder.layers.0–2.self_attn, all 4 heads: scale-applied, scale-implied refuted: $1/"
    )
    assert wrong.endswith(r"; divide by $\sqrt{64}$, not by $\sqrt{512}$")
    assert mask.startswith("✗ decoder.layers.3.self_attn, head 1: reconstruction refuted: the mask")
    assert undecided.startswith(
        "? all 4 layers, head 0: row-variance undecided: decoder.layers.1.self_attn, head 0: 1.279, interval"
    )
    assert undecided.endswith("; it would take about 210 sequences to decide")
    assert counts.startswith("4 layers, 16 heads: ")


def test_where_all_is_well_there_are_counts_alone() -> None:
    """One line."""
    assert len(str(good()).splitlines()) == 1


@pytest.mark.parametrize(
    ("estimates", "said"), [((0.93, 0.94), "head 1: 0.94; near"), ((0.93, 0.93), "0.93; near")]
)
def test_heads_are_told_apart_where_they_differ(estimates: tuple[float, ...], said: str) -> None:
    """The layer is not named twice; what all heads say is said of none of them."""
    layer = bad(2, 2).layers[0]
    one = next(one for one in layer.findings if one.judgement == Judgement.UNDECIDED)
    alike = {
        "interval": (None, None), "band": None, "reason": "near", "cause": "", "fix": "",
        "sequences_needed": None,
    }  # fmt: skip
    findings = tuple(
        one.model_copy(update={**alike, "id": f"x-head-{head}", "head": head, "estimate": estimate})
        for head, estimate in enumerate(estimates)
    )
    line = next(summary_lines([layer.model_copy(update={"findings": findings})], ()))
    assert line == f"? {layer.name}, both heads: x undecided: {said}"


@pytest.mark.parametrize(
    ("band", "asked"),
    [((None, 1.139e-7), "at most 1.139e-07"), ((0.5, None), "at least 0.5"), ((1 - 1e-9, 1 + 1e-9), "1")],
)
def test_what_was_asked_for_reads_as_a_sentence(band: tuple[float | None, float | None], asked: str) -> None:
    """An open end is at most or at least, and what prints as one number is one."""
    assert _line(band=band, reason="near", cause="", fix="").endswith(
        f"refuted: 0.3, asked for {asked}; near"
    )


def test_a_fix_does_not_hide_what_was_found() -> None:
    """Without a cause, the line has the measured number and the reason before the fix."""
    line = _line(band=None, reason="half of float16's range", cause="", fix="scale the queries first")
    assert line.endswith("refuted: 0.3; half of float16's range; scale the queries first")
    line = _line(band=None, reason="looked at 3 rows", cause="no scale", fix="divide")
    assert line.endswith("refuted: no scale; divide")


def _line(**changes: object) -> str:
    layer = bad(1, 1).layers[0]
    exact = next(one for one in layer.findings if one.exact)
    numbers = {"estimate": 0.3, "standard_error": None, "interval": (None, None), "decides": True}
    one = exact.model_copy(update={**numbers, "judgement": Judgement.REFUTED, **changes})
    return next(summary_lines([layer.model_copy(update={"findings": (one,)})], ()))
