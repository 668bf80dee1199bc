"""Figures come from evidence alone, look the same every time, and never rely on colour."""

import re
from xml.etree import ElementTree as ET

import pytest
from matplotlib.figure import Figure as Canvas

from tests.report.score_variance import SCORE_VARIANCE
from verify.errors import RenderError
from verify.evidence import Axis, Figure, Layer
from verify.report import figures
from verify.report.figures import _log_locator, _tick, draw

FIGURE = SCORE_VARIANCE.series[0]
KINDS = Figure(
    id="kinds",
    title="All kinds",
    alt="All kinds of layers.",
    x=Axis(label="n"),
    y=Axis(label=r"$\sigma^2$ per key"),
    layers=tuple(
        Layer(
            kind=kind,
            role=role,
            label=f"{kind} {role} $d _k$",
            x=(1, 2, 3),
            y=(1, 4, 9),
            lo=(0, 3, 8),
            hi=(2, 5, 10),
        )
        for kind in ("points", "line", "band", "steps")
        for role in ("truth", "measured", "control", "other")
    ),
)


@pytest.fixture(scope="module")
def drawn() -> str:
    """Return the figure of the made-up claim."""
    return draw(FIGURE, "x.")


def test_same_record_same_text(drawn: str) -> None:
    """Drawing twice gives the same bytes."""
    assert draw(FIGURE, "x.") == drawn


def test_text_is_text_in_the_surrounding_colour(drawn: str) -> None:
    """Labels stay text in the report's face and follow the page's colour; axes too."""
    assert "measured, with" in drawn
    assert "variance of the score" in drawn
    assert set(re.findall(r'font-family(?:="|: )([^;"]+)', drawn)) == {"Source Sans Pro"}
    assert "#010203" not in drawn
    assert drawn.count("currentColor") > 20


def test_ids_carry_the_prefix_and_resolve(drawn: str) -> None:
    """Several figures can lie in one page: every id is prefixed and every reference resolves."""
    ids = re.findall(r' id="([^"]+)"', drawn)
    assert ids
    assert all(name.startswith("x.") for name in ids)
    assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', drawn)) <= set(ids)


@pytest.mark.parametrize("figure", [FIGURE, KINDS])
def test_is_well_formed_and_leaks_nothing(figure: Figure) -> None:
    """The figure is a bare element without style rules or metadata, for a page and for an image."""
    svg = draw(figure, "p.")
    root = ET.fromstring(svg)  # noqa: S314
    assert root.tag.endswith("svg")
    assert "<style" not in svg
    assert "metadata" not in svg
    assert "http" not in svg.replace("http://www.w3.org/", "")


@pytest.mark.parametrize("figure", [FIGURE, KINDS])
def test_says_nothing_idle(figure: Figure) -> None:
    """Places go to a hundredth of a point, and shapes that draw nothing are left out."""
    svg = draw(figure, "x.")
    places = re.findall(r' (?:d|x|y|width|height)="([^"]*)"|translate\(([^)]*)', svg)
    assert len(places) > 50
    assert not re.search(r"\.\d{3}", " ".join(map("".join, places)))
    assert 'style="fill: none"' not in svg
    assert "rotate" not in svg


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


def test_points_that_would_hide_one_another_stand_side_by_side() -> None:
    """Marks at one place are drawn aside of it, and only those; the record keeps the places themselves."""

    def layer(label: str, x: tuple[float, ...], y: tuple[float, ...]) -> Layer:
        return Layer(kind="points", role="measured", label=label, x=x, y=y)

    both = layer("one", (1.0, 2.0), (1.0, 3.0)), layer("two", (1.0, 2.0), (1.0, 2.0))
    apart = layer("three", (1.0, 2.0), (4.0, 5.0))
    assert figures._asides((*both, apart)) == [-figures._ASIDE / 2, figures._ASIDE / 2, 0.0]
    assert figures._asides((both[0], apart)) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("ends", "named"),
    [
        ((1.0, 8.0), {"1", "2", "5"}),
        ((1.1, 1.5), {"1.2", "1.4"}),
        ((1.0, 1000.0), {"1", "10", "100", "1000"}),
        ((2e-6, 9e-6), {"2 × 10⁻⁶", "4 × 10⁻⁶", "6 × 10⁻⁶", "8 × 10⁻⁶"}),
    ],
)
def test_a_short_log_axis_has_several_ticks(ends: tuple[float, float], named: set[str]) -> None:
    """Within a decade the powers of ten name too little."""
    record = Axis(label="x", scale="log")
    axes = Canvas(figsize=(1, 1)).add_subplot()
    axes.set_xscale("log")
    axes.plot(ends, ends)
    low, high = axes.xaxis.get_view_interval()
    places = _log_locator(low, high).tick_values(low, high)
    texts = {_tick(record)(place, 0) for place in places if low <= place <= high}
    powers = {re.sub(r"\$(.*) .times 10\^\{-6\}\$", r"\1 × 10⁻⁶", text) for text in texts}
    assert named <= powers
    assert 2 < len(powers) < 8


def test_a_long_name_of_an_axis_breaks_into_lines() -> None:
    """At half the width of the text, no word stands outside the drawing."""
    figure = SCORE_VARIANCE.series[0]
    long = "share of seeds with a mean loss below 0.2 over the last 20 steps of training, at every rate"
    named = figure.model_copy(update={"y": figure.y.model_copy(update={"label": long})})
    texts = [text.strip() for text in ET.fromstring(draw(named, "x.", figures.HALF_SIZE)).itertext()]  # noqa: S314
    assert long not in texts
    lines = [text for text in texts if text and text in long and len(text) > 20]
    assert " ".join(lines) == long


def test_a_figure_is_high_enough_for_its_labels() -> None:
    """Many of them make it higher, and none stands outside."""
    layer = FIGURE.layers[0]
    many = [layer.model_copy(update={"label": f"a label of several words, number {n}"}) for n in range(6)]
    heights = {}
    for name, layers in (("one", (layer,)), ("many", (*many,))):
        svg = ET.fromstring(draw(FIGURE.model_copy(update={"layers": layers}), "x.", figures.HALF_SIZE))  # noqa: S314
        heights[name] = float(svg.attrib["viewBox"].split()[3])
    assert heights["one"] == pytest.approx(72 * figures.HALF_SIZE[1], abs=0.1)
    assert heights["many"] > 6 * 2 * 11.5 + 48
