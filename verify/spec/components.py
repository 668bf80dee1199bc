"""Distributions of components with the mean and variance that predictions are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sympy import Rational

from verify.montecarlo.distributions import NORMAL, UNIT_INTERVAL
from verify.montecarlo.inputs import Simulated
from verify.symbolic.scores import with_moments

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Distribution


class Components(NamedTuple):
    """What is drawn, and its mean and variance written out: a prediction asks nothing of what is drawn."""

    distribution: Distribution
    mean: Any
    variance: Any


UNIFORM_COMPONENTS = Components(UNIT_INTERVAL, Rational(1, 2), Rational(1, 12))
"""Those of demonstrations: uniform between 0 and 1."""


def normal(queries: int, keys: int, dimension: int) -> Simulated:
    """Return the input of blocks of queries and keys with independent standard normal components."""
    return Simulated(NORMAL, NORMAL, queries, keys, dimension)


def for_components(expression: Any, query: Components, key: Components) -> Any:
    """Return an expression in the means and deviations of queries' and keys' components for these."""
    return with_moments(expression, query[1:], key[1:])
