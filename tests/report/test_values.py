"""A figure's values as text: every number that is drawn, under the name of its layer."""

import pytest

from tests.report.score_variance import SCORE_VARIANCE
from verify.report.values import figure_values


def test_every_point_of_every_layer_is_there() -> None:
    """With its interval where it has one; the first line names the axes, in words."""
    figure = SCORE_VARIANCE.series[0]
    head, *lines = figure_values(figure).split("\n")
    assert head.startswith("# x: ")
    assert "$" not in head
    assert sum(line.startswith("# ") for line in lines) == len(figure.layers)
    found = [tuple(map(float, line.split(","))) for line in lines if not line.startswith("#")]
    wanted = [
        tuple(pytest.approx(number, rel=5.1e-4 if layer.kind == "line" else 5.1e-6) for number in row)
        for layer in figure.layers
        for row in zip(
            *((layer.x, layer.y, layer.lo, layer.hi) if layer.lo else (layer.x, layer.y)), strict=True
        )
    ]
    assert found == wanted
