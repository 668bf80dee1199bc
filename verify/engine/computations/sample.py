"""The mean, variance or standard deviation of one sample of scores, with its expected spread."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from sympy import Rational, S, sqrt

from verify.engine.computations.variance import derived
from verify.engine.computed import Computed, Dimension, value_of
from verify.evidence import Record
from verify.spec import Population, d, k, kurtosis_route, q
from verify.symbolic.scores import NORMAL_MOMENTS

CLAIM = "score-variance"


class Inputs(Record):
    """The ``statistic``, the dimension ``d_k``, and how many independent ``scores`` the sample has.

    The spread is that of large samples, so it takes at least 30. ``scaled`` scores are divided by √d_k.
    """

    statistic: Literal["mean", "variance", "standard-deviation"]
    d_k: Dimension
    scores: Annotated[int, Field(ge=30, le=10**12)]
    scaled: bool = False


def compute(inputs: Inputs) -> Computed:
    """Return what the statistic is expected to be, and its standard deviation, for normal components.

    With n scores of variance σ² and kurtosis κ, the sample mean has variance σ²/n, and the sample variance
    has σ⁴(κ - (n - 3)/(n - 1))/n; the root of a sample variance has half its relative spread.
    """
    n = inputs.scores
    variance = S.One if inputs.scaled else derived().subs(d, inputs.d_k)
    normal = tuple(map(S, NORMAL_MOMENTS[:5]))
    kurtosis = kurtosis_route(Population({q: normal, k: normal}, d)).steps[-1].expression.subs(d, inputs.d_k)
    of_variance = variance * sqrt((kurtosis - Rational(n - 3, n - 1)) / n)
    value, deviation = {
        "mean": (S.Zero, sqrt(variance / n)),
        "variance": (variance, of_variance),
        "standard-deviation": (sqrt(variance), of_variance / (2 * sqrt(variance))),
    }[inputs.statistic]
    name = inputs.statistic.replace("-", " ")
    kind = "scaled scores" if inputs.scaled else "scores"
    return Computed(
        value_of(value), f"{name.capitalize()} of {n} {kind} at d_k = {inputs.d_k}", value_of(deviation)
    )
