"""Traces of products of matrices in numbers."""

from sympy import Matrix, MatrixSymbol, Symbol, Trace

from verify.symbolic.scores import in_numbers

D = Symbol("d", integer=True, positive=True)
A, B = MatrixSymbol("A", D, D), MatrixSymbol("B", D, D)


def test_traces_in_numbers() -> None:
    """Products, powers and transposes of given matrices; what is not in a trace stays."""
    left, right = Matrix([[1, 2], [3, 4]]), Matrix([[0, 1], [5, 0]])
    given = {A: left, B: right}
    assert in_numbers(2 * Trace(A * B.T * A) - Trace(A**2), given) == (
        2 * (left * right.T * left).trace() - (left**2).trace()
    )
