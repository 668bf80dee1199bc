"""The pages of a comparison of recordings: what differs first, a map without blanks, nothing fetched."""

import re
from typing import Any

import pytest


from verify.evidence.comparisons import Agreement, ComparedLayer, ComparedPart, ComparisonRecord, DifferingRow
from verify.evidence.runs import Tool
from verify.report.comparison import comparison_report
from verify.report.html import render_html

pytestmark = pytest.mark.usefixtures("no_faces")

ROW = DifferingRow(size=0.9, call=0, sequence=2, head=1, row=5, key=3)


def layer(number: int, **outcomes: Agreement) -> ComparedLayer:
    """Return a layer whose quantities have these outcomes, the others being the same."""
    parts = tuple(
        ComparedPart(
            name=name,
            outcome=outcomes.get(name, Agreement.SAME),
            size=0.13 if outcomes.get(name) else 2e-7,
            allowed=4e-7,
            heads=(1,) if name in outcomes else (),
            what="queries differ" if name in outcomes else "",
            rows=(ROW,) if outcomes.get(name) is Agreement.DIFFERS else (),
        )
        for name in ("x", "q", "k", "v", "mask", "scale", "out")
        if not (name == "x" and number == 3)
    )
    return ComparedLayer(
        id=f"layer-{number}",
        name=f"h.{number}.attn",
        other=f"b.{number}",
        heads=4,
        key_heads=2,
        calls=1,
        rows=96,
        dtype="float32",
        parts=parts,
    )


def made(*layers: ComparedLayer, **more: Any) -> ComparisonRecord:
    """Return a comparison of such layers."""
    given = {"left_out": ("h.9.attn is in A only",), "unseen": ("calls",), "environment": {"python": "3.11"}}
    return ComparisonRecord(
        tool=Tool(version="1.0"),
        a="eager",
        b="fused",
        layers=layers,
        allow_unseen=("output",),
        created="2026-01-02T03:04:05+00:00",
        elapsed_s=1.0,
        **given | more,
    ).sealed()


FOLLOWING = dict.fromkeys(("x", "q", "k", "v"), Agreement.FOLLOWS)
FAULTY = made(
    layer(0), layer(1), layer(2, q=Agreement.DIFFERS, out=Agreement.UNKNOWN), layer(3, **FOLLOWING), layer(4)
)
SOUND = made(*(layer(number) for number in (0, 1, 2)), left_out=(), unseen=())


def test_what_differs_first_comes_first() -> None:
    """With its heads and rows; layers that are alike share a row of the map, in which no cell is blank."""
    view = comparison_report(FAULTY)
    assert view.outcome == ("They differ first in h.2.attn: q.", "bad")
    ((first,), (other,)) = view.first, view.others
    what = "Queries differ (13% apart; rounding allows 4\N{MULTIPLICATION SIGN}10⁻⁵%)."
    assert first[1:] == ("h.2.attn, head 1", "q", what, ("call 0, sequence 2, head 1, row 5, key 3",))
    assert other[0].word == "not known"
    assert [names for names, _ in view.rows] == ["h.0–1.attn", "h.2.attn", "h.3.attn", "h.4.attn"]
    assert all(text for _, cells in view.rows for _, text in cells)
    assert view.rows[2][1][0] == (None, "none")
    assert comparison_report(SOUND).outcome == ("No difference was found.", "good")
    assert "not everything" in comparison_report(made(layer(0))).outcome[0]
    assert comparison_report(made()).outcome == ("They cannot be compared.", "idle")


def test_the_page_is_complete() -> None:
    """Every link leads to an element of the page, no id comes twice, and nothing is fetched."""
    page = render_html(FAULTY)
    ids = re.findall(r'\bid="?([^\s">]+)', page)
    assert len(ids) == len(set(ids))
    links = set(re.findall(r'href="?([^\s">]+)', page))
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert {link for link in links if not link.startswith("#")} == {"data:,"}
    assert not re.findall(r'src="(?!data:)', page)
