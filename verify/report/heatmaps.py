"""Heat maps of layers × heads: the values of a finding, their colours, and the drawing as SVG."""

from __future__ import annotations

import statistics
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from verify.evidence.audits import AuditRecord, Finding, Judgement, common
from verify.evidence.words import SERIOUS, badge
from verify.report.cards import FigureView
from verify.text import numbers
from verify.text.escapes import for_html
from verify.text.latex import Prose
from verify.text.speech import prose_in_words

if TYPE_CHECKING:
    _Shape = Callable[[float, float, "_Frame"], str]

_MARKED = {
    Judgement.UNDECIDED: "hatched where undecided",
    Judgement.REFUTED: "crossed where refuted",
    Judgement.WARNED: "ringed where warned of",
}


@dataclass(frozen=True)
class Grid:
    """The findings of one name, by layer and head; layers by their place in the audit."""

    key: str
    name: str
    quantity: str
    layers: tuple[str, ...]
    heads: int
    cells: Mapping[tuple[int, int], Finding]

    @cached_property
    def estimates(self) -> dict[tuple[int, int], float]:
        """The estimates, where there are any."""
        return {place: one.estimate for place, one in sorted(self.cells.items()) if one.estimate is not None}

    @property
    def row_names(self) -> tuple[str, ...]:
        """A short name for each layer: its number, where that is all that differs."""
        pattern = common(self.layers)
        if pattern is None:
            return self.layers
        before, after = pattern
        return tuple(name[len(before) : len(name) - len(after)] for name in self.layers)

    def entry(self, layer: int, head: int) -> str:
        """Return the value of a cell with its judgement, as a table has it."""
        one = self.cells.get((layer, head))
        if one is None or one.estimate is None:
            return "–"
        value = numbers.exact(one.estimate, 4)
        return f"{value}{numbers.NO_BREAK}{badge(one.judgement).word}" if one.judgement in _MARKED else value


class Map(NamedTuple):
    """A heat map with its words; ``claims`` derive its formula; two ``narrow`` ones stand side by side.

    ``tells`` says whether heads differ by a step of the scale, or one is marked.
    """

    grid: Grid
    figure: FigureView
    narrow: bool
    tells: bool
    note: Prose
    claims: tuple[str, ...]


def grids(record: AuditRecord) -> tuple[Grid, ...]:
    """Return a grid for each statistical finding whose values differ from head to head."""
    found: dict[str, dict[tuple[int, int], Finding]] = {}
    for number, layer in enumerate(record.layers):
        for one in layer.findings:
            if not one.exact and one.head is not None and one.estimate is not None:
                found.setdefault(one.name, {})[number, one.head] = one
    names = tuple(layer.name for layer in record.layers)
    heads = max((layer.heads for layer in record.layers), default=0)
    return tuple(
        Grid(f"map-{place}", name, next(iter(cells.values())).quantity, names, heads, cells)
        for place, (name, cells) in enumerate(found.items(), 1)
        if len({one.estimate for one in cells.values()}) > 1
    )


def overview(record: AuditRecord) -> Grid | None:
    """Return the most serious finding that decides of each head, None where there is only one head."""
    worst: dict[tuple[int, int], Finding] = {}
    for number, layer in enumerate(record.layers):
        for one in layer.findings:
            for head in range(layer.heads) if one.head is None else (one.head,):
                if one.decides:
                    before = worst.get((number, head), one)
                    worst[number, head] = min(before, one, key=lambda some: SERIOUS.index(some.judgement))
    if len(worst) < 2:
        return None
    names = tuple(layer.name for layer in record.layers)
    return Grid("overview", "", "", names, max(layer.heads for layer in record.layers), worst)


def overview_figure(grid: Grid) -> FigureView:
    """Return the overview's words."""
    counts = Counter(one.judgement for one in grid.cells.values())
    counted = ", ".join(f"{counts[one]} {badge(one).word}" for one in SERIOUS if counts[one])
    return FigureView(
        grid.key,
        Prose("The most serious judgement of each head, among the findings that decide."),
        f"Map of {len(grid.layers)} layers by {grid.heads} heads by their most serious judgement: {counted}.",
    )


def map_of(grid: Grid) -> Map:
    """Return a grid's map with its words: what is marked, its extremes and where, what is derived."""
    cells = grid.cells.values()
    marks = [
        words for judgement, words in _MARKED.items() if any(one.judgement is judgement for one in cells)
    ]
    title = f"{grid.quantity}, by layer and head."
    references = sorted({one.reference.value for one in cells if one.reference})
    scale = ColourScale.of(grid)
    if scale.relative:
        of = "its value at unit variance" if references else numbers.exact(scale.usual, 3)
        title += f" Colours are ratios to {of}."
    return Map(
        grid=grid,
        figure=FigureView(
            grid.key, Prose(f"{title} Cells are {' and '.join(marks)}." if marks else title), _alt(grid)
        ),
        narrow=is_narrow(grid),
        tells=bool(marks) or len({scale.shade_of(grid.cells[place]) for place in grid.estimates}) > 1,
        note=Prose(f"At unit variance the catalogue derives {spread(references)}." if references else ""),
        claims=tuple(dict.fromkeys(one.claim for one in cells if one.claim)),
    )


def spread(values: Sequence[float], digits: int = 4) -> str:
    """Return values in order as one number, or from the smallest to the largest."""
    ends = [numbers.exact(one, digits) for one in (values[0], values[-1])]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _alt(grid: Grid) -> str:
    """Return what the map shows in words: its extremes, where they lie, and what is marked."""

    def at(place: tuple[int, int]) -> str:
        return f"{numbers.exact(estimates[place], 4)} in {grid.layers[place[0]]} head {place[1]}"

    estimates = grid.estimates
    smallest, largest = min(estimates, key=estimates.__getitem__), max(estimates, key=estimates.__getitem__)
    middle = statistics.median_low(estimates.values())
    counts = Counter(one.judgement for one in grid.cells.values())
    text = (
        f"Map of {prose_in_words(grid.quantity)}, {len(grid.layers)} layers by {grid.heads} heads: "
        f"smallest {at(smallest)}, median {numbers.exact(middle, 4)}, largest {at(largest)}"
    )
    marked = (f"{counts[one]} {badge(one).word}" for one in _MARKED if counts[one])
    return "; ".join([text, *marked]) + "."


class Shade(NamedTuple):
    """A step's colour, and that of what is written on it."""

    fill: str
    ink: str


_DARK, _PALE = "#0b1c2a", "#ffffff"
# One hue, as the lightness falls: the order shows in grey and to every eye.
SHADES = (
    Shade("#e6f0f7", _DARK),
    Shade("#c5ddee", _DARK),
    Shade("#a0c8e4", _DARK),
    Shade("#75b0d8", _DARK),
    Shade("#4a95c9", _DARK),
    Shade("#1f76b0", _PALE),
    Shade("#0c5788", _PALE),
    Shade("#073a5e", _PALE),
)
"""On paper and on a light page from pale to dark; ``page.css`` turns them round on a dark one."""


_RATIOS = (0.25, 0.5, 0.8, 1.25, 2.0, 4.0)
_SHARES = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)
_AROUND_ZERO = (-1.0, -0.3, -0.1, 0.1, 0.3, 1.0)
_STEPS = (0, 1, 2, 3, 5, 6, 7)
"""The shades of the steps between edges: the middle one stands for the reference value."""
_REFERENCES = {"variance": 1.0, "independence": 1.0, "dimension": 1.0, "mean": 0.0}
"""What the last word of a name is usual at, for quantities without a reference of the catalogue."""


@dataclass(frozen=True, slots=True)
class ColourScale:
    """A fixed scale of seven steps, the same in every audit, with the reference value in its middle.

    Where ``relative``, ``edges`` are ratios to the reference; shares without one have even steps.
    """

    edges: tuple[float, ...]
    relative: bool = False
    usual: float = 1.0

    @classmethod
    def of(cls, grid: Grid) -> ColourScale:
        """Return the scale of a finding: by its reference, else by what its quantity is usual at."""
        estimates = list(grid.estimates.values())
        usual = _REFERENCES.get(grid.name.rpartition("-")[2])
        if usual == 0.0 or min(estimates, default=0.0) < 0:
            return cls(_AROUND_ZERO)
        if usual or any(one.reference for one in grid.cells.values()):
            return cls(_RATIOS, relative=True)
        if max(estimates, default=0.0) <= 1:
            return cls(_SHARES)
        return cls(_RATIOS, relative=True, usual=statistics.median_low(estimates) or 1.0)

    def shade_of(self, one: Finding) -> int:
        """Return which shade a finding with an estimate has."""
        value = one.estimate or 0.0
        reference = one.reference.value if one.reference and one.reference.value > 0 else self.usual
        return _STEPS[bisect(self.edges, value / reference if self.relative else value)]

    @property
    def labels(self) -> tuple[str, ...]:
        """The edges as text."""
        sign = "×" if self.relative else ""
        return tuple(numbers.exact(edge, 3) + sign for edge in self.edges)


# All lengths in points; the width is the print's text width.
_WIDTH, _HALF = 482.0, 235.0
_FEW_ROWS = 48
_LEGEND = 76.0  # of the column with the colours and their values
_LETTER = 4.5  # of a letter of 9 points, on average
_LONGEST = 24  # letters of a layer's name
_TOP, _BOTTOM = 24.0, 4.0
_CELL, _NARROW = (34.0, 17.0), 6.0  # at most; at least of two side by side
_TALLEST, _SIDE_BY_SIDE, _FIRST_PAGE = 128.0, 120.0, 110.0  # a map alone, beside another, the overview
_LABELLED = (24.0, 11.0)  # a cell that has room for its value
_CORNER = 6.5  # of such a cell, where its mark is
_BETWEEN = 14.0  # at least, from one label on an axis to the next
_SWATCH = (13.0, 12.0)


class _Frame(NamedTuple):
    """Where the cells lie: the left edge, and a cell's width and height."""

    left: float
    wide: float
    high: float

    def corner(self, layer: int, head: int) -> tuple[float, float]:
        """Return the upper left corner of a cell."""
        return self.left + head * self.wide, _TOP + layer * self.high

    @property
    def gap(self) -> float:
        """Between two cells, where there is room for one."""
        return 0.6 if min(self.wide, self.high) > 4 else 0.0

    @property
    def labelled(self) -> bool:
        """Whether a cell has room for its value."""
        return self.wide >= _LABELLED[0] and self.high >= _LABELLED[1]


def draw_map(grid: Grid) -> str:
    """Return a grid's map as an SVG element, as wide as half the text or as all of it.

    Text takes the colour of the surrounding text, and cells have classes by which a page can recolour them.
    """
    frame = _frame(grid)
    scale = ColourScale.of(grid)
    legend = _legend(scale, frame.left + grid.heads * frame.wide + 14)
    return _svg(grid, frame, len(_STEPS), [*_cells(grid, scale, frame), *legend])


def draw_overview(grid: Grid) -> str:
    """Return the map of an audit's judgements as an SVG element; what they mean stands beside it."""
    frame = _frame(grid, _FIRST_PAGE)
    seen = [one for one in SERIOUS if any(found.judgement is one for found in grid.cells.values())]
    body: list[str] = []
    for judgement in seen:
        places = [place for place, one in sorted(grid.cells.items()) if one.judgement is judgement]
        body += _judged(judgement, [frame.corner(*place) for place in places], frame)
    left = frame.left + grid.heads * frame.wide + 14
    swatch = _Frame(left, *_SWATCH)
    for number, judgement in enumerate(seen):
        line = _TOP + number * (_SWATCH[1] + 3)
        body += _judged(judgement, [(left, line)], swatch)
        body.append(_text(left + _SWATCH[0] + 5, line + 9, badge(judgement).word, "start"))
    return _svg(grid, frame, len(seen) + 1, body)


def is_narrow(grid: Grid) -> bool:
    """Return whether two such maps stand side by side."""
    return len(grid.layers) <= _FEW_ROWS and _left(grid) + grid.heads * _NARROW + _LEGEND <= _HALF


def _frame(grid: Grid, tallest: float = _TALLEST) -> _Frame:
    left, width = _left(grid), _HALF if is_narrow(grid) else _WIDTH
    tallest = min(tallest, _SIDE_BY_SIDE) if is_narrow(grid) else tallest
    wide = min(_CELL[0], (width - _LEGEND - left) / max(grid.heads, 1))
    return _Frame(left, wide, min(_CELL[1], max(wide, 4.0), tallest / max(len(grid.layers), 1)))


def _left(grid: Grid) -> float:
    """Return the room that the layers' names need."""
    names = [_shortened(name) for name in grid.row_names]
    return max([len("layer"), *map(len, names)]) * _LETTER + 8


def _svg(grid: Grid, frame: _Frame, lines: int, body: Sequence[str]) -> str:
    """Return the drawing with its axes, high enough for the lines of the legend."""
    names = [_shortened(name) for name in grid.row_names]
    high = _TOP + max(len(names) * frame.high, lines * _SWATCH[1]) + _BOTTOM
    wide = _HALF if is_narrow(grid) else _WIDTH
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(wide)} {_n(high)}" class="map" '
        f'font-family="Source Sans Pro" font-size="9">'
        f"{''.join(_axes(names, grid.heads, frame))}{''.join(body)}</svg>"
    )


def _judged(judgement: Judgement, corners: Sequence[tuple[float, float]], frame: _Frame) -> Iterator[str]:
    look = _JUDGED[judgement]
    gap = frame.gap
    d = "".join(_box(x, y, frame.wide - gap, frame.high - gap) for x, y in corners)
    yield f'<path class="judged-{judgement.value}" fill="{look.fill}" d="{d}"/>'
    if judgement in _SHAPES:
        yield _mark(_SHAPES[judgement], corners, frame, f'class="on-{judgement.value}"', look.ink)


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST else f"…{name[1 - _LONGEST :]}"


def _axes(names: Sequence[str], heads: int, frame: _Frame) -> Iterator[str]:
    line = _TOP - 5
    yield _text(frame.left - 5, line, "layer", "end")
    yield _text(frame.left, line - 10, "head", "start")
    for number in _sparse(len(names), frame.high * 1.3):
        yield _text(frame.left - 5, frame.corner(number, 0)[1] + frame.high / 2 + 3, names[number], "end")
    for head in _sparse(heads, frame.wide):
        yield _text(frame.corner(0, head)[0] + frame.wide / 2, line, str(head), "middle")


def _sparse(count: int, room: float) -> range:
    """Return which of ``count`` labels are written, at round distances, so that they do not touch."""
    stride = next(one for one in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 2**20) if one * room >= _BETWEEN)
    return range(0, count, stride)


def _cells(grid: Grid, scale: ColourScale, frame: _Frame) -> Iterator[str]:
    by_shade: dict[int, list[tuple[int, int]]] = {}
    for place in grid.estimates:
        by_shade.setdefault(scale.shade_of(grid.cells[place]), []).append(place)
    gap = frame.gap

    def boxes(places: Sequence[tuple[int, int]]) -> str:
        return "".join(_box(*frame.corner(*place), frame.wide - gap, frame.high - gap) for place in places)

    for shade, places in sorted(by_shade.items()):
        yield f'<path class="fill-{shade}" fill="{SHADES[shade].fill}" d="{boxes(places)}"/>'
        yield from _marks(grid, shade, places, frame)
    without = [
        (layer, head)
        for layer in range(len(grid.layers))
        for head in range(grid.heads)
        if (layer, head) not in grid.estimates
    ]
    if without:
        look = _JUDGED[Judgement.REPORTED]
        yield f'<path class="judged-reported" fill="{look.fill}" d="{boxes(without)}"/>'
        corners = [frame.corner(*place) for place in without]
        yield _mark(_dash, corners, frame, 'class="on-undecided"', look.ink)
    if frame.labelled:
        for place, value in grid.estimates.items():
            x, y = frame.corner(*place)
            shade, text = scale.shade_of(grid.cells[place]), numbers.exact(value, 3, ROUND_HALF_UP)
            if len(text) * _LETTER < frame.wide + 2:
                ink = f'class="ink-{shade}" fill="{SHADES[shade].ink}"'
                yield _text(x + frame.wide / 2, y + frame.high / 2 + 3, text, "middle", ink)


def _marks(grid: Grid, shade: int, places: Sequence[tuple[int, int]], frame: _Frame) -> Iterator[str]:
    """Yield what marks the judgements of cells of one shade, in the colour that is read on it."""
    for judgement, shape in _SHAPES.items():
        chosen = [frame.corner(*place) for place in places if grid.cells[place].judgement is judgement]
        if not chosen:
            continue
        # A mark must leave a value readable: it is faint beneath it, or in the cell's corner.
        marked, faint = frame, ""
        if frame.labelled and shape is _hatching:
            faint = ' opacity="0.4"'
        elif frame.labelled:
            chosen = [(x + frame.wide - _CORNER - frame.gap, y) for x, y in chosen]
            marked = _Frame(0.0, _CORNER, _CORNER)
        yield _mark(shape, chosen, marked, f'class="line-{shade}"{faint}', SHADES[shade].ink)


def _mark(shape: _Shape, corners: Sequence[tuple[float, float]], frame: _Frame, how: str, ink: str) -> str:
    d = "".join(shape(x, y, frame) for x, y in corners)
    width = _n(min(1.0, frame.high / 9))
    return f'<path {how} fill="none" stroke="{ink}" stroke-width="{width}" d="{d}"/>'


def _box(x: float, y: float, wide: float, high: float) -> str:
    return f"M{_n(x)} {_n(y)}h{_n(wide)}v{_n(high)}h{_n(-wide)}z"


def _hatching(x: float, y: float, frame: _Frame) -> str:
    """Return slanted lines over a cell, as far apart in every cell."""
    wide, high = frame.wide - 0.6, frame.high - 0.6
    apart = max(min(4.5, (wide + high) / 4), 1.0)
    lines = []
    start = apart / 2
    while start < wide + high:
        # The line x + y = start, from the cell's left or lower edge to its upper or right one.
        x0, y0 = (0.0, start) if start <= high else (start - high, high)
        x1, y1 = (start, 0.0) if start <= wide else (wide, start - wide)
        lines.append(f"M{_n(x + x0)} {_n(y + y0)}L{_n(x + x1)} {_n(y + y1)}")
        start += apart
    return "".join(lines)


def _cross(x: float, y: float, frame: _Frame) -> str:
    size = min(frame.wide, frame.high) * 0.3
    x, y = x + frame.wide / 2, y + frame.high / 2
    arms = ((x - size, y - size, x + size, y + size), (x + size, y - size, x - size, y + size))
    return "".join(f"M{_n(a)} {_n(b)}L{_n(c)} {_n(d)}" for a, b, c, d in arms)


def _ring(x: float, y: float, frame: _Frame) -> str:
    radius = min(frame.wide, frame.high) * 0.32
    x, y = x + frame.wide / 2 - radius, y + frame.high / 2
    r, across = _n(radius), _n(2 * radius)
    return f"M{_n(x)} {_n(y)}a{r} {r} 0 1 1 {across} 0a{r} {r} 0 1 1 -{across} 0z"


def _dash(x: float, y: float, frame: _Frame) -> str:
    return f"M{_n(x + frame.wide * 0.3)} {_n(y + frame.high / 2)}h{_n(frame.wide * 0.4)}"


def _legend(scale: ColourScale, left: float) -> Iterator[str]:
    """Yield the steps from the largest down, each edge with its value."""
    wide, high = _SWATCH
    for step, shade in enumerate(reversed(_STEPS)):
        box = _box(left, _TOP + step * high, wide, high)
        yield f'<path class="fill-{shade}" fill="{SHADES[shade].fill}" d="{box}"/>'
    for step, label in enumerate(reversed(scale.labels), 1):
        yield _text(left + wide + 5, _TOP + step * high + 3, label, "start")


def _text(x: float, y: float, text: str, anchor: str, more: str = 'fill="currentColor"') -> str:
    return f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" {more}>{for_html(text)}</text>'


def _n(value: float) -> str:
    return f"{round(value, 2) + 0.0:g}"


_SHAPES: dict[Judgement, _Shape] = {
    Judgement.UNDECIDED: _hatching,
    Judgement.REFUTED: _cross,
    Judgement.WARNED: _ring,
}
_JUDGED = {
    Judgement.REFUTED: Shade("#b03a00", "#ffffff"),
    Judgement.UNDECIDED: Shade("#e1e5e9", "#16191d"),
    Judgement.WARNED: Shade("#f3dfb0", "#16191d"),
    Judgement.CONFIRMED: Shade("#bfdfd3", "#16191d"),
    Judgement.REPORTED: Shade("#f3f5f7", "#16191d"),
}
