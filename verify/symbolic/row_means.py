"""Means over a row of independent normal scores, as expressions in weights and scores, by their integrals.

A mean is a polynomial in weights, scores, sums of them over keys and at most one log-sum-exp (or entropy), or
the largest score or weight alone; each of its terms is an integral of ``row_integrals``. A check's prediction
is integrated so (``spec.integrated``), and so is a line of a chain in long rows: a bound that holds for
twenty keys need not hold for a million, and the second net tries rows of such sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from sympy import Add, Dummy, Function, Indexed, Poly, PolynomialError, S, Sum, expand, log, symbols
from sympy.core.function import AppliedUndef

from verify.errors import ClaimError
from verify.symbolic.row_integrals import Approximation, Exponents, legendre, mean_largest
from verify.symbolic.row_integrals import mean_largest_weight, mean_log_total, mean_product
from verify.symbolic.vocabulary import Entropy, Largest, LogSumExp, Softmax, n, range_of

MOST_KEYS = 2_000_000
"""The most keys of a long row of whose weights a mean is taken; the largest score may be of any number."""

WEIGHT, SCORE, SUMMED = symbols("weight score summed", cls=Function)
"""A key's weight and score, and the sum over keys of powers of both, as generators of polynomials."""

Term = tuple[Any, Exponents, Exponents, Any]
"""A coefficient; exponents of weight and score for each free key, and for each sum; the remaining factor."""


def mean_over_row(x: Any, number: Callable[[Any], float], unit: float = 1.0) -> Approximation:
    """Return the mean of an expression over independent normal scores.

    Args:
        x: The expression, in which scores are ``c*s[a, j]`` with the same c.
        number: Returns the value of what has no scores in it.
        unit: The standard deviation of ``s[a, j]``.

    Raises:
        ClaimError: no one-dimensional integral is known for it, or there are too many keys.
    """
    scale, size, terms = _terms(x)
    factor_of_score, keys = number(scale), round(number(size))
    deviation, total = unit * abs(factor_of_score), Approximation(0.0, 0.0)
    of_scores = all(isinstance(other, Largest) and not other.has(Softmax) for *_, other in terms)
    if not of_scores and keys > MOST_KEYS:
        raise ClaimError(f"weights of more than {MOST_KEYS} keys are not integrated")
    for coefficient, free, summed, other in terms:
        factor = number(coefficient)
        if isinstance(other, Largest) and isinstance(other.args[0], Softmax):
            # Of two keys the gap of their scores is normal.
            largest = mean_largest_weight(keys, deviation) if keys > 2 else _larger_weight(deviation)
            total += largest.times(factor)
        elif isinstance(other, Largest):
            total += mean_largest(keys).times(factor * unit * abs(number(_scale(other.args[0]))))
        else:
            factor /= math.perm(keys, len(free))
            for exponents in _merged(summed, free):
                if any(weight for weight, _ in exponents):
                    powers, has_log = tuple(sorted(exponents)), other is not None
                    mean = mean_product(powers, keys, deviation, log_total=has_log)
                elif exponents:
                    raise ClaimError("a mean of scores without weights is no integral; use moments")
                else:
                    mean = Approximation(1.0, 0.0) if other is None else mean_log_total(keys, deviation)
                # The scores of these integrals have the factor in them.
                total += mean.times(factor / factor_of_score ** sum(power for _, power in exponents))
    return total


@cache
def _larger_weight(deviation: float) -> Approximation:
    """Return the mean of the larger of two weights, by the gap of their scores, which is normal."""
    means = []
    for count in (160, 120):
        gap, weights = legendre(0.0, min(60.0, 15 * deviation), count)
        density = np.exp(-((gap / deviation) ** 2) / 4) / (deviation * math.sqrt(math.pi))
        means.append(1 - float(density / (1 + np.exp(gap)) @ weights))
    return Approximation(means[0], abs(means[0] - means[1]))


@cache
def _terms(x: Any) -> tuple[Any, Any, tuple[Term, ...]]:
    """Return the factor of the scores that weights are of, the number of keys, and an expression's terms.

    Raises:
        ClaimError: it is no polynomial in weights, scores and a log-sum-exp.
    """
    opened = x.replace(lambda part: isinstance(part, Entropy), lambda part: part.definition)
    rows = opened.atoms(Softmax, LogSumExp)
    scales = {_scale(part.args[0]) for part in rows}
    sizes = {range_of(*part.args) for part in rows | opened.atoms(Largest)} or {n}
    queries = {part.indices[0] for part in opened.atoms(Indexed)}
    if len(scales) > 1 or len(sizes) > 1 or len(queries) > 1:
        raise ClaimError(f"{x}: only scores of one query, and at one scale, are integrated")
    (size,) = sizes
    opened = opened.replace(
        lambda part: isinstance(part, log) and isinstance(part.args[0], Softmax),
        lambda part: part.args[0].args[0] - LogSumExp(*part.args[0].args),
    )
    # A log-sum-exp bears the index that it runs over, and does not depend on it.
    others = {part: Dummy() for part in sorted(opened.atoms(LogSumExp, Largest), key=str)}
    weights = {part: WEIGHT(part.args[1]) for part in opened.atoms(Softmax)}
    scores = {part: SCORE(part.indices[1]) for part in opened.atoms(Indexed)}

    def of_sum(total: Any) -> Any:
        """Return a sum over keys as a polynomial in sums of a power of the weight times one of the score."""
        (index, low, high), *outer = total.limits
        if outer or (low, high) != (1, size):
            raise ClaimError(f"{total} does not run over all keys, so that no integral is known")
        parts = Poly(total.function, WEIGHT(index), SCORE(index)).terms()
        return Add(*(factor * (SUMMED(*powers) if any(powers) else size) for powers, factor in parts))

    try:
        opened = opened.xreplace(others | weights).xreplace(scores)
        opened = opened.replace(lambda part: isinstance(part, Sum), of_sum)
        # In an order that does not change from run to run, nor then does the sum's last digit.
        of_keys = sorted(opened.atoms(AppliedUndef), key=str)
        polynomial = Poly(opened, *others.values(), *of_keys, Dummy())
    except PolynomialError:
        raise ClaimError(f"no one-dimensional integral is known for the mean of {x}") from None
    keys = {symbol.args[0]: None for symbol in polynomial.gens if symbol.func in {WEIGHT, SCORE}}
    terms = []
    for powers, coefficient in polynomial.terms():
        power = dict(zip(polynomial.gens, powers, strict=True))
        free = [(power.get(WEIGHT(key), 0), power.get(SCORE(key), 0)) for key in keys]
        summed = [symbol.args for symbol in power if symbol.func == SUMMED for _ in range(power[symbol])]
        exponents = tuple(filter(any, free)), tuple((int(weight), int(score)) for weight, score in summed)
        other = [part for part, symbol in others.items() for _ in range(power[symbol])]
        factor = other[0] if other else None
        if len(other) > 1 or (any(exponents) and isinstance(factor, Largest)):
            raise ClaimError(f"no one-dimensional integral is known for the mean of {x}")
        terms.append((coefficient, *exponents, factor))
    return (scales or {S.One}).pop(), size, tuple(terms)


def _scale(row: Any) -> Any:
    """Return the factor of the score that a row's scores are.

    Raises:
        ClaimError: they are no multiple of it.
    """
    scores = row.atoms(Indexed)
    scale = row.xreplace(dict.fromkeys(scores, S.One))
    if len(scores) == 1 and expand(row - scale * next(iter(scores))) == 0:
        return scale
    raise ClaimError(f"{row}: only multiples of a normal score are integrated")


def _merged(summed: Exponents, free: Exponents) -> Iterator[Exponents]:
    """Yield the ways in which keys of sums coincide with each other and with free keys, which differ."""
    if not summed:
        yield free
        return
    (weight, power), *others = summed
    for rest in _merged(tuple(others), free):
        yield ((weight, power), *rest)
        for place, (first, second) in enumerate(rest):
            yield (*rest[:place], (first + weight, second + power), *rest[place + 1 :])
