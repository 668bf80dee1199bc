"""Expectations at a point: exactly over small discrete laws, by an integral over an exponential, or by draws.

What is drawn gives a ball of seven standard errors, so it can only falsify. Laws are found that have exactly
the moments that are assumed, and are otherwise as unlike the normal as they like.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import combinations_with_replacement, groupby, product
from operator import add, mul
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat
from sympy import Dummy, Indexed, IndexedBase, S, Sum, Symbol, oo, preorder_traversal

from verify.symbolic.arithmetics import EXACT, FLOATS, Unknown, plain_float, rational
from verify.symbolic.balls import HANDLERS, Scene, value, whole
from verify.symbolic.kernel.words import E, Var, largest, s
from verify.symbolic.quadrature import integral

TOGETHER = "together"
"""The key of a joint law of everything random, where no law is assumed."""


_HALF = fmpq(1, 2)


def _exp(y: Any) -> Any:
    return np.exp(y) if isinstance(y, (np.ndarray, np.floating)) else y.exp()


@dataclass(frozen=True)
class ComponentLaw:
    """The law of one component: points and weights, or normal, or exponential from ``mean`` - 1 on."""

    points: tuple[tuple[Any, Any], ...] = ()
    kind: str = "points"
    mean: Any = 0
    variance: Any = 1

    def standard(self, y: Any, at: Scene) -> tuple[Any, Any]:
        """Return the value and the density of a continuous law, in terms of its standard form."""
        mean, spread = (
            at.arithmetic.lift(self.mean),
            at.arithmetic.lift(self.variance) ** at.arithmetic.lift(_HALF),
        )
        if self.kind == "exponential":
            return mean - 1 + y, _exp(-y)
        return mean + spread * y, _exp(-y * y / 2) / (2 * at.arithmetic.constant(S.Pi)) ** at.arithmetic.lift(
            _HALF
        )

    def __str__(self) -> str:
        if self.kind != "points":
            return self.kind
        return ", ".join(f"{plain_float(x):.4g} with {w}" for x, w in self.points)


# Laws with given moments.


@cache
def laws_with(moments: tuple[fmpq | None, ...], within: Any = None) -> tuple[ComponentLaw, ...]:
    """Return up to three laws with these raw moments, None being any; rational points on a domain."""
    rng = random.Random(str(moments))  # noqa: S311  # no secrets
    found: list[ComponentLaw] = []
    for points in _candidates(moments, within, rng):
        law = _weighted(points, moments)
        if law and law not in found:
            found.append(law)
        if len(found) == 3:
            break
    return tuple(found)


def _candidates(moments: Sequence[Any], within: Any, rng: random.Random) -> Iterator[list[fmpq]]:
    mean = moments[1] if len(moments) > 1 and moments[1] is not None else fmpq(0)
    variance = moments[2] - mean**2 if len(moments) > 2 and moments[2] is not None else fmpq(1)
    spread = fmpq(max(1, round(1000 * math.sqrt(max(0.0, plain_float(variance))))), 1000)
    grid = [mean + spread * fmpq(j, 4) for j in range(-14, 15)]
    if within is not None:
        grid = [x for x in grid if within.contains(rational(x)) == True]  # noqa: E712
    size = sum(one is not None for one in moments)
    if size > 3 and not any(moments[1::2]) and len(grid) == 29:
        pairs = size // 2
        for _ in range(300):
            away = rng.sample(grid[15:], pairs)
            yield sorted({*away, *(-x for x in away), fmpq(0)}, key=plain_float)
    for _ in range(1500):
        if len(grid) < size:
            return
        yield sorted(rng.sample(grid, size), key=plain_float)


def _weighted(points: list[fmpq], moments: Sequence[Any]) -> ComponentLaw | None:
    known = [r for r, one in enumerate(moments) if one is not None]
    size = len(points)
    if size != len(known):
        return None
    try:
        weights = fmpq_mat(size, size, [x**r for r in known for x in points]).solve(
            fmpq_mat(size, 1, [moments[r] for r in known])
        )
    except ZeroDivisionError:
        return None
    if any(weights[j, 0] < 0 for j in range(size)):
        return None
    return ComponentLaw(tuple((x, weights[j, 0]) for j, x in enumerate(points) if weights[j, 0] != 0))


def moment(law: ComponentLaw, power: int) -> fmpq:
    """Return a raw moment of a discrete law."""
    return sum((w * x**power for x, w in law.points), fmpq(0))


# Means.


def mean(expression: Any, at: Scene) -> Any:
    """Return a mean's value, over the laws of the scene."""
    return _expectation(expression.args[0], at)


def variance(expression: Any, at: Scene) -> Any:
    """Return E(x²) - E(x)²."""
    inside = expression.args[0]
    middle = _expectation(inside, at)
    return _expectation(inside**2, at) - middle * middle


HANDLERS[E] = mean
HANDLERS[Var] = variance


@cache
def names_in(expression: Any, definitions: tuple[tuple[Any, Any], ...]) -> frozenset[Any]:
    """Return the symbols and families in an expression, and in the definitions of what is in it."""
    found = set(expression.free_symbols) | {one.base for one in expression.atoms(Indexed)}
    while True:
        more = set()
        for name, meaning in definitions:
            if (name.base if isinstance(name, Indexed) else name) in found:
                more |= set(meaning.free_symbols) | {one.base for one in meaning.atoms(Indexed)}
        if more <= found:
            return frozenset(found)
        found |= more


def _expectation(inside: Any, at: Scene) -> Any:
    if at.arithmetic is EXACT:
        raise Unknown("a mean is no fraction here")
    if inside.has(E, Var):
        raise Unknown("a mean within a mean")
    used = names_in(inside, tuple(at.definitions.items()))
    if largest in used and s in at.laws:
        used |= {s}
    at = at.having({}, within=True)
    if TOGETHER in at.laws:
        return _over_together(inside, at)
    live = [one for one in at.laws if one in used]
    if any(at.laws[one].kind == "normal" and isinstance(one, IndexedBase) for one in live):
        return _drawn(inside, live, at)
    try:
        return _over(inside, live, at)
    except TooMany:
        return _drawn(inside, live, at)


class TooMany(Unknown):
    """There are too many outcomes."""


def _over_together(inside: Any, at: Scene) -> Any:
    found = at.arithmetic.lift(0)
    for values, entries, weight in at.laws[TOGETHER]:
        there = at.having(values, entries={**at.entries, **entries}, tables={})
        found = found + at.arithmetic.lift(weight) * value(inside, there)
    return found


def _over(inside: Any, live: list[Any], at: Scene) -> Any:
    """Return the mean over independent components: by integrals over continuous laws, exactly over others."""
    one = next((one for one in live if at.laws[one].kind != "points"), None)
    if one is None:
        return _enumerated(inside, live, at)
    rest, law = [other for other in live if other != one], at.laws[one]

    def integrand(y: Any, scene: Scene) -> Any:
        x, density = law.standard(y, scene)
        return _over(inside, rest, scene.having({one: x}, within=True)) * density

    return integral(integrand, S.Zero if law.kind == "exponential" else -oo, oo, at)


MOST = 3000
"""The most outcomes that are enumerated."""


def _enumerated(inside: Any, live: list[Any], at: Scene) -> Any:
    scalars = [one for one in live if isinstance(one, Symbol)]
    families = [one for one in live if isinstance(one, IndexedBase)]
    found = at.arithmetic.lift(0)
    outcomes = _outcomes(inside, families, at)
    here = list(_draws_of(scalars, at.laws))
    if len(outcomes) * len(here) > MOST:
        raise TooMany
    for put, entries, weight in outcomes:
        there = at.having(put, entries={**at.entries, **entries}, tables={}) if families else at.having({})
        for scalar, more in here:
            at.hurry()
            there.values.update(scalar)
            found = found + at.arithmetic.lift(weight) * at.arithmetic.lift(more) * value(inside, there)
    return found


def _draws_of(
    components: Sequence[Any], laws: dict[Any, ComponentLaw]
) -> Iterator[tuple[dict[Any, Any], Any]]:
    for draw in product(*(laws[one].points for one in components)):
        weight = reduce(mul, (part for _, part in draw), 1)
        yield dict(zip(components, (x for x, _ in draw), strict=True)), weight


Outcomes = list[tuple[dict[Any, Any], dict[Any, Any], Any]]


def _outcomes(inside: Any, families: list[Any], at: Scene) -> Outcomes:
    """Return what sums over families may be, where that is enough, or what all entries may be."""
    if not families:
        return [({}, {}, 1)]
    sums = _alike_sums(inside, frozenset(families))
    if sums is None:
        return _of_entries(inside, families, at)
    given = [at.values[one] for one in _free(sums) if one in at.values]
    if at.arithmetic is FLOATS or not all(type(one) in {int, fmpq} for one in given):
        return _of_sums(sums, families, at)
    key = (sums, tuple(families), tuple(given), ctx.prec)
    if key not in at.memo:
        at.memo[key] = _of_sums(sums, families, at)
    found: Outcomes = at.memo[key]
    return found


@cache
def _free(sums: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted({one for total in sums for one in total.free_symbols}, key=str))


def _places(inside: Any, base: Any, at: Scene) -> list[tuple[int, ...]]:
    """Return the indices of a family that count: those written, if all are numbers, else all."""
    written = {one.indices for one in inside.atoms(Indexed) if one.base == base}
    if written and all(index.is_Integer for one in written for index in one) and not at.definitions:
        return sorted(tuple(map(int, one)) for one in written)
    return [tuple(one + 1 for one in place) for place in np.ndindex(*at.shapes.get(base, (1,)))]


def _of_entries(inside: Any, families: list[Any], at: Scene) -> Outcomes:
    """Return all outcomes of all entries, each with its weight."""
    keys = [(base, *place) for base in families for place in _places(inside, base, at)]
    if math.prod(len(at.laws[key[0]].points) for key in keys) > MOST:
        raise TooMany
    laws = {key: at.laws[key[0]] for key in keys}
    return [({}, entries, weight) for entries, weight in _draws_of(keys, laws)]


def _of_sums(sums: tuple[Any, ...], families: list[Any], at: Scene) -> Outcomes:
    """Return the joint outcomes of sums over independent and alike terms, from the law of one term."""
    many = whole(sums[0].limits[0][2], at)
    single = _Merged()
    for draw, weight in _draws_of(families, at.laws):
        there = at.having(
            {one.limits[0][0]: 1 for one in sums},
            entries={**at.entries, **{(base, 1): x for base, x in draw.items()}},
            tables={},
        )
        single.add(_terms(sums, there), weight)
    if math.comb(len(single.found) + many - 1, many) > MOST:
        raise TooMany
    joint = _Merged()
    for chosen in combinations_with_replacement(single.found.values(), many):
        weight, left = fmpq(1), many
        for _, alike in groupby(chosen, key=id):
            group = list(alike)
            weight = weight * math.comb(left, len(group)) * group[0][1] ** len(group)
            left -= len(group)
        terms = zip(*(one for one, _ in chosen), strict=True)
        joint.add(tuple(reduce(add, column) for column in terms), weight)
    return [(dict(zip(sums, totals, strict=True)), {}, weight) for totals, weight in joint.found.values()]


class _Merged:
    """Outcomes with their weights, of which those of equal fractions are one."""

    def __init__(self) -> None:
        self.found: dict[Any, tuple[tuple[Any, ...], Any]] = {}

    def add(self, terms: tuple[Any, ...], weight: Any) -> None:
        """Add an outcome."""
        exact = all(type(one) is fmpq for one in terms)
        key = tuple((int(one.p), int(one.q)) for one in terms) if exact else object()
        before = self.found[key][1] if key in self.found else fmpq(0)
        self.found[key] = terms, before + weight


def _terms(sums: tuple[Any, ...], at: Scene) -> tuple[Any, ...]:
    """Return one term of each sum, as fractions where they are polynomials."""
    exact = at.having({}, arithmetic=EXACT)
    try:
        return tuple(value(one.function, exact) for one in sums)
    except Unknown:
        return tuple(value(one.function, at) for one in sums)


@cache
def _alike_sums(inside: Any, random_ones: frozenset[Any]) -> tuple[Any, ...] | None:
    """Return the sums that all random entries are in, if their terms are independent and alike, else None."""
    found: list[Any] = []
    walk = preorder_traversal(inside)
    for one in walk:
        if isinstance(one, (E, Var)):
            walk.skip()
        elif isinstance(one, Sum) and one.has(*random_ones):
            found.append(one)
            walk.skip()
    left = inside.xreplace({one: Dummy() for one in found})
    alike = found and not left.has(*random_ones) and len({one.limits[0][1:] for one in found}) == 1
    return (
        tuple(dict.fromkeys(found)) if alike and all(_is_plain(one, random_ones) for one in found) else None
    )


def _is_plain(total: Any, random_ones: frozenset[Any]) -> bool:
    if len(total.limits) != 1 or total.limits[0][1] != 1 or total.function.has(Sum, E, Var):
        return False
    index = total.limits[0][0]
    entries = total.function.atoms(Indexed)
    if any(one.base not in random_ones or one.indices != (index,) for one in entries):
        return False
    return index not in total.function.xreplace({one: Dummy() for one in entries}).free_symbols


# Draws.

SEEN = 50
"""An outcome that is expected less often may be missing among draws, as if it did not exist."""


def _drawn(inside: Any, live: list[Any], at: Scene) -> Any:
    """Return a mean over seeded draws, a ball of seven standard errors.

    Raises:
        Unknown: few draws make most of the spread, so that the standard error says little.
    """
    if at.arithmetic is FLOATS or at.analytic is not None:
        raise Unknown("draws inside other arrays")
    tables, values, rows = _tables(live, at)
    floats = at.in_floats(tables={**_fixed(at, live), **tables}).having(values)
    # What overflows says nothing, even where a quotient brings it back.
    with np.errstate(all="ignore", over="raise"):
        got = np.broadcast_to(value(inside, floats), (rows,))
        if np.iscomplexobj(got) or not np.isfinite(got).all():
            raise Unknown("draws that overflow")
        if got.min() == got.max():
            raise Unknown("draws that are all alike")
        squares = (got - got.mean()) ** 2
        share = max(0.02, min(0.2, 100 / rows))
        if squares.max() > share * squares.sum() > 0 and squares.max() > 1e-18 * (1 + got.mean() ** 2):
            raise Unknown("a tail that draws do not see")
        radius = 7 * got.std() / math.sqrt(rows) + 1e-12 * (1 + abs(got).max())
    if not math.isfinite(radius):
        raise Unknown("draws that overflow")
    return arb(float(got.mean()), float(radius))


def _fixed(at: Scene, live: list[Any]) -> dict[Any, Any]:
    return {base: table for base, table in at.tables.items() if base not in live}


def _tables(live: list[Any], at: Scene) -> tuple[dict[Any, Any], dict[Any, Any], int]:
    """Return the draws of a point's random components, made once: of families, of symbols, and how many."""
    key = ("draws", tuple(sorted((str(one), at.shapes.get(one)) for one in live)))
    if key not in at.memo:
        shapes = {one: at.shapes.get(one, (1,)) if isinstance(one, IndexedBase) else () for one in live}
        many = sum(math.prod(shape) for shape in shapes.values())
        rows = max(400, min(40000, at.budget // max(1, many)))
        if rows * many > 2 * 10**7:
            raise Unknown("too many to draw")
        if any(w * rows < SEEN for one in live for _, w in at.laws[one].points):
            raise Unknown("an outcome so rare that draws do not see it")
        rng = np.random.default_rng([at.seed, many])
        drawn = {one: _draw(at.laws[one], (*shapes[one], rows), rng) for one in sorted(live, key=str)}
        families = {one: table for one, table in drawn.items() if isinstance(one, IndexedBase)}
        symbols = {one: table for one, table in drawn.items() if not isinstance(one, IndexedBase)}
        at.memo[key] = families, symbols, rows
    found: tuple[dict[Any, Any], dict[Any, Any], int] = at.memo[key]
    return found


def _draw(law: ComponentLaw, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    if law.kind == "normal":
        return plain_float(law.mean) + math.sqrt(plain_float(fmpq(law.variance))) * rng.standard_normal(shape)
    if law.kind == "exponential":
        return plain_float(law.mean) - 1 + rng.standard_exponential(shape)
    weights = np.array([plain_float(w) for _, w in law.points])
    points = np.array([plain_float(x) for x, _ in law.points])
    return rng.choice(points, size=shape, p=weights / weights.sum())
