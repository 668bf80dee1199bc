"""Values of expressions at a point: in many digits, or in floats over all outcomes of all draws at once.

A ``Point`` goes through an expression node by node. A mean and an integral are alike: both put an array of
nodes in for what is drawn, or integrated over, along an axis of its own, and add up with weights.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache, reduce
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import sympy
from mpmath import mp
from scipy import special
from sympy import Add, Indexed, Mul, Sum, exp, expand, oo
from sympy.core.relational import Relational

from verify.errors import ClaimError
from verify.symbolic import vocabulary as of
from verify.symbolic.row_integrals import mean_entropy, mean_log_total, mean_product
from verify.symbolic.vocabulary import Family, Index, families_of, range_of

if TYPE_CHECKING:
    from verify.symbolic.laws import NumericLaw

MOST, MOST_TERMS = 8_000, 3_000_000
"""The most outcomes that a mean is summed over, and the most terms of an integral."""

DRAWS, BATCHES = 4000, 50
"""Draws of a mean that has more outcomes, and the parts of them that its error is estimated from."""

JOINT = np.array([0.5, 0.3, 0.2])
"""The chances of three outcomes, for families of which no law is assumed."""

MOST_KEYS = 2_000_000
"""The most keys of a row of whose weights a mean is taken; the largest score may be of any number."""


class NotEvaluated(Exception):  # noqa: N818  # no error: another point may do
    """An expression has no value at a point, or none that is known here."""


@dataclass
class Point:
    """A point at which expressions are evaluated.

    ``values`` are of symbols and free indices. ``laws`` are of the families that are drawn; components of
    those ``fixed`` are numbers made from ``seed``, those of others have an arbitrary joint law. ``exact``
    says that numbers are mpmath's, in its digits at the time, without means and integrals; else NumPy's. A
    quadrature has fewer nodes where ``coarse``. With ``drawn``, a mean is an array: of all draws, and without
    each part of them; where rows are ``long``, it is an integral over one score. ``work`` is how many nodes
    may still be evaluated; ``magnitude`` is the largest size of terms that were added; ``touched`` are the
    components of means, as far as points of a line know them.
    """

    values: dict[Any, Any]
    laws: dict[Family, NumericLaw] = field(default_factory=dict)
    fixed: frozenset[Family] = frozenset()
    seed: int = 1
    exact: bool = True
    coarse: int = 0
    drawn: bool = False
    long: bool = False
    work: float = math.inf
    depth: int = 0
    length: int = 1
    components: dict[Any, Any] = field(default_factory=dict)
    memo: dict[Any, Any] = field(default_factory=dict)
    used: set[Any] = field(default_factory=set)
    magnitude: float = 0.0
    touched: dict[Any, tuple[list[Any], set[Any]]] = field(default_factory=dict)

    def value(self, expression: Any) -> Any:
        """Return the value of an expression.

        Raises:
            NotEvaluated: it has none, or too many outcomes, or the ``work`` is used up.
        """
        self.work -= 2 + self.length / 500
        handler = _handler(expression.__class__)
        if handler is None or self.work < 0:
            raise NotEvaluated(f"{type(expression).__name__} is not evaluated")
        return handler(self, expression)

    def number(self, value: Any) -> Any:
        """Return a number in the point's arithmetic; arrays stay."""
        if self.exact:
            return mp.mpf(value.p) / value.q if isinstance(value, sympy.Rational) else mp.mpmathify(value)
        if isinstance(value, np.ndarray | np.float64):
            return value
        return np.complex128(complex(value)) if isinstance(value, mpmath.mpc) else np.float64(float(value))

    def whole(self, expression: Any) -> int:
        """Return the value of a size or an index."""
        value = self.values.get(expression, expression)
        if isinstance(value, int):
            self.used.add(expression)
            return value
        value = self.value(sympy.sympify(expression))
        if np.ndim(value) or value != round(float(value)):
            raise NotEvaluated(f"{expression} is no whole number")
        return round(float(value))

    @contextmanager
    def having(self, values: dict[Any, Any], components: Any = None, along: int = 0) -> Iterator[None]:
        """Put other values in for a while, of symbols, indices or components; ``along`` an axis so long."""
        before = self.values, self.components, self.memo, self.depth, self.length
        self.values = {**self.values, **values}
        if components:
            self.components = {**self.components, **components}
        if components or not all(isinstance(key, Index) for key in values):
            self.memo = {}
        self.depth, self.length = self.depth + (along > 0), self.length * max(along, 1)
        try:
            yield
        finally:
            self.values, self.components, self.memo, self.depth, self.length = before

    def component(self, family: Family, *places: int) -> Any:
        """Return a component of a family: a draw, an outcome, or any number where it is given."""
        key = (family, *places)
        if key not in self.components:
            used = set(self.used)
            sizes = [self.whole(size) for size in getattr(family, "ranges", ()) or places]
            self.used = used  # a size that only keeps places within it is not named
            if not all(1 <= place <= size for place, size in zip(places, sizes, strict=True)):
                raise NotEvaluated(f"{family} has no place {places}")
            if self.drawn and family not in self.fixed:
                self.work -= 40
                outcomes = _rng(self.seed + 3, ()).choice(len(JOINT), size=DRAWS, p=JOINT)
                law = self.laws.get(family)
                drawn = _draws_of(law, self.seed + 2, key) if law else _anything(self.seed + 1, key)[outcomes]
                self.components[key] = drawn
            else:
                # By seed they lie close to each other, coincide, or lie far from each other.
                apart = (1.0, 0.125, 0.0, 8.0)[self.seed % 4]
                self.components[key] = float(1 - apart // 1 % 2 + apart * _anything(self.seed, key)[0])
        return self.number(self.components[key])

    def row(self, x: Any, key: Index) -> tuple[list[Any], Any]:
        """Return x for every key, and the logarithm of the sum of exponentials."""
        state = (x, key, *(self.values.get(index) for index in _indices(x) if index != key))
        if state not in self.memo:
            row = []
            for place in range(1, self.whole(range_of(x, key)) + 1):
                with self.having({key: place}):
                    row.append(self.value(x))
            most = row[0] if self.exact else reduce(np.maximum, row)
            total = reduce(operator.add, (self.call("exp", score - most) for score in row))
            self.memo[state] = row, most + self.call("log", total)
        keys: tuple[list[Any], Any] = self.memo[state]
        return keys

    def call(self, name: str, *arguments: Any) -> Any:
        """Return a function of numbers or arrays, by its name in mpmath."""
        function = getattr(mp, name)
        if self.exact:
            return function(*arguments)
        if name in _FLOATS:
            return _FLOATS[name](*arguments)
        number = complex if any(map(np.iscomplexobj, arguments)) else float
        with mp.workdps(15):
            return np.vectorize(lambda *numbers: self.number(function(*map(number, numbers))))(*arguments)

    def total(self, terms: list[Any]) -> Any:
        """Return the sum of numbers; in floats, the loss where they cancel is measured by their size."""
        if not self.exact and not self.depth and all(isinstance(term, float) for term in terms):
            self._added(np.array(terms))
        return reduce(operator.add, terms)

    def _added(self, terms: Any) -> Any:
        size = float(np.max(np.sum(np.abs(terms), axis=0)))
        self.magnitude = max(self.magnitude, size) if math.isfinite(size) else self.magnitude
        return np.sum(terms, axis=0)

    # Means.

    def mean(self, x: Any) -> Any:
        """Return the mean of x over all outcomes of the components in it, or over draws of them."""
        if self.exact or (self.drawn and self.depth):
            raise NotEvaluated("a mean, here")
        if self.drawn:
            return self._mean_of_draws(x)
        if self.long:
            return mean_of_row(x, self)
        outcomes, weights = self._outcomes(self._touched(x))
        along = {key: _across(nodes, self.depth) for key, nodes in outcomes.items()}
        with self.having({}, along, len(weights)):
            terms = self.value(x)
        terms = terms * _across(weights, self.depth)
        if not np.all(np.isfinite(terms)):
            raise NotEvaluated("an outcome without a value")
        return self._added(terms)

    def _touched(self, x: Any) -> list[Any]:
        """Return the components that x is made of, by evaluating it once at any numbers."""
        whole = tuple((key, value) for key, value in self.values.items() if isinstance(value, int))
        state = x, whole, self.fixed
        if state not in self.touched:
            plain = {key: 1.5 if isinstance(x, np.ndarray) else x for key, x in self.values.items()}
            trial = Point(plain, self.laws, self.fixed, exact=False, work=self.work, touched=self.touched)
            trial.value(x)
            self.work = trial.work
            self.touched[state] = [key for key in trial.components if key[0] not in self.fixed], trial.used
        components, used = self.touched[state]
        self.used |= used
        return components

    def _outcomes(self, keys: list[Any]) -> tuple[dict[Any, Any], Any]:
        """Return arrays of the components' values in every outcome, and the chances of the outcomes."""
        drawn = [key for key in keys if key[0] in self.laws]
        joint = [key for key in keys if key[0] not in self.laws]
        most = (200 if self.depth else MOST) // (len(JOINT) if joint else 1)
        rules = [self.laws[key[0]].rule(len(drawn), most, self.coarse) for key in drawn]
        rules += [(np.arange(len(JOINT)), JOINT)] if joint else []
        sizes = [len(nodes) for nodes, _ in rules]
        if math.prod(sizes) > MOST:
            raise NotEvaluated("too many outcomes")
        places = np.indices(sizes).reshape(len(sizes), math.prod(sizes))
        chances = (weights[at] for (_, weights), at in zip(rules, places, strict=True))
        outcomes = {key: rules[axis][0][places[axis]] for axis, key in enumerate(drawn)}
        outcomes |= {key: _anything(self.seed + 1, key)[places[-1]] for key in joint}
        return outcomes, reduce(operator.mul, chances, np.ones(1))

    def _mean_of_draws(self, x: Any) -> Any:
        state = ("draws", x, *map(self.values.get, _indices(x)))
        if state not in self.memo:
            with self.having({}, along=DRAWS):
                values = np.broadcast_to(self.value(x), (DRAWS,))
            if np.abs(values).max() >= np.abs(values).sum() / 50:
                raise NotEvaluated("draws of which few count, or none")
            parts = values.reshape(BATCHES, -1).mean(axis=1)
            self.memo[state] = np.append(parts.mean(), (parts.sum() - parts) / (BATCHES - 1))
        return self.memo[state]

    # Integrals.

    def integral(self, integral: Any) -> Any:
        """Return an integral, by the double exponential rule; infinite where it grows without end."""
        if self.exact:
            raise NotEvaluated("an integral, in many digits")
        *inner, (variable, low, high) = integral.limits
        function = sympy.Integral(integral.function, *inner) if inner else integral.function
        ends = [(-oo, sympy.S.Zero), (sympy.S.Zero, oo)] if (low, high) == (-oo, oo) else [(low, high)]
        parts = [self._integrated(function, variable, *both) for both in ends]
        if not any(map(np.any, parts)):
            raise NotEvaluated("an integral of nothing, or of a peak between the nodes")
        return reduce(operator.add, parts)

    def _integrated(self, function: Any, variable: Any, low: Any, high: Any) -> Any:
        step = 1 / 16 if self.coarse else 1 / 32
        u = _across(np.arange(-4.5, 4.5 + step / 2, step), self.depth)
        path, slope = np.pi / 2 * np.sinh(u), np.pi / 2 * np.cosh(u) * step
        if oo in {high, -low}:
            end, side = (low, 1) if high == oo else (high, -1)
            x, slope = self.value(end) + side * np.exp(path), np.exp(path) * slope
        else:
            start, width = self.value(low), self.value(high) - self.value(low)
            x, slope = start + width * special.expit(2 * path), width * slope / (2 * np.cosh(path) ** 2)
        with self.having({variable: x}, along=len(u)):
            terms = self.value(function) * slope
        if np.size(terms) > MOST_TERMS:
            raise NotEvaluated("an integral of too many terms")
        # Where floats overflow beside a negligible factor, the terms are 0.
        bad = ~np.isfinite(terms)
        sizes = np.where(bad, 0.0, np.abs(np.where(bad, 0, terms)))
        beside = np.zeros(bad.shape, dtype=bool)
        beside[1:] |= bad[:-1]
        beside[:-1] |= bad[1:]
        if not np.any(sizes[beside] > 1e-20 * sizes.max()):
            terms = np.where(bad, 0, terms)
        elif np.any(terms[bad] != np.inf):
            raise NotEvaluated("an integral that overflows")
        top, *rest = np.unravel_index(np.argmax(np.abs(terms)), terms.shape)
        near_top = np.abs(terms[(slice(max(top - 1, 0), top + 2), *rest)])
        if np.sum(near_top) < 1.001 * np.max(near_top):
            raise NotEvaluated("an integral of a peak between the nodes")
        # A dozen terms of either sign that count: an oscillation goes on between the nodes.
        signs = np.where(np.abs(terms) > 1e-3 * np.max(np.abs(terms), axis=0), np.sign(np.real(terms)), 0)
        turns = signs[1:] * signs[:-1] < 0
        return np.where(np.sum(turns[1:] & turns[:-1], axis=0) >= 12, np.nan, self._added(terms))


def _across(nodes: Any, depth: int) -> Any:
    return np.asarray(nodes).reshape(-1, *(1,) * depth)


@lru_cache(maxsize=512)
def _draws_of(law: NumericLaw, seed: int, key: Any) -> Any:
    return law.draws(_rng(seed, key), DRAWS)


def _rng(seed: int, key: Any) -> np.random.Generator:
    return np.random.default_rng([seed, *" ".join(map(str, key)).encode()])


@lru_cache(maxsize=2**16)
def _anything(seed: int, key: Any) -> Any:
    return _rng(seed, key).integers(-300, 300, len(JOINT)) / 128


@cache
def _indices(expression: Any) -> tuple[Index, ...]:
    return tuple(sorted(expression.atoms(Index), key=str))


# ---- the value of each kind of node ----------------------------------------------------------------------


def _constant(point: Point, number: Any) -> Any:
    if number.is_Rational:
        return point.number(number) if point.exact else _as_float(number)
    if not number.is_finite:
        raise NotEvaluated("no number")
    return point.number(sympy.N(number, mp.dps + 5)._to_mpmath(mp.prec + 16))


@lru_cache(maxsize=2**14)
def _as_float(number: Any) -> Any:
    return np.float64(float(number))


def _symbol(point: Point, symbol: Any) -> Any:
    if symbol not in point.values:
        raise NotEvaluated(f"{symbol} has no value")
    point.used.add(symbol)
    return point.number(point.values[symbol])


@lru_cache(maxsize=2**14)
def _exponents(product: Any) -> tuple[list[Any], list[Any]]:
    """Return the exponents of the exponentials in a product, and its other factors."""
    exponentials = [part for part in product.args if isinstance(part, exp)]
    return [part.args[0] for part in exponentials], [x for x in product.args if x not in exponentials]


def _product(point: Point, expression: Any) -> Any:
    """Return a product; in floats the exponents of exponentials are added first, as each may overflow."""
    exponents, others = _exponents(expression)
    if point.exact or len(exponents) < 2:
        return reduce(operator.mul, map(point.value, expression.args))
    together = np.exp(reduce(operator.add, map(point.value, exponents)))
    return reduce(operator.mul, map(point.value, others), together)


def _power(point: Point, expression: Any) -> Any:
    base, exponent = point.value(expression.base), expression.exp
    if isinstance(exponent, sympy.Integer):
        return base ** int(exponent)
    return point.call("sqrt", base) if exponent is sympy.S.Half else base ** point.value(exponent)


def _terms(point: Point, expression: Any) -> Any:
    """Return a sum or a product over an index."""
    *inner, (index, low, high) = expression.limits
    body = expression.func(expression.function, *inner) if inner else expression.function
    if high == oo:
        raise NotEvaluated("a sum without end")
    first, last = point.whole(low), point.whole(high)
    if last - first > 400 or last < first - 1:
        raise NotEvaluated("a sum of too many terms, or turned round")
    together, empty = (operator.add, 0) if isinstance(expression, Sum) else (operator.mul, 1)
    value = point.number(empty)
    for place in range(first, last + 1):
        with point.having({index: place}):
            value = together(value, point.value(body))
    return value


def _derivative(point: Point, expression: Any) -> Any:
    """Return a derivative by a symbol or a component, from both sides of it."""
    variable, *more = expression.variables
    body = sympy.Derivative(expression.expr, *more) if more else expression.expr
    if not point.exact:
        raise NotEvaluated("a derivative, in floats")
    step, ends = mp.mpf(10) ** (-mp.dps // 3), []
    for side in (1, -1):
        moved: tuple[Any, ...] = ({variable: point.value(variable) + side * step},)
        if isinstance(variable, Indexed):
            key = (variable.base, *map(point.whole, variable.indices))
            moved = ({}, {key: moved[0][variable]})
        with point.having(*moved):
            ends.append(point.value(body))
    return (ends[0] - ends[1]) / (2 * step)


def _dot(point: Point, dot: Any) -> Any:
    left, first, right, second = dot.args
    ends = point.whole(first), point.whole(second)
    state = ("dot", left, right, *ends)
    if state not in point.memo:
        places = range(1, point.whole(dot.size) + 1)
        parts = (point.component(left, ends[0], at) * point.component(right, ends[1], at) for at in places)
        point.memo[state] = reduce(operator.add, parts)
    return point.memo[state]


def _entropy(row: list[Any], total: Any, point: Point) -> Any:
    return reduce(operator.add, (point.call("exp", x - total) * (total - x) for x in row))


def _larger(x: Any, y: Any) -> Any:
    return max(x, y) if isinstance(x, mpmath.mpf) and isinstance(y, mpmath.mpf) else np.maximum(x, y)


_FLOATS: dict[str, Callable[..., Any]] = {
    **{x: getattr(np, x) for x in ("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt")},
    **{x: getattr(special, x) for x in ("erf", "erfc", "gamma")},
    "atan": np.arctan,
    "loggamma": special.gammaln,
    **{f"bessel{x}": getattr(special, f"{x}v") for x in "kij"},
}


def _function(point: Point, expression: Any) -> Any:
    """Return a function of mpmath's; in floats NumPy's or SciPy's where they have it."""
    name = {"polygamma": "psi", "ceiling": "ceil"}.get(expression.func.__name__, expression.func.__name__)
    if not hasattr(mp, name):
        raise NotEvaluated(f"{name} is not evaluated")
    return point.call(name, *map(point.value, expression.args))


_HANDLERS: dict[Any, Callable[[Point, Any], Any]] = {
    sympy.Symbol: _symbol,
    sympy.Number: _constant,
    sympy.NumberSymbol: _constant,
    sympy.core.numbers.ImaginaryUnit: lambda point, _: mp.j if point.exact else 1j,
    Add: lambda point, node: point.total([*map(point.value, node.args)]),
    Mul: _product,
    sympy.Pow: _power,
    sympy.Abs: lambda point, node: abs(point.value(node.args[0])),
    sympy.sign: lambda point, node: (mp if point.exact else np).sign(point.value(node.args[0])),
    sympy.Max: lambda point, node: reduce(_larger, map(point.value, node.args)),
    sympy.Min: lambda point, node: -reduce(_larger, (-point.value(x) for x in node.args)),
    Sum: _terms,
    sympy.Product: _terms,
    sympy.Integral: lambda point, node: point.integral(node),
    sympy.Derivative: _derivative,
    sympy.KroneckerDelta: lambda point, node: point.number(int(operator.eq(*map(point.whole, node.args)))),
    Indexed: lambda point, node: point.component(node.base, *map(point.whole, node.indices)),
    of.E: lambda point, node: point.mean(node.args[0]),
    of.Var: lambda point, node: point.value(node.definition),
    of.Cov: lambda point, node: point.value(node.definition),
    of.Dot: _dot,
    of.Softmax: lambda point, node: point.call(
        "exp", point.value(node.args[0]) - point.row(*(node.args if node.args[1].is_Symbol else node.row))[1]
    ),
    of.Entropy: lambda point, node: _entropy(*point.row(*node.args), point),
    of.LogSumExp: lambda point, node: point.row(*node.args)[1],
    of.Largest: lambda point, node: reduce(_larger, point.row(*node.args)[0]),
    of.Indicator: lambda point, node: (point.value(node.args[0]) > 0) * point.number(1),
    sympy.Function: _function,
}


@cache
def _handler(kind: Any) -> Callable[[Point, Any], Any] | None:
    return next((_HANDLERS[base] for base in kind.__mro__ if base in _HANDLERS), None)


def evaluated(expression: Any, point: Point) -> Any:
    """Return the value of an expression at a point: a number, which may be infinite, or an array of draws.

    Raises:
        NotEvaluated: it has none.
    """
    try:
        with np.errstate(all="ignore"):
            value = point.value(expression)
    except (ArithmeticError, AttributeError, ClaimError, LookupError, TypeError, ValueError) as error:
        raise NotEvaluated(f"{type(error).__name__}: {error}") from error
    if isinstance(value, mpmath.mpc) and abs(value.imag) <= mp.mpf(10) ** (8 - mp.dps) * abs(value.real):
        value = value.real
    has_value = (
        mp.isfinite(value) if isinstance(value, mpmath.mpf | mpmath.mpc) else not np.isnan(value).any()
    )
    if not has_value:
        raise NotEvaluated("no value")
    return value.reshape(()).item() if isinstance(value, np.ndarray) and value.size == 1 else value


def holds(condition: Any, point: Point) -> bool:
    """Return whether a relation holds at a point.

    Raises:
        NotEvaluated: a side has no value there.
    """
    if not isinstance(condition, Relational):
        return bool(condition)
    left, right = evaluated(condition.lhs, point), evaluated(condition.rhs, point)
    tiny = min(mp.mpf(10) ** (-mp.dps // 2), 1e-13) if point.exact else 1e-13
    same = bool(abs(left - right) <= tiny * max(abs(left), abs(right), 1e-9 if point.exact else 1))
    if isinstance(condition, sympy.Eq | sympy.Ne):
        return same == isinstance(condition, sympy.Eq)
    if same:
        return condition.rel_op in {"<=", ">="}
    return bool((left < right) == ("<" in condition.rel_op))


# ---- means over long rows of independent normal scores ---------------------------------------------------


def mean_of_row(x: Any, point: Point) -> float:
    """Return the mean of a polynomial of a row's scores and weights, by one-dimensional integrals.

    Raises:
        ValueError: it is of another kind, or of scores that are not centred and normal.
    """
    x = expand(x)
    if isinstance(x, Add):
        return sum(mean_of_row(part, point) for part in x.args)
    drawn = [part for part in Mul.make_args(x) if families_of(part)]
    value = float(point.value(x / Mul(*drawn)))
    if not drawn:
        return value
    first, *_ = drawn
    if len(drawn) == 1 and isinstance(first, of.Largest | of.LogSumExp | of.Entropy):
        keys, deviation = point.whole(range_of(*first.args)), _deviation(first.args[0], point)
        if isinstance(first, of.Largest):
            # Of very many, from the density of the largest.
            z = np.arange(-12, 40, 1 / 256)
            density = np.exp(math.log(keys) + (keys - 1) * special.log_ndtr(z) - z**2 / 2)
            return value * deviation * float(np.sum(z * density)) / 256 / math.sqrt(2 * math.pi)
        mean = mean_log_total if isinstance(first, of.LogSumExp) else mean_entropy
        return value * _exactly(mean, keys, deviation)
    # A sum over all keys, or a single key's share of it, of powers of a weight and its score.
    is_sum = isinstance(first, Sum) and len(drawn) == 1 and len(first.limits) == 1
    factors = Mul.make_args(first.function) if is_sum else drawn
    value *= float(point.value(Mul(*(part for part in factors if not families_of(part)))))
    powers = {base: int(power) for base, power in (x.as_base_exp() for x in factors if families_of(x))}
    (weight,) = (part for part in powers if isinstance(part, of.Softmax))
    scores, key = weight.args
    (score,), size = scores.atoms(Indexed), range_of(scores, key)
    if set(powers) - {weight, score} or (is_sum and first.limits[0] != (key, 1, size)):
        raise ValueError("a mean of another kind")
    keys, order = point.whole(size), powers.get(score, 0)
    total = _exactly(mean_product, ((powers[weight], order),), keys, _deviation(scores, point))
    return value * total / float(point.value(scores / score)) ** order / (1 if is_sum else keys)


def _exactly(mean: Callable[..., Any], *arguments: Any) -> float:
    if arguments[-2] > MOST_KEYS:
        raise ValueError("too many keys")
    result = mean(*arguments)
    if not result.error <= 1e-9 * max(abs(result.value), 1):
        raise ValueError("it is not known well enough")
    return float(result.value)


def _deviation(scores: Any, point: Point) -> float:
    (score,) = scores.atoms(Indexed)
    law = point.laws[score.base]
    if not law.normal or law.centres[0] or families_of(scores / score):
        raise ValueError("other scores")
    return abs(float(point.value(scores / score))) * float(law.spreads[0])
