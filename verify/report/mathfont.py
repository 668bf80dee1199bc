"""Formulas as text in a face of their own: a fraction of what outlines take, and far fewer elements."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from io import BytesIO
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.t2CharStringPen import T2CharStringPen
from fontTools.svgLib.path import parse_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verify.report.math import Formula

FAMILY = "Formulas"
_UNITS = 1000  # an em
_FIRST = 0xE000  # of the private use area, whose characters mean nothing to anybody
_EPOCH = 2_082_844_800  # of Unix, in seconds of a font file; no date is written
_NOTHING = ".notdef"
_OVER = "scale(1,-1)"
_STEP = re.compile(r"(\w+)\(([^)]*)\)")


class _Place(NamedTuple):
    """Where something is drawn: from its own to the formula's coordinates, both with y upwards."""

    scale: float = 1.0
    x: float = 0.0
    y: float = 0.0

    def within(self, transform: str) -> _Place | None:
        """Return the place after a ``transform`` attribute, or None where it does more than that."""
        place = self
        for kind, arguments in _STEP.findall(transform):
            numbers = [float(number) for number in re.split(r"[\s,]+", arguments.strip())]
            if kind == "translate":
                x, y = (*numbers, 0.0)[:2]
                place = _Place(place.scale, place.x + place.scale * x, place.y + place.scale * y)
            elif kind == "scale" and len(numbers) == 1 and numbers[0] > 0:
                place = place._replace(scale=place.scale * numbers[0])
            else:
                return None
        return place

    def __str__(self) -> str:
        """Return the place as a ``transform`` attribute, with y downwards."""
        return f"translate({self.x:g},{-self.y:g}) scale({self.scale:g},{-self.scale:g})"


@dataclass(frozen=True, slots=True)
class _Sign:
    """A glyph at its place."""

    name: str
    place: _Place


class Typeface:
    """Gives every glyph a character, as formulas are set in it; then it can be had as a file."""

    def __init__(self) -> None:
        self._characters: dict[str, str] = {}
        self._outlines: dict[str, str] = {}

    def text(self, formula: Formula) -> tuple[str, set[str]]:
        """Return a formula as SVG text, with the glyphs of what has to be drawn: stretched or cut ones."""
        signs, bars, rest = _parts(formula.body)
        outlines = dict(formula.glyphs)
        for sign in signs:
            self._outlines[sign.name] = outlines[sign.name]
        drawn = "".join(self._lines(signs)) + (f'<path d="{"".join(bars)}"/>' if bars else "") + "".join(rest)
        return drawn, set(re.findall(r'href="#([^"]+)"', "".join(rest)))

    def _lines(self, signs: list[_Sign]) -> Iterator[str]:
        """Yield a text for each size, with the places of its characters, those of most common height last."""
        for size, of_size in groupby(sorted(signs, key=_size), key=_size):
            row = list(of_size)
            common = Counter(map(_height, row))
            row.sort(key=lambda sign: (common[_height(sign)], _height(sign)))
            # The last of the heights holds for all further characters.
            heights = [str(_height(sign)) for sign in row[: len(row) - common[_height(row[-1])] + 1]]
            up = "" if heights == ["0"] else f' y="{" ".join(heights)}"'
            places = " ".join(str(round(sign.place.x)) for sign in row)
            small = f' font-size="{size}"' if size != _UNITS else ""
            letters = "".join(self._character(sign.name) for sign in row)
            yield f'<text{small} x="{places}"{up}>{letters}</text>'

    def _character(self, glyph: str) -> str:
        return self._characters.setdefault(glyph, chr(_FIRST + len(self._characters)))

    def woff2(self) -> bytes:
        """Return the face with every glyph that was used, as a WOFF 2 file; the same glyphs give the same."""
        drawn = {_NOTHING: ""} | {name: self._outlines[name] for name in self._characters}
        builder = FontBuilder(_UNITS, isTTF=False)
        builder.setupGlyphOrder(list(drawn))
        builder.setupCharacterMap({ord(sign): name for name, sign in self._characters.items()})
        shapes = {name: _charstring(path) for name, path in drawn.items()}
        builder.setupCFF(FAMILY, {"FullName": FAMILY}, shapes, {})
        builder.setupHorizontalMetrics(dict.fromkeys(drawn, (_UNITS, 0)))
        builder.setupHorizontalHeader(ascent=_UNITS, descent=-_UNITS)
        builder.setupNameTable({"familyName": FAMILY, "styleName": "Regular"})
        builder.setupOS2()
        builder.setupPost()
        font = builder.font
        font.recalcTimestamp = False
        font["head"].created = font["head"].modified = _EPOCH
        font.flavor = "woff2"
        stream = BytesIO()
        font.save(stream)
        return stream.getvalue()


def _charstring(outline: str) -> object:
    pen = T2CharStringPen(_UNITS, None)
    parse_path(outline, pen)
    return pen.getCharString()


def _size(sign: _Sign) -> int:
    return round(_UNITS * sign.place.scale)


def _height(sign: _Sign) -> int:
    return -round(sign.place.y)


def _parts(body: str) -> tuple[list[_Sign], list[str], list[str]]:
    """Return a drawing's glyphs, its bars as parts of a path, and all else as it is; with y downwards."""
    signs: list[_Sign] = []
    bars: list[str] = []
    rest: list[str] = []

    def walk(node: ET.Element, place: _Place) -> None:
        here = place.within(node.get("transform", ""))
        if here and node.tag == "g" and node.attrib.keys() <= {"transform"}:
            for child in node:
                walk(child, here)
        elif here and node.tag == "use" and node.attrib.keys() <= {"transform", "href"}:
            signs.append(_Sign(node.attrib["href"][1:], here))
        elif here and node.tag == "rect" and node.attrib.keys() == {"x", "y", "width", "height"}:
            bars.append(_bar(node.attrib, here))
        else:
            rest.append(f'<g transform="{place}">{ET.tostring(node, encoding="unicode")}</g>')

    for child in ET.fromstring(f"<g>{body}</g>"):  # noqa: S314 - our own
        # MathJax turns everything over once, at the outermost place.
        if child.get("transform") == _OVER:
            del child.attrib["transform"]
            walk(child, _Place())
        else:
            rest.append(ET.tostring(child, encoding="unicode"))
    return signs, bars, rest


def _bar(found: Mapping[str, str], place: _Place) -> str:
    left, low, width, height = (float(found[name]) for name in ("x", "y", "width", "height"))
    x, top = place.x + place.scale * left, -(place.y + place.scale * (low + height))
    across, down = (round(place.scale * size) for size in (width, height))
    return f"M{round(x)} {round(top)}h{across}v{down}h{-across}z"
