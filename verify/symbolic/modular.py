"""Exact equality: both sides are evaluated at random points, modulo two primes.

An equation that is wrong holds at a random point modulo a prime P with a probability of about degree/P, that
is never; of signs, which are a draw of two, it is tried as often as that takes. Sums are written out, at
several sizes: all different, and more of them than the degree. Sides that cannot be evaluated, or at one size
only, are *not decided*, which is no equality.

Let P = 2Q + 1 with P and Q prime. The squares modulo P are a group of Q elements, so a value modulo P may be
raised to an exponent modulo Q: exp(x) is g**x, where x is known modulo Q, and a root is a power by an inverse
modulo Q. Logarithms split by products; sine and cosine are rational in the tangent of half the angle;
the sign of a number is whether it is a square.

A mean is any linear functional with E 1 = 1; under laws it is the mean over small random laws, drawn modulo P
and Q, with the moments that are assumed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from functools import lru_cache, reduce
from itertools import count
from typing import Any

import numpy as np
import sympy
from sympy import Abs, Add, Indexed, Integral, Max, Min, Mul, Pow, S, Sum, Symbol, binomial, exp, factor
from sympy import factorial, fraction, gamma, log, sign, sympify

from verify.errors import ClaimError
from verify.symbolic.evaluation import LONGEST_SUM, Evaluation, Numbers, Part, Supports, Undecided, has
from verify.symbolic.evaluation import opened, outermost, part_of, parts_of, ranges_of, symbols_in
from verify.symbolic.vocabulary import Family, Given, Index, Indicator, Largest, Law, Laws, Softmax
from verify.symbolic.vocabulary import StepError, definition, families_of, range_of

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

LEAST_SIZE = 3
LEAST_ASSIGNMENTS = 3
MOST_STEPS = 300_000
ATTEMPTS, BATCH = 40, 64
MOST_SIGNS = 5
MOMENTS = (5, 4, 3, 2)
"""How many moments, E 1 among them, a drawn law has in common with the law that is assumed."""


class Unequal(StepError):  # noqa: N818 - an outcome
    """The sides differ at a point."""


def decide_equality(
    before: Any, after: Any, laws: Laws | None = None, sizes: Mapping[Any, int] | None = None
) -> None:
    """Return where two expressions are equal at all sizes and points tried, as an exact computation.

    Means are any linear functional, or where ``laws`` are given those of independent families with these
    moments. ``sizes`` are those that have one value only.

    Raises:
        Unequal: they differ; its text says at which sizes.
        Undecided: a side could not be evaluated; its text says why.
    """
    if before == after:
        return
    given = None if laws is None else tuple(sorted(laws.items(), key=lambda item: str(item[0])))
    error = _error(sympify(before), sympify(after), given, tuple((sizes or {}).items()))
    if error is not None:
        raise error


@lru_cache(maxsize=2048)
def _error(
    before: Any, after: Any, laws: tuple[tuple[Family, Law], ...] | None, sizes: tuple[tuple[Any, int], ...]
) -> StepError | None:
    if definition(before) == definition(after):
        return None
    error: StepError | None = None
    # Drawn laws share as many moments with those assumed as their outcomes can be gone through for.
    for moments in MOMENTS if laws else MOMENTS[:1]:
        drawn = {base: Law(law.words, law.raw[:moments]) for base, law in laws or ()}
        try:
            _try((_opened(before), _opened(after)), drawn, dict(sizes))
        except StepError as problem:
            error = problem
        except (ClaimError, RecursionError) as problem:
            error = Undecided(str(problem))
        else:
            return None
        if not isinstance(error, TooManyOutcomes):
            break
    if isinstance(error, Unequal) and any(len(law.raw) > moments for _, law in laws or ()):
        return Undecided(f"it does not follow from the first {moments - 1} moments of the components")
    return error


def _opened(x: Any) -> Any:
    """Return an expression with definitions put in, derivatives taken, and squares taken out of roots."""
    for part in parts_of(x):
        if isinstance(part, Indexed) and not isinstance(part.base, Family):
            raise Undecided(f"{part.base} is no family; declare it with Family({str(part.base)!r}, …)")

    def weight_of_largest(largest: Any) -> Any:
        # The largest weight is that of the largest score, for exponentials rise.
        weight, key = largest.args
        if not isinstance(weight, Softmax) or weight.args[1] != key:
            return largest
        scores, (others, other) = weight.args[0], weight.row
        return exp(Largest(scores, key)) / Sum(exp(others), (other, 1, range_of(others, other)))

    x = opened(x)
    if has(x, Largest):
        x = x.replace(lambda part: isinstance(part, Largest), weight_of_largest)
    x = definition(x)
    if any(map(_is_root, parts_of(x))):
        x = x.replace(_is_root, lambda root: Pow(factor(root.base), root.exp))
    return x


def _is_root(x: Any) -> bool:
    return isinstance(x, Pow) and x.exp.is_Rational and x.exp.q % 2 == 0 and not x.base.is_Atom


def _try(sides: tuple[Any, Any], laws: Laws, fixed: Mapping[Any, int]) -> None:
    """Evaluate both sides at points for each assignment of sizes."""
    budget, seeds = float(MOST_STEPS), count()
    parts = parts_of(sides[0]) | parts_of(sides[1])
    signs = {part.args for part in parts if isinstance(part, Abs | sign | Indicator | Max | Min)}
    roots = filter(_is_root, parts)
    signs |= {(of,) for root in roots for of in Mul.make_args(root.base) if of.is_Pow and of.exp.is_even}
    if len(signs) > MOST_SIGNS:
        raise Undecided(f"it has more than {MOST_SIGNS} different signs, too many to try them all")
    for number, sizes in enumerate(_assignments(*sides, fixed)):
        # A false line passes a point with a probability of at most 1 - 2^-signs, so that it passes all of so
        # many with 1e-12 at most.
        wanted = 28 * 2 ** len(signs) if signs and not number else 1
        for attempt in range(ATTEMPTS):
            points = Points(next(seeds), min(2 * wanted << attempt, BATCH), sizes, laws, budget)
            points.place(*sides)
            before, after = (points.value(part_of(side)) for side in sides)
            if np.any(np.not_equal(before, after) & points.valid):
                at = ", ".join(f"{size} = {value}" for size, value in sizes.items())
                raise Unequal(f"the two sides differ{f' at {at}' if at else ''}")
            budget, wanted = points.budget, wanted - int(points.valid.sum())
            if wanted <= 0:
                break
        else:
            raise Undecided("no point was found at which all roots and quotients exist")


def _assignments(before: Any, after: Any, fixed: Mapping[Any, int]) -> Iterator[dict[Any, int]]:
    """Yield numbers for the sizes that count something: all different, and more of them than degrees.

    A polynomial in a size that vanishes at more numbers than its degree is 0. Sizes that count nothing are
    symbols as any other, and drawn.
    """
    counting = sorted((_counting(before) | _counting(after)) - set(fixed), key=str)
    powers = [part for part in parts_of(before) | parts_of(after) if part.is_Pow and not has(part.base, Sum)]
    divisors = [part.base for part in powers if part.exp.is_Integer and part.exp.is_negative]
    degree = 0
    for size in counting:
        degrees = [_degree(before, size), _degree(after, size)]
        divides = any(size in parts_of(base) for base in divisors)
        degree = max(degree, sum(degrees) if divides else max(degrees))
    times = max(LEAST_ASSIGNMENTS, degree + 2) if counting else 1
    pool = range(LEAST_SIZE, LEAST_SIZE + times + len(counting) - 1)
    shuffled = random.Random(1)  # noqa: S311 - nothing is secret
    order = shuffled.sample(pool, len(pool))
    for number in range(times):
        # The next numbers in the order: different within a row, and for each size another in each row.
        row = [order[(number + at) % len(order)] for at in range(len(counting))]
        yield {**dict(zip(counting, row, strict=True)), **fixed}


def is_size(symbol: Any) -> bool:
    """Return whether a symbol counts something: a positive whole number that is no index."""
    counts = symbol.is_Symbol and symbol.is_integer and symbol.is_positive
    return bool(counts) and not isinstance(symbol, Index)


@lru_cache(maxsize=4096)
def _counting(x: Any) -> frozenset[Any]:
    """Sizes in ends of sums and in whatever is evaluated at whole numbers only."""
    counted: list[Any] = []
    for part in parts_of(x):
        if isinstance(part, Sum):
            counted += [end for limit in part.limits for end in limit[1:]]
        elif isinstance(part, gamma | factorial | binomial):
            counted += part.args
        elif isinstance(part, Largest):
            counted.append(range_of(*part.args))
        # Whether a long base is positive takes SymPy long, and most exponents are numbers.
        elif part.is_Pow and any(map(is_size, symbols_in(part.exp))) and not part.base.is_positive:
            counted.append(part.exp)
    bound = {limit[0] for part in parts_of(x) if isinstance(part, Sum | Integral) for limit in part.limits}
    return frozenset(filter(is_size, frozenset().union(*map(symbols_in, counted)))) - bound


def _degree(x: Any, size: Any) -> Any:
    """A bound of the degree of the numerator in a size, once all is over one denominator."""
    if isinstance(x, Sum):
        return _degree(x.function, size) + sum(limit[2].has(size) for limit in x.limits)
    if isinstance(x, Pow) and x.exp.is_negative and x.base.has(Indexed):
        return 0  # a common denominator of random sums is no polynomial in their size
    if isinstance(x, Pow) and x.exp.is_Integer:
        return _degree(x.base, size) * abs(int(x.exp))
    if isinstance(x, Add):
        degrees = [_degree(part, size) for part in x.args]
        over = [_degree(part, size) for part in x.args if fraction(part)[1] != 1]
        return max(degrees) + sum(over)
    return int(x == size) + sum(_degree(part, size) for part in x.args if not isinstance(x, Indexed))


# ---- random points modulo two primes ---------------------------------------------------------------------


class TooManyOutcomes(Undecided):
    """A mean has too many outcomes."""


class Points(Evaluation):
    """Random points: numbers modulo P and Q for all that an expression is made of.

    A number is made from the seed of its point, its name, and other numbers that it depends on. Points that
    are not ``valid`` lack a root or a quotient.
    """

    def __init__(self, seed: int, count: int, sizes: Mapping[Any, int], laws: Laws, budget: float) -> None:
        super().__init__(sizes, laws, budget)
        self.splits_means, self.modulus = bool(laws), P
        self.seeds = _mixed(np.arange(count, dtype=np.uint64) + np.uint64(seed << 32))
        self.valid = np.ones(count, dtype=bool)
        self.variables: dict[Any, tuple[Any, ...]] = {}
        self.names: dict[Any, int] = {}
        self.supports: dict[Any, tuple[Numbers, Numbers]] = {}

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

    def require(self, mask: Any) -> None:
        """Leave out the points at which a condition fails, in any outcome."""
        mask = np.asarray(mask)
        self.valid = self.valid & (mask if mask.ndim < 2 else mask.all(axis=tuple(range(mask.ndim - 1))))

    def modulo(self, modulus: int, x: Any) -> Numbers:
        """Return the value of an expression, or of a part, modulo P or Q."""
        with self.having(modulus=modulus):
            return self.value(x if isinstance(x, Part) else part_of(x))

    def rational(self, part: Part) -> Numbers:
        """Return a rational number."""
        return int(part.x.p * pow(part.x.q, -1, self.modulus) % self.modulus)

    def product(self, first: Numbers, second: Numbers) -> Numbers:
        """Return a product."""
        return first % self.modulus * second % self.modulus

    def draw(self, name: Any, *on: Numbers) -> Numbers:
        """Return the numbers of this name, which depend on others."""
        number = self.names.setdefault((name, self.modulus), len(self.names) + 1)
        mixed = self.seeds + np.uint64(number << 40)
        for numbers in on:
            mixed = (mixed ^ np.asarray(numbers, np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            mixed = mixed ^ (mixed >> 29)
        return 2 + _mixed(mixed) % (self.modulus - 2)

    def draw_square(self, name: Any, *on: Numbers) -> Numbers:
        """Return numbers of this name that are squares."""
        number = self.draw(name, *on)
        return number * number % self.modulus

    # Sums, powers and functions.

    def _on_symbol(self, part: Part) -> Numbers:
        x = part.x
        if x in self.sizes:
            return self.sizes[x] % self.modulus
        number = self.draw(*self.variables.get(x, (x,)))
        if not x.is_nonnegative and not x.is_negative:
            return number
        square = number * number % self.modulus
        return square if x.is_nonnegative else self.modulus - square

    def _on_pi(self, part: Part) -> Numbers:
        return self.draw_square(part.x)

    def _on_imaginaryunit(self, part: Part) -> Numbers:
        """Return any number for i: what needs i² = -1 is not seen."""
        return self.draw(part.x)

    def _on_add(self, part: Part) -> Numbers:
        return sum(map(self.value, part.args)) % self.modulus

    def _on_mul(self, part: Part) -> Numbers:
        return reduce(lambda total, each: total * self.value(each) % self.modulus, part.args, 1)

    def _on_pow(self, part: Part) -> Numbers:
        exponent = self.with_numbers(part.x.exp)
        value = self.value(part.args[0])
        if exponent.is_Integer:
            if exponent < 0:
                self.require(np.not_equal(value, 0))
            return power(value, int(exponent) % (self.modulus - 1), self.modulus)
        self.require(_is_square(value, self.modulus))
        if exponent.is_Rational:
            # The squares are a group of prime order, in which every root is unique.
            order = (self.modulus - 1) // 2
            return power(value, int(exponent.p) * pow(int(exponent.q), -1, order) % order, self.modulus)
        exponents = self.modulo(Q, exponent)
        return self.draw("power", value, exponents) if self.modulus == Q else power(value, exponents, P)

    def _on_exp(self, part: Part) -> Numbers:
        # P = 2Q + 1, and squares modulo P have order Q: so exponents are numbers modulo Q. The number e has
        # no argument.
        exponents = self.modulo(Q, part.args[0] if part.args else S.One)
        if self.modulus == Q:
            return self.draw_square("exp", exponents)
        return power(self.draw_square("e"), exponents, P)

    _on_exp1 = _on_exp

    def _on_log(self, part: Part) -> Numbers:
        """By log xy = log x + log y; of any other expression, a random number that belongs to its value."""
        inside = sympify(self.sizes.get(part.x.args[0], part.x.args[0]))
        if isinstance(inside, exp):
            return self.value(part_of(inside.args[0]))
        if isinstance(inside, Pow):
            logarithm = self.value(part_of(log(inside.base, evaluate=False)))
            return self.value(part_of(inside.exp)) * logarithm % self.modulus
        if inside.is_Rational and inside > 0:
            # Of 1/q the logarithm is less than that of q; SymPy has the factors of q with negative powers.
            factors = sympy.factorrat(inside).items()
            logarithms = (t % self.modulus * self.draw(("log", q)) % self.modulus for q, t in factors)
            return sum(logarithms, np.zeros_like(self.seeds)) % self.modulus
        parted = _parted(inside)
        if isinstance(parted, Mul):
            logs = (part_of(log(factor, evaluate=False)) for factor in parted.args)
            return sum(map(self.value, logs)) % self.modulus
        value = self.modulo(P, inside)
        return np.where(np.equal(value, 1), np.uint64(0), self.draw("log of", value))

    def _on_sin(self, part: Part) -> Numbers:
        """By t = tan(x/2), so that sin² + cos² = 1; multiples of an angle are written out."""
        opened = sympy.expand_trig(part.x)
        if opened != part.x:
            return self.value(part_of(opened))
        half = self.draw("tangent of half", self.modulo(P, part.args[0]))
        square = half * half % self.modulus
        over = power(1 + square, self.modulus - 2, self.modulus)
        above = self.modulus + 1 - square if part.kind is sympy.cos else 2 * half
        return above % self.modulus * over % self.modulus

    _on_cos = _on_sin

    def _on_tanh(self, part: Part) -> Numbers:
        """By exponentials, or by erf."""
        return self.value(part_of(part.x.rewrite(sympy.erf if part.kind is sympy.erfc else exp)))

    _on_sinh = _on_cosh = _on_erfc = _on_tanh

    def _on_sign(self, part: Part) -> Numbers:
        (of,) = part.args
        value = np.asarray(self.value(of), np.uint64)
        positive = _is_square(value, self.modulus)
        self.require(value != 0)
        if of.x.is_nonnegative:
            self.require(positive)
        if part.kind is Indicator:
            return positive.astype(np.uint64)
        size = value if part.kind is Abs else np.ones_like(value)
        return np.where(positive, size, self.modulus - size)

    _on_abs = _on_indicator = _on_sign

    def _on_max(self, part: Part) -> Numbers:
        """Max(x, y) is (x + y + |x - y|)/2; of more it would need an order, which residues do not have."""
        if len(part.args) != 2:
            raise Undecided(f"{part.kind.__name__} of more than two has no exact arithmetic")
        first, second = part.x.args
        direction = 1 if part.kind is sympy.Max else -1
        return self.value(part_of((first + second + direction * Abs(first - second)) / 2))

    _on_min = _on_max

    def _on_kroneckerdelta(self, part: Part) -> Numbers:
        return np.asarray(np.equal(*map(self.value, part.args)), np.uint64)

    def _on_largest(self, part: Part) -> Numbers:
        of, index, low, high = outermost(part)
        size = self.whole(high)
        with self.having(modulus=P):
            values = self.along(of, index, low, size)
        values = values + np.zeros((size, *(1,) * self.depth), np.uint64)
        return self.draw("Largest", *np.sort(values, axis=0))

    def _on_function(self, part: Part) -> Numbers:
        """A function of which nothing is known but that equal arguments give equal values.

        Γ, factorials and binomials have closed values at whole numbers.
        """
        if part.kind in {gamma, factorial, binomial}:
            at = self.with_numbers(part.x)
            if not at.has(part.kind):
                return self.value(part_of(at))
        return self.draw(part.kind.__name__, *(self.modulo(P, each) for each in part.args))

    def _on_integral(self, part: Part) -> Numbers:
        """Any linear functional that belongs to the ends."""
        inner, variable, *ends = outermost(part)
        name = tuple(end if end.is_infinite else "" for end in ends)
        on = [self.modulo(P, end) for end in ends if not end.is_infinite]
        total: Numbers = 0
        for number in range(2):
            variables = {**self.variables, variable: (("at", number, name), *on)}
            weight = self.draw(("weight", number, name), *on)
            with self.having(known={}, variables=variables):
                total = total + weight * self.value(inner) % self.modulus
        return total % self.modulus

    # Means.

    def _on_indexed(self, part: Part) -> Numbers:
        base, places = part.x.base, [self.modulo(P, index) for index in part.args[1:]]
        if self.rows is None or base not in self.laws:
            is_drawn = self.world is not None and not isinstance(base, Given)
            return self.draw((base, is_drawn), *places, *([self.world] if is_drawn else []))
        return self.in_outcomes(base, tuple(places))

    def _on_e(self, part: Part) -> Numbers:
        """Over all outcomes of families with laws, and a few draws of all others, with random weights."""
        (of,) = part.args
        others = {family for family in families_of(of.x) if not isinstance(family, Given)} - set(self.laws)
        weights, values = self.over_outcomes(of, has_world=bool(others) or not self.laws)
        return (weights * values % self.modulus).sum(axis=0) % self.modulus

    def supports_of(self, bases: list[Any]) -> Supports:
        """Return values and weights of random laws with the first moments of each family's law.

        The world has random weights that add up to 1.
        """
        # Of a law without a mean nothing is known of it: it is any number.
        sizes = {base: max(len(self.laws[base].raw), 2) for base in bases if base}
        drawn = [sizes[base] for base in bases if base]
        if math.prod(drawn) > (MOST_OUTCOMES if any(size > 2 for size in drawn) else 4 * MOST_OUTCOMES):
            raise TooManyOutcomes(f"a mean depends on too many components, {len(drawn)}")
        for base in {*bases} - {base for base, of in self.supports if of == self.modulus}:
            if base:
                support = self._law_of(base, sizes[base])
            else:
                shares = [self.draw(("share", number)) for number in range(1, OUTCOMES)]
                # Three times the modulus, for unsigned numbers must not fall below 0.
                shares.append((3 * self.modulus + 1 - sum(shares)) % self.modulus)
                support = np.stack(shares), np.stack(shares)
            self.supports[base, self.modulus] = support
        return {base: self.supports[base, self.modulus] for base in bases}

    def _law_of(self, base: Family, size: int) -> tuple[Numbers, Numbers]:
        """Return random values, and weights that solve Σ w x^r = moment r, by Lagrange's polynomials."""
        modulus, raw = self.modulus, [sympify(moment) for moment in self.laws[base].raw]
        raw += [Symbol(f"{base} {order}") for order in range(len(raw), size)]
        moments = [self.value(part_of(moment)) for moment in raw]
        values = [self.draw(("outcome", base, order)) for order in range(size)]
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
