"""Shapes of blocks: how the estimate of one block varies, derived, and the sides that take the least time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import sympy as sp

from verify.errors import ClaimError
from verify.montecarlo.compiling import Column
from verify.montecarlo.distributions import NORMAL, Distribution
from verify.montecarlo.estimands import MIN_BLOCKS
from verify.symbolic.calculus import NotDerived, expected
from verify.symbolic.vocabulary import (
    BINDERS,
    Dot,
    E,
    Family,
    Index,
    Law,
    d,
    free_indices,
    k,
    m,
    n,
    q,
    range_of,
    score,
)


@dataclass(frozen=True)
class BlockVariance:
    """The variance of a mean of f(S) over a block's scores, by the covariances of pairs of them.

    A pair is the same score twice, or shares the query, or the key; ``value`` is the estimated quantity.
    """

    value: float
    same: float
    of_query: float
    of_key: float

    def of(self, queries: int, keys: int, *, relative: bool = False) -> float:
        """Return it for a block of so many queries and keys, or relative to the squared value."""
        variance = (self.same + (keys - 1) * self.of_query + (queries - 1) * self.of_key) / (queries * keys)
        return variance / self.value**2 if relative else variance


@lru_cache(maxsize=1024)
def block_variance(
    expression: sp.Expr,
    of_symbols: tuple[tuple[sp.Symbol, sp.Expr], ...],
    of_families: tuple[tuple[Family, Distribution], ...],
    at: tuple[tuple[Any, Any], ...],
) -> BlockVariance | None:
    """Derive the variance of a block's estimate of an expression in symbols that stand for means.

    It is linearised at the derived means. None where the means are not all of polynomials of one score, or
    the laws lack a moment.
    """
    means, laws = dict(of_symbols), dict(of_families)
    dots = list(set().union(*(mean.atoms(Dot) for mean in means.values())))
    if len(dots) != 1 or not {dots[0].args[0], dots[0].args[2]} <= set(laws):
        return None
    (dot,) = dots
    left, first, right, second = dot.args
    alone = not any(mean.has(Column, sp.Indexed) for mean in means.values())
    # A sum over keys has no place at which it is of a single score.
    is_free = all({first, second} <= free_indices(mean) for mean in means.values())
    if left == right or first == second or not (alone and is_free):
        return None
    drawn = (left, laws[left]), (right, laws[right])
    exact = {symbol: sp.nsimplify(value, rational=True) for symbol, value in at}
    # Slopes are rounded, but all that is made of them is exact: nothing cancels.
    try:
        values = {symbol: _derived(mean, drawn).subs(exact) for symbol, mean in means.items()}
        slopes = {symbol: sp.Rational(float(expression.diff(symbol).subs(values))) for symbol in means}
        covariances = []
        # Of a score with itself, with one of another key of its query, with one of another query of its key.
        for other in (dot, Dot(left, first, right, Index("j_2")), Dot(left, Index("a_2"), right, second)):
            covariance = sp.S.Zero
            for (f, slope), (g, other_slope) in product(slopes.items(), repeat=2):
                both = _derived(means[f] * means[g].xreplace({dot: other}), drawn).subs(exact)
                covariance += slope * other_slope * (both - values[f] * values[g])
            covariances.append(float(covariance))
    except NotDerived:
        return None
    return BlockVariance(float(expression.subs(values)), *covariances)


@lru_cache(maxsize=1024)
def _derived(x: sp.Expr, drawn: tuple[tuple[Family, Distribution], ...]) -> sp.Expr:
    """Return the mean of an expression for all sizes, which many cells have in common."""
    moments = {family: law.moments(len(law.base_moments) - 1) for family, law in drawn}
    laws = {family: Law(law.name, tuple(map(sp.Rational, moments[family]))) for family, law in drawn}
    return expected(E(x.expand()), laws)


_SIDES = (1, 2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 128, 192, 256)

_MULTIPLY_ADD = 0.02  # time of one multiply-add of a matrix product, in units of drawing one component
# Time that a block costs whatever its size, in the same unit; it counts only for the smallest.
_PER_BLOCK = 20.0
# Components of a block above which its arrays leave the processor's cache, and all takes twice as long.
_CACHE = 1 << 18

_MOST_QUERIES = 64  # queries above which little is gained, and few blocks are already more than enough
_MANY = 8  # times as many queries as keys: more of them would hardly save a key that is drawn
# Time that one score takes until its row's softmax is reduced, in units of drawing one component.
_PER_SCORE = 0.8
# Standard errors that a typical check's tolerance spans at its first look, of 7.2 at the planned look.
_DEVIATIONS = 6.0


def _best_queries(keys: int, d: int) -> int:
    """Return how many queries should share their ``keys`` keys where each row counts by itself.

    m rows take m + keys vectors to draw, and m·keys scores. They share the keys, by whose lengths and angles
    they differ the less the more keys and dimensions there are: as measured for 2 to 512 keys, the variance
    of their mean is about 1/m + 1/(d√keys) of that of a single row. The product of variance and
    time, a + bm, is smallest at m = √(a·d√keys/b), and flat where queries outnumber keys.
    """
    once, per_row = keys * d, d + keys * (_PER_SCORE + _MULTIPLY_ADD * d)
    best = round(math.sqrt(once * d * math.sqrt(keys) / per_row))
    return min(_MOST_QUERIES, _MANY * keys, max(1, best))


def _best_side(d: int, variance: BlockVariance, tolerance: float) -> int:
    """Return the side of blocks that reach a relative half-width ``tolerance`` in the least time.

    The constants only steer the time; the choice depends on nothing measured on the machine.
    """

    def total(side: int) -> float:
        # As totals of scores are taken: by the smaller of Gram matrices and scores, then once over these.
        product = 2 * side * d * d if d < side else side * side * d
        work = 2 * side * d + _MULTIPLY_ADD * product + 0.2 * min(d, side) ** 2 + _PER_BLOCK
        relative = variance.of(side, side, relative=True)
        blocks = max(MIN_BLOCKS, relative * (_DEVIATIONS / tolerance) ** 2)
        return blocks * (work if 2 * side * d <= _CACHE else 2 * work)

    return min(_SIDES, key=total)


_ROW_NUMBERS = 1 << 12  # scores of a block of independent rows, in at most 64 rows and at least 8
# Queries and keys, at most, of a block of which all scores are made, not only the mean of their squares.
_MOST_SIDE = 64


def lengths_of(
    expressions: Sequence[sp.Expr],
    laws: Mapping[Family, Distribution],
    at: Mapping[Any, Any],
    shape: Mapping[Any, int],
    tolerance: float,
) -> tuple[dict[Any, int], tuple[Any, ...]]:
    """Return the length of every range, and which were chosen."""
    extents = list(dict.fromkeys(extent for family in laws for extent in family.ranges))
    sizes = {extent: sp.sympify(shape.get(extent, sp.sympify(extent).subs(at))) for extent in extents}
    missing = tuple(extent for extent, size in sizes.items() if not size.is_Integer)
    bound = {str(high) for x in expressions for part in x.atoms(sp.Sum) for _, _, high in part.limits}
    bound |= {str(range_of(*part.args)) for x in expressions for part in x.atoms(*BINDERS)}
    for extent in missing:
        if extent not in (m, n) or str(extent) in bound:
            raise ClaimError(f"how many are drawn is not said: give {extent} a value in at={{…}}")
    lengths = {extent: int(size) for extent, size in sizes.items() if extent not in missing}
    if {m, n} <= set(missing):
        # All pairs of a block count, so queries and keys are as many.
        dimension = lengths.get(d, 1)
        variance = _variance_of_score(laws.get(q, NORMAL), laws.get(k, NORMAL), dimension)
        side = _best_side(dimension, variance, tolerance)
        side = max(side, *(len(free_indices(x)) for x in expressions))
        if not all(map(_is_of_squares, expressions)):
            side = min(side, _MOST_SIDE)
        lengths |= {m: side, n: side}
    elif n in missing:
        lengths[n] = lengths.get(m, 1)
    elif m in missing and n in lengths:
        # A row counts by itself: so many queries as share their keys best, or independent rows.
        keys = lengths[n]
        rows = 2 * max(4, min(32, _ROW_NUMBERS // (2 * keys)))
        lengths[m] = _best_queries(keys, lengths[d]) if q in laws and d in lengths else rows
    elif m in missing:
        lengths[m] = 64
    return lengths, missing


@lru_cache(maxsize=1024)
def _is_of_squares(x: sp.Expr) -> bool:
    """Return whether an expression is a sum of multiples of scores and of squares of scores."""
    if x.has(sp.Indexed):
        return False  # such a part is no score, and below would pass for a number
    parts = [part.as_independent(Dot)[1] for part in sp.Add.make_args(x.expand())]
    return all(
        part.is_number or isinstance(part, Dot) or part in {x**2 for x in part.atoms(Dot)} for part in parts
    )


@lru_cache(maxsize=1024)
def _variance_of_score(query: Distribution, key: Distribution, dimension: int) -> BlockVariance:
    """Return the variance of a block's estimate of a score's variance, by which blocks are shaped.

    Where the laws do not have it, that of normal components stands in.
    """
    first, second = sp.symbols("first second")
    means, at = ((first, score), (second, score**2)), ((d, dimension),)
    derived = block_variance(second - first**2, means, ((q, query), (k, key)), at)
    derived = derived or block_variance(second - first**2, means, ((q, NORMAL), (k, NORMAL)), at)
    assert derived is not None  # noqa: S101  # the normal law has all moments
    return derived
