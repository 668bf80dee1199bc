"""Maps of layers × heads as drawings: they fit their page, and marks stand where they belong."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree as ET

import pytest

from tests.auditing.records import bad, good
from tests.report.audits.shown import grid
from verify.evidence.audits import Judgement
from verify.report.audits.drawing import draw_map, draw_overview, is_narrow
from verify.report.audits.maps import Grid, overview

BAD = bad()


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
    assert draw_map(grid("row-variance", BAD)).count('class="line-') == len(_shades_of_marked("row-variance"))
    assert 'class="line-' not in draw_map(grid("entropy", BAD))
    ring = re.compile(r"a[\d.]+ [\d.]+ 0 1 1")
    assert ring.search(draw_map(grid("largest-score", BAD)))
    assert not ring.search(draw_map(grid("entropy", BAD)))
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
    svg = draw_map(grid(kind, BAD))
    return set(re.findall(r'class="line-(\d)"', svg))


def test_cells_of_a_shade_are_one_path_and_larger_values_are_darker() -> None:
    """As many boxes as cells, in no more paths than shades; the legend names the values of its edges."""
    shown = grid("entropy", BAD)
    root = ET.fromstring(draw_map(shown))  # noqa: S314 - our own
    paths = {one.get("class", ""): one.get("d", "") for one in root.iter() if one.tag.endswith("path")}
    filled = [d for name, d in paths.items() if name.startswith("fill-")]
    swatches = len([one for one in root.iter() if one.get("class", "").startswith("fill-")]) - len(filled)
    boxes = sum(d.count("z") for d in (one.get("d", "") for one in root.iter()))
    assert boxes == len(shown.cells) + swatches
    texts = [one.text for one in root.iter() if one.tag.endswith("text")]
    assert {"layer", "head", "0", "1", "2", "3"} <= set(texts)


def test_a_long_name_of_a_layer_keeps_its_end() -> None:
    """Two layers differ at the ends of their names."""
    finding = BAD.layers[0].findings[0]
    names = tuple(f"{'model.' * 8}{part}" for part in ("encoder", "decoder"))
    svg = draw_map(Grid("map-1", "k", "k", names, 1, {(place, 0): finding for place in range(2)}))
    written = re.findall(r">(…[^<]*)<", svg)
    assert [len(one) for one in written] == [24, 24]
    assert [one.rpartition(".")[2] for one in written] == ["encoder", "decoder"]


def test_labels_on_an_axis_do_not_touch() -> None:
    """Of many heads every second, fourth, … is named; neighbours are 14 points apart at least."""
    finding = BAD.layers[0].findings[0]
    for heads in (3, 20, 100, 400):
        cells = {(0, head): finding for head in range(heads)}
        svg = draw_map(Grid("map-1", "k", "k", ("h.0",), heads, cells))
        places = re.findall(r'<text x="([\d.]+)" y="19" text-anchor="middle"[^>]*>(\d+)<', svg)
        numbers = [int(number) for _, number in places]
        assert numbers[0] == 0
        assert len({b - a for a, b in itertools.pairwise(numbers)}) == 1
        apart = [float(b) - float(a) for (a, _), (b, _) in itertools.pairwise(places)]
        assert min(apart) >= 13.98
