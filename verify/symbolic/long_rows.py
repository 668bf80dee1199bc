"""Means over long rows of independent normal scores: powers of weights, entropies, the largest score."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special
from sympy import Add, Indexed, Mul, Sum, expand

from verify.symbolic.row_integrals import Approximation, mean_entropy, mean_log_total, mean_product
from verify.symbolic.vocabulary import Entropy, Largest, LogSumExp, Softmax, families_of, range_of

MOST_KEYS = 2_000_000
"""The most keys of a row of whose weights a mean is taken; the largest score may be of any number."""


def mean_of_row(x: Any, point: Any) -> float:
    """Return the mean of a polynomial of what is drawn from a row, by one-dimensional integrals.

    ``point`` is the ``Point`` of ``numbers`` at which it is evaluated.

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
        keys = point.whole(range_of(*first.args))
        deviation = _deviation(first.args[0], point)
        if isinstance(first, Largest):
            return value * deviation * mean_largest(keys)
        mean = mean_log_total if isinstance(first, LogSumExp) else mean_entropy
        return value * _number(mean(_few(keys), deviation))
    is_sum = isinstance(first, Sum) and len(drawn) == 1 and len(first.limits) == 1
    factors = Mul.make_args(first.function) if is_sum else drawn
    value *= float(point.value(Mul(*(part for part in factors if not families_of(part)))))
    factors = [part for part in factors if families_of(part)]
    powers = {part.as_base_exp()[0]: int(part.as_base_exp()[1]) for part in factors}
    (weight,) = (part for part in powers if isinstance(part, Softmax))
    scores, key = weight.args
    (score,), size = scores.atoms(Indexed), range_of(scores, key)
    if set(powers) - {weight, score} or (is_sum and first.limits[0] != (key, 1, size)):
        raise ValueError("a mean of another kind")
    keys, order = _few(point.whole(size)), powers.get(score, 0)
    total = _number(mean_product(((powers[weight], order),), keys, _deviation(scores, point)))
    return value * total / float(point.value(scores / score)) ** order / (1 if is_sum else keys)


def mean_largest(keys: float) -> float:
    """Return the mean of the largest of very many standard normal numbers, from its density."""
    z = np.arange(-12, 40, 1 / 256)
    below = (keys - 1) * special.log_ndtr(z) - z**2 / 2
    return float(np.sum(z * np.exp(math.log(keys) + below)) / 256 / math.sqrt(2 * math.pi))


def _number(mean: Approximation) -> float:
    if not mean.error <= 1e-9 * max(abs(mean.value), 1):
        raise ValueError("it is not known well enough")
    return mean.value


def _few(keys: int) -> int:
    if keys > MOST_KEYS:
        raise ValueError("too many keys")
    return keys


def _deviation(scores: Any, point: Any) -> float:
    (score,) = scores.atoms(Indexed)
    law = point.laws[score.base]
    if not law.normal or law.centres[0] or families_of(scores / score):
        raise ValueError("other scores")
    return abs(float(point.value(scores / score))) * float(law.spreads[0])
