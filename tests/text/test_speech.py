"""Formulas are spoken in words, without ambiguity where brackets or fractions end, whatever the LaTeX."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.text.speech import in_words, prose_in_words


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
)  # fmt: skip
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


@given(st.lists(st.sampled_from([*"{}[]()|_^'&,+-=/aE1 ", "23", *(
    rf"\{name}" for name in (
        "frac", "sqrt", "left", "right", "sum", "max", "bar", "|", "{", "}", "\\", "ln", "lVert", "mathbb{E}",
        "operatorname{Var}", "begin{aligned}", "substack", "nosuchmacro", ",",
    )
)]), max_size=25))  # fmt: skip
def test_anything_can_be_put_in_words(tokens: list[str]) -> None:
    """Broken LaTeX is said somehow, too: without an error, without end, without backslashes."""
    words = in_words("".join(tokens))
    assert "\\" not in words
    assert len(words) < 60 * (len(tokens) + 1)


def test_depth_is_no_error() -> None:
    """Brackets within brackets beyond all measure are said more simply."""
    assert "x" in in_words("(" * 5000 + "x" + ")" * 5000)


def test_prose_keeps_its_text() -> None:
    """Only formulas change."""
    assert prose_in_words("It stays at $d_k$, as derived.") == "It stays at d sub k, as derived."
