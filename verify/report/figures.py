"""Draws a figure's record as SVG text through matplotlib; the same record gives the same text."""

from __future__ import annotations

import io
import math
from functools import cache
from typing import TYPE_CHECKING, Any

import font_source_sans_pro
import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, NullLocator
from matplotlib.transforms import Affine2D

from verify.errors import RenderError
from verify.report.labels import (
    DPI,
    LINE,
    label_height,
    label_layers,
    label_width,
    measuring,
    readable,
    wrapped,
)
from verify.report.looks import INK, layer_looks
from verify.report.tidy import tidy
from verify.text import numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from verify.evidence import Axis, Figure, Layer
    from verify.report.looks import Look

FAMILY = "Source Sans Pro"
WHOLE = (6.7, 2.7)  # inches; the print's text width
HALF_SIZE = (3.58, 1.45)  # a column of it; low, as nothing that cannot break leaves more of a page empty
FRONT_SIZE = (3.3, 1.9)  # on the first page
_BELOW, _ABOVE = 30.0, 18.5  # points for the axis' numbers and name, and for what stands above it
_TICK = 11.5  # points of height that a tick of the upright axis takes at least
_ASIDE = 6.5  # points between the middles of marks that stand side by side
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sdpa-verify",
    "font.family": FAMILY,
    "mathtext.fontset": "custom",
    "mathtext.rm": FAMILY,
    "mathtext.it": f"{FAMILY}:italic",
    "mathtext.bf": FAMILY,
    "mathtext.sf": FAMILY,
    "mathtext.tt": FAMILY,
    "mathtext.cal": FAMILY,
    "axes.unicode_minus": True,
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(figure: Figure, prefix: str, size: tuple[float, float] = WHOLE) -> str:
    """Return the figure as an SVG element of a size in inches, whose ids all start with ``prefix``.

    Text and axes take the colour of the surrounding text (``currentColor``).

    Raises:
        RenderError: a label holds LaTeX that cannot be set in a figure.
    """
    _know_the_font()
    with mpl.rc_context(_SETTINGS):
        canvas = Canvas(figsize=size, dpi=DPI)
        FigureCanvasSVG(canvas)
        axes = canvas.add_axes((0.07, 0, 0.63, 1))
        looks = layer_looks(figure.layers)
        try:
            for layer, look, aside in zip(figure.layers, looks, _asides(figure.layers), strict=True):
                _draw_layer(axes, layer, look, aside)
            name = wrapped(figure.y.label, canvas.bbox.width - 4, _SETTINGS["font.size"])
            _set_height(canvas, axes, label_height(axes, figure.layers), _ABOVE + (len(name) - 1) * LINE)
            _dress(axes, figure, "\n".join(name))
            _make_room(canvas, axes, label_width(axes, figure.layers))
            label_layers(axes, figure.layers, looks)
            svg = _svg(canvas)
        except ValueError as error:
            reason = " ".join(str(error).split())
            raise RenderError(
                f"the figure {figure.id} cannot be drawn: {reason}; fix it in the claim"
            ) from error
        frame = _frame(axes, figure, canvas.bbox.height)
    drawn = tidy(svg, prefix, ink=INK, family=FAMILY)
    return drawn.replace("<svg ", f'<svg data-frame="{frame}" ', 1)


@cache
def _know_the_font() -> None:
    for style in ("", "It", "Semibold"):
        font_manager.fontManager.addfont(font_source_sans_pro.font_files_otf[f"SourceSansPro{style}"])


def _asides(layers: tuple[Layer, ...]) -> list[float]:
    """Return by how many points of the page each layer's marks are drawn aside of their places.

    Only where layers have a mark in common, which would hide one another: then they stand side by side.
    """
    places = [set(zip(one.x, one.y, strict=True)) if one.kind == "points" else set() for one in layers]
    crowded = [
        number
        for number, own in enumerate(places)
        if any(own & other for at, other in enumerate(places) if at != number)
    ]
    middle = (len(crowded) - 1) / 2
    return [
        _ASIDE * (crowded.index(number) - middle) if number in crowded else 0.0
        for number in range(len(layers))
    ]


def _draw_layer(axes: Axes, layer: Layer, look: Look, aside: float) -> None:
    if layer.kind == "points":
        marks = axes.plot(
            layer.x, layer.y, ls="", marker=look.marker, ms=5.5, color=look.colour, mew=0, zorder=4
        )
        if layer.lo:
            marks += axes.plot(*_whiskers(layer), color=look.colour, lw=1.3, zorder=3)
        if aside:
            # Afterwards, so that the axes span the places themselves; a pixel is a point.
            for line in marks:
                line.set_transform(axes.transData + Affine2D().translate(aside, 0))
    elif layer.kind == "band":
        axes.fill_between(layer.x, layer.lo, layer.hi, color=look.colour, alpha=0.22, lw=0, zorder=1)
        axes.plot(layer.x, layer.y, color=look.colour, lw=1.2, ls=look.dashes, zorder=2)
    elif layer.kind == "steps":
        axes.step(layer.x, layer.y, where="mid", color=look.colour, lw=1.2, ls=look.dashes, zorder=2)
    else:
        axes.plot(layer.x, layer.y, color=look.colour, lw=1.5, ls=look.dashes, zorder=2)


def _whiskers(layer: Layer) -> tuple[list[float], list[float]]:
    """Return the intervals as one broken line."""
    ends = [
        (x, end) for x, *ends in zip(layer.x, layer.lo, layer.hi, strict=True) for end in (*ends, math.nan)
    ]
    return [x for x, _ in ends], [end for _, end in ends]


def _dress(axes: Axes, figure: Figure, name: str) -> None:
    axes.set_xlabel(readable(figure.x.label), labelpad=4)
    # Upright above its axis: nobody turns the head to read it.
    axes.annotate(
        name,
        (0, 1),
        xycoords=("figure fraction", "axes fraction"),
        va="bottom",
        xytext=(2, 6),
        textcoords="offset points",
    )
    lines = math.floor(axes.get_window_extent().height / _TICK) + 1
    for axis, record, most in ((axes.xaxis, figure.x, 7), (axes.yaxis, figure.y, min(7, max(3, lines)))):
        if record.scale == "log":
            getattr(axes, f"set_{axis.axis_name}scale")("log")
            axis.set_major_locator(_log_locator(*axis.get_view_interval(), most))
        else:
            axis.set_major_locator(MaxNLocator(most - 1, steps=[1, 2, 2.5, 5, 10]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(_tick(record)))
    axes.grid(visible=True, which="major", color=INK, alpha=0.13, lw=0.6)
    axes.tick_params(which="major", length=3.5, width=0.7, pad=3)
    axes.set_axisbelow(True)


def _log_locator(low: float, high: float, most: int = 7) -> Locator:
    """Return where a log axis has its ticks: at powers of ten, within two of which there is more to name."""
    if _powers(low, high) > 1:
        return LogLocator(numticks=most)
    named = sum(_powers(low / digit, high / digit) for digit in (1, 2, 5))
    return (
        LogLocator(subs=(1, 2, 5), numticks=most) if named > 2 else MaxNLocator(5, steps=[1, 2, 2.5, 5, 10])
    )


def _powers(low: float, high: float) -> int:
    """Return how many powers of ten lie between two numbers."""
    return math.floor(math.log10(high)) - math.ceil(math.log10(low)) + 1


def _set_height(canvas: Canvas, axes: Axes, least: float, above: float) -> None:
    """Give the axes the canvas's height but for points ``above`` and below, and both more for ``least``."""
    height = max(canvas.bbox.height, least + above + _BELOW)
    canvas.set_figheight(height / canvas.dpi)
    place = axes.get_position()
    axes.set_position((place.x0, _BELOW / height, place.width, 1 - (_BELOW + above) / height))


def _make_room(canvas: Canvas, axes: Axes, right: float) -> None:
    """Move the axes' edges so that the widest tick label just fits, and ``right`` points for the labels."""
    ticks = (label.get_window_extent(measuring()) for label in axes.get_yticklabels())
    widest = max((box.width for box in ticks), default=0.0)
    place = axes.get_position()
    left = (widest + 9) / canvas.bbox.width
    axes.set_position((left, place.y0, 1 - right / canvas.bbox.width - left, place.height))


def _tick(axis: Axis) -> Callable[[float, int], str]:
    def plain(value: float, _position: int) -> str:
        return numbers.exact(value, 6)

    def power(value: float, _position: int) -> str:
        if 1e-4 < value < 1e6:
            return numbers.exact(value, 6)
        exponent = math.floor(math.log10(value) + 1e-9)
        digits = numbers.exact(value / 10.0**exponent, 3)
        factor = "" if digits == "1" else rf"{digits} \times "
        return rf"${factor}10^{{{exponent}}}$"

    return power if axis.scale == "log" else plain


def _frame(axes: Axes, figure: Figure, height: float) -> str:
    """Return both axes as ``scale first last from to``: their ends in numbers and in the drawing's points."""
    box = axes.get_window_extent()
    across = (figure.x.scale, *axes.get_xlim(), box.x0, box.x1)
    up = (figure.y.scale, *axes.get_ylim(), height - box.y0, height - box.y1)
    return ";".join(
        " ".join(part if isinstance(part, str) else f"{part:.6g}" for part in one) for one in (across, up)
    )


def _svg(canvas: Canvas) -> str:
    stream = io.StringIO()
    canvas.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return stream.getvalue()
