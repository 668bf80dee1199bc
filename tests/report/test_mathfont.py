"""Formulas as strings in a face of their own, which draws exactly what MathJax did."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from fontTools.pens.boundsPen import BoundsPen
from fontTools.ttLib import TTFont

from verify.report import mathfont
from verify.report.math import Formula, Formulas
from verify.report.mathfont import Typeface, in_face
from verify.report.signs import BAR, signs

if TYPE_CHECKING:
    from pathlib import Path

LATEX = (
    r"d", r"\frac{q\cdot k}{\sqrt{d_k}}", r"\sum_{i=1}^{d_k} q_i k_i", r"\left(\frac{a}{b}\right)^2_j",
    r"\left[\begin{matrix}a\\b\\c\\d\\e\end{matrix}\right]",
)  # fmt: skip


@pytest.fixture(scope="module")
def drawn() -> list[Formula]:
    """Return some drawn formulas."""
    formulas = Formulas()
    return [formulas.display(latex) for latex in LATEX]


@pytest.fixture(scope="module")
def face(drawn: list[Formula]) -> Typeface:
    """Return the face of them all."""
    return Typeface(drawn)


def test_a_string_draws_its_formula(drawn: list[Formula], face: Typeface) -> None:
    """Set one after the other, its characters put every glyph and bar where it belongs, and end with it."""
    font = TTFont(BytesIO(face.woff2()))
    names, glyphs = font.getBestCmap(), font.getGlyphSet()
    for formula in drawn:
        outlines = dict(formula.glyphs)
        wanted = [(sign, outlines.get(sign.shape.name)) for sign in signs(formula)]
        at, found = 0, []
        for character in face.text(formula):
            pen = BoundsPen(glyphs)
            glyphs[names[ord(character)]].draw(pen)
            if pen.bounds:
                found.append((at, pen.bounds))
            at += glyphs[names[ord(character)]].width
        assert at == pytest.approx(1000 * formula.width, abs=10)
        assert len(found) == len(wanted)
        for (place, bounds), (sign, _) in zip(found, wanted, strict=True):
            assert place == pytest.approx(sign.x, abs=6)
            if sign.shape.name == BAR:
                assert bounds == (0, sign.shape.low, sign.shape.across, sign.shape.high)
            if sign.shape.low is not None:
                assert sign.shape.low <= bounds[1] < bounds[3] <= sign.shape.high


def test_the_face_is_the_same_every_time(drawn: list[Formula], face: Typeface) -> None:
    """Byte for byte: no date, no order that depends on the day."""
    assert Typeface(drawn).woff2() == face.woff2()
    assert [Typeface(drawn).text(one) for one in drawn] == [face.text(one) for one in drawn]


def test_letters_stand_for_themselves(drawn: list[Formula], face: Typeface) -> None:
    """A character is the letter that it draws where one is free, and nothing that an attribute must quote."""
    assert set("qk") <= set("".join(map(face.text, drawn)))
    for formula in drawn:
        assert not set(face.text(formula)) & set(" \"&'<=>`")


def test_strings_and_face_are_kept(
    drawn: list[Formula], face: Typeface, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second page with the same formulas makes none of it again; what no face can have has no string."""
    formulas = [*drawn, Formulas().inline(r"\cancel{x}")]
    first = in_face(formulas)
    assert first == ([*map(face.text, drawn), ""], base64.b64encode(face.woff2()).decode())
    assert list(cache.rglob("drawings/*/*"))
    monkeypatch.setattr(mathfont, "Typeface", None)
    assert in_face(formulas) == first
