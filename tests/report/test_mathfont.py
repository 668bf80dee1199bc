"""Formulas as text in a face of their own, which looks exactly as their outlines do."""

from __future__ import annotations

import re
from io import BytesIO
from xml.etree import ElementTree as ET

import pytest
from fontTools.pens.boundsPen import BoundsPen
from fontTools.svgLib.path import parse_path
from fontTools.ttLib import TTFont

from verify.report.math import Formulas
from verify.report.mathfont import Typeface

LATEX = (r"d", r"\frac{q\cdot k}{\sqrt{d_k}}", r"\sum_{i=1}^{d_k} q_i k_i", r"\left(\frac{a}{b}\right)^2_j")


@pytest.fixture(scope="module")
def formulas() -> Formulas:
    """Return one drawer."""
    return Formulas()


def signs(markup: str) -> list[tuple[str, int, int, int]]:
    """Return every character of a formula's text with its size and place, as a browser would put it."""
    found = []
    for text in ET.fromstring(f"<g>{markup}</g>").iter("text"):  # noqa: S314 - our own
        across = [int(x) for x in text.attrib["x"].split()]
        down = [int(y) for y in text.get("y", "0").split()]
        down += down[-1:] * (len(across) - len(down))
        size = int(text.get("font-size", "1000"))
        found += [(sign, size, x, y) for sign, x, y in zip(text.text or "", across, down, strict=True)]
    return found


@pytest.mark.parametrize("latex", LATEX)
def test_every_glyph_is_a_character_at_its_place(latex: str, formulas: Formulas) -> None:
    """As many as are drawn, and as far apart: the drawing's glyphs, moved as its groups say."""
    formula = formulas.display(latex)
    markup, outlined = Typeface().text(formula)
    assert not outlined
    assert len(signs(markup)) == formula.body.count("<use ")
    assert markup.count("M") == formula.body.count("<rect ")
    left, top, width, height = (float(number) for number in formula.view_box.split())
    for _, size, x, y in signs(markup):
        assert left <= x <= left + width
        assert top <= y <= top + height + 1
        assert size in {1000, 707, 500}


def test_places_add_up_through_groups(formulas: Formulas) -> None:
    """An index of an index is small and low: its place is that of its group within those around it."""
    formula = formulas.inline("a_{b_c}")
    (a, _, *first), (b, small, *second), (c, smallest, *third) = sorted(
        signs(Typeface().text(formula)[0]), key=lambda sign: sign[2]
    )
    assert len({a, b, c}) == 3
    assert (small, smallest) == (707, 500)
    assert first == [0, 0]
    assert first[1] < second[1] < third[1]
    assert first[0] < second[0] < third[0]


def test_the_face_has_the_outlines(formulas: Formulas) -> None:
    """Each character's shape is that of its glyph, in thousandths of an em; each file is the same."""
    formula, face = formulas.display(LATEX[2]), Typeface()
    shown = {sign for sign, *_ in signs(face.text(formula)[0])}
    content = face.woff2()
    assert face.woff2() == content
    font = TTFont(BytesIO(content))
    assert {chr(code) for code in font.getBestCmap()} == shown
    drawn = font.getGlyphSet()
    for name, outline in formula.glyphs:
        wanted, found = BoundsPen(None), BoundsPen(drawn)
        parse_path(outline, wanted)
        drawn[name].draw(found)
        assert found.bounds == pytest.approx(wanted.bounds, abs=1)


def test_what_is_stretched_is_drawn(formulas: Formulas) -> None:
    """A bracket of several pieces keeps their outlines, which it names; all else is text."""
    tall = formulas.display(r"\left(\begin{matrix}a\\b\\c\\d\\e\end{matrix}\right)")
    markup, outlined = Typeface().text(tall)
    assert "<svg" in tall.body
    assert "<svg" in markup
    assert outlined
    assert outlined == set(re.findall('href="#([^"]+)"', markup))
    assert len(signs(markup)) + markup.count("<use ") == tall.body.count("<use ")
