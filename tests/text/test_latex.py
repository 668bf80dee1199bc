"""LaTeX, and texts in other languages: what is escaped, spoken and printed plainly."""

import html
import re
from xml.etree import ElementTree as ET

import pytest
import sympy
from docutils.core import publish_doctree
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from sympy.parsing.sympy_parser import implicit_multiplication, parse_expr, standard_transformations

from tests.strategies import examples
from verify.text.escapes import (
    CONTROLS,
    for_html,
    for_markdown,
    for_rst,
    for_terminal,
    for_tex,
    for_xml,
    one_line,
    prose_for_markdown,
    prose_for_tex,
)
from verify.text.latex import in_lines, plain, spoken


@pytest.mark.parametrize(
    ("latex", "words"),
    [
        (r"\operatorname{Var}\left(q \cdot k\right) = d_{k}", "Var(q·k) = d_k"),
        (r"\frac{1}{2 \sqrt{d_{k}}}", "1/(2 √d_k)"),
        (r"\frac{1 + \frac{a}{\sqrt{2 \sqrt{b_{1}}}}}{c}", "(1 + a/(√(2 √b_1)))/c"),
        (r"\le \tfrac12 + \frac1{2\sigma}", "≤ 1/2 + 1/(2σ)"),
        (r"\tfrac{2}{N(N-1)}\left[1 + \frac{a}{b}\right]", "2/(N(N−1))[1 + a/b]"),
        (r"\sigma_q^2\mu_k", "σ_q²μ_k"),
        (r"|x|^{(d_k-1)/2} K_{(d_k-1)/2}(x)", "|x|^((d_k−1)/2) K_((d_k−1)/2)(x)"),
        (r"\hat V, \hat{V}", "V\u0302, V\u0302"),
        (r"\mathbb{E}\max_j p_j \times \|P^{\mathsf{T}}\|", "E max_j p_j×‖Pᵀ‖"),
        (r"\left(1 + t^{2}\right)^{- \frac{d}{2}}", "(1 + t²)^(− d/2)"),
        (r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "a = b; c = d"),
        (r"\left(\hat s - s\right)^2", "(ŝ − s)²"),
        (r"\hat q\cdot\hat k \ne \bar s", "q\u0302·k\u0302 ≠ s\u0304"),
        (r"\frac23p_j \subset \ell", "2/3 p_j ⊂ ℓ"),
        (r"\sum_{k=1}^{2} c\tanh x", "sum_(k=1)^2 c tanh x"),
        (r"\left(\sum_{i=1}^{d_{k}} q_i\right)^{2}", "(sum_(i=1)^d_k q_i)²"),
        (r"\frac{\sinh{\left(x \right)}}{\cosh{\left(x \right)} + 1}", "sinh(x)/(cosh(x) + 1)"),
        (r"\frac{\left(\frac{\ln{\left(4 \right)}}{10} + 1\right)^{2}}{\sqrt{d_k}}", "(ln(4)/10 + 1)²/√d_k"),
    ],
)
def test_formulas_can_be_read_out(latex: str, words: str) -> None:
    """What stands in for a formula's picture are words and signs, not LaTeX."""
    assert spoken(latex) == words


def _difference(left: sympy.Expr, right: sympy.Expr, **options: bool) -> sympy.Expr:
    return sympy.Add(left, sympy.Mul(-1, right, **options), **options)


def _quotient(left: sympy.Expr, right: sympy.Expr, **options: bool) -> sympy.Expr:
    return sympy.Mul(left, sympy.Pow(right, -1, **options), **options)


LETTERS = st.sampled_from([*map(sympy.Symbol, "abcn"), *map(sympy.Integer, (1, 2, 3, 5))])
EXPRESSIONS = st.recursive(
    LETTERS,
    lambda inner: st.builds(
        lambda kind, left, right: kind(left, right, evaluate=False),
        st.sampled_from([sympy.Add, sympy.Mul, sympy.Pow, _difference, _quotient]),
        inner,
        inner,
    ),
    max_leaves=6,
)


@examples(150)
@given(EXPRESSIONS)
def test_a_formula_on_one_line_has_its_value(expression: sympy.Expr) -> None:
    """Wherever fractions stand: read as one reads, from left to right, it is the same number."""
    text = spoken(sympy.latex(expression))
    signs = {"−": "-", "²": "**2", "³": "**3", "^": "**", "·": "*"}
    for sign, python in signs.items():
        text = text.replace(sign, python)
    at = {"a": 1.7, "b": 2.3, "c": 0.6, "n": 4.1}
    wanted = complex(expression.evalf(20, subs=at))
    assume(1e-6 < abs(wanted) < 1e6)
    read = parse_expr(text, transformations=(*standard_transformations, implicit_multiplication))
    assert complex(read.evalf(20, subs=at)) == pytest.approx(wanted, rel=1e-6), text


@pytest.mark.parametrize(
    ("typed", "set_as"),
    [
        ("every head's scores, the keys' mean", "every head’s scores, the keys’ mean"),
        ("it doesn't, Xavier's (and SciPy's)", "it doesn’t, Xavier’s (and SciPy’s)"),
        ("o' - o, tanh' = 1, s' and k'", "o' - o, tanh' = 1, s' and k'"),
        ("'median'", "'median'"),
        ("the option 'bias' and state_dict['weights']", "the option 'bias' and state_dict['weights']"),
        ("f'd, w't", "f'd, w't"),
        ("the slope $f's$ of $k'$ is the key's", "the slope f's of k' is the key’s"),
    ],
)
def test_apostrophes_are_set_and_primes_stay(typed: str, set_as: str) -> None:
    """What a possessive or a contraction has is curled; what a formula written in words has is not."""
    assert plain(typed) == set_as


def test_long_formulas_break_at_relations_then_signs() -> None:
    """Lines begin with the relation, the sign or the stroke at which they broke."""
    assert in_lines("a = b + c", len, 20) == "a = b + c"
    assert in_lines("a = bbbb + (cc + dd) = f", len, 20) == (
        r"\begin{aligned} & a \\ & \quad {} = bbbb + (cc + dd) \\ & \quad {} = f \end{aligned}"
    )
    aligned = r"\begin{aligned} a &= b \\ c &= d \end{aligned}"
    assert in_lines(aligned, len, 5) == aligned


TEXTS = st.text(st.characters(codec="utf-8")) | st.text(
    "<>&\"'`*_[]()|~$#\\@.:/-+!{}^% \n\t\x1b\u202eawh9", max_size=20
)
MARKDOWN = MarkdownIt("commonmark").enable("table")


@examples(80)
@given(TEXTS)
def test_a_terminal_only_shows_it(text: str) -> None:
    """No control character is left but line ends; other text is as it was."""
    shown = for_terminal(text)
    assert not CONTROLS.search(shown.replace("\n", "").replace("\t", ""))
    assert shown == text or CONTROLS.search(text.replace("\n", "").replace("\t", ""))
    assert "\n" not in one_line(text)


@examples(80)
@given(TEXTS)
def test_html_and_xml_hold_it_as_text(text: str) -> None:
    """An XML reader finds no elements, and the text that went in."""
    node = ET.fromstring(f'<a b="{for_html(text)}">{for_html(text)}</a>')  # noqa: S314 - our own
    assert len(node) == 0
    assert (node.text or "") == for_xml(text)
    assert html.unescape(for_html(text)) == for_xml(text)


@examples(100)
@given(TEXTS)
def test_markdown_holds_it_as_text(text: str) -> None:
    """One paragraph of text alone, with all its words."""
    tokens = MARKDOWN.parse(f"x {for_markdown(text)} x")
    inline = [inner for token in tokens for inner in token.children or ()]
    assert {token.type for token in inline} <= {"text", "text_special"}
    shown = "".join(token.content for token in inline)
    assert shown.split() == ["x", *one_line(text).split(), "x"]


@examples(100)
@given(TEXTS)
def test_restructured_text_holds_it_as_text(text: str) -> None:
    """One paragraph of text alone, with all its words."""
    tree = publish_doctree(f"x {for_rst(text)} x", settings_overrides={"report_level": 5})
    assert [node.tagname for node in tree.findall()] == ["document", "paragraph", "#text"]
    assert tree.astext().split() == ["x", *one_line(text).split(), "x"]


@examples(100)
@given(TEXTS)
def test_latex_holds_no_command_but_signs(text: str) -> None:
    """Of commands only those that stand for one sign; braces and dollars pair; one line."""
    written = for_tex(text)
    commands = set(re.findall(r"\\(?:[A-Za-z]+|.)", written))
    signs = {"textbackslash", "textbraceleft", "textbraceright", "textasciitilde", "textasciicircum", "ldots"}
    signs |= {"times", "pm", "le", "ge", "cdot", "surd", "infty", "approx", *"&%$#_,"}
    assert commands <= {f"\\{sign}" for sign in signs}
    assert written.count("{") == written.count("}")
    assert len(re.findall(r"(?<!\\)\$", written)) % 2 == 0
    assert len(written.splitlines()) <= 1


def test_formulas_stay_formulas() -> None:
    """In TeX with braces that BibTeX can count; in Markdown without tags and links."""
    assert prose_for_tex(r"so 5% of $\left\{a_b\right\}$") == r"so 5\% of $\left\lbrace a_b\right\rbrace $"
    assert prose_for_markdown("a_b $a<b$ $[a](b)$") == r"a\_b $a\lt b$ $[a] (b)$"
