"""Vectors that matrices make of independent numbers: any covariances are those of such."""

from verify.spec import Distribution, Expr, Given, Index, Matrix, Named, Sum, Symbol, d, eye, i
from verify.spec import kronecker_product, l, numbers

r, c = Symbol("r", positive=True, integer=True), Index("c")
A, B = Given("A", d, r), Given("B", d, r)  # matrices that make a query and a key


def covariance(first: Given, second: Given, place: Index = i, other: Index = l) -> Expr:
    """Return the covariance of two components that matrices make of the same numbers."""
    return Sum(first[place, c] * second[other, c], (c, 1, r))


def over_pairs(name: str, summand: Expr) -> Expr:
    """Return a sum over all pairs of components, i and l, by its name in LaTeX."""
    return Named(Symbol(name), Sum(summand, (i, 1, d), (l, 1, d)))


def written_out(expression: Expr) -> Expr:
    """Return an expression with its names replaced by their definitions."""
    return expression.replace(Named, lambda _, x: x)


def four_blocks(matrix: Matrix) -> Distribution:
    """Return the numbers of a matrix that has a smaller matrix four times along its diagonal."""
    rows = "; ".join(" ".join(map(str, row)) for row in matrix.tolist()).replace("-", "−")
    return numbers(kronecker_product(eye(4), matrix).tolist(), f"4 blocks [{rows}]")
