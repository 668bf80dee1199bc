"""Functions of the weights of a row: what its softmax passes on, and numbers at given scores."""

from sympy import Expr, Float, Indexed

from verify.spec import Index, Softmax, j, n, over_keys, squares
from verify.spec.arrays import Array
from verify.symbolic.vocabulary import definition


def cubes(x: Expr, key: Index = j) -> Expr:
    """Return the sum of the cubed weights of scores x."""
    return over_keys(Softmax(x, key) ** 3, key)


def squared_norm(x: Expr) -> Expr:
    """Return the squared Frobenius norm of the Jacobian of the softmax of scores x."""
    return squares(x) - 2 * cubes(x) + squares(x) ** 2


def at_scores(expression: Expr, scores: Array) -> float:
    """Return the number that a function of the weights of ``s[a, j]`` is at these scores."""
    opened = definition(expression).subs(n, len(scores)).doit()
    return float(
        opened.xreplace({entry: Float(scores[entry.indices[1] - 1]) for entry in opened.atoms(Indexed)})
    )
