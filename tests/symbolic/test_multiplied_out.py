"""Expressions with sums multiplied out into terms: the terms add up to what was given, or it is refused."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import (
    Derivative,
    Function,
    Idx,
    Indexed,
    IndexedBase,
    KroneckerDelta,
    Rational,
    S,
    Sum,
    Symbol,
    exp,
    log,
)

from verify.symbolic.kernel.moments import DerivationError, E
from verify.symbolic.kernel.multiplied_out import Reader
from verify.symbolic.kernel.terms import Families, Term
from verify.symbolic.kernel.words import n

x, y, z = (IndexedBase(name) for name in "xyz")
i, j, k = (Idx(name) for name in "ijk")
a, m = Symbol("a"), Symbol("m", integer=True)
FAMILIES = Families(sizes={x: (n,), y: (n,), z: (n, m)}, indices={i: n, j: n}, made_of={}, variances={y: a})
SUM = Sum(x[k], (k, 1, n))
SIZES = {n: 3, m: 2}
PLACES = {i: 2, j: 3}


def terms(expression: Any, families: Families = FAMILIES) -> tuple[Term, ...]:
    """Return the terms of an expression."""
    return Reader(families, expression).terms(expression)


def put_together(found: tuple[Term, ...]) -> Any:
    """Return the sum of terms as one expression, their bound indices summed over."""
    total = S.Zero
    for term in found:
        product = term.coefficient
        for entry, power in term.powers.items():
            product *= entry**power
        total += (
            Sum(product, *((index, 1, size) for index, size in term.bound.items())) if term.bound else product
        )
    return total


def number(expression: Any) -> Any:
    """Return an expression's value for three keys, its entries rational numbers."""
    whole = expression.subs(SIZES).doit().subs(PLACES).doit()
    entries = {
        one: Rational(2 + sum(7**place * int(index) for place, index in enumerate(one.indices)), 5)
        for one in whole.atoms(Indexed)
    }
    return whole.xreplace(entries).doit()


@pytest.mark.parametrize(
    "expression",
    [
        SUM**2 - SUM,
        (SUM + a) * (x[i] - 2 * SUM) ** 2,
        Sum(x[k] * Sum(x[k] * x[j], (j, 1, n)), (k, 1, n)),
        Sum(z[k, 1] * z[k, 2], (k, 1, n)) / x[1],
        SUM / x[i] ** 2,
        Sum(KroneckerDelta(i, k) * x[k] * y[k], (k, 1, n)),
        Sum(KroneckerDelta(j, k) * KroneckerDelta(k, i), (k, 1, n)),
        KroneckerDelta(i, j) ** 2 * x[i] * x[j],
        Sum(a + x[i], (k, 1, n)),
        Sum(x[k], (k, 1, n), (i, 1, n)),
        Derivative(x[i] ** 2 * x[j], x[i]),
        log(x[1] ** 2 / x[2]) + log(a),
    ],
)
def test_terms_add_up_to_what_was_given(expression: Any) -> None:
    """Written out for three keys, in exact numbers."""
    found = terms(expression)
    assert (number(put_together(found)) - number(expression)).expand(log=True, force=True).equals(0)
    for term in found:
        # No index is left on which nothing depends, and no two are one.
        assert all(any(index in entry.free_symbols for entry in term.powers) for index in term.bound)


def test_sums_have_indices_of_their_own() -> None:
    """In a square the two sums are not one, although they were written with one name."""
    (term,) = terms(SUM**2)
    assert len(term.bound) == len(term.powers) == 2
    assert not {k, i} & term.bound.keys()


def test_a_delta_is_0_or_1_so_that_its_powers_are_itself() -> None:
    """And what stands beside it is written with one of its two indices."""
    (one,), (squared,) = (terms(KroneckerDelta(i, j) ** power * x[j]) for power in (1, 2))
    assert one == squared
    assert one == terms(KroneckerDelta(i, j) * x[i])[0]


def test_exponentials_multiply_by_their_exponents() -> None:
    """exp(x + 2y) is exp(x) exp(y)²; the sum over all keys is one factor, wherever it stands."""
    (term,) = terms(exp(x[i] + 2 * x[j]))
    assert term.powers == {exp(x[i]): 1, exp(x[j]): 2}
    total = Sum(exp(x[k]), (k, 1, n))
    (one,) = terms(exp(x[i]) / total)
    (same,) = terms(exp(x[i]) / Sum(exp(x[j]), (j, 1, n)))
    assert one == same
    assert not one.bound
    assert terms(total / total) == (Term(),)


def test_means_are_those_of_independent_entries() -> None:
    """One entry alone has mean 0; of two, the variance where they are one; what is not drawn stays."""
    assert terms(E(y[i])) == ()
    assert terms(E(x[i])) == (Term(powers={x[i]: 1}),)
    assert terms(E(y[i] * y[i])) == (Term(a),)
    assert terms(E(y[i] * y[j])) == (Term(a, {KroneckerDelta(i, j): 1}),)
    assert number(put_together(terms(E(Sum(x[k] * y[k], (k, 1, n)) ** 2)))) == number(
        a * Sum(x[k] ** 2, (k, 1, n))
    )


def test_a_family_may_be_made_of_another() -> None:
    """Each of its entries is what its function returns."""
    families = Families(sizes={x: (n,)}, made_of={y: lambda index: x[index] ** 2}, indices={i: n})
    found = terms(Sum(y[k], (k, 1, n)) + y[i], families)
    assert Term(powers={x[i]: 2}) in found
    assert number(put_together(found)) == number(Sum(x[k] ** 2, (k, 1, n)) + x[i] ** 2)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (Sum(x[k], (k, 2, n)), "only sums from 1 are covered"),
        (1 / (x[i] + x[j]), "one over several terms has no normal form"),
        (1 / SUM, "one over a sum that is no total has no normal form"),
        (x[i] ** a, "has no normal form"),
        (Function("f")(x[i]), "has no normal form"),
        (log(x[i] + 1), "the logarithm of a sum has no normal form"),
        (log(SUM), "the logarithm of a sum has no normal form"),
        (E(y[i] ** 3), "nothing is said about moments of y beyond the second"),
        (Sum(x[k], (k, 1, m)), "its index does not run over all of its values"),
        (Sum(x[k + 1], (k, 1, n)), "its index does not run over all of its values"),
        (x[0] * x[1], "there is no such entry"),
        (Sum(KroneckerDelta(k, m) * x[k], (k, 1, n)), "its indices do not run over the same values"),
    ],
)
def test_what_has_no_normal_form_is_refused(expression: Any, reason: str) -> None:
    """With what it is, and nothing is assumed of it."""
    with pytest.raises(DerivationError, match=reason):
        terms(expression)
