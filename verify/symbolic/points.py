"""Random points modulo two primes, and how each kind of part of an expression is evaluated at them.

Let P = 2Q + 1 with P and Q prime. The squares modulo P are a group of Q elements, so a value modulo P may be
raised to an exponent modulo Q: exp(x) is g**x, where x is known modulo Q, and a root is a power by an inverse
modulo Q. Logarithms split by products; sine and cosine are rational in the tangent of half the angle;
the sign of a number is whether it is a square. Sums are written out at numeric sizes.

A mean is any linear functional with E 1 = 1; under laws it is the mean over small random laws, drawn modulo P
and Q, with the moments that are assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, reduce
from math import prod
from typing import Any

import numpy as np
import sympy
from sympy import Abs, Add, Indexed, Mul, Pow, S, Sum, Symbol, exp, log, sympify

from verify.symbolic.evaluation import LONGEST_SUM, Evaluation, Numbers, Part, Rules, Supports, Undecided
from verify.symbolic.evaluation import outermost, part_of, parts_of, ranges_of
from verify.symbolic.vocabulary import E, Family, Given, Indicator, Largest, Laws
from verify.symbolic.vocabulary import families_of, range_of

Q = 2091233759
"""A prime; P = 2Q + 1 and (Q - 1)/2 are primes as well, so that every root is unique; products of two numbers
modulo P fit 64 bits. 2, 3, 5, …, 23 are squares modulo both, -1 modulo neither."""
P = 2 * Q + 1

OUTCOMES = 4
"""How many outcomes a mean has of which no law is known."""
MOST_OUTCOMES = 300
"""How many outcomes of drawn laws are gone through for a mean; of two points each, four times as many."""
FEW = 40
"""Of so few numbers powers are taken by Python faster than by NumPy."""


class TooManyOutcomes(Undecided):
    """A mean has too many outcomes."""


class Points(Evaluation):
    """Random points: numbers modulo P and Q for all that an expression is made of.

    A number is made from the seed of its point, its name, and other numbers that it depends on. Points that
    are not ``valid`` lack a root or a quotient.
    """

    def __init__(self, seed: int, count: int, sizes: Mapping[Any, int], laws: Laws, budget: float) -> None:
        super().__init__(sizes, laws, budget)
        self.rules, self.splits_means = RULES, bool(laws)
        self.seeds = _mixed(np.arange(count, dtype=np.uint64) + np.uint64(seed << 32))
        self.valid = np.ones(count, dtype=bool)
        self.variables: dict[Any, tuple[Any, ...]] = {}
        self.names: dict[Any, int] = {}
        self.supports: dict[Any, tuple[Numbers, Numbers]] = {}

    def rational(self, part: Part, modulus: int) -> Numbers:
        """Return a rational number modulo P or Q."""
        return int(part.x.p * pow(part.x.q, -1, modulus) % modulus)

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
        for part in {part for side in sides for part in parts_of(side) if isinstance(part, Indexed)}:
            for place, size in zip(part.indices, part.base.ranges, strict=True):
                if place.is_Integer:
                    taken.setdefault(size, set()).add(int(place))
        for index, size in ranges_of(*sides):
            # A range that no sum goes over may have any size.
            open_ended = size is None or any(x not in self.sizes for x in size.free_symbols)
            number = LONGEST_SUM if open_ended else self.whole(size)
            free = sorted(set(range(1, number + 1)) - taken.setdefault(size, set()))
            if not free:
                raise Undecided(f"more places than {size} = {number} has")
            self.places[index] = place = free[int(self.seeds[0]) % len(free)]
            taken[size].add(place)

    def supports_of(self, bases: list[Any], modulus: int) -> Supports:
        """Return values and weights of random laws with the first moments of each family's law.

        Weights solve Σ w x^r = moment r, by Lagrange's polynomials; those of the world add up to 1.
        """
        # Of a law without a mean nothing is known of it: it is any number.
        sizes = {base: max(len(self.laws[base].raw), 2) for base in bases if base}
        drawn = [sizes[base] for base in bases if base]
        if prod(drawn) > (MOST_OUTCOMES if any(size > 2 for size in drawn) else 4 * MOST_OUTCOMES):
            raise TooManyOutcomes(f"a mean depends on too many components, {len(drawn)}")
        for base in {*bases} - {base for base, of in self.supports if of == modulus}:
            self.supports[base, modulus] = (
                self._law_of(base, sizes[base], modulus) if base else self._world(modulus)
            )
        return {base: self.supports[base, modulus] for base in bases}

    def _world(self, modulus: int) -> tuple[Numbers, Numbers]:
        shares = [self.draw(modulus, ("share", number)) for number in range(1, OUTCOMES)]
        # The last makes the sum 1; three times the modulus, for unsigned numbers must not fall below 0.
        shares.append((3 * modulus + 1 - sum(shares)) % modulus)
        return np.stack(shares), np.stack(shares)

    def _law_of(self, base: Family, size: int, modulus: int) -> tuple[Numbers, Numbers]:
        raw = [sympify(moment) for moment in self.laws[base].raw]
        raw += [Symbol(f"{base} {order}") for order in range(len(raw), size)]
        moments = [self.value(part_of(moment), modulus) for moment in raw]
        values = [self.draw(modulus, ("outcome", base, order)) for order in range(size)]
        weights = []
        for x in values:
            # The mean of the polynomial that is 1 at x and 0 at all other values.
            polynomial, denominator = list[Numbers]([1]), 1
            for y in (y for y in values if y is not x):
                shifted, scaled = [0, *polynomial], [*(y * c % modulus for c in polynomial), 0]
                polynomial = [(s + modulus - t) % modulus for s, t in zip(shifted, scaled, strict=True)]
                denominator = denominator * ((x + modulus - y) % modulus) % modulus
            self.require(np.not_equal(denominator, 0))
            total = sum(c * moment % modulus for c, moment in zip(polynomial, moments, strict=True))
            weights.append(total % modulus * power(denominator, modulus - 2, modulus) % modulus)
        return np.stack(values), np.stack(weights)

    def require(self, mask: Any) -> None:
        """Leave out the points at which a condition fails, in any outcome."""
        mask = np.asarray(mask)
        self.valid = self.valid & (mask if mask.ndim < 2 else mask.all(axis=tuple(range(mask.ndim - 1))))


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


def _symbol(points: Points, part: Part, modulus: int) -> Numbers:
    x = part.x
    if x in points.sizes:
        return points.sizes[x] % modulus
    number = points.draw(modulus, *points.variables.get(x, (x,)))
    if not x.is_nonnegative and not x.is_negative:
        return number
    square = number * number % modulus
    return square if x.is_nonnegative else modulus - square


def _indexed(points: Points, part: Part, modulus: int) -> Numbers:
    base, places = part.x.base, [points.value(index, P) for index in part.args[1:]]
    if points.rows is None or base not in points.laws:
        is_drawn = points.world is not None and not isinstance(base, Given)
        return points.draw(modulus, (base, is_drawn), *places, *([points.world] if is_drawn else []))
    return points.in_outcomes(base, tuple(places), modulus)


def _pow(points: Points, part: Part, modulus: int) -> Numbers:
    exponent = points.with_numbers(part.x.exp)
    value = points.value(part.args[0], modulus)
    if exponent.is_Integer:
        if exponent < 0:
            points.require(np.not_equal(value, 0))
        return power(value, int(exponent) % (modulus - 1), modulus)
    points.require(_is_square(value, modulus))
    if exponent.is_Rational:
        # The squares are a group of prime order, in which every root is unique.
        order = (modulus - 1) // 2
        return power(value, int(exponent.p) * pow(int(exponent.q), -1, order) % order, modulus)
    exponents = points.value(part_of(exponent), Q)
    return points.draw(Q, "power", value, exponents) if modulus == Q else power(value, exponents, P)


def _exp(points: Points, part: Part, modulus: int) -> Numbers:
    # P = 2Q + 1, and squares modulo P have order Q: so exponents are numbers modulo Q. The number e has none.
    exponents = points.value(part.args[0] if part.args else part_of(S.One), Q)
    if modulus == Q:
        return points.draw_square(Q, "exp", exponents)
    return power(points.draw_square(P, "e"), exponents, P)


def _log(points: Points, part: Part, modulus: int) -> Numbers:
    """By log xy = log x + log y; of any other expression, a random number that belongs to its value."""
    inside = sympify(points.sizes.get(part.x.args[0], part.x.args[0]))
    if isinstance(inside, exp):
        return points.value(part_of(inside.args[0]), modulus)
    if isinstance(inside, Pow):
        logarithm = points.value(part_of(log(inside.base, evaluate=False)), modulus)
        return points.value(part_of(inside.exp), modulus) * logarithm % modulus
    if inside.is_Rational and inside > 0:
        # Of 1/q the logarithm is less than that of q.
        times = [*sympy.factorint(inside.p).items(), *((q, -t) for q, t in sympy.factorint(inside.q).items())]
        logarithms = (t % modulus * points.draw(modulus, ("log", q)) % modulus for q, t in times)
        return sum(logarithms, np.zeros_like(points.seeds)) % modulus
    parted = _parted(inside)
    if isinstance(parted, Mul):
        logs = (part_of(log(factor, evaluate=False)) for factor in parted.args)
        return sum(points.value(each, modulus) for each in logs) % modulus
    value = points.value(part_of(inside), P)
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


def _mean(points: Points, part: Part, modulus: int) -> Numbers:
    """Over all outcomes of families with laws, and over a few draws of all others, with random weights."""
    (of,) = part.args
    others = {family for family in families_of(of.x) if not isinstance(family, Given)} - set(points.laws)
    has_world = bool(others) or not points.laws
    weights, values = points.over_outcomes(of, has_world=has_world, modulus=modulus)
    return (weights * values % modulus).sum(axis=0) % modulus


def _integral(points: Points, part: Part, modulus: int) -> Numbers:
    """Any linear functional that belongs to the ends."""
    inner, variable, *ends = outermost(part)
    name = tuple(end if end.is_infinite else "" for end in ends)
    on = [points.value(part_of(end), P) for end in ends if not end.is_infinite]
    total: Numbers = 0
    for number in range(2):
        variables = {**points.variables, variable: (("at", number, name), *on)}
        weight = points.draw(modulus, ("weight", number, name), *on)
        with points.having(variables=variables):
            total = total + weight * points.value(inner, modulus) % modulus
    return total % modulus


def _angle(points: Points, part: Part, modulus: int) -> Numbers:
    """By t = tan(x/2), so that sin² + cos² = 1; multiples of an angle are written out."""
    opened = sympy.expand_trig(part.x)
    if opened != part.x:
        return points.value(part_of(opened), modulus)
    half = points.draw(modulus, "tangent of half", points.value(part.args[0], P))
    square = half * half % modulus
    over = power(1 + square, modulus - 2, modulus)
    return (modulus + 1 - square if part.kind is sympy.cos else 2 * half) % modulus * over % modulus


def _sign(points: Points, part: Part, modulus: int) -> Numbers:
    (of,) = part.args
    value = np.asarray(points.value(of, modulus), np.uint64)
    positive = _is_square(value, modulus)
    points.require(value != 0)
    if of.x.is_nonnegative:
        points.require(positive)
    if part.kind is Indicator:
        return positive.astype(np.uint64)
    size = value if part.kind is Abs else np.ones_like(value)
    return np.where(positive, size, modulus - size)


def _extreme(points: Points, part: Part, modulus: int) -> Numbers:
    """Max(x, y) is (x + y + |x - y|)/2; of more it would need an order, which residues do not have."""
    if len(part.args) != 2:
        raise Undecided(f"{part.kind.__name__} of more than two has no exact arithmetic")
    first, second = part.x.args
    direction = 1 if part.kind is sympy.Max else -1
    return points.value(part_of((first + second + direction * Abs(first - second)) / 2), modulus)


def _function(points: Points, part: Part, modulus: int) -> Numbers:
    """A function of which nothing is known but that equal arguments give equal values.

    Γ, factorials and binomials have closed values at whole numbers.
    """
    if part.kind in {sympy.gamma, sympy.factorial, sympy.binomial}:
        at = points.with_numbers(part.x)
        if not at.has(part.kind):
            return points.value(part_of(at), modulus)
    return points.draw(modulus, part.kind.__name__, *(points.value(each, P) for each in part.args))


def _largest(points: Points, part: Part, modulus: int) -> Numbers:
    of, index = part.x.args
    size = points.whole(range_of(of, index))
    values = points.along(part.args[0], index, 1, size, P) + np.zeros((size, *(1,) * points.depth), np.uint64)
    return points.draw(modulus, "Largest", *np.sort(values, axis=0))


def _sum(points: Points, part: Part, modulus: int) -> Numbers:
    return sum(points.value(each, modulus) for each in part.args) % modulus


def _product(points: Points, part: Part, modulus: int) -> Numbers:
    return reduce(lambda total, each: total * points.value(each, modulus) % modulus, part.args, 1)


def _by_exponentials(points: Points, part: Part, modulus: int) -> Numbers:
    x = part.x.rewrite(sympy.erf if part.kind is sympy.erfc else exp)
    return points.value(part_of(x), modulus)


RULES = Rules(
    {
        Add: _sum,
        Mul: _product,
        Pow: _pow,
        Indexed: _indexed,
        Symbol: _symbol,
        Sum: Points.total,
        E: _mean,
        exp: _exp,
        type(S.Exp1): _exp,
        log: _log,
        sympy.Integral: _integral,
        **dict.fromkeys((sympy.sin, sympy.cos), _angle),
        **dict.fromkeys((sympy.tanh, sympy.sinh, sympy.cosh, sympy.erfc), _by_exponentials),
        **dict.fromkeys((Abs, sympy.sign, Indicator), _sign),
        **dict.fromkeys((sympy.Max, sympy.Min), _extreme),
        sympy.KroneckerDelta: lambda points, part, modulus: np.asarray(
            np.equal(*(points.value(each, modulus) for each in part.args)), np.uint64
        ),
        Largest: _largest,
        type(S.Pi): lambda points, part, modulus: points.draw_square(modulus, part.x),
        # Of i that it is any number: what needs i² = -1 is not seen.
        type(S.ImaginaryUnit): lambda points, part, modulus: points.draw(modulus, part.x),
        sympy.Function: _function,
    }
)
"""How each kind of part is evaluated; a kind that is not here takes the rule of its nearest base class."""
