"""Values in the moment calculus, compared with every outcome of small laws gone through by hand."""

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from sympy import Abs, Expr, IndexedBase, Integer, KroneckerDelta, Rational, S, Sum, Symbol, expand, nan
from sympy import simplify, sqrt

from tests.symbolic.lines import FOUR
from verify.errors import ClaimError
from verify.symbolic.checks import derive
from verify.symbolic.calculus import NotDerived, expected
from verify.symbolic.vocabulary import GENERAL, NORMAL_ROWS, STANDARD, Dot, E
from verify.symbolic.vocabulary import Family, Largest, Law, Quantile, Var, a, b, d, i, j, k, l
from verify.symbolic.vocabulary import n, normal
from verify.symbolic.vocabulary import over_keys, q, s, score, score_of, v

N = Symbol("N", integer=True, positive=True)
mu = Symbol("mu", real=True)


def by_outcomes(sums: list[tuple[int, int]], points: list[tuple[Fraction, Fraction]], size: int) -> Fraction:
    """Return the mean of a product of dot products of rows by all outcomes of their entries."""
    rows = sorted({row for pair in sums for row in pair})
    places = [(row, at) for row in rows for at in range(size)]
    total = Fraction(0)
    for outcome in product(points, repeat=len(places)):
        entry = dict(zip(places, outcome, strict=True))
        weight, value = Fraction(1), Fraction(1)
        for _, share in outcome:
            weight *= share
        for first, second in sums:
            value *= sum((entry[first, at][0] * entry[second, at][0] for at in range(size)), Fraction(0))
        total += weight * value
    return total


@given(
    st.lists(st.sampled_from([(0, 1), (0, 2), (1, 2), (0, 0)]), min_size=1, max_size=4),
    st.lists(st.integers(-3, 3), min_size=2, max_size=2, unique=True),
    st.integers(1, 2),
)
@settings(max_examples=25, deadline=None)
def test_a_product_of_dot_products_has_the_mean_over_all_outcomes(
    sums: list[tuple[int, int]], values: list[int], size: int
) -> None:
    """Any product of up to four dot products of three rows, whose entries have two values."""
    points = [(Fraction(values[0]), Fraction(1, 3)), (Fraction(values[1]), Fraction(2, 3))]
    raw = [sum((w * y**order for y, w in points), Fraction(0)) for order in range(9)]
    law = Law("two values", tuple(Rational(r.numerator, r.denominator) for r in raw))
    rows = (a, b, j)
    vectors = Family("y", N, d)
    expression = S.One
    for first, second in sums:
        expression *= Dot(vectors, rows[first], vectors, rows[second])
    value = expected(E(expression), {vectors: law}).subs(d, size)
    assert value == by_outcomes(sums, points, size)


@given(st.integers(1, 3), st.integers(1, 3), st.permutations([1, 1, 2, 2]))
@settings(max_examples=10, deadline=None)
def test_sums_over_keys_count_equal_keys_apart(size: int, keys: int, powers: list[int]) -> None:
    """A product of sums over keys is the same product written out key by key."""
    laws = {q: normal(1, 2), k: normal(0, 1)}
    y = Family("k", n, d)
    written = [[score_of(a, key) ** power for key in range(1, keys + 1)] for power in powers[:2]]
    at_numbers = E(expand(sum(written[0]) * sum(written[1])))
    symbolic = E(over_keys(Dot(q, a, y, j) ** powers[0]) * over_keys(Dot(q, a, y, l) ** powers[1], l))
    assert (expected(symbolic, laws).subs(n, keys) - expected(at_numbers, laws)).subs(d, size).expand() == 0


@pytest.mark.parametrize(
    ("expression", "laws", "missing"),
    [
        (E(Largest(score, j)), STANDARD, r"E\(Largest\(Dot\(q, a, k, j\), j\)\) is no mean of a polynomial"),
        (E(Abs(score)), STANDARD, r"E\(Abs\(Dot\(q, a, k, j\)\)\) is no mean of a polynomial"),
        (E(score**4), STANDARD, "moment 4 of components with mean 0 and variance 1 is not given"),
        (
            E(score**3),
            {q: normal(), k: Law("t(3)", (S.One, S.Zero, S(3), nan))},
            r"t\(3\): there is no moment of order 3",
        ),
        (E(IndexedBase("w")[j]), STANDARD, "w is no family"),
        (E(v[j, i]), STANDARD, "no law of v is assumed"),
        (Quantile(score, Rational(1, 2)), STANDARD, "does not follow from moments"),
        (E(q[a, 2 * i]), STANDARD, "is no place"),
        (E(Sum(score, (j, 2, n))), STANDARD, "only sums from 1"),
        (E(Sum(q[a, i], (i, 1, n))), STANDARD, "a sum ends at n, and the range of q at d_k"),
        (Sum(E(k[j, i] * k[l, i]), (l, 2, n)), STANDARD, "has means of several places"),
        (E(KroneckerDelta(j, l) * score), STANDARD, "Kronecker delta"),
    ],
)
def test_what_is_missing_is_named(expression: Expr, laws: dict[Family, Law], missing: str) -> None:
    """Where no value follows, one line says which moment, law or form is missing."""
    with pytest.raises(NotDerived, match=missing) as refused:
        expected(expression, laws)
    assert isinstance(refused.value, ClaimError)
    assert "\n" not in str(refused.value)


def test_an_automatic_chain_is_short_and_checked() -> None:
    """A chain that is written for a question ends at its value, and its checks accept each line."""
    for expression, laws in ((Var(score), GENERAL), (E(score**4) / Var(score) ** 2, FOUR)):
        chain = derive(expression, laws)
        assert [line.problem for line in chain.checked] == ["", ""]
        assert (chain.end - expected(expression, laws)).simplify() == 0


@pytest.mark.parametrize("sizes", [{n: 3}, {n: 5}])
def test_terms_of_a_sum_may_depend_on_the_place(sizes: dict[Any, int]) -> None:
    """Summed by hand: places coincide with each other, with a free one and with a numbered one."""
    biased, many = s[a, j] - mu * j, sizes[n]
    row = E(over_keys(biased**2) / n - (over_keys(biased) / n) ** 2)
    assert _number(expected(row, NORMAL_ROWS), sizes, mu=2) == 1 - Rational(1, many) + Rational(
        many**2 - 1, 3
    )
    together = E(s[a, 2] ** 2 * over_keys(j * s[a, j]) * over_keys(j**2 * s[a, j]))
    cubes = sum(at**3 for at in range(1, many + 1))
    assert _number(expected(together, NORMAL_ROWS), sizes) == cubes + 2 * 2**3
    free = E(s[a, l] ** 2 * s[a, 1] ** 2 * over_keys(sqrt(j) * s[a, j]))
    roots = [sqrt(at) for at in range(1, many + 1)]
    by_hand = 4 * sum(roots) + 4 * (roots[0] + roots[1])
    assert simplify(_number(expected(free, {s: normal(1)}), sizes, l=2) - by_hand) == 0


def _number(value: Expr, sizes: dict[Any, int], **given: int) -> Expr:
    names = {symbol: given[str(symbol)] for symbol in value.free_symbols if str(symbol) in given}
    return value.xreplace({n: Integer(sizes[n])}).subs(names).doit()


def test_an_index_that_a_sum_binds_catches_no_free_one() -> None:
    """The i of a score's own sum is another than a component i beside it."""
    assert expected(E(Dot(q, a, k, j) * q[a, i]), GENERAL) == expected(E(Dot(q, a, k, j) * q[a, l]), GENERAL)
