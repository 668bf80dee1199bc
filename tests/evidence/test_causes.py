"""What an audit says in a terminal and in Python: a line for each cause, with all its layers and heads."""

from __future__ import annotations

from tests.auditing.records import bad, good


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


def test_findings_of_a_layer_are_told_apart_by_head() -> None:
    """The layer is not named twice."""
    shown = str(bad(4, 4)).splitlines()
    assert any("self_attn, all 4 heads: scale-implied undecided: head 0: 0.93" in line for line in shown)
