"""A query and a key as random vectors, with any means and covariance matrices, and traces in numbers."""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import TYPE_CHECKING, Any

from sympy import MatMul, MatPow, MatrixSymbol, Trace, Transpose

from verify.symbolic.scores import d

if TYPE_CHECKING:
    from collections.abc import Mapping

QUERY, KEY = MatrixSymbol("q", d, 1), MatrixSymbol("k", d, 1)
MU_Q, MU_K = MatrixSymbol("mu_q", d, 1), MatrixSymbol("mu_k", d, 1)
SIGMA_Q, SIGMA_K = MatrixSymbol("Sigma_q", d, d), MatrixSymbol("Sigma_k", d, d)
"""A query and a key, their means and their covariance matrices."""

PRODUCT = Trace(QUERY.T * KEY)
"""Their score."""


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
