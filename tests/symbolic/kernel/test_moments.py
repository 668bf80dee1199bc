"""Moments: against every index written out, for any law or the assumed one, and what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import (
    Add, Idx, IndexedBase, Integer, Pow, Rational, S, Sum, Symbol, expand, sqrt, symbols,
)  # fmt: skip

from tests.strategies import examples, fractions
from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.core import prove
from verify.symbolic.kernel.hypotheses import Population, Refused
from verify.symbolic.kernel.moments import (
    Evaluation, by_component, by_index, by_moments, evaluate, unfold,
)  # fmt: skip
from verify.symbolic.kernel.words import E, Var
from verify.symbolic.scores import GENERAL, STANDARD, d, index, k, mu_k, mu_q, q, score, sigma_k, sigma_q

Q, K = symbols("Q1:7"), symbols("K1:7")
ANY = Population({q: (S.One, *Q), k: (S.One, *K)}, d)
"""Components of which nothing is known: the moments are symbols."""

j = Idx("j")
v = Symbol("v")
SUMS = (
    Sum(q[index], (index, 1, d)),
    Sum(k[index], (index, 1, d)),
    score,
    Sum(q[index] ** 2, (index, 1, d)),
    Sum((q[index] - 1) * k[index] ** 2, (index, 1, d)),
)
PRODUCT, SQUARE = E(q[index] * k[index]), E(q[index] ** 2 * k[index] ** 2)
SPLIT = d * SQUARE + d * (d - 1) * PRODUCT**2 - d**2 * PRODUCT**2


def expanded(expression: Any, population: Population, dimension: int) -> Any:
    """Return the value of an expression at one concrete dimension, by writing every index out.

    It shares no rule with the kernel: sums are written out with distinct entries, multiplied out, and each
    monomial's expectation is the product of its entries' moments. A variance is the mean squared deviation.
    """

    def mean(inside: Any) -> Any:
        plain = expand(_written_out(inside.xreplace({population.dimension: Integer(dimension)})))
        total = S.Zero
        for term in Add.make_args(plain):
            for factor, power in term.as_powers_dict().items():
                one = factor.base if factor.is_Indexed else factor
                known = population.moments.get(one)
                term *= S.One if known is None else known[power] / factor**power  # noqa: PLW2901
            total += term
        return total

    def of_variances(inside: Any) -> Any:
        return E((inside - mean(inside)) ** 2)

    valued = expression.replace(Var, of_variances).replace(E, mean)
    return expand(_written_out(valued.xreplace({population.dimension: Integer(dimension)})))


def _written_out(expression: Any) -> Any:
    """Return an expression with every sum between numbers as its terms."""
    if not expression.args:
        return expression
    parts = [_written_out(one) for one in expression.args]
    if isinstance(expression, Pow):
        return Pow(*parts, evaluate=False)
    if not isinstance(expression, Sum):
        return expression.func(*parts)
    at, low, high = expression.limits[0]
    return Add(*(parts[0].xreplace({at: Integer(place)}) for place in range(int(low), int(high) + 1)))


def equal(one: Any, other: Any) -> bool:
    """Return whether two expressions are the same polynomial."""
    return bool(expand(one - other) == 0)


@st.composite
def polynomials(draw: st.DrawFn, sums: int = 3) -> Any:
    """Return a polynomial in sums over the index with a few factors a term."""
    several = st.lists(st.sampled_from(SUMS), max_size=sums)
    one = st.tuples(fractions(3, 3), several, st.sampled_from((S.One, d)))
    total = S.Zero
    for factor, members, product in draw(st.lists(one, min_size=1, max_size=3)):
        for member in members:
            product *= member  # noqa: PLW2901
        total += Rational(factor.numerator, factor.denominator) * product
    return total


def raw_moments() -> st.SearchStrategy[Any]:
    """Return numbers in the place of six raw moments; the calculus is linear in them, whatever they are."""
    one = fractions(3, 3).map(lambda x: Rational(x.numerator, x.denominator))
    return st.tuples(*[one] * 6).map(lambda values: (S.One, *values))


@examples(12)
@given(polynomials(), raw_moments(), raw_moments())
def test_symbolic_dimension_agrees_with_writing_every_index_out(x: Any, of_q: Any, of_k: Any) -> None:
    """The set-partition rule, taken at d = 1, 2, 3, is the sum over all indices, for random polynomials."""
    population = Population({q: of_q, k: of_k}, d)
    general = evaluate(E(x), population)
    assert all(equal(general.subs(d, n), expanded(E(x), population, n)) for n in (1, 2, 3))


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(E(score**2), id="mean-forgotten"),
        pytest.param(E(score**2) + E(score) ** 2, id="sign-of-the-mean"),
        pytest.param(d * SQUARE, id="different-indices-forgotten"),
        pytest.param(d * SQUARE + d * (d - 1) * PRODUCT - d**2 * PRODUCT**2, id="square-dropped"),
        pytest.param(d**2 * (SQUARE - PRODUCT**2), id="one-pair-reused"),
        pytest.param(SPLIT + (d - 1) * (d - 2) * (d - 3) * PRODUCT, id="right-in-three-dimensions"),
        pytest.param(d, id="assumed-moments"),
    ],
)
def test_what_is_wrong_for_any_moments_does_not_pass(wrong: Any) -> None:
    """Means of 0 and variances of 1 hide none of this, though they are what is assumed."""
    found = proved(Evaluation(STANDARD), Var(score), SPLIT)
    assert found.hypotheses.law == STANDARD.of_any_law()
    assert refused(Evaluation(STANDARD), Var(score), wrong).startswith("the sides differ by")


def test_assumed_moments_are_put_in() -> None:
    """Then the theorem assumes them, and a moment that is not assumed is not known."""
    found = proved(Evaluation(STANDARD, assumed=True), Var(score), d)
    assert found.hypotheses.law == STANDARD
    proved(Evaluation(STANDARD, assumed=True), SPLIT, Var(score))
    refused(Evaluation(STANDARD, assumed=True), Var(score), d + 1)
    assert "nothing is assumed about the moment of order 3" in refused(
        Evaluation(STANDARD, assumed=True), E(score**4), d
    )
    proved(Evaluation(GENERAL, assumed=True), E(score), d * mu_q * mu_k)
    variance = d * (sigma_q**2 * sigma_k**2 + mu_q**2 * sigma_k**2 + mu_k**2 * sigma_q**2)
    proved(Evaluation(GENERAL, assumed=True), Var(score), variance)


def test_components_that_are_alike_share_their_moments() -> None:
    """Others do not, however alike what is assumed of them; of none is more known than independence."""
    other = IndexedBase("other")
    law = dict.fromkeys((q, k, other), (S.One, S.Zero, S.One))
    alike, apart = Population(law, d, alike=((k, other),)), Population(law, d)
    proved(Evaluation(alike), E(q[1] * k[1] ** 3), E(q[1]) * E(other[1] ** 3))
    refused(Evaluation(apart), E(q[1] * k[1] ** 3), E(q[1]) * E(other[1] ** 3))
    refused(Evaluation(alike), E(q[1]), E(k[1]))
    proved(Evaluation(apart), E(q[1] ** 2 * k[1]), E(q[1] ** 2) * E(k[1]))
    refused(Evaluation(apart), E(q[1] ** 2), E(q[1]) ** 2)


def test_quotients_hold_where_they_are_defined() -> None:
    """Both sides of a kurtosis by their parts; the mean that is divided by is not 0."""
    below = d * SQUARE + d * (d - 1) * PRODUCT**2
    found = proved(Evaluation(STANDARD), E(score**4) / E(score**2) ** 2, E(score**4) / below**2)
    assert any(one.has(E(score**2)) for one in found.hypotheses.conditions)
    refused(Evaluation(STANDARD), E(score**4) / E(score**2) ** 2, E(score**4) / (2 * below) ** 2)
    proved(Evaluation(STANDARD, assumed=True), Var(score / sqrt(d)), S.One)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (E(score**3), "moment of order 3 of q"),
        (E(q[index] * score), "stands outside the sums over the index i"),
        (E(Sum(q[index], (index, 0, d))), "only sums from 1 to d_k are covered"),
        (E(Sum(q[index], (index, 1, d + 1))), "only sums from 1 to d_k"),
        (E(Sum(index * q[index], (index, 1, d))), "not independent and alike"),
        (E(Sum(q[index] * q[index + 1], (index, 1, d)) ** 2), "not independent and alike"),
        (E(Sum(q[1] * k[index], (index, 1, d)) ** 2), "not independent and alike"),
        (E(Sum(IndexedBase("c")[index] * q[index], (index, 1, d))), "not independent and alike"),
        (E(E(score) * score), "stands inside another expectation; it is a number, so take it out"),
    ],
)
def test_outside_the_calculus(expression: Any, words: str) -> None:
    """Missing moments, entries outside sums, foreign limits, terms that share something, means of means."""
    with pytest.raises(Refused) as caught:
        prove(Evaluation(STANDARD, assumed=True), expression, S.Zero)
    assert words in str(caught.value)


def test_the_rules_in_turn() -> None:
    """By index no sum is left, by component no product; then the moments are numbers."""
    split = by_index(unfold(Var(score)), ANY)
    assert split == SPLIT
    assert by_component(E(q[index] ** 2 * k[index]), ANY) == E(q[index] ** 2) * E(k[index])
    assert by_moments(E(q[index] ** 2 * k[index]), ANY) == Q[1] * K[0]
    with pytest.raises(Refused, match="split the sums by index first"):
        by_component(E(score), STANDARD)
