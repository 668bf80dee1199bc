"""Values of expressions at a point: in many digits, or in floats over all outcomes of all draws at once.

A mean and an integral are alike: both put an array of nodes in for what is drawn, or integrated over, along
an axis of its own, and add up with weights.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import lru_cache, partial, reduce
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import scipy
import sympy
from mpmath import mp
from sympy import Add, Mul, Sum, exp, oo
from sympy.core.relational import Relational

from verify.errors import ClaimError
from verify.symbolic import vocabulary as of
from verify.symbolic.row_means import mean_over_row
from verify.symbolic.evaluation import Evaluation, Numbers, Rule, Undecided, definition_of
from verify.symbolic.vocabulary import Family, Index, families_of, range_of

if TYPE_CHECKING:
    from verify.symbolic.laws import NumericLaw

MOST, MOST_WITHIN, MOST_TERMS = 8_000, 200, 3_000_000
"""The most outcomes that a mean is summed over, alone and within an integral, and terms of an integral."""

NOTHING = 1e-14
"""A number in floats that may be 0 but for rounding."""

DRAWS, BATCHES = 4000, 50
"""Draws of a mean that has more outcomes, and the parts of them that its error is estimated from."""

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
        laws: dict[Family, NumericLaw] | None = None,
        fixed: frozenset[Family] = frozenset(),
        seed: int = 1,
        *,
        exact: bool = True,
        budget: float = math.inf,
    ) -> None:
        counted = {x: int(value) for x, value in values.items() if x.is_integer and value == int(value)}
        super().__init__(
            {x: value for x, value in counted.items() if not isinstance(x, Index)}, laws or {}, budget
        )
        self.places = {x: value for x, value in counted.items() if isinstance(x, Index)}
        self.rules = RULES
        self.values, self.fixed, self.seed, self.exact = values, fixed, seed, exact
        self.drawn, self.long, self.coarse, self.magnitude, self.draws_at = False, False, 0, 0.0, 0
        self.given: dict[Any, Any] = {}
        self.ranges: dict[Family, list[int]] = {}

    def rational(self, x: Any, modulus: int = 0) -> Numbers:  # noqa: ARG002  # there is no prime
        """Return a rational number of SymPy's."""
        return mp.mpf(x.p) / x.q if self.exact else _as_float(x)

    def number(self, value: Any) -> Any:
        """Return a number in the point's arithmetic; arrays stay."""
        if isinstance(value, sympy.Rational):
            return self.rational(value)
        if self.exact:
            return mp.mpmathify(value)
        if isinstance(value, np.ndarray | np.float64):
            return value
        return np.complex128(complex(value)) if isinstance(value, mpmath.mpc) else np.float64(float(value))

    def goes_by_terms(self, x: Any) -> bool:
        """Return whether terms are no arrays, or means over entries of their own."""
        return self.exact or super().goes_by_terms(x)

    def component(self, family: Family, *places: int) -> Any:
        """Return a component of a family: a draw, an outcome, or any number where it is given."""
        key = (family, *places)
        if key in self.known:
            return self.known[key]
        if family not in self.ranges:
            self.ranges[family] = [self.whole(size) for size in getattr(family, "ranges", ())]
        is_place = all(1 <= at <= size for at, size in zip(places, self.ranges[family], strict=False))
        if not is_place and key not in self.given:
            raise Undecided(f"{family} has no place {places}")
        if family in self.fixed or (self.outcomes is None and not self.draws_at):
            # By seed they lie close to each other, coincide, or lie far from each other.
            apart = (1.0, 0.125, 0.0, 8.0)[self.seed % 4]
            self.given.setdefault(key, float(1 - apart // 1 % 2 + apart * _anything(self.seed, key)[0]))
        if key in self.given:
            value = self.number(self.given[key])
        elif self.outcomes is not None:
            value = self.outcome(key) if family in self.laws else _anything(self.seed + 1, key)[self.world]
        else:
            joint = _rng(self.seed + 3, ()).choice(len(JOINT), DRAWS, p=JOINT)
            law = self.laws.get(family)
            draws = _draws_of(law, self.seed + 2, key) if law else _anything(self.seed + 1, key)[joint]
            value = draws.reshape(-1, *(1,) * self.draws_at)
        self.known[key] = value
        return value

    def call(self, name: str, *arguments: Any) -> Any:
        """Return a function of numbers or arrays, by its name in mpmath."""
        function = getattr(mp, name)
        if self.exact:
            return function(*arguments)
        if name in _FLOATS:
            return _FLOATS[name](*arguments)
        if name in _SPECIAL:
            return getattr(scipy.special, _SPECIAL[name])(*arguments)
        number = complex if any(map(np.iscomplexobj, arguments)) else float
        with mp.workdps(15):
            return np.vectorize(lambda *numbers: self.number(function(*map(number, numbers))))(*arguments)

    def added(self, terms: Any) -> Any:
        """Return the sum of an array along its first axis; its size measures the loss where terms cancel."""
        size = float(np.abs(terms).sum(axis=0).max())
        self.magnitude = max(self.magnitude, size) if math.isfinite(size) else self.magnitude
        return terms.sum(axis=0)

    # Means.

    def mean(self, x: Any) -> Any:
        """Return the mean of x over all outcomes of the components in it, or over draws of them."""
        if self.exact or self.draws_at:
            raise Undecided("a mean, here")
        if self.long:
            (family,) = families_of(x)
            law = self.laws[family]
            if not law.normal or law.centres[0]:
                raise Undecided("scores that are not centred and normal")
            mean = mean_over_row(x, lambda part: float(self.value(part)), law.spreads[0])
            if not mean.error <= 1e-9 * max(abs(mean.value), 1):
                raise Undecided("an integral that is not known well enough")
            return mean.value
        if self.drawn:
            with self.having(draws_at=self.depth, depth=self.depth + 1):
                values = np.broadcast_to(self.value(x), (DRAWS, *(1,) * self.draws_at))
            sizes = np.abs(values)
            if sizes.max() >= sizes.sum() / 50:
                raise Undecided("draws of which few count, or none")
            # The mean of all, and without each part: along the last axis, as points are.
            parts = values.reshape(BATCHES, -1).mean(axis=1)
            return np.append(parts.mean(), (parts.sum() - parts) / (BATCHES - 1))
        has_world = bool(families_of(x) - set(self.laws) - self.fixed)
        weights, values = self.over_outcomes(x, has_world=has_world)
        terms = weights * values
        if not np.isfinite(terms).all():
            raise Undecided("an outcome without a value")
        return self.added(terms)

    def rules_of(self, bases: list[Any]) -> list[tuple[int, Rule]]:
        """Return the number of outcomes, and their values and weights, of an entry of each family."""
        drawn = [base for base in bases if base is not None]
        most = (MOST_WITHIN if self.depth > 1 else MOST) // (len(JOINT) if None in bases else 1)
        columns = [self.laws[base].rule(len(drawn), most, self.coarse) for base in drawn]
        columns += [(np.arange(len(JOINT)), JOINT)] if None in bases else []
        if math.prod(len(weights) for _, weights in columns) > MOST:
            raise Undecided("too many outcomes")

        def counted(nodes: Any, weights: Any) -> tuple[int, Rule]:
            return len(weights), lambda _: (nodes[:, None], weights[:, None])

        return [counted(*column) for column in columns]

    # Integrals.

    def integral(self, integral: Any) -> Any:
        """Return an integral, by the double exponential rule; infinite where it grows without end."""
        if self.exact:
            raise Undecided("an integral, in many digits")
        *inner, (variable, low, high) = integral.limits
        function = sympy.Integral(integral.function, *inner) if inner else integral.function
        ends = [(-oo, sympy.S.Zero), (sympy.S.Zero, oo)] if (low, high) == (-oo, oo) else [(low, high)]
        parts = [self._integrated(function, variable, *both) for both in ends]
        if not any(map(np.any, parts)):
            raise Undecided("an integral of nothing, or of a peak between the nodes")
        return reduce(operator.add, parts)

    def _integrated(self, function: Any, variable: Any, low: Any, high: Any) -> Any:
        # Source: H. Takahasi and M. Mori, Double Exponential Formulas for Numerical Integration, Publications
        # of RIMS 9 (1974), 721-741.
        step = 1 / 16 if self.coarse else 1 / 32
        u = np.arange(-4.5, 4.5 + step / 2, step).reshape(-1, *(1,) * self.depth)
        path, slope = np.pi / 2 * np.sinh(u), np.pi / 2 * np.cosh(u) * step
        if oo in {high, -low}:
            end, side = (low, 1) if high == oo else (high, -1)
            x, slope = self.value(end) + side * np.exp(path), np.exp(path) * slope
        else:
            start, width = self.value(low), self.value(high) - self.value(low)
            x, slope = start + width / (1 + np.exp(-2 * path)), width * slope / (2 * np.cosh(path) ** 2)
        with self.having(values={**self.values, variable: x}, depth=self.depth + 1):
            terms = self.value(function) * slope
        if np.size(terms) > MOST_TERMS:
            raise Undecided("an integral of too many terms")
        # Where floats overflow beside a negligible factor, the terms are 0.
        bad = ~np.isfinite(terms)
        sizes = np.where(bad, 0.0, np.abs(np.where(bad, 0, terms)))
        beside = np.zeros(bad.shape, dtype=bool)
        beside[1:] |= bad[:-1]
        beside[:-1] |= bad[1:]
        if not np.any(sizes[beside] > 1e-20 * sizes.max()):
            terms = np.where(bad, 0, terms)
        elif np.any(terms[bad] != np.inf):
            raise Undecided("an integral that overflows")
        top, *rest = np.unravel_index(np.argmax(np.abs(terms)), terms.shape)
        near_top = np.abs(terms[(slice(max(top - 1, 0), top + 2), *rest)])
        if np.sum(near_top) < 1.001 * np.max(near_top):
            raise Undecided("an integral of a peak between the nodes")
        # A dozen terms of either sign that count: an oscillation goes on between the nodes.
        signs = np.where(np.abs(terms) > 1e-3 * np.max(np.abs(terms), axis=0), np.sign(np.real(terms)), 0)
        turns = signs[1:] * signs[:-1] < 0
        return np.where(np.sum(turns[1:] & turns[:-1], axis=0) >= 12, np.nan, self.added(terms))


def _rng(seed: int, key: Any) -> np.random.Generator:
    return np.random.default_rng([seed, *" ".join(map(str, key)).encode()])


_draws_of = lru_cache(maxsize=512)(lambda law, seed, key: law.draws(_rng(seed, key), DRAWS))
_anything = lru_cache(maxsize=2**16)(lambda seed, key: _rng(seed, key).integers(-300, 300, len(JOINT)) / 128)
"""Returns three numbers of a component, of which no law is known."""


# ---- the value of each kind of part ----------------------------------------------------------------------


_as_float = lru_cache(maxsize=2**14)(lambda number: np.float64(float(number)))


def _constant(point: Point, number: Any, _: int) -> Any:
    if not number.is_finite:
        raise Undecided("no number")
    return point.number(sympy.N(number, mp.dps + 5)._to_mpmath(mp.prec + 16))


def _add(point: Point, x: Any, _: int) -> Any:
    terms = [point.value(part) for part in x.args]
    if all(isinstance(term, float) for term in terms):
        size = sum(map(abs, terms))
        point.magnitude = max(point.magnitude, size) if math.isfinite(size) else point.magnitude
    return reduce(operator.add, terms)


@lru_cache(maxsize=2**14)
def _exponents(product: Any) -> tuple[list[Any], list[Any]]:
    """Return the exponents of the exponentials in a product, and its other factors."""
    exponentials = [part for part in product.args if isinstance(part, exp)]
    return [part.args[0] for part in exponentials], [x for x in product.args if x not in exponentials]


def _mul(point: Point, x: Any, _: int) -> Any:
    """Return a product; in floats the exponents of exponentials are added first, as each may overflow."""
    exponents, others = _exponents(x)
    if point.exact or len(exponents) < 2:
        return reduce(operator.mul, map(point.value, x.args))
    together = np.exp(reduce(operator.add, map(point.value, exponents)))
    return reduce(operator.mul, map(point.value, others), together)


def _power(point: Point, x: Any, _: int) -> Any:
    base, exponent = point.value(x.base), x.exp
    if not point.exact and np.size(base) == 1 and exponent.is_negative and 0 < abs(base) < NOTHING:
        raise Undecided("a quotient by what rounding may have left of 0")
    if isinstance(exponent, sympy.Integer):
        return base ** int(exponent)
    return point.call("sqrt", base) if exponent is sympy.S.Half else base ** point.value(exponent)


def _larger(x: Any, y: Any) -> Any:
    return max(x, y) if isinstance(x, mpmath.mpf) and isinstance(y, mpmath.mpf) else np.maximum(x, y)


def _largest(point: Point, x: Any, _: int) -> Any:
    scores, key = x.args
    values = []
    for place in range(1, point.whole(range_of(scores, key)) + 1):
        with point.at(key, place):
            values.append(point.value(scores))
    return reduce(_larger, values)


_FLOATS: dict[str, Callable[..., Any]] = {
    **{x: getattr(np, x) for x in ("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt")},
    "atan": np.arctan,
}

# SciPy's functions by their names there: they take a while to be loaded, and few lines have them.
_SPECIAL = {x: x for x in ("erf", "erfc", "gamma")} | {f"bessel{x}": f"{x}v" for x in "kij"}
_SPECIAL |= {"loggamma": "gammaln"}


def _function(point: Point, x: Any, _: int) -> Any:
    """Return a function of mpmath's; in floats NumPy's or SciPy's where they have it."""
    name = {"polygamma": "psi", "ceiling": "ceil"}.get(x.func.__name__, x.func.__name__)
    if not hasattr(mp, name):
        raise Undecided(f"{name} is not evaluated")
    return point.call(name, *map(point.value, x.args))


RULES: dict[Any, Callable[[Any, Any, int], Any]] = {
    sympy.Symbol: lambda point, symbol, _: point.number(point.values[symbol]),
    sympy.Number: _constant,
    sympy.NumberSymbol: _constant,
    sympy.core.numbers.ImaginaryUnit: lambda point, *_: mp.j if point.exact else 1j,
    Add: _add,
    Mul: _mul,
    sympy.Pow: _power,
    sympy.Abs: lambda point, x, _: abs(point.value(x.args[0])),
    sympy.sign: lambda point, x, _: (mp if point.exact else np).sign(point.value(x.args[0])),
    sympy.Max: lambda point, x, _: reduce(_larger, map(point.value, x.args)),
    sympy.Min: lambda point, x, _: -reduce(_larger, (-point.value(part) for part in x.args)),
    Sum: Point.total,
    sympy.Integral: lambda point, x, _: point.integral(x),
    sympy.KroneckerDelta: lambda point, x, _: (
        (point.value(x.args[0]) == point.value(x.args[1])) * point.number(1)
    ),
    sympy.Indexed: lambda point, x, _: point.at_places(
        [point.value(index) for index in x.indices], partial(point.component, x.base)
    ),
    of.E: lambda point, x, _: point.mean(x.args[0]),
    **dict.fromkeys(
        (of.Var, of.Cov, of.Dot, of.Softmax, of.Entropy, of.LogSumExp),
        lambda point, x, _: point.value(definition_of(x)),
    ),
    of.Largest: _largest,
    of.Indicator: lambda point, x, _: (point.value(x.args[0]) > 0) * point.number(1),
    sympy.Function: _function,
}
"""How each kind of part is evaluated, as in ``points``."""


def evaluated(expression: Any, point: Point) -> Any:
    """Return the value of an expression at a point: a number, which may be infinite, or an array of draws.

    Raises:
        Undecided: it has none.
    """
    try:
        with np.errstate(all="ignore"):
            value = point.value(expression)
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
