"""What may be typed in a claim's texts, and how its expressions are written."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import Abs, Eq, Expr, Idx, IndexedBase, S, Sum, sqrt, tanh

from verify.errors import ClaimError
from verify.spec.notation import Notation, in_line, printed, refuse_typed, refuse_values
from verify.symbolic.kernel.words import E, Var
from verify.symbolic.printing import ordered
from verify.symbolic.scores import d, k, q, score

SIGNS = "=<>≤≥≈~∼≠≡≪⇒→∝$\\^{}+0123456789²½Ⅳ٣"
WORDS = st.text(string.ascii_letters + " ,.;:·ᵀ'“”-%()/äö")
SLOTS = st.sampled_from(("{theorem}", "{exact-variance-d64:3}", printed("$d_k = 64$")))


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        (r"For any law, $\operatorname{Var} = 3d_k$.", r"$\operatorname{Var} = 3d_k$"),
        ("components with mean 0 and more", "0"),
        ("the variance is 3d, always", "3d,"),
        ("variance = d", "="),
        ("a cap of {c} takes d² of it", "d²"),
        ("at most ½ of {c}2", "½"),
        ("{bits}2 of them", "{bits}2"),
        ("an open $d", "$d"),
        ("a brace { alone", "{"),
        ("an empty slot {}", "{}"),
        ("about 2e3 or GPT-2", "2e3"),
    ],
)
def test_what_is_typed_is_refused_in_one_line(text: str, piece: str) -> None:
    """The line quotes the formula or the word, and says what to put there."""
    with pytest.raises(ClaimError) as refused:
        refuse_typed("mine", "statement", text)
    assert str(refused.value) == (
        f"claim mine: its statement types “{piece}”; put a slot there, such as {{theorem}}, or a fact, check "
        "or symbol by its name"
    )


@pytest.mark.parametrize(
    "text",
    [
        "Two keys halve it, and four make it a quarter.",
        "bfloat16, float32 and E4M3 round q·k",
        "{theorem} for {d_k}, of QKᵀ",
        f"the value at {printed('$d_k = 64$')}",
    ],
)
def test_words_names_and_slots_pass(text: str) -> None:
    """A digit within a name is none of a number, and what the tool prints is not typed."""
    refuse_typed("mine", "statement", text)


@given(WORDS, SLOTS, st.sampled_from(SIGNS), SLOTS, WORDS)
def test_no_number_and_no_relation_ever_passes(
    before: str, slot: str, sign: str, other: str, after: str
) -> None:
    """Whatever words and slots stand around it, unless a digit goes on with a name."""
    refuse_typed("mine", "meaning", f"{before}{slot}{other}{after}")
    for text in (f"{before} {sign}{after}", f"{slot}{sign}{other}{before}", f"{before}{slot}{sign} {after}"):
        with pytest.raises(ClaimError, match="its meaning types"):
            refuse_typed("mine", "meaning", text)


c, s = ordered("c", positive=True), ordered("s", real=True)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (Var(score), r"\operatorname{Var}(q\cdot k)"),
        (Var(2 * score), r"\operatorname{Var}(2 q\cdot k)"),
        (Var(score / sqrt(d)), r"\operatorname{Var}(q\cdot k/\sqrt{d_k})"),
        (E(score**4), r"\mathbb{E}[(q\cdot k)^4]"),
        (E(score.subs(q, k)), r"\mathbb{E}[|k|^2]"),
        (3 - 2 / d, r"3 - 2/d_k"),
        (3 - c / (2 * s), r"3 - c/(2 s)"),
        (c * tanh(s / c), r"c \tanh(s/c)"),
        (
            c * (1 - Sum(IndexedBase("q")[Idx("i")], (Idx("i"), 1, d))) ** 2,
            r"c \left(1 - \sum_{i=1}^{d_k} q_i\right)^2",
        ),
        (E(Abs(score)), r"\mathbb{E}[|q\cdot k|]"),
        (d**12, r"d_k^{12}"),
    ],
)
def test_expressions_fit_into_a_line(expression: Expr, text: str) -> None:
    """The score is q·k, short fractions have a stroke, and brackets the usual size."""
    assert in_line(expression) == text


@pytest.mark.parametrize(
    ("latex", "expression", "wrong"),
    [
        (r"S = d_k", Var(score), "the relation ="),
        (r"S \leq d_k", Var(score), r"the relation \leq"),
        (r"S \to d_k", Var(score), r"the relation \to"),
        ("1.5 d_k", d, "the decimal 1.5"),
        ("3d_k", 4 * d, "other numbers than its expression"),
        ("d_k", 4 * d, "other numbers than its expression"),
        ("d_k", d**2, "a name of a symbol"),
        ("$d_k$", d, "a dollar sign"),
    ],
)
def test_a_notation_is_what_an_expression_is_called(latex: str, expression: Any, wrong: str) -> None:
    """And says nothing else of it."""
    with pytest.raises(ClaimError) as refused:
        Notation(latex, expression)
    text = f"notation {latex!r} holds {wrong}; write what the expression alone is called"
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        (
            "four",
            S(4),
            "4: it is no expression with symbols in it; take numbers from facts, checks or settings",
        ),
        ("four", 4, "4: it is no expression with symbols in it; take numbers from facts, checks or settings"),
        ("law", Eq(c, d), "Eq(c, d_k): it is a relation; take it from a theorem"),
        ("theorem", d, "d_k: that name means something else; choose another"),
        ("my-d", d, "d_k: that name means something else; choose another"),
    ],
)
def test_a_symbol_is_no_number_and_no_relation(name: str, value: object, wrong: str) -> None:
    """Each is refused in one line."""
    with pytest.raises(ClaimError) as refused:
        refuse_values("claim mine: ", {name: value})
    assert str(refused.value) == f"claim mine: symbol {name!r} is {wrong}"


def test_symbols_and_definitions_pass() -> None:
    """Wrong versions, too."""
    refuse_values("", {"cap": c, "square": d**2, "score": Notation(r"q\cdot k", score)})
