"""A claim's figure as a record, and how it and a check's interval are drawn on matplotlib's axes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from verify.evidence.records import Record
from verify.evidence.texts import Many, Slug, Text
from verify.text.escapes import converted
from verify.text.latex import simple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


class Axis(Record):
    """An axis of a figure."""

    label: Text
    scale: Literal["linear", "log"] = "linear"


class PlotLayer(Record):
    """One set of points of a figure; ``lo`` and ``hi`` are its interval, empty where it has none.

    Of "steps", each y reaches from its x to the next, as the bars of a histogram do.
    """

    kind: Literal["points", "line", "band", "steps"]
    role: Literal["truth", "measured", "control", "other"]
    label: Text
    x: Many[float]
    y: Many[float]
    lo: Many[float] = ()
    hi: Many[float] = ()


class Figure(Record):
    """What a figure draws: one message, with the text that stands in for it."""

    id: Slug
    title: Text
    alt: Text
    x: Axis
    y: Axis
    layers: Many[PlotLayer]


INK = "#010203"
"""Stands for the surrounding text's colour until the figure is drawn for good."""


def plot_figure(figure: Figure, ax: Axes | None) -> Axes:
    """Return axes with the layers of a claim's figure, a legend and the names of both axes."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - records are read where nothing is drawn

    axes = plt.subplots()[1] if ax is None else ax
    # The reader's style decides what colour a text has, and derived curves have that.
    for layer, style in zip(figure.layers, layer_styles(figure.layers), strict=True):
        colour = style.colour.replace(INK, str(plt.rcParams["text.color"]))
        lines = draw_layer(axes, layer, style._replace(colour=colour))
        if layer.label and layer.x:
            lines[0].set_label(readable(layer.label))
    axes.set(xscale=figure.x.scale, yscale=figure.y.scale, title=readable(figure.title))
    axes.set(xlabel=readable(figure.x.label), ylabel=readable(figure.y.label))
    if axes.get_legend_handles_labels()[1]:
        axes.legend()
    return axes


def draw_layer(axes: Axes, layer: PlotLayer, style: LayerStyle) -> list[Line2D]:
    """Draw a layer, and return its lines, the first of which stands for it."""
    colour = style.colour
    match layer.kind:
        case "points":
            size = 4.0 if layer.lo else 5.5
            lines = axes.plot(
                layer.x, layer.y, ls="", marker=style.marker, ms=size, color=colour, mew=0, zorder=4
            )
            if layer.lo:  # all intervals are one broken line; its ends are wider than a point, so they show
                places = [x for x in layer.x for _ in range(3)]
                pairs = zip(layer.lo, layer.hi, strict=True)
                ends = [end for low, high in pairs for end in (low, high, math.nan)]
                lines += axes.plot(places, ends, color=colour, lw=1.1, marker="_", ms=6, mew=1.1, zorder=3)
            return lines
        case "steps":
            axes.fill_between(layer.x, layer.y, step="post", color=colour, alpha=0.22, lw=0, zorder=1)
            return axes.step(layer.x, layer.y, where="post", color=colour, lw=0.9, zorder=2)
        case "band":
            axes.fill_between(layer.x, layer.lo, layer.hi, color=colour, alpha=0.22, lw=0, zorder=1)
            return axes.plot(layer.x, layer.y, color=colour, lw=1.2, ls=style.dashes, zorder=2)
        case "line":
            return axes.plot(layer.x, layer.y, color=colour, lw=1.5, ls=style.dashes, zorder=2)


def readable(label: str) -> str:
    """Return a label whose formulas the figures' text face can set and no line break can cut."""
    # Spaces mean nothing in a formula but the end of a name.
    return converted(label, str, lambda latex: "$" + re.sub(r"\s+", "{}", simple(latex)) + "$")


_Dashes = str | tuple[float, tuple[float, ...]]


class LayerStyle(NamedTuple):
    """How a layer is drawn: never distinguished by colour alone."""

    colour: str
    marker: str
    dashes: _Dashes


# After Okabe and Ito's palette, its amber and light blue darkened so that all are 3 to 1 against a page,
# white or dark. A colour means one thing: the text's is derived, blue measured, orange and amber wrong, light
# blue there to compare with; green and pink are a second and a third series, derived or measured.
_STYLES: dict[str, list[tuple[str, str, _Dashes]]] = {
    "truth": [(INK, "D", "-"), ("#009E73", "v", (0, (8, 2))), ("#CC79A7", "P", (0, (8, 2, 1, 2)))],
    "measured": [("#0072B2", "o", "-"), ("#009E73", "^", (0, (6, 2))), ("#CC79A7", "D", (0, (3, 2)))],
    "control": [("#D55E00", "X", (0, (4, 2))), ("#B97F00", "s", (0, (1, 1.5))), ("#D55E00", "v", "-.")],
    "other": [("#2E93D6", "s", (0, (1, 1.5))), ("#009E73", "<", "-."), ("#CC79A7", ">", (0, (5, 1)))],
}


def layer_styles(layers: Sequence[PlotLayer]) -> tuple[LayerStyle, ...]:
    """Return how each layer of a figure is drawn, so that any two that are labelled differ."""
    # A band and a line of the same role belong together, hence by role and kind; a layer without a label
    # belongs to the labelled layer before it.
    labelled = {(layer.role, layer.kind) for layer in layers if layer.label}
    styles: list[LayerStyle] = []
    used: dict[tuple[str, str], int] = {}
    for layer in layers:
        key = (layer.role, layer.kind)
        shares = not layer.label and key in labelled and key in used
        used[key] = used.get(key, -1) + (not shares)
        own = _STYLES[layer.role]
        styles.append(LayerStyle(*own[used[key] % len(own)]))
    return tuple(styles)
