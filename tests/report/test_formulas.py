"""Formulas are drawn once, to size, and wrong LaTeX never gets through; as MathML and in a PDF."""

import pytest

from verify.errors import RenderError
from verify.report.formulas import Formulas
from verify.report.formulas import characters_in


@pytest.fixture(scope="module")
def formulas() -> Formulas:
    """Return one drawer."""
    return Formulas()


@pytest.mark.parametrize(
    ("latex", "reason"),
    [
        (r"\frac{a", "close brace"),
        (r"a_b_c", "Double subscripts"),
        (r"\nosuchmacro x", r"\\nosuchmacro"),
        (r"\href{javascript:alert(1)}{x}", "href"),
        (r"\text{雪}", "lacks"),
        (r"\boxed{x}", "frame"),
        (r"\begin{array}{c|c} a & b \end{array}", "<line>"),
        (r"\tag{1} x", "numbered"),
        ("a & b", "Misplaced &"),
    ],
)
def test_bad_latex_is_an_error_that_names_it(formulas: Formulas, latex: str, reason: str) -> None:
    """The error shows the LaTeX and what is wrong with it, in one line."""
    with pytest.raises(RenderError, match=reason) as caught:
        formulas.display(latex)
    assert latex in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wide_formulas_are_broken(formulas: Formulas) -> None:
    """A formula wider than its limit becomes several lines that fit."""
    long = " = ".join([r"\sum_{i=1}^{d} \mathbb{E}[q_i^2]\,\mathbb{E}[k_i^2]"] * 3)
    assert formulas.display(long).width > 20
    broken = formulas.display(long, 20)
    assert broken.width <= 20
    assert broken.height > 2 * formulas.display(long).height


@pytest.mark.parametrize(
    ("latex", "wanted"),
    [
        ("d_k", "<msub><mi>d</mi><mi>k</mi></msub>"),
        # Alphabets are Unicode's, with its gaps; a browser sets a letter in italics unless it says no.
        (r"\mathbb{E}\mathbb{R}\mathbf{x}", "<mi>𝔼</mi><mi>ℝ</mi><mi>𝐱</mi>"),
        (r"\mathrm{d}\Gamma", '<mi mathvariant="normal">d</mi><mi mathvariant="normal">Γ</mi>'),
        (r"\mathcal{L}\mathfrak{C}\boldsymbol{h}", "<mi>ℒ</mi><mi>ℭ</mi><mi>𝒉</mi>"),
        # Brackets around what is low need not grow; a face of its own has the root for that.
        (r"\left(x\right)", '<mo stretchy="false">(</mo><mi>x</mi><mo stretchy="false">)</mo>'),
        (r"\left(\frac{a}{b}\right)", "<mrow><mo>(</mo><mfrac><mi>a</mi><mi>b</mi></mfrac><mo>)</mo></mrow>"),
        (r"\sqrt{d_k}", '<msqrt class="low"><msub><mi>d</mi><mi>k</mi></msub></msqrt>'),
        (r"\sqrt{d^2}", "<msqrt><msup><mi>d</mi><mn>2</mn></msup></msqrt>"),
        # A sign, unlike an operation, stands close to what it belongs to.
        ("-x", '<mo form="prefix">−</mo><mi>x</mi>'),
        ("a=-x", '<mi>a</mi><mo>=</mo><mo form="prefix">−</mo><mi>x</mi>'),
        ("(a)-x", '<mo stretchy="false">(</mo><mi>a</mi><mo stretchy="false">)</mo><mo>−</mo><mi>x</mi>'),
        ("a/b", '<mi>a</mi><mo lspace="0" rspace="0">/</mo><mi>b</mi>'),
        ("2^{a-}", '<msup><mn>2</mn><mrow><mi>a</mi><mo lspace="0" rspace="0">−</mo></mrow></msup>'),
        (r"\lvert x", '<mo stretchy="false" form="prefix">|</mo><mi>x</mi>'),
        (r"x\rvert", '<mi>x</mi><mo stretchy="false" form="postfix">|</mo>'),
        (r"2\ln", '<mn>2</mn><mspace width="0.167em"/><mi>ln</mi>'),
        (r"\ln x", '<mi>ln</mi><mo lspace="0" rspace="0.167em">\N{FUNCTION APPLICATION}</mo><mi>x</mi>'),
        (r"\ln(", '<mi>ln</mi><mo>\N{FUNCTION APPLICATION}</mo><mo stretchy="false">(</mo>'),
        (r"\mathinner{}x", "<mrow/><mi>x</mi>"),
        (r"\hat{c}", '<mover accent="true"><mi>c</mi><mo stretchy="false">ˆ</mo></mover>'),
        ("a<b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
    ],
)
def test_mathml_is_what_browsers_draw(formulas: Formulas, latex: str, wanted: str) -> None:
    """Spaces, alphabets and heights that only MathJax would know of are in MathML Core's terms."""
    assert formulas.inline(latex).mathml == f"<math>{wanted}</math>"


def test_what_a_page_is_drawn_with() -> None:
    """Letters as browsers set them, and the sign of a root, which no text holds; nothing else of a page."""
    page = (
        '<p>Z<math alttext="Q"><msqrt><mi>d</mi></msqrt><mo>&lt;</mo><mi>ln</mi><mi>\u03c3</mi></math>Y</p>'
    )
    assert set(characters_in(page)) == set("√d𝑑<lnσ𝜎")
