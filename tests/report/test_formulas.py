"""Formulas are drawn once, to size, and wrong LaTeX never gets through; as a face and in a PDF."""

from __future__ import annotations

import base64
import re
from io import BytesIO
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from fontTools.pens.boundsPen import BoundsPen
from fontTools.ttLib import TTFont

from verify.errors import RenderError
from verify.report import mathfont
from verify.report.formulas import Formula, Formulas, glyph_definitions, typeset
from verify.report.mathfont import BAR, Typeface, in_face, signs
from verify.report.outlines import outlined, stroked
from verify.report.typeset import MARKS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def formulas() -> Formulas:
    """Return one drawer."""
    return Formulas()


def test_sizes_are_in_em(formulas: Formulas) -> None:
    """A digit is half an em wide; a subscript hangs below the line, a bare digit does not."""
    assert formulas.inline("0").width == pytest.approx(0.5)
    assert formulas.inline("d_k").depth > 0.1
    assert formulas.inline("1").depth == pytest.approx(0, abs=0.03)


def test_each_formula_is_drawn_once(formulas: Formulas) -> None:
    """Asking again gives the same object; display style is another drawing."""
    assert formulas.inline(r"\sum_i x_i") is formulas.inline(r"\sum_i x_i")
    assert formulas.display(r"\sum_i x_i").height > formulas.inline(r"\sum_i x_i").height


@pytest.mark.parametrize(
    ("latex", "reason"),
    [
        (r"\frac{a", "close brace"),
        (r"a_b_c", "Double subscripts"),
        (r"\nosuchmacro x", r"\\nosuchmacro"),
        (r"\unicode{x2603}", "lacks"),
        (r"\href{javascript:alert(1)}{x}", "<a>"),
        (r"\tag{1} x", "numbered"),
    ],
)
def test_bad_latex_is_an_error_that_names_it(formulas: Formulas, latex: str, reason: str) -> None:
    """The error shows the LaTeX and what is wrong with it, in one line."""
    with pytest.raises(RenderError, match=reason) as caught:
        formulas.display(latex)
    assert latex in str(caught.value)
    assert "\n" not in str(caught.value)


def test_drawing_is_plain_svg(formulas: Formulas) -> None:
    """What is drawn is well-formed, refers to its own glyphs alone, and carries no LaTeX or links."""
    formula = formulas.display(r"\overbrace{\left(\frac{a}{b}\right)^2}^{n} = \sqrt{\frac{\frac{1}{2}}{3}}")
    defined = glyph_definitions([formula], "")
    root = ET.fromstring(f"<svg>{defined}{formula.body}</svg>")  # noqa: S314
    ids = {node.attrib["id"] for node in root.iter("path") if "id" in node.attrib}
    assert {node.attrib["href"][1:] for node in root.iter("use")} == ids
    assert "data-latex" not in formula.body
    assert {node.tag for node in root.iter()} <= {"svg", "g", "path", "use", "rect"}


def test_wide_formulas_are_broken(formulas: Formulas) -> None:
    """A formula wider than its limit becomes several lines that fit."""
    long = " = ".join([r"\sum_{i=1}^{d} \mathbb{E}[q_i^2]\,\mathbb{E}[k_i^2]"] * 3)
    assert formulas.display(long).width > 20
    broken = formulas.display(long, 20)
    assert broken.width <= 20
    assert broken.height > 2 * formulas.display(long).height


def test_many_at_once_are_what_each_is_by_itself() -> None:
    """What MathJax cannot read costs the others nothing; its error comes when it is drawn."""
    wanted = [("d_k", False), (r"\frac{1}{d}", True), (r"\frac{1}{d}", False), (r"\frac{a", True)]
    made = typeset(wanted)
    assert set(wanted[:3]) <= set(made)
    ahead, alone = Formulas(made), Formulas()
    assert ahead.inline("d_k") == alone.inline("d_k")
    assert ahead.display(r"\frac{1}{d}") == alone.display(r"\frac{1}{d}") != alone.inline(r"\frac{1}{d}")
    assert ahead.mathml("d_k") == alone.mathml("d_k")
    with pytest.raises(RenderError, match="Missing close brace"):
        ahead.display(r"\frac{a")


def test_mathml_says_the_same_of_a_formula_wherever_it_stands() -> None:
    """In a line or on one of its own, it means the same."""
    latex = r"\sum_{i=1}^{d} q_i k_i"
    displayed, inline = Formulas(), Formulas()
    displayed.display(latex)
    assert displayed.mathml(latex) == inline.mathml(latex)
    assert "display" not in inline.mathml(latex)


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


class Stream:
    """Notes what is drawn."""

    def __init__(self) -> None:
        self.stream: list[bytes] = []
        self.moved: dict[str, float] = {}
        self.colours: list[tuple[str, bool]] = []

    def set_color(self, colour: str, *, stroke: bool = False) -> None:
        """Note the colour."""
        self.colours.append((colour, stroke))

    def transform(self, **moved: float) -> None:
        """Note the transformation."""
        self.moved = moved


def test_fills_its_box_in_the_colour_of_the_text(formulas: Formulas) -> None:
    """The drawing is scaled to the width given and starts at the top left corner of its box."""
    formula = formulas.display(r"\frac{a}{b}")
    drawn, stream = outlined(formula, "x"), Stream()
    assert drawn is not None
    left, top, width, height = (float(number) for number in formula.view_box.split())
    assert drawn.get_intrinsic_size(1, 1)[2] == pytest.approx(width / height)
    drawn.draw(stream, 2 * width, 2 * height, {"color": "ink"})
    assert stream.moved == pytest.approx({"a": 2, "d": 2, "e": -2 * left, "f": -2 * top})
    assert stream.colours == [("ink", False), ("ink", True)]


@pytest.mark.parametrize(
    "latex", [r"\overbrace{a + b + c + d}^n", r"\sqrt{\frac{a}{b}}", r"\left(\sum_{i=1}^d q_i k_i\right)^2"]
)
def test_operators_are_balanced(formulas: Formulas, latex: str) -> None:
    """Every saved state is restored, every glyph and bar is filled, and nothing else is drawn."""
    formula = formulas.display(latex)
    drawn, stream = outlined(formula, "x"), Stream()
    assert drawn is not None
    drawn.draw(stream, 1, 1, {"color": "ink"})
    text, _, outlines = b"".join(stream.stream).decode().partition("EMC Q\n")
    assert text.startswith("q /Span")
    words = outlines.split()
    operators = [word for word in words if not re.fullmatch(r"-?[\d.]+(e-?\d+)?", word)]
    assert set(operators) <= {"q", "Q", "cm", "m", "l", "c", "h", "f", "re", "W", "n"}
    assert operators.count("q") == operators.count("Q")
    assert operators.count("f") == formula.body.count("<use") + formula.body.count("<rect")


@pytest.mark.parametrize("latex", [r"\boxed{x}", r"\cancel{x}", r"\begin{array}{c|c} a & b \end{array}"])
def test_more_than_outlines_is_left_to_weasyprint(formulas: Formulas, latex: str) -> None:
    """Strokes are not drawn here."""
    assert outlined(formulas.display(latex), "x") is None


@pytest.mark.parametrize("name", MARKS)
def test_marks_are_stroked(name: str) -> None:
    """Every path of a mark is drawn; only one has a half that is filled."""
    stream = Stream()
    stroked(MARKS[name]).draw(stream, 8, 8, {"color": "ink"})
    words = b"".join(stream.stream).decode().split()
    assert words.count("S") + words.count("B") == MARKS[name].count("<path")
    assert words.count("B") == (name == "half")
