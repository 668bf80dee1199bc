"""Means over rows of normal scores that have no closed form, as numbers: by one-dimensional integrals.

``integrated(E(squares(sigma * s[a, j])), {n: 64, sigma: 2})`` is the very quantity that a check measures,
integrated to about twelve digits: of independent normal scores, and of scores q·k, which given their query
are such scores with a deviation in proportion to its length, over which the result is averaged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from sympy import Add, Dummy, Float, Function, Indexed, Poly, PolynomialError, S, Sum, Symbol, log, sympify
from sympy import symbols
from sympy.core.function import AppliedUndef

from verify.errors import ClaimError
from verify.symbolic.row_integrals import legendre
from verify.symbolic.row_integrals import ON_PAPER, PRECISE, Approximation, Exponents, mean_beside_sink
from verify.symbolic.row_integrals import mean_largest, mean_largest_weight, mean_log_total, mean_product
from verify.symbolic.row_integrals import over_lengths
from verify.symbolic.vocabulary import Cov, Dot, E, Entropy, Largest, LogSumExp, Softmax, Var, a, d
from verify.symbolic.vocabulary import k, n, q, s

__all__ = ["ON_PAPER", "PRECISE", "Approximation", "integrated", "mean_beside_sink", "over_lengths"]

LENGTH = Symbol("length", positive=True)
"""The length of a query, which is the deviation of its scores with standard normal keys."""

WEIGHT, SCORE, SUMMED = symbols("weight score summed", cls=Function)
"""A key's weight and score, and the sum over keys of powers of both, as generators of polynomials."""

Term = tuple[Any, tuple[tuple[int, int], ...], tuple[tuple[int, int], ...], Any]
"""A coefficient; exponents of weight and score for each free key, and for each sum; the remaining factor."""


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
    keys = round(values[n])
    if not x.has(Dot):
        return _given_length(x, values, keys, 1.0).value
    rows = x.replace(
        lambda part: isinstance(part, Dot) and part.args[:3] in ((q, a, k), (q, a, q)),
        lambda part: LENGTH**2 if part.args[3] == a else LENGTH * s[a, part.args[3]],
    )
    if rows.has(Dot):
        raise ClaimError(f"{x}: only scores of one query with the keys are integrated")
    return over_lengths(partial(_given_length, rows, values), keys, values[d], 1.0, within).value


def _given_length(x: Any, values: Mapping[Any, float], keys: int, length: float) -> Approximation:
    """Return a mean over rows of independent normal scores of a query of this length."""
    scale, terms = _terms(x)
    values = {**values, LENGTH: length}

    def number(part: Any) -> float:
        return float(part.subs({symbol: values[symbol] for symbol in part.free_symbols}))

    deviation, total = number(scale), Approximation(0.0, 0.0)
    for coefficient, free, summed, other in terms:
        factor = number(coefficient)
        if isinstance(other, Largest) and isinstance(other.args[0], Softmax):
            total += _largest_weight(keys, deviation).times(factor)
        elif isinstance(other, Largest):
            total += mean_largest(keys).times(factor * number(_scale(other.args[0])))
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
                # The scores of these integrals have the deviation in them.
                total += mean.times(factor / deviation ** sum(power for _, power in exponents))
    return total


@cache
def _largest_weight(keys: int, deviation: float) -> Approximation:
    """Return the mean of the largest weight; of two keys by the gap of their scores, which is normal."""
    if keys > 2:
        return mean_largest_weight(keys, deviation)

    def mean(count: int) -> float:
        gap, weights = legendre(0.0, min(60.0, 15 * deviation), count)
        density = np.exp(-((gap / deviation) ** 2) / 4) / (deviation * math.sqrt(math.pi))
        return 1 - float(density / (1 + np.exp(gap)) @ weights)

    return Approximation(mean(160), abs(mean(160) - mean(120)))


@cache
def _terms(x: Any) -> tuple[Any, tuple[Term, ...]]:
    """Return the scale of the scores that weights are of, and an expression's terms.

    Raises:
        ClaimError: it is no polynomial in weights, scores and a log-sum-exp.
    """
    opened = x.replace(lambda part: isinstance(part, Entropy), lambda part: part.definition)
    scales = {_scale(part.args[0]) for part in opened.atoms(Softmax, LogSumExp)}
    queries = {part.indices[0] for part in opened.atoms(Indexed)}
    if len(scales) > 1 or len(queries) > 1:
        raise ClaimError(f"{x}: only scores of one query, and at one scale, are integrated")
    opened = opened.replace(
        lambda part: isinstance(part, log) and isinstance(part.args[0], Softmax),
        lambda part: part.args[0].args[0] - LogSumExp(*part.args[0].args),
    )
    # A log-sum-exp bears the index that it runs over, and does not depend on it.
    others = {part: Dummy() for part in sorted(opened.atoms(LogSumExp, Largest), key=str)}
    weights = {part: WEIGHT(part.args[1]) for part in opened.atoms(Softmax)}
    scores = {part: SCORE(part.indices[1]) for part in opened.atoms(Indexed)}
    try:
        opened = opened.xreplace(others | weights).xreplace(scores)
        opened = opened.replace(lambda part: isinstance(part, Sum), _of_sums)
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
    return (scales or {S.One}).pop(), tuple(terms)


def _scale(row: Any) -> Any:
    """Return the factor of the standard normal score that a score is."""
    return row.xreplace(dict.fromkeys(row.atoms(Indexed), S.One))


def _of_sums(total: Any) -> Any:
    """Return a sum over keys as a polynomial in sums of a power of the weight times one of the score."""
    (index, low, high), *others = total.limits
    if others or (low, high) != (1, n):
        raise ClaimError(f"{total} does not run over all keys, so that no integral is known")
    terms = Poly(total.function, WEIGHT(index), SCORE(index)).terms()
    return Add(*(factor * (SUMMED(*powers) if any(powers) else n) for powers, factor in terms))


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
