"""LaTeX, and texts in other languages: what is escaped, spoken and printed plainly."""

import html
import re
from xml.etree import ElementTree as ET

import pytest
from docutils.core import publish_doctree
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

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
    pieces,
    prose_for_markdown,
    prose_for_tex,
)
from verify.text.latex import in_lines, plain, slashed, spoken
from verify.text.speech import in_words, prose_in_words


@pytest.mark.parametrize(
    ("prose", "expected"),
    [
        ("no formula", [("no formula", False)]),
        ("so $d_k$ it is", [("so ", False), ("d_k", True), (" it is", False)]),
        (r"costs 5\$", [("costs 5$", False)]),
        ("costs 5$ alone", [("costs 5$ alone", False)]),
        (r"$\text{5\$}$", [(r"\text{5\$}", True)]),
        ("", []),
    ],
)
def test_prose_is_split(prose: str, expected: list[tuple[str, bool]]) -> None:
    """Formulas stand between dollar signs; a lone or escaped one is a dollar."""
    assert [tuple(piece) for piece in pieces(prose)] == expected


@pytest.mark.parametrize(
    ("latex", "words"),
    [
        (r"\operatorname{Var}\left(q \cdot k\right) = d_{k}", "Var(q·k) = d_k"),
        (r"\frac{1}{\sqrt{d_k}}", "1/√d_k"),
        (r"\frac{1}{2 \sqrt{d_{k}}}", "1/(2 √d_k)"),
        (r"\frac{1 + \frac{a}{\sqrt{2 \sqrt{b_{1}}}}}{c}", "(1 + a/(√(2 √b_1)))/c"),
        (r"\le \tfrac12 + \frac1{2\sigma}", "≤ 1/2 + 1/(2σ)"),
        (r"\tfrac{2}{N(N-1)}\left[1 + \frac{a}{b}\right]", "2/(N(N−1))[1 + a/b]"),
        (r"\sqrt{a + b} \ln n", "√(a + b) ln n"),
        (r"\sigma_q^2\mu_k", "σ_q²μ_k"),
        (r"|x|^{(d_k-1)/2} K_{(d_k-1)/2}(x)", "|x|^((d_k−1)/2) K_((d_k−1)/2)(x)"),
        (r"\hat V, \hat{V}", "V\u0302, V\u0302"),
        (r"\mathbb{E}\max_j p_j \times \|P^{\mathsf{T}}\|", "E max_j p_j×‖Pᵀ‖"),
        (r"\left(1 + t^{2}\right)^{- \frac{d}{2}}", "(1 + t²)^(− d/2)"),
        (r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "a = b; c = d"),
        (r"\sigma^2 \leq \kappa_q", "σ² ≤ κ_q"),
        (r"\left(\hat s - s\right)^2", "(ŝ − s)²"),
        (r"\frac{Q K^{\mathsf T}}{\sqrt{d_k}} V", "(Q Kᵀ)/√d_k V"),
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


@pytest.mark.parametrize(
    ("typed", "set_as"),
    [
        ("every head's scores, the keys' mean", "every head’s scores, the keys’ mean"),
        ("it doesn't, Xavier's (and SciPy's)", "it doesn’t, Xavier’s (and SciPy’s)"),
        ("the scores'", "the scores’"),
        ("o' - o, tanh' = 1, s' and k'", "o' - o, tanh' = 1, s' and k'"),
        ("'median'", "'median'"),
        ("the option 'bias' and state_dict['weights']", "the option 'bias' and state_dict['weights']"),
        ("the GPUs' share", "the GPUs’ share"),
        ("f'd, w't", "f'd, w't"),
        ("the slope $f's$ of $k'$ is the key's", "the slope f's of k' is the key’s"),
    ],
)
def test_apostrophes_are_set_and_primes_stay(typed: str, set_as: str) -> None:
    """What a possessive or a contraction has is curled; what a formula written in words has is not."""
    assert plain(typed) == set_as


def test_long_formulas_break_at_relations_then_signs() -> None:
    """Lines start with the relation or sign at which they broke; brackets stay whole."""
    assert in_lines("a = b + c", len, 20) == "a = b + c"
    broken = in_lines("a = bbbb + (cc + dd) - eeee = f", len, 16)
    assert broken == (
        r"\begin{aligned} a  & = bbbb  \\  & \qquad {} + (cc + dd)  "
        r"\\  & \qquad {} - eeee  \\  & = f \end{aligned}"
    )


def test_a_formula_without_a_place_to_break_stays() -> None:
    """No break is invented inside brackets, and an aligned formula is left alone."""
    assert in_lines(r"\left(a + b = c\right)", len, 5) == r"\left(a + b = c\right)"
    aligned = r"\begin{aligned} a &= b \\ c &= d \end{aligned}"
    assert in_lines(aligned, len, 5) == aligned


def test_a_wide_fraction_breaks_above_its_bar() -> None:
    """What is too wide above or below a bar gets lines of its own there; beside brackets it is left alone."""
    above = r"\begin{aligned} & aaaaaaaaaa  \\ & \qquad {} + bbbbbbbbbb \end{aligned}"
    fraction = r"\frac{aaaaaaaaaa + bbbbbbbbbb}{cc}"
    broken = in_lines(fraction, _drawn_width, 14)
    assert broken == rf"\frac{{{above}}}{{cc}}"
    assert in_lines(f"x = {fraction}", _drawn_width, 14) == f"x = {broken}"
    for kept in (r"\left[\frac{aaaaaaaaaa + bbbbbbbbbb}{cc}\right]", r"\frac{aaaaaaaaaa + bbbbbbbbb}2"):
        assert in_lines(kept, _drawn_width, 14) == kept


def _drawn_width(latex: str) -> float:
    """Return the letters of the widest line."""
    parts = re.split(r"\\\\|\}\{", re.sub(r"\\qquad", "", latex))
    return max(len(re.sub(r"\\[a-z]+|\W", "", part)) for part in parts)


@pytest.mark.parametrize(
    ("prose", "line"),
    [
        (r"scale $\frac{1}{\sqrt{d_{k}}}$", r"scale $1/\sqrt{d_{k}}$"),
        (r"$\frac{a + b}{2}$ of it", r"$(a + b)/2$ of it"),
        (r"no formula, \$5", r"no formula, \$5"),
    ],
)
def test_small_print_has_slashes(prose: str, line: str) -> None:
    """Fractions stand on one line; what is no formula stays as it is."""
    assert slashed(prose) == line


@pytest.mark.parametrize(
    ("latex", "words"),
    [
        (r"d_{k}", "d sub k"),
        (r"\sqrt{d_k}", "square root of d sub k"),
        (r"x^{3} + y^5", "x cubed plus y to the power 5"),
        (r"\mathbb{E}\left[q_{i}^{2}\right]", "E of q sub i squared"),
        (
            r"\operatorname{Var}\left(q \cdot k\right) = d_{k}",
            "variance of open paren q dot k close paren equals d sub k",
        ),
        (r"\frac23p_j^2", "2 over 3 times p sub j squared"),
        (r"2 \ln{\left(16 \right)}", "2 log of 16"),
        (r"p_{1} \leq 0.5", "p sub 1 is at most 0.5"),
        (r"QK^{\mathsf T}", "capital Q capital K transposed"),
        (r"k''_{i} \bar{q}", "k prime prime sub i q bar"),
        (r"S_{1,2}", "capital S sub 1, 2"),
        (r"\ln|x|", "log of absolute value of x"),
        (r"\|J\|_F^2", "norm of capital J, end norm, sub capital F squared"),
        (r"c \in \left\{- a, a\right\}", "c in open brace minus a, a close brace"),
        (r"\max_j s_j \approx \max(s)", "the maximum over j of s sub j is about maximum of s"),
        (r"\lim_{\tau \to 0^+} x", "the limit as tau goes to 0 from above of x"),
        (r"\int\limits_{0}^{\infty} t\, dt", "the integral from 0 to infinity of t d t"),
        (r"\sqrt[12]{71}", "root of order 12 of 71"),
        (r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "a equals b; c equals d"),
        (r"\operatorname{unheard}(x)", "unheard of x"),
        (r"|x|^2", "absolute value of x squared"),
        (r"\frac12 x", "1 over 2 times x"),
        (r"\frac{\sigma^2}{2}(1-x)", "sigma squared over 2 times open paren 1 minus x close paren"),
        (r"\frac12, x", "1 over 2, x"),
        (r"\frac12 + x", "1 over 2 plus x"),
        (r"\frac{d}{d x} f", "the fraction d over d x, end fraction, f"),
        (r"\frac{d}{d x} \frac{1}{x}", "the fraction d over d x, end fraction, 1 over x"),
        (r"\int \frac{u}{v}\, dv", "the integral of u over v d v"),
        (r"\text{if }x>0", "if x is greater than 0"),
        (r"\frac12 \text{ if } x", "1 over 2 if x"),
        (r"a, \sum_i x", "a, the sum over i of x"),
        (r"\text{softmax}(x)", "softmax of x"),
    ],
)
def test_formulas_of_the_catalogue(latex: str, words: str) -> None:
    """What the report prints is said as one would read it to a colleague."""
    assert in_words(latex) == words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\mathbb{E}\left[\left(q \cdot k\right)^{2}\right]", r"\mathbb{E}\left[q \cdot k\right]^{2}"),
        (r"\mathbb{E}\left[q_i\right]^{2}", r"\mathbb{E}\left[q_i^{2}\right]"),
        (r"\sqrt{1 - \rho^2} e", r"\sqrt{1 - \rho^2 e}"),
        (r"\frac{1}{x + 1} - 1", r"\frac{1}{x + 1 - 1}"),
        (r"e^{- x t}", r"e^{- x} t"),
        (r"x_{i+1}", r"x_{i}+1"),
        (r"2^{\frac{d}{2}}", r"\frac{2^{d}}{2}"),
        (r"\left|x y\right| z", r"\left|x\right| y z"),
        (r"\frac{a}{b c}", r"\frac{a}{b} c"),
        ("q k", "Q K"),
        (r"\|J\|_2", r"\|J_2\|"),
        (r"\|J\|^2", r"\|J^2\|"),
        (r"\frac12 x", r"\frac{1}{2 x}"),
    ],
)
def test_different_formulas_sound_different(one: str, other: str) -> None:
    """Where a root, power, index or bracket ends can be heard."""
    assert in_words(one) != in_words(other)


@given(
    st.lists(
        st.sampled_from(
            [
                *"{}[]()|_^'&,+-=/aE1 ",
                "23",
                *(
                    rf"\{name}"
                    for name in (
                        "frac",
                        "sqrt",
                        "left",
                        "right",
                        "sum",
                        "max",
                        "bar",
                        "|",
                        "{",
                        "}",
                        "\\",
                        "ln",
                        "lVert",
                        "mathbb{E}",
                        "operatorname{Var}",
                        "begin{aligned}",
                        "substack",
                        "nosuchmacro",
                        ",",
                    )
                ),
            ]
        ),
        max_size=25,
    )
)
def test_anything_can_be_put_in_words(tokens: list[str]) -> None:
    """Broken LaTeX is said somehow, too: without an error, without end, without backslashes."""
    words = in_words("".join(tokens))
    assert "\\" not in words
    assert len(words) < 60 * (len(tokens) + 1)


def test_prose_keeps_its_text() -> None:
    """Only formulas change."""
    assert prose_in_words("It stays at $d_k$, as derived.") == "It stays at d sub k, as derived."


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
