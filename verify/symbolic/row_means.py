"""Expectations over n independent normal scores for any number of keys.

What stands in an expectation is written as a polynomial in the power sums P(a, b) = Σ p_i^a·s_i^b and in
ln Z; its mean is then a sum of the one-dimensional integrals of ``row_integrals``, at a million keys as well
as at two, and comes with its error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import Any

from sympy import Add, Dummy, Function, Indexed, Mul, S, Sum, Symbol, expand, log

from verify.symbolic.extremes import LARGEST
from verify.symbolic.kernel.words import E, largest, n, p, s, sigma
from verify.symbolic.printing import function
from verify.symbolic.row_integrals import Approximation, Exponents, mean_largest, mean_log_total, mean_product
from verify.symbolic.softmax import LOG_TOTAL

KEYS = (2, 3, 4, 8, 16, 64, 256, 1024, 10**4, 10**5, 10**6)
DEVIATIONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)

_POWER_SUM = Function("P")
_LOG_TOTAL = Symbol("L")
_ROUNDING = 2.0**-50
"""What rounding may do to an expression's value, relative to the size of its terms."""


def row_mean(
    expression: Any, keys: int, deviation: float, given: Mapping[Any, float] = MappingProxyType({})
) -> Approximation:
    """Return the number that ``expression``, linear in expectations, is for a number of keys and a σ.

    Other symbols in it have ``given`` values.

    Raises:
        ValueError: it is not linear in its expectations, or what is expected is not made of power sums.
    """
    rest, parts = _linear(expression, tuple(given))
    at = keys, deviation, *given.values()
    terms = [(_mean(mean, keys, deviation), slope(*at)) for mean, slope in parts]
    terms.append((Approximation(1.0, 0.0), rest(*at)))
    total = Approximation(0.0, 0.0)
    for mean, slope in terms:
        one = mean.times(slope)
        total += Approximation(one.value, one.error + _ROUNDING * abs(one.value))
    return total


def share_reached(less: Any, bound: Any) -> float:
    """Return the largest share of a bound that is reached, for up to a million keys and many σ."""
    return max(_share(less, bound, *at) for at in product(KEYS, DEVIATIONS))


def _share(less: Any, bound: Any, keys: int, deviation: float) -> float:
    """Return the ratio of both sides, or 0 where only one of them is negative."""
    one, other = (row_mean(side, keys, deviation).value for side in (less, bound))
    return one / other if one * other > 0 else 0.0


Compiled = Callable[..., float]


@cache
def _linear(expression: Any, others: tuple[Any, ...]) -> tuple[Compiled, tuple[tuple[Any, Compiled], ...]]:
    """Return what is free of means, and each mean's coefficient, as functions of n, σ and the ``others``."""
    means = [*sorted(expression.atoms(E), key=str), LARGEST]
    places = [Dummy() for _ in means]
    outer = expression.xreplace(dict(zip(means, places, strict=True)))
    slopes = [outer.diff(place) for place in places]
    if any(slope.has(*places) for slope in slopes):
        raise ValueError(f"{expression} is not linear in its expectations")
    rest = outer.xreplace(dict.fromkeys(places, S.Zero))
    compiled = [function((n, sigma, *others), one) for one in (rest, *slopes)]
    return compiled[0], tuple(
        (mean, slope)
        for mean, slope, of_mean in zip(means, compiled[1:], slopes, strict=True)
        if of_mean != 0
    )


def _mean(mean: Any, keys: int, deviation: float) -> Approximation:
    """Return the value of an expectation, or of ``LARGEST``."""
    if mean == LARGEST:
        return mean_largest(keys)
    (argument,) = mean.args
    if argument == largest:
        return mean_largest(keys).times(deviation)
    total = Approximation(0.0, 0.0)
    for coefficient, factors, log_total in _monomials(argument):
        for exponents in _merged(factors):
            one = _of_keys(exponents, keys, deviation, log_total=log_total)
            total += one.times(coefficient)
    return total


def _of_keys(exponents: Exponents, keys: int, deviation: float, *, log_total: bool) -> Approximation:
    if exponents:
        return mean_product(tuple(sorted(exponents)), keys, deviation, log_total=log_total)
    return mean_log_total(keys, deviation) if log_total else Approximation(1.0, 0.0)


@cache
def _monomials(argument: Any) -> tuple[tuple[float, Exponents, bool], ...]:
    """Return the terms of a polynomial in power sums and ln Z: coefficient, exponents, if ln Z occurs."""
    found = []
    for term in Add.make_args(expand(_in_power_sums(argument))):
        coefficient, logs = 1.0, 0
        factors: list[tuple[int, int]] = []
        for factor in Mul.make_args(term):
            base, power = factor.as_base_exp()
            if isinstance(base, _POWER_SUM):
                factors += [(int(base.args[0]), int(base.args[1]))] * int(power)
            elif base == _LOG_TOTAL:
                logs += int(power)
            else:
                coefficient *= float(factor)
        if logs > 1 or (factors and not any(weight for weight, _ in factors)):
            raise ValueError(f"no one-dimensional integral is known for the mean of {term}")
        found.append((coefficient, tuple(factors), bool(logs)))
    return tuple(found)


def _in_power_sums(expression: Any) -> Any:
    """Return an expression of sums over keys as one of power sums and ln Z."""
    if isinstance(expression, Sum):
        ((index, low, high),) = expression.limits
        if (low, high) != (S.One, n):
            raise ValueError(f"{expression} does not run over all keys")
        inside = expand(_in_power_sums(expression.function))
        return Add(*(_power_sum(term, index) for term in Add.make_args(inside)))
    if isinstance(expression, log) and isinstance(expression.args[0], Indexed):
        (weight,) = expression.args
        (index,) = weight.indices
        return s[index] - _LOG_TOTAL
    if expression == LOG_TOTAL:
        return _LOG_TOTAL
    if expression.args and not isinstance(expression, Indexed):
        return expression.func(*map(_in_power_sums, expression.args))
    return expression


def _power_sum(term: Any, index: Any) -> Any:
    """Return the sum over ``index`` of one term, as what does not depend on it times a power sum."""
    rest, exponents = S.One, {p: 0, s: 0}
    for factor in Mul.make_args(term):
        base, power = factor.as_base_exp()
        if index not in factor.free_symbols:
            rest *= factor
        elif isinstance(base, Indexed) and base.base in exponents:
            exponents[base.base] += int(power)
        else:
            raise ValueError(f"{factor} is no power of a weight or of a score")
    return rest * _POWER_SUM(exponents[p], exponents[s])


def _merged(factors: Exponents) -> Iterator[Exponents]:
    """Yield the ways in which the keys of several sums may coincide; those that do add their exponents."""
    if not factors:
        yield ()
        return
    (weight, score), *others = factors
    for rest in _merged(tuple(others)):
        yield ((weight, score), *rest)
        for place, (one, other) in enumerate(rest):
            yield (*rest[:place], (one + weight, other + score), *rest[place + 1 :])
