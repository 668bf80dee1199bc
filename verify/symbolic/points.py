"""A random point modulo two primes, and how each kind of part of an expression is evaluated there.

Let P = 2Q + 1 with P and Q prime. The squares modulo P are a group of Q elements, so a value modulo P may be
raised to an exponent modulo Q: exp(x) is g**x, where x is known modulo Q, and a root is a power by an inverse
modulo Q. Logarithms split by products; sine and cosine are rational in the tangent of half the angle;
the sign of a number is whether it is a square. Sums are written out at numeric sizes.

A mean is any linear functional with E 1 = 1; under laws it is the mean over small random laws, drawn modulo P
and Q, with the moments that are assumed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import product
from math import gcd, prod
from typing import Any

import sympy
from sympy import Abs, Add, Derivative, Dummy, Indexed, Integer, Mul, Pow, S, Subs, Sum, Symbol, exp, log
from sympy import sympify

from verify.errors import ClaimError
from verify.symbolic.vocabulary import StepError
from verify.symbolic.vocabulary import E, Given, Indicator, Largest, Laws, Quantile, definition, families_of
from verify.symbolic.vocabulary import free_indices, range_of

Q = 2305843009171380839
"""A prime; P = 2Q + 1 is one as well. 2, 3, 5, …, 23 are squares modulo both, -1 modulo neither."""
P = 2 * Q + 1

Places = dict[Any, Any]
"""What indices stand for, by number; and, inside of a mean, which outcome it is."""

OUTCOMES = 4
"""How many outcomes a mean has of which no law is known."""
MOST_OUTCOMES = 300
"""How many outcomes of drawn laws are gone through for a mean; of two points each, four times as many."""
LONGEST_SUM = 40


class Undecided(StepError):  # noqa: N818 - an outcome
    """A side could not be evaluated."""


class TooManyOutcomes(Undecided):
    """A mean has too many outcomes."""


class Redraw(Exception):  # noqa: N818 - an outcome
    """A root of this point's value, or a quotient, does not exist: another point may do."""


class Point:
    """A random point: numbers modulo P and Q for all that an expression is made of, drawn where first met."""

    def __init__(self, seed: int, sizes: Mapping[Any, int], laws: Laws, budget: list[int]) -> None:
        self.random = random.Random(seed)  # noqa: S311 - nothing is secret
        self.sizes, self.laws, self.budget = sizes, laws, budget
        self.drawn: dict[Any, int] = {}
        self.known: dict[Any, int] = {}
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
            entries = set().union(*(x.atoms(Indexed) for x in expressions))
            standing = [
                place for part in entries for place in zip(part.indices, part.base.ranges, strict=True)
            ]
            fixed = {int(place) for place, its in standing if place.is_Integer and its == size}
            free = set(range(1, number + 1)) - taken.setdefault(size, set()) - fixed
            if not free:
                raise Undecided(f"more places than {size} = {number} has")
            places[index] = self.random.choice(sorted(free))
            taken[size].add(places[index])
        return places

    def whole(self, x: Any, places: Places) -> int:
        """Return an index or the end of a sum as a number."""
        if x in places:
            return int(places[x])
        value = sympify(x)
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
        quick = _QUICK.get(x.func)
        if quick is not None:
            return quick(self, x, modulus, places)
        if x.is_Rational:
            return _rational(x, modulus)
        rule = _rule(x.func)
        if rule is None:
            raise Undecided(f"{type(x).__name__} has no exact arithmetic")
        if isinstance(x, Symbol):
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


@lru_cache(maxsize=4096)
def _rational(x: Any, modulus: int) -> int:
    return int(x.p) * pow(int(x.q), -1, modulus) % modulus


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
    base, *indices = x.args
    entry = (base, *[places[at] if at in places else point.whole(at, places) for at in indices])
    outcome = places.get(_OUTCOME)
    if isinstance(outcome, tuple) and base in point.laws:
        number: int
        number, _ = point.supports[base][modulus][_chosen(outcome[1])[entry]]
        return number
    world = outcome[0] if isinstance(outcome, tuple) else outcome
    return point.draw((entry, None if isinstance(base, Given) else world), modulus)


@lru_cache(maxsize=16)
def _chosen(drawn: tuple[tuple[Any, int], ...]) -> dict[Any, int]:
    """Return which outcome each entry has."""
    return dict(drawn)


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
            raise Redraw
        power: int = pow(value, int(exponent), modulus)
        return power
    _square(value, modulus)
    if exponent.is_Rational:
        # The squares are a group of odd order, in which every root of small degree is unique.
        order = (modulus - 1) // 2
        if gcd(int(exponent.q), order) > 1:
            raise Undecided(f"roots of degree {exponent.q} are not unique here")
        return pow(value, int(exponent.p) * pow(int(exponent.q), -1, order) % order, modulus)
    if modulus == Q:
        return point.draw(("power", value, point.value(exponent, Q, places)), Q)
    return pow(value, point.value(exponent, Q, places), P)


def _square(value: int, modulus: int) -> None:
    if pow(value, (modulus - 1) // 2, modulus) != 1:
        raise Redraw


def _exp(point: Point, x: Any, modulus: int, places: Places) -> int:
    exponent = point.value(x.args[0] if isinstance(x, exp) else S.One, Q, places)
    if modulus == Q:
        return point.draw(("exp", exponent), Q, S.One)
    return pow(point.draw("e", P, S.One), exponent, P)


def _log(point: Point, x: Any, modulus: int, places: Places) -> int:
    """By log xy = log x + log y; of what is no product, any number that belongs to its value."""
    inside = x.args[0]
    if isinstance(inside, Mul):
        parts = [log(part, evaluate=False) for part in inside.args]
        return sum(point.value(part, modulus, places) for part in parts) % modulus
    if isinstance(inside, exp):
        return point.value(inside.args[0], modulus, places)
    if isinstance(inside, Pow):
        power = point.value(inside.exp, modulus, places)
        return power * point.value(log(inside.base, evaluate=False), modulus, places) % modulus
    if inside in point.sizes:
        inside = Integer(point.sizes[inside])
    if inside.is_Rational and inside > 0:
        primes = [(prime, times) for prime, times in sympy.factorint(inside.p).items()]
        primes += [(prime, -times) for prime, times in sympy.factorint(inside.q).items()]
        logarithms = [int(times) * point.draw(("log", int(prime)), modulus) for prime, times in primes]
        return sum(logarithms) % modulus
    parted = _parted(inside)
    if parted != inside:
        return point.value(log(parted, evaluate=False), modulus, places)
    value = point.value(inside, P, places)
    return 0 if value == 1 else point.draw(("log of", value), modulus)


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
    """Over all outcomes of families with laws, and over a few of what else is drawn, with random weights."""
    (of,) = x.args
    if not (point.laws or families_of(of) or of.free_symbols):
        return point.value(of, modulus, places)
    others = {family for family in families_of(of) if not isinstance(family, Given)} - set(point.laws)
    if not point.laws:
        worlds = _worlds(point, modulus)
        values = [point.value(of, modulus, {**places, _OUTCOME: outcome}) for outcome in range(OUTCOMES)]
        return sum(map(int.__mul__, worlds, values)) % modulus
    entries = sorted(_entries(point, of, places), key=str)
    supports = [_support(point, entry[0]) for entry in entries]
    most = MOST_OUTCOMES if any(len(support[P]) > 2 for support in supports) else 4 * MOST_OUTCOMES
    if prod(len(support[P]) for support in supports) > most:
        raise TooManyOutcomes(f"{x} depends on too many components, {len(entries)}")
    total = 0
    for chosen in product(*(range(len(support[P])) for support in supports)):
        weight = 1
        for support, at in zip(supports, chosen, strict=True):
            weight = weight * support[modulus][at][1] % modulus
        drawn = tuple(zip(entries, chosen, strict=True))
        for world, part in enumerate(_worlds(point, modulus)) if others else ((None, 1),):
            total += weight * part * point.value(of, modulus, {**places, _OUTCOME: (world, drawn)})
    return total % modulus


def _worlds(point: Point, modulus: int) -> list[int]:
    """Return the weights of a few outcomes, the same in every mean."""
    weights = [point.draw(("weight", outcome), modulus) for outcome in range(1, OUTCOMES)]
    return [*weights, (1 - sum(weights)) % modulus]


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
        # Of a law without a mean nothing is known of it: it is any number.
        raw += [Symbol(f"{base} {order}") for order in range(len(raw), 2)]
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
    inner = sympy.Integral(x.function, *before) if before else x.function
    key = tuple(str(end) if end.is_infinite else str(point.value(end, P, places)) for end in ends)
    total = 0
    for number in range(2):
        weight = point.draw(("weight", number, key), modulus)
        at = {**places, variable: point.draw(("at", number, key), modulus, variable)}
        total += weight * point.value(inner, modulus, at)
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


def _angle(point: Point, x: Any, modulus: int, places: Places) -> int:
    """By t = tan(x/2), so that sin² + cos² = 1; multiples of an angle are written out."""
    opened = sympy.expand_trig(x)
    if opened != x:
        return point.value(opened, modulus, places)
    half = point.draw(("tangent of half", point.value(x.args[0], P, places)), modulus)
    over = pow(1 + half * half, -1, modulus)
    return (1 - half * half if isinstance(x, sympy.cos) else 2 * half) * over % modulus


def _sign(point: Point, x: Any, modulus: int, places: Places) -> int:
    (of,) = x.args
    value = point.value(of, modulus, places)
    if value == 0:
        raise Redraw
    positive = pow(value, (modulus - 1) // 2, modulus) == 1
    if of.is_nonnegative and not positive:
        raise Redraw
    if isinstance(x, Indicator):
        return int(positive)
    direction = 1 if positive else -1
    return (direction * value if isinstance(x, Abs) else direction) % modulus


def _extreme(point: Point, x: Any, modulus: int, places: Places) -> int:
    """Max(x, y) is (x + y + |x - y|)/2; of more it would need an order, which residues do not have."""
    if len(x.args) != 2:
        raise Undecided(f"{type(x).__name__} of more than two has no exact arithmetic")
    first, second = x.args
    direction = 1 if isinstance(x, sympy.Max) else -1
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
    (of,) = x.args
    by_exp = None if isinstance(x, sympy.tan) else x.rewrite(exp)
    return point.value(by_exp or sympy.sin(of) / sympy.cos(of), modulus, places)


def _complement(point: Point, x: Any, modulus: int, places: Places) -> int:
    return point.value(x.rewrite(sympy.erf), modulus, places)


def _imaginary(point: Point, x: Any, modulus: int, places: Places) -> int:  # noqa: ARG001 - as all rules
    """Of i, any number, in exponents only: what needs i² = -1 is not decided."""
    if modulus == P:
        raise Undecided("i has exact arithmetic in exponents only")
    return point.draw("i", Q)


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
    sympy.Integral: _integral,
    **dict.fromkeys((sympy.sin, sympy.cos), _angle),
    **dict.fromkeys((sympy.tan, sympy.tanh, sympy.sinh, sympy.cosh), _rewritten),
    sympy.erfc: _complement,
    **dict.fromkeys((Abs, sympy.sign, Indicator), _sign),
    **dict.fromkeys((sympy.Max, sympy.Min), _extreme),
    **dict.fromkeys((sympy.gamma, sympy.factorial, sympy.binomial), _at_whole),
    sympy.KroneckerDelta: _delta,
    Largest: _largest,
    Quantile: _quantile,
    type(S.Pi): _constant,
    type(S.ImaginaryUnit): _imaginary,
    sympy.Function: _function,
}
"""How each kind of part is evaluated; a kind that is not here takes the rule of its nearest base class."""

_QUICK: dict[Any, _Rule] = {kind: RULES[kind] for kind in (Add, Mul, Indexed)}
"""What is evaluated in less time than it takes to look its value up."""


@lru_cache(maxsize=256)
def _rule(kind: Any) -> _Rule | None:
    return next((RULES[base] for base in kind.__mro__ if base in RULES), None)
