"""Formulas and marks as operators of a PDF page; a formula's glyphs are a font, so it is found and copied.

WeasyPrint would draw their SVG again wherever they stand, which takes it a third of all its time.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

import pydyf
from fontTools.pens.basePen import BasePen
from fontTools.pens.boundsPen import ControlBoundsPen
from fontTools.svgLib.path import parse_path

from verify.report.formulas import Formula
from verify.report.typeset import STROKE_WIDTH

_TRANSFORM = re.compile(r"(\w+)\(([^)]*)\)")
_NOT_FILLED = ("fill", "stroke-width", "stroke-dasharray")
_GLYPHS = 256  # of a font
_TO_UNICODE = """\
/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CMapName /Formulas def /CMapType 2 def
1 begincodespacerange <00> <FF> endcodespacerange
{lists}endcmap CMapName currentdict /CMap defineresource pop end end"""


class PdfDrawing:
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


class FormulaFonts:
    """The glyphs of a document's formulas, in as many Type 3 fonts as they need."""

    def __init__(self) -> None:
        self._outlines: dict[str, str] = {}

    def drawn(self, formula: Formula) -> PdfDrawing | None:
        """Return a formula ready to be drawn, or None where it is more than glyphs and bars."""
        outlines = self._outlines | dict(formula.glyphs)
        codes = {name: divmod(place, _GLYPHS) for place, name in enumerate(outlines)}
        try:
            parts = [_operators(child, codes) for child in ET.fromstring(f"<g>{formula.body}</g>")]  # noqa: S314
        except _NotGlyphsError:
            return None
        self._outlines = outlines
        return PdfDrawing(formula.view_box, "\n".join(parts))

    def add_to(self, pdf: Any) -> None:
        """Add the fonts to a document that WeasyPrint has drawn: all of its pages share their fonts."""
        page = referenced(pdf, pdf.page_references[0])
        fonts = referenced(pdf, referenced(pdf, page["Resources"])["Font"])
        glyphs = list(self._outlines.items())
        for number, start in enumerate(range(0, len(glyphs), _GLYPHS)):
            fonts[f"Formulas{number}"] = _font(pdf, dict(glyphs[start : start + _GLYPHS]))


def stroked(mark: str) -> PdfDrawing:
    """Return a mark's paths ready to be drawn."""
    drawn = [f"{STROKE_WIDTH} w 1 J 1 j"]
    for path in ET.fromstring(f"<g>{mark}</g>"):  # noqa: S314 - our own
        paint = "B" if "fill" in path.attrib else "S"
        drawn.append(f"[{path.get('stroke-dasharray', '')}] 0 d {_path(path.attrib['d'])} {paint}")
    return PdfDrawing("0 0 16 16", "\n".join(drawn))


def referenced(pdf: Any, reference: bytes) -> Any:
    """Return the object of a document that a reference, such as ``b"7 0 R"``, leads to."""
    return pdf.objects[int(reference.split()[0])]


def _font(pdf: Any, outlines: Mapping[str, str]) -> bytes:
    """Add a font of some outlines to a document and return its reference."""
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


class _NotGlyphsError(Exception):
    pass


class _Pen(BasePen):  # type: ignore[misc]
    """Writes a path down as PDF operators."""

    def __init__(self) -> None:
        super().__init__(None)
        self.operators: list[str] = []

    def _write(self, operator: str, *points: tuple[float, float]) -> None:
        numbers = (f"{number:g}" for point in points for number in point)
        self.operators.append(" ".join([*numbers, operator]))

    def _moveTo(self, point: tuple[float, float]) -> None:  # noqa: N802 - fontTools' names
        self._write("m", point)

    def _lineTo(self, point: tuple[float, float]) -> None:  # noqa: N802
        self._write("l", point)

    def _curveToOne(self, *points: tuple[float, float]) -> None:  # noqa: N802
        self._write("c", *points)

    def _closePath(self) -> None:  # noqa: N802
        self._write("h")


@cache
def _path(path: str) -> str:
    pen = _Pen()
    parse_path(path, pen)
    return "\n".join(pen.operators)


def _operators(node: ET.Element, codes: Mapping[str, tuple[int, int]]) -> str:
    """Return a node of MathJax's SVG as operators: glyphs as letters of a font, bars as rectangles."""
    if any(name in node.attrib for name in _NOT_FILLED):
        raise _NotGlyphsError
    if node.tag == "use":
        font, code = codes[node.attrib["href"][1:]]
        drawn = f"BT /Formulas{font} 1000 Tf <{code:02X}> Tj ET"
    elif node.tag == "rect":
        drawn = "{} {} {} {} re f".format(*(node.get(name, "0") for name in ("x", "y", "width", "height")))
    elif node.tag in {"g", "svg"}:
        drawn = "\n".join(_operators(child, codes) for child in node)
    else:
        raise _NotGlyphsError
    before = _window(node) if node.tag == "svg" else ""
    for kind, arguments in _TRANSFORM.findall(node.get("transform", "")):
        first, *rest = map(float, re.split(r"[\s,]+", arguments.strip()))
        if kind not in {"translate", "scale"}:
            raise _NotGlyphsError
        second = (rest or [0.0 if kind == "translate" else first])[0]
        before += (
            f"1 0 0 1 {first:g} {second:g} cm "
            if kind == "translate"
            else f"{first:g} 0 0 {second:g} 0 0 cm "
        )
    return f"q {before}{drawn} Q" if before else drawn


def _window(node: ET.Element) -> str:
    """Return what moves, scales and clips the inside of a nested drawing."""
    x, y, width, height = (float(node.get(name, "0")) for name in ("x", "y", "width", "height"))
    left, top, inner_width, inner_height = map(float, node.attrib["viewBox"].split())
    across, down = width / inner_width, height / inner_height
    return (
        f"{x:g} {y:g} {width:g} {height:g} re W n "
        f"{across:g} 0 0 {down:g} {x - left * across:g} {y - top * down:g} cm "
    )
