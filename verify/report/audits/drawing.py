"""Draws a map of layers × heads as SVG: one path for all cells of a shade, so that thousands stay small."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from verify.evidence.audits import Judgement
from verify.evidence.words import SERIOUS, badge
from verify.report.audits.maps import row_names
from verify.report.audits.ramp import SHADES, Ramp, Shade
from verify.text.escapes import for_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from verify.report.audits.maps import Grid

    _Shape = Callable[[float, float, "_Frame"], str]

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
    names = [_shortened(name) for name in row_names(grid.layers)]
    return max([len("layer"), *map(len, names)]) * _LETTER + 8


def _svg(grid: Grid, frame: _Frame, lines: int, body: Sequence[str]) -> str:
    """Return the drawing with its axes, high enough for so many lines of the legend."""
    names = [_shortened(name) for name in row_names(grid.layers)]
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
    """Return which of so many labels are written, at round distances, so that they do not touch."""
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
