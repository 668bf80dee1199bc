"""Derives how much the statistics of one m×m score matrix vary, from the components' moments.

The m² scores of a block share queries and keys. Two scores are independent when they share neither, so
with Z = S - E S only three cases count: the same score, one query shared, one key shared. Their moments
come from the same calculus as the claims, symbolic in d, m and the components' first four moments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from sympy import IndexedBase, S, Sum, Symbol, symbols

from verify.symbolic.kernel.hypotheses import Population
from verify.symbolic.kernel.moments import evaluate
from verify.symbolic.kernel.words import E, Var
from verify.symbolic.printing import function
from verify.symbolic.scores import d, index, mu_k, mu_q

m = Symbol("m", integer=True, positive=True)
n = Symbol("n", integer=True, positive=True)
_CENTRAL_Q = symbols("v_q s_q f_q", real=True)
_CENTRAL_K = symbols("v_k s_k f_k", real=True)


def _deviation(x: Any, y: Any) -> Any:
    """Return S - E S for query μ_q + x and key μ_k + y, with centred x and y."""
    product = x[index] * y[index] + mu_q * y[index] + mu_k * x[index]
    return Sum(product, (index, 1, d))


def _case_moments(power: int) -> tuple[Any, Any, Any]:
    """Return E Z^(2p), and E Z^p Z'^p for one shared query and for one shared key."""
    x, x2, y, y2 = (IndexedBase(name) for name in ("x", "x2", "y", "y2"))
    of_query = (S.One, S.Zero, *_CENTRAL_Q)
    of_key = (S.One, S.Zero, *_CENTRAL_K)
    population = Population({x: of_query, x2: of_query, y: of_key, y2: of_key}, d)
    first = _deviation(x, y) ** power
    pairs = (first * first, first * _deviation(x, y2) ** power, first * _deviation(x2, y) ** power)
    same, query, key = (evaluate(E(pair), population) for pair in pairs)
    return same, query, key


@cache
def block_mean_variance() -> Any:
    """Return Var of the mean score of one m×m block."""
    same, query, key = _case_moments(1)
    return (same + (m - 1) * (query + key)) / m**2


@cache
def block_square_variance() -> Any:
    """Return Var of the mean of (S - E S)² over one m×m block, the linearised variance estimate."""
    variance, _, _ = _case_moments(1)
    same, query, key = _case_moments(2)
    return (same - variance**2 + (m - 1) * (query + key - 2 * variance**2)) / m**2


@cache
def row_spread_variance() -> Any:
    """Return Var of the mean unbiased variance within the rows of one m×n block of scores.

    A row's variance is the mean of (S - S')²/2 over the pairs of its keys. Two such squares depend on each
    other through their query, or through the keys that they share: both, one or none.
    """
    x, x2, y, y2, y3, y4 = (IndexedBase(name) for name in ("x", "x2", "y", "y2", "y3", "y4"))
    of_query, of_key = (S.One, S.Zero, *_CENTRAL_Q), (S.One, S.Zero, *_CENTRAL_K)
    moments = dict.fromkeys((x, x2), of_query) | dict.fromkeys((y, y2, y3, y4), of_key)
    population = Population(moments, d)

    def half_square(query: Any, one: Any, other: Any) -> Any:
        gap = (query[index] + mu_q) * (one[index] - other[index])
        return Sum(gap, (index, 1, d)) ** 2 / 2

    first = half_square(x, y, y2)
    expected = evaluate(E(first), population)

    def shared(query: Any, one: Any, other: Any) -> Any:
        return evaluate(E(first * half_square(query, one, other)), population) - expected**2

    pairs = n * (n - 1) / 2
    one_key, no_key = 2 * (n - 2), (n - 2) * (n - 3) / 2
    own = shared(x, y, y2) + one_key * shared(x, y, y3) + no_key * shared(x, y3, y4)
    others = shared(x2, y, y2) + one_key * shared(x2, y, y3)
    return (own + (m - 1) * others) / (m * pairs)


def kurtosis(variable: Any, population: Population) -> Any:
    """Return E[(x - E x)⁴]/Var(x)² of a sum over components, symbolic in the dimension.

    The mean squared deviation of N independent values of x has the relative variance (kurtosis - 1)/N.

    Raises:
        Refused: ``population`` says too little about the components' moments.
    """
    deviation = variable - evaluate(E(variable), population)
    return evaluate(E(deviation**4), population) / evaluate(Var(variable), population) ** 2


@cache
def _numeric(which: str) -> Callable[..., float]:
    derived = {"mean": block_mean_variance, "square": block_square_variance, "row": row_spread_variance}
    return function((d, m, n, mu_q, *_CENTRAL_Q, mu_k, *_CENTRAL_K), derived[which]())


def mean_variance(dimension: int, side: int, query: Sequence[Any], key: Sequence[Any]) -> float:
    """Return Var of a block's mean score; ``query`` and ``key`` are (mean, central moments 2, 3, 4)."""
    return float(_numeric("mean")(dimension, side, side, *map(float, query), *map(float, key)))


def square_variance(dimension: int, side: int, query: Sequence[Any], key: Sequence[Any]) -> float:
    """Return Var of a block's mean squared deviation; arguments as for ``mean_variance``."""
    return float(_numeric("square")(dimension, side, side, *map(float, query), *map(float, key)))


def row_variance(dimension: int, queries: int, keys: int, query: Sequence[Any], key: Sequence[Any]) -> float:
    """Return Var of a block's mean variance within rows; ``query`` and ``key`` as for ``mean_variance``."""
    return float(_numeric("row")(dimension, queries, keys, *map(float, query), *map(float, key)))
