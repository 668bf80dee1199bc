"""Where a statement is tried: corners of its domains, seeded points, small laws, entries of families.

``plans`` yields values of the free symbols, ``scene_at`` a point of such values at which all hypotheses hold.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import product
from math import prod
from typing import Any

from flint import arb, arb_mat, fmpq
from sympy import (
    Eq,
    FiniteSet,
    Idx,
    Indexed,
    IndexedBase,
    Integer,
    Interval,
    Ne,
    Range,
    Rational,
    S,
    Symbol,
    Union,
    ceiling,
    floor,
    oo,
)  # fmt: skip
from sympy.core.relational import Relational

from verify.symbolic.arithmetics import EXACT, Undefined, Unknown, fraction, rational
from verify.symbolic.balls import Scene, value, whole
from verify.symbolic.kernel.words import E
from verify.symbolic.layouts import SYMMETRIC, Layout, joint, number_at
from verify.symbolic.means import TOGETHER, ComponentLaw, laws_with, moment


class Outside(Exception):  # noqa: N818
    """The hypotheses do not hold at a point."""


_SIZES, _MANY_KEYS = (1, 2, 3), (1, 2, 3, 16, 64, 512)
_LARGE = (17, 1000, 10**6)
_GRID = tuple(
    Rational(*one)
    for one in ((1, 10**6), (1, 100), (1, 3), (1, 2), (1, 1), (2, 1), (5, 1), (100, 1), (10**4, 1))
)
_SEEN = Rational(1, 1000)
"""Floats see no less of a normal law's spread."""
_FINE = 10**12


def contains(domain: Any, point: Any) -> bool:
    """Return whether a domain certainly has a point."""
    if type(domain) is Interval and point.is_Rational:
        above = point > domain.start if domain.left_open else point >= domain.start
        below = point < domain.end if domain.right_open else point <= domain.end
        return bool(above) and bool(below)
    if domain is S.Reals or domain is S.Integers:
        return bool(point.is_Integer or domain is S.Reals)
    if type(domain) is Range and domain.step == 1:
        return bool(point.is_Integer and domain.inf <= point <= domain.sup)
    return bool(domain.contains(point) == True)  # noqa: E712


@cache
def corners(domain: Any) -> tuple[Any, ...]:
    """Return few points of a domain: small, tiny, huge, negative ones, and those near its ends."""
    return tuple(dict.fromkeys(_corners(domain)))


def _corners(domain: Any) -> list[Any]:
    if isinstance(domain, FiniteSet):
        return sorted(domain, key=str)
    if isinstance(domain, Range):
        first = domain.start if domain.start.is_finite else Integer(-3)
        near = [first + one for one in range(3)]
        return [one for one in (*near, *map(Integer, _LARGE)) if contains(domain, one)]
    if isinstance(domain, Union):
        return [one for part in domain.args for one in _corners(part)]
    if domain is S.Integers:
        return [Integer(one) for one in (-3, -1, 0, 1, 2, 100)]
    return [one for one in _spread(*_ends(domain)) if contains(domain, one)]


@cache
def _ends(domain: Any) -> tuple[Any, Any]:
    """Return the ends of a domain; of an irrational one, such as e, a fraction close to it and inside."""
    low, high = domain.inf, domain.sup
    if low.is_finite and not low.is_rational:
        low = Rational(ceiling(low * _FINE), _FINE)
    if high.is_finite and not high.is_rational:
        high = Rational(floor(high * _FINE), _FINE)
    return low, high


def _spread(low: Any, high: Any) -> list[Any]:
    if low == -oo and high == oo:
        return [S.Zero, *_GRID, *(-one for one in _GRID)]
    if high == oo:
        return [low, *(low + one for one in _GRID)]
    if low == -oo:
        return [high, *(high - one for one in _GRID)]
    width = high - low
    inside = [low + width * Rational(part, 8) for part in range(1, 8)]
    return [low, high, *inside, low + width / 10**6, high - width / 10**6]


def somewhere(domain: Any, rng: random.Random) -> Any:
    """Return a random point of a domain.

    Raises:
        Unknown: none is found.
    """
    if isinstance(domain, FiniteSet):
        return rng.choice(sorted(domain, key=str))
    for _ in range(50):
        size = Rational(round(10 ** rng.uniform(-4, 3) * 10**6), 10**6)
        found = _from_end(*_ends(domain), size, rng)
        if isinstance(domain, Range) or domain is S.Integers:
            found = Integer(round(found))
        if contains(domain, found):
            return found
    raise Unknown(f"no point in {domain}")


def _from_end(low: Any, high: Any, size: Any, rng: random.Random) -> Any:
    if low == -oo and high == oo:
        return size * rng.choice((-1, 1))
    if high == oo:
        return low + size
    if low == -oo:
        return high - size
    return low + (high - low) * Rational(rng.randint(0, 10**6), 10**6)


def _corner_lists(layout: Layout) -> list[list[Any]]:
    normal = bool(layout.law and layout.law.normal)
    lists = []
    for one in layout.symbols:
        domain = layout.domain(one)
        if one not in layout.sizes:
            lists.append([x for x in corners(domain) if one not in layout.spreads or abs(x) >= _SEEN])
            continue
        wanted = _MANY_KEYS if normal and not layout.sizes - {one} else _SIZES
        first = domain.inf if domain.inf.is_finite else Integer(1)
        near = sorted({*map(Integer, wanted), *(first + more for more in range(3))}, key=int)
        lists.append([size for size in near if contains(domain, size)])
    return lists


def plans(layout: Layout, corner_points: int, more: int, rng: random.Random) -> Iterator[tuple[Any, ...]]:
    """Yield values of the free symbols: every corner of each with others by turns, then random ones."""
    lists = _corner_lists(layout)
    if not all(lists):
        raise Unknown("a symbol has no point")
    if prod(map(len, lists)) <= corner_points:
        copies = max(1, min(corner_points, 24) // prod(map(len, lists)))
        yield from (plan for plan in product(*lists) for _ in range(copies if _varies(layout) else 1))
    else:
        turns = [rng.sample(one, len(one)) for one in lists]
        for count in range(corner_points):
            for one in turns:
                if count % len(one) == 0:
                    rng.shuffle(one)
            yield tuple(one[count % len(one)] for one in turns)
    for _ in range(more if layout.symbols or _varies(layout) else 0):
        yield tuple(
            _random_value(layout, one, values, rng) for one, values in zip(layout.symbols, lists, strict=True)
        )


def _varies(layout: Layout) -> bool:
    return bool(layout.bases or layout.random or layout.matrices or layout.free_indices)


def _random_value(layout: Layout, one: Any, values: list[Any], rng: random.Random) -> Any:
    if one in layout.sizes:
        return rng.choice(values[:4])
    found = rng.choice(values) if rng.random() < 0.1 else somewhere(layout.domain(one), rng)
    return found if one not in layout.spreads or abs(found) >= _SEEN else values[0]


def scene_at(layout: Layout, plan: dict[Any, Any], rng: random.Random, **settings: Any) -> Scene:
    """Return a point at these values of the free symbols, all else chosen at random.

    Raises:
        Unknown: no such point is found.
        Outside: a hypothesis does not hold there.
    """
    at = Scene(definitions=layout.definitions, **settings)
    at.values = {one: fraction(x) for one, x in plan.items()}
    _solve_conditions(layout, at)
    at.reshape = lambda scene: shapes_at(layout, scene)
    at.shapes = shapes_at(layout, at)
    _give_laws(layout, at, rng)
    for base in layout.bases:
        if base not in layout.random:
            at.entries |= entries_of(layout, base, at, rng)
    for index, (base, place) in layout.free_indices.items():
        at.values[index] = rng.randint(1, at.shapes[base][place])
        if not isinstance(index, Idx) and not contains(layout.domain(index), Integer(at.values[index])):
            raise Outside
    for matrix in layout.matrices:
        if matrix in at.values or matrix in layout.random:
            continue
        at.values[matrix] = _matrix(matrix, layout, at, rng)
    refuse_outside(layout, at)
    return at


def refuse_outside(layout: Layout, at: Scene) -> None:
    """Refuse a point outside a domain, or at which a condition does not certainly hold.

    Raises:
        Outside: it does not.
        Unknown: that cannot be told.
    """
    for one, domain in layout.hypotheses.domains:
        keys = [key for key in at.entries if one in {key[0], key[0][key[1:]]}]
        if not all(contains(domain, rational(fmpq(at.entries[key]))) for key in keys):
            raise Outside
    for condition in sorted(layout.hypotheses.conditions, key=str):
        try:
            held = certainly(condition, at)
        except Undefined as error:
            raise Outside from error
        if not held:
            raise Outside


def certainly(condition: Any, at: Scene) -> bool:
    """Return whether a relation surely holds at a point; an equation, as far as balls can tell."""
    if not isinstance(condition, Relational):
        raise Unknown(f"the condition {condition}")
    gap = value(condition.lhs, at) - value(condition.rhs, at)
    if isinstance(condition, Eq):
        return bool(gap.contains(0) and gap.rad() < arb("1e-15"))
    if isinstance(condition, Ne):
        return not gap.contains(0)
    return bool({"<": gap < 0, "<=": gap <= 0, ">": gap > 0, ">=": gap >= 0}[condition.rel_op])


def _solve_conditions(layout: Layout, at: Scene) -> None:
    """Give a symbol that a condition equates with an expression its value."""
    for condition in sorted(layout.hypotheses.conditions, key=str):
        if not isinstance(condition, Eq):
            continue
        for one, other in (condition.args, condition.args[::-1]):
            if one in at.values and not other.has(one) and not other.has(Indexed, E):
                at.values[one] = value(other, at.having({}, arithmetic=EXACT))
                if not contains(layout.domain(one), rational(at.values[one])):
                    raise Outside
                break


def shapes_at(layout: Layout, at: Scene) -> dict[Any, tuple[int, ...]]:
    """Return how many entries each family has at a point: as many as sums run over."""
    found = {}
    for base in {one.base for one in layout.indexed} | set(layout.bases):
        used = [one.indices for one in layout.indexed if one.base == base]
        rank = max((len(one) for one in used), default=1)
        found[base] = tuple(
            _size(layout.highs.get((base, place), set()), {one[place] for one in used}, at)
            for place in range(rank)
        )
    return found


def _size(highs: set[Any], indices: set[Any], at: Scene) -> int:
    ranges = {one.upper for one in indices if isinstance(one, Idx) and one.upper is not None}
    found: list[int] = [whole(one, at) for one in highs | ranges if one.free_symbols <= set(at.values)]
    if found:
        return max(1, *found)
    keys = [whole(one, at) for one in at.values if str(one) == "n"]
    numbers = [int(one) for one in indices if one.is_Integer]
    return keys[0] if keys and keys[0] < 10**5 else max([3, *numbers])


def _give_laws(layout: Layout, at: Scene, rng: random.Random) -> None:
    if not layout.random:
        return
    if layout.vectors:
        at.laws[TOGETHER] = joint(layout.vectors, at, rng)
        return
    if not layout.law:
        at.laws[TOGETHER] = _together(layout, at, rng)
        return
    chosen: dict[Any, ComponentLaw] = {}
    for one, listed in layout.moments.items():
        group = next((group for group in layout.law.alike if one in group), None)
        shared = listed if listed and any(m in layout.readable for m in listed) else None
        key = group or shared or one
        if key not in chosen:
            chosen[key] = _law(layout, one, listed, at, rng)
        at.laws[one] = chosen[key]
    for symbol, (one, power) in layout.readable.items():
        at.values[symbol] = moment(at.laws[one], power)
        if not contains(layout.domain(symbol), rational(at.values[symbol])):
            raise Outside


def _law(layout: Layout, one: Any, listed: Any, at: Scene, rng: random.Random) -> ComponentLaw:
    domain = layout.domain(one)
    if one in layout.law.normal:
        return _normal(listed, at, rng)
    if listed is None:
        return _any_law(one, domain, layout, at, rng)
    known = tuple(None if m in layout.readable else number_at(m, at) for m in listed)
    found = laws_with(known, None if domain == S.Reals else domain)
    if not found:
        raise Unknown(f"no small law of {one} with these moments")
    return rng.choice(found)


def _normal(listed: Any, at: Scene, rng: random.Random) -> ComponentLaw:
    mean = number_at(listed[1], at) if listed and len(listed) > 1 else fmpq(rng.choice((0, 1)))
    square = number_at(listed[2], at) if listed and len(listed) > 2 else mean**2 + rng.choice((1, 4))
    spread = square - mean**2
    if spread <= 0:
        raise Outside
    return ComponentLaw(kind="normal", mean=mean, variance=spread)


def _any_law(one: Any, domain: Any, layout: Layout, at: Scene, rng: random.Random) -> ComponentLaw:
    half_line = isinstance(one, Symbol) and domain.sup == oo and domain.inf.is_rational
    if half_line and not domain.is_subset(S.Integers) and rng.random() < 0.3:
        return ComponentLaw(kind="exponential", mean=fraction(domain.inf) + 1)
    many = rng.choice((2, 3, 4))
    few = [x for x in corners(domain) if x.is_rational]
    points = rng.sample(few, min(many, len(few)))
    if rng.random() < 0.3:
        points = [somewhere(domain, rng) for _ in range(many)]
    bound = layout.bound_of(one, at)
    raw = [fraction(x) if bound is None else bound * fmpq(rng.randint(-4, 4), 4) for x in points]
    weights = [rng.randint(1, 5) for _ in raw]
    return ComponentLaw(tuple((x, fmpq(w, sum(weights))) for x, w in zip(raw, weights, strict=True)))


def _together(layout: Layout, at: Scene, rng: random.Random) -> list[Any]:
    """Return a joint law of all that is random: three outcomes."""
    weights, found = [rng.randint(1, 5) for _ in range(3)], []
    for weight in weights:
        put = {
            one: fraction(rng.choice(corners(layout.domain(one))))
            for one in sorted(layout.random, key=str)
            if not isinstance(one, IndexedBase)
        }
        entries: dict[Any, Any] = {}
        for one in sorted(layout.random, key=str):
            if isinstance(one, IndexedBase):
                entries |= entries_of(layout, one, at, rng)
        found.append((put, entries, fmpq(weight, sum(weights))))
    return found


# Entries.

_WEIGHTS = ((1, 1, 2, 5, 30, 1000), (1,), (1, 10**6), (7, 8, 9))


def entries_of(layout: Layout, base: Any, at: Scene, rng: random.Random) -> dict[Any, Any]:
    """Return entries of a family: probabilities, or reals as the hypotheses allow."""
    shape = at.shapes[base]
    keys = [(base, *place) for place in product(*(range(1, size + 1) for size in shape))]
    if is_simplex(base):
        pool = rng.choice(_WEIGHTS)
        raw = [fmpq(rng.choice(pool)) for _ in keys]
        total = sum(raw, fmpq(0))
        found = [one / total for one in raw]
    else:
        found = _reals(layout, base, len(keys), at, rng)
    if orders(layout, base):
        found = sorted(found, key=lambda x: int(x.p) / int(x.q), reverse=True)
    return dict(zip(keys, found, strict=True))


def is_simplex(base: Any) -> bool:
    """Return whether a family without a definition is one of probabilities, by its name."""
    return str(base) == "p"


def orders(layout: Layout, base: Any) -> bool:
    """Return whether a family is ordered, or defines one that is, as scores do probabilities."""
    ordered = layout.known.get("ordered", set())
    return base in ordered or any(
        isinstance(name, Indexed) and name.base in ordered and meaning.has(base)
        for name, meaning in layout.definitions.items()
    )


def _reals(layout: Layout, base: Any, many: int, at: Scene, rng: random.Random) -> list[fmpq]:
    bound, kind = layout.bound_of(base, at), rng.randrange(6)
    sizes = {0: fmpq(1, 1000), 1: fmpq(100)}
    found = [fmpq(rng.randint(-20, 20), rng.randint(1, 7)) * sizes.get(kind, fmpq(1)) for _ in range(many)]
    if kind == 2:
        found = [fmpq(0)] * many
        found[rng.randrange(many)] = fmpq(rng.choice((-1, 1, 3)))
    if kind == 3:
        found = [fmpq(rng.choice((-1, 1))) * 2 for _ in range(many)]
    domain = layout.domain(base)
    if domain != S.Reals:
        few = corners(domain)
        found = [fraction(rng.choice(few) if kind < 3 else somewhere(domain, rng)) for _ in range(many)]
    if bound is not None:
        largest = max([abs(one) for one in found] + [fmpq(1, 10**6)])
        found = [
            one / largest * bound * (1 if kind in {2, 3} else fmpq(rng.randint(0, 4), 4)) for one in found
        ]
    return found


def _matrix(matrix: Any, layout: Layout, at: Scene, rng: random.Random) -> arb_mat:
    rows, columns = (whole(S(one), at) for one in matrix.shape)
    if rows * columns > 36:
        raise Unknown("a large matrix")
    found = arb_mat(
        [[arb(fmpq(rng.randint(-9, 9), rng.randint(1, 4))) for _ in range(columns)] for _ in range(rows)]
    )
    symmetric = any(matrix in layout.known.get(name, ()) for name in SYMMETRIC)
    return found * found.transpose() if symmetric and rows == columns else found
