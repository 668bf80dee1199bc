"""Values of expressions at a point: in many digits, or in floats over all outcomes of all draws at once.

A mean and an integral are alike: both put an array of nodes in for what is drawn, or integrated over, along
an axis of its own, and add up with weights.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import lru_cache, reduce
from typing import Any

import mpmath
import numpy as np
import scipy
import sympy
from mpmath import mp
from sympy import exp, oo
from sympy.core.relational import Relational

from verify.errors import ClaimError
from verify.symbolic.row_integrals import mean_over_row
from verify.symbolic.evaluation import Evaluation, Numbers, Outcomes, Part, Supports, Undecided
from verify.symbolic.evaluation import outermost, part_of
from verify.symbolic.vocabulary import Family, Index, families_of

MOST, MOST_WITHIN, MOST_TERMS = 2000, 200, 3_000_000
"""The most outcomes that a mean is summed over, alone and within an integral, and terms of an integral."""

NOTHING = 1e-14
"""A number in floats that may be 0 but for rounding."""

DRAWS, BATCHES = 2000, 20
"""Draws of a mean that has more outcomes, and the parts of them that its error is estimated from."""

# Weights of the draws, a draw a row: in the mean of all, and in the means without each batch.
_SHARES = np.ones((DRAWS, BATCHES + 1))
_SHARES[:, 1:] -= np.repeat(np.eye(BATCHES), DRAWS // BATCHES, axis=0)
_SHARES /= _SHARES.sum(axis=0)

JOINT = np.array([0.5, 0.3, 0.2])
"""The chances of three outcomes, for families of which no law is assumed."""


class Point(Evaluation):
    """A point at which expressions are evaluated.

    ``values`` are of symbols and free indices. ``laws`` are of the families that are drawn; components of
    those ``fixed`` are numbers made from ``seed``, those of others have an arbitrary joint law. ``exact``
    says that numbers are mpmath's, in its digits at the time, without means and integrals; else NumPy's. A
    quadrature has fewer nodes where ``coarse``. With ``drawn``, a mean is an array: of all draws, and without
    each part of them; where rows are ``long``, it is an integral over one score. ``magnitude`` is the largest
    size of terms that were added.
    """

    def __init__(
        self,
        values: dict[Any, Any],
        laws: dict[Family, Any] | None = None,
        fixed: frozenset[Family] = frozenset(),
        seed: int = 1,
    ) -> None:
        counted = {x: int(value) for x, value in values.items() if x.is_integer and value == int(value)}
        super().__init__(
            {x: value for x, value in counted.items() if not isinstance(x, Index)}, laws or {}, math.inf
        )
        self.places = {x: value for x, value in counted.items() if isinstance(x, Index)}
        self.values, self.fixed, self.seed, self.exact = values, fixed, seed, True
        self.drawn, self.long, self.coarse, self.magnitude = False, False, False, 0.0
        self.given: dict[Any, Any] = {}
        self.ranges: dict[Family, tuple[bool, list[int]]] = {}

    product = staticmethod(operator.mul)

    def rational(self, part: Part) -> Numbers:
        """Return a number of SymPy's."""
        return _number(part, mp.dps if self.exact else 0)

    _on_number = _on_numbersymbol = _on_imaginaryunit = rational

    def _on_symbol(self, part: Part) -> Any:
        """Return the value of a symbol in the point's arithmetic; arrays stay."""
        value = self.values[part.x]
        if isinstance(value, sympy.Basic):
            return self.rational(part_of(value))
        return value if isinstance(value, np.ndarray) else self._number(value)

    def _number(self, value: Any) -> Any:
        """Return a number of Python's or mpmath's in the point's arithmetic."""
        if self.exact:
            return mp.mpmathify(value)
        return np.complex128(complex(value)) if isinstance(value, mpmath.mpc) else np.float64(float(value))

    # Sums, products and functions.

    def added(self, terms: Any) -> Any:
        """Return the sum of an array along its first axis; its size measures the loss where terms cancel."""
        size = float(np.abs(terms).sum(axis=0).max())
        self.magnitude = max(self.magnitude, size) if math.isfinite(size) else self.magnitude
        return terms.sum(axis=0)

    def _on_add(self, part: Part) -> Any:
        terms = [self.value(each) for each in part.args]
        if all(isinstance(term, float) for term in terms):
            size = sum(map(abs, terms))
            self.magnitude = max(self.magnitude, size) if math.isfinite(size) else self.magnitude
        return reduce(operator.add, terms)

    def _on_mul(self, part: Part) -> Any:
        """Return a product; in floats the exponents of exponentials are added first, as each may overflow."""
        exponents = [each.args[0] for each in part.args if each.kind is exp]
        if self.exact or len(exponents) < 2:
            return reduce(operator.mul, map(self.value, part.args))
        others = [self.value(each) for each in part.args if each.kind is not exp]
        return reduce(operator.mul, others, np.exp(reduce(operator.add, map(self.value, exponents))))

    def _on_pow(self, part: Part) -> Any:
        base, exponent = self.value(part.args[0]), part.x.exp
        if not self.exact and np.size(base) == 1 and exponent.is_negative and 0 < abs(base) < NOTHING:
            raise Undecided("a quotient by what rounding may have left of 0")
        if isinstance(exponent, sympy.Integer):
            return base ** int(exponent)
        if exponent is sympy.S.Half:
            return (mp if self.exact else np).sqrt(base)
        return base ** self.value(part.args[1])

    def _on_largest(self, part: Part) -> Any:
        of, key, first, last = outermost(part)
        values = []
        for place in range(first, self.whole(last) + 1):
            with self.having(places={**self.places, key: place}):
                values.append(self.value(of))
        return reduce(_larger, values)

    def _on_function(self, part: Part) -> Any:
        """Return a function of mpmath's; in floats NumPy's or SciPy's where they have it."""
        name, values = part.kind.__name__, map(self.value, part.args)
        if name in _OWN:
            return _OWN[name](*values)
        name = (_IN_DIGITS if self.exact else _IN_FLOATS).get(name, name)
        # SciPy's are loaded where they are needed, which takes a while.
        libraries = (mp,) if self.exact else (np, scipy.special)
        library = next((library for library in libraries if hasattr(library, name)), None)
        if library is None:
            raise Undecided(f"{name} is not evaluated")
        return getattr(library, name)(*values)

    _on_max = _on_min = _on_function

    # Components and means.

    def _on_indexed(self, part: Part) -> Any:
        places = []
        for index in part.args[1:]:
            place = self.places.get(index.x)
            place = place if isinstance(place, int) else self.value(index)
            places.append(place.astype(int) if isinstance(place, np.ndarray) else int(place))
        return self.components(part.x.base, *places)

    def components(self, family: Family, *places: Any) -> Any:
        """Return components at places, which are numbers or go along axes: outcomes, draws, given numbers."""
        if family not in self.ranges:
            is_free = family in self.laws and family not in self.fixed
            is_free = is_free and not any(key[0] == family for key in self.given)
            self.ranges[family] = is_free, [self.whole(size) for size in getattr(family, "ranges", ())]
        is_free, ranges = self.ranges[family]
        if is_free and self.rows is not None:
            # Their numbers go from 0 to the last place.
            if any(end > size + 1 for end, size in zip(self.rows[family].shape, ranges, strict=False)):
                raise Undecided(f"{family} has no such place")
            return self.in_outcomes(family, places)
        if any(isinstance(place, np.ndarray) for place in places):
            together = np.broadcast(*places)
            parts = [self.components(family, *map(int, each)) for each in together]
            shape = together.shape[: together.ndim - parts[0].ndim]
            return np.array(parts).reshape(*shape, *parts[0].shape)
        key, ends = (family, *places), zip(places, ranges, strict=False)
        if key not in self.given and not all(1 <= place <= size for place, size in ends):
            raise Undecided(f"{family} has no place {places}")
        if family in self.fixed or self.rows is None:
            # By seed they lie close to each other, coincide, or lie far from each other.
            apart = (1.0, 0.125, 0.0, 8.0)[self.seed % 4]
            self.given.setdefault(key, float(1 - apart // 1 % 2 + apart * _anything(self.seed, key)[0]))
        if key in self.given:
            return self._number(self.given[key])
        is_drawn = family in self.laws
        return self.in_outcomes(family, places) if is_drawn else _anything(self.seed + 1, key)[self.world]

    def _on_e(self, part: Part) -> Any:
        """Return the mean of a part over all outcomes of the components in it, or over draws of them."""
        (of,) = part.args
        if self.exact or (self.drawn and self.rows is not None):
            raise Undecided("a mean, here")
        if self.long:
            (family,) = families_of(of.x)
            law = self.laws[family]
            if not law.normal or law.centres[0]:
                raise Undecided("scores that are not centred and normal")
            mean = mean_over_row(of.x, lambda x: float(self.value(part_of(x))), law.spreads[0])
            if not mean.error <= 1e-9 * max(abs(mean.value), 1):
                raise Undecided("an integral that is not known well enough")
            return mean.value
        weights, values = self.over_outcomes(
            of, has_world=bool(families_of(of.x) - set(self.laws) - self.fixed)
        )
        terms = weights * values
        if not np.isfinite(terms).all():
            raise Undecided("an outcome without a value")
        if self.drawn:
            # An event that all draws meet, or none, has a share near 1 or 0; how near is not seen.
            sizes = np.abs(terms[..., 0])
            if sizes.max() >= sizes.sum() / 25 or (np.size(values) > 1 and np.ptp(values) == 0):
                raise Undecided("draws of which few count, or which are alike")
        return self.added(terms)

    def outcomes(self, entries: list[Any], *, has_world: bool) -> Outcomes:
        """Return weights, values and worlds of all outcomes; of draws, each is an outcome."""
        if not self.drawn:
            return super().outcomes(entries, has_world=has_world)
        # An entry has the same draws in all means of a point.
        draws = [_draws_of(self.laws[entry[0]], self.seed + 2, entry) for entry in entries]
        joint = np.random.default_rng(self.seed + 3).choice(len(JOINT), DRAWS, p=JOINT)
        beside = (1,) * (self.depth - 1)
        table = np.array(draws).reshape(len(draws), DRAWS, *beside, 1)
        world = joint.reshape(DRAWS, *beside, 1) if has_world else None
        return _SHARES.reshape(DRAWS, *beside, -1), lambda _: table, world

    def supports_of(self, bases: list[Any]) -> Supports:
        """Return values and weights of an entry of each family, by the rule of its law."""
        drawn = [base for base in bases if base is not None]
        most = (MOST_WITHIN if self.depth > 1 else MOST) // (len(JOINT) if None in bases else 1)
        rules = {base: self.laws[base].rule(len(drawn), most, coarse=self.coarse) for base in drawn}
        rules |= {None: (np.arange(len(JOINT)), JOINT)} if None in bases else {}
        if math.prod(len(rules[base][1]) for base in bases) > MOST:
            raise Undecided("too many outcomes")
        return {base: (nodes[:, None], weights[:, None]) for base, (nodes, weights) in rules.items()}

    # Integrals.

    def _on_integral(self, part: Part) -> Any:
        """Return an integral, by the double exponential rule; infinite where it grows without end."""
        # Source: H. Takahasi and M. Mori, Double Exponential Formulas for Numerical Integration, Publications
        # of RIMS 9 (1974), 721-741.
        if self.exact:
            raise Undecided("an integral, in many digits")
        function, variable, low, high = outermost(part)
        step = 1 / 16 if self.coarse else 1 / 32
        u = np.arange(-4.5, 4.5 + step / 2, step).reshape(-1, *(1,) * self.depth)
        path, slope = np.pi / 2 * np.sinh(u), np.pi / 2 * np.cosh(u) * step
        if (low, high) == (-oo, oo):
            # Either side by itself, as there may be a kink at 0.
            x, slope = np.exp(path), np.exp(path) * slope
            x, slope = np.concatenate([-x[::-1], x]), np.concatenate([slope[::-1], slope])
        elif oo in {high, -low}:
            end, side = (low, 1) if high == oo else (high, -1)
            x, slope = self.value(part_of(end)) + side * np.exp(path), np.exp(path) * slope
        else:
            start = self.value(part_of(low))
            width = self.value(part_of(high)) - start
            x, slope = start + width / (1 + np.exp(-2 * path)), width * slope / (2 * np.cosh(path) ** 2)
        with self.having(known={}, values={**self.values, variable: x}, depth=self.depth + 1):
            terms = self.value(function) * slope
        if np.size(terms) > MOST_TERMS:
            raise Undecided("an integral of too many terms")
        # Where floats overflow beside a negligible factor, the terms are 0.
        bad = ~np.isfinite(terms)
        sizes = np.abs(np.where(bad, 0, terms))
        beside = np.zeros(bad.shape, dtype=bool)
        beside[1:] |= bad[:-1]
        beside[:-1] |= bad[1:]
        if not np.any(sizes[beside] > 1e-20 * sizes.max()):
            terms = np.where(bad, 0, terms)
        elif np.any(terms[bad] != np.inf):
            raise Undecided("an integral that overflows")
        # Of the terms that belong to the largest.
        row = sizes.reshape(len(sizes), -1)[:, np.argmax(sizes.max(axis=0))]
        if np.isfinite(terms).all() and row.sum() <= 1.001 * row.max():
            raise Undecided("an integral of a peak between the nodes, or of nothing")
        return self.added(terms)


def _larger(x: Any, y: Any) -> Any:
    return max(x, y) if isinstance(x, mpmath.mpf) and isinstance(y, mpmath.mpf) else np.maximum(x, y)


_OWN: dict[str, Callable[..., Any]] = {
    "Abs": abs,
    "Max": lambda *values: reduce(_larger, values),
    "Min": lambda *values: -reduce(_larger, map(operator.neg, values)),
    "Indicator": lambda x: (x > 0) * 1.0,
    "KroneckerDelta": lambda x, y: operator.eq(x, y) * 1.0,
}
_IN_FLOATS = {"loggamma": "gammaln", "ceiling": "ceil"} | {f"bessel{x}": f"{x}v" for x in "kij"}
_IN_DIGITS = {"polygamma": "psi", "ceiling": "ceil"}
"""Functions that are not those of a library by their name, and names that NumPy, SciPy and mpmath have."""


def _seed(seed: int, key: tuple[Any, ...]) -> tuple[int, ...]:
    return seed, *" ".join([key[0].name, *map(str, key[1:])]).encode()


_draws_of = lru_cache(maxsize=512)(lambda law, seed, key: law.draws(_seed(seed, key), DRAWS))


@lru_cache(maxsize=2**16)
def _anything(seed: int, key: tuple[Any, ...]) -> Any:
    """Return three numbers of a component, of which no law is known."""
    return np.random.default_rng(_seed(seed, key)).integers(-300, 300, len(JOINT)) / 128


@lru_cache(maxsize=2**14)
def _number(part: Part, digits: int) -> Any:
    """Return a number of SymPy's in so many digits; without digits in floats."""
    if not part.x.is_finite:
        raise Undecided("no number")
    if digits:
        return sympy.N(part.x, digits + 5)._to_mpmath(mp.prec + 16)
    return np.float64(float(part.x)) if part.x.is_real else np.complex128(complex(part.x))


def evaluated(expression: Any, point: Point) -> Any:
    """Return the value of an expression at a point: a number, which may be infinite, or an array of draws.

    Raises:
        Undecided: it has none.
    """
    try:
        value = point.value(part_of(expression))
    except (ArithmeticError, AttributeError, ClaimError, LookupError, TypeError, ValueError) as error:
        raise Undecided(f"{type(error).__name__}: {error}") from error
    if isinstance(value, mpmath.mpc) and abs(value.imag) <= mp.mpf(10) ** (8 - mp.dps) * abs(value.real):
        value = value.real
    is_number = isinstance(value, mpmath.mpf | mpmath.mpc)
    if not (mp.isfinite(value) if is_number else not np.isnan(value).any()):
        raise Undecided("no value")
    return value.reshape(()).item() if isinstance(value, np.ndarray) and value.size == 1 else value


def holds(condition: Any, point: Point) -> bool:
    """Return whether a relation holds at a point.

    Raises:
        Undecided: a side has no value there.
    """
    if not isinstance(condition, Relational):
        return bool(condition)
    sides = evaluated(condition.lhs, point), evaluated(condition.rhs, point)
    # Of draws, the mean of all comes first.
    left, right = (side[0] if isinstance(side, np.ndarray) else side for side in sides)
    tiny = min(mp.mpf(10) ** (-mp.dps // 2), 1e-13) if point.exact else 1e-13
    same = bool(abs(left - right) <= tiny * max(abs(left), abs(right), 1e-9 if point.exact else 1))
    if isinstance(condition, sympy.Eq | sympy.Ne):
        return same == isinstance(condition, sympy.Eq)
    if same:
        return condition.rel_op in {"<=", ">="}
    return bool((left < right) == ("<" in condition.rel_op))
