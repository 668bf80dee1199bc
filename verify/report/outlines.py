"""Formulas and marks as the operators of a PDF page.

WeasyPrint would draw their SVG again wherever they stand, which takes it a third of all its time.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from fontTools.pens.basePen import BasePen
from fontTools.svgLib.path import parse_path

from verify.report.marks import STROKE_WIDTH
from verify.report.textlayer import unseen
from verify.report.typeset import SCALE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verify.report.math import Formula

_TEXT_SIZE = 1000 / SCALE  # of the text around a formula, in thousandths of its em
_TRANSFORM = re.compile(r"(\w+)\(([^)]*)\)")
_NOT_FILLED = ("fill", "stroke-width", "stroke-dasharray")


class Drawing:
    """What WeasyPrint takes from its cache as an image; it is drawn in the text's colour."""

    def __init__(self, view_box: str, operators: str) -> None:
        self._box = tuple(float(number) for number in view_box.split())
        self._operators = operators.encode()

    def get_intrinsic_size(self, _resolution: float, _font_size: float) -> tuple[None, None, float]:
        """Return no width, no height (the page gives them), and their ratio."""
        return None, None, self._box[2] / self._box[3]

    def draw(self, stream: Any, width: float, _height: float, style: Mapping[str, Any]) -> None:
        """Draw into a page's stream, ``width`` wide, its top left corner at the origin."""
        left, top, full_width, _ = self._box
        scale = width / full_width
        stream.set_color(style["color"])
        stream.set_color(style["color"], stroke=True)
        stream.transform(a=scale, d=scale, e=-left * scale, f=-top * scale)
        stream.stream.append(self._operators)


def outlined(formula: Formula, text: str) -> Drawing | None:
    """Return the formula ready to be drawn, or None where it is more than filled outlines.

    Who copies it gets the ``text``.
    """
    glyphs = {name: _path(path) + " f" for name, path in formula.glyphs}
    try:
        drawn = "\n".join(_operators(child, glyphs) for child in ET.fromstring(f"<g>{formula.body}</g>"))  # noqa: S314
    except _NotAnOutlineError:
        return None
    width = float(formula.view_box.split()[2])
    return Drawing(formula.view_box, unseen(text, width, _TEXT_SIZE) + drawn)


def stroked(mark: str) -> Drawing:
    """Return a mark's paths ready to be drawn."""
    drawn = [f"{STROKE_WIDTH} w 1 J 1 j"]
    for path in ET.fromstring(f"<g>{mark}</g>"):  # noqa: S314 - our own
        paint = "B" if "fill" in path.attrib else "S"
        drawn.append(f"[{path.get('stroke-dasharray', '')}] 0 d {_path(path.attrib['d'])} {paint}")
    return Drawing("0 0 16 16", "\n".join(drawn))


class _NotAnOutlineError(Exception):
    pass


class _Pen(BasePen):  # type: ignore[misc]
    """Writes a path down as PDF operators."""

    def __init__(self) -> None:
        super().__init__(None)
        self.operators: list[str] = []

    def _moveTo(self, point: tuple[float, float]) -> None:  # noqa: N802 - fontTools' names
        self._write("m", point)

    def _lineTo(self, point: tuple[float, float]) -> None:  # noqa: N802
        self._write("l", point)

    def _curveToOne(self, *points: tuple[float, float]) -> None:  # noqa: N802
        self._write("c", *points)

    def _closePath(self) -> None:  # noqa: N802
        self._write("h")

    def _write(self, operator: str, *points: tuple[float, float]) -> None:
        numbers = (f"{number:g}" for point in points for number in point)
        self.operators.append(" ".join([*numbers, operator]))


@cache
def _path(path: str) -> str:
    pen = _Pen()
    parse_path(path, pen)
    return "\n".join(pen.operators)


def _operators(node: ET.Element, glyphs: Mapping[str, str]) -> str:
    if any(name in node.attrib for name in _NOT_FILLED):
        raise _NotAnOutlineError
    if node.tag == "use":
        drawn = glyphs[node.attrib["href"][1:]]
    elif node.tag == "rect":
        drawn = "{} {} {} {} re f".format(*(node.get(name, "0") for name in ("x", "y", "width", "height")))
    elif node.tag in {"g", "svg"}:
        drawn = "\n".join(_operators(child, glyphs) for child in node)
    else:
        raise _NotAnOutlineError
    before = _window(node) if node.tag == "svg" else ""
    before += "".join(
        _matrix(kind, numbers) for kind, numbers in _TRANSFORM.findall(node.get("transform", ""))
    )
    return f"q {before}{drawn} Q" if before else drawn


def _matrix(kind: str, text: str) -> str:
    numbers = [float(number) for number in re.split(r"[\s,]+", text.strip())]
    if kind == "translate":
        return f"1 0 0 1 {numbers[0]:g} {(numbers[1:] or [0.0])[0]:g} cm "
    if kind == "scale":
        return f"{numbers[0]:g} 0 0 {numbers[-1]:g} 0 0 cm "
    raise _NotAnOutlineError


def _window(node: ET.Element) -> str:
    """Return what moves, scales and clips the inside of a nested drawing."""
    x, y, width, height = (float(node.get(name, "0")) for name in ("x", "y", "width", "height"))
    left, top, inner_width, inner_height = (float(number) for number in node.attrib["viewBox"].split())
    across, down = width / inner_width, height / inner_height
    return (
        f"{x:g} {y:g} {width:g} {height:g} re W n "
        f"{across:g} 0 0 {down:g} {x - left * across:g} {y - top * down:g} cm "
    )
