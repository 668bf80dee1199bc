"""Text under the formulas of a PDF: nothing is seen of it, but it can be found, selected and copied."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pydyf
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

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
    descriptor = _add(pdf, pydyf.Dictionary({
        "Type": "/FontDescriptor", "FontName": f"/{_NAME}", "Flags": 4, "ItalicAngle": 0,
        "FontBBox": pydyf.Array([0, _DESCENT, _ADVANCE, _ASCENT]), "Ascent": _ASCENT, "Descent": _DESCENT,
        "CapHeight": _ASCENT,
        "StemV": 80, "FontFile2": file,
    }))  # fmt: skip
    below = _add(pdf, pydyf.Dictionary({
        "Type": "/Font", "Subtype": "/CIDFontType2", "BaseFont": f"/{_NAME}", "DW": _ADVANCE,
        "CIDSystemInfo": pydyf.Dictionary({
            "Registry": pydyf.String("Adobe"), "Ordering": pydyf.String("Identity"), "Supplement": 0,
        }),
        "CIDToGIDMap": glyphs, "FontDescriptor": descriptor,
    }))  # fmt: skip
    face = _add(pdf, pydyf.Dictionary({
        "Type": "/Font", "Subtype": "/Type0", "BaseFont": f"/{_NAME}", "Encoding": "/Identity-H",
        "DescendantFonts": pydyf.Array([below]), "ToUnicode": characters,
    }))  # fmt: skip
    page = _object(pdf, pdf.page_references[0])
    _object(pdf, _object(pdf, page["Resources"])["Font"])[_NAME] = face


def _add(pdf: Any, made: Any) -> bytes:
    pdf.add_object(made)
    reference: bytes = made.reference
    return reference


def _object(pdf: Any, reference: bytes) -> Any:
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
