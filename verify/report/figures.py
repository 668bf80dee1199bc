"""Figures as short SVG through matplotlib, layers labelled directly; the same record gives the same text."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from functools import cache
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
from matplotlib.transforms import Affine2D

from verify.errors import RenderError
from verify.evidence.plots import INK, LayerStyle, draw_layer, layer_styles, readable
from verify.text import numbers

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from verify.evidence import Axis, Figure, PlotLayer


FAMILY = "Source Sans Pro"
WHOLE = (6.7, 2.7)  # inches; the print's text width
HALF_SIZE = (4.1, 1.2)  # a column of it, where its text is smaller than that around it
FRONT_SIZE = (4.1, 1.2)  # on the first page
_NUMBERS, _NAME = 16.5, 13.5  # points below an axis for its numbers, and for its name if it stands there
_ABOVE = 18.5  # points for the name of the upright axis
_PAST = 20.0  # points right of the axes that the last number may reach into, with a gap
_TICKS = (27.0, 11.5)  # points that the number of a tick takes at least, across and upright
_ASIDE = 6.5  # points between the middles of marks that stand side by side
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sdpa-verify",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
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
# All lengths in points, which are a canvas's pixels.
DPI = 72  # a pixel is a point of the SVG
LINE = 11.5  # between the lines of a label
_GAP = 2.0  # between two labels
_WIDEST = 0.2  # of the figure: a line of a label, unless a single formula is wider
_WIDE = 66.0  # what a line may always be
_SIZE = 9
_MARGIN = 3.0  # right of the labels
_LEAST = 14.0  # right of the axes, for the last tick's label
_SWATCH = (4.0, 16.0)  # right of the axes: where a label's mark starts and its text starts


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
        styles = layer_styles(figure.layers)
        try:
            for layer, style, aside in zip(figure.layers, styles, _asides(figure.layers), strict=True):
                _draw_layer(axes, layer, style, aside)
            name = wrapped(figure.y.label, canvas.bbox.width - 4, _SETTINGS["font.size"])
            right = label_width(axes, figure.layers)
            aside = _width(readable(figure.x.label), _SETTINGS["font.size"]) <= right - _PAST - 2
            above, below = _ABOVE + (len(name) - 1) * LINE, _NUMBERS + (0 if aside else _NAME)
            _set_height(canvas, axes, label_height(axes, figure.layers), above, below)
            _make_room(canvas, axes, right)
            _dress(axes, figure, "\n".join(name), aside=aside)
            _make_room(canvas, axes, right)
            label_layers(axes, figure.layers, styles)
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


def _asides(layers: tuple[PlotLayer, ...]) -> list[float]:
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


def _draw_layer(axes: Axes, layer: PlotLayer, style: LayerStyle, aside: float) -> None:
    for line in draw_layer(axes, layer, style):
        if aside:
            # Afterwards, so that the axes span the places themselves; a pixel is a point.
            line.set_transform(axes.transData + Affine2D().translate(aside, 0))


def _dress(axes: Axes, figure: Figure, name: str, *, aside: bool) -> None:
    """Give the axes their names, numbers and grid; the lower one's name stands below it or ``aside``."""
    if aside:
        axes.annotate(
            readable(figure.x.label),
            (1, 0),
            xycoords="axes fraction",
            va="top",
            xytext=(_PAST, -5.5),
            textcoords="offset points",
        )
    else:
        axes.set_xlabel(readable(figure.x.label), labelpad=4, loc="left")
    # Upright above its axis: so it reads without turning the head.
    axes.annotate(
        name,
        (0, 1),
        xycoords=("figure fraction", "axes fraction"),
        va="bottom",
        xytext=(2, 6),
        textcoords="offset points",
    )
    box = axes.get_window_extent()
    across, up = (
        min(7, max(3, math.floor(room) + 1)) for room in (box.width / _TICKS[0], box.height / _TICKS[1])
    )
    for axis, record, most in ((axes.xaxis, figure.x, across), (axes.yaxis, figure.y, up)):
        if record.scale == "log":
            getattr(axes, f"set_{axis.axis_name}scale")("log")
            axis.set_major_locator(_log_locator(*axis.get_view_interval(), most))
        else:
            axis.set_major_locator(MaxNLocator(most - 1, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(_tick(record)))
    axes.grid(visible=True, which="major", color=INK, alpha=0.13, lw=0.6)
    axes.tick_params(which="major", length=3.5, width=0.7, pad=3)
    axes.set_axisbelow(True)


def _log_locator(low: float, high: float, most: int = 7) -> Locator:
    """Return where a log axis has its ticks: at powers of ten, within two of which there is more to name."""
    if _powers(low, high) > 1:
        return LogLocator(subs=(1,) if _powers(low, high) > 2 else (1, 3), numticks=most)
    named = sum(_powers(low / digit, high / digit) for digit in (1, 2, 5))
    return (
        LogLocator(subs=(1, 2, 5), numticks=most)
        if named > 2
        else MaxNLocator(5, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3)
    )


def _powers(low: float, high: float) -> int:
    """Return how many powers of ten lie between two numbers."""
    return math.floor(math.log10(high)) - math.ceil(math.log10(low)) + 1


def _set_height(canvas: Canvas, axes: Axes, least: float, above: float, below: float) -> None:
    """Give the axes the canvas's height but for points ``above`` and ``below``, both more for ``least``."""
    height = max(canvas.bbox.height, least + above + below)
    canvas.set_figheight(height / canvas.dpi)
    place = axes.get_position()
    axes.set_position((place.x0, below / height, place.width, 1 - (below + above) / height))


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
        # A tick outside the axis, such as one at 0, has a label too, which is not drawn.
        if 1e-4 < value < 1e6 or value <= 0:
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
    renderer = _renderer(canvas.bbox.width, canvas.bbox.height, stream)
    canvas.draw(renderer)
    renderer.finalize()  # type: ignore[no-untyped-call]
    return stream.getvalue()


def _renderer(width: float, height: float, stream: io.StringIO) -> RendererSVG:
    """Return what draws into a stream; all read formulas by one parser, which remembers them."""
    renderer = RendererSVG(width, height, stream, image_dpi=DPI, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    renderer._text2path = text_to_path
    return renderer


def label_width(axes: Axes, layers: Sequence[PlotLayer]) -> float:
    """Return the room that labels need right of the axes; enough for a tick's label if there are none."""
    widths = [_width(line, _SIZE) for layer in layers for line in _lines(axes, layer)]
    return max(max(widths, default=-_SWATCH[1]) + _SWATCH[1] + _MARGIN, _LEAST)


def label_height(axes: Axes, layers: Sequence[PlotLayer]) -> float:
    """Return the height of all labels under one another, in points."""
    lines = [len(_lines(axes, layer)) for layer in layers if layer.label and layer.x]
    return sum(lines) * LINE + max(len(lines) - 1, 0) * _GAP


def label_layers(axes: Axes, layers: Sequence[PlotLayer], styles: Sequence[LayerStyle]) -> None:
    """Write each layer's label at the height of its last point, moved apart where they would touch."""
    labelled = [
        (layer, style) for layer, style in zip(layers, styles, strict=True) if layer.label and layer.x
    ]
    if not labelled:
        return
    box = axes.get_window_extent()
    texts = [_lines(axes, layer) for layer, _ in labelled]
    wanted = [_end(axes, layer) for layer, _ in labelled]
    heights = [len(lines) * LINE for lines in texts]
    places = spread(wanted, heights, box.y0, box.y1, _GAP)
    for (layer, style), lines, place in zip(labelled, texts, places, strict=True):
        first = place + (len(lines) - 1) * LINE / 2
        _mark(axes, layer, style, box.x1 + _SWATCH[0], box.x1 + _SWATCH[1] - 3, first)
        for number, line in enumerate(lines):
            height = first - number * LINE
            axes.text(box.x1 + _SWATCH[1], height, line, transform=None, va="center_baseline", fontsize=_SIZE)


def _lines(axes: Axes, layer: PlotLayer) -> list[str]:
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
    return _renderer(1, 1, io.StringIO())


@cache
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


def _end(axes: Axes, layer: PlotLayer) -> float:
    """Return the height at which a layer ends; a log axis cannot show every value."""
    heights = axes.transData.transform(list(zip(layer.x, layer.y, strict=True)))[:, 1]
    shown = [float(height) for height in heights if math.isfinite(height)]
    return shown[-1] if shown else axes.get_window_extent().y0


def _mark(axes: Axes, layer: PlotLayer, style: LayerStyle, left: float, right: float, height: float) -> None:
    drawn: list[Artist] = []
    if layer.kind in {"band", "steps"}:
        drawn.append(Rectangle((left, height - 4), right - left, 8, alpha=0.22, lw=0, color=style.colour))
    if layer.kind == "points":
        middle = (left + right) / 2
        drawn.append(
            Line2D([middle], [height], ls="", marker=style.marker, ms=5.5, mew=0, color=style.colour)
        )
    else:
        dashes = "-" if layer.kind == "steps" else style.dashes
        drawn.append(Line2D([left, right], [height] * 2, lw=1.5, ls=dashes, color=style.colour))
    for artist in drawn:
        artist.set_transform(None)
        artist.set_clip_on(False)
        axes.add_artist(artist)


_TAG = r"(<defs>.*?</defs>)|<[^/][^>]*>"


def tidy(svg: str, prefix: str, *, ink: str, family: str) -> str:
    """Return the bare element: no prologue, no style rules that would leak into a page, no idle ids.

    Ids get a ``prefix``; what is drawn in the colour ``ink`` takes that of the surrounding text; all text is
    of one ``family``.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = svg.replace(ink, "currentColor")
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}", svg)
    svg = _without_idle_groups(_without_idle_paths(svg))
    svg = re.sub(_TAG, _brief, svg.replace(f"font-family: '{family}'; ", ""), flags=re.DOTALL)
    svg = re.sub(_LETTERS, _in_one, svg)
    svg = re.sub(r'<svg [^>]*?viewBox="([^"]+)"[^>]*>', _ROOT.format(family=family), svg, count=1)
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"<defs>\s*</defs>", "", svg)).strip()


def _without_idle_groups(svg: str) -> str:
    """Return the drawing without groups that have no effect; every node costs time where it is printed."""
    idle: list[bool] = []

    def kept(tag: re.Match[str]) -> str:
        if tag[0] != "</g>":
            idle.append(tag[0] == "<g>")
            return "" if idle[-1] else tag[0]
        return "" if idle.pop() else tag[0]

    return re.sub(r"</?g\b[^>]*>", kept, re.sub(r"<g\b[^>]*/>", "", svg))


def _without_idle_paths(svg: str) -> str:
    """Return the drawing without paths that have neither fill nor stroke, such as its background."""
    idle = r'<path d="[^"]*" (?:clip-path="[^"]*" )?style="fill: none"/>'
    # What lies in definitions may get its stroke where it is used.
    return re.sub(rf"(<defs>.*?</defs>)|{idle}", lambda found: found[1] or "", svg, flags=re.DOTALL)


def _brief(tag: re.Match[str]) -> str:
    """Return a tag without what has no effect: places finer than can be seen, turns by nothing.

    Definitions, in which the small shapes of marks lie, are finer.
    """
    short = re.sub(r' transform="rotate\(-?0 [^"]*"', "", tag[0])
    digits = 2 if tag[1] else 1
    short = re.sub(
        r' (?:x|y|width|height)="[^"]*|translate\([^)]*', lambda places: _rounded(places[0], digits), short
    )
    return re.sub(r'(?<= d=")[^"]*', lambda path: _rounded(path[0], digits), short)


def _rounded(places: str, digits: int) -> str:
    return re.sub(r"-?\d+\.\d+", lambda number: f"{round(float(number[0]), digits) + 0.0:g}", places)


def _in_one(letters: re.Match[str]) -> str:
    """Return letters, each drawn by itself, as words: shorter, and a search finds them."""
    joined = []
    for (height, style), run in groupby(
        re.findall(_LETTER, letters[0]), key=lambda found: (found[1], found[2])
    ):
        parts = list(run)
        places = " ".join(place for place, *_ in parts)
        text = "".join(letter for *_, letter in parts)
        joined.append(f'<tspan x="{places}" y="{height}" style="{style}">{text}</tspan>')
    return "".join(joined)


_LETTER = r'<tspan x="([^"]*)" y="([^"]*)" style="([^"]*)">([^<&]|&[^;<]*;)</tspan>'
_LETTERS = rf"(?:{_LETTER}\s*){{2,}}"
_ROOT = (
    r'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
    r'viewBox="\1" font-family="{family}" stroke-linejoin="round" stroke-linecap="butt">'
)
