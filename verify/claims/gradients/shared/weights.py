"""Gradients that the softmax of a row passes on."""

from verify.spec import Expr, Softmax, j, over_keys, squares


def squared_norm(x: Expr) -> Expr:
    """Return the squared Frobenius norm of the Jacobian of the softmax of scores x."""
    # The entries are p_j(δ_jl - p_l); their squares are summed over both indices.
    return squares(x) - 2 * over_keys(Softmax(x, j) ** 3) + squares(x) ** 2
