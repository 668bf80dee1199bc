"""Random points modulo two primes, and how each kind of part of an expression is evaluated at them.

Let P = 2Q + 1 with P and Q prime. The squares modulo P are a group of Q elements, so a value modulo P may be
raised to an exponent modulo Q: exp(x) is g**x, where x is known modulo Q, and a root is a power by an inverse
modulo Q. Logarithms split by products; sine and cosine are rational in the tangent of half the angle;
the sign of a number is whether it is a square. Sums are written out at numeric sizes.

A mean is any linear functional with E 1 = 1; under laws it is the mean over small random laws, drawn modulo P
and Q, with the moments that are assumed. Values are arrays, with the points along the last axis; within a
mean its outcomes, and within a sum its terms, go along a further axis before those that there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache, reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np
import sympy
from sympy import Abs, Add, Derivative, Dummy, Indexed, Integer, Mul, Pow, S, Subs, Sum, Symbol, exp, log
from sympy import sympify

from verify.errors import ClaimError
from verify.symbolic.vocabulary import E, Given, Indicator, Largest, Laws, StepError
from verify.symbolic.vocabulary import definition, families_of, free_indices, range_of

Q = 2091233759
"""A prime; P = 2Q + 1 and (Q - 1)/2 are primes as well, so that every root is unique; products of two numbers
modulo P fit 64 bits. 2, 3, 5, …, 23 are squares modulo both, -1 modulo neither."""
P = 2 * Q + 1

Numbers = Any
"""Numbers modulo P or Q: an array of uint64 with the points along its last axis, or a number for them all."""


class Axis(NamedTuple):
    """Places that an index takes along an axis, before so many others."""

    first: int
    last: int
    depth: int

    @property
    def numbers(self) -> Numbers:
        """The places, shaped to go along the axis."""
        return np.arange(self.first, self.last + 1, dtype=np.uint64).reshape(-1, *(1,) * self.depth)


OUTCOMES = 4
"""How many outcomes a mean has of which no law is known."""
MOST_OUTCOMES = 300
"""How many outcomes of drawn laws are gone through for a mean; of two points each, four times as many."""
LONGEST_SUM, MOST_TERMS = 40, 500_000
FEW = 40
"""Of so few numbers powers are taken by Python faster than by NumPy."""


class Undecided(StepError):  # noqa: N818 - an outcome
    """A side could not be evaluated."""


class TooManyOutcomes(Undecided):
    """A mean has too many outcomes."""


class Points:
    """Random points: numbers modulo P and Q for all that an expression is made of.

    A number is made from the seed of its point, its name, and other numbers that it depends on. Points that
    are not ``valid`` lack a root or a quotient; ``budget`` is how many parts may still be evaluated.
    """

    def __init__(self, seed: int, count: int, sizes: Mapping[Any, int], laws: Laws, budget: int) -> None:
        self.seeds = _mixed(np.arange(count, dtype=np.uint64) + np.uint64(seed << 32))
        self.sizes, self.laws, self.budget = sizes, laws, budget
        self.valid = np.ones(count, dtype=bool)
        self.places: dict[Any, int | Axis] = {}
        self.depth, self.terms = 1, 1
        self.variables: dict[Any, tuple[Any, ...]] = {}
        self.outcomes: dict[Any, Any] | None = None
        self.world: Numbers = None
        self.names: dict[Any, int] = {}
        self.known: dict[Any, Numbers] = {}
        self.supports: dict[Any, tuple[Numbers, Numbers]] = {}

    def draw(self, modulus: int, name: Any, *on: Numbers) -> Numbers:
        """Return the numbers of this name, which depend on others."""
        number = self.names.setdefault((name, modulus), len(self.names) + 1)
        mixed = self.seeds + np.uint64(number << 40)
        for numbers in on:
            mixed = (mixed ^ np.asarray(numbers, np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            mixed = mixed ^ (mixed >> 29)
        return 2 + _mixed(mixed) % (modulus - 2)

    def draw_square(self, modulus: int, name: Any, *on: Numbers) -> Numbers:
        """Return numbers of this name that are squares."""
        number = self.draw(modulus, name, *on)
        return number * number % modulus

    def place(self, *sides: Any) -> None:
        """Give each free index a number; within a range they differ."""
        taken: dict[Any, set[int]] = {}
        for side in sides:
            for part in side.atoms(Indexed):
                for place, size in zip(part.indices, part.base.ranges, strict=True):
                    if place.is_Integer:
                        taken.setdefault(size, set()).add(int(place))
        for index in sorted(set().union(*map(free_indices, sides)), key=str):
            size = None
            for side in sides:
                with suppress(ClaimError):
                    size = size or range_of(side, index)
            # A range that no sum goes over may have any size.
            open_ended = size is None or any(x not in self.sizes for x in size.free_symbols)
            number = LONGEST_SUM if open_ended else self.whole(size)
            free = sorted(set(range(1, number + 1)) - taken.setdefault(size, set()))
            if not free:
                raise Undecided(f"more places than {size} = {number} has")
            self.places[index] = place = free[int(self.seeds[0]) % len(free)]
            taken[size].add(place)

    def whole(self, x: Any) -> int:
        """Return the end of a sum, or a place, as a number."""
        value = self.with_numbers(sympify(x))
        if not value.is_Integer:
            raise Undecided(f"{x} is no whole number")
        return int(value)

    def with_numbers(self, x: Any) -> Any:
        """Return an expression with sizes and places put in."""
        # An index on an axis stays a symbol: it has many places at once, and its values are an array.
        numbers = {symbol: self.sizes.get(symbol, self.places.get(symbol)) for symbol in x.free_symbols}
        known = {symbol: Integer(number) for symbol, number in numbers.items() if isinstance(number, int)}
        return x.xreplace(known) if known else x

    @contextmanager
    def at(self, index: Any, place: int | Axis) -> Iterator[None]:
        """Let an index be at a place, or at all places along an axis."""
        before = self.places, self.depth, self.terms
        self.places = {**self.places, index: place}
        if isinstance(place, Axis):
            self.depth, self.terms = self.depth + 1, self.terms * max(place.last - place.first + 1, 1)
        if self.terms > MOST_TERMS:
            raise Undecided("it is too long to be evaluated exactly")
        yield
        self.places, self.depth, self.terms = before

    @contextmanager
    def having(self, **state: Any) -> Iterator[None]:
        """Let variables, or outcomes and worlds, be others, with a memory of values of their own."""
        before = {name: getattr(self, name) for name in ("known", *state)}
        self.__dict__.update(known={}, **state)
        yield
        self.__dict__.update(before)

    def require(self, mask: Any) -> None:
        """Leave out the points at which a condition fails, in any outcome."""
        mask = np.asarray(mask)
        self.valid = self.valid & (mask if mask.ndim < 2 else mask.all(axis=tuple(range(mask.ndim - 1))))

    def value(self, x: Any, modulus: int) -> Numbers:
        """Return the values of an expression modulo P or Q.

        Raises:
            Undecided: there is no rule for a part of it, or it takes too long.
        """
        if x.is_Rational:
            return int(x.p) * pow(int(x.q), -1, modulus) % modulus
        if x.is_Symbol and x in self.places:
            place = self.places[x]
            return place if isinstance(place, int) else place.numbers
        key = (x, modulus, *map(self.places.get, _integers(x)))
        if key not in self.known:
            rule = next((RULES[base] for base in type(x).__mro__ if base in RULES), None)
            if rule is None:
                raise Undecided(f"{type(x).__name__} has no exact arithmetic")
            value = rule(self, x, modulus)
            while np.ndim(value) > 1 and len(value) == 1:
                value = value[0]  # so that it does not depend on the sums that it was met in
            self.budget -= 1 + np.size(value) // 500
            if self.budget < 0:
                raise Undecided("it is too long to be evaluated exactly")
            self.known[key] = value
        return self.known[key]


_Rule = Callable[[Points, Any, int], Numbers]


def _mixed(numbers: Numbers) -> Numbers:
    """Return numbers of 64 bits that look random, by the finaliser of SplitMix64."""
    numbers = (numbers ^ (numbers >> 30)) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> 27)) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> 31)


def power(base: Numbers, exponent: Numbers, modulus: int) -> Numbers:
    """Return powers; of many numbers by repeated squaring, all at once."""
    base, exponent = np.broadcast_arrays(np.asarray(base, np.uint64), np.asarray(exponent, np.uint64))
    if base.size <= FEW:
        pairs = zip(base.ravel().tolist(), exponent.ravel().tolist(), strict=True)
        return np.array([pow(x, e, modulus) for x, e in pairs], np.uint64).reshape(base.shape)
    result = np.ones_like(base)
    for shift in reversed(range(int(exponent.max()).bit_length())):
        result = result * result % modulus
        result = np.where(exponent >> shift & 1, result * base % modulus, result)
    return result


def _is_square(numbers: Numbers, modulus: int) -> Any:
    return power(numbers, (modulus - 1) // 2, modulus) == 1


@lru_cache(maxsize=65536)
def _integers(x: Any) -> tuple[Any, ...]:
    """Return the symbols of an expression that may be indices, in any order."""
    return tuple(symbol for symbol in x.free_symbols if symbol.is_Symbol and symbol.is_integer)


def _symbol(points: Points, x: Any, modulus: int) -> Numbers:
    if x in points.sizes:
        return points.sizes[x] % modulus
    name = points.variables.get(x, (x,))
    if x.is_nonnegative:
        return points.draw_square(modulus, *name)
    return modulus - points.draw_square(modulus, *name) if x.is_negative else points.draw(modulus, *name)


def _indexed(points: Points, x: Any, modulus: int) -> Numbers:
    base, *indices = x.args
    places = [points.value(index, P) for index in indices]
    if points.outcomes is None or base not in points.laws:
        is_drawn = points.world is not None and not isinstance(base, Given)
        return points.draw(modulus, (base, is_drawn), *places, *([points.world] if is_drawn else []))
    values, _ = _support(points, base, modulus)
    if all(isinstance(place, int) for place in places):
        return points.outcomes[base, *places](values)
    entries = np.broadcast(*places)
    parts = [points.outcomes[base, *map(int, entry)](values) for entry in entries]
    return np.stack(parts).reshape(*entries.shape[: entries.ndim - parts[0].ndim], *parts[0].shape)


def _pow(points: Points, x: Any, modulus: int) -> Numbers:
    exponent = points.with_numbers(x.exp)
    value = points.value(x.base, modulus)
    if exponent.is_Integer:
        if exponent < 0:
            points.require(np.not_equal(value, 0))
        return power(value, int(exponent) % (modulus - 1), modulus)
    points.require(_is_square(value, modulus))
    if exponent.is_Rational:
        # The squares are a group of prime order, in which every root is unique.
        order = (modulus - 1) // 2
        return power(value, int(exponent.p) * pow(int(exponent.q), -1, order) % order, modulus)
    exponents = points.value(exponent, Q)
    return points.draw(Q, "power", value, exponents) if modulus == Q else power(value, exponents, P)


def _exp(points: Points, x: Any, modulus: int) -> Numbers:
    # P = 2Q + 1, and squares modulo P have order Q: so exponents are numbers modulo Q.
    exponents = points.value(x.args[0] if isinstance(x, exp) else S.One, Q)
    if modulus == Q:
        return points.draw_square(Q, "exp", exponents)
    return power(points.draw_square(P, "e"), exponents, P)


def _log(points: Points, x: Any, modulus: int) -> Numbers:
    """By log xy = log x + log y; of any other expression, a random number that belongs to its value."""
    inside = sympify(points.sizes.get(x.args[0], x.args[0]))
    if isinstance(inside, exp):
        return points.value(inside.args[0], modulus)
    if isinstance(inside, Pow):
        logarithm = points.value(log(inside.base, evaluate=False), modulus)
        return points.value(inside.exp, modulus) * logarithm % modulus
    if inside.is_Rational and inside > 0:
        # Of 1/q the logarithm is less than that of q.
        times = [*sympy.factorint(inside.p).items(), *((q, -t) for q, t in sympy.factorint(inside.q).items())]
        logarithms = (t % modulus * points.draw(modulus, ("log", q)) % modulus for q, t in times)
        return sum(logarithms, np.zeros_like(points.seeds)) % modulus
    parted = _parted(inside)
    if isinstance(parted, Mul):
        return sum(points.value(log(part, evaluate=False), modulus) for part in parted.args) % modulus
    value = points.value(inside, P)
    return np.where(np.equal(value, 1), np.uint64(0), points.draw(modulus, "log of", value))


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
    return sympy.factor_terms(x) if isinstance(x, Add) else x


def _sum(points: Points, x: Any, modulus: int) -> Numbers:
    apart, inner, index, low, high = _peeled(x)
    first, last = points.whole(low), points.whole(high)
    if last - first > LONGEST_SUM:
        raise Undecided(f"a sum of {last - first + 1} terms")
    total: Numbers = 0
    if (points.laws and inner.has(E)) or _bounds_a_sum(inner, index):
        # Each term has outcomes, or terms, of its own.
        for place in range(first, last + 1):
            with points.at(index, place):
                total = total + points.value(inner, modulus)
    elif first <= last:
        axis = Axis(first, last, points.depth)
        with points.at(index, axis):
            terms = points.value(inner, modulus)
        is_along = np.ndim(terms) > axis.depth
        total = terms.sum(axis=0) if is_along else terms * (last - first + 1)
    return total % modulus * points.value(apart, modulus) % modulus


@lru_cache(maxsize=4096)
def _bounds_a_sum(x: Any, index: Any) -> bool:
    return any(end.has(index) for part in x.atoms(Sum) for _, *ends in part.limits for end in ends)


@lru_cache(maxsize=4096)
def _peeled(x: Any) -> tuple[Any, Any, Any, Any, Any]:
    """A sum as a factor before it, its terms, and its outermost index with both ends."""
    (*before, (index, low, high)) = x.limits
    if before:
        return S.One, Sum(x.function, *before), index, low, high
    apart, inner = x.function.as_independent(index, as_Add=False)
    return apart, inner, index, low, high


def _mean(points: Points, x: Any, modulus: int) -> Numbers:
    """Over all outcomes of families with laws, and over a few draws of all others, with random weights."""
    (of,) = x.args
    others = {family for family in families_of(of) if not isinstance(family, Given)} - set(points.laws)
    entries = sorted(_entries(points, of), key=str)
    sizes = [_size(points, entry[0]) for entry in entries]
    if prod(sizes) > (MOST_OUTCOMES if any(size > 2 for size in sizes) else 4 * MOST_OUTCOMES):
        raise TooManyOutcomes(f"{x} depends on too many components, {len(entries)}")
    sizes += [OUTCOMES] if others or not points.laws else []
    choices = np.indices(sizes).reshape(len(sizes), prod(sizes))

    def along(chosen: Any) -> Callable[[Numbers], Numbers]:
        shape = (-1, *(1,) * (points.depth - 1), len(points.seeds))
        return lambda of_each: of_each[chosen].reshape(shape)

    outcomes = {entry: along(chosen) for entry, chosen in zip(entries, choices, strict=False)}
    weights: Numbers = np.ones((prod(sizes), *(1,) * points.depth), np.uint64)
    for (base, *_), outcome in outcomes.items():
        weights = weights * outcome(_support(points, base, modulus)[1]) % modulus
    world = None
    if len(sizes) > len(entries):
        world = choices[-1].astype(np.uint64).reshape(-1, *(1,) * points.depth)
        shares = [points.draw(modulus, ("share", number)) for number in range(1, OUTCOMES)]
        shares.append((3 * modulus + 1 - sum(shares)) % modulus)
        weights = weights * along(choices[-1])(np.stack(shares)) % modulus
    with points.having(outcomes=outcomes, world=world, depth=points.depth + 1):
        values = points.value(of, modulus)
    return (weights * values % modulus).sum(axis=0) % modulus


def _entries(points: Points, x: Any) -> set[tuple[Any, ...]]:
    """The entries of families with laws that an expression depends on at these sizes."""
    if not points.laws or isinstance(x, E):
        return set()
    if isinstance(x, Indexed):
        return {(x.base, *map(points.whole, x.indices))} if x.base in points.laws else set()
    if not isinstance(x, Sum | Largest):
        return set().union(*(_entries(points, part) for part in x.args))
    if isinstance(x, Sum):
        _, inner, index, low, high = _peeled(x)
        inner = x.function if len(x.limits) == 1 else inner
    else:
        (inner, index), low, high = x.args, S.One, range_of(*x.args)
    entries = set[tuple[Any, ...]]()
    for place in range(points.whole(low), points.whole(high) + 1):
        with points.at(index, place):
            entries |= _entries(points, inner)
    return entries


def _size(points: Points, base: Any) -> int:
    # Of a law without a mean nothing is known of it: it is any number.
    return max(len(points.laws[base].raw), 2)


def _support(points: Points, base: Any, modulus: int) -> tuple[Numbers, Numbers]:
    """Values and weights of random laws with the first moments of a family's law.

    Weights solve Σ w x^r = moment r, by Lagrange's polynomials.
    """
    if (base, modulus) not in points.supports:
        raw = [sympify(moment) for moment in points.laws[base].raw]
        raw += [Symbol(f"{base} {order}") for order in range(len(raw), _size(points, base))]
        moments = [points.value(moment, modulus) for moment in raw]
        values = [points.draw(modulus, ("outcome", base, order)) for order in range(len(raw))]
        weights = []
        for x in values:
            polynomial: list[Numbers] = [1]
            denominator: Numbers = 1
            for y in values:
                if y is not x:
                    shifted, scaled = [0, *polynomial], [*(y * c % modulus for c in polynomial), 0]
                    polynomial = [(s + modulus - t) % modulus for s, t in zip(shifted, scaled, strict=True)]
                    denominator = denominator * ((x + modulus - y) % modulus) % modulus
            total = sum(c * moment % modulus for c, moment in zip(polynomial, moments, strict=True))
            points.require(np.not_equal(denominator, 0))
            weights.append(total % modulus * power(denominator, modulus - 2, modulus) % modulus)
        points.supports[base, modulus] = np.stack(values), np.stack(weights)
    return points.supports[base, modulus]


def _integral(points: Points, x: Any, modulus: int) -> Numbers:
    """Any linear functional that belongs to the ends."""
    (*before, (variable, *ends)) = x.limits
    inner = sympy.Integral(x.function, *before) if before else x.function
    name = tuple(end if end.is_infinite else "" for end in ends)
    on = [points.value(end, P) for end in ends if not end.is_infinite]
    total: Numbers = 0
    for number in range(2):
        variables = {**points.variables, variable: (("at", number, name), *on)}
        weight = points.draw(modulus, ("weight", number, name), *on)
        with points.having(variables=variables):
            total = total + weight * points.value(inner, modulus) % modulus
    return total % modulus


@lru_cache(maxsize=1024)
def derived(x: Any) -> Any:
    """Return a derivative by symbols or entries, done; of a mean it is the mean of the derivative."""

    def apart(part: Any) -> Any:
        # A bound j is another than the j of the entry that it is derived by.
        if isinstance(part, Sum):
            own = {limit[0]: Dummy(limit[0].name, integer=True, positive=True) for limit in part.limits}
            limits = [(own[index], *(end.xreplace(own) for end in ends)) for index, *ends in part.limits]
            return Sum(apart(part.function.xreplace(own)), *limits)
        return part.func(*map(apart, part.args)) if part.has(Sum) else part

    return apart(definition(x.expr)).replace(E, _Mean).diff(*x.variable_count).replace(_Mean, E)


def put_at(x: Any) -> Any:
    """Return an expression with the values of derivatives at a point, ``Subs``, put in."""

    def value(part: Any) -> Any:
        carried_out = part.expr.replace(lambda inner: isinstance(inner, Derivative), derived)
        return carried_out.xreplace(dict(zip(part.variables, part.point, strict=True)))

    return sympify(x).replace(lambda part: isinstance(part, Subs), value)


class _Mean(E):
    """A mean whose derivative is the mean of the derivative."""

    def _eval_derivative(self, symbol: Any) -> Any:
        return _Mean(self.args[0].diff(symbol))


def _angle(points: Points, x: Any, modulus: int) -> Numbers:
    """By t = tan(x/2), so that sin² + cos² = 1; multiples of an angle are written out."""
    opened = sympy.expand_trig(x)
    if opened != x:
        return points.value(opened, modulus)
    half = points.draw(modulus, "tangent of half", points.value(x.args[0], P))
    square = half * half % modulus
    over = power(1 + square, modulus - 2, modulus)
    return (modulus + 1 - square if isinstance(x, sympy.cos) else 2 * half) % modulus * over % modulus


def _sign(points: Points, x: Any, modulus: int) -> Numbers:
    (of,) = x.args
    value = np.asarray(points.value(of, modulus), np.uint64)
    positive = _is_square(value, modulus)
    points.require(value != 0)
    if of.is_nonnegative:
        points.require(positive)
    if isinstance(x, Indicator):
        return positive.astype(np.uint64)
    size = value if isinstance(x, Abs) else np.ones_like(value)
    return np.where(positive, size, modulus - size)


def _extreme(points: Points, x: Any, modulus: int) -> Numbers:
    """Max(x, y) is (x + y + |x - y|)/2; of more it would need an order, which residues do not have."""
    if len(x.args) != 2:
        raise Undecided(f"{type(x).__name__} of more than two has no exact arithmetic")
    first, second = x.args
    direction = 1 if isinstance(x, sympy.Max) else -1
    return points.value((first + second + direction * Abs(first - second)) / 2, modulus)


def _at_whole(points: Points, x: Any, modulus: int) -> Numbers:
    """Γ, factorials and binomials at numbers that they have a closed value at."""
    at = points.with_numbers(x)
    return _function(points, x, modulus) if at.has(x.func) else points.value(at, modulus)


def _function(points: Points, x: Any, modulus: int) -> Numbers:
    """A function of which nothing is known but that equal arguments give equal values."""
    return points.draw(modulus, x.func.__name__, *(points.value(part, P) for part in x.args))


def _largest(points: Points, x: Any, modulus: int) -> Numbers:
    of, index = x.args
    axis = Axis(1, points.whole(range_of(of, index)), points.depth)
    with points.at(index, axis):
        values = points.value(of, P) + 0 * axis.numbers
    return points.draw(modulus, "Largest", *np.sort(values, axis=0))


def _delta(points: Points, x: Any, modulus: int) -> Numbers:
    first, second = (points.value(part, modulus) for part in x.args)
    return np.asarray(np.equal(first, second), np.uint64)


def _imaginary(points: Points, x: Any, modulus: int) -> Numbers:
    """Of i, any number, in exponents only: a line that needs i² = -1 is not decided."""
    if modulus == P:
        raise Undecided("i has exact arithmetic in exponents only")
    return points.draw(Q, x)


def _rewritten(kind: Any) -> _Rule:
    return lambda points, x, modulus: points.value(x.rewrite(kind), modulus)


RULES: dict[Any, _Rule] = {
    Add: lambda points, x, modulus: sum(points.value(part, modulus) for part in x.args) % modulus,
    Mul: lambda points, x, modulus: reduce(
        lambda product, part: product * points.value(part, modulus) % modulus, x.args, 1
    ),
    Pow: _pow,
    Indexed: _indexed,
    Symbol: _symbol,
    Sum: _sum,
    E: _mean,
    exp: _exp,
    type(S.Exp1): _exp,
    log: _log,
    sympy.Integral: _integral,
    **dict.fromkeys((sympy.sin, sympy.cos), _angle),
    **dict.fromkeys((sympy.tanh, sympy.sinh, sympy.cosh), _rewritten(exp)),
    sympy.tan: _rewritten(sympy.cos),
    sympy.erfc: _rewritten(sympy.erf),
    **dict.fromkeys((Abs, sympy.sign, Indicator), _sign),
    **dict.fromkeys((sympy.Max, sympy.Min), _extreme),
    **dict.fromkeys((sympy.gamma, sympy.factorial, sympy.binomial), _at_whole),
    sympy.KroneckerDelta: _delta,
    Largest: _largest,
    type(S.Pi): lambda points, x, modulus: points.draw_square(modulus, x),
    type(S.ImaginaryUnit): _imaginary,
    sympy.Function: _function,
}
"""How each kind of part is evaluated; a kind that is not here takes the rule of its nearest base class."""
