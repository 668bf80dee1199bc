"""How many dimensions settle an identity between traces of products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sympy import Add, Integer, MatPow, Mul, Trace

from verify.symbolic.expectation import DerivationError
from verify.symbolic.printing import plain

if TYPE_CHECKING:
    from sympy.matrices.expressions.matexpr import MatrixExpr


def most_indices(expression: Any, size: Any) -> int:
    """Return over how many indices from 1 to ``size`` the terms of a sum of traces run, at most.

    Each monomial in the matrices' entries then holds entries of at most so many dimensions, and is also one
    of the same expression in those dimensions alone, all other entries being 0. So two expressions with at
    most k indices that agree in k dimensions, for all entries, agree in every number of dimensions.

    Raises:
        DerivationError: a term is no product of numbers and traces, or depends on the size itself.
    """
    return max(_indices_of_term(term, size) for term in Add.make_args(expression))


def _indices_of_term(term: Any, size: Any) -> int:
    factors = Mul.make_args(term)
    traces = [one for one in factors if isinstance(one, Trace)]
    if any(size in one.free_symbols for one in factors if not isinstance(one, Trace)):
        raise DerivationError(f"{plain(term)}: no product of numbers and traces")
    return sum(_indices_of_product(one.arg, size) for one in traces)


def _indices_of_product(matrix: MatrixExpr, size: Any) -> int:
    """Return how many factors of a product have as many columns as there are dimensions."""
    factors = matrix.args if matrix.is_MatMul else (matrix,)
    total = 0
    for one in factors:
        base, power = one.args if isinstance(one, MatPow) else (one, Integer(1))
        if base.is_MatAdd or base.is_MatMul or not (isinstance(power, Integer) and power > 0):
            raise DerivationError(f"{plain(matrix)}: no product of matrices")
        total += int(power) * (base.shape[1] == size)
    return total
