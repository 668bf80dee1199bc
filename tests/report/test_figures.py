"""Figures come from evidence alone, look the same every time, and never rely on colour."""

import itertools
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.builders import contrast
from tests.report.records import SCORE_VARIANCE
from verify.errors import RenderError
from verify.evidence import Axis, Figure, PlotLayer
from verify.evidence.plots import INK, layer_styles
from verify.files import shipped_folder
from verify.report.figures import draw, spread

FIGURE = SCORE_VARIANCE.series[0]
ROLES = ("truth", "measured", "control", "other")
VALUES: dict[str, Any] = {"x": (1, 2, 3), "y": (1, 4, 9), "lo": (0, 3, 8), "hi": (2, 5, 10)}
KINDS = Figure(
    id="kinds",
    title="All kinds",
    alt="All kinds of layers.",
    x=Axis(label="n"),
    y=Axis(label=r"$\sigma^2$ per key"),
    layers=tuple(
        PlotLayer(kind=kind, role=role, label=f"{kind} {role} $d _k$", **VALUES)
        for kind in ("points", "line", "band", "steps")
        for role in ROLES
    ),
)


def test_text_is_text_in_the_surrounding_colour_the_same_every_time() -> None:
    """Labels stay text in the report's face and follow the page's colour; axes too."""
    drawn = draw(FIGURE, "x.")
    assert draw(FIGURE, "x.") == drawn
    assert "measured, with" in drawn
    assert "variance of the score" in drawn
    assert set(re.findall(r'font-family(?:="|: )([^;"]+)', drawn)) == {"Source Sans Pro"}
    assert "#010203" not in drawn
    assert drawn.count("currentColor") > 20


@pytest.mark.parametrize("figure", [FIGURE, KINDS])
def test_is_well_formed_and_leaks_nothing(figure: Figure) -> None:
    """A bare element without style rules or metadata; every id is prefixed and every reference resolves."""
    svg = draw(figure, "p.")
    ids = re.findall(r' id="([^"]+)"', svg)
    assert ids
    assert all(name.startswith("p.") for name in ids)
    assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg)) <= set(ids)
    root = ET.fromstring(svg)  # noqa: S314
    assert root.tag.endswith("svg")
    assert "<style" not in svg
    assert "metadata" not in svg
    assert "http" not in svg.replace("http://www.w3.org/", "")


def test_bad_latex_in_a_label_is_an_error() -> None:
    """A label that cannot be set is reported in one line that names the figure."""
    broken = FIGURE.model_copy(update={"x": Axis(label=r"$\underbrace{a}$", scale="log")})
    with pytest.raises(RenderError, match="figure line"):
        draw(broken, "x.")


def test_values_that_a_log_axis_cannot_show() -> None:
    """Zeros and negative values on a log axis are left out, not an error."""
    layers = tuple(layer.model_copy(update={"y": (0.0, *layer.y[1:-1], -1.0)}) for layer in FIGURE.layers[:2])
    nothing = FIGURE.layers[0].model_copy(update={"y": (0.0,) * 9})
    assert "nan" not in draw(FIGURE.model_copy(update={"layers": (*layers, nothing)}), "x.")


@given(st.lists(st.tuples(st.floats(0, 200), st.floats(8, 30)), min_size=1, max_size=6))
def test_labels_never_overlap(labels: list[tuple[float, float]]) -> None:
    """Labels keep apart, and inside the axes, whenever they fit there."""
    wanted, heights = [place for place, _ in labels], [height for _, height in labels]
    places = spread(wanted, heights, 0, 220, 3)
    spans = sorted(
        (place - height / 2, place + height / 2) for place, height in zip(places, heights, strict=True)
    )
    assert all(above[0] - below[1] > 3 - 1e-6 for below, above in itertools.pairwise(spans))
    assert spans[0][0] > -1e-6
    assert spans[-1][1] < 220 + 1e-6


@pytest.mark.parametrize("sheet", ["common.css", "page.css"])
def test_every_colour_stands_out_from_the_page(sheet: str) -> None:
    """Three to one at least, the least for graphics in WCAG 2.2, on white and on the dark page."""
    rules = (shipped_folder("templates") / sheet).read_text(encoding="utf-8")
    paper = re.search("--paper: (#[0-9a-f]{6});", rules)
    assert paper is not None
    layers = [layer("line", role) for role in ROLES for _ in range(3)]
    colours = {style.colour for style in layer_styles(layers)} - {INK}
    assert len(colours) >= 6
    for colour in colours:
        assert contrast(paper[1], colour) >= 3, colour


def layer(kind: str, role: str) -> PlotLayer:
    """Return a layer of one point."""
    return PlotLayer.model_validate({"kind": kind, "role": role, "label": "l", "x": (1,), "y": (1,)})


@pytest.mark.parametrize("kind", ["points", "line"])
def test_three_labelled_layers_of_a_role_differ_in_print_without_colour(kind: str) -> None:
    """By marker where there are points, by dashes where there is a line; roles differ as well."""
    styles = layer_styles([layer(kind, role) for role in ROLES for _ in range(3)])
    seen = [(style.colour, style.marker if kind == "points" else style.dashes) for style in styles]
    assert len(set(seen)) == len(seen)
    for start in range(0, len(styles), 3):
        of_role = styles[start : start + 3]
        assert len({style.marker if kind == "points" else style.dashes for style in of_role}) == 3
