"""Means over rows of normal scores that have no closed form, as numbers: by one-dimensional integrals.

``integrated(E(squares(sigma * s[a, j])), {n: 64, sigma: 2})`` is the very quantity that a check measures,
integrated to about twelve digits: of independent normal scores, and of scores q·k, which given their query
are such scores with a deviation in proportion to its length, over which the result is averaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from sympy import Float, Symbol, sympify

from verify.errors import ClaimError
from verify.symbolic.row_integrals import ON_PAPER, PRECISE, Approximation, mean_beside_sink, over_lengths
from verify.symbolic.row_means import mean_over_row
from verify.symbolic.vocabulary import Cov, Dot, E, Var, a, d, k, n, q, s

__all__ = ["ON_PAPER", "PRECISE", "Approximation", "integrated", "mean_beside_sink", "over_lengths"]

# The length of a query, which is the deviation of its scores with standard normal keys.
LENGTH = Symbol("length", positive=True)


def integrated(quantity: Any, at: Mapping[Any, Any], within: float = PRECISE) -> float:
    """Return the value of an expression in means over normal rows, at values of its symbols.

    Args:
        quantity: Made of ``E``, ``Var`` and ``Cov`` of polynomials in weights, scores, sums of them over keys
            and at most one log-sum-exp (or entropy), or of the largest score or weight alone. Scores are
            ``c*s[a, j]`` or ``c*score`` with the same c, all components standard normal.
        at: Values of its symbols; ``n`` always, ``d`` for scores q·k.
        within: How near to each other the last two rules over a query's length have to be, relatively:
            ``PRECISE``, or ``ON_PAPER`` for a point of a curve.

    Raises:
        ClaimError: no one-dimensional integral is known for a mean.

    Example:
        >>> integrated(E(Entropy(score / sqrt(d), j)), {n: 64, d: 4})
    """
    return _integrated(
        sympify(quantity), tuple((symbol, float(value)) for symbol, value in at.items()), within
    )


@cache  # for a prediction is asked for again where its origin is decided
def _integrated(quantity: Any, at: tuple[tuple[Any, float], ...], within: float) -> float:
    values = dict(at)
    opened = quantity.replace(lambda part: isinstance(part, Var | Cov), lambda part: part.definition)
    numbers = {mean: Float(_mean(mean.args[0], values, within), 17) for mean in opened.atoms(E)}
    return float(opened.xreplace(numbers).subs(values))


def _mean(x: Any, values: Mapping[Any, float], within: float) -> float:
    """Return one mean; of scores q·k over the length of the query, given which they are independent."""

    def mean(_: int, length: float) -> Approximation:
        at = {**values, LENGTH: length}
        return mean_over_row(rows, lambda part: float(part.subs({y: at[y] for y in part.free_symbols})))

    # A query's score with itself, where queries are keys, too, is its squared length.
    rows = x.replace(
        lambda part: isinstance(part, Dot) and part.args[:3] in ((q, a, k), (q, a, q)),
        lambda part: LENGTH**2 if part.args[3] == a else LENGTH * s[a, part.args[3]],
    )
    if rows.has(Dot):
        raise ClaimError(f"{x}: only scores of one query with the keys are integrated")
    keys = round(values[n])
    return (over_lengths(mean, keys, values[d], 1.0, within) if x.has(Dot) else mean(keys, 1.0)).value
