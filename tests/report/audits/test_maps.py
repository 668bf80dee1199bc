"""Maps of layers × heads: what they show, as words, as a table and as a drawing."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from tests.auditing.records import STATISTICAL, bad, good
from verify.evidence.audits import AuditRecord, Judgement
from verify.report.audits.drawing import draw_map, draw_overview, is_narrow
from verify.report.audits.maps import Grid, grids, map_view, overview, row_names

BAD = bad()


def grid(kind: str, audit: AuditRecord = BAD) -> Grid:
    """Return the grid of a kind of finding."""
    return next(one for one in grids(audit) if one.name == kind)


def test_each_statistical_kind_has_a_map() -> None:
    """And no exact one; one head alone needs none."""
    assert [one.name for one in grids(BAD)] == [*(kind.name for kind in STATISTICAL), "largest-score"]
    assert not grids(good(1, 1))


def test_a_map_says_in_words_what_it_shows() -> None:
    """Extremes with their places, the median, and how many cells are marked; the table has each value."""
    seen = map_view(grid("row-variance"), narrow=True)
    assert seen.figure.alt.endswith(
        "4 layers by 4 heads: smallest 0.72 in decoder.layers.2.self_attn head 1, median 1.055, "
        "largest 1.309 in decoder.layers.0.self_attn head 1; 4 undecided."
    )
    assert "hatched where undecided" in seen.figure.title
    assert seen.claims == ("score-variance",)
    assert seen.matrix.heads == ("0", "1", "2", "3")
    assert seen.matrix.rows[0] == (
        "decoder.layers.0.self_attn",
        ("1.137\N{NO-BREAK SPACE}undecided", "1.309", "1.263", "1.032"),
    )
    assert map_view(grid("entropy"), narrow=True).note == "At unit variance the catalogue derives 0.922."


def test_the_overview_shows_the_most_serious_judgement() -> None:
    """A finding on a whole layer counts for all its heads."""
    whole = overview(BAD)
    assert whole is not None
    judged = {place: one.judgement for place, one in whole.cells.items()}
    assert len(judged) == 16
    assert {judged[layer, head] for layer in range(3) for head in range(4)} == {Judgement.REFUTED}
    assert [judged[3, head] for head in range(4)] == [
        Judgement.UNDECIDED,
        Judgement.REFUTED,
        Judgement.UNDECIDED,
        Judgement.UNDECIDED,
    ]
    assert overview(good(1, 1)) is None


@pytest.mark.parametrize("size", [(1, 2), (4, 4), (2, 3), (48, 64), (300, 20), (2, 200)])
def test_a_drawing_fits_its_page(size: tuple[int, int]) -> None:
    """Whatever the number of layers and heads, it is as wide as the text and no higher than a page."""
    audit = good(1, 1)
    layer = audit.layers[0]
    finding = next(one for one in layer.findings if one.kind == "entropy")
    layers, heads = size
    cells = {
        (number, head): finding.model_copy(update={"estimate": 0.5 + 0.001 * (number + head)})
        for number in range(layers)
        for head in range(heads)
    }
    drawn = Grid("map-1", "entropy", "entropy", tuple(f"h.{n}" for n in range(layers)), heads, cells)
    svg = draw_map(drawn)
    root = ET.fromstring(svg)  # noqa: S314 - our own
    _, _, wide, high = map(float, root.attrib["viewBox"].split())
    assert (wide < 240) == is_narrow(drawn)
    assert wide <= 482
    assert high <= 580
    boxes = re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)", svg)
    assert len(boxes) >= layers * heads
    assert all(float(x) + float(w) <= wide and float(y) + float(h) <= high for x, y, w, h in boxes)
    assert len(svg) < 60 * layers * heads + 8000


def test_marks_are_drawn_where_they_belong() -> None:
    """Undecided cells are hatched, refuted ones crossed, warned ones ringed; others have no mark."""
    assert draw_map(grid("row-variance")).count('class="line-') == len(_shades_of_marked("row-variance"))
    assert 'class="line-' not in draw_map(grid("entropy"))
    ring = re.compile(r"a[\d.]+ [\d.]+ 0 1 1")
    assert ring.search(draw_map(grid("largest-score")))
    assert not ring.search(draw_map(grid("entropy")))
    whole = overview(BAD)
    assert whole is not None
    drawn = draw_overview(whole)
    assert [mark in drawn for mark in ("on-refuted", "on-undecided", "on-warned")] == [True, True, False]


def test_a_mark_leaves_the_value_readable() -> None:
    """In cells with their values, crosses are small and above the digits, at the right edge."""
    finding = BAD.layers[0].findings[0]
    cells = {
        (0, head): finding.model_copy(update={"estimate": 1.5 + head, "judgement": Judgement.REFUTED})
        for head in range(2)
    }
    svg = draw_map(Grid("map-1", "row-variance", "row-variance", ("h.0",), 2, cells))
    strokes = re.findall(r"M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)", svg)
    values = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="middle" class="ink', svg)
    assert (len(strokes), len(values)) == (4, 2)
    for number, (middle, baseline) in enumerate(values):
        for x, y, to_x, to_y in strokes[2 * number : 2 * number + 2]:
            assert min(float(x), float(to_x)) > float(middle) + 9
            assert max(float(y), float(to_y)) < float(baseline) - 5


def _shades_of_marked(kind: str) -> set[str]:
    svg = draw_map(grid(kind))
    return set(re.findall(r'class="line-(\d)"', svg))


def test_layers_are_numbered_where_only_a_number_differs() -> None:
    """Else they keep their names."""
    assert row_names(("h.0.attn", "h.1.attn")) == ("0", "1")
    assert row_names(("encoder", "decoder")) == ("encoder", "decoder")
