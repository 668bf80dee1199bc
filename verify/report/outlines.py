"""Formulas and marks as the operators of a PDF page, with text that is not seen but found and copied.

WeasyPrint would draw their SVG again wherever they stand, which takes it a third of all its time.
"""

import re
from collections.abc import Mapping
from functools import cache
from io import BytesIO
from typing import Any
from xml.etree import ElementTree as ET

import pydyf
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.basePen import BasePen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.svgLib.path import parse_path

from verify.report.formulas import Formula
from verify.report.typeset import SCALE, STROKE_WIDTH

_TEXT_SIZE = 1000 / SCALE  # of the text around a formula, in thousandths of its em
_TRANSFORM = re.compile(r"(\w+)\(([^)]*)\)")
_NOT_FILLED = ("fill", "stroke-width", "stroke-dasharray")
_NAME = "Unseen"
_EM = 1000
_ADVANCE = 500  # of every character, thousandths of an em
_ASCENT, _DESCENT = 750, -250
_EPOCH = 2_082_844_800  # of Unix, in seconds of a font file; no date is written
_GLYPH = 1  # the face's only glyph, which is empty; glyph 0 stands for what a font lacks
_TO_UNICODE = b"""\
/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<0000> <FFFF>
endcodespacerange
1 beginbfrange
<0000> <FFFF> <0000>
endbfrange
endcmap
CMapName currentdict /CMap defineresource pop
end
end"""


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


def outlined(formula: Formula, text: str) -> PdfDrawing | None:
    """Return the formula ready to be drawn, or None where it is more than filled outlines.

    Who copies it gets the ``text``.
    """
    glyphs = {name: _path(path) + " f" for name, path in formula.glyphs}
    try:
        drawn = "\n".join(_operators(child, glyphs) for child in ET.fromstring(f"<g>{formula.body}</g>"))  # noqa: S314
    except _NotAnOutlineError:
        return None
    width = float(formula.view_box.split()[2])
    return PdfDrawing(formula.view_box, unseen(text, width, _TEXT_SIZE) + drawn)


def stroked(mark: str) -> PdfDrawing:
    """Return a mark's paths ready to be drawn."""
    drawn = [f"{STROKE_WIDTH} w 1 J 1 j"]
    for path in ET.fromstring(f"<g>{mark}</g>"):  # noqa: S314 - our own
        paint = "B" if "fill" in path.attrib else "S"
        drawn.append(f"[{path.get('stroke-dasharray', '')}] 0 d {_path(path.attrib['d'])} {paint}")
    return PdfDrawing("0 0 16 16", "\n".join(drawn))


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


def unseen(text: str, width: float, size: float) -> str:
    """Return a text as operators that draw nothing, ``width`` wide on the line at the origin.

    Its ``size`` should be that of the text around it, or a reader takes it for another column. Lengths have
    y downwards. Programs that know ``ActualText`` take the text
    from there, all others from the characters.
    """
    code = text.encode("utf-16-be").hex().upper()
    stretch = 100 * width / (_ADVANCE * size / _EM * max(1, len(code) // 4))
    return (
        f"q /Span <</ActualText <FEFF{code}>>> BDC BT 3 Tr /{_NAME} {size:g} Tf {stretch:.3f} Tz "
        f"1 0 0 -1 0 0 Tm <{code}> Tj ET EMC Q\n"
    )


def add_unseen_face(pdf: Any) -> None:
    """Add the face of unseen text to a document that WeasyPrint has drawn."""
    file = _add(pdf, pydyf.Stream([_face()], compress=True))
    glyphs = _add(pdf, pydyf.Stream([_GLYPH.to_bytes(2) * 0x10000], compress=True))
    characters = _add(pdf, pydyf.Stream([_TO_UNICODE], compress=True))
    descriptor = _add(
        pdf,
        pydyf.Dictionary(
            {
                "Type": "/FontDescriptor",
                "FontName": f"/{_NAME}",
                "Flags": 4,
                "ItalicAngle": 0,
                "FontBBox": pydyf.Array([0, _DESCENT, _ADVANCE, _ASCENT]),
                "Ascent": _ASCENT,
                "Descent": _DESCENT,
                "CapHeight": _ASCENT,
                "StemV": 80,
                "FontFile2": file,
            }
        ),
    )
    below = _add(
        pdf,
        pydyf.Dictionary(
            {
                "Type": "/Font",
                "Subtype": "/CIDFontType2",
                "BaseFont": f"/{_NAME}",
                "DW": _ADVANCE,
                "CIDSystemInfo": pydyf.Dictionary(
                    {
                        "Registry": pydyf.String("Adobe"),
                        "Ordering": pydyf.String("Identity"),
                        "Supplement": 0,
                    }
                ),
                "CIDToGIDMap": glyphs,
                "FontDescriptor": descriptor,
            }
        ),
    )
    face = _add(
        pdf,
        pydyf.Dictionary(
            {
                "Type": "/Font",
                "Subtype": "/Type0",
                "BaseFont": f"/{_NAME}",
                "Encoding": "/Identity-H",
                "DescendantFonts": pydyf.Array([below]),
                "ToUnicode": characters,
            }
        ),
    )
    page = referenced(pdf, pdf.page_references[0])
    referenced(pdf, referenced(pdf, page["Resources"])["Font"])[_NAME] = face


def _add(pdf: Any, made: Any) -> bytes:
    pdf.add_object(made)
    reference: bytes = made.reference
    return reference


def referenced(pdf: Any, reference: bytes) -> Any:
    """Return the object of a document that a reference, such as ``b"7 0 R"``, leads to."""
    return pdf.objects[int(reference.split()[0])]


def _face() -> bytes:
    """Return the file of a face without outlines."""
    names = [".notdef", "unseen"]
    builder = FontBuilder(_EM, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({0x20: names[_GLYPH]})
    builder.setupGlyf({name: TTGlyphPen(None).glyph() for name in names})
    builder.setupHorizontalMetrics(dict.fromkeys(names, (_ADVANCE, 0)))
    builder.setupHorizontalHeader(ascent=_ASCENT, descent=_DESCENT)
    builder.setupPost(keepGlyphNames=False)
    font = builder.font
    font.recalcTimestamp = False
    font["head"].created = font["head"].modified = _EPOCH
    stream = BytesIO()
    font.save(stream)
    return stream.getvalue()
