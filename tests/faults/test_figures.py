"""What a figure draws is what was found: points are estimates with intervals, curves are predictions."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from verify.evidence import Check, ClaimRecord, Figure, PlotLayer, RunRecord

CURVE = 2e-3
"""Relative distance that a curve, drawn through its own points, may keep from a prediction between them."""

SAME = 1e-9
"""Relative distance of equal numbers."""

Point = tuple[float, float, float, float]


def points(layer: PlotLayer) -> list[Point]:
    """Return the points of a layer with their bars; a bar of no height where it has none."""
    low, high = layer.lo or layer.y, layer.hi or layer.y
    return list(zip(layer.x, layer.y, low, high, strict=True))


def shown(point: Point, record: ClaimRecord, unit: Callable[[float], float]) -> Check | None:
    """Return the check that a point shows, with its interval, in units of ``unit``(x); None if none does."""
    x, y, low, high = point
    for check in record.checks:
        bottom, top = (end / unit(x) for end in check.interval)
        # On a logarithmic axis, a bar that reaches down to 0 is cut far below its point.
        held = _close(low, bottom) or (bottom < low < y / 20)
        if held and _close(y, check.estimate / unit(x)) and _close(high, top):
            return check
    return None


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=SAME, abs_tol=1e-300)


def places(check: Check) -> set[float]:
    """Return where on an axis a check may stand: at a number of its cell, or of its name."""
    settings = {float(value) for value in check.cell.values() if isinstance(value, int | float)}
    return settings | {float(one) for one in re.findall(r"\d+", check.id)}


def at(layer: PlotLayer, x: float, figure: Figure) -> float:
    """Return the height of a curve at ``x``, straight between its points on the figure's own axes."""

    def scaled(values: Any, scale: str) -> Any:
        return np.log(values) if scale == "log" else np.asarray(values, dtype=float)

    if not layer.x[0] * (1 - SAME) <= x <= layer.x[-1] * (1 + SAME):
        return math.nan
    found = np.interp(
        scaled([x], figure.x.scale), scaled(layer.x, figure.x.scale), scaled(layer.y, figure.y.scale)
    )[0]
    return float(np.exp(found) if figure.y.scale == "log" else found)


def wrong_points(record: ClaimRecord, figure: Figure) -> list[str]:
    """Return the measured points that are no estimate of a check, stand elsewhere, or off their curve."""
    unit = UNITS.get((record.id, figure.id), lambda _: 1.0)
    truths = [layer for layer in figure.layers if layer.role == "truth"]
    wrong = []
    for layer in figure.layers:
        if layer.role != "measured":
            continue
        for point in points(layer):
            check = shown(point, record, unit)
            if check is None or not layer.lo:
                wrong.append(f"{layer.label or layer.kind} at {point[0]:g}: no check's estimate and interval")
            elif point[0] not in places(check) and (record.id, figure.id) not in BETWEEN:
                wrong.append(f"{check.id} stands at {point[0]:g}")
            elif check.origin == "derived" and not _on_a_curve(check, point[0], truths, figure, unit):
                wrong.append(f"{check.id}: no curve passes its prediction {check.prediction:g}")
    return wrong


def _on_a_curve(
    check: Check, x: float, truths: list[PlotLayer], figure: Figure, unit: Callable[[float], float]
) -> bool:
    expected = check.prediction / unit(x)
    return any(math.isclose(at(one, x, figure), expected, rel_tol=CURVE, abs_tol=1e-9) for one in truths)


UNITS: dict[tuple[str, str], Callable[[float], float]] = {
    ("score-mean", "mean-over-root"): lambda d: d**0.5,
    ("ignored-keys", "by-probability"): lambda p: 1 / (p * (1 - p)),
}
"""Figures whose heights are the checks' over a function of the abscissa."""
BETWEEN = {("ignored-keys", "by-probability"), ("adaptive-temperature", "factor")}
"""Figures whose points stand within the range that their check covers, or at an entropy; no number of it."""


OWN = {
    ("score-law", "densities"),
    ("causal-rows", "by-position"),
    ("heavy-tails", "tails"),
    ("jacobian-bounds", "lead"),
    ("score-spread", "histograms"),
    ("score-spread", "scaled-histograms"),
    ("adaptive-temperature", "factor"),
    ("width-and-heads", "entropy-of-mix-ups"),
    ("dropped-weights", "noise"),
    ("differential-attention", "noise"),
    ("training-stability", "success-by-rate"),
    ("training-stability", "training-curves"),
    ("bounded-scores", "entropy"),
    ("critical-scaling", "cosines"),
    ("online-softmax", "sums"),
    ("low-precision-sums", "ones"),
}
"""Figures whose points are no estimates of checks: histograms, paths, shares and computed numbers."""


def test_figures_show_what_was_found(quick: RunRecord) -> None:
    """Every measured point is a check's, at its place; every prediction lies on a curve that is drawn."""
    wrong = {}
    for record in quick.claims:
        for figure in record.series:
            key = (record.id, figure.id)
            wrong[key] = [] if key in OWN else wrong_points(record, figure)
    assert {key: value for key, value in wrong.items() if value} == {}
