"""The expectation operator: linearity, independence, symbolic dimension, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
import sympy.stats
from hypothesis import given
from hypothesis import strategies as st
from sympy import Idx, IndexedBase, Rational, S, Sum, Symbol, expand, simplify, symbols
from verify.symbolic.expansion import expanded

from tests.strategies import examples, fractions
from verify.symbolic.kernel.moments import (
    DerivationError,
    E,
    Population,
    Var,
    by_component,
    by_index,
    by_moments,
    evaluate,
    unfold,
)
from verify.symbolic.printing import latex
from verify.symbolic.scores import GENERAL, STANDARD, d, index, k, mu_k, mu_q, q, score, sigma_k, sigma_q

Q = symbols("Q1:7")
K = symbols("K1:7")
ANY = Population({q: (S.One, *Q), k: (S.One, *K)}, d)
"""Components of which nothing is known: the moments are symbols."""

SUMS = (
    Sum(q[index], (index, 1, d)),
    Sum(k[index], (index, 1, d)),
    score,
    Sum(q[index] ** 2, (index, 1, d)),
    Sum((q[index] - 1) * k[index] ** 2, (index, 1, d)),
)


def equal(one: Any, other: Any) -> bool:
    """Return whether two expressions are the same polynomial."""
    return bool(expand(one - other) == 0)


@st.composite
def polynomials(draw: st.DrawFn, sums: int = 3) -> Any:
    """Return a polynomial in sums over the index with at most three factors a term, and its population."""
    terms = draw(
        st.lists(
            st.tuples(
                fractions(3, 3), st.lists(st.sampled_from(SUMS), max_size=sums), st.sampled_from((S.One, d))
            ),
            min_size=1,
            max_size=3,
        )
    )
    total = S.Zero
    for factor, members, dimension in terms:
        product = Rational(factor.numerator, factor.denominator) * dimension
        for member in members:
            product *= member
        total += product
    return total


def raw_moments() -> st.SearchStrategy[Any]:
    """Return numbers in the place of six raw moments; the calculus is linear in them, whatever they are."""
    one = fractions(3, 3).map(lambda x: Rational(x.numerator, x.denominator))
    return st.tuples(*[one] * 6).map(lambda values: (S.One, *values))


@examples(25)
@given(polynomials(), raw_moments(), raw_moments())
def test_symbolic_dimension_agrees_with_writing_every_index_out(x: Any, of_q: Any, of_k: Any) -> None:
    """The set-partition rule, taken at d = 1…4, is the sum over all indices, for random polynomials."""
    population = Population({q: of_q, k: of_k}, d)
    general = evaluate(E(x), population)
    for n in (1, 2, 3, 4):
        assert equal(general.subs(d, n), expanded(E(x), population, n))


@examples(15)
@given(polynomials(sums=1), raw_moments(), raw_moments())
def test_variances_agree_with_writing_every_index_out(x: Any, of_q: Any, of_k: Any) -> None:
    """Var as E x² - (E x)² and as the mean squared deviation are the same, for random linear forms."""
    population = Population({q: of_q, k: of_k}, d)
    general = evaluate(Var(x), population)
    for n in (1, 2, 3):
        assert equal(general.subs(d, n), expanded(Var(x), population, n))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_agreement_holds_for_unknown_moments(n: int) -> None:
    """With symbols for the moments the two ways agree as polynomials in the moments."""
    x = score**2 * SUMS[3] - 2 * d * score * SUMS[0]
    assert equal(evaluate(E(x), ANY).subs(d, n), expanded(E(x), ANY, n))


@examples(12)
@given(polynomials(2), polynomials(2), fractions(), fractions())
def test_expectation_is_linear(x: Any, y: Any, a: Any, b: Any) -> None:
    """E[a·x + b·y + 1] = a·E[x] + b·E[y] + 1."""
    first, second = (Rational(v.numerator, v.denominator) for v in (a, b))
    whole = evaluate(E(first * x + second * y + 1), ANY)
    assert equal(whole, first * evaluate(E(x), ANY) + second * evaluate(E(y), ANY) + 1)


@examples(12)
@given(polynomials(1), fractions())
def test_variance_ignores_shifts_and_squares_factors(x: Any, a: Any) -> None:
    """Var(a·x + d) = a²·Var(x), and a constant has none."""
    factor = Rational(a.numerator, a.denominator)
    assert equal(evaluate(Var(factor * x + d), ANY), factor**2 * evaluate(Var(x), ANY))
    assert evaluate(Var(d + factor), ANY) == 0


def test_independence_splits_products_but_not_powers() -> None:
    """E[q_i²k_i] is E[q_i²]·E[k_i]: bases are independent, an entry is not independent of itself."""
    assert by_component(E(q[index] ** 2 * k[index]), ANY) == E(q[index] ** 2) * E(k[index])
    assert by_moments(E(q[index] ** 2 * k[index]), ANY) == Q[1] * K[0]


def test_after_the_split_no_sum_is_left() -> None:
    """What remains inside every expectation concerns a single index."""
    split = by_index(unfold(Var(score)), ANY)
    assert not split.atoms(Sum)
    assert split == d * E(q[index] ** 2 * k[index] ** 2) + d * (d - 1) * E(q[index] * k[index]) ** 2 - (
        d**2 * E(q[index] * k[index]) ** 2
    )


def test_variance_of_a_score_with_any_means() -> None:
    """Var(q·k) = d(σq²σk² + μq²σk² + μk²σq²); the means' product is in no term."""
    expected = d * (sigma_q**2 * sigma_k**2 + mu_q**2 * sigma_k**2 + mu_k**2 * sigma_q**2)
    assert equal(evaluate(Var(score), GENERAL), expected)
    assert evaluate(E(score), GENERAL) == d * mu_q * mu_k


def test_fourth_moment_of_a_centred_score() -> None:
    """E S⁴ = 3d² + d(κqκk - 3) for centred unit components, whatever their third moments."""
    of_q, of_k = symbols("kappa_q kappa_k")
    third_q, third_k = symbols("g_q g_k")
    population = Population({q: (S.One, S.Zero, S.One, third_q, of_q), k: (1, 0, 1, third_k, of_k)}, d)
    fourth = evaluate(E(score**4), population)
    assert equal(fourth, 3 * d**2 + d * (of_q * of_k - 3))
    assert equal(evaluate(E(score**3), population), d * third_q * third_k)


def test_sums_over_differently_named_indices_are_the_same() -> None:
    """The name of a summation index does not matter."""
    j = Idx("j")
    renamed = Sum(q[j] * k[j], (j, 1, d))
    assert equal(evaluate(E(renamed * score), STANDARD), d)


def test_a_plain_symbol_is_one_random_variable() -> None:
    """A symbol without index is one variable, with its own moments."""
    x = Symbol("x")
    population = Population({x: (S.One, S(2), S(5))}, d)
    assert equal(evaluate(Var(3 * x + d), population), S(9))


class TestMistakeOfSymPysOwnStatistics:
    """``sympy.stats`` uses one and the same pair in every term of the sum."""

    def test_it_returns_the_square(self) -> None:
        """SymPy answers d² where the variance is d; our calculus gives d."""
        i = Idx("i")
        a, b = sympy.stats.Normal("a", 0, 1), sympy.stats.Normal("b", 0, 1)
        theirs = sympy.stats.variance(Sum(a * b, (i, 1, d))).doit()
        assert simplify(theirs - d**2) == 0
        assert evaluate(Var(score), STANDARD) == d

    def test_our_calculus_gives_the_square_only_for_one_shared_product(self) -> None:
        """The variance d² belongs to d·q_1k_1, the same product added d times."""
        assert evaluate(Var(d * q[1] * k[1]), STANDARD) == d**2


class TestRefusals:
    """What lies outside the calculus raises, in words that name the place, and never gives a value."""

    @pytest.mark.parametrize(
        ("expression", "words"),
        [
            (E(score**3), "moment of order 3 of q"),
            (E(q[index] * score), r"q\[i\]\*Sum.* stands outside the sums over the index i"),
            (E(q[1] + score), "stands outside the sums"),
            (E(Sum(q[index], (index, 0, d))), r"only sums from 1 to d_k are covered"),
            (E(Sum(q[index], (index, 1, d + 1))), "only sums from 1 to d_k"),
            (E(Sum(q[index], (index, 1, 3))), "only sums from 1 to d_k"),
            (E(Sum(q[index], (index, 1, d), (Idx("j"), 1, d))), "only sums from 1 to d_k"),
            (E(Sum(index * q[index], (index, 1, d))), "not independent and alike"),
            (E(Sum(q[index] * q[index + 1], (index, 1, d)) ** 2), "not independent and alike"),
            (E(Sum(q[1] * k[index], (index, 1, d)) ** 2), "not independent and alike"),
        ],
    )
    def test_outside_the_calculus(self, expression: Any, words: str) -> None:
        """Missing moments, components outside sums, foreign limits, terms that share something."""
        with pytest.raises(DerivationError, match=words):
            evaluate(expression, STANDARD)

    def test_a_symbol_shared_by_all_terms(self) -> None:
        """One random factor in every term makes the terms dependent, so the split is refused."""
        x = Symbol("x")
        population = Population({x: (S.One, S.Zero, S.One), q: (S.One, S.One, S(2))}, d)
        with pytest.raises(DerivationError, match="not independent and alike"):
            evaluate(Var(Sum(x * q[index], (index, 1, d))), population)
        assert expanded(Var(x * Sum(q[index], (index, 1, d))), population, 3) == 12

    def test_sums_must_be_split_before_components(self) -> None:
        """The per-component rule does not look inside sums."""
        with pytest.raises(DerivationError, match="split the sums by index first"):
            by_component(E(score), STANDARD)

    def test_messages_are_one_line_with_the_printed_names(self) -> None:
        """A message shows d_k and mu_q, not the ranks that order them."""
        with pytest.raises(DerivationError) as caught:
            evaluate(E(mu_q * q[index] * score), STANDARD)
        assert str(caught.value).startswith("mu_q*q[i]*Sum(q[i]*k[i], (i, 1, d_k)): ")
        assert "\n" not in str(caught.value)


def test_operators_print_as_the_field_writes_them() -> None:
    """E in blackboard bold with brackets, Var upright; powers stand behind."""
    x = IndexedBase("x")[1]
    assert latex(E(x)) == r"\mathbb{E}\left[x_{1}\right]"
    assert latex(E(x) ** 2) == r"\mathbb{E}\left[x_{1}\right]^{2}"
    assert latex(Var(x)) == r"\operatorname{Var}\left(x_{1}\right)"
    assert latex(Var(x) ** 2) == r"\operatorname{Var}\left(x_{1}\right)^{2}"
