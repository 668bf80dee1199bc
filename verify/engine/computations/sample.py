"""The mean, variance or standard deviation of one sample of scores, with its law."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt
from sympy import Rational, S, sqrt

from verify.engine.computations.variance import derived
from verify.engine.computed import Computed, Dimension, Sample, value_of
from verify.engine.sample_laws import mean_law, variance_law
from verify.evidence import Record
from verify.spec import Population, d, k, kurtosis_route, q
from verify.symbolic.scores import NORMAL_MOMENTS

CLAIM = "score-variance"


class Inputs(Record):
    """The ``statistic``, the dimension ``d_k``, and how many independent ``scores`` the sample has.

    With fewer than 30 of them the law is not evaluated. ``scaled`` scores are divided by √d_k.
    """

    statistic: Literal["mean", "variance", "standard-deviation"]
    d_k: Dimension
    scores: Annotated[StrictInt, Field(ge=30, le=10**12)]
    scaled: StrictBool = False


def compute(inputs: Inputs) -> Computed:
    """Return what the statistic is expected to be, and its law, for normal components.

    With n scores of variance σ² and kurtosis κ, the sample mean has variance σ²/n, and the sample variance
    has σ⁴(κ - (n - 3)/(n - 1))/n. The root of a sample variance has about half its relative spread.
    """
    n = inputs.scores
    variance = S.One if inputs.scaled else derived().subs(d, inputs.d_k)
    normal = tuple(map(S, NORMAL_MOMENTS[:5]))
    kurtosis = kurtosis_route(Population({q: normal, k: normal}, d)).steps[-1].expression.subs(d, inputs.d_k)
    spread = value_of(sqrt((kurtosis - Rational(n - 3, n - 1)) / n))
    value = {"mean": S.Zero, "variance": variance, "standard-deviation": sqrt(variance)}[inputs.statistic]
    name = inputs.statistic.replace("-", " ")
    kind = "scaled scores" if inputs.scaled else "scores"
    words = f"{name.capitalize()} of {n} {kind} at d_k = {inputs.d_k}"
    if inputs.statistic == "mean":
        sample = _of_mean(inputs, value_of(sqrt(variance / n)))
    else:
        sample = _of_variance(inputs, value_of(variance), spread)
    return Computed(value_of(value), words, sample)


def _of_mean(inputs: Inputs, deviation: float) -> Sample:
    law = mean_law(inputs.scores, inputs.d_k)
    return Sample(deviation, lambda at: law.below(at / deviation))


def _of_variance(inputs: Inputs, variance: float, spread: float) -> Sample:
    """Return the law of a sample variance of this relative spread, or of its root."""
    law = variance_law(inputs.scores, inputs.d_k, spread)
    if inputs.statistic == "variance":
        return Sample(variance * spread, lambda at: law.below((at / variance - 1) / spread))
    return Sample(
        math.sqrt(variance) * spread / 2, lambda at: law.below((max(at, 0) ** 2 / variance - 1) / spread)
    )
