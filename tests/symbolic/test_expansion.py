"""Checks over expectations: any moments unless a step puts the assumed ones in, and sums of like terms."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import Idx, IndexedBase, S, Sum, Symbol
from verify.symbolic.expansion import Evaluation, Expansion, expanded
from verify.symbolic.powers import powers_of_dimension

from verify.symbolic.kernel.moments import DerivationError, E, Population, Var, evaluate
from verify.symbolic.scores import CENTRED, GENERAL, STANDARD, d, index, k, q, score

CHECKS = (Expansion(STANDARD), Evaluation(STANDARD))
PRODUCT = E(q[index] * k[index])
SQUARE = E(q[index] ** 2 * k[index] ** 2)
SPLIT = d * SQUARE + d * (d - 1) * PRODUCT**2 - d**2 * PRODUCT**2


@pytest.mark.parametrize("check", CHECKS, ids=["expansion", "evaluation"])
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(E(score**2), id="mean-forgotten"),
        pytest.param(E(score**2) + E(score) ** 2, id="sign-of-the-mean"),
        pytest.param(d * SQUARE, id="different-indices-forgotten"),
        pytest.param(d * SQUARE - d**2 * PRODUCT**2, id="off-diagonal-dropped"),
        pytest.param(d * SQUARE + d * (d - 1) * PRODUCT - d**2 * PRODUCT**2, id="square-dropped"),
        pytest.param(d * SQUARE + d * (d - 1) * PRODUCT**3 - d**2 * PRODUCT**2, id="cube"),
        pytest.param(SPLIT.subs(PRODUCT, E(q[index])), id="key-dropped"),
        pytest.param(SPLIT.subs(SQUARE, E(q[index] ** 2 * k[index])), id="power-dropped"),
        pytest.param(SPLIT.subs(SQUARE, E(q[index] ** 2) ** 2), id="two-queries"),
        pytest.param(d, id="assumed-moments"),
    ],
)
def test_what_is_wrong_for_any_moments_does_not_pass(check: Any, wrong: Any) -> None:
    """Means of 0 and variances of 1 hide none of this, though they are what is assumed."""
    assert check.holds(Var(score), SPLIT)
    assert not check.holds(Var(score), wrong)


@pytest.mark.parametrize("kind", [Expansion, Evaluation])
def test_assumed_moments_are_put_in_and_nothing_else(kind: Any) -> None:
    """The value is the assumed one, and a step that leaves an expectation is refused."""
    check = kind(STANDARD, assumed=True)
    assert check.holds(SPLIT, d)
    assert check.holds(d, Var(score))
    assert not check.holds(SPLIT, d + 1)
    with pytest.raises(DerivationError, match="leaves no expectation; make two steps of it"):
        check.holds(Var(score), E(score**2))
    with pytest.raises(DerivationError, match="leaves no expectation"):
        check.holds(E(score), 3 * E(score))


def test_any_law_is_shared_and_separates_components() -> None:
    """The same components give the same object, whatever is assumed; alike ones share moments."""
    assert STANDARD.any_law() is GENERAL.any_law() is CENTRED.any_law()
    law = STANDARD.any_law()
    assert law.moment(q, 0) == 1
    seen = {law.moment(one, order) for one in (q, k) for order in range(1, 5)}
    assert len(seen) == 8
    other = IndexedBase("other")
    moments = dict.fromkeys((q, k, other), (S.One, S.Zero, S.One))
    alike = Population(moments, d, alike=((k, other),)).any_law()
    assert alike.moment(k, 3) == alike.moment(other, 3) != alike.moment(q, 3)
    apart = Population(moments, d).any_law()
    assert apart.moment(k, 3) != apart.moment(other, 3)
    with pytest.raises(DerivationError, match="moment of order 13"):
        law.moment(q, 13)


def test_only_as_many_dimensions_as_are_allowed() -> None:
    """A step that a proof would take more for is unchecked, and does not hold."""
    assert Expansion(STANDARD, most=2).holds(Var(score), SPLIT)
    assert not Expansion(STANDARD, most=1).holds(Var(score), SPLIT)


j = Idx("j")


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        (Sum(index * q[index], (index, 1, d)), "the index stands outside the components"),
        (Sum(q[index] * k[index] ** index, (index, 1, d)), "the index stands outside the components"),
        (Sum(q[index], (index, 0, d)), "only single sums from 1 to d_k"),
        (Sum(q[index], (index, 1, -d)), "only single sums from 1 to d_k"),
        (Sum(q[index], (index, 1, 2 * d)), "only single sums from 1 to d_k"),
        (Sum(q[index] * j, (index, 1, d), (j, 1, d)), "only single sums from 1 to d_k"),
        (Sum(k[index] * Sum(q[index], (index, 1, d)), (index, 1, d)), "only single sums from 1 to d_k"),
        (Sum(q[index] * q[index + 1], (index, 1, d)), "not independent and alike"),
        (Sum(q[1] * q[index], (index, 1, d)), "not independent and alike"),
        (Sum(q[5] * k[index], (index, 1, d)), "not independent and alike"),
        (Sum(IndexedBase("c")[index] * q[index], (index, 1, d)), "not independent and alike"),
        (q[5] * Sum(q[index], (index, 1, d)), "a component stands outside the sums"),
        (q[index] * Sum(q[index], (index, 1, d)), "a component stands outside the sums"),
    ],
)
def test_unlike_terms_are_refused(argument: Any, words: str) -> None:
    """The degree in the dimension says nothing where terms depend on their index, or on each other."""
    for before, after in ((E(argument), S.Zero), (S.Zero, Var(argument))):
        with pytest.raises(DerivationError, match=words):
            powers_of_dimension(before, after, STANDARD)
        with pytest.raises(DerivationError, match=words):
            Expansion(STANDARD).holds(before, after)


def test_a_plain_random_variable_may_stand_beside_sums() -> None:
    """It is the same in every dimension."""
    v = Symbol("v")
    population = Population({**STANDARD.moments, v: (S.One, S.Zero, S.One)}, d)
    assert Expansion(population).holds(E(v**2 * score**2), E(v**2) * E(score**2))
    assert not Expansion(population).holds(E(v**2 * score**2), E(v) ** 2 * E(score**2))


@pytest.mark.parametrize(
    ("expression", "inner"),
    [
        (E(E(score) * score), r"E\(Sum"),
        (E((score - E(score)) ** 2), r"E\(Sum"),
        (Var(score - E(q[index])), r"E\(q\[i\]\)"),
        (E(Var(q[index]) * k[index]), r"Var\(q\[i\]\)"),
    ],
)
def test_an_expectation_inside_another_is_refused(expression: Any, inner: str) -> None:
    """By name, with what to write instead."""
    words = (
        rf"{inner}.* stands inside another expectation; it is a number, so take it out.*write Var\(x\) for"
    )
    for compute in (evaluate, lambda x, law: expanded(x, law, 2)):
        with pytest.raises(DerivationError, match=words) as caught:
            compute(expression, STANDARD)
        assert "\n" not in str(caught.value)
