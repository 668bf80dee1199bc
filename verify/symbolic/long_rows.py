"""Means over long rows of independent normal scores, by one-dimensional integrals: a thousand keys and more.

A bound that holds for twenty keys need not hold for a million: so the second net tries rows of such sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special
from sympy import Add, Indexed, Mul, Sum, expand

from verify.symbolic.row_integrals import mean_log_total, mean_product
from verify.symbolic.vocabulary import Entropy, Largest, LogSumExp, Softmax, families_of, range_of

if TYPE_CHECKING:
    from verify.symbolic.evaluation import Evaluation

MOST_KEYS = 2_000_000
"""The most keys of a row of whose weights a mean is taken; the largest score may be of any number."""


def mean_of_row(x: Any, point: Evaluation) -> float:
    """Return the mean of a polynomial of a row's scores and weights, by one-dimensional integrals.

    Raises:
        ValueError: it is of another kind, or of scores that are not centred and normal.
    """
    x = expand(x)
    if isinstance(x, Add):
        return sum(mean_of_row(part, point) for part in x.args)
    drawn = [part for part in Mul.make_args(x) if families_of(part)]
    value = float(point.value(x / Mul(*drawn)))
    if not drawn:
        return value
    first, *_ = drawn
    if len(drawn) == 1 and isinstance(first, Largest | LogSumExp | Entropy):
        keys, deviation = point.whole(range_of(*first.args)), _deviation(first.args[0], point)
        if isinstance(first, Largest):
            # Of very many, from the density of the largest.
            z = np.arange(-12, 40, 1 / 256)
            density = np.exp(math.log(keys) + (keys - 1) * special.log_ndtr(z) - z**2 / 2)
            return value * deviation * float(np.sum(z * density)) / 256 / math.sqrt(2 * math.pi)
        mean = _exactly(mean_log_total, keys, deviation)
        if isinstance(first, Entropy):  # ln Z less the mean of p s
            mean -= _exactly(mean_product, ((1, 1),), keys, deviation)
        return value * mean
    # A sum over all keys, or a single key's share of it, of powers of a weight and its score.
    is_sum = isinstance(first, Sum) and len(drawn) == 1 and len(first.limits) == 1
    factors = Mul.make_args(first.function) if is_sum else drawn
    value *= float(point.value(Mul(*(part for part in factors if not families_of(part)))))
    powers = {base: int(power) for base, power in (x.as_base_exp() for x in factors if families_of(x))}
    (weight,) = (part for part in powers if isinstance(part, Softmax))
    scores, key = weight.args
    (score,), size = scores.atoms(Indexed), range_of(scores, key)
    if set(powers) - {weight, score} or (is_sum and first.limits[0] != (key, 1, size)):
        raise ValueError("a mean of another kind")
    keys, order = point.whole(size), powers.get(score, 0)
    total = _exactly(mean_product, ((powers[weight], order),), keys, _deviation(scores, point))
    return value * total / float(point.value(scores / score)) ** order / (1 if is_sum else keys)


def _exactly(mean: Callable[..., Any], *arguments: Any) -> float:
    if arguments[-2] > MOST_KEYS:
        raise ValueError("too many keys")
    result = mean(*arguments)
    if not result.error <= 1e-9 * max(abs(result.value), 1):
        raise ValueError("it is not known well enough")
    return float(result.value)


def _deviation(scores: Any, point: Evaluation) -> float:
    (score,) = scores.atoms(Indexed)
    law = point.laws[score.base]
    if not law.normal or law.centres[0] or families_of(scores / score):
        raise ValueError("other scores")
    return abs(float(point.value(scores / score))) * float(law.spreads[0])
