"""What MathJax has drawn, as glyphs and bars at their places."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.report.math import Formula

BAR = "bar"
_GRID = 10  # thousandths of an em to which heights and bars are rounded: a sixth of a pixel
_LONGEST = 16_000  # thousandths of an em; a face's numbers end at twice that
_STEP = re.compile(r"(\w+)\(([^)]*)\)")
_DRAWN = {"use": {"transform", "href"}, "rect": {"transform", "x", "y", "width", "height"}}


class NotSignsError(Exception):
    """A drawing that holds more than glyphs and bars."""


class Shape(NamedTuple):
    """What is drawn, from the writing position: a glyph at its size and height above the line, or a bar.

    ``low`` and ``high`` are where a stretched glyph is cut off, and a bar ends; a bar is ``across`` wide.
    """

    name: str
    across: float
    up: float
    y: int
    low: int | None = None
    high: int | None = None


class Sign(NamedTuple):
    """A shape and how far it stands from the formula's left edge, in thousandths of an em."""

    x: float
    shape: Shape


class _Place(NamedTuple):
    """Where something is drawn: from its own coordinates to the formula's, with y upwards."""

    across: float = 1.0
    up: float = -1.0
    x: float = 0.0
    y: float = 0.0

    def moved(self, x: float, y: float) -> _Place:
        """Return the place moved by an amount in its own coordinates."""
        return self._replace(x=self.x + self.across * x, y=self.y + self.up * y)

    def scaled(self, across: float, up: float) -> _Place:
        """Return the place with other units."""
        return self._replace(across=self.across * across, up=self.up * up)

    def within(self, transform: str) -> _Place:
        """Return the place after a ``transform`` attribute."""
        place = self
        for kind, arguments in _STEP.findall(transform):
            first, *rest = (float(number) for number in re.split(r"[\s,]+", arguments.strip()))
            if kind == "translate":
                place = place.moved(first, rest[0] if rest else 0.0)
            elif kind == "scale":
                place = place.scaled(first, rest[0] if rest else first)
            else:
                raise NotSignsError
        return place


class _Window(NamedTuple):
    """Between which heights a drawing is seen."""

    low: int | None = None
    high: int | None = None


def signs(formula: Formula) -> list[Sign]:
    """Return a formula's glyphs and bars from left to right.

    Raises:
        NotSignsError: the drawing holds more than those, such as strokes.
    """
    root = ET.fromstring(f"<g>{formula.body}</g>")  # noqa: S314 - our own
    left = float(formula.view_box.split()[0])
    return sorted(_signs(root, _Place(x=-left), _Window()))


def _signs(node: ET.Element, place: _Place, window: _Window) -> Iterator[Sign]:
    here = place.within(node.get("transform", ""))
    if node.tag == "g" and node.attrib.keys() <= {"transform"}:
        for child in node:
            yield from _signs(child, here, window)
    elif node.tag == "svg":
        inner, seen = _nested(node, here)
        for child in node:
            yield from _signs(child, inner, seen)
    elif node.attrib.keys() <= _DRAWN.get(node.tag, frozenset()) and here.across > 0 and here.up > 0:
        if node.tag == "use":
            yield _glyph(node.attrib["href"][1:], here, window)
        else:
            yield from _bars(node, here)
    else:
        raise NotSignsError


def _glyph(name: str, place: _Place, window: _Window) -> Sign:
    return Sign(place.x, Shape(name, round(place.across, 3), round(place.up, 3), _rounded(place.y), *window))


def _bars(node: ET.Element, place: _Place) -> Iterator[Sign]:
    """Yield a bar in pieces that a face can have."""
    left, low, width, height = (float(node.attrib[name]) for name in ("x", "y", "width", "height"))
    corner = place.moved(left, low)
    bottom = _rounded(corner.y)
    top = bottom + max(_GRID, _rounded(place.up * height))
    whole = _rounded(place.across * width)
    for start in range(0, whole, _LONGEST):
        length = min(_LONGEST, whole - start)
        yield Sign(corner.x + start, Shape(BAR, length, 1.0, 0, bottom, top))


def _nested(node: ET.Element, place: _Place) -> tuple[_Place, _Window]:
    """Return where the inside of a nested drawing lies, and what is seen of it."""
    x, y, width, height = (float(node.get(name, "0")) for name in ("x", "y", "width", "height"))
    left, low, inner_width, inner_height = (float(number) for number in node.attrib["viewBox"].split())
    ends = sorted((place.moved(x, y).y, place.moved(x, y + height).y))
    inner = place.moved(x, y).scaled(width / inner_width, height / inner_height).moved(-left, -low)
    return inner, _Window(*map(round, ends))


def _rounded(length: float) -> int:
    return _GRID * round(length / _GRID)
