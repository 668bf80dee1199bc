"""Formulas as strings in a face of their own: a fraction of what outlines take, and one element each.

A character of the face is a glyph at its size and height above the line, or a gap.
"""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from collections import Counter, defaultdict
from importlib.metadata import version
from io import BytesIO
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree as ET

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.recordingPen import RecordingPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.svgLib.path import parse_path

from verify.report.cache import DrawingCache
from verify.report.formulas import MATHJAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from verify.report.formulas import Formula

BAR = "bar"
_LONGEST = 16_000  # thousandths of an em; a face's numbers end at twice that
_STEP = re.compile(r"(\w+)\(([^)]*)\)")
_DRAWN = {"use": {"transform", "href"}, "rect": {"transform", "x", "y", "width", "height"}}
FAMILY = "Formulas"
_UNITS = 1000  # an em
_GRID = 10  # thousandths of an em to which places are rounded: a sixth of a pixel
_FIRST = 0xE000  # of the private use area, whose characters mean nothing to anybody
_EPOCH = 2_082_844_800  # of Unix, in seconds of a font file; no date is written
_NOTHING = ".notdef"
_SPECIAL = frozenset(" \"&'<=>`")  # what an attribute has to quote or escape
_LARGEST = 2.0  # scale of a glyph that is made of another one


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


_GAP = Shape("gap", 1.0, 1.0, 0)


class _Letter(NamedTuple):
    """What a character draws, and how far it moves on."""

    shape: Shape
    advance: int


def in_face(formulas: Sequence[Formula]) -> tuple[list[str], str]:
    """Return each formula as a string, empty where it holds more than a face can, and the face of all.

    The face is a WOFF 2 file in base 64. Both are kept for the next page with these formulas.
    """
    cache = DrawingCache("strings", *(f"{name} {version(name)}" for name in ("fonttools", MATHJAX)))
    content = "\n".join(f"{one.view_box} {one.body}" for one in formulas)
    if kept := cache.get(content):
        texts, file = json.loads(kept)
        return texts, file
    face = Typeface(one for one in formulas if _is_text(one))
    texts = [face.text(one) if _is_text(one) else "" for one in formulas]
    file = base64.b64encode(face.woff2()).decode()
    cache.put(content, json.dumps((texts, file)))
    return texts, file


def _is_text(formula: Formula) -> bool:
    """Whether a face can have all that the formula is drawn of."""
    try:
        signs(formula)
    except NotSignsError:
        return False
    return True


class Typeface:
    """The face of some formulas, each of which is a string in it.

    Args:
        formulas: what the face has characters for.

    Raises:
        NotSignsError: a formula holds more than glyphs and bars.
    """

    def __init__(self, formulas: Iterable[Formula]) -> None:
        drawn = {(one.body, one.view_box): one for one in formulas}
        rows = {key: signs(one) for key, one in drawn.items()}
        self._outlines = dict(glyph for one in drawn.values() for glyph in one.glyphs)
        usual = _usual_advances(_steps(row, drawn[key]) for key, row in rows.items())
        letters = {key: list(_letters(_steps(row, drawn[key]), usual)) for key, row in rows.items()}
        self._characters = _characters(Counter(one for row in letters.values() for one in row))
        self._texts = {key: "".join(self._characters[one] for one in row) for key, row in letters.items()}

    def text(self, formula: Formula) -> str:
        """Return one of the formulas as a string in this face."""
        return self._texts[formula.body, formula.view_box]

    def woff2(self) -> bytes:
        """Return the face as a WOFF 2 file; the same formulas give the same."""
        glyphs: dict[str, Any] = {_NOTHING: TTGlyphPen(None).glyph()}
        names = {letter: self._glyph(letter.shape, glyphs, number) for number, letter in self._numbered()}
        builder = FontBuilder(_UNITS, isTTF=True)
        builder.setupGlyphOrder(list(glyphs))
        builder.setupCharacterMap({ord(sign): names[letter] for letter, sign in self._characters.items()})
        builder.setupGlyf(glyphs)
        table = builder.font["glyf"]
        advances = {names[letter]: letter.advance for letter in names}
        # A glyph that starts elsewhere than its bearing says would be moved there.
        metrics = {name: (advances.get(name, 0), getattr(table[name], "xMin", 0)) for name in glyphs}
        builder.setupHorizontalMetrics(metrics)
        builder.setupHorizontalHeader(ascent=_UNITS, descent=-_UNITS)
        builder.setupNameTable({"familyName": FAMILY, "styleName": "Regular"})
        builder.setupOS2(
            sTypoAscender=_UNITS, sTypoDescender=-_UNITS, usWinAscent=_UNITS, usWinDescent=_UNITS
        )
        builder.setupPost(keepGlyphNames=False)
        font = builder.font
        font.recalcTimestamp = False
        font["head"].created = font["head"].modified = _EPOCH
        font.flavor = "woff2"
        stream = BytesIO()
        font.save(stream)
        return stream.getvalue()

    def _numbered(self) -> Iterable[tuple[int, _Letter]]:
        return enumerate(sorted(self._characters, key=self._characters.__getitem__))

    def _glyph(self, shape: Shape, glyphs: dict[str, Any], number: int) -> str:
        """Add a shape to the ``glyphs``, the one that it is made of before it, and return its name."""
        name, pen = f"c{number}", TTGlyphPen(glyphs)
        if shape.name == BAR:
            _box(pen, shape)
        elif shape.name in self._outlines and (shape.low is not None or shape.up >= _LARGEST):
            _stretch(pen, shape, self._outlines[shape.name])
        elif shape.name in self._outlines:
            if shape.name not in glyphs:
                whole = TTGlyphPen(None)
                parse_path(self._outlines[shape.name], whole)
                glyphs[shape.name] = whole.glyph()
            pen.addComponent(shape.name, (shape.across, 0, 0, shape.up, 0, shape.y))
        glyphs[name] = pen.glyph()
        return name


def _steps(row: Sequence[Sign], formula: Formula) -> list[tuple[Shape, int]]:
    """Return each shape with how far it is, in grid units, to the next or to the formula's end."""
    places = [max(0, round(sign.x / _GRID)) for sign in row]
    ends = [*places, max([round(formula.width * _UNITS / _GRID), *places])]
    steps = [(sign.shape, end - start) for sign, (start, end) in zip(row, pairwise(ends), strict=True)]
    return [(_GAP, ends[0]), *steps] if ends[0] else steps


def _usual_advances(rows: Iterable[Sequence[tuple[Shape, int]]]) -> dict[Shape, int]:
    """Return for each shape what mostly lies between it and the next."""
    seen: dict[Shape, Counter[int]] = defaultdict(Counter)
    for row in rows:
        for shape, step in row:
            seen[shape][step] += 1
    return {shape: min(steps, key=lambda one: (-steps[one], one)) for shape, steps in seen.items()}


def _letters(steps: Sequence[tuple[Shape, int]], usual: Mapping[Shape, int]) -> Iterator[_Letter]:
    """Yield what draws a formula: where a shape moves on too far, one that stays; gaps for the rest."""
    for shape, step in steps:
        advance = 0
        if shape is not _GAP:
            advance = usual[shape] if usual[shape] <= step else 0
            yield _Letter(shape, advance * _GRID)
        if step > advance:
            yield _Letter(_GAP, (step - advance) * _GRID)


def _characters(letters: Counter[_Letter]) -> dict[_Letter, str]:
    """Return the character of each letter: of the commonest what it looks like, else a private one."""
    taken: dict[_Letter, str] = {}
    private = map(chr, count(_FIRST))
    free = set(map(chr, range(128)))
    for letter in sorted(letters, key=lambda one: (-letters[one], str(one))):
        own = _meaning(letter.shape.name)
        taken[letter] = own if own in free else next(private)
        free.discard(own)
    return taken


def _meaning(glyph: str) -> str:
    """Return the plain sign that a glyph such as ``TEX-I-1D451`` draws, if an attribute can hold it."""
    code = glyph.rpartition("-")[2]
    try:
        sign = unicodedata.normalize("NFKC", chr(int(code, 16)))
    except ValueError:
        return ""
    return sign if sign.isascii() and sign.isprintable() and sign not in _SPECIAL else ""


def _box(pen: TTGlyphPen, shape: Shape) -> None:
    low, high, width = shape.low, shape.high, round(shape.across)
    corners = ((0, low), (0, high), (width, high), (width, low))
    pen.moveTo(corners[0])
    for corner in corners[1:]:
        pen.lineTo(corner)
    pen.closePath()


def _stretch(pen: TTGlyphPen, shape: Shape, outline: str) -> None:
    """Draw an outline stretched, and cut off above and below."""
    drawn = RecordingPen()
    parse_path(outline, drawn)
    low = -float("inf") if shape.low is None else shape.low
    high = float("inf") if shape.high is None else shape.high
    for operator, points in drawn.value:
        moved = [(x * shape.across, min(max(y * shape.up + shape.y, low), high)) for x, y in points]
        getattr(pen, operator)(*moved)
