"""Exact equality: both sides are evaluated at random points, modulo two primes.

Let P = 2Q + 1 with P and Q prime. The squares modulo P are a group of Q elements, so a value modulo P may be
raised to an exponent modulo Q: exp(x) is g**x, where x is known modulo Q, and a root is a power by an inverse
modulo Q. Logarithms split by products; trigonometric functions are rational in the tangent of half the angle;
the sign of a number is whether it is a square. Sums are written out at numeric sizes. An equation that is wrong
holds at such a point with a probability of about degree/P, that is never.

A mean is any linear functional with E 1 = 1; under laws it is the mean over small random laws with the moments
that are assumed, drawn modulo P and Q. What cannot be evaluated is *not decided*, which is no equality.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

from sympy import (
    Abs,
    Add,
    Derivative,
    Dummy,
    Function,
    I,
    Indexed,
    Integer,
    Integral,
    KroneckerDelta,
    Max,
    Min,
    Mul,
    Pow,
    Rational,
    S,
    Sum,
    Symbol,
    binomial,
    cos,
    cosh,
    exp,
    expand_trig,
    factor_terms,
    factorial,
    factorint,
    fraction,
    gamma,
    log,
    sign,
    sin,
    sinh,
    sympify,
    tan,
    tanh,
)

from verify.errors import ClaimError
from verify.symbolic.chains import StepError
from verify.symbolic.vocabulary import (
    E,
    Family,
    Index,
    Indicator,
    Largest,
    Law,
    Laws,
    Quantile,
    definition,
    families_of,
    free_indices,
    range_of,
)

Q = 2305843009171380839
"""A prime; P = 2Q + 1 is one as well. 2, 3, 5, …, 23 are squares modulo both, -1 modulo neither."""
P = 2 * Q + 1

Places = dict[Any, Any]
"""What indices stand for, by number; and, inside of a mean, which outcome it is."""

OUTCOMES = 4
"""How many outcomes a mean has of which no law is known."""
LONGEST_SUM = 40
MOST_OUTCOMES = 1000
MOST_STEPS = 300_000
ATTEMPTS = 40
MOMENTS = (5, 4, 3, 2)
"""How many moments, E 1 among them, a drawn law has in common with the law that is assumed."""
LEAST_SIZE = 3
LEAST_ASSIGNMENTS = 3


class Unequal(StepError):
    """The sides differ at a point."""


class Undecided(StepError):
    """A side could not be evaluated."""


class _TooMany(Undecided):
    """A mean has too many outcomes."""


class _Redraw(Exception):
    """A root of this point's value, or a quotient, does not exist: another point may do."""


def decide_equality(
    before: Any, after: Any, laws: Laws | None = None, sizes: Mapping[Any, int] | None = None
) -> None:
    """Return where two expressions are equal at all sizes and points tried, as an exact computation.

    Means are any linear functional, or where ``laws`` are given those of independent families with their moments.
    ``sizes`` are those that have one value only.

    Raises:
        Unequal: they differ; its text says at which sizes.
        Undecided: one could not be evaluated; its text says why.
    """
    given = None if laws is None else tuple(sorted(laws.items(), key=lambda item: str(item[0])))
    error = _error(sympify(before), sympify(after), given, tuple((sizes or {}).items()))
    if error is not None:
        raise error


@lru_cache(maxsize=2048)
def _error(
    before: Any, after: Any, laws: tuple[tuple[Family, Law], ...] | None, sizes: tuple[tuple[Any, int], ...]
) -> StepError | None:
    if before == after:
        return None
    sides = definition(before), definition(after)
    error: StepError | None = None
    # Drawn laws share as many moments with those assumed as their outcomes can be gone through for.
    for moments in MOMENTS if laws else (0,):
        try:
            _tried(sides, {base: Law(law.words, law.raw[:moments]) for base, law in laws or ()}, dict(sizes))
        except _TooMany as problem:
            error = problem
            continue
        except Unequal as problem:
            if any(len(law.raw) > moments for _, law in laws or ()):
                return Undecided(f"it does not follow from the first {moments - 1} moments of the components")
            return problem
        except Undecided as problem:
            return problem
        except ClaimError as problem:
            return Undecided(str(problem))
        except RecursionError:
            return Undecided("too deep to be evaluated")
        return None
    return error


def _tried(sides: tuple[Any, Any], laws: Laws, fixed: Mapping[Any, int]) -> None:
    """Evaluate both sides at a point for each assignment of sizes."""
    budget = [MOST_STEPS]
    for number, sizes in enumerate(_assignments(*sides, fixed)):
        for attempt in range(ATTEMPTS):
            point = Point(1000 * number + attempt, sizes, laws, budget)
            places = point.places_of(*sides)
            try:
                before, after = (point.value(side, P, places) for side in sides)
            except _Redraw:
                continue
            if before != after:
                raise Unequal(f"the two sides differ{_at(sizes)}")
            break
        else:
            raise Undecided("no point was found at which all roots and quotients exist")


def _at(sizes: Mapping[Any, int]) -> str:
    return f" at {', '.join(f'{size} = {value}' for size, value in sizes.items())}" if sizes else ""


# ---- sizes -----------------------------------------------------------------------------------------------


def _assignments(before: Any, after: Any, fixed: Mapping[Any, int]) -> Iterator[dict[Any, int]]:
    """Yield numbers for the sizes that count something: all different, and more of them than degrees.

    A polynomial in a size that vanishes at more numbers than its degree is 0. Sizes that count nothing are
    symbols as any other, and drawn.
    """
    counting = sorted((_counting(before) | _counting(after)) - set(fixed), key=str)
    degree = max((_degree(before, size) + _degree(after, size) for size in counting), default=0)
    times = max(LEAST_ASSIGNMENTS, degree + 2) if counting else 1
    pool = range(LEAST_SIZE, LEAST_SIZE + times + len(counting) - 1)
    shuffled = random.Random(1)
    columns = [shuffled.sample(pool, len(pool)) for _ in counting]
    used = 0
    while used < times:
        # Each size takes each number of the pool in an order of its own; rows with two alike are drawn again.
        row = [column[used % len(pool)] for column in columns]
        if len(set(row)) < len(row):
            row = shuffled.sample(pool, len(row))
        yield {**dict(zip(counting, row, strict=True)), **fixed}
        used += 1


def is_size(symbol: Any) -> bool:
    """Return whether a symbol counts something: a positive whole number that is no index."""
    counts = symbol.is_Symbol and symbol.is_integer and symbol.is_positive
    return bool(counts) and not isinstance(symbol, Index)


@lru_cache(maxsize=4096)
def _counting(x: Any) -> frozenset[Any]:
    """Sizes in ends of sums and in whatever is evaluated at whole numbers only."""
    parts: list[Any] = []
    for part in x.atoms(Sum):
        parts += [end for limit in part.limits for end in limit[1:]]
    for part in x.atoms(gamma, factorial, binomial):
        parts += part.args
    parts += [part.exp for part in x.atoms(Pow) if not part.base.is_positive]
    parts += [range_of(*part.args) for part in x.atoms(Largest)]
    bound = {limit[0] for part in x.atoms(Sum, Integral) for limit in part.limits}
    return frozenset(size for part in parts for size in sympify(part).free_symbols if is_size(size)) - bound


def _degree(x: Any, size: Any) -> int:
    """A bound of the degree of the numerator in a size, once all is over one denominator."""
    if isinstance(x, Sum):
        return _degree(x.function, size) + sum(limit[2].has(size) for limit in x.limits)
    if isinstance(x, Pow) and x.exp.is_Integer:
        return _degree(x.base, size) * abs(int(x.exp))
    if isinstance(x, Add):
        degrees = [_degree(part, size) for part in x.args]
        over = [_degree(part, size) for part in x.args if fraction(part)[1] != 1]
        return max(degrees) + sum(over)
    return int(x == size) + sum(_degree(part, size) for part in x.args if not isinstance(x, Indexed))


# ---- a point ---------------------------------------------------------------------------------------------


class Point:
    """A random point: numbers modulo P and Q for whatever an expression is made of, drawn where first met."""

    def __init__(self, seed: int, sizes: Mapping[Any, int], laws: Laws, budget: list[int]) -> None:
        self.random = random.Random(seed)
        self.sizes, self.laws, self.budget = sizes, laws, budget
        self.drawn: dict[Any, int] = {}
        self.known: dict[Any, int] = {}
        self.derived: dict[Any, Any] = {}
        self.supports: dict[Any, dict[int, list[tuple[int, int]]]] = {}

    def draw(self, key: Any, modulus: int, symbol: Any = None) -> int:
        """Return the number of this name: a square where it is positive, none where it is negative."""
        key = (key, modulus)
        if key not in self.drawn:
            number = self.random.randrange(2, modulus)
            square = number * number % modulus
            positive = getattr(symbol, "is_nonnegative", None)
            negative = getattr(symbol, "is_negative", None)
            self.drawn[key] = square if positive else -square % modulus if negative else number
        return self.drawn[key]

    def places_of(self, *expressions: Any) -> Places:
        """Return a number for each free index, different ones within a range."""
        places: Places = {}
        taken: dict[Any, set[int]] = {}
        for index in sorted(set().union(*map(free_indices, expressions)), key=str):
            size = None
            for x in expressions:
                try:
                    size = size or range_of(x, index)
                except ClaimError:
                    continue
            # A range that no sum goes over may have any size.
            open_ended = size is None or any(s not in self.sizes for s in size.free_symbols)
            number = LONGEST_SUM if open_ended else self.whole(size, {})
            fixed = {
                int(place)
                for x in expressions
                for part in x.atoms(Indexed)
                for place in part.indices
                if place.is_Integer
            }
            free = set(range(1, number + 1)) - taken.setdefault(size, set()) - fixed
            if not free:
                raise Undecided(f"more places than {size} = {number} has")
            places[index] = self.random.choice(sorted(free))
            taken[size].add(places[index])
        return places

    def whole(self, x: Any, places: Places) -> int:
        """Return an index or the end of a sum as a number."""
        value = sympify(x)
        if value in places:
            return int(places[value])
        if value.free_symbols:
            put = {symbol: self.sizes.get(symbol, places.get(symbol)) for symbol in value.free_symbols}
            value = value.xreplace(
                {symbol: Integer(number) for symbol, number in put.items() if number is not None}
            )
        if not value.is_Integer:
            raise Undecided(f"{x} is no whole number")
        return int(value)

    def value(self, x: Any, modulus: int, places: Places) -> int:
        """Return the value of an expression modulo P or Q.

        Raises:
            Undecided: there is no rule for a part of it, or it takes too long.
        """
        if x.is_Rational:
            return int(x.p) * pow(int(x.q), -1, modulus) % modulus
        rule = _rule(type(x))
        if rule is None:
            raise Undecided(f"{type(x).__name__} has no exact arithmetic")
        if isinstance(x, Add | Mul | Symbol | Indexed):
            return rule(self, x, modulus, places)
        key = (x, modulus, *((s, places[s]) for s in _symbols(x) if s in places), places.get(_OUTCOME))
        if key not in self.known:
            self.budget[0] -= 1
            if self.budget[0] < 0:
                raise Undecided("it is too long to be evaluated exactly")
            self.known[key] = rule(self, x, modulus, places)
        return self.known[key]


_OUTCOME = Dummy("outcome")
_Rule = Callable[[Point, Any, int, Places], int]


@lru_cache(maxsize=65536)
def _symbols(x: Any) -> tuple[Any, ...]:
    return tuple(sorted((s for s in x.free_symbols if s.is_Symbol), key=str))


def _add(point: Point, x: Any, modulus: int, places: Places) -> int:
    return sum(point.value(part, modulus, places) for part in x.args) % modulus


def _mul(point: Point, x: Any, modulus: int, places: Places) -> int:
    result = 1
    for part in x.args:
        result = result * point.value(part, modulus, places) % modulus
    return result


def _symbol(point: Point, x: Any, modulus: int, places: Places) -> int:
    if x in places:
        return int(places[x]) % modulus
    if x in point.sizes:
        return point.sizes[x] % modulus
    return point.draw(x, modulus, x)


def _indexed(point: Point, x: Any, modulus: int, places: Places) -> int:
    entry = (x.base, *(point.whole(place, places) for place in x.indices))
    outcome = places.get(_OUTCOME)
    if isinstance(outcome, tuple) and x.base in point.laws:
        return point.supports[x.base][modulus][dict(outcome)[entry]][0]
    return point.draw((entry, None if isinstance(outcome, tuple) else outcome), modulus)


def _pow(point: Point, x: Any, modulus: int, places: Places) -> int:
    base, exponent = x.base, x.exp
    if base is S.Exp1:
        return _exp(point, exp(exponent, evaluate=False), modulus, places)
    value = point.value(base, modulus, places)
    if all(symbol in point.sizes or symbol in places for symbol in exponent.free_symbols):
        numbers = {s: Integer(point.sizes.get(s, places.get(s))) for s in exponent.free_symbols}
        exponent = exponent.xreplace(numbers)
    if exponent.is_Integer:
        if exponent < 0 and value == 0:
            raise _Redraw
        return pow(value, int(exponent), modulus)
    _square(value, modulus)
    if exponent.is_Rational:
        # The squares are a group of odd order, in which every root of small degree is unique.
        order = (modulus - 1) // 2
        return pow(value, int(exponent.p) * pow(int(exponent.q), -1, order) % order, modulus)
    if modulus == Q:
        return point.draw(("power", value, point.value(exponent, Q, places)), Q)
    return pow(value, point.value(exponent, Q, places), P)


def _square(value: int, modulus: int) -> None:
    if pow(value, (modulus - 1) // 2, modulus) != 1:
        raise _Redraw


def _exp(point: Point, x: Any, modulus: int, places: Places) -> int:
    exponent = point.value(x.args[0] if isinstance(x, exp) else S.One, Q, places)
    if modulus == Q:
        return point.draw(("exp", exponent), Q, S.One)
    return pow(point.draw("e", P, S.One), exponent, P)


def _log(point: Point, x: Any, modulus: int, places: Places) -> int:
    """log xy = log x + log y; of what is no product, any number that belongs to its value."""
    inside = x.args[0]
    if isinstance(inside, Mul):
        return sum(point.value(log(part, evaluate=False), modulus, places) for part in inside.args) % modulus
    if isinstance(inside, exp):
        return point.value(inside.args[0], modulus, places)
    if isinstance(inside, Pow):
        power = point.value(inside.exp, modulus, places)
        return power * point.value(log(inside.base, evaluate=False), modulus, places) % modulus
    if inside in point.sizes:
        inside = Integer(point.sizes[inside])
    if inside.is_Rational and inside > 0:
        primes = [(prime, times) for prime, times in factorint(inside.p).items()]
        primes += [(prime, -times) for prime, times in factorint(inside.q).items()]
        return sum(times * point.draw(("log", prime), modulus) for prime, times in primes) % modulus
    parted = _parted(inside)
    if parted != inside:
        return point.value(log(parted, evaluate=False), modulus, places)
    return point.draw(("log of", point.value(inside, P, places)), modulus)


@lru_cache(maxsize=1024)
def _parted(x: Any) -> Any:
    """Take common factors out of a sum: Σ exp(c + x_j) is exp(c) Σ exp(x_j)."""
    if isinstance(x, Sum) and len(x.limits) == 1:
        index = x.limits[0][0]
        apart, rest = x.function.as_independent(index, as_Add=False)
        if isinstance(rest, exp):
            constant, dependent = rest.args[0].expand().as_independent(index, as_Add=True)
            apart, rest = apart * exp(constant), exp(dependent)
        return apart * Sum(rest, *x.limits)
    return factor_terms(x) if isinstance(x, Add) else x


def _sum(point: Point, x: Any, modulus: int, places: Places) -> int:
    apart, inner, index, low, high = _peeled(x)
    first, last = point.whole(low, places), point.whole(high, places)
    if last - first > LONGEST_SUM:
        raise Undecided(f"a sum of {last - first + 1} terms")
    total = sum(point.value(inner, modulus, {**places, index: at}) for at in range(first, last + 1))
    return total * point.value(apart, modulus, places) % modulus


@lru_cache(maxsize=4096)
def _peeled(x: Any) -> tuple[Any, Any, Any, Any, Any]:
    """A sum as a factor before it, what is summed, and its outermost index with both ends."""
    (*before, (index, low, high)) = x.limits
    if before:
        return S.One, Sum(x.function, *before), index, low, high
    apart, inner = x.function.as_independent(index, as_Add=False)
    return apart, inner, index, low, high


def _mean(point: Point, x: Any, modulus: int, places: Places) -> int:
    (of,) = x.args
    if not point.laws:
        if not families_of(of) and not of.free_symbols:
            return point.value(of, modulus, places)
        weights = [point.draw(("weight", outcome), modulus) for outcome in range(1, OUTCOMES)]
        weights.append((1 - sum(weights)) % modulus)
        values = [point.value(of, modulus, {**places, _OUTCOME: outcome}) for outcome in range(OUTCOMES)]
        return sum(map(int.__mul__, weights, values)) % modulus
    entries = sorted(_entries(point, of, places), key=str)
    supports = [_support(point, entry[0]) for entry in entries]
    if prod(len(support[P]) for support in supports) > MOST_OUTCOMES:
        raise _TooMany(f"{x} depends on too many components, {len(entries)}")
    total = 0
    for chosen in product(*(range(len(support[P])) for support in supports)):
        weight = 1
        for support, at in zip(supports, chosen, strict=True):
            weight = weight * support[modulus][at][1] % modulus
        total += weight * point.value(
            of, modulus, {**places, _OUTCOME: tuple(zip(entries, chosen, strict=True))}
        )
    return total % modulus


def _entries(point: Point, x: Any, places: Places) -> set[tuple[Any, ...]]:
    """The random entries that an expression depends on at these sizes."""
    if isinstance(x, E):
        return set()
    if isinstance(x, Sum):
        _, inner, index, low, high = _peeled(x)
        inner = x.function if len(x.limits) == 1 else inner
        ends = range(point.whole(low, places), point.whole(high, places) + 1)
        return set().union(*(_entries(point, inner, {**places, index: at}) for at in ends))
    if isinstance(x, Indexed):
        known = x.base in point.laws
        return {(x.base, *(point.whole(place, places) for place in x.indices))} if known else set()
    if isinstance(x, Largest):
        of, index = x.args
        ends = range(1, point.whole(range_of(of, index), places) + 1)
        return set().union(*(_entries(point, of, {**places, index: at}) for at in ends))
    return set().union(*(_entries(point, part, places) for part in x.args))


def _support(point: Point, base: Any) -> dict[int, list[tuple[int, int]]]:
    """Values and weights of a random law with the first moments of a family's law, modulo P and Q."""
    if base not in point.supports:
        raw = [sympify(moment) for moment in point.laws[base].raw]
        point.supports[base] = {}
        for modulus in (P, Q):
            values = [point.random.randrange(2, modulus) for _ in raw]
            moments = [point.value(moment, modulus, {}) for moment in raw]
            point.supports[base][modulus] = list(zip(values, _weights(values, moments, modulus), strict=True))
    return point.supports[base]


def _weights(values: list[int], moments: list[int], modulus: int) -> list[int]:
    """Solve Σ w x^r = moment r for the weights, by Lagrange's polynomials."""
    weights = []
    for x in values:
        polynomial, denominator = [1], 1
        for y in values:
            if y != x:
                shifted, scaled = [0, *polynomial], [*(y * c for c in polynomial), 0]
                polynomial = [(s - t) % modulus for s, t in zip(shifted, scaled, strict=True)]
                denominator = denominator * (x - y) % modulus
        weights.append(sum(map(int.__mul__, polynomial, moments)) * pow(denominator, -1, modulus) % modulus)
    return weights


def _integral(point: Point, x: Any, modulus: int, places: Places) -> int:
    """Any linear functional that belongs to the ends."""
    (*before, (variable, *ends)) = x.limits
    inner = Integral(x.function, *before) if before else x.function
    key = tuple(str(end) if end.is_infinite else str(point.value(end, P, places)) for end in ends)
    total = 0
    for number in range(2):
        weight = point.draw(("weight", number, key), modulus)
        at = {**places, variable: point.draw(("at", number, key), modulus)}
        total += weight * point.value(inner, modulus, at)
    return total % modulus


def _derivative(point: Point, x: Any, modulus: int, places: Places) -> int:
    """Write sums out at these sizes, derive by an entry or a symbol, evaluate."""
    key = (x, *((index, places[index]) for index in _symbols(x) if index in places))
    if key not in point.derived:
        result = _written(point, x.expr, places)
        for variable, times in x.variable_count:
            by = _written(point, variable, places)
            name = Dummy(real=True, positive=by.is_positive)
            result = result.xreplace({by: name}).diff((name, times)).xreplace({name: by})
        point.derived[key] = result.replace(_Mean, E)
    return point.value(point.derived[key], modulus, {_OUTCOME: places.get(_OUTCOME)})


def derived(x: Derivative) -> Any:
    """Return a derivative by symbols, done; of a mean it is the mean of the derivative."""
    return x.expr.replace(E, _Mean).diff(*x.variable_count).replace(_Mean, E)


class _Mean(E):  # type: ignore[misc]  # SymPy has no types
    """A mean whose derivative is the mean of the derivative."""

    def _eval_derivative(self, symbol: Any) -> Any:
        return _Mean(self.args[0].diff(symbol))


def _written(point: Point, x: Any, places: Places) -> Any:
    """An expression with its sums written out and numbers for indices."""
    if isinstance(x, Sum):
        _, inner, index, low, high = _peeled(x)
        inner = x.function if len(x.limits) == 1 else inner
        ends = range(point.whole(low, places), point.whole(high, places) + 1)
        return Add(*(_written(point, inner, {**places, index: at}) for at in ends))
    if isinstance(x, Indexed):
        return x.base[tuple(Integer(point.whole(place, places)) for place in x.indices)]
    if x.is_Symbol and x in places:
        return Integer(places[x])
    if not x.args:
        return x
    return (_Mean if isinstance(x, E) else x.func)(*(_written(point, part, places) for part in x.args))


def _angle(point: Point, x: Any, modulus: int, places: Places) -> int:
    """Write sin and cos by t = tan(x/2), so that sin² + cos² = 1; multiples of an angle are written out."""
    opened = expand_trig(x)
    if opened != x:
        return point.value(opened, modulus, places)
    half = point.draw(("tangent of half", point.value(x.args[0], P, places)), modulus)
    over = pow(1 + half * half, -1, modulus)
    return (1 - half * half if isinstance(x, cos) else 2 * half) * over % modulus


def _sign(point: Point, x: Any, modulus: int, places: Places) -> int:
    (of,) = x.args
    value = point.value(of, modulus, places)
    if value == 0:
        raise _Redraw
    positive = pow(value, (modulus - 1) // 2, modulus) == 1
    if of.is_nonnegative and not positive:
        raise _Redraw
    if isinstance(x, Indicator):
        return int(positive)
    direction = 1 if positive else -1
    return (direction * value if isinstance(x, Abs) else direction) % modulus


def _extreme(point: Point, x: Any, modulus: int, places: Places) -> int:
    """Max(x, y) is (x + y + |x - y|)/2; of more it would need an order, which residues do not have."""
    if len(x.args) != 2:
        raise Undecided(f"{type(x).__name__} of more than two has no exact arithmetic")
    first, second = x.args
    direction = 1 if isinstance(x, Max) else -1
    return point.value((first + second + direction * Abs(first - second)) / 2, modulus, places)


def _at_whole(point: Point, x: Any, modulus: int, places: Places) -> int:
    """Γ, factorials and binomials at numbers that they have a closed value at."""
    numbers = {symbol: point.sizes.get(symbol, places.get(symbol)) for symbol in x.free_symbols}
    at = x.xreplace({symbol: Integer(number) for symbol, number in numbers.items() if number is not None})
    return _function(point, x, modulus, places) if at.has(x.func) else point.value(at, modulus, places)


def _function(point: Point, x: Any, modulus: int, places: Places) -> int:
    """A function of which nothing is known but that equal arguments give equal values."""
    values = (point.value(part, P, places) for part in x.args)
    return point.draw((x.func.__name__, *values), modulus)


def _largest(point: Point, x: Any, modulus: int, places: Places) -> int:
    of, index = x.args
    ends = range(1, point.whole(range_of(of, index), places) + 1)
    values = (point.value(of, P, {**places, index: at}) for at in ends)
    return point.draw(("Largest", *sorted(values)), modulus)


def _quantile(point: Point, x: Any, modulus: int, places: Places) -> int:
    of, level = x.args
    if point.laws:
        raise Undecided("a quantile under laws has no exact arithmetic")
    values = (point.value(of, P, {**places, _OUTCOME: outcome}) for outcome in range(OUTCOMES))
    return point.draw(("Quantile", *values, point.value(level, P, places)), modulus)


def _delta(point: Point, x: Any, modulus: int, places: Places) -> int:  # noqa: ARG001 - as all rules
    first, second = (point.whole(part, places) for part in x.args)
    return int(first == second)


def _rewritten(point: Point, x: Any, modulus: int, places: Places) -> int:
    return point.value(
        sin(x.args[0]) / cos(x.args[0]) if isinstance(x, tan) else x.rewrite(exp), modulus, places
    )


def _constant(point: Point, x: Any, modulus: int, places: Places) -> int:  # noqa: ARG001 - as all rules
    return point.draw(str(x), modulus, x)


RULES: dict[Any, _Rule] = {
    Add: _add,
    Mul: _mul,
    Pow: _pow,
    Indexed: _indexed,
    Symbol: _symbol,
    Sum: _sum,
    E: _mean,
    exp: _exp,
    type(S.Exp1): _exp,
    log: _log,
    Integral: _integral,
    Derivative: _derivative,
    **dict.fromkeys((sin, cos), _angle),
    **dict.fromkeys((tan, tanh, sinh, cosh), _rewritten),
    **dict.fromkeys((Abs, sign, Indicator), _sign),
    **dict.fromkeys((Max, Min), _extreme),
    **dict.fromkeys((gamma, factorial, binomial), _at_whole),
    KroneckerDelta: _delta,
    Largest: _largest,
    Quantile: _quantile,
    type(S.Pi): _constant,
    Function: _function,
}
"""How each kind of part is evaluated; a kind that is not here takes the rule of its nearest base class."""


@lru_cache(maxsize=256)
def _rule(kind: Any) -> _Rule | None:
    return next((RULES[base] for base in kind.__mro__ if base in RULES), None)
