"""Labels a figure's layers directly, beside their right ends, without overlap."""

from __future__ import annotations

import io
import math
import re
from functools import cache
from typing import TYPE_CHECKING

from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from verify.text.escapes import pieces
from verify.text.latex import simple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from verify.evidence import Layer
    from verify.report.looks import Look

# All lengths in points, which are a canvas's pixels.
DPI = 72  # a pixel is a point of the SVG
LINE = 11.5  # between the lines of a label
_GAP = 2.0  # between two labels
_WIDEST = 0.2446  # of the figure: a line of a label, unless a single formula is wider
_WIDE = 90.0  # what a line may always be
_SIZE = 9
_MARGIN = 14.0  # right of the labels, or of the last tick's label
_SWATCH = (6.0, 24.0)  # right of the axes: where a label's mark starts and its text starts


def label_width(axes: Axes, layers: Sequence[Layer]) -> float:
    """Return the room that labels need right of the axes; enough for a tick's label if there are none."""
    widths = [_width(line, _SIZE) for layer in layers for line in _lines(axes, layer)]
    return max(widths, default=-_SWATCH[1]) + _SWATCH[1] + _MARGIN


def label_height(axes: Axes, layers: Sequence[Layer]) -> float:
    """Return the height of all labels under one another, in points."""
    lines = [len(_lines(axes, layer)) for layer in layers if layer.label and layer.x]
    return sum(lines) * LINE + max(len(lines) - 1, 0) * _GAP


def label_layers(axes: Axes, layers: Sequence[Layer], looks: Sequence[Look]) -> None:
    """Write each layer's label at the height of its last point, moved apart where they would touch."""
    labelled = [(layer, look) for layer, look in zip(layers, looks, strict=True) if layer.label and layer.x]
    if not labelled:
        return
    box = axes.get_window_extent()
    texts = [_lines(axes, layer) for layer, _ in labelled]
    wanted = [_end(axes, layer) for layer, _ in labelled]
    heights = [len(lines) * LINE for lines in texts]
    places = spread(wanted, heights, box.y0, box.y1, _GAP)
    for (layer, look), lines, place in zip(labelled, texts, places, strict=True):
        first = place + (len(lines) - 1) * LINE / 2
        _mark(axes, layer, look, box.x1 + _SWATCH[0], box.x1 + _SWATCH[1] - 5, first)
        for number, line in enumerate(lines):
            height = first - number * LINE
            axes.text(box.x1 + _SWATCH[1], height, line, transform=None, va="center_baseline", fontsize=_SIZE)


def _lines(axes: Axes, layer: Layer) -> list[str]:
    widest = _WIDEST * axes.get_window_extent().width / axes.get_position().width
    return wrapped(layer.label, max(widest, _WIDE), _SIZE)


def wrapped(label: str, widest: float, size: float) -> list[str]:
    """Return a label's lines, measured as they are drawn; they break between words, never in a formula."""
    lines: list[str] = []
    # ``readable`` leaves no space inside a formula.
    for word in readable(label).split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and _width(longer, size) <= widest:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


@cache
def measuring() -> RendererSVG:
    """Return what measures text as it is drawn; one for all figures, as it remembers what it has measured."""
    return RendererSVG(1, 1, io.StringIO(), image_dpi=DPI)  # type: ignore[no-untyped-call]


def _width(line: str, size: float) -> float:
    text = Canvas(dpi=DPI).text(0, 0, line, fontsize=size)
    width: float = text.get_window_extent(measuring()).width
    return width


def spread(
    wanted: Sequence[float], heights: Sequence[float], low: float, high: float, gap: float
) -> list[float]:
    """Return places near the wanted ones, in their order, so that labels of these heights do not overlap.

    Labels stay between ``low`` and ``high`` as long as they fit there together.
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    places = [0.0] * len(wanted)
    floor = low
    for index in order:
        places[index] = max(wanted[index], floor + heights[index] / 2)
        floor = places[index] + heights[index] / 2 + gap
    ceiling = high
    for index in reversed(order):
        places[index] = min(places[index], ceiling - heights[index] / 2)
        ceiling = places[index] - heights[index] / 2 - gap
    return places


def _end(axes: Axes, layer: Layer) -> float:
    """Return the height at which a layer ends; a log axis cannot show every value."""
    heights = axes.transData.transform(list(zip(layer.x, layer.y, strict=True)))[:, 1]
    shown = [float(height) for height in heights if math.isfinite(height)]
    return shown[-1] if shown else axes.get_window_extent().y0


def readable(label: str) -> str:
    """Return a label whose formulas the figures' text face can set and no line break can cut."""
    return "".join(_formula(piece.text) if piece.is_formula else piece.text for piece in pieces(label))


def _formula(latex: str) -> str:
    # Spaces mean nothing in a formula but the end of a name.
    return "$" + re.sub(r"\s+", "{}", simple(latex)) + "$"


def _mark(axes: Axes, layer: Layer, look: Look, left: float, right: float, height: float) -> None:
    drawn: list[Artist] = []
    if layer.kind == "band":
        drawn.append(Rectangle((left, height - 4), right - left, 8, alpha=0.22, lw=0, color=look.colour))
    if layer.kind == "points":
        middle = (left + right) / 2
        drawn.append(Line2D([middle], [height], ls="", marker=look.marker, ms=5.5, mew=0, color=look.colour))
    else:
        drawn.append(Line2D([left, right], [height] * 2, lw=1.5, ls=look.dashes, color=look.colour))
    for artist in drawn:
        artist.set_transform(None)
        artist.set_clip_on(False)
        axes.add_artist(artist)
