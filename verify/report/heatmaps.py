"""Heat maps of layers × heads: the values of a finding, their colours, and the drawing as SVG."""

from __future__ import annotations

import statistics
import sys
from bisect import bisect
from collections import Counter
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from verify.evidence.audits import Judgement, common
from verify.evidence.words import SERIOUS, badge
from verify.report.cards import FigureView
from verify.text import numbers
from verify.text.escapes import for_html
from verify.text.latex import Prose
from verify.text.numbers import as_decimal
from verify.text.speech import prose_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from verify.evidence.audits import AuditRecord, Finding

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

    @property
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
    """A heat map with its words; ``claims`` derive its formula; two ``narrow`` ones stand side by side."""

    grid: Grid
    figure: FigureView
    narrow: bool
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
    return Map(
        grid=grid,
        figure=FigureView(
            grid.key, Prose(f"{title} Cells are {' and '.join(marks)}." if marks else title), _alt(grid)
        ),
        narrow=is_narrow(grid),
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


_STEPS = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5), Decimal(10))
_MOST = 8  # steps of the ramp
_MARKS = ((1, 2, 5), (1, 3), (1,))
_PLAIN, _FINEST = 100_000, -5  # between them numbers are written without powers of ten
_LARGEST = sys.float_info.max
_WIDE = 30  # the ratio of the largest to the smallest beyond which steps are ratios


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


@dataclass(frozen=True, slots=True)
class Ramp:
    """Steps between rising ``edges``, each with a shade; ``width`` is theirs, None where they are ratios."""

    edges: tuple[Decimal, ...]
    width: Decimal | None = None

    @classmethod
    def over(cls, values: Sequence[float]) -> Ramp:
        """Return steps that hold the values, of equal widths or, where they span decades, equal ratios."""
        low, high = as_decimal(min(values)), as_decimal(max(values))
        if low == high:
            return cls((low, high))
        if low > 0 and high > _WIDE * low:
            return cls(_ratios(low, high))
        width = _round_width((high - low) / (_MOST - 1))
        first, last = (
            (low / width).to_integral_value(ROUND_FLOOR),
            (high / width).to_integral_value(ROUND_CEILING),
        )
        return cls(tuple((first + step) * width for step in range(int(last - first) + 1)), width)

    def shade_of(self, value: float) -> int:
        """Return which shade a value has."""
        return self.shade(bisect([float(edge) for edge in self.edges[1:-1]], value))

    def shade(self, step: int) -> int:
        """Return the shade of a step: the first and last steps have the first and last shades."""
        steps = len(self.edges) - 1
        return 3 if steps == 1 else round(step * (len(SHADES) - 1) / (steps - 1))

    def labels(self) -> tuple[str, ...]:
        """Return the edges as text, with the digits that tell them apart."""
        edges = self.edges if self.edges[0] < self.edges[-1] else self.edges[:1]
        place = self._last_place()
        if place is not None:
            return tuple(numbers.fixed(float(edge), place) for edge in edges)
        apart = min((after - before for before, after in pairwise(edges)), default=Decimal(1))
        largest = max(abs(edge) for edge in edges)
        digits = min(max(largest.adjusted() - apart.adjusted() + 2, 3), 17)
        # The outermost edge may lie beyond the largest float.
        return tuple(numbers.exact(max(-_LARGEST, min(float(edge), _LARGEST)), digits) for edge in edges)

    def value(self, value: float) -> str:
        """Return a value as its cell has it: one digit finer than the steps, where these have one width."""
        place = self._last_place()
        return numbers.exact(value, 3) if place is None else numbers.fixed(value, min(place - 1, 0))

    def _last_place(self) -> int | None:
        """Return the power of ten of the last digit of the width, None where one leaves out powers of ten."""
        if self.width is None or self.width.adjusted() <= _FINEST or max(map(abs, self.edges)) >= _PLAIN:
            return None
        exponent = self.width.normalize().as_tuple().exponent
        return min(exponent, 0) if isinstance(exponent, int) else None


def _round_width(least: Decimal) -> Decimal:
    """Return the next number from ``least`` that has one of the digits of round steps."""
    power = Decimal(1).scaleb(least.adjusted())
    return next(digits * power for digits in _STEPS if digits * power >= least)


def _ratios(low: Decimal, high: Decimal) -> tuple[Decimal, ...]:
    decades = high.adjusted() - low.adjusted() + 1
    finest = next((marks for marks in _MARKS if len(_around(marks, low, high)) <= _MOST + 1), None)
    if finest:
        return _around(finest, low, high)
    stride = -(-decades // _MOST)
    return tuple(Decimal(1).scaleb(low.adjusted() + up) for up in range(0, decades + stride, stride))


def _around(marks: tuple[int, ...], low: Decimal, high: Decimal) -> tuple[Decimal, ...]:
    """Return numbers of one digit, of ``marks``, from the last below ``low`` to the first above ``high``."""
    powers = range(low.adjusted(), high.adjusted() + 2)
    every = [Decimal(mark).scaleb(power) for power in powers for mark in marks]
    first = max(place for place, one in enumerate(every) if one <= low)
    last = min(place for place, one in enumerate(every) if one >= high)
    return tuple(every[first : last + 1])


# All lengths in points; the width is the print's text width.
_WIDTH, _HALF = 482.0, 235.0
_FEW_ROWS = 16
_LEGEND = 76.0  # of the column with the colours and their values
_LETTER = 4.5  # of a letter of 9 points, on average
_LONGEST = 24  # letters of a layer's name
_TOP, _BOTTOM = 24.0, 4.0
_CELL, _NARROW = (34.0, 17.0), 24.0  # at most
_TALLEST, _FIRST_PAGE = 540.0, 150.0  # a map must fit on a page, the overview beneath what is wrong
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
    ramp = Ramp.over(list(grid.estimates.values()))
    labels = ramp.labels()
    legend = _legend(ramp, labels, frame.left + grid.heads * frame.wide + 14)
    return _svg(grid, frame, len(labels), [*_cells(grid, ramp, frame), *legend])


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


def _cells(grid: Grid, ramp: Ramp, frame: _Frame) -> Iterator[str]:
    by_shade: dict[int, list[tuple[int, int]]] = {}
    for place, value in grid.estimates.items():
        by_shade.setdefault(ramp.shade_of(value), []).append(place)
    for shade, places in sorted(by_shade.items()):
        gap = frame.gap
        d = "".join(_box(*frame.corner(*place), frame.wide - gap, frame.high - gap) for place in places)
        yield f'<path class="fill-{shade}" fill="{SHADES[shade].fill}" d="{d}"/>'
        yield from _marks(grid, shade, places, frame)
    if frame.labelled:
        yield from _values(grid, ramp, frame)


def _values(grid: Grid, ramp: Ramp, frame: _Frame) -> Iterator[str]:
    for place, value in grid.estimates.items():
        x, y = frame.corner(*place)
        shade = ramp.shade_of(value)
        text = ramp.value(value)
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


def _legend(ramp: Ramp, labels: Sequence[str], left: float) -> Iterator[str]:
    """Yield the steps from the largest down, each edge with its value."""
    wide, high = _SWATCH
    steps = len(ramp.edges) - 1
    for step in range(steps):
        shade = SHADES[ramp.shade(step)].fill
        place = _TOP + (steps - 1 - step) * high
        yield f'<path class="fill-{ramp.shade(step)}" fill="{shade}" d="{_box(left, place, wide, high)}"/>'
    for number, label in enumerate(labels):
        line = _TOP + (steps - number if len(labels) > 1 else 0.5) * high
        yield _text(left + wide + 5, line + 3, label, "start")


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
