"""Heat maps of layers × heads: what they show in words, their colours, and their drawing."""

import itertools
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.auditing.records import STATISTICAL, bad, good
from tests.report.builders import contrast
from tests.strategies import examples
from verify.evidence.audits import AuditRecord, DerivedValue, Judgement
from verify.files.names import shipped_folder
from verify.report.heatmaps import (
    SHADES, ColourScale, Grid, draw_map, draw_overview, grids, is_narrow, map_of, overview,
)  # fmt: skip


def grid(kind: str, audit: AuditRecord) -> Grid:
    """Return the grid of a kind of finding."""
    return next(one for one in grids(audit) if one.name == kind)


BAD = bad()


def test_each_statistical_kind_has_a_map() -> None:
    """And no exact one; one head alone needs none."""
    assert [one.name for one in grids(BAD)] == [*(kind.name for kind in STATISTICAL), "largest-score"]
    assert not grids(good(1, 1))


def test_a_map_says_in_words_what_it_shows() -> None:
    """Extremes with their places, the median, and how many cells are marked; the table has each value."""
    seen = map_of(grid("row-variance", BAD))
    assert seen.figure.alt.endswith(
        "4 layers by 4 heads: smallest 0.72 in decoder.layers.2.self_attn head 1, median 1.055, "
        "largest 1.309 in decoder.layers.0.self_attn head 1; 4 undecided."
    )
    assert "hatched where undecided" in seen.figure.title
    assert seen.claims == ("score-variance",)
    entries = [seen.grid.entry(0, head) for head in range(4)]
    assert entries == ["1.137\N{NO-BREAK SPACE}undecided", "1.309", "1.263", "1.032"]
    assert map_of(grid("entropy", BAD)).note == "At unit variance the catalogue derives 0.922."


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


def test_layers_are_numbered_where_only_a_number_differs() -> None:
    """Else they keep their names."""
    for names, short in ((("h.0.attn", "h.1.attn"), ("0", "1")), (("encoder", "decoder"),) * 2):
        assert Grid("map-1", "", "", names, 1, {}).row_names == short


FINITE = st.floats(allow_nan=False, allow_infinity=False)


def _grid(values: list[float], name: str = "entropy", reference: float | None = None) -> Grid:
    """Return a grid of one layer whose heads have these estimates."""
    derived = None if reference is None else DerivedValue(value=reference, claim="attention-entropy")
    finding = BAD.layers[0].findings[0]
    cells = {
        (0, head): finding.model_copy(
            update={"estimate": value, "reference": derived, "judgement": Judgement.REPORTED}
        )
        for head, value in enumerate(values)
    }
    return Grid("map-1", name, "quantity", ("h.0",), len(values), cells)


@examples(80)
@given(st.lists(FINITE, min_size=1, max_size=6), st.none() | st.floats(min_value=1e-9, max_value=1e9))
def test_every_value_has_a_step_and_shades_rise(values: list[float], reference: float | None) -> None:
    """Whatever the values: larger ones are darker, and the six edges have different labels."""
    shown = _grid(sorted(values), reference=reference)
    scale = ColourScale.of(shown)
    shades = [scale.shade_of(shown.cells[0, head]) for head in range(len(values))]
    assert shades == sorted(shades)
    assert len(set(scale.labels)) == len(scale.labels) == 6


def test_scales_are_fixed_and_have_the_reference_in_the_middle() -> None:
    """Entropies of 0.9652 to 0.9659 have one colour, that of the reference, whatever else is in the map."""
    for more in ([], [0.1]):
        shown = _grid([0.9652, 0.9659, 0.96, *more], reference=0.9655)
        scale = ColourScale.of(shown)
        assert {scale.shade_of(shown.cells[0, head]) for head in range(3)} == {3}
        assert scale.labels == ("0.25×", "0.5×", "0.8×", "1.25×", "2×", "4×")
    variances = _grid([0.9, 1.1, 9.0], name="row-variance")
    assert [ColourScale.of(variances).shade_of(one) for one in variances.cells.values()] == [3, 3, 7]
    means = _grid([-0.01, 0.05, 2.0], name="components-query-mean")
    assert [ColourScale.of(means).shade_of(one) for one in means.cells.values()] == [3, 3, 7]
    shares = _grid([0.0, 0.5, 1.0], name="largest-score-100")
    assert [ColourScale.of(shares).shade_of(one) for one in shares.cells.values()] == [0, 3, 7]
    assert [map_of(_grid(values, reference=1.0)).tells for values in ([0.99, 1.01], [0.1, 1.0])] == [
        False,
        True,
    ]


def test_no_cell_is_blank() -> None:
    """Where there is no estimate, or no such head, the cell has a dash."""
    shown = _grid([0.5, 0.6])
    wider = Grid("map-1", "entropy", "quantity", ("h.0", "h.1"), 3, shown.cells)
    drawn = draw_map(wider)
    dashes = re.findall(r'class="on-undecided"[^>]*d="([^"]*)"', drawn)
    assert [one.count("M") for one in dashes] == [4]
    assert 'class="on-undecided"' not in draw_map(shown)


def _dark() -> list[tuple[str, str, str]]:
    """Return fill, ink and line of each step on a dark page."""
    css = (shipped_folder("templates") / "page.css").read_text(encoding="utf-8")

    def colours(kind: str, what: str) -> dict[str, str]:
        rules = re.findall(rf"((?:\.{kind}-\d,? ?)+)\{{ {what}: (#[0-9a-f]{{6}}); \}}", css)
        return {name: colour for names, colour in rules for name in re.findall(r"\d", names)}

    found = [colours("fill", "fill"), colours("ink", "fill"), colours("line", "stroke")]
    return [(found[0][str(n)], found[1][str(n)], found[2][str(n)]) for n in range(len(SHADES))]


def test_what_stands_on_a_colour_can_be_read() -> None:
    """With a contrast of 4.5, on light and dark pages; lightness goes one way, so grey shows the order."""
    dark = _dark()
    assert all(contrast(shade.fill, shade.ink) >= 4.5 for shade in SHADES)
    assert all(contrast(fill, ink) >= 4.5 and ink == line for fill, ink, line in dark)
    light = [contrast(shade.fill, "#000000") for shade in SHADES]
    assert light == sorted(light, reverse=True)
    against_black = [contrast(fill, "#000000") for fill, _, _ in dark]
    assert against_black == sorted(against_black)


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
