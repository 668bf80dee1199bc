"""Expressions evaluated at a point: in balls that hold the value, in fractions, or in floats by the thousand.

Nothing here knows a rule of the kernel. ``value`` goes through an expression by the exact types of its nodes.
What a point gives is kept raw, as whole numbers, fractions, balls or arrays; the arithmetic in use lifts it.
"""

from __future__ import annotations

import math
import time
from copy import copy
from dataclasses import dataclass, field
from functools import cache, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import acb, arb, arb_mat, fmpq
from sympy import (
    Abs, Add, Derivative, Dummy, Float, Indexed, Integer, Integral, KroneckerDelta, Limit, Max, Min, Mul,
    NumberSymbol, Pow, Rational, S, Sum, Symbol, Trace, Transpose, besselk, binomial, cos, cosh, erf, erfc, erfinv,
    exp, factor, factorial, gamma, log, oo, sign, sin, sinh, tan, tanh,
)  # fmt: skip
from sympy.core.numbers import ImaginaryUnit
from sympy.matrices.expressions import MatAdd, MatMul, MatPow, MatrixSymbol
from sympy.matrices.expressions.matexpr import MatrixElement
from sympy.matrices.immutable import ImmutableDenseMatrix

from verify.symbolic.kernel.words import E, Shape, Var

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Unknown(Exception):  # noqa: N818  # a plain word, as the kernel's Refused
    """Nothing here can evaluate that."""


class Undefined(Exception):  # noqa: N818
    """An expression has no value at a point, as 1/0."""


class OutOfTime(Exception):  # noqa: N818
    """The limit of time is reached."""


def fraction(number: Any) -> fmpq:
    """Return SymPy's rational number as a fraction."""
    return fmpq(int(number.p), int(number.q))


def rational(number: fmpq) -> Any:
    """Return a fraction as SymPy's."""
    return Rational(int(number.p), int(number.q))


class Exact:
    """Fractions, for polynomials in what is known exactly."""

    @staticmethod
    def lift(raw: Any) -> Any:
        """Return a raw value as a fraction.

        Raises:
            Unknown: it is none.
        """
        if type(raw) in {int, fmpq}:
            return fmpq(raw)
        raise Unknown("no fraction")

    @staticmethod
    def constant(one: Any) -> Any:
        """Refuse all numbers that are no fractions."""
        raise Unknown(f"{one} is no fraction")

    @staticmethod
    def power(base: Any, exponent: Any, _at: Scene) -> Any:
        """Return a whole power."""
        if exponent.q != 1 or abs(exponent) > 64:
            raise Unknown("no whole power")
        if base == 0 and exponent < 0:
            raise Undefined("1/0")
        return base ** int(exponent.p)

    @staticmethod
    def call(kind: Any, _arguments: list[Any], _at: Scene) -> Any:
        """Refuse all functions."""
        raise Unknown(f"{kind.__name__} is no polynomial")


class Balls:
    """Real and complex balls: whatever comes out holds the value."""

    @staticmethod
    def lift(raw: Any) -> Any:
        """Return a raw value as a ball.

        Raises:
            Unknown: it is an array.
        """
        if isinstance(raw, (arb, acb)):
            return raw
        if type(raw) in {int, fmpq}:
            return arb(raw)
        raise Unknown("an array, where a ball is needed")

    @staticmethod
    def constant(one: Any) -> Any:
        """Return π, e, i or an infinity."""
        if one is S.ImaginaryUnit:
            return acb(0, 1)
        known = {S.Pi: arb.pi, S.Exp1: arb.const_e, S.Infinity: arb.pos_inf, S.NegativeInfinity: arb.neg_inf}
        if one in known:
            return known[one]()
        raise Unknown(f"the number {one}")

    @staticmethod
    def power(base: Any, exponent: Any, at: Scene) -> Any:
        """Return a power, complex where a root of a negative number is taken.

        Raises:
            Undefined: 0 to a negative power.
        """
        if isinstance(exponent, arb) and exponent.is_exact() and exponent.is_integer():
            return _whole_power(base, int(exponent.unique_fmpz()))
        if isinstance(base, acb) or isinstance(exponent, acb) or base < 0:
            base = acb(base)
            if exponent == arb(0.5):
                return base.sqrt(analytic=bool(at.analytic))
            return base.pow(acb(exponent), analytic=bool(at.analytic))
        if base == 0:
            if exponent < 0:
                raise Undefined("0 to a negative power")
            return arb(0)
        return base.sqrt() if exponent == arb(0.5) else base**exponent

    @staticmethod
    def call(kind: Any, arguments: list[Any], at: Scene) -> Any:
        """Return a function's value."""
        if kind in _PLAIN:
            method = getattr(arguments[0], _PLAIN[kind], None)
            if method is None:
                raise Unknown(f"{kind.__name__} of a complex number")
            return method()
        return _IN_BALLS[kind](at, *arguments)


def _whole_power(base: Any, exponent: int) -> Any:
    """Return a power by products, which keep a ball around 0 a ball."""
    if exponent < 0:
        if base == 0:
            raise Undefined("1/0")
        return 1 / _whole_power(base, -exponent)
    found = arb(1)
    while exponent:
        found = found * base if exponent & 1 else found
        exponent >>= 1
        base = base * base if exponent else base
    return found


_PLAIN = {exp: "exp", tanh: "tanh", sinh: "sinh", cosh: "cosh", sin: "sin", cos: "cos", tan: "tan", erf: "erf",
          erfc: "erfc", erfinv: "erfinv"}  # fmt: skip


def _log(at: Scene, x: Any) -> Any:
    if x == 0:
        raise Undefined("ln 0")
    if isinstance(x, acb) or x < 0:
        return acb(x).log(analytic=bool(at.analytic))
    return x.log()


def _gamma(_at: Scene, x: Any) -> Any:
    if isinstance(x, arb) and x.is_exact() and x.is_integer() and x <= 0:
        raise Undefined(f"gamma at {x}")
    return x.gamma()


def _binomial(at: Scene, above: Any, below: Any) -> Any:
    return _gamma(at, above + 1) * (below + 1).rgamma() * (above - below + 1).rgamma()


def _bessel_k(_at: Scene, order: Any, x: Any) -> Any:
    if x == 0:
        raise Undefined("K at 0")
    if isinstance(x, acb) and not x.real > 0:
        return acb("nan")
    return x.bessel_k(order)


def _absolute(at: Scene, x: Any) -> Any:
    return abs(x) if at.analytic is None or isinstance(x, arb) else x.real_abs(analytic=at.analytic)


def _sign(at: Scene, x: Any) -> Any:
    if isinstance(x, arb):
        return x.sgn()
    if at.analytic is None:
        raise Unknown("sign of a complex number")
    return x.real_sgn(analytic=at.analytic)


def _largest(at: Scene, *several: Any) -> Any:
    def larger(a: Any, b: Any) -> Any:
        if isinstance(a, arb) and isinstance(b, arb):
            return a.max(b)
        return acb(a).real_max(acb(b), analytic=bool(at.analytic))

    return reduce(larger, several)


_IN_BALLS: dict[Any, Any] = {
    log: _log,
    gamma: _gamma,
    factorial: lambda at, x: _gamma(at, x + 1),
    binomial: _binomial,
    besselk: _bessel_k,
    Abs: _absolute,
    sign: _sign,
    Max: _largest,
    Min: lambda at, *several: -_largest(at, *(-one for one in several)),
}


class Floats:
    """Arrays of floats, whose last axis runs over many points at once; only ever a first look."""

    @staticmethod
    def lift(raw: Any) -> Any:
        """Return a raw value as floats."""
        if isinstance(raw, np.ndarray):
            return raw.astype(float) if raw.dtype.kind == "i" else raw
        if type(raw) is fmpq:
            return np.float64(int(raw.p) / int(raw.q))
        if isinstance(raw, acb):
            return np.complex128(complex(raw))
        return np.float64(float(raw.mid()) if isinstance(raw, arb) else raw)

    @staticmethod
    def constant(one: Any) -> Any:
        """Return a number."""
        return np.complex128(1j) if one is S.ImaginaryUnit else np.float64(float(one))

    @staticmethod
    def power(base: Any, exponent: Any, _at: Scene) -> Any:
        """Return a power."""
        return np.sqrt(base) if np.ndim(exponent) == 0 and exponent == 0.5 else base**exponent

    @staticmethod
    def call(kind: Any, arguments: list[Any], _at: Scene) -> Any:
        """Return a function's value."""
        if kind not in _IN_FLOATS:
            raise Unknown(f"{kind.__name__} in floats")
        return _IN_FLOATS[kind](*arguments)


def _each(function: Callable[[float], float]) -> Any:
    def or_nan(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return math.nan

    return np.vectorize(or_nan, otypes=[float])


_IN_FLOATS: dict[Any, Any] = {
    exp: np.exp, log: np.log, tanh: np.tanh, sinh: np.sinh, cosh: np.cosh, sin: np.sin, cos: np.cos, tan: np.tan,
    Abs: np.abs, sign: np.sign, erf: _each(math.erf), erfc: _each(math.erfc), gamma: _each(math.gamma),
    factorial: lambda x: _each(math.gamma)(x + 1),
    Max: lambda *several: reduce(np.maximum, several), Min: lambda *several: reduce(np.minimum, several),
}  # fmt: skip

EXACT, BALLS, FLOATS = Exact(), Balls(), Floats()


@dataclass
class Scene:
    """A point, and how it is looked at.

    ``values`` are of symbols and indices, and of whole expressions that are numbers already; ``entries`` of
    families, by base and indices; ``tables`` the same as arrays, whose last axis runs over rows. ``laws`` are
    those of random components. ``analytic`` is None outside rigorous integrals. ``depth`` counts the axes of
    arrays in use, ``budget`` says how many numbers may be drawn for a mean.
    """

    values: dict[Any, Any] = field(default_factory=dict)
    entries: dict[Any, Any] = field(default_factory=dict)
    definitions: Mapping[Any, Any] = field(default_factory=dict)
    laws: dict[Any, Any] = field(default_factory=dict)
    shapes: dict[Any, tuple[int, ...]] = field(default_factory=dict)
    arithmetic: Any = BALLS
    rigorous: bool = False
    analytic: bool | None = None
    within: bool = False
    depth: int = 1
    tables: dict[Any, Any] = field(default_factory=dict)
    budget: int = 200_000
    seed: int = 7
    deadline: float = math.inf
    memo: dict[Any, Any] = field(default_factory=dict)

    def having(self, values: Mapping[Any, Any], **changed: Any) -> Scene:
        """Return this with more values, and other settings changed."""
        found = copy(self)
        found.values = {**self.values, **values}
        for name, new in changed.items():
            setattr(found, name, new)
        return found

    def in_floats(self, **changed: Any) -> Scene:
        """Return this in floats, of one row unless tables are given."""
        return self.having({}, arithmetic=FLOATS, analytic=None, depth=1, **{"tables": {}, **changed})

    def hurry(self) -> None:
        """Raise ``OutOfTime`` once the limit of time is reached."""
        if time.perf_counter() > self.deadline:
            raise OutOfTime


def value(expression: Any, at: Scene) -> Any:
    """Return the value of an expression in the scene's arithmetic.

    Raises:
        Unknown: nothing here can evaluate that.
        Undefined: it has no value there.
        OutOfTime: the limit of time is reached.
    """
    known = at.values.get(expression)
    if known is not None:
        return at.arithmetic.lift(known)
    handler = HANDLERS.get(type(expression)) or _handler_of(type(expression))
    return handler(expression, at)


@cache
def _handler_of(kind: Any) -> Any:
    for one in kind.__mro__:
        if one in HANDLERS:
            return HANDLERS[one]
    return _unknown


def _unknown(expression: Any, _at: Scene) -> Any:
    raise Unknown(f"{type(expression).__name__} {str(expression)[:40]}")


def _symbol(one: Any, at: Scene) -> Any:
    if one in at.definitions:
        return value(at.definitions[one], at)
    if one.name == r"\max_i s_i":
        return _max_of_scores(at)
    raise Unknown(f"no value of {one}")


def _max_of_scores(at: Scene) -> Any:
    base = next((one for one in at.shapes if str(one) == "s"), None)
    if base is None:
        raise Unknown("no scores to be the largest of")
    if at.arithmetic is FLOATS:
        return _table(base, at).max(axis=0)
    keys = [key for key in at.entries if key[0] == base]
    if not keys:
        raise Unknown("no scores to be the largest of")
    return at.arithmetic.call(Max, [at.arithmetic.lift(at.entries[key]) for key in keys], at)


def _sum_of(expression: Any, at: Scene) -> Any:
    found = value(expression.args[0], at)
    for one in expression.args[1:]:
        found = found + value(one, at)
    return found


def _product_of(expression: Any, at: Scene) -> Any:
    found = value(expression.args[0], at)
    for one in expression.args[1:]:
        found = found * value(one, at)
    return found


def _power_of(expression: Any, at: Scene) -> Any:
    return at.arithmetic.power(value(expression.base, at), value(expression.exp, at), at)


def _function_of(expression: Any, at: Scene) -> Any:
    return at.arithmetic.call(type(expression), [value(one, at) for one in expression.args], at)


def whole(expression: Any, at: Scene) -> Any:
    """Return an index or a bound of one: a whole number, or an array of them.

    Raises:
        Unknown: it is none.
    """
    known = at.values.get(expression)
    if known is None and expression.is_Integer:
        return int(expression)
    if known is None:
        known = value(expression, at.having({}, arithmetic=EXACT))
    if type(known) is fmpq and known.q == 1:
        return int(known.p)
    if type(known) is int or (isinstance(known, np.ndarray) and known.dtype.kind == "i"):
        return known
    raise Unknown(f"{expression} is no whole number here")


def _delta(expression: Any, at: Scene) -> Any:
    same = whole(expression.args[0], at) == whole(expression.args[1], at)
    return at.arithmetic.lift(np.asarray(same).astype(int) if isinstance(same, np.ndarray) else int(same))


def _entry(expression: Any, at: Scene) -> Any:
    if expression in at.definitions:
        return value(at.definitions[expression], at)
    base, indices = expression.base, tuple(whole(one, at) for one in expression.indices)
    found = at.entries.get((base, *indices)) if at.arithmetic is not FLOATS else None
    if found is not None:
        return at.arithmetic.lift(found)
    for pattern, meaning in at.definitions.items():
        if isinstance(pattern, Indexed) and pattern.base == base:
            return value(meaning, at.having(dict(zip(pattern.indices, indices, strict=True))))
    if at.arithmetic is not FLOATS:
        raise Unknown(f"no entry {base}{list(indices)}")
    return _table_entry(base, indices, at)


def _table(base: Any, at: Scene) -> Any:
    """Return the entries of a family as an array, its last axis running over rows."""
    if base not in at.tables:
        keys = [key for key in at.entries if key[0] == base]
        if not keys:
            raise Unknown(f"no entries of {base}")
        shape = tuple(max(key[axis] for key in keys) for axis in range(1, len(keys[0])))
        table = np.full((*shape, 1), np.nan)
        for key in keys:
            table[tuple(one - 1 for one in key[1:])] = FLOATS.lift(at.entries[key])
        at.tables[base] = table
    return at.tables[base]


def _table_entry(base: Any, indices: tuple[Any, ...], at: Scene) -> Any:
    table = _table(base, at)
    places = tuple((one[..., 0] if isinstance(one, np.ndarray) else one) - 1 for one in indices)
    if any(np.any(place >= size) for place, size in zip(places, table.shape, strict=False)):
        raise Unknown(f"no such entry of {base}")
    return table[places]


LONGEST = 3000
"""So many terms a sum may have here."""


def _total(expression: Any, at: Scene) -> Any:
    *inner, (index, low, high) = expression.limits
    function = Sum(expression.function, *inner) if inner else expression.function
    first, last = whole(low, at), whole(high, at)
    if isinstance(first, np.ndarray) or isinstance(last, np.ndarray):
        raise Unknown("a sum whose ends vary")
    if at.arithmetic is FLOATS:
        return _total_of_arrays(function, index, range(first, last + 1), at)
    if last - first > LONGEST:
        raise Unknown("a long sum")
    found, inside = at.arithmetic.lift(0), at.having({})
    for one in range(first, last + 1):
        at.hurry()
        inside.values[index] = one
        found = found + value(function, inside)
    return found


def _total_of_arrays(function: Any, index: Any, over: range, at: Scene) -> Any:
    if len(over) == 0:
        return np.float64(0)
    axis = np.arange(over.start, over.stop).reshape(-1, *(1,) * at.depth)
    terms = value(function, at.having({index: axis}, depth=at.depth + 1))
    if np.size(terms) > 3 * 10**7:
        raise Unknown("a sum of too many terms")
    return terms.sum(axis=0) if np.ndim(terms) == at.depth + 1 else terms * len(over)


# Integrals: a first look by the trapezoid rule, and rigorously where it counts.

Integrand = "Callable[[Any, Scene], Any]"


def _integral(expression: Any, at: Scene) -> Any:
    *inner, (variable, low, high) = expression.limits
    function = Integral(expression.function, *inner) if inner else _one_exponential(expression.function)
    if expression.has(S.ImaginaryUnit) and expression.has(Abs, Max, Min, sign):
        raise Unknown("an absolute value in a complex integral")
    return integral(lambda x, scene: value(function, scene.having({variable: x}, within=True)), low, high, at)


@cache
def _one_exponential(expression: Any) -> Any:
    """Return an expression with products of exponentials as one, for their factors alone may overflow."""

    def merged(product: Any) -> Any:
        powers = [one.args[0] for one in product.args if isinstance(one, exp)]
        others = [one for one in product.args if not isinstance(one, exp)]
        return Mul(*others, exp(factor(Add(*powers))))

    several = expression.replace(
        lambda one: isinstance(one, Mul) and sum(isinstance(part, exp) for part in one.args) > 1, merged
    )
    return several if several.has(exp) else expression


def integral(function: Any, low: Any, high: Any, at: Scene) -> Any:
    """Return the integral of ``function(x, scene)``; infinite where it grows without end.

    In balls the first look is a ball of ten times the difference between two steps and two widths, and the
    scene must be ``rigorous`` for balls that hold the value. On an infinite range even those rest on what two
    widths differ by.

    Raises:
        Unknown: it is not resolved.
    """
    if at.arithmetic is EXACT:
        raise Unknown("an integral is no fraction")
    if at.arithmetic is FLOATS:
        return _trapezoid(function, low, high, at)[0]
    if not at.rigorous and at.analytic is None:
        with np.errstate(all="ignore"):
            look = _first_look(function, low, high, at)
        if look is not None:
            return look
    return _rigorous(function, low, high, at)


def _first_look(function: Any, low: Any, high: Any, at: Scene) -> Any:
    try:
        fine, error = _trapezoid(function, low, high, at.in_floats())
        if np.iscomplexobj(fine) or np.size(fine) != 1:
            return None
        middle, error = float(np.squeeze(fine)), float(np.squeeze(error))
    except (Unknown, Undefined, TypeError):
        return None
    settled = math.isfinite(middle) and middle != 0 and error < 1e-6 * (1e-3 + abs(middle))
    return arb(middle, error) if settled else None


_HALF, _WHOLE, _FINITE = 80.0, 40.0, 4.0


def _paths(low: Any, high: Any, at: Scene) -> tuple[float, Any]:
    """Return the width of a range in a new variable, and the function from that to (x, dx)."""
    if (low, high) == (-oo, oo):
        return _WHOLE, lambda u, _s: (e := _exp(u), (e - 1 / e) / 2, (e + 1 / e) / 2)[1:]
    if high == oo or low == -oo:
        end, side = (low, 1) if high == oo else (high, -1)
        return _HALF, lambda u, s: ((e := _exp(u)), (value(end, s) + side * e, e))[1]
    return _FINITE, lambda u, s: _between(value(low, s), value(high, s), u)


def _exp(u: Any) -> Any:
    return np.exp(u) if isinstance(u, np.ndarray) else u.exp()


def _between(low: Any, high: Any, u: Any) -> tuple[Any, Any]:
    part = 1 / (1 + np.exp(-2 * np.sinh(u)))
    return low + (high - low) * part, (high - low) * part * (1 - part) * 2 * np.cosh(u)


def _trapezoid(function: Any, low: Any, high: Any, at: Scene) -> tuple[Any, Any]:
    """Return an integral in floats and ten times what half the steps or half the width change."""
    width, path = _paths(low, high, at)
    steps = 1024 if at.depth == 1 else 192
    nodes = np.linspace(-width, width, 2 * steps + 1).reshape(-1, *(1,) * at.depth)
    x, slope = path(nodes, at)
    terms = function(x, at.having({}, depth=at.depth + 1)) * slope
    terms = np.broadcast_to(terms, np.broadcast_shapes(np.shape(terms), nodes.shape))
    if terms.size > 3 * 10**7:
        raise Unknown("an integral of too many terms")
    terms = _without_overflow(terms)
    step, half = width / steps, steps // 2
    fine, coarse = terms.sum(axis=0) * step, terms[::2].sum(axis=0) * 2 * step
    narrow = terms[half:-half].sum(axis=0) * step
    error = 10 * abs(fine - coarse) + 1e-13 * abs(terms).sum(axis=0) * step
    return fine, error if width == _FINITE else error + 10 * abs(fine - narrow)


def _without_overflow(terms: Any) -> Any:
    """Return the terms of a rule with 0 where floats overflow, if those beside these are negligible."""
    bad = ~np.isfinite(terms)
    if not bad.any():
        return terms
    sizes = np.where(bad, 0.0, abs(np.where(bad, 0, terms)))
    beside = np.zeros_like(bad)
    beside[1:] |= bad[:-1]
    beside[:-1] |= bad[1:]
    if np.any(sizes[beside] > 1e-20 * sizes.max()):
        raise Unknown("an integral that overflows")
    return np.where(bad, 0, terms)


def _rigorous(function: Any, low: Any, high: Any, at: Scene) -> Any:
    if oo not in {high, -low}:
        ends = acb(value(low, at)), acb(value(high, at))
        return _real_part(_quadrature(lambda x, inside: function(x, inside), *ends, at), at)
    width, path = _paths(low, high, at)

    def in_path(u: Any, inside: Scene) -> Any:
        x, slope = path(u, inside)
        return function(x, inside) * slope

    w = int(width)
    narrow = _quadrature(in_path, acb(-w // 2), acb(w // 2), at)
    wide = narrow + sum(_quadrature(in_path, acb(a), acb(b), at) for a, b in ((-w, -w // 2), (w // 2, w)))
    if wide.real > 2 * narrow.real + 1 and narrow.real > 0:
        return arb.pos_inf()
    if not wide.is_finite():
        raise Unknown("an integral that is not resolved")
    missed = arb(0, (10 * abs(wide - narrow) + arb("1e-30")).upper())
    return _real_part(wide + missed, at)


def _real_part(found: Any, at: Scene) -> Any:
    return found.real if at.analytic is None and found.imag.contains(0) else found


def _quadrature(function: Any, low: Any, high: Any, at: Scene) -> Any:
    stopped: list[Exception] = []

    def integrand(u: Any, analytic: bool) -> Any:
        # Nothing may be raised inside the library: what is raised is kept, and told afterwards.
        try:
            at.hurry()
            return acb("nan") if stopped else acb(function(u, at.having({}, analytic=analytic)))
        except Undefined:
            return acb("nan")
        except (Unknown, OutOfTime) as error:
            stopped.append(error)
            return acb("nan")

    found = acb.integral(integrand, low, high, rel_tol=arb("1e-14"), abs_tol=arb("1e-30"), eval_limit=6000)
    if stopped:
        raise stopped[0]
    return found


# Derivatives, limits and matrices.


def _derivative(expression: Any, at: Scene) -> Any:
    return value(_differentiated(expression, tuple(at.definitions.items())), at)


@cache
def _differentiated(expression: Any, definitions: tuple[tuple[Any, Any], ...]) -> Any:
    """Return a derivative done by SymPy, definitions put in and all bound indices renamed first."""
    inside = _fresh(expression.expr)
    for name, meaning in definitions:
        if isinstance(name, Indexed):
            there = [one for one in inside.atoms(Indexed) if one.base == name.base]
            inside = inside.xreplace(
                {
                    one: _fresh(meaning).xreplace(dict(zip(name.indices, one.indices, strict=True)))
                    for one in there
                }
            )
        else:
            inside = inside.xreplace({name: _fresh(meaning)})
    unknown = inside.has(E, Var, Limit) or any(one.name == r"\max_i s_i" for one in inside.atoms(Symbol))
    if unknown:
        raise Unknown("a derivative of a mean, a limit or a largest score")
    return inside.diff(*expression.variables)


def _fresh(expression: Any) -> Any:
    """Return an expression with other names for what its sums bind."""

    def renamed(one: Any) -> Any:
        names = {index: Dummy(str(index), integer=True) for index in one.variables}
        limits = [(names[index], *(end.xreplace(names) for end in ends)) for index, *ends in one.limits]
        return Sum(one.function.xreplace(names), *limits)

    return expression.replace(lambda one: isinstance(one, Sum), renamed)


def _limit(expression: Any, at: Scene) -> Any:
    body, variable, to, direction = expression.args
    if at.within or at.arithmetic is not BALLS:
        return value(_by_sympy(expression), at)
    try:
        return _settled(
            body, variable, [_towards(to, direction, step, at) for step in (10**4, 10**8, 10**12)], at
        )
    except Unknown as error:
        if to != oo or "settle" in str(error):
            raise
        return _settled(body, variable, [20, 80, 320], at)


@cache
def _by_sympy(limit: Any) -> Any:
    found = limit.doit()
    if found.has(Limit):
        raise Unknown("a limit that SymPy does not take")
    return found


def _towards(to: Any, direction: Any, step: int, at: Scene) -> Any:
    if to in {oo, -oo}:
        return step if to == oo else -step
    return value(to, at) + arb(fmpq(1, step)) * (-1 if str(direction) == "-" else 1)


def _settled(body: Any, variable: Any, places: list[Any], at: Scene) -> Any:
    """Return the last of three values in a ball of ten times the last difference.

    Raises:
        Unknown: the second difference is not far smaller than the first.
    """
    one, two, three = (value(body, at.having({variable: place})) for place in places)
    before, last = abs(two - one), abs(three - two)
    scale = arb("1e-9") * (1 + abs(three))
    if not (last < scale or last * 5 < before):
        raise Unknown("a limit that does not settle")
    return three + arb(0, (10 * last + scale).upper())


def _trace(expression: Any, at: Scene) -> Any:
    matrix = _matrix(expression.arg, at)
    return at.arithmetic.lift(matrix.trace())


def _matrix_entry(expression: Any, at: Scene) -> Any:
    parent, *place = expression.args
    matrix = _matrix(parent, at)
    row, column = (whole(one, at) for one in place)
    return at.arithmetic.lift(matrix[row, column])


def _matrix(expression: Any, at: Scene) -> Any:
    """Return a matrix of balls.

    Raises:
        Unknown: it is none that is known here.
    """
    at = at.having({}, arithmetic=BALLS)
    known = at.values.get(expression)
    if known is not None:
        return known
    if isinstance(expression, Transpose):
        return _matrix(expression.arg, at).transpose()
    if isinstance(expression, MatAdd):
        return reduce(lambda a, b: a + b, (_matrix(one, at) for one in expression.args))
    if isinstance(expression, MatMul):
        return reduce(
            _times, (_matrix(one, at) if one.is_Matrix else value(one, at) for one in expression.args)
        )
    if isinstance(expression, MatPow):
        base, exponent = _matrix(expression.base, at), whole(expression.exp, at)
        return base**exponent if exponent >= 0 else base.inv() ** -exponent
    if isinstance(expression, ImmutableDenseMatrix):
        return arb_mat([[value(one, at) for one in row] for row in expression.tolist()])
    raise Unknown(f"the matrix {type(expression).__name__}")


def _times(a: Any, b: Any) -> Any:
    return b * a if isinstance(a, arb) and isinstance(b, arb_mat) else a * b


def values(side: Any, at: Scene) -> list[Any]:
    """Return the values of a side: several of a matrix, a shape or a tuple."""
    if isinstance(side, Shape):
        return [value(S(one), at) for one in side.args[0].shape]
    if getattr(side, "is_Matrix", False):
        return list(_matrix(side, at).entries())
    if type(side).__name__ == "Tuple":
        return [value(one, at) for one in side.args]
    return [value(side, at)]


HANDLERS: dict[Any, Any] = {
    Add: _sum_of, Mul: _product_of, Pow: _power_of, Symbol: _symbol, Indexed: _entry, Sum: _total,
    Integral: _integral, Derivative: _derivative, Limit: _limit, KroneckerDelta: _delta,
    Trace: _trace, MatrixElement: _matrix_entry, MatrixSymbol: _unknown,
    Integer: lambda one, at: at.arithmetic.lift(int(one.p)),
    Rational: lambda one, at: at.arithmetic.lift(fraction(one)),
    Float: _unknown,
    NumberSymbol: lambda one, at: at.arithmetic.constant(one),
    ImaginaryUnit: lambda one, at: at.arithmetic.constant(one),
    type(S.Infinity): lambda one, at: at.arithmetic.constant(one),
    type(S.NegativeInfinity): lambda one, at: at.arithmetic.constant(one),
    **dict.fromkeys([*_PLAIN, *_IN_BALLS], _function_of),
}  # fmt: skip
"""What evaluates a node, by its type; means add theirs."""
