"""The findings of an audit layer by layer."""

from __future__ import annotations

from tests.auditing.records import bad, good
from tests.report.audits.shown import group, seen
from verify.report.audits.tables import figures


def test_a_row_has_all_of_a_finding() -> None:
    """Estimate, error and interval to the digits that mean something, and what it is held against."""
    view = seen(bad())
    rows = group(view, 0, "Variance of a row").rows
    assert [row.heads for row in rows] == ["head 0", "head 1", "head 2", "head 3"]
    assert [cell.text for cell in (rows[1].estimate, rows[1].error, rows[1].low, rows[1].high)] == [
        "1.309",
        "0.015",
        "1.226",
        "1.392",
    ]
    assert rows[1].against == "0.5 to 2"
    assert rows[0].badge.word == "undecided"
    assert rows[0].remark == "48 sequences leave too wide an interval; 7 rows left out"
    shared = group(view, 0, "Entropy")
    assert shared.note == "7 rows left out; at unit variance 0.922"
    assert {row.remark for row in shared.rows} == {""}
    assert shared.claims == ("attention-entropy",)
    score = group(view, 0, "Largest score").rows[0]
    assert (score.low.text, score.high.text) == ("18.4", "∞")


def test_a_large_audit_merges_heads_that_are_judged_alike() -> None:
    """A row for each judgement, with the range of the estimates and the hull of the intervals."""
    view = seen(bad(12, 12))
    assert view.merged
    assert sum(len(one.rows) for layer in view.layers for one in layer.groups) < 12 * 16
    undecided, confirmed = sorted(
        group(view, 0, "Variance of a row").rows, key=lambda row: row.badge.word, reverse=True
    )
    assert (undecided.heads, confirmed.heads) == ("head 0", "heads 1–11")
    found = [one for one in bad(12, 12).layers[0].findings if one.kind == "row-variance" and one.head]
    estimates = sorted(one.estimate or 0.0 for one in found)
    assert confirmed.estimate.text == f"{estimates[0]:.4g} to {estimates[-1]:.4g}"
    assert confirmed.low.text == f"{min(one.interval[0] or 0.0 for one in found):.4g}"
    assert confirmed.high.text == f"{max(one.interval[1] or 0.0 for one in found):.4g}"
    assert group(view, 0, "Implied scale").rows[0].heads == "all 12 heads"
    assert not seen(bad()).merged


def test_numbers_without_an_interval_or_an_estimate() -> None:
    """An exact one has neither error nor interval; where nothing is estimated there is no text."""
    layer = good().layers[0]
    assert figures(layer.finding("scale-applied")) == ("1", "", "", "")
    nothing = layer.finding("scale-applied").model_copy(update={"estimate": None})
    assert figures(nothing) == ("", "", "", "")
    huge = layer.finding("entropy-head-0").model_copy(
        update={"estimate": 0.0, "standard_error": None, "interval": (-1.7e308, 1.7e308)}
    )
    assert figures(huge)[0]
