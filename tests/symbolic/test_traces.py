"""Over how many indices traces run, which says how many dimensions settle an identity of them."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import Integer, Matrix, MatrixSymbol, Symbol, Trace

from verify.claims.limits import correlated_components, dependent_query_key
from verify.symbolic.kernel.moments import DerivationError
from verify.symbolic.traces import PRODUCT, SIGMA_K, SIGMA_Q, in_numbers, most_indices, settled_by_two

D = Symbol("d", integer=True, positive=True)
A, B = MatrixSymbol("A", D, D), MatrixSymbol("B", D, D)
v, w = MatrixSymbol("v", D, 1), MatrixSymbol("w", D, 1)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (Trace(A), 1),
        (Trace(v.T * w), 1),
        (Trace(A * B), 2),
        (Trace(A**2) + 3 * Trace(B), 2),
        (Trace(v.T * A * w), 2),
        (Trace(v.T * A.T * w) / 2, 2),
        (Trace(A * B * A), 3),
        (Trace(A**3), 3),
        (Trace(v.T * A * B * w), 3),
        (Trace(A) * Trace(B), 2),
        (Trace(A) + Trace(A * B) * Trace(B * A), 4),
        (Integer(5), 0),
    ],
)
def test_indices_are_counted(expression: Any, expected: int) -> None:
    """One for each matrix or pair of vectors in a product; products of traces add up."""
    assert most_indices(expression, D) == expected


@pytest.mark.parametrize("expression", [D * Trace(A), Trace(A) + D, Trace(A + B), Trace(A.inverse() * B)])
def test_what_is_no_sum_of_traces_is_refused(expression: Any) -> None:
    """The size itself, sums inside a trace and inverses."""
    with pytest.raises(DerivationError, match="no product of"):
        most_indices(expression, D)


def test_claims_ask_for_no_more_than_they_write_out() -> None:
    """An identity that needs three dimensions is not settled by two: it does not hold, true or not."""
    for module, lemma in ((dependent_query_key, 0), (correlated_components, 0)):
        derivation = module.derive()
        assert derivation.examine().status == "proved"
        route = derivation.lemmas[lemma]
        (step,) = route.steps
        size = next(iter(step.expression.atoms(MatrixSymbol))).shape[0]
        cube = Trace(MatrixSymbol("C", size, size) ** 3)
        assert not step.check.holds(route.start, step.expression + cube)


def test_traces_in_numbers() -> None:
    """Products, powers and transposes of given matrices; what is not in a trace stays."""
    left, right = Matrix([[1, 2], [3, 4]]), Matrix([[0, 1], [5, 0]])
    given = {A: left, B: right}
    assert in_numbers(2 * Trace(A * B.T * A) - Trace(A**2), given) == (
        2 * (left * right.T * left).trace() - (left**2).trace()
    )


@pytest.mark.parametrize(("wrong_in", "expected"), [(3, True), (2, False), (1, False)])
def test_a_gap_in_one_or_two_dimensions_is_refused(wrong_in: int, expected: bool) -> None:
    """Both sizes count, and what needs three dimensions is not settled by them."""
    check = settled_by_two(lambda _, __, size: Integer(size == wrong_in))
    assert check.holds(PRODUCT, Trace(SIGMA_Q * SIGMA_K)) is expected
    assert not check.holds(PRODUCT, Trace(SIGMA_Q * SIGMA_K * SIGMA_Q))
