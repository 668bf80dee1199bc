"""The grammar of questions: what can be asked, what it means, and how mistakes are answered."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import Abs, Expr, Rational, S, exp, log, pi, sqrt

from verify.symbolic.grammar import QuestionError, parse, parse_formula, parse_value
from verify.symbolic.notation import plain
from verify.symbolic.vocabulary import Cov, Dot, E, Entropy, Indicator, Largest, LogSumExp, Quantile, Softmax
from verify.symbolic.vocabulary import Var, a, d, i, j, k, l, n, over_keys, q, score, score_of, squares

scaled = score / sqrt(d)
p = Softmax(score, j)
mean = E(score)

MEANINGS: list[tuple[str, Any]] = [
    ("Var(q·k)", Var(score)),
    ("Var ( q * k )", Var(score)),
    ("Var(score/sqrt(d))", Var(scaled)),
    ("Var(d^(-1/3) q·k)", Var(d ** Rational(-1, 3) * score)),
    ("E(|q·k|)", E(Abs(score))),
    ("E[(q·k)²] − E[q·k]²", E(score**2) - mean**2),
    ("E(sum(p^2))", E(squares(score))),
    ("1/E(sum(p_scaled^2))", 1 / E(squares(scaled))),
    ("E(max(p))", E(Largest(p, j))),
    ("E(max_j q·k_j)", E(Largest(score, j))),
    ("log(n) - E(H)", log(n) - E(Entropy(score, j))),
    ("mean(H(p_scaled))", E(Entropy(scaled, j))),
    ("corr(q·k_j, q·k_l)", Cov(score, score_of(a, l)) / sqrt(Var(score) * Var(score_of(a, l)))),
    ("E(logsumexp(q·k))", E(LogSumExp(score, j))),
    ("E(log(sum(exp(q·k))))", E(LogSumExp(score, j))),
    ("E(sum(p*log(p)))", E(over_keys(p * log(p)))),
    ("Var(sum(p q·k))", Var(over_keys(p * score))),
    ("E(sum(p*sum(p^2)))", E(over_keys(p * over_keys(Softmax(score_of(a, l), l) ** 2, l)))),
    ("P(q·k > 2 sqrt(d_k))", E(Indicator(score - 2 * sqrt(d)))),
    ("P(q·k_j < q·k_l)", E(Indicator(score_of(a, l) - score))),
    ("median(|q·k|)", Quantile(Abs(score), S.Half)),
    ("quantile(q·k, 0.95)", Quantile(score, Rational(19, 20))),
    ("E(q_i^4)", E(q[a, i] ** 4)),
    ("Var(cos(q, k))", Var(score / sqrt(Dot(q, a, q, a) * Dot(k, j, k, j)))),
    ("E(exp(-q·k))/2", E(exp(-score)) / 2),
    ("2 E(-p^2 n(n-1))", 2 * E(-(p**2) * n * (n - 1))),
    ("2^3^2 E(p)", 512 * E(p)),
    ("-E(p)^2", -(E(p) ** 2)),
    # Numbers are exact, and e stands for nothing.
    ("0.1 E(p) + 1e-3 E(p)", Rational(101, 1000) * E(p)),
    ("E(e^-p)", E(exp(-p))),
]


PRINTED_OTHERWISE = ("quantile(q·k, 0.95)", "E(sum(p*sum(p^2)))", "E(q_i^4)")
"""Questions that the terminal shows with an index."""


@pytest.mark.parametrize(("text", "meaning"), MEANINGS)
def test_question_means_an_expression(text: str, meaning: Expr) -> None:
    """A question is read as the expression that a claim would write, and once more as it is printed."""
    assert parse(text) == meaning
    if text not in PRINTED_OTHERWISE:
        assert parse(plain(meaning)) == meaning


def test_kurtosis_and_skewness_are_of_the_standardized() -> None:
    """Kurtosis and skewness are the fourth and third moments of the standardized, as for a fair 0 or 1."""
    given_share = {E(score**power): S.Half for power in range(1, 5)} | {
        E(score): S.Half,
        Var(score): S(1) / 4,
    }
    assert parse("kurtosis(q·k)").xreplace(given_share) == 1
    assert parse("skewness(q·k)").xreplace(given_share) == 0


NUMBERS = st.integers(1, 9).map(str) | st.sampled_from(["d_k", "n", "0.5", "sqrt(d_k)", "q·k", "p_scaled"])
SUMS = st.recursive(
    NUMBERS,
    lambda inner: (
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(
            lambda parts: "({}{}{})".format(*parts)
        )
        | inner.map(lambda text: f"exp(-{text})")
        | inner.map(lambda text: f"|{text}|")
        | inner.map(lambda text: f"{text}^2")
    ),
    max_leaves=6,
)


@given(SUMS)
def test_what_the_terminal_prints_is_read_as_the_same(inner: str) -> None:
    """A question that is printed for the terminal and read again is the same question."""
    try:
        expression = parse(f"E({inner})")
    except QuestionError:  # it divides by 0
        return
    assert parse(plain(expression)) == expression


MISTAKES = [
    ("Var(q·m)", 4, "q is a vector: write q·k, |q| or q_i"),
    ("Var(q·k) = d_k", 9, "ask for the quantity alone, and give a formula to be tested as --against"),
    ("Vaar(q·k)", 0, "no function 'Vaar'; did you mean 'Var'?"),
    ("E(score)/1e9992", 9, "a number is at most 1e300"),
    ("E(score", 1, "this bracket is not closed"),
    ("E(score) +", 10, "something is missing at the end"),
    ("q·k", 0, "q·k is random, and stands outside a mean; write E(…) or Var(…) around it"),
    ("d_k + 1", 0, "nothing is averaged: write E(…) or Var(…)"),
    ("exp(E(pi))", 0, "nothing in it is random"),
    ("E(q·k, p)", 1, "E holds one expression, not 2"),
    ("Cov(q·k)", 3, "Cov holds two expressions, not 1"),
    ("quantile(q·k, 2)", 0, "a quantile's level is a number between 0 and 1"),
    ("P(q·k)", 0, "P is of an event: write P(x > y) or P(x < y)"),
    ("E(q·k > 1)", 6, "> means nothing here"),
    ("What is Var(q·k)?", 16, "ask in a formula, such as Var(q·k)"),
    ("E(q·k) > 1", 7, "a comparison stands in P(x > y) alone"),
    ("E(q·k)/0", 6, "this divides by 0"),
    ("E(sqrt(-1) p)", 0, "takes a root of a negative number"),
    ("E(sum(n))", 2, "nothing in sum depends on the key"),
    ("E(sum(sum(sum(p))))", 10, "at most two sums over keys stand in each other"),
    ("9^9^9^9 E(p)", 3, "a power of a number is at most 64"),
    ("__import__('os')", 0, "_ means nothing here"),
    ("E(" + "(" * 40 + "p" + ")" * 41, 31, "too many brackets in each other"),
    ("E(E(p) p)", 2, "E stands within another mean"),
]


@pytest.mark.parametrize(("text", "at", "problem"), MISTAKES)
def test_mistakes_are_marked(text: str, at: int, problem: str) -> None:
    """A question that cannot be read is answered with what is wrong, itself, and a mark at the place."""
    with pytest.raises(QuestionError) as caught:
        parse(text)
    said, shown, mark = str(caught.value).split("\n")
    assert problem in said
    assert shown == f"  {text}"
    assert mark.index("^") - 2 == at


@pytest.mark.parametrize("text", [" ", "E(p)\nE(p)", "E(p\x1b)", "E(" + "p+" * 400 + "p)"])
def test_questions_are_one_short_line(text: str) -> None:
    """What is no line, empty or too long is refused without being shown."""
    with pytest.raises(QuestionError, match="one line of 1 to 500 characters"):
        parse(text)


@given(st.text("EVarpqk·d_n0123()[]|+-*/^², .√Σ", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text leads to another error than the one that says what is wrong with it."""
    meaning, refused = S.Zero, ""
    try:
        meaning = parse(text)
    except QuestionError as error:
        refused = str(error)
    assert meaning.has(E, Var) or refused.endswith("^" if text.strip() else "such as Var(q·k)")


def test_formulas_have_sizes_only() -> None:
    """A formula to compare with is of d_k, n and numbers; with what is random, or unknown, it is refused."""
    for text, formula in (("7*d_k/144", 7 * d / 144), ("d", d), ("√(2 d_k/π)", sqrt(2 * d / pi))):
        assert parse_formula(text) == formula
    for text, symbol in (("x + 1", "x"), ("E(q·k)", "E"), ("|q|", r"\|q\|")):
        with pytest.raises(QuestionError, match=f"a formula has d_k and n only, not {symbol}"):
            parse_formula(text)


def test_a_list_is_for_softmax_and_products() -> None:
    """A number of softmax, or a dot product, has a value; wherever else a list stands, one line says so."""
    assert parse_value("softmax([2, 1]/2, 1)") == exp(1) / (exp(1) + exp(S.Half))
    assert parse_value("[1, 2]·[3, 4]") == 11
    for text in ("[1, 2]", "[1, 2] + 1", "[1, 2]·[3, 4, 5]", "1/[1, 2]", "2^[1, 2]", "|[1, 2]|", "[1, 2]²"):
        with pytest.raises(QuestionError, match="a list is no number"):
            parse_value(text)
    with pytest.raises(QuestionError, match="H is of a number, not of a list"):
        parse_value("H([1, 2])")
    with pytest.raises(QuestionError, match="a place from 1 to 2"):
        parse_value("softmax([2, 1], 3)")
