"""Laws of random numbers: what holds given the rest, and for whom it does not."""

from typing import Any

import pytest
from sympy import Idx, Integral, Rational, Sum, Symbol, exp, oo, sqrt, symbols

from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.core import prove
from verify.symbolic.kernel.hypotheses import Population
from verify.symbolic.kernel.laws import (
    AlikeTerms, AlongAndAcross, DensityGiven, NormalGiven, RootOfMeanSquare, SumOfSquares, chi_square_density,
    density, normal_density,
)  # fmt: skip
from verify.symbolic.kernel.special_integrals import GaussIntegrals
from verify.symbolic.kernel.words import E
from verify.symbolic.scores import NORMAL_VECTORS, STANDARD, d, index, k, q, score

MORE = Rational(101, 100)
y, t, c = symbols("y t c", real=True)
v, w, x, z = symbols("v w x z", positive=True)
j = Idx("j")
n = Symbol("n", integer=True, positive=True)
SQUARES = Sum(q[index] ** 2, (index, 1, d))
OTHERS = Sum(k[index] ** 2, (index, 1, d))


def of_normal(function: Any, mean: Any) -> Any:
    """Return the theorem of the mean of a function of a normal number of variance v."""
    whole = Integral(function * normal_density(y, v), (y, -oo, oo))
    return prove(GaussIntegrals(y), whole, mean)


WAVE = of_normal(exp(t * y / 2), exp(t**2 * v / 8))
WIDER = Population({q: (1, 0, 1), k: (1, 0, 4)}, d, normal=(q, k))
MOVED = Population({q: (1, 0, 1), k: (1, 1, 2)}, d, normal=(q, k))


def test_given_the_query_a_score_is_normal() -> None:
    """With the variance of the key's components times the query's squared length, and a law of its own."""
    found = proved(
        NormalGiven(NORMAL_VECTORS, k, score, WAVE, v), E(exp(t * score / 2)), E(exp(t**2 * SQUARES / 8))
    )
    assert found.hypotheses.law == NORMAL_VECTORS
    proved(NormalGiven(WIDER, k, score, WAVE, v), E(exp(t * score / 2)), E(exp(t**2 * SQUARES / 2)))
    one = q[index] * k[index]
    proved(
        NormalGiven(NORMAL_VECTORS, k, one, WAVE, v),
        3 * E(exp(t * one / 2)),
        3 * E(exp(t**2 * q[index] ** 2 / 8)),
    )
    alone = NormalGiven(NORMAL_VECTORS, q, q[index], WAVE, v)
    proved(alone, E(exp(t * q[index] / 2)), exp(t**2 / 8))


REPEATED = Sum(k[1] * q[index], (index, 1, d))


@pytest.mark.parametrize(
    ("law", "part", "before", "words"),
    [
        pytest.param(STANDARD, score, E(exp(t * score / 2)), "not known to be normal", id="any law"),
        pytest.param(MOVED, score, E(exp(t * score / 2)), "with mean 0", id="not centred"),
        pytest.param(NORMAL_VECTORS, score, E(exp(t * score)), "not about the mean", id="another function"),
        pytest.param(NORMAL_VECTORS, score, E(exp(t * score / 2) * q[1] ** 2), "no mean", id="more inside"),
        pytest.param(NORMAL_VECTORS, OTHERS, E(exp(t * OTHERS / 2)), "no multiple", id="a square"),
        pytest.param(NORMAL_VECTORS, REPEATED, E(exp(t * REPEATED / 2)), "not independent", id="one entry"),
        pytest.param(
            NORMAL_VECTORS,
            c * k[index],
            E(exp(t * c * k[index] / 2)),
            "not known to be positive",
            id="0 times",
        ),
    ],
)
def test_what_is_not_normal_given_the_rest(law: Any, part: Any, before: Any, words: str) -> None:
    """Another law, a mean, a square, an entry that repeats, a factor that may vanish."""
    for after in (E(exp(t**2 * SQUARES / 8)), exp(t**2 / 8)):
        assert words in refused(NormalGiven(law, k, part, WAVE, v), before, after)


def test_the_density_given_the_query() -> None:
    """Away from 0; with the right variance, and of what is normal."""
    before, after = density(score, x), E(normal_density(x, SQUARES))
    proved(DensityGiven(NORMAL_VECTORS, k, score), before, after)
    refused(DensityGiven(NORMAL_VECTORS, k, score), before, E(normal_density(x, MORE * SQUARES)))
    refused(DensityGiven(STANDARD, k, score), before, after)
    assert "other than 0" in refused(
        DensityGiven(NORMAL_VECTORS, k, score), density(score, c), E(normal_density(c, SQUARES))
    )
    refused(DensityGiven(NORMAL_VECTORS, k, score), density(2 * score, x), after)


def test_the_squared_length_is_chi_square() -> None:
    """Of as many degrees of freedom as there are components, of standard normal ones."""
    rule = SumOfSquares(NORMAL_VECTORS, q, w)
    before, after = E(exp(-SQUARES)), Integral(exp(-w) * chi_square_density(w, d), (w, 0, oo))
    proved(rule, before, after)
    refused(rule, before, after.subs(d, d + 1))
    refused(rule, before, MORE * after)
    refused(SumOfSquares(WIDER, k, w), E(exp(-OTHERS)), after)
    refused(SumOfSquares(STANDARD, q, w), before, after)
    assert "still random" in refused(rule, E(exp(-SQUARES * OTHERS)), after)
    assert "no positive symbol" in refused(rule, E(exp(-w * SQUARES)), after)
    assert "neither bounded" in refused(
        rule, E(SQUARES - d), Integral((w - d) * chi_square_density(w, d), (w, 0, oo))
    )
    first = Sum(q[index] ** 2, (index, 2, d))
    refused(rule, E(exp(-first)), after)


COSINE = score**2 / (SQUARES * OTHERS)
ALONG = 2 * normal_density(z, 1) * chi_square_density(w, d - 1)


def test_a_component_is_along_the_key() -> None:
    """For more than one dimension, of functions that do not see the key's length or the sign."""
    rule = AlongAndAcross(NORMAL_VECTORS, q, score, z, w)
    after = Integral(z**2 / (z**2 + w) * ALONG, (z, 0, oo), (w, 0, oo))
    found = proved(rule, E(COSINE), after)
    assert found.hypotheses.domain(d).inf == 2
    refused(rule, E(COSINE), after.subs(d, d + 1))
    refused(rule, E(COSINE), Integral(after.function, (z, 0, oo), (w, 1, oo)))
    refused(rule, E(COSINE), MORE * after)
    assert "still random" in refused(rule, E(score**2 / SQUARES), after)
    assert "not even" in refused(rule, E(score / sqrt(SQUARES * OTHERS)), after)
    refused(AlongAndAcross(STANDARD, q, score, z, w), E(COSINE), after)


def test_alike_terms_add_up() -> None:
    """As many as there are; not where a term knows its place."""
    rule = AlikeTerms(NORMAL_VECTORS, j)
    one = exp(Sum(q[index] * k[j, index], (index, 1, d)))
    proved(rule, E(Sum(one, (j, 1, n))), n * E(one))
    refused(rule, E(Sum(one, (j, 1, n))), (n + 1) * E(one))
    refused(rule, E(Sum(one, (j, 2, n))), n * E(one))
    for term in (j * k[j], k[j] * k[1], k[j, j], k[j + 1], q[j] * Symbol("a") ** j):
        refused(rule, E(Sum(term, (j, 1, n))), n * E(term))


def test_no_variance_is_negative() -> None:
    """For what is real."""
    length = sqrt(SQUARES)
    proved(RootOfMeanSquare(), E(length), sqrt(E(SQUARES)), relation="≤")
    refused(RootOfMeanSquare(), E(length), sqrt(E(SQUARES)) / MORE)
    refused(RootOfMeanSquare(), E(Symbol("u")), sqrt(E(Symbol("u") ** 2)))
    refused(RootOfMeanSquare(), 2 * E(length), sqrt(E(SQUARES)))
