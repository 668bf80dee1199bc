"""The powers of the dimension: none is missed, and as many dimensions settle what is so, and only that."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Poly, PolynomialError, Pow, Rational, S, Sum, Symbol, expand, sqrt, symbols
from verify.symbolic.expansion import Expansion, expanded
from verify.symbolic.powers import powers_of_dimension

from verify.symbolic.kernel.algebra import with_powers
from verify.symbolic.kernel.moments import DerivationError, E, Var, evaluate
from verify.symbolic.scores import GENERAL, STANDARD, d, index, k, q, score

e = Symbol("e", positive=True)
PRODUCT = E(q[index] * k[index])


@pytest.mark.parametrize(
    ("expression", "powers"),
    [
        (E(score), {1}),
        (E(score**2), {1, 2}),
        (E(score) ** 2, {2}),
        (Var(score), {1, 2}),
        (E(score**4), {1, 2, 3, 4}),
        (E(score / sqrt(d)), {S.Half}),
        (E(score**2 / d), {0, 1}),
        (Var(score / sqrt(d + e)), {1, 2}),
        (E(score / sqrt(d + e)) ** 2, {2}),
        (E(score) / E(score**2), {1}),
        (E(score) / E(score**2) + d, {1, 2, 3}),
        (3 * d**2 + sqrt(d), {S.Half, 2}),
        (S.Zero, set()),
        (PRODUCT, {0}),
    ],
)
def test_the_powers_of_expressions(expression: Any, powers: set[Any]) -> None:
    """Sums in a product bring as many powers; a quotient's are those of its numerator."""
    assert powers_of_dimension(expression, S.Zero, GENERAL) == powers


@pytest.mark.parametrize(
    "expression", [sqrt(E(score**2)), E(1 / score), 2**d, E(sqrt(score)), 1 / (1 / (1 + d) + 1)]
)
def test_what_is_no_quotient_of_powers_is_refused(expression: Any) -> None:
    """Roots and exponentials of the dimension, and quotients of quotients."""
    with pytest.raises(DerivationError):
        powers_of_dimension(expression, S.Zero, STANDARD)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=3), st.integers(0, 2))
def test_no_power_is_missed(orders: list[int], beside: int) -> None:
    """Every power in the moment calculus' value of a product of sums is among those named."""
    argument = d**beside
    for order in orders:
        argument *= Sum(q[index] ** order * k[index], (index, 1, d))
    value = expand(evaluate(E(argument), GENERAL.any_law()))
    found = {power for (power,) in Poly(value, d).monoms()} if value != 0 else set()
    assert found <= powers_of_dimension(E(argument), S.Zero, GENERAL)


def test_fewer_dimensions_would_not_do() -> None:
    """A wrong power that vanishes in one dimension, or in two, is found by the next."""
    two = E(score) + PRODUCT**2 * d * (d - 1)
    assert expanded(E(score) - two, STANDARD.any_law(), 1) == 0
    assert not Expansion(STANDARD).holds(E(score), two)
    three = E(score**2) + PRODUCT**2 * d * (d - 1) * (d - 2)
    assert all(expanded(E(score**2) - three, STANDARD.any_law(), n) == 0 for n in (1, 2))
    assert not Expansion(STANDARD).holds(E(score**2), three)


def test_quotients_agree_by_their_parts() -> None:
    """Numerators and denominators, with terms that both sides have left out; a hundredth more is seen."""
    before = E(score**4) / E(score**2) ** 2 - 3
    square, other = (E(q[index] ** n * k[index] ** n) for n in (2, 1))
    below = d * square + d * (d - 1) * other**2
    assert Expansion(STANDARD).holds(before, E(score**4) / below**2 - 3)
    assert not Expansion(STANDARD).holds(before, E(score**4) / (below * Rational(101, 100)) ** 2 - 3)
    assert not Expansion(STANDARD).holds(before, E(score**4) * Rational(101, 100) / below**2 - 3)


def test_polynomials_are_multiplied_out_as_expand_does() -> None:
    """Roots and other functions are symbols of their own; a symbol in a denominator is refused."""
    x, y, a = symbols("x y a")
    expression = (x + sqrt(2) * y / a) ** 3 * (x - Rational(1, 3))
    assert with_powers(expression, (x, y), Pow) == expand(expression)
    values = {
        (x, 1): S.Zero,
        (x, 2): Rational(1, 3),
        (x, 3): a,
        (x, 4): S.One,
        (y, 1): a,
        (y, 2): 1 / a,
        (y, 3): 3,
    }
    by_hand = Poly(expand(expression), x, y).terms()
    wanted = sum(c * values.get((x, m), 1) * values.get((y, n), 1) for (m, n), c in by_hand)
    assert with_powers(expression, (x, y), lambda one, power: values[one, power]) == expand(wanted)
    with pytest.raises(PolynomialError):
        with_powers(1 / x + y, (x, y), Pow)
