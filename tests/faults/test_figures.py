"""What a figure draws is what was found: points are estimates with their intervals, curves are predictions.

A figure that shows something else than a claim's checks has a rule of its own here, so that none is free to
show anything.
"""

import math
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from verify.evidence import Check, ClaimRecord, Figure, PlotLayer, RunRecord
from verify.montecarlo.intervals import bounded_mean

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


def _near(allowed: float, least: float) -> Callable[[ClaimRecord, Figure], list[str]]:
    """Return the rule of figures without bars: measured points lie near the curve that comes after them.

    A point stands for its neighbourhood, half the way to the next points, in which a curve may have a peak.
    """

    def rule(_: ClaimRecord, figure: Figure) -> list[str]:
        wrong = []
        for place, layer in enumerate(figure.layers):
            if layer.role == "measured":
                after = (*figure.layers[place + 1 :], *figure.layers)
                curve = next(one for one in after if one.role == "truth")
                middles = [(one + other) / 2 for one, other in pairwise(layer.x)]
                around = zip([layer.x[0], *middles], layer.x, [*middles, layer.x[-1]], strict=True)
                for xs, y in zip(around, layer.y, strict=True):
                    heights = [at(curve, x, figure) for x in np.linspace(xs[0], xs[2], 21)]
                    drawn = [height for height in heights if not math.isnan(height)] or [y]
                    low, high = min(drawn) * (1 - allowed) - least, max(drawn) * (1 + allowed) + least
                    if not low <= y <= high:
                        wrong.append(f"{layer.label} at {xs[1]:g}: {y:g}, the curve {low:g} to {high:g}")
        return wrong

    return rule


def _before(_: ClaimRecord, figure: Figure) -> list[str]:
    """Return measured points off the curve that is drawn before them, at its own points."""
    wrong = []
    for curve, layer in pairwise(figure.layers):
        if layer.role == "measured":
            wrong += [
                f"{x:g}" for x, y in zip(layer.x, layer.y, strict=True) if not _close(y, at(curve, x, figure))
            ]
    return wrong


def _tails(record: ClaimRecord, figure: Figure) -> list[str]:
    """Return dimensions whose measured tail does not pass the derived point that five per cent lie beyond."""
    wrong = []
    for layer, corner in zip(figure.layers[::2], figure.layers[1::2], strict=True):
        dimension = int(re.findall(r"\d+", layer.label)[0])
        check = next(one for one in record.checks if one.id == f"uniform-point-d{dimension}")
        level = float(np.interp(check.prediction, layer.x, layer.y))
        stated = (0.0, check.prediction, check.prediction), (0.05, 0.05, 0.0)
        if not np.allclose((corner.x, corner.y), stated, rtol=SAME) or abs(level - 0.05) > 0.005:
            wrong.append(f"{layer.label}: {level:g} beyond {check.prediction:g}, drawn {corner.x}")
    return wrong


def _growth(record: ClaimRecord, figure: Figure) -> list[str]:
    """Return the paths whose last point is not the growth that the claim measures, over all layers."""
    names = {"unscaled": "unscaled", r"over $\sqrt{d_k}$": "scaled", "over $d_k$": "over-scaled"}
    checks = {check.id: check for check in record.checks}
    wrong = []
    for layer in figure.layers:
        if layer.role != "truth":
            check = checks[f"{names[layer.label]}-growth"]
            last = int(layer.x[-1])
            end = layer.y[-1], layer.lo[-1], layer.hi[-1]
            found = [one**last for one in (check.estimate, *check.interval)]
            # The bars hold for the product, the interval for its root: alike as far as both are narrow.
            width = math.log(found[2] / found[1])
            if not _close(end[0], found[0]) or not np.allclose(np.log(end), np.log(found), 0, 0.2 * width):
                wrong.append(f"{layer.label}: {end} after {last} layers, not {found}")
    return wrong


def _successes(record: ClaimRecord, figure: Figure) -> list[str]:
    """Return rates whose share is not one of whole seeds, or whose bar is not that of a bounded mean."""
    check = next(one for one in record.checks if one.id == "success-rate")
    low, high, step = (float(one) for one in re.findall(r"[\d.]+", str(check.cell["rates"])))
    rates = [low * step**place for place in range(1 + round(math.log(high / low, step)))]
    wrong = []
    for layer in figure.layers:
        if layer.role not in {"truth", "control"}:
            if not np.allclose(layer.x, rates):
                wrong.append(f"{layer.label}: at {layer.x}, run at {rates}")
            for _, y, bottom, top in points(layer):
                seeds = y * check.blocks
                interval = bounded_mean(y, 1 - check.level, check.blocks)
                if abs(seeds - round(seeds)) > 1e-6 or not np.allclose((bottom, top), interval, atol=1e-6):
                    wrong.append(f"{layer.label}: {y:g} in ({bottom:g}, {top:g})")
    return wrong


def _curves(_: ClaimRecord, figure: Figure) -> list[str]:
    """Return the training curves whose band is not even about them, or that do not end below their start."""
    return [
        layer.label
        for layer in figure.layers
        if layer.role != "truth"
        and not (
            np.allclose(np.add(layer.lo, layer.hi), np.multiply(2, layer.y)) and layer.hi[-1] < layer.lo[0]
        )
    ]


def _below_logarithm(record: ClaimRecord, figure: Figure) -> list[str]:
    """Return positions whose entropy is not the logarithm less the loss that a check measures."""
    checks = {check.id: check for check in record.checks}
    wrong = []
    for layer in figure.layers:
        if layer.role == "measured":
            for x, *drawn in points(layer):
                check = checks[f"value-t{x:g}"]
                low, high = check.interval
                found = [math.log(x) - one for one in (check.estimate, high, low)]
                if not np.allclose(drawn, found, rtol=SAME):
                    wrong.append(f"at {x:g}: {drawn}, not {found}")
    return wrong


def _computed(*heights: Callable[[float], float]) -> Callable[[ClaimRecord, Figure], list[str]]:
    """Return the rule of figures of computed numbers: the heights of each layer's points are a function's."""

    def rule(_: ClaimRecord, figure: Figure) -> list[str]:
        layers = [layer for layer in figure.layers if layer.kind == "points"]
        return [
            f"{layer.label} at {x:g}: {y:g}, not {height(x):g}"
            for layer, height in zip(layers, heights, strict=True)
            for x, y in zip(layer.x, layer.y, strict=True)
            if not _close(y, height(x))
        ]

    return rule


def _entropy_lost(high: int) -> Callable[[float], float]:
    """Return the entropy that 16 keys lose if ``high`` of them have a score larger by the argument."""

    def lost(apart: float) -> float:
        share = math.exp(apart) / (high * math.exp(apart) + 16 - high)
        other = 1 / (high * math.exp(apart) + 16 - high)
        return math.log(16) + high * share * math.log(share) + (16 - high) * other * math.log(other)

    return lost


def _own_weight(cosine: float) -> Callable[[float], float]:
    """Return the weight of a token on itself among a number of this cosine, at 1.2 times their logarithm."""
    return lambda n: n**1.2 / (n**1.2 + (n - 1) * n ** (1.2 * cosine))


OWN: dict[tuple[str, str], Callable[[ClaimRecord, Figure], list[str]]] = {
    ("score-law", "densities"): _near(0.12, 0.02),
    ("causal-rows", "by-position"): _below_logarithm,
    ("heavy-tails", "tails"): _near(0.1, 0.0),
    ("jacobian-bounds", "lead"): _before,
    ("score-spread", "tails"): _tails,
    ("gradient-through-layers", "growth-by-layer"): _growth,
    ("training-stability", "success-by-rate"): _successes,
    ("training-stability", "training-curves"): _curves,
    ("bounded-scores", "entropy"): _computed(_entropy_lost(8), _entropy_lost(3)),
    ("critical-scaling", "cosines"): _computed(*(_own_weight(one) for one in (0, 1 / 6, 0.3))),
    ("online-softmax", "sums"): _computed(lambda lag: 1 + 63 * math.exp(lag)),
    ("low-precision-sums", "ones"): _computed(lambda n: min(n, 2**8), lambda n: min(n, 2**11)),
}
"""Figures that show something else than checks, with what they must keep to."""


def test_figures_show_what_was_found(quick: RunRecord) -> None:
    """Every measured point is a check's, at its place; every prediction lies on a curve that is drawn."""
    wrong = {}
    for record in quick.claims:
        for figure in record.series:
            key = (record.id, figure.id)
            wrong[key] = OWN.get(key, wrong_points)(record, figure)
    assert {key: value for key, value in wrong.items() if value} == {}
