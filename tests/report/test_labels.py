"""Labels of layers: formulas in one piece, and none over another."""

import itertools
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas

from tests.report.score_variance import SCORE_VARIANCE
from verify.report.figures import draw
from verify.report.labels import DPI, label_width, measuring, readable, spread

FIGURE = SCORE_VARIANCE.series[0]


def test_a_long_label_breaks_between_words_only() -> None:
    """A formula stays in one piece in whatever line it comes to stand, its sums drawn as a sign."""
    label = r"bound, as the label says, $\mathbb{E}\sum p_j - 1/(2\sigma\sqrt{\pi})$"
    svg = draw(
        FIGURE.model_copy(update={"layers": (FIGURE.layers[0].model_copy(update={"label": label}),)}), "x."
    )
    assert "Σ" in svg
    assert _raw_latex(svg) == ""
    lines = {text.strip() for text in ET.fromstring(svg).itertext()}  # noqa: S314
    assert "bound, as the label says," in lines


def _raw_latex(svg: str) -> str:
    texts = ET.fromstring(svg).itertext()  # noqa: S314
    return " ".join(text.strip() for text in texts if re.search(r"[\\${}]", text))


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


@pytest.mark.parametrize(
    ("wanted", "heights", "places"),
    [
        ([50.0], [10.0], [50.0]),
        ([0.0], [10.0], [5.0]),
        ([100.0], [10.0], [95.0]),
        ([50.0, 50.0], [10.0, 10.0], [50.0, 63.0]),
        ([60.0, 40.0], [10.0, 10.0], [60.0, 40.0]),
        ([98.0, 97.0], [10.0, 20.0], [95.0, 77.0]),
    ],
)
def test_labels_move_no_farther_than_they_must(
    wanted: list[float], heights: list[float], places: list[float]
) -> None:
    """Between 0 and 100 with 3 between them: who has room stays, the order is kept."""
    assert spread(wanted, heights, 0, 100, 3) == places


def test_a_formula_has_no_space_to_break_at() -> None:
    """Names end where they ended; words between formulas keep their spaces."""
    assert readable("a $b  c$ d") == "a $b{}c$ d"
    assert " " not in readable(r"$\operatorname{Var} q \cdot k$")
    assert readable("no formula at all") == "no formula at all"


def test_room_for_labels_follows_the_longest_line() -> None:
    """Without labels there is room for a tick's; a long one is broken, and needs no more than its lines."""
    axes = Canvas(dpi=72).add_subplot()
    layer = FIGURE.layers[0]
    none, short, long = (
        label_width(axes, [layer.model_copy(update={"label": text})]) for text in ("", "words", "words " * 40)
    )
    assert 0 < none < short < long < 118 + 24 + 14 + 1
    assert label_width(axes, []) == none


def test_text_is_measured_as_the_figure_draws_it() -> None:
    """One renderer measures for all figures, and finds the widths that each figure's own would."""
    canvas = Canvas(dpi=DPI)
    FigureCanvasSVG(canvas)
    for label in ("estimate", r"$\sqrt{d_k}$ and $10^{-3}$"):
        text = canvas.text(0, 0, label)
        assert text.get_window_extent(measuring()).width == text.get_window_extent().width
