"""How layers of a figure are told apart."""

import re

import pytest

from tests.report.score_variance import SCORE_VARIANCE
from verify.evidence import Layer
from verify.files.shipped import folder
from verify.report.figures import draw
from verify.report.looks import INK, layer_looks

FIGURE = SCORE_VARIANCE.series[0]


def test_layers_differ_in_shape_as_well_as_colour() -> None:
    """Layers of the same kind have distinct markers or dashes, whatever their role."""
    svg = draw(FIGURE, "x.")
    dashes = set(re.findall(r"stroke-dasharray: ([^;]+);", svg))
    assert len(dashes) == 2


def test_a_layer_without_label_looks_like_its_kin() -> None:
    """The second edge of a tolerance, labelled once, is drawn like the first."""
    edge = Layer(kind="line", role="other", label="tolerance", x=(1, 2), y=(1, 1))
    other = edge.model_copy(update={"label": "", "y": (-1.0, -1.0)})
    svg = draw(FIGURE.model_copy(update={"layers": (edge, other)}), "x.")
    assert len(set(re.findall(r"stroke-dasharray: ([^;]+);", svg))) == 1
    assert len(set(re.findall(r"stroke: (#2e93d6)", svg))) == 1
    named = draw(FIGURE.model_copy(update={"layers": (edge, edge)}), "x.")
    assert len(set(re.findall(r"stroke-dasharray: ([^;]+);", named))) == 2


def _luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2.2."""
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("sheet", ["common.css", "page.css"])
def test_every_colour_stands_out_from_the_page(sheet: str) -> None:
    """Three to one at least, the least for graphics in WCAG 2.2, on white and on the dark page."""
    paper = re.search("--paper: (#[0-9a-f]{6});", (folder("templates") / sheet).read_text(encoding="utf-8"))
    assert paper is not None
    layers = [
        layer(kind, role) for role in ("truth", "measured", "control", "other") for kind in ("line",) * 3
    ]
    colours = {look.colour for look in layer_looks(layers)} - {INK}
    assert len(colours) >= 6
    for colour in colours:
        low, high = sorted((_luminance(paper[1]), _luminance(colour)))
        assert (high + 0.05) / (low + 0.05) >= 3, colour


def layer(kind: str, role: str, label: str = "some") -> Layer:
    """Return a layer of one point."""
    ends = {"lo": (1,), "hi": (1,)} if kind == "band" else {}
    return Layer.model_validate({"kind": kind, "role": role, "label": label, "x": (1,), "y": (1,)} | ends)


@pytest.mark.parametrize("kind", ["points", "line"])
def test_three_labelled_layers_of_a_role_differ_in_print_without_colour(kind: str) -> None:
    """By marker where there are points, by dashes where there is a line; roles differ as well."""
    roles = ("truth", "measured", "control", "other")
    looks = layer_looks([layer(kind, role) for role in roles for _ in range(3)])
    seen = [(one.colour, one.marker if kind == "points" else one.dashes) for one in looks]
    assert len(set(seen)) == len(seen)
    for start in range(0, len(looks), 3):
        of_role = looks[start : start + 3]
        assert len({one.marker if kind == "points" else one.dashes for one in of_role}) == 3


def test_a_band_looks_like_the_line_of_its_role() -> None:
    """They belong together; a fourth layer of a kind begins again."""
    line, band = layer_looks([layer("line", "truth"), layer("band", "truth")])
    assert line == band
    again = layer_looks([layer("line", "truth") for _ in range(4)])
    assert again[0] == again[3]
    assert layer_looks([]) == ()


def test_layers_without_a_label_belong_to_the_one_before() -> None:
    """Only where one of their kind and role came before; else each has a look of its own."""
    first, second, third = layer_looks(
        [layer("line", "other"), layer("line", "other", ""), layer("line", "other")]
    )
    assert first == second != third
    one, other = layer_looks([layer("line", "other", "")] * 2)
    assert one != other
