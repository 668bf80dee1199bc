"""Means over a row of n independent normal scores as one-dimensional integrals, each with its error.

A mean of an expression (``mean_over_row``) is a polynomial in weights, scores, sums of them over keys and at
most one log-sum-exp (or entropy), or the largest score or weight alone; each of its terms is an integral. A
check's prediction is integrated so (``spec.integrated``), and so is a line of a chain in long rows: a
bound that holds for twenty keys need not hold for a million.

With scores s of mean 0 and standard deviation σ, x = exp(s) and Z = Σx, the softmax weights are p = x/Z, and
1/Z^k = ∫ t^(k-1)/Γ(k)·exp(-tZ) dt makes the keys independent: the integrand becomes a product of means
over single keys, φ_ab(t) = t^a·E[x^a s^b exp(-tx)], and for each other key ψ = φ_00, the Laplace transform of
a lognormal variable. That holds for any n, and costs no more for a million keys than for two.

In u = ln t, φ is a function smoothed by the normal density, and everything is analytic about the real axis,
where the trapezoid rule converges geometrically. Source: L. N. Trefethen and J. A. C. Weideman, The
Exponentially Convergent Trapezoidal Rule, SIAM Rev. 56 (2014), 385-458. Every integral is taken a second time
with wider steps and a shorter reach; how far the two lie apart, which is about the error of the worse, and
what rounding may do is counted as the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from sympy import Add, Dummy, Function, Indexed, Poly, PolynomialError, S, Sum, expand, log, symbols
from sympy.core.function import AppliedUndef

from verify.errors import ClaimError
from verify.symbolic.vocabulary import Entropy, Largest, LogSumExp, Softmax, n, range_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_RULES = ((0.24, 10.5), (0.27, 10.0))
"""Step in u, and reach in standard deviations, of the rule that counts and of the rule that checks it."""

_ROUNDING = 2.0**-46
"""Rounding error of a sum, relative to the sum of its terms' sizes: 64 units in the last place."""

_NODES = (3, 5, 8, 12, 18, 26)
"""Nodes of the Gauss rules over a query's length, which are taken in turn."""

PRECISE = 1e-7
"""So near to the rule before, relative to the value, the next rule is the last."""

ON_PAPER = 1e-3
"""So near to the rule before, a point of a curve lies where it belongs for any eye."""

_FINE, _LEFT_OUT = 400, 1e-30
"""Points that stand for the distribution of a length, and the probability left out at either end."""

Exponents = tuple[tuple[int, int], ...]
"""For each of several different keys the exponents of its weight and of its score."""


@dataclass(frozen=True)
class Approximation:
    """A number and how far it may be from the exact number."""

    value: float
    error: float

    def __add__(self, other: Approximation) -> Approximation:
        """Return the sum; errors add up."""
        return Approximation(self.value + other.value, self.error + other.error)

    def times(self, factor: float) -> Approximation:
        """Return a multiple."""
        return Approximation(factor * self.value, abs(factor) * self.error)


@cache
def mean_product(
    exponents: Exponents, keys: int, deviation: float, *, log_total: bool = False
) -> Approximation:
    """Return E Σ Π p_j^a·s_j^b over all choices of as many different keys as there are ``exponents``.

    With ``log_total`` each term has a factor ln Z. All ``exponents`` of weights must be positive.
    """
    order, different = sum(weight for weight, _ in exponents), len(exponents)
    choices = math.perm(keys, different)
    if not choices:
        return Approximation(0.0, 0.0)

    def terms(rule: _TrapezoidRule) -> Array:
        product = np.exp((keys - different) * rule.log_psi)
        for pair in exponents:
            product = product * rule.phi(*pair)
        # The derivative of 1/Z^k with respect to k brings out -ln Z.
        return product * (scipy.special.digamma(order) - rule.u) if log_total else product

    return _integrated(terms, deviation).times(choices / math.gamma(order))


@cache
def mean_log_total(keys: int, deviation: float) -> Approximation:
    """Return E ln Z = ∫ (exp(-t) - ψ(t)^n)/t dt (Frullani)."""
    return _integrated(lambda rule: np.exp(-np.exp(rule.u)) - np.exp(keys * rule.log_psi), deviation)


@cache
def mean_beside_sink(keys: int, deviation: float, sink: float) -> Approximation:
    """Return E Z/(Z + e^b), the weight of the keys beside a sink of score b = ``sink``.

    It is 1 - E a/(Z + a) with a = e^b, and a/(Z + a) = ∫ a·exp(-at)·exp(-tZ) dt.
    """

    def terms(rule: _TrapezoidRule) -> Array:
        at = rule.u + sink
        product: Array = np.exp(at - np.exp(at) + keys * rule.log_psi)
        return product

    return Approximation(1.0, 0.0) + _integrated(terms, deviation).times(-1)


@cache
def mean_largest(keys: int) -> Approximation:
    """Return M_n, the mean of the largest of n standard normal variables, from its density."""
    # The largest of n lies about √(2 ln n), within one over that: of very many the rule goes further.
    terms, count, place = [], float(keys), math.sqrt(2 * math.log(keys))
    parts = 4 * max(1, round(place / 4))
    for step, reach in _RULES:
        edge = math.ceil(parts * max(reach, 4.5 + place) / step)
        z = step / parts * np.arange(-edge, edge + 1)
        below = (count - 1) * scipy.special.log_ndtr(z)
        density = count * np.exp(-(z**2) / 2 + below) / math.sqrt(2 * math.pi)
        terms.append((z * density, step / parts))
    return _compared(*terms)


@cache
def mean_largest_weight(keys: int, deviation: float) -> Approximation:
    """Return E max p, the mean of 1/Σexp(s - max s) over the place m of the largest score.

    Given it the others are independent and smaller by y, so that E max p is n times the integral over t and m
    of e^(-t)·φ(m)·[∫_0^∞ φ(m - y)·exp(-t·e^(-y)) dy]^(n-1). For a few dozen keys at most.
    """
    values, unit = [], math.sqrt(2 * math.pi)
    for fineness in (1.3, 1.0):
        step = 0.3 / fineness
        u = np.arange(-36.0, 4.0, step)
        tops, top_weights = legendre(-7.0, 8.0, round(48 * fineness))
        # By how much the others are smaller; a score smaller by more than the edge adds nothing to the sum.
        edge = min(45.0, 15 * deviation)
        gaps, gap_weights = legendre(0.0, edge, round(90 * fineness))
        kernel = np.exp(-np.exp(u[:, None] - gaps)) * gap_weights
        density = np.exp(-((tops - gaps[:, None] / deviation) ** 2) / 2) / (unit * deviation)
        others = (kernel @ density + scipy.special.ndtr(tops - edge / deviation)) ** (keys - 1)
        of_top = top_weights * np.exp(-(tops**2) / 2) / unit
        values.append(float(keys * step * np.exp(u - np.exp(u)) @ others @ of_top))
    return Approximation(values[0], abs(values[0] - values[1]) + _ROUNDING)


def over_lengths(
    mean: Callable[[int, float], Approximation],
    keys: int,
    dimension: float,
    scale: float,
    within: float = PRECISE,
) -> Approximation:
    """Return ``mean(keys, σ)`` averaged over σ = scale·|q|, q a query of standard normal components.

    Given the query, its scores with standard normal keys are independent and normal with that deviation. The
    error counts how far the last two rules lie apart, which is ``within`` of the value if they converge.
    """
    fine, apart = Approximation(math.inf, 0.0), math.inf
    for count in _NODES:
        coarse, fine = fine, Approximation(0.0, 0.0)
        for length, weight in zip(*of_lengths(dimension, count), strict=True):
            if weight > 1e-20:  # what lies so far out is not seen in the mean
                fine += mean(keys, scale * float(length)).times(float(weight))
        apart = abs(fine.value - coarse.value)
        if apart <= within * abs(fine.value):
            break
    return Approximation(fine.value, fine.error + apart)


# ---- Gauss's rules: so few nodes integrate polynomials of nearly twice as high a degree exactly -----------


def legendre(low: float, high: float, count: int) -> tuple[Array, Array]:
    """Return Gauss and Legendre's nodes and weights between two ends, shape (count,) each."""
    nodes, weights = _unit_legendre(count)
    return low + (high - low) * (nodes + 1) / 2, weights * (high - low) / 2


_unit_legendre = cache(np.polynomial.legendre.leggauss)


def of_lengths(dimension: float, count: int) -> tuple[Array, Array]:
    """Return nodes and weights, shape (count,) each, for the mean over the length of a normal vector.

    Its components are standard normal. The weights add up to 1. Nodes are the eigenvalues of the matrix by
    which the distribution's orthogonal polynomials follow from each other. Source: G. H. Golub and J. H.
    Welsch, Calculation of Gauss Quadrature Rules, Math. Comp. 23 (1969), 221-230.
    """
    nodes, vectors = np.linalg.eigh(_recurrence(float(dimension))[:count, :count])
    return nodes, np.asarray(vectors[0] ** 2, np.float64)


@cache
def _recurrence(dimension: float) -> Array:
    """Return that matrix, of three diagonals, for points of the density that are fine enough to stand for it.

    Reflections that leave the first direction as it is turn the points' places, bordered by the roots of
    their weights, into three diagonals: those of the polynomials that are orthogonal on the points.
    """
    half = dimension / 2
    low, high = scipy.special.gammaincinv(half, _LEFT_OUT), scipy.special.gammainccinv(half, _LEFT_OUT)
    lengths, weights = legendre(math.sqrt(2 * low), math.sqrt(2 * high), _FINE)
    log_size = float((half - 1) * math.log(2) + scipy.special.gammaln(half))
    density = np.exp(scipy.special.xlogy(dimension - 1, lengths) - lengths**2 / 2 - log_size)
    bordered = np.diag([0.0, *lengths])
    bordered[0, 1:] = bordered[1:, 0] = np.sqrt(weights * density)
    return np.asarray(scipy.linalg.hessenberg(bordered)[1:, 1:], np.float64)


# ---- the trapezoid rule ----------------------------------------------------------------------------------


class _TrapezoidRule:
    """The trapezoid rule in u = ln t and in s, for scores of a given standard deviation.

    φ_ab(u) = ∫ (v - u)^b·exp(av - e^v)·φ_σ(v - u) dv is a correlation on the common grid of u and s = v - u.
    Below its grid of u less than exp(-38) of an integral is left even for a million keys, for n(1 - ψ) is at
    most n·P(s > reach·σ) + n·exp(u + reach·σ) there. Above it as little is left of ψ.
    """

    def __init__(self, deviation: float, step: float, reach: float) -> None:
        self.step = min(step, 2.5 * deviation * step)
        half = math.ceil(reach * deviation / self.step)
        self._s = self.step * np.arange(-half, half + 1)
        density = np.exp(-((self._s / deviation) ** 2) / 2)
        self._density = density / density.sum()
        first = math.floor(-(reach * deviation + 4 * reach + 14) / self.step)
        last = math.ceil((reach * deviation + 6) / self.step)
        self.u = self.step * np.arange(first, last + 1)
        self._v = self.step * np.arange(first - half, last + half + 1)
        self._exp_v = np.exp(self._v)

    def phi(self, weight: int, score: int) -> Array:
        """Return φ at the points u, for the exponents of a key's weight and score."""
        return self._smoothed(np.exp(weight * self._v - self._exp_v), score)

    @cached_property
    def log_psi(self) -> Array:
        """The logarithm of ψ at the points u; where ψ is near 1 from 1 - ψ, which loses no digits."""
        rest = self._smoothed(-np.expm1(-self._exp_v))
        psi = np.maximum(self.phi(0, 0), np.finfo(np.float64).tiny)
        return np.where(rest < 0.5, np.log1p(-np.minimum(rest, 0.5)), np.log(psi))

    def _smoothed(self, kernel: Array, score: int = 0) -> Array:
        """Return the correlation of a kernel with s^score and the density."""
        return np.correlate(kernel, self._density * self._s**score, "valid")


# A query's lengths are those of other means over it, and of other numbers of keys.
_rule = lru_cache(maxsize=512)(_TrapezoidRule)


def _integrated(terms: Callable[[_TrapezoidRule], Array], deviation: float) -> Approximation:
    """Return ∫ terms du by the rule that counts, with the error that the other rule shows."""
    with np.errstate(over="ignore", under="ignore"):
        rules = [_rule(deviation, step, reach) for step, reach in _RULES]
        return _compared(*((terms(rule), rule.step) for rule in rules))


def _compared(fine: tuple[Array, float], coarse: tuple[Array, float]) -> Approximation:
    value, again = (step * float(np.sum(terms)) for terms, step in (fine, coarse))
    terms, step = fine
    return Approximation(value, abs(value - again) + _ROUNDING * step * float(np.sum(np.abs(terms))))


# ---- means of expressions --------------------------------------------------------------------------------

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
            total += mean_largest_weight(keys, deviation).times(factor)
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
