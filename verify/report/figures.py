"""Figures as short SVG through matplotlib, layers labelled directly; the same record gives the same text."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from functools import cache, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import font_source_sans_pro
import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, NullLocator

from verify.errors import RenderError
from verify.evidence.plots import INK, LayerStyle, draw_layer, layer_styles, readable
from verify.text import numbers

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from verify.evidence import Axis, Figure, PlotLayer

FAMILY = "Source Sans Pro"
for _style in ("", "It", "Semibold"):
    font_manager.fontManager.addfont(font_source_sans_pro.font_files_otf[f"SourceSansPro{_style}"])
WHOLE = (6.7, 2.7)  # inches; the print's text width
HALF = (4.1, 1.2)  # a column of it, where its text is smaller than that around it
_NUMBERS, _NAME = 16.5, 13.5  # points below an axis for its numbers, and for its name if it stands there
_ABOVE = 18.5  # points for the name of the upright axis
_PAST = 20.0  # points right of the axes that the last number may reach into, with a gap
_TICKS = (27.0, 11.5)  # points that the number of a tick takes at least, across and upright
_SETTINGS: dict[Any, Any] = {
    # Letters stay text, which a search finds; ids come from a constant, so that a figure is the same again.
    "svg.fonttype": "none",
    "svg.hashsalt": "sdpa-verify",
    "font.family": FAMILY,
    "font.size": 9.5,
    "mathtext.fontset": "custom",
    **{f"mathtext.{face}": FAMILY for face in ("rm", "bf", "sf", "tt", "cal")},
    "mathtext.it": f"{FAMILY}:italic",
    "axes.unicode_minus": True,
    "axes.linewidth": 0.7,
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
    **dict.fromkeys(("figure.facecolor", "axes.facecolor"), "none"),
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), INK),
    **dict.fromkeys((f"{axis}tick.{of}" for axis in "xy" for of in ("color", "labelcolor")), INK),
}
# All lengths in points, which are a canvas's pixels.
_DPI = 72  # a pixel is a point of the SVG
_LINE = 11.5  # between the lines of a label
_GAP = 2.0  # between two labels
_WIDEST = 0.2  # of the figure: a line of a label, unless a single formula is wider
_WIDE = 66.0  # what a line may always be
_SIZE = 9
_MARGIN = 3.0  # right of the labels
_LEAST = 14.0  # right of the axes, for the last tick's label
_SWATCH = (4.0, 16.0)  # right of the axes: where a label's mark starts and its text starts
_FAINT = 0.13  # how opaque the grid is
_STEPS = [1, 2, 2.5, 5, 10]  # what ticks of a linear axis are multiples of

_Label = tuple["PlotLayer", LayerStyle, list[str]]
"""A layer that has a name, how it is drawn, and the lines of its name."""


def draw(figure: Figure, prefix: str, size: tuple[float, float] = WHOLE) -> str:
    """Return the figure as an SVG element of a size in inches, whose ids all start with ``prefix``.

    Text and axes take the colour of the surrounding text (``currentColor``).

    Raises:
        RenderError: a label holds LaTeX that cannot be set in a figure.
    """
    with mpl.rc_context(_SETTINGS):
        canvas = Canvas(figsize=size, dpi=_DPI)
        FigureCanvasSVG(canvas)
        axes = canvas.add_axes((0.07, 0, 0.63, 1))
        try:
            svg = _drawn(canvas, axes, figure)
        except ValueError as error:
            reason = " ".join(str(error).split())
            raise RenderError(
                f"the figure {figure.id} cannot be drawn: {reason}; fix it in the claim"
            ) from error
        # For a page's script: the scale of each axis, and its ends in numbers and in the drawing's points.
        box, height = axes.get_window_extent(), canvas.bbox.height
        across, up = (*axes.get_xlim(), box.x0, box.x1), (*axes.get_ylim(), height - box.y0, height - box.y1)
        ends = ((figure.x.scale, across), (figure.y.scale, up))
        frame = ";".join(" ".join([scale, *(f"{end:.6g}" for end in four)]) for scale, four in ends)
    return _tidy(svg, prefix).replace("<svg ", f'<svg data-frame="{frame}" ', 1)


def _drawn(canvas: Canvas, axes: Axes, figure: Figure) -> str:
    """Return the figure as Matplotlib writes it: layers first, then what the room that they leave is for."""
    styles = layer_styles(figure.layers)
    for layer, style in zip(figure.layers, styles, strict=True):
        draw_layer(axes, layer, style)
    # Labels stand right of the axes, so their width and height have to be known before the axes are placed.
    widest = max(_WIDEST * canvas.bbox.width, _WIDE)
    labels = [
        (layer, style, _wrapped(layer.label, widest, _SIZE))
        for layer, style in zip(figure.layers, styles, strict=True)
        if layer.label and layer.x
    ]
    widths = [_width(line, _SIZE) + _SWATCH[1] + _MARGIN for _, _, lines in labels for line in lines]
    right = max([_LEAST, *widths])
    name = _wrapped(figure.y.label, canvas.bbox.width - 4, _SETTINGS["font.size"])
    aside = _width(readable(figure.x.label), _SETTINGS["font.size"]) <= right - _PAST - 2
    # A power with an index reaches higher than a line.
    above = _ABOVE + (len(name) - 1) * _LINE + (5 if "^" in figure.y.label else 0)
    below = _NUMBERS + (0 if aside else _NAME)
    needed = sum(len(lines) for *_, lines in labels) * _LINE + max(len(labels) - 1, 0) * _GAP
    height = max(canvas.bbox.height, needed + above + below)
    canvas.set_figheight(height / canvas.dpi)
    place = axes.get_position()
    axes.set_position((place.x0, below / height, place.width, 1 - (below + above) / height))
    _make_room(canvas, axes, right)
    _dress(axes, figure, "\n".join(name), aside=aside)
    # Its ticks may be wider now: their number depends on the room, and the room on their widest number.
    _make_room(canvas, axes, right)
    _label_layers(axes, labels)
    # Drawn by hand rather than saved: a saved figure would make a new parser of formulas each time.
    stream = io.StringIO()
    renderer = _renderer(canvas.bbox.width, canvas.bbox.height, stream)
    canvas.draw(renderer)
    renderer.finalize()  # type: ignore[no-untyped-call]
    return stream.getvalue()


def _dress(axes: Axes, figure: Figure, name: str, *, aside: bool) -> None:
    """Give the axes their names, numbers and grid; the lower axis's name stands below it or ``aside``."""
    write = partial(axes.annotate, textcoords="offset points")
    if aside:
        write(readable(figure.x.label), (1, 0), xycoords="axes fraction", xytext=(_PAST, -5.5), va="top")
    else:
        axes.set_xlabel(readable(figure.x.label), labelpad=4, loc="left")
    # Upright above its axis: so it reads without turning the head.
    write(name, (0, 1), xycoords=("figure fraction", "axes fraction"), xytext=(2, 6), va="bottom")
    box = axes.get_window_extent()
    across, up = box.width / _TICKS[0], box.height / _TICKS[1]
    for axis, record, room, set_scale in (
        (axes.xaxis, figure.x, across, axes.set_xscale),
        (axes.yaxis, figure.y, up, axes.set_yscale),
    ):
        most = min(7, max(3, math.floor(room) + 1))
        if record.scale == "log":
            set_scale("log")
            axis.set_major_locator(_log_locator(*axis.get_view_interval(), most))
        else:
            axis.set_major_locator(MaxNLocator(most - 1, steps=_STEPS, min_n_ticks=3))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(partial(_tick, record)))
    axes.grid(visible=True, which="major", color=INK, alpha=_FAINT, lw=0.6)
    axes.tick_params(which="major", length=0, pad=5)
    axes.set_axisbelow(True)


def _log_locator(low: float, high: float, most: int) -> Locator:
    """Return where a log axis has its ticks: at powers of ten, within two of which there is more to name."""

    def powers(digit: int) -> int:
        return math.floor(math.log10(high / digit)) - math.ceil(math.log10(low / digit)) + 1

    if powers(1) > 1:
        return LogLocator(subs=(1,) if powers(1) > 2 else (1, 3), numticks=most)
    if sum(map(powers, (1, 2, 5))) > 2:
        return LogLocator(subs=(1, 2, 5), numticks=most)
    return MaxNLocator(5, steps=_STEPS, min_n_ticks=3)


def _make_room(canvas: Canvas, axes: Axes, right: float) -> None:
    """Move the axes' edges so that the widest tick label just fits, and ``right`` points for the labels."""
    ticks = (label.get_window_extent(_measuring()) for label in axes.get_yticklabels())
    widest = max((box.width for box in ticks), default=0.0)
    place = axes.get_position()
    left = (widest + 7.5) / canvas.bbox.width
    axes.set_position((left, place.y0, 1 - right / canvas.bbox.width - left, place.height))


def _tick(axis: Axis, value: float, _position: int) -> str:
    # A tick outside a log axis, such as a tick at 0, has a label too, which is not drawn.
    if axis.scale == "linear" or 1e-4 < value < 1e6 or value <= 0:
        return numbers.exact(value, 6)
    exponent = math.floor(math.log10(value) + 1e-9)
    digits = numbers.exact(value / 10.0**exponent, 3)
    factor = "" if digits == "1" else rf"{digits} \times "
    return rf"${factor}10^{{{exponent}}}$"


def _label_layers(axes: Axes, labels: Sequence[_Label]) -> None:
    """Write each label at the height of its layer's last point, moved apart where they would touch."""
    box = axes.get_window_extent()
    wanted = []
    for layer, _, _ in labels:
        heights = axes.transData.transform(list(zip(layer.x, layer.y, strict=True)))[:, 1]
        # A log axis cannot show every value.
        wanted.append(next((float(at) for at in reversed(heights) if math.isfinite(at)), box.y0))
    places = spread(wanted, [len(lines) * _LINE for *_, lines in labels], box.y0, box.y1, _GAP)
    for (layer, style, lines), place in zip(labels, places, strict=True):
        height = place + (len(lines) - 1) * _LINE / 2
        # What the layer looks like, in small, stands before its name.
        left, right = box.x1 + _SWATCH[0], box.x1 + _SWATCH[1] - 3
        swatch: list[Artist] = []
        if layer.kind not in {"points", "line"}:
            span = (left, height - 4), right - left, 8
            swatch.append(Rectangle(*span, alpha=0.22, lw=0, color=style.colour))
        if layer.kind == "points":
            middle, marker = [(left + right) / 2], style.marker
            swatch.append(Line2D(middle, [height], ls="", marker=marker, ms=5.5, mew=0, color=style.colour))
        else:
            ends, dashes = [left, right], "-" if layer.kind == "steps" else style.dashes
            swatch.append(Line2D(ends, [height] * 2, lw=1.5, ls=dashes, color=style.colour))
        for artist in swatch:
            artist.set_transform(None)
            artist.set_clip_on(False)
            axes.add_artist(artist)
        for number, line in enumerate(lines):
            spot = box.x1 + _SWATCH[1], height - number * _LINE
            axes.text(*spot, line, transform=None, va="center_baseline", fontsize=_SIZE)


def _wrapped(label: str, widest: float, size: float) -> list[str]:
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


def _renderer(width: float, height: float, stream: io.StringIO) -> RendererSVG:
    """Return what draws into a stream; all read formulas by one parser, which remembers them."""
    renderer = RendererSVG(width, height, stream, image_dpi=_DPI, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    renderer._text2path = text_to_path
    return renderer


@cache
def _measuring() -> RendererSVG:
    """Return what measures text as it is drawn; it remembers what it has measured."""
    return _renderer(1, 1, io.StringIO())


@cache
def _width(line: str, size: float) -> float:
    text = Canvas(dpi=_DPI).text(0, 0, line, fontsize=size)
    return float(text.get_window_extent(_measuring()).width)


def spread(
    wanted: Sequence[float], heights: Sequence[float], low: float, high: float, gap: float
) -> list[float]:
    """Return places near those ``wanted``, in their order, so that labels of these heights do not overlap.

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


_GRID = rf'<path d="([^"]*)" ([^>]*stroke-opacity: {_FAINT};[^>]*)/>'
_MARK = r'<use xlink:href="#([^"]*)" x="[^"]*" y="[^"]*" style="([^"]*)"/>'
_MARKS = rf'{_MARK}(?:\s*<use xlink:href="#\1"[^>]*style="\2"/>)*'
_LETTER = r'<tspan x="([^"]*)" y="([^"]*)" style="([^"]*)">([^<&]|&[^;<]*;)</tspan>'
_ROOT = (
    r'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
    rf'viewBox="\1" font-family="{FAMILY}" stroke-linejoin="round" stroke-linecap="butt">'
)


def _tidy(svg: str, prefix: str) -> str:
    """Return the bare element: no prologue, no style rules that would leak into a page, no idle ids.

    Ids get a ``prefix``; what is drawn in ink takes the colour of the surrounding text. What has no effect
    goes, as every node costs time where it is printed.
    """
    svg = svg[svg.index("<svg") :]
    idle = r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->|<g\b[^>]*/>"
    svg = re.sub(idle, "", svg, flags=re.DOTALL)
    svg = svg.replace(INK, "currentColor").replace(f"font-family: '{FAMILY}'; ", "")
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}", svg)
    # Without fill and stroke, but for definitions, which may get a stroke where they are used.
    idle = r'<path d="[^"]*" (?:clip-path="[^"]*" )?style="fill: none"/>'
    svg = re.sub(rf"(<defs>.*?</defs>)|{idle}", lambda path: path[1] or "", svg, flags=re.DOTALL)
    svg = re.sub(r' transform="rotate\(-?0 [^"]*"', "", svg)
    nested: list[str] = []

    def rounded(tag: re.Match[str]) -> str:
        # No place is finer than can be seen.
        return re.sub(r"-?\d+\.\d{3,}", lambda place: f"{round(float(place[0]), 2) + 0.0:g}", tag[0])

    def without_idle(group: re.Match[str]) -> str:
        if group[0] != "</g>":
            nested.append(group[0])
        opening = nested[-1] if group[0] != "</g>" else nested.pop()
        return "" if opening == "<g>" else group[0]

    def in_words(letters: re.Match[str]) -> str:
        # Letters that are each drawn by itself are words: shorter, and a search finds them.
        words = ""
        for (height, style), run in groupby(re.findall(_LETTER, letters[0]), key=lambda part: part[1:3]):
            places, _, _, text = zip(*run, strict=True)
            words += f'<tspan x="{" ".join(places)}" y="{height}" style="{style}">{"".join(text)}</tspan>'
        return words

    svg = re.sub(r"</?g\b[^>]*>", without_idle, re.sub(r"<[^>]*>", rounded, svg))
    svg = re.sub(rf"(?:{_LETTER}\s*){{2,}}", in_words, _joined(svg))
    svg = re.sub(r'<svg [^>]*?viewBox="([^"]+)"[^>]*>', _ROOT, svg, count=1)
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"<defs>\s*</defs>", "", svg)).strip()


def _joined(svg: str) -> str:
    """Return a drawing with fewer nodes: a grid is one path, and so are the marks of a layer."""
    lines = re.findall(_GRID, svg)
    grid = f'<path d="{"".join(path for path, _ in lines)}" {lines[0][1]}/>' if lines else ""
    svg = re.sub(_GRID, "", svg).replace(">", f">{grid}", 1)
    outlines = dict(re.findall(r'<path id="([^"]*)" d="([^"]*)"', svg))

    def joined(marks: re.Match[str]) -> str:
        # The outline of a mark in steps from its middle, so that it can be drawn from any place.
        here, outline = (0.0, 0.0), ""
        for command, listed in re.findall("([MLCz])([^MLCz]*)", outlines[marks[1]]):
            ends = iter(map(float, listed.split()))
            points = list(zip(ends, ends, strict=True))
            steps = (end - start for point in points for end, start in zip(point, here, strict=True))
            outline += command.lower() + " ".join(f"{round(step, 2) + 0.0:g}" for step in steps)
            here = points[-1] if points else here
        places = re.findall(r'x="([^"]*)" y="([^"]*)"', marks[0])
        return f'<path d="{"".join(f"M{x} {y}{outline}" for x, y in places)}" style="{marks[2]}"/>'

    svg = re.sub(_MARKS, joined, svg)
    return re.sub(r"<defs>\s*<path[^>]*/>\s*</defs>", "", svg)
