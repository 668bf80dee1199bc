"""What an expression is at a point: in many digits, or in floats over all outcomes of what is drawn at once.

A ``Point`` goes through an expression node by node. A mean and an integral are alike: both put an array of
nodes in for what is random, or for what is integrated over, along an axis of its own, and add up with weights.
Nothing here knows what is true; ``refutation`` compares what two sides come to.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, reduce
from typing import Any, Literal

import mpmath
import numpy as np
import sympy
from mpmath import mp
from scipy import special
from sympy import Indexed, Integer, oo

from verify.errors import ClaimError
from verify.symbolic import vocabulary
from verify.symbolic.laws import NumericLaw
from verify.symbolic.vocabulary import Family, Index

MOST = 20_000
"""The most outcomes that a mean is summed over."""

DRAWS, BATCHES = 4000, 50
"""Draws of a mean that has more outcomes, and the parts of them that its error is found from."""

_JOINT = (0.5, 0.3, 0.2)
"""The chances of three outcomes, for families of which no law is assumed."""


class NotEvaluated(Exception):  # noqa: N818  # no error: another point may do
    """An expression has no value at a point, or none that is found here."""


@dataclass
class Point:
    """A point at which expressions are evaluated.

    ``values`` are of symbols and free indices. ``laws`` are of the families that are drawn; entries of the
    families ``fixed`` are numbers made from ``seed``, those of others have an arbitrary joint law. ``exact``
    says whether numbers are mpmath's, in its digits at the time. A quadrature is taken with fewer nodes where
    ``coarse``. With ``drawn``, means are of draws, an array: over all of them, and without each part.
    """

    values: dict[Any, Any]
    laws: dict[Family, NumericLaw] = field(default_factory=dict)
    fixed: frozenset[Family] = frozenset()
    seed: int = 1
    exact: bool = True
    coarse: bool = False
    drawn: bool = False
    work: float = math.inf
    depth: int = 0
    entries: dict[Any, Any] = field(default_factory=dict)
    numbers: dict[Any, Any] = field(default_factory=dict)
    memo: dict[Any, Any] = field(default_factory=dict)
    magnitude: float = 0.0
    nodes: int = 0

    def value(self, expression: Any) -> Any:
        """Return the value of an expression.

        Raises:
            NotEvaluated: it has none, or too many outcomes, or the point's ``work`` is used up.
        """
        if expression in self.values:
            return self.number(self.values[expression])
        self.work -= 1 if self.exact or self.depth == 0 else 1 + MOST / 5000
        if self.work < 0:
            raise NotEvaluated("too much work")
        handler = _handler(type(expression))
        if handler is None:
            raise NotEvaluated(f"{type(expression).__name__} is not evaluated")
        return handler(self, expression)

    def number(self, value: Any) -> Any:
        """Return a number or array as one of the point's arithmetic."""
        if isinstance(value, np.ndarray | mpmath.mpf | mpmath.mpc | np.floating):
            return value if self.exact or isinstance(value, np.ndarray | np.floating) else _float(value)
        if isinstance(value, int):
            return mp.mpf(value) if self.exact else np.float64(value)
        rational = sympy.Rational(value) if not isinstance(value, complex) else None
        if rational is None:
            return mp.mpc(value) if self.exact else np.complex128(value)
        return mp.mpf(rational.p) / rational.q if self.exact else np.float64(float(rational))

    def whole(self, expression: Any) -> int:
        """Return the value of a size or an index."""
        if isinstance(expression, Integer):
            return int(expression)
        if type(self.values.get(expression)) is int:
            return int(self.values[expression])
        value = self.value(expression)
        if np.ndim(value) or abs(value - round(float(value))) > 1e-9:
            raise NotEvaluated(f"{expression} is no whole number")
        return round(float(value))

    @contextmanager
    def having(self, symbol: Any, value: Any) -> Iterator[None]:
        """Give a symbol or index another value for a while."""
        before = self.values.get(symbol)
        self.values[symbol] = value
        try:
            yield
        finally:
            if before is None:
                del self.values[symbol]
            else:
                self.values[symbol] = before

    @contextmanager
    def deeper(self, entries: dict[Any, Any]) -> Iterator[None]:
        """Go one axis further in, with entries of families that lie along it."""
        before = self.memo, self.entries
        self.memo, self.entries, self.depth = {}, {**self.entries, **entries}, self.depth + 1
        try:
            yield
        finally:
            self.memo, self.entries = before
            self.depth -= 1

    def entry(self, family: Family, places: tuple[int, ...]) -> Any:
        """Return a component of a family."""
        if any(not 1 <= place <= size for place, size in zip(places, self.shape(family), strict=True)):
            raise NotEvaluated(f"{family} has no place {places}")
        key = (family, *places)
        if key in self.entries:
            return self.entries[key]
        if self.drawn and family not in self.fixed:
            self.entries[key] = self._draws(key)
            return self.entries[key]
        if key not in self.numbers:
            self.numbers[key] = _rng(self.seed, key).integers(-300, 300) / 128
        return self.number(self.numbers[key])

    def shape(self, family: Family) -> list[int]:
        """Return the sizes of a family's ranges."""
        if ("shape", family) not in self.memo:
            self.memo["shape", family] = [self.whole(size) for size in getattr(family, "ranges", ())]
        shape: list[int] = self.memo["shape", family]
        return shape

    def row(self, x: Any, key: Index) -> list[Any]:
        """Return x for every key."""
        state = (x, key, *(self.values.get(index) for index in _indices(x) if index != key))
        if state not in self.memo:
            row = []
            for place in range(1, self.whole(vocabulary.range_of(x, key)) + 1):
                with self.having(key, place):
                    row.append(self.value(x))
            self.memo[state] = row
        keys: list[Any] = self.memo[state]
        return keys

    def total(self, x: Any, key: Index) -> Any:
        """Return the logarithm of the sum of exponentials."""
        state = ("total", x, key, *(self.values.get(index) for index in _indices(x) if index != key))
        if state not in self.memo:
            row = self.row(x, key)
            most = reduce(np.maximum, row) if not self.exact else 0
            exponentials = [self.call("exp", each - most) for each in row]
            self.memo[state] = most + self.call("log", reduce(operator.add, exponentials))
        return self.memo[state]

    def call(self, name: str, *arguments: Any) -> Any:
        """Return a function of numbers or arrays, by its name in mpmath."""
        if not self.exact and name in _FLOATS and not any(map(np.iscomplexobj, arguments)):
            return _FLOATS[name](*arguments)
        function = getattr(mp, name)
        if any(isinstance(each, np.ndarray) for each in arguments):
            values = np.frompyfunc(function, len(arguments), 1)(*arguments)
            return values if self.exact else values.astype(complex if "j" in str(values.flat[0]) else float)
        value = function(*arguments)
        return value if self.exact else _float(value)

    def mean(self, x: Any) -> Any:
        """Return the mean of x over all outcomes of the components in it, or over draws of them."""
        if self.drawn:
            return self._mean_of_draws(x)
        entries, weights = self._outcomes(self._touched(x))
        with self.deeper({key: self._along(nodes) for key, nodes in entries.items()}):
            terms = self.value(x)
        return self._added(terms * self._along(weights), self._along(weights))

    def _along(self, nodes: Any) -> Any:
        return np.asarray(nodes).reshape(-1, *(1,) * self.depth)

    def _added(self, terms: Any, weights: Any) -> Any:
        del weights
        if not self.exact:
            size = np.max(np.sum(np.abs(terms), axis=0))
            self.magnitude = max(self.magnitude, float(size)) if np.isfinite(size) else self.magnitude
        return np.sum(terms, axis=0)

    def _touched(self, x: Any) -> list[Any]:
        """Return the components that x is made of, by evaluating it once at any numbers."""
        trial = Point(dict(self.values), fixed=self.fixed, exact=False, work=self.work)
        trial.entries = {key: np.float64(0.5) for key in self.entries}
        trial.values = {
            symbol: np.float64(1.5) if isinstance(value, np.ndarray) else value
            for symbol, value in self.values.items()
        }
        trial.laws = self.laws
        trial.value(x)
        self.work = trial.work
        return [key for key in trial.numbers if key[0] not in self.fixed]

    def _outcomes(self, keys: list[Any]) -> tuple[dict[Any, Any], Any]:
        """Return arrays of what components are in every outcome, and the chances of the outcomes.

        Raises:
            NotEvaluated: there are too many.
        """
        drawn = [key for key in keys if key[0] in self.laws]
        joint = [key for key in keys if key[0] not in self.laws]
        most = (MOST if self.depth == 0 else 200) // (len(_JOINT) if joint else 1)
        rules = [self.laws[key[0]].rule(len(drawn), most, self.coarse, self.exact) for key in drawn]
        axes = [nodes for nodes, _ in rules]
        chances = [weights for _, weights in rules]
        if joint:
            axes.append(np.arange(len(_JOINT)))
            chances.append(np.array([self.number(sympy.Rational(str(chance))) for chance in _JOINT]))
        sizes = [len(axis) for axis in axes]
        if math.prod(sizes) > MOST:
            raise NotEvaluated("too many outcomes")
        self.nodes = max(self.nodes, math.prod(sizes))
        places = np.indices(sizes).reshape(len(sizes), -1) if sizes else np.zeros((0, 1), int)
        weights = reduce(
            operator.mul, (chance[at] for chance, at in zip(chances, places, strict=True)), np.ones(1)
        )
        entries = {key: axes[axis][places[axis]] for axis, key in enumerate(drawn)}
        for key in joint:
            values = _rng(self.seed + 1, key).integers(-300, 300, len(_JOINT)) / 128
            entries[key] = np.array([self.number(value) for value in values.tolist()])[places[-1]]
        return entries, weights

    def _draws(self, key: Any) -> Any:
        rng = _rng(self.seed + 2, key)
        if key[0] in self.laws:
            return self.laws[key[0]].draws(rng, DRAWS)
        outcome = _rng(self.seed + 3, ()).choice(len(_JOINT), size=DRAWS, p=_JOINT)
        return (rng.integers(-300, 300, len(_JOINT)) / 128)[outcome]

    def _mean_of_draws(self, x: Any) -> Any:
        if self.depth:
            raise NotEvaluated("draws within a mean or an integral")
        if ("draws", x) not in self.memo:
            self.depth += 1
            try:
                values = np.broadcast_to(self.value(x), (DRAWS,))
            finally:
                self.depth -= 1
            parts = values.reshape(BATCHES, -1).mean(axis=1)
            without = (parts.sum() - parts) / (BATCHES - 1)
            self.memo["draws", x] = np.concatenate([[parts.mean()], without])
        return self.memo["draws", x]

    def integral(self, function: Any, variable: Any, low: Any, high: Any) -> Any:
        """Return an integral, by the double exponential rule; infinite where it grows without end."""
        if self.exact:
            raise NotEvaluated("an integral, in floats alone")
        if low == -oo and high == oo:
            halves = ((-oo, Integer(0)), (Integer(0), oo))
            return sum(self.integral(function, variable, *ends) for ends in halves)
        step = 1 / 16 if self.coarse else 1 / 32
        u = np.arange(-4.5, 4.5 + step / 2, step)
        x, slope = self._path(low, high, self._along(u))
        with self.deeper({}), self.having(variable, x):
            terms = self.value(function) * slope * step
        if np.size(terms) > 3_000_000:
            raise NotEvaluated("an integral of too many terms")
        return self._added(_without_overflow(terms), slope)

    def _path(self, low: Any, high: Any, u: Any) -> tuple[Any, Any]:
        """Return the double exponential path from one end to the other, and its slope."""
        inner, slope = np.pi / 2 * np.sinh(u), np.pi / 2 * np.cosh(u)
        if oo in {high, -low}:
            end, side = (low, 1) if high == oo else (high, -1)
            return self.value(end) + side * np.exp(inner), np.exp(inner) * slope
        start, width = self.value(low), self.value(high) - self.value(low)
        share = special.expit(2 * inner)
        return start + width * share, width * 2 * share * special.expit(-2 * inner) * slope


def _without_overflow(terms: Any) -> Any:
    """Return the terms of an integral with 0 where floats overflow, if those beside are negligible."""
    bad = ~np.isfinite(terms)
    if not bad.any():
        return terms
    sizes = np.where(bad, 0.0, np.abs(np.where(bad, 0, terms)))
    beside = np.zeros(bad.shape, dtype=bool)
    beside[1:] |= bad[:-1]
    beside[:-1] |= bad[1:]
    if not np.any(sizes[beside] > 1e-20 * sizes.max()):
        return np.where(bad, 0, terms)
    if np.all(terms[bad] == np.inf):
        return terms
    raise NotEvaluated("an integral that overflows")


def _rng(seed: int, key: Any) -> np.random.Generator:
    return np.random.default_rng([seed, *b" ".join(str(part).encode() for part in key)])


def _float(value: Any) -> Any:
    return np.complex128(complex(value)) if isinstance(value, mpmath.mpc) else np.float64(float(value))


@cache
def _indices(expression: Any) -> tuple[Index, ...]:
    return tuple(sorted(vocabulary.free_indices(expression) | expression.atoms(Index), key=str))


def _constant(point: Point, number: Any) -> Any:
    if number.is_Rational:
        return point.number(number)
    if number in {oo, -oo, sympy.zoo, sympy.nan}:
        raise NotEvaluated("no number")
    value = sympy.N(number, mp.dps + 5)._to_mpmath(mp.prec)
    return value if point.exact else _float(value)


def _sum(point: Point, expression: Any) -> Any:
    return reduce(operator.add, map(point.value, expression.args))


def _product(point: Point, expression: Any) -> Any:
    """Return a product; in floats exponentials first add up what they are of, as each may overflow."""
    exponents = [part.args[0] for part in expression.args if isinstance(part, sympy.exp)]
    if point.exact or len(exponents) < 2:
        return reduce(operator.mul, map(point.value, expression.args))
    others = [point.value(part) for part in expression.args if not isinstance(part, sympy.exp)]
    return reduce(operator.mul, others, np.exp(reduce(operator.add, map(point.value, exponents))))


def _power(point: Point, expression: Any) -> Any:
    base, exponent = point.value(expression.base), expression.exp
    if exponent.is_Integer:
        if not point.exact or not isinstance(base, np.ndarray):
            return base ** int(exponent)
        return base ** int(exponent) if exponent > 0 else 1 / base ** -int(exponent)
    if exponent == sympy.S.Half:
        return point.call("sqrt", base)
    power = point.value(exponent)
    if point.exact and not isinstance(base, np.ndarray) and not isinstance(power, np.ndarray):
        return mp.power(base, power)
    return base**power


def _bound_sum(together: Callable[[Any, Any], Any], empty: int) -> Any:
    def handler(point: Point, expression: Any) -> Any:
        *inner, (index, low, high) = expression.limits
        body = expression.func(expression.function, *inner) if inner else expression.function
        if high == oo:
            return _series(point, body, index, low, together)
        first, last = point.whole(low), point.whole(high)
        if last - first > 400 or last < first - 1:
            raise NotEvaluated("a sum of too many terms, or turned round")
        value = point.number(empty)
        for place in range(first, last + 1):
            with point.having(index, place):
                value = together(value, point.value(body))
        return value

    return handler


def _series(point: Point, body: Any, index: Any, low: Any, together: Any) -> Any:
    """Return a sum without end, as mpmath extrapolates it."""
    if not point.exact or together is not operator.add:
        raise NotEvaluated("a series, in many digits alone")

    def term(place: Any) -> Any:
        with point.having(index, int(place)):
            return point.value(body)

    return mp.nsum(term, [point.whole(low), mp.inf])


def _integral(point: Point, expression: Any) -> Any:
    *inner, limits = expression.limits
    if len(limits) != 3:
        raise NotEvaluated("an integral without ends")
    function = sympy.Integral(expression.function, *inner) if inner else expression.function
    return point.integral(function, *limits)


def _derivative(point: Point, expression: Any) -> Any:
    """Return a derivative by a symbol or a component, from both sides of it."""
    variable, *more = expression.variables
    body = sympy.Derivative(expression.expr, *more) if more else expression.expr
    if not point.exact or point.depth:
        raise NotEvaluated("a derivative, in many digits alone")
    step, ends = mp.mpf(10) ** (-mp.dps // 3), []
    key = (
        (variable.base, *(point.whole(index) for index in variable.indices))
        if isinstance(variable, Indexed)
        else None
    )
    for side in (1, -1):
        if key is None:
            with point.having(variable, point.value(variable) + side * step):
                ends.append(point.value(body))
        else:
            with point.deeper({key: point.value(variable) + side * step}):
                point.depth -= 1
                ends.append(point.value(body))
                point.depth += 1
    return (ends[0] - ends[1]) / (2 * step)


def _dot(point: Point, dot: Any) -> Any:
    left, first, right, second = dot.args
    ends = point.whole(first), point.whole(second)
    state = ("dot", left, right, *ends)
    if state not in point.memo:
        parts = (
            point.entry(left, (ends[0], place)) * point.entry(right, (ends[1], place))
            for place in range(1, point.whole(dot.size) + 1)
        )
        point.memo[state] = reduce(operator.add, parts)
    return point.memo[state]


def _entropy(point: Point, entropy: Any) -> Any:
    row, total = point.row(*entropy.args), point.total(*entropy.args)
    return reduce(operator.add, (point.call("exp", x - total) * (total - x) for x in row))


def _indicator(point: Point, indicator: Any) -> Any:
    x = point.value(indicator.args[0])
    if isinstance(x, np.ndarray):
        return np.where(x > 0, point.number(1), point.number(0))
    return point.number(int(_real(x) > 0))


def _real(x: Any) -> Any:
    if isinstance(x, mpmath.mpc) and x.imag != 0:
        raise NotEvaluated("a complex number is compared")
    return x.real if isinstance(x, mpmath.mpc) else x


def _extreme(largest: bool) -> Any:
    def pair(x: Any, y: Any) -> Any:
        if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
            return (np.maximum if largest else np.minimum)(x, y)
        return (max if largest else min)(_real(x), _real(y))

    return pair


_LARGER, _SMALLER = _extreme(largest=True), _extreme(largest=False)


def _piecewise(point: Point, expression: Any) -> Any:
    for part, condition in expression.args:
        if condition == True or holds(condition, point):  # noqa: E712  # SymPy's own
            return point.value(part)
    raise NotEvaluated("no case of it applies")


def _sign(point: Point, expression: Any) -> Any:
    x = point.value(expression.args[0])
    return np.sign(x.astype(float)) if isinstance(x, np.ndarray) else point.number(int(np.sign(float(x))))


def _indexed(point: Point, indexed: Any) -> Any:
    return point.entry(indexed.base, tuple(map(point.whole, indexed.indices)))


def _delta(point: Point, delta: Any) -> Any:
    return point.number(int(point.whole(delta.args[0]) == point.whole(delta.args[1])))


def holds(condition: Any, point: Point) -> bool:
    """Return whether a relation or a combination of relations holds at a point.

    Raises:
        NotEvaluated: that is not told.
    """
    if condition in {sympy.true, sympy.false}:
        return bool(condition)
    if isinstance(condition, sympy.And | sympy.Or):
        return (all if isinstance(condition, sympy.And) else any)(
            holds(part, point) for part in condition.args
        )
    if isinstance(condition, sympy.Not):
        return not holds(condition.args[0], point)
    if not isinstance(condition, sympy.core.relational.Relational):
        raise NotEvaluated(f"{condition} is no relation")
    left, right = point.value(condition.lhs), point.value(condition.rhs)
    if np.ndim(left) or np.ndim(right):
        raise NotEvaluated("a relation of many outcomes")
    same = abs(left - right) <= 1e-13 * max(abs(left), abs(right), 1e-9)
    if isinstance(condition, sympy.Eq | sympy.Ne):
        return bool(same == isinstance(condition, sympy.Eq))
    if same:
        return isinstance(condition, sympy.Le | sympy.Ge)
    return bool((_real(left) < _real(right)) == isinstance(condition, sympy.Le | sympy.Lt))


_FLOATS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt")},
    "log": np.log,
    "atan": np.arctan,
    "erf": special.erf,
    "erfc": special.erfc,
    "gamma": special.gamma,
    "loggamma": special.gammaln,
    "besselk": special.kv,
    "besseli": special.iv,
    "besselj": special.jv,
    "floor": np.floor,
    "ceil": np.ceil,
}
_NAMES = {"ceiling": "ceil", "polygamma": "psi", "lowergamma": "", "uppergamma": "", "LambertW": "lambertw"}


def _function(point: Point, expression: Any) -> Any:
    """Return a function of mpmath's; NumPy's or SciPy's in floats where there is one."""
    name = _NAMES.get(expression.func.__name__, expression.func.__name__)
    if not hasattr(mp, name):
        raise NotEvaluated(f"{expression.func.__name__} is not evaluated")
    first, *rest = expression.args
    leading = point.whole(first) if name == "psi" else point.value(first)
    return point.call(name, leading, *map(point.value, rest))


_HANDLERS: dict[Any, Callable[[Point, Any], Any]] = {
    sympy.Number: _constant,
    sympy.NumberSymbol: _constant,
    sympy.core.numbers.ImaginaryUnit: _constant,
    sympy.Add: _sum,
    sympy.Mul: _product,
    sympy.Pow: _power,
    sympy.Abs: lambda point, node: np.abs(point.value(node.args[0])),
    sympy.sign: _sign,
    sympy.Max: lambda point, node: reduce(_LARGER, map(point.value, node.args)),
    sympy.Min: lambda point, node: reduce(_SMALLER, map(point.value, node.args)),
    sympy.Sum: _bound_sum(operator.add, 0),
    sympy.Product: _bound_sum(operator.mul, 1),
    sympy.Integral: _integral,
    sympy.Derivative: _derivative,
    sympy.Piecewise: _piecewise,
    sympy.KroneckerDelta: _delta,
    Indexed: _indexed,
    vocabulary.E: lambda point, node: point.mean(node.args[0]),
    vocabulary.Var: lambda point, node: point.value(node.definition),
    vocabulary.Cov: lambda point, node: point.value(node.definition),
    vocabulary.Dot: _dot,
    vocabulary.Softmax: lambda point, node: point.call(
        "exp", point.value(node.args[0]) - point.total(*node.args)
    ),
    vocabulary.Entropy: _entropy,
    vocabulary.LogSumExp: lambda point, node: point.total(*node.args),
    vocabulary.Largest: lambda point, node: reduce(_LARGER, point.row(*node.args)),
    vocabulary.Indicator: _indicator,
    sympy.Function: _function,
}


@cache
def _handler(kind: Any) -> Callable[[Point, Any], Any] | None:
    if kind is vocabulary.Quantile:
        return None
    return next((_HANDLERS[base] for base in kind.__mro__ if base in _HANDLERS), None)


Outcome = Literal["holds", "false", ""]


def evaluated(expression: Any, point: Point) -> Any:
    """Return the value of an expression at a point, a finite number or an array of such.

    Raises:
        NotEvaluated: it has none.
    """
    try:
        with np.errstate(all="ignore"):
            value = point.value(expression)
    except (ArithmeticError, TypeError, ValueError, ClaimError, AttributeError, LookupError) as error:
        raise NotEvaluated(f"{type(error).__name__}: {error}") from error
    value = value.reshape(()).item() if isinstance(value, np.ndarray) and value.size == 1 else value
    if isinstance(value, mpmath.mpc) and abs(value.imag) <= mp.mpf(10) ** (8 - mp.dps) * abs(value.real):
        value = value.real
    if isinstance(value, mpmath.mpf | mpmath.mpc) and not mp.isfinite(value) or np.any(_is_nan(value)):
        raise NotEvaluated("no finite value")
    return value


def _is_nan(value: Any) -> Any:
    return np.isnan(np.asarray(value, dtype=complex)) if not isinstance(value, mpmath.mpf) else False
