"""How layers of a figure are told apart."""

import re

from tests.report.score_variance import SCORE_VARIANCE
from verify.evidence import Layer
from verify.report.figures import draw

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
    assert len(set(re.findall(r"stroke: (#56b4e9)", svg))) == 1
    named = draw(FIGURE.model_copy(update={"layers": (edge, edge)}), "x.")
    assert len(set(re.findall(r"stroke-dasharray: ([^;]+);", named))) == 2
