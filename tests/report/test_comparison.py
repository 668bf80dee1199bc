"""The page of a comparison of recordings: what differs, a map without blanks, nothing fetched."""

import re

import pytest

from verify.evidence.comparisons import Agreement, ComparedLayer, ComparedPart, ComparisonRecord
from verify.evidence.runs import Tool
from verify.report.comparison import comparison_report
from verify.report.html import render_html


def layer(number: int, **outcomes: Agreement) -> ComparedLayer:
    """Return a layer whose quantities have these outcomes, the others being the same."""
    same = {name: ComparedPart(name=name, size=2e-7) for name in ("x", "q", "k", "v", "mask", "out")}
    if number == 3:
        del same["x"]
    for name, outcome in outcomes.items():
        example = "call 0, sequence 2, head 1, row 5"
        changes = {"outcome": outcome, "size": 0.13, "allowed": 4e-7, "heads": (1,), "example": example}
        same[name] = same[name].model_copy(update=changes | {"what": "queries differ"})
    name = f"h.{number}.attn"
    return ComparedLayer(name=name, heads=4, key_heads=2, calls=1, rows=96, parts=tuple(same.values()))


@pytest.mark.usefixtures("no_faces")
def test_the_page_says_what_differs_and_has_a_map() -> None:
    """With heads and an example; no cell is blank, no id comes twice, and nothing is fetched."""
    faulty = layer(2, q=Agreement.DIFFERS, out=Agreement.UNKNOWN)
    record = ComparisonRecord(
        tool=Tool(version="1.0"),
        a="eager",
        b="fused",
        layers=(layer(1), faulty, layer(3, q=Agreement.FOLLOWS)),
        left_out=("h.9.attn is in A <only>",),
        unseen=("calls",),
        created="2026-01-02T03:04:05+00:00",
    ).sealed()
    view = comparison_report(record)
    first, *others = view.lines
    assert first == (
        "✗ h.2.attn, head 1: q differs: queries differ (13% apart; rounding allows "
        "4\N{MULTIPLICATION SIGN}10⁻⁵%), such as call 0, sequence 2, head 1, row 5"
    )
    assert others == [
        "The first layer that differs is h.2.attn.",
        "- h.3.attn: differences that may follow from that",
        "? h.2.attn: out not known: queries differ",
        "- not compared: h.9.attn is in A <only>",
    ]
    assert view.verdict == "different: 3 layers, 3 calls, 288 rows compared"
    assert all(text for _, cells in view.rows for _, text in cells)
    assert view.rows[2][1][0] == (None, "none")
    page = render_html(record)
    assert "is in A &lt;only&gt;" in page
    ids = re.findall(r'\bid="?([^\s">]+)', page)
    assert len(ids) == len(set(ids))
    links = set(re.findall(r'href="?([^\s">]+)', page))
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert {link for link in links if not link.startswith("#")} == {"data:,"}
    assert not re.findall(r'src="(?!data:)', page)
