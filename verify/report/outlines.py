"""Formulas and marks as WeasyPrint takes them; formulas have a font, so they can be searched and copied.

WeasyPrint would draw their SVG again wherever they stand, which takes it a third of all its time.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

import pydyf
from fontTools.pens.boundsPen import ControlBoundsPen
from fontTools.pens.recordingPen import RecordingPen
from fontTools.svgLib.path import parse_path

from verify.report.formulas import Formula
from verify.report.typeset import SCALE, STROKE_WIDTH

_GLYPHS = 256  # of a font
_TO_UNICODE = """\
/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CMapName /Formulas def /CMapType 2 def
1 begincodespacerange <00> <FF> endcodespacerange
{lists}endcmap CMapName currentdict /CMap defineresource pop end end"""


class PdfDrawing:
    """What WeasyPrint takes from its cache as an image; it is drawn in the text's colour.

    ``corner``, ``width`` and ``height`` are those of what ``operators`` draw, ``unit`` is theirs in em.
    """

    def __init__(
        self, operators: str, corner: tuple[float, float], width: float, height: float, unit: float
    ) -> None:
        self._operators, self._corner, self._unit = operators.encode(), corner, unit
        self._width, self._height = width, height

    def get_intrinsic_size(self, _resolution: float, font_size: float) -> tuple[float, float, float]:
        """Return width, height and their ratio in text of this size."""
        em = self._unit * font_size
        return self._width * em, self._height * em, self._width / self._height

    def draw(self, stream: Any, width: float, _height: float, style: Mapping[str, Any]) -> None:
        """Draw into a page's stream, ``width`` wide, its top left corner at the origin."""
        scale, (left, top) = width / self._width, self._corner
        stream.set_color(style["color"])
        stream.set_color(style["color"], stroke=True)
        stream.transform(a=scale, d=scale, e=-left * scale, f=-top * scale)
        stream.stream.append(self._operators)


class FormulaFonts:
    """The glyphs of a document's formulas, in as many Type 3 fonts as they need."""

    def __init__(self) -> None:
        self._codes: dict[str, tuple[int, int]] = {}

    def drawn(self, formula: Formula) -> PdfDrawing:
        """Return a formula ready to be drawn."""

        def coded(glyph: re.Match[str]) -> str:
            font, code = self._codes.setdefault(glyph[1], divmod(len(self._codes), _GLYPHS))
            return f"/Formulas{font} 1000 Tf <{code:02X}>"

        operators = re.sub("<([^>]*)>", coded, formula.operators)
        left, width, height, depth = (1000 * length for length in formula[2:])
        return PdfDrawing(operators, (left, depth - height), width, height, SCALE / 1000)

    def add_to(self, pdf: Any, outline: Callable[[str], str]) -> None:
        """Add the fonts, of glyphs with these outlines, to a document: all of its pages share their fonts."""
        page = referenced(pdf, pdf.page_references[0])
        fonts = referenced(pdf, referenced(pdf, page["Resources"])["Font"])
        glyphs = list(self._codes)
        for number, start in enumerate(range(0, len(glyphs), _GLYPHS)):
            outlines = {name: outline(name) for name in glyphs[start : start + _GLYPHS]}
            fonts[f"Formulas{number}"] = _font(pdf, outlines)


def stroked(mark: str) -> PdfDrawing:
    """Return a mark's paths ready to be drawn."""
    drawn = [f"{STROKE_WIDTH} w 1 J 1 j"]
    for path in ET.fromstring(f"<g>{mark}</g>"):  # noqa: S314 - our own
        paint = "B" if "fill" in path.attrib else "S"
        drawn.append(f"[{path.get('stroke-dasharray', '')}] 0 d {_path(path.attrib['d'])} {paint}")
    return PdfDrawing("\n".join(drawn), (0, 0), 16, 16, 1 / 16)


def referenced(pdf: Any, reference: bytes) -> Any:
    """Return the object of a document that a reference, such as ``b"7 0 R"``, leads to."""
    return pdf.objects[int(reference.split()[0])]


def _font(pdf: Any, outlines: Mapping[str, str]) -> bytes:
    """Add a font of these outlines to a document and return its reference."""
    lowest, highest = [0.0, 0.0], [0.0, 0.0]
    procedures, widths, characters = {}, [], []
    for code, (name, outline) in enumerate(outlines.items()):
        pen = ControlBoundsPen(None)
        parse_path(outline, pen)
        box = pen.bounds or (0, 0, 0, 0)
        lowest, highest = [*map(min, lowest, box[:2])], [*map(max, highest, box[2:])]
        widths.append(round(box[2]))
        corners = " ".join(f"{corner:g}" for corner in box)
        glyph = pydyf.Stream([f"{widths[-1]} 0 {corners} d1 {_path(outline)} f"], compress=True)
        procedures[f"g{code}"] = _added(pdf, glyph)
        # "TEX-I-1D451" is an italic d, and is copied as a d.
        letter = unicodedata.normalize("NFKC", chr(int(name.rpartition("-")[2], 16)))
        characters.append(f"<{code:02X}> <{letter.encode('utf-16-be').hex().upper()}>\n")
    lists = ""
    for start in range(0, len(characters), 100):  # a list has at most 100
        part = characters[start : start + 100]
        lists += f"{len(part)} beginbfchar\n{''.join(part)}endbfchar\n"
    names = pydyf.Array([0, *(f"/{name}" for name in procedures)])
    font = pydyf.Dictionary(
        {
            "Type": "/Font",
            "Subtype": "/Type3",
            "FontBBox": pydyf.Array([*lowest, *highest]),
            "FontMatrix": pydyf.Array([0.001, 0, 0, 0.001, 0, 0]),
            "CharProcs": pydyf.Dictionary(procedures),
            "Encoding": pydyf.Dictionary({"Type": "/Encoding", "Differences": names}),
            "FirstChar": 0,
            "LastChar": len(outlines) - 1,
            "Widths": pydyf.Array(widths),
            "Resources": pydyf.Dictionary(),
            "ToUnicode": _added(pdf, pydyf.Stream([_TO_UNICODE.format(lists=lists)], compress=True)),
        }
    )
    return _added(pdf, font)


def _added(pdf: Any, made: Any) -> bytes:
    pdf.add_object(made)
    reference: bytes = made.reference
    return reference


@cache
def _path(path: str) -> str:
    """Return a path of SVG as operators of a PDF."""
    pen, here, drawn = RecordingPen(), (0.0, 0.0), []
    parse_path(path, pen)
    letters = {"moveTo": "m", "lineTo": "l", "curveTo": "c", "qCurveTo": "c", "closePath": "h"}
    for kind, points in pen.value:
        if kind == "qCurveTo":
            # A parabola is a cubic curve whose handles lie two thirds of the way to the parabola's own.
            ends, (x, y) = (here, points[1]), points[0]
            handles = [((across + 2 * x) / 3, (down + 2 * y) / 3) for across, down in ends]
            drawn += [number for point in (*handles, points[1]) for number in point]
        else:
            drawn += [number for point in points for number in point]
        drawn.append(letters.get(kind, ""))
        here = points[-1] if points else here
    return " ".join(part if isinstance(part, str) else f"{part:g}" for part in drawn)
