"""Traces of products of covariance matrices, and how many dimensions settle an identity between them."""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import TYPE_CHECKING, Any

from sympy import Add, Integer, MatMul, MatPow, MatrixSymbol, Mul, Symbol, Trace, Transpose

from verify.symbolic.checks import By
from verify.symbolic.kernel.algebra import is_zero
from verify.symbolic.kernel.core import Refused
from verify.symbolic.printing import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sympy.matrices.expressions.matexpr import MatrixExpr

SIZE = Symbol("d", integer=True, positive=True)
"""The dimension, as the size of a matrix."""

SIGMA_Q, SIGMA_K = MatrixSymbol("Sigma_q", SIZE, SIZE), MatrixSymbol("Sigma_k", SIZE, SIZE)
"""The covariance matrices of a query and a key."""

PRODUCT = Symbol(r"q^{\mathsf T} k")
"""The score of a query and a key of any joint distribution."""


def in_numbers(expression: Any, given: Mapping[Any, Any]) -> Any:
    """Return the value of an expression in traces for the ``given`` matrices."""
    return expression.replace(
        lambda part: isinstance(part, Trace), lambda part: _in_numbers(part.arg, given).trace()
    ).doit()


def _in_numbers(matrix: Any, given: Mapping[Any, Any]) -> Any:
    if isinstance(matrix, Transpose):
        return _in_numbers(matrix.arg, given).T
    if isinstance(matrix, MatMul):
        return reduce(mul, (_in_numbers(one, given) for one in matrix.args))
    return _in_numbers(matrix.base, given) ** matrix.exp if isinstance(matrix, MatPow) else given[matrix]


def settled_by_two(gap: Callable[[Any, Any, int], Any]) -> By:
    """Return the check of a step to a sum of traces from the ``gap`` between its sides in so many dimensions.

    The gap must be 0 in one and in two dimensions, for all entries of the matrices, which is enough for
    terms over two indices at most; others are refused.
    """

    def holds(before: Any, after: Any) -> bool:
        few = most_indices(after, SIZE) <= 2
        return few and all(is_zero(gap(before, after, size)) for size in (1, 2))

    return By("written out for 1 and 2 dimensions, which settle it: no term holds more", holds)


def most_indices(expression: Any, size: Any) -> int:
    """Return over how many indices from 1 to ``size`` the terms of a sum of traces run, at most.

    Each monomial in the matrices' entries then holds entries of at most so many dimensions, and is also one
    of the same expression in those dimensions alone, all other entries being 0. So two expressions with at
    most k indices that agree in k dimensions, for all entries, agree in every number of dimensions.

    Raises:
        Refused: a term is no product of numbers and traces, or depends on the size itself.
    """
    return max(_indices_of_term(term, size) for term in Add.make_args(expression))


def _indices_of_term(term: Any, size: Any) -> int:
    factors = Mul.make_args(term)
    traces = [one for one in factors if isinstance(one, Trace)]
    if any(size in one.free_symbols for one in factors if not isinstance(one, Trace)):
        raise Refused(f"{plain(term)}: no product of numbers and traces")
    return sum(_indices_of_product(one.arg, size) for one in traces)


def _indices_of_product(matrix: MatrixExpr, size: Any) -> int:
    """Return how many factors of a product have as many columns as there are dimensions."""
    factors = matrix.args if matrix.is_MatMul else (matrix,)
    total = 0
    for one in factors:
        base, power = one.args if isinstance(one, MatPow) else (one, Integer(1))
        if base.is_MatAdd or base.is_MatMul or not (isinstance(power, Integer) and power > 0):
            raise Refused(f"{plain(matrix)}: no product of matrices")
        total += int(power) * (base.shape[1] == size)
    return total
