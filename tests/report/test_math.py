"""Formulas are drawn once, to size, and wrong LaTeX never gets through."""

import re
from xml.etree import ElementTree as ET

import pytest

from verify.errors import RenderError
from verify.report.math import Formulas, glyph_definitions, typeset


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


def test_a_glyph_is_moved_without_a_group(formulas: Formulas) -> None:
    """A glyph alone carries its place itself; a page has thousands of them."""
    body = formulas.inline("a_b c").body
    assert re.findall(r'<use href="[^"]*" transform="translate', body)
    assert not re.search(r"<g [^>]*><use [^>]*/></g>", body)


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
