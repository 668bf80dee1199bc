"""The score q·k and its variance, derived step by step, and its query and key as random vectors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import mul
from typing import Any

from sympy import (
    Idx,
    Indexed,
    MatMul,
    MatPow,
    MatrixSymbol,
    S,
    Sum,
    Trace,
    Transpose,
    apart,
    expand,
    factor,
    factorial2,
    sqrt,
)

from verify.symbolic.kernel.equations import Identity
from verify.symbolic.kernel.hypotheses import Hypotheses, Population
from verify.symbolic.kernel.moments import Evaluation, by_component, by_index, by_moments, unfold
from verify.symbolic.kernel.words import E, Ordered, OrderedBase, Var
from verify.symbolic.routes import Route, Step

d = Ordered("d_k", "a", integer=True, positive=True)
"""The dimension of queries and keys."""

index = Idx("i")
q = OrderedBase(Ordered("q", "q1"))
k = OrderedBase(Ordered("k", "q2"))
score = Sum(q[index] * k[index], (index, 1, d))
"""The score of one query and one key, with symbolic dimension."""

mu_q, mu_k = Ordered("mu_q", "mu1", real=True), Ordered("mu_k", "mu2", real=True)
sigma_q, sigma_k = Ordered("sigma_q", "s1", positive=True), Ordered("sigma_k", "s2", positive=True)

GENERAL = Population({q: (S.One, mu_q, mu_q**2 + sigma_q**2), k: (S.One, mu_k, mu_k**2 + sigma_k**2)}, d)
"""Components with any mean and variance."""

CENTRED = Population({q: (S.One, S.Zero, sigma_q**2), k: (S.One, S.Zero, sigma_k**2)}, d)
"""Components with mean 0 and any variance."""

NORMAL_MOMENTS = tuple(factorial2(order - 1) if order % 2 == 0 else S.Zero for order in range(9))
"""Raw moments of a standard normal component up to order 8."""

STANDARD = Population({q: (S.One, S.Zero, S.One), k: (S.One, S.Zero, S.One)}, d)
"""Components with mean 0 and variance 1."""

NORMAL_VECTORS = Population({q: (S.One, S.Zero, S.One), k: (S.One, S.Zero, S.One)}, d, normal=(q, k))
"""Standard normal components."""


def one_product() -> Indexed:
    """Return q_i k_i, the product that one dimension contributes."""
    return q[index] * k[index]


def with_moments(expression: Any, query: tuple[Any, Any], key: tuple[Any, Any]) -> Any:
    """Return ``expression`` for components with these means and variances, multiplied out."""
    (mean_q, variance_q), (mean_k, variance_k) = query, key
    given = {mu_q: mean_q, mu_k: mean_k, sigma_q: sqrt(variance_q), sigma_k: sqrt(variance_k)}
    return expand(expression.subs(given))


INDEPENDENCE = "Query and key are independent"


def mean_route(
    variable: Any,
    population: Population,
    title: str = "Index by index",
    *,
    independence: str = INDEPENDENCE,
) -> Route:
    """Return E[variable] step by step: linearity, independence, the assumed moments.

    ``independence`` says which components are independent, where these are not a query's and a key's.
    """
    check, moments = Evaluation(population), Evaluation(population, assumed=True)
    split = by_index(E(variable), population)
    apart = by_component(split, population)
    known = by_moments(apart, population)
    return Route.telling(
        title,
        E(variable),
        (
            Step(split, "Linearity: the dimensions contribute alike", check),
            Step(apart, independence, check),
            Step(known, "Moments of the components", moments),
        ),
    )


def variance_route(
    variable: Any,
    population: Population,
    title: str = "Index by index",
    *,
    independence: str = INDEPENDENCE,
) -> Route:
    """Return Var(variable) step by step, from its definition to a factored result.

    ``independence`` says which components are independent, where these are not a query's and a key's.
    """
    check, moments = Evaluation(population), Evaluation(population, assumed=True)
    unfolded = unfold(Var(variable))
    split = by_index(unfolded, population)
    apart = by_component(split, population)
    known = by_moments(apart, population)
    steps = (
        Step(unfolded, "Definition of the variance", check),
        Step(split, "Equal and different indices apart: different dimensions are independent", check),
        Step(apart, independence, check),
        Step(known, "Moments of the components", moments),
        Step(factor(known), "Collecting terms", Identity()),
    )
    return Route.telling(title, Var(variable), steps)


def moment_steps(start: Any, population: Population, result: Any = None) -> tuple[Step, Step, Step]:
    """Return the steps from expectations of products of scores to their value, by which indices coincide.

    The value is factored, or written as ``result``.
    """
    split = by_index(start, population)
    known = by_moments(by_component(split, population), population)
    moments = Evaluation(population, assumed=True)
    return (
        Step(split, "Equal and different indices apart", Evaluation(population)),
        Step(known, "Independence, and the moments of the components", moments),
        Step(factor(known) if result is None else result, "Collecting terms", Identity()),
    )


def kurtosis_route(population: Population, title: str = "Index by index") -> Route:
    """Return E[(q·k)⁴]/E[(q·k)²]² step by step, for components with mean 0 and known fourth moments."""
    check, moments = Evaluation(population), Evaluation(population, assumed=True)
    start = E(score**4) / E(score**2) ** 2
    split = by_index(start, population)
    known = by_moments(by_component(split, population), population)
    return Route.telling(
        title,
        start,
        (
            Step(split, "Which of the four indices coincide: all, or two and two", check),
            Step(known, "Independence, and the moments of the components", moments),
            Step(apart(expand(known), d), "Collecting powers of the dimension", Identity()),
        ),
        under=Hypotheses(law=population),
    )


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
