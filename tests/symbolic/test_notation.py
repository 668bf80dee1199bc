"""How statements of the new vocabulary are printed: LaTeX, terminal, assumptions."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.mathtext import MathTextParser
from sympy import Abs, Eq, Ge, Integral, Le, Rational, S, Symbol, exp, gamma, log, oo, pi, sqrt

from verify.evidence.plots import readable
from verify.report.formulas import Formulas
from verify.symbolic import notation
from verify.symbolic.chains import Chain, Line, LineCheck, Related
from verify.symbolic.vocabulary import CENTRED, GENERAL, NORMAL_COMPONENTS, STANDARD
from verify.symbolic.vocabulary import Cov, Dot, E, Entropy, Family, Given, Indicator, Largest, Law
from verify.symbolic.vocabulary import LogSumExp, Named, Quantile, Softmax, Var, a, b, d, i, j, k, l, m, mu_k
from verify.symbolic.vocabulary import mu_q, n, normal, q, score, score_of, sigma_k, sigma_q
from verify.symbolic.vocabulary import squares

x = Symbol("x", real=True)
scaled = score / sqrt(d)
p = Softmax(score, j)

PLAIN = [
    (Eq((x - sqrt(d)) * (x + sqrt(d)), 0, evaluate=False), "x = ±√d_k"),
    (Eq((x - sqrt(d)) * (x + 2), 0, evaluate=False), "(x − √d_k) (x + 2) = 0"),
    (Var(score), "Var(q·k)"),
    (E(score**2) - E(score) ** 2, "E[(q·k)²] − E[q·k]²"),
    (scaled, "q·k/√d_k"),
    (d ** Rational(-1, 3) * score, "q·k/∛d_k"),
    (squares(score), "Σ_j p_j²"),
    (squares(scaled), "Σ_j softmax(q·k/√d_k)_j²"),
    (p * (1 - p), "p_j (1 − p_j)"),
    (p * Softmax(Family("t", m, n)[a, j], j), "p_j softmax(t)_j"),
    (log(n) - E(Entropy(score, j)), "ln n − E[H]"),
    (log(n) ** 2, "(ln n)²"),
    (Dot(q, a, q, a) ** 2, "|q|⁴"),
    (Largest(score, j), "max_j q·k_j"),
    (LogSumExp(score, j), "ln Σ_j e^(q·k_j)"),
    (E(Indicator(score - score_of(a, l))), "P(q·k_j > q·k_l)"),
    (Cov(score_of(a, j) ** 2, score_of(b, j) ** 2), "Cov((q_a·k)², (q_b·k)²)"),
    (Softmax(score_of(a, j), j) * Softmax(score_of(b, j), j), "softmax(q_a·k)_j softmax(q_b·k)_j"),
    (Quantile(Abs(score), S.Half), "median(|q·k|)"),
    (Quantile(score, Rational(19, 20)), "Q_0.95(q·k)"),
    (E(score**4) / Var(score) ** 2, "E[(q·k)⁴]/Var(q·k)²"),
    (score.definition, "Σ_(i=1)^d_k q_i k_i"),
    (p.definition, "e^(q·k_j)/(Σ_l e^(q·k_l))"),
    (d * (d - 1) * mu_k**2 * mu_q**2 - d**2 * sigma_k * sigma_q, "d_k μ_q² μ_k² (d_k − 1) − d_k² σ_q σ_k"),
    (E(k[j, i]) * E(q[a, i]), "E[q_i] E[k_i]"),
    (sqrt(2 * d / pi), "√(2 d_k/π)"),
    (Integral(exp(-(x**2) / 2) / sqrt(2 * pi), (x, -oo, oo)), "∫_(−∞)^∞ e^(−x²/2)/√(2 π) dx"),
    (gamma(d / 2 + S.Half) / gamma(d / 2), "Γ(d_k/2 + 1/2)/Γ(d_k/2)"),
    (Le(E(squares(score)), 1), "E[Σ_j p_j²] ≤ 1"),
    (Dot(q, a, q, a), "|q|²"),
    (E(Dot(q, a, q, a) ** Rational(1, 4)), "E[√(|q|)]"),
    (score_of(a, j) * score_of(a, l), "(q·k_j) (q·k_l)"),
    (Named(Symbol(r"x\cdot y"), x) ** 2 / Named(Symbol("u"), n) ** 2, "(x·y)²/u²"),
    (Given("mu_q", d)[i], "μ_qi"),
]


taking = partial(LineCheck, compare=lambda *_: None)
"""A check that takes any line."""


def chain(start: Any, *laws: Any, given: tuple[Any, ...] = (), more: tuple[str, ...] = ()) -> Chain:
    """Return a chain with a line for each of the laws."""
    return Chain(start, *(Line(d, "so", taking(assumed=more, laws=of)) for of in laws), given=given)


@pytest.mark.parametrize(("expression", "text"), PLAIN, ids=[text for _, text in PLAIN])
def test_terminal_shows_an_expression_on_one_line(expression: Any, text: str) -> None:
    """The terminal shows an expression on one line, with the indices alone that tell something."""
    assert notation.plain(expression) == text


def test_formulas_on_their_own_have_fractions_and_those_in_text_strokes() -> None:
    """A fraction is drawn with a bar on a line of its own, and with a stroke in running text."""
    assert notation.latex(Var(scaled)) == r"\operatorname{Var}\left(\frac{q\cdot k}{\sqrt{d_k}}\right)"
    assert notation.in_line(Var(scaled)) == r"\operatorname{Var}(q\cdot k/\sqrt{d_k})"


def test_report_and_figures_set_every_formula() -> None:
    """The report's renderer reads all LaTeX that is printed, Matplotlib all that stands in text."""
    formulas, parser = Formulas(), MathTextParser("path")
    for expression, _ in PLAIN:
        assert formulas.display(notation.latex(expression)).mathml
        assert formulas.inline(notation.in_line(expression)).mathml
        assert parser.parse(readable(f"${notation.in_line(expression)}$")).width > 0


@given(st.integers(-20, 20), st.integers(1, 20), st.integers(-3, 3))
def test_negative_terms_come_last(over: int, under: int, power: int) -> None:
    """No sum of several terms begins with a sign if a term has none, whatever the coefficients."""
    text = notation.plain(Rational(over, under) * d**power + n)
    assert not text.startswith("−")


@given(st.permutations([Rational(2, 3), d, n**2, sigma_q, sigma_k, sqrt(mu_q**2 + 1)]))
def test_order_of_factors_does_not_depend_on_the_author(factors: list[Any]) -> None:
    """A product reads the same in whatever order its factors were written."""
    product = S.One
    for factor in factors:
        product *= factor
    assert notation.plain(product) == "2 d_k n² σ_q σ_k √(μ_q² + 1)/3"


def test_queries_stand_before_keys() -> None:
    """In sums and products of sums what belongs to a query comes first."""
    both = (mu_q**2 + sigma_q**2) * (mu_k**2 + sigma_k**2)
    assert notation.plain(d * both) == "d_k (μ_q² + σ_q²) (μ_k² + σ_k²)"
    assert notation.plain(mu_q**2 * sigma_k**2 + mu_k**2 * sigma_q**2) == "μ_q² σ_k² + μ_k² σ_q²"
    assert notation.plain(E(q[a, i] ** 2) - E(k[j, i] ** 2)) == "E[q_i²] − E[k_i²]"


def test_statement_has_its_sign_between_its_sides() -> None:
    """What a chain shows is both sides with its sign, which may be "~" or "⇔"."""
    assert notation.latex(Related(Var(score), Symbol("~"), d)).endswith(r"\sim d_k")
    assert notation.latex(Related(Le(d**2, 1), Symbol("⇔"), Le(d, 1))) == r"d_k^2 \le 1 \iff d_k \le 1"


BOTH = "queries and keys"
SIGNS_LAW = Law("signs ±1 with equal chance", (S.One, S.Zero, S.One, S.Zero, S.One), whole=True)


@pytest.mark.parametrize(
    ("laws", "sentences"),
    [
        (
            STANDARD,
            [f"All components of {BOTH} are independent, with mean $0$ and variance $1$, of whatever law."],
        ),
        (
            CENTRED,
            [
                "All components of queries and keys are independent.",
                r"Those of queries have mean $0$ and variance $\sigma_q^2$, of whatever law.",
                r"Those of keys have mean $0$ and variance $\sigma_k^2$, of whatever law.",
            ],
        ),
        (
            {q: normal(mu_q, sigma_q), k: normal(0, 2)},
            [
                "All components of queries and keys are independent.",
                r"Those of queries are normal with mean $\mu_q$ and variance $\sigma_q^2$.",
                "Those of keys are normal with mean $0$ and variance $4$.",
            ],
        ),
        (NORMAL_COMPONENTS, ["All components of queries and keys are independent and standard normal."]),
        (
            {q: SIGNS_LAW, k: SIGNS_LAW},
            ["All components of queries and keys are independent, with signs $\\pm 1$ with equal chance."],
        ),
        (None, ["Any law for which the means exist."]),
    ],
)
def test_laws_are_said_in_sentences(laws: Any, sentences: list[str]) -> None:
    """Laws are said once if queries and keys share one, else separately, and by name if they have one."""
    assert list(chain(E(score), laws).assumptions) == sentences


def test_strongest_law_of_all_lines_is_assumed() -> None:
    """A chain with a line for normal components assumes them, though others need two moments only."""
    sentences = chain(Var(score), STANDARD, NORMAL_COMPONENTS).assumptions
    assert sentences == ("All components of queries and keys are independent and standard normal.",)
    assert chain(Var(score), GENERAL, CENTRED).assumptions == chain(Var(score), GENERAL).assumptions


def test_conditions_and_unusual_domains_are_said() -> None:
    """Conditions of a chain, what its checks add, and a domain that is not the usual one are sentences."""
    c = Symbol("c", positive=True)
    start = Var(c * score)
    sentences = chain(start, None, given=(Ge(d, 2),), more=("Means and sums change places.",)).assumptions
    assert sentences == ("Means and sums change places.", r"$d_k \ge 2$.", "$c$ is positive.")
