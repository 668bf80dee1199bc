"""Many independent terms: the normal law of their sum, first terms of a mean, and which vectors coincide."""

from typing import Any

from sympy import (
    Idx, IndexedBase, KroneckerDelta, Limit, Rational, Sum, Symbol, erf, exp, oo, sign, sqrt, symbols,
)  # fmt: skip

from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.hypotheses import Population
from verify.symbolic.kernel.limits import AboutTheMean, CentralLimit
from verify.symbolic.kernel.matrices import WhichCoincide
from verify.symbolic.kernel.words import E
from verify.symbolic.scores import GENERAL, NORMAL_MOMENTS, STANDARD, d, index, k, q, score

MORE = Rational(101, 100)
x = Symbol("x", real=True)
u, a = symbols("u a", positive=True)
NORMAL_LAW = (1 + erf(x / sqrt(2))) / 2
POPULATION = Population({q: NORMAL_MOMENTS, k: NORMAL_MOMENTS}, d, normal=(q, k))
SQUARES = Sum(q[index] ** 2, (index, 1, d))


def chance(total: Any, deviation: Any) -> Any:
    """Return the limit of the chance that a sum is at most some deviations above 0."""
    return Limit(E((1 + sign(x - total / deviation)) / 2), d, oo)


def test_sums_of_many_terms_become_normal() -> None:
    """Over their own standard deviation, less their own mean, and with a variance that is assumed."""
    rule = CentralLimit(STANDARD)
    proved(rule, chance(score, sqrt(d)), NORMAL_LAW)
    refused(rule, chance(score, sqrt(MORE * d)), NORMAL_LAW)
    refused(rule, chance(score, sqrt(d)), NORMAL_LAW.subs(x, MORE * x))
    refused(rule, chance(score, d), NORMAL_LAW)
    refused(CentralLimit(GENERAL), chance(score, sqrt(d)), NORMAL_LAW)
    refused(CentralLimit(STANDARD.of_any_law()), chance(score, sqrt(d)), NORMAL_LAW)
    growing = Sum(index * q[index], (index, 1, d))
    refused(rule, chance(growing, sqrt(d)), NORMAL_LAW)
    one = Sum(q[1] * k[index], (index, 1, d))
    refused(rule, chance(one, sqrt(d)), NORMAL_LAW)
    shrinking = Sum(q[index] / d, (index, 1, d))
    refused(rule, chance(shrinking, 1 / sqrt(d)), NORMAL_LAW)


def test_the_first_terms_of_a_mean_of_many() -> None:
    """The second derivative at the mean times half the variance, over the number."""
    rule = AboutTheMean(POPULATION, SQUARES, u)
    before = E(exp(-SQUARES / d))
    first = exp(-1) * (1 + 1 / d)
    found = proved(rule, before, first, relation="~")
    assert found.order == (d, 1)
    refused(rule, before, exp(-1) * (1 + MORE / d))
    refused(rule, before, exp(-1))
    assert "bounded" in refused(rule, E(exp(SQUARES / d)), exp(1) * (1 + 1 / d))
    assert "bounded" in refused(rule, E((SQUARES / d) ** -2), 1 + 6 / d)
    assert "does not grow" in refused(rule, d * before, d * first)
    refused(rule, before**2, first**2)
    refused(AboutTheMean(STANDARD, SQUARES, u), before, first)
    assert "positive" in refused(AboutTheMean(POPULATION, score, u), E(exp(-score / d)), 1 + 1 / (2 * d))


i, j, other = Idx("i"), Idx("j"), Idx("l")
N = Symbol("N", integer=True, positive=True)
vectors, one, two, three = (IndexedBase(name) for name in "xabc")
ALIKE = Population(dict.fromkeys((vectors, one, two, three)), d, alike=((vectors, one, two, three),))
RULE = WhichCoincide(ALIKE, vectors, N, (one, two, three))


def of(a: Any, b: Any) -> Any:
    """Return the score of two vectors."""
    return Sum(a[index] * b[index], (index, 1, d))


def test_pairs_of_vectors_coincide_or_not() -> None:
    """N times with itself, N(N - 1) times with another; one sum squared is a sum over two."""
    pairs = Sum(Sum(vectors[j, i] * vectors[other, i], (i, 1, d)), (j, 1, N), (other, 1, N))
    apart = N * E(of(one, one)) + N * (N - 1) * E(of(one, two))
    proved(RULE, E(pairs), apart)
    refused(RULE, E(pairs), N**2 * E(of(one, two)))
    refused(RULE, E(pairs), MORE * apart)
    refused(RULE, E(pairs), apart + (N - 1) * (N - 2) * (N - 3) * E(of(one, one)))
    total = Sum(vectors[j, 1], (j, 1, N))
    different = Sum(
        (1 - KroneckerDelta(j, other)) * vectors[j, i] * vectors[other, i], (j, 1, N), (other, 1, N)
    )
    refused(RULE, E(total**2), N**2 * E(one[1]) ** 2)
    refused(RULE, E(Sum(j * vectors[j, i], (j, 1, N))), N * E(one[i]))
    refused(RULE, E(Sum(KroneckerDelta(j, 1) * vectors[j, i], (j, 1, N))), N * E(one[i]))
    refused(RULE, E(Sum(vectors[j, i], (j, 2, N))), N * E(one[i]))
    assert different.has(KroneckerDelta)


def test_letters_must_be_alike_and_enough() -> None:
    """Four different vectors need four letters, of the same law."""
    square = Sum(Sum(vectors[j, i] * vectors[other, i], (i, 1, d)), (j, 1, N), (other, 1, N)) ** 2
    assert "letters" in refused(RULE, E(square), E(of(one, two)) ** 2)
    apart = Population(dict.fromkeys((vectors, one, two, three)), d)
    pairs = Sum(Sum(vectors[j, i] * vectors[other, i], (i, 1, d)), (j, 1, N), (other, 1, N))
    after = N * E(of(one, one)) + N * (N - 1) * E(of(one, two))
    assert "alike" in refused(WhichCoincide(apart, vectors, N, (one, two, three)), E(pairs), after)
