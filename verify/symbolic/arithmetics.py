"""Three arithmetics: fractions, balls that hold the value, and floats by the thousand for a first look."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from flint import acb, arb, fmpq
from sympy import (
    Abs,
    Max,
    Min,
    Rational,
    S,
    besselk,
    binomial,
    cos,
    cosh,
    erf,
    erfc,
    erfinv,
    exp,
    factorial,
    gamma,
    log,
    sign,
    sin,
    sinh,
    tan,
    tanh,
)


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


class ExactArithmetic:
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
    def power(base: Any, exponent: Any, _at: Any) -> Any:
        """Return a whole power."""
        if exponent.q != 1 or abs(exponent) > 64:
            raise Unknown("no whole power")
        if base == 0 and exponent < 0:
            raise Undefined("1/0")
        return base ** int(exponent.p)

    @staticmethod
    def call(kind: Any, _arguments: list[Any], _at: Any) -> Any:
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
    def power(base: Any, exponent: Any, at: Any) -> Any:
        """Return a power, complex where a root of a negative number is taken.

        Raises:
            Undefined: 0 to a negative power.
        """
        if isinstance(exponent, arb) and exponent.is_exact() and exponent.is_integer():
            return whole_power(base, int(str(exponent.unique_fmpz())))
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
    def call(kind: Any, arguments: list[Any], at: Any) -> Any:
        """Return a function's value."""
        if kind in _PLAIN:
            method = getattr(arguments[0], _PLAIN[kind], None)
            if method is None:
                raise Unknown(f"{kind.__name__} of a complex number")
            return method()
        return _IN_BALLS[kind](at, *arguments)


def whole_power(base: Any, exponent: int) -> Any:
    """Return a power by products, which keep a ball around 0 a ball.

    Raises:
        Undefined: 0 to a negative power.
    """
    if exponent < 0:
        if base == 0:
            raise Undefined("1/0")
        return 1 / whole_power(base, -exponent)
    found = arb(1)
    while exponent:
        found = found * base if exponent & 1 else found
        exponent >>= 1
        base = base * base if exponent else base
    return found


_PLAIN = {exp: "exp", tanh: "tanh", sinh: "sinh", cosh: "cosh", sin: "sin", cos: "cos", tan: "tan",
          erf: "erf", erfc: "erfc", erfinv: "erfinv"}  # fmt: skip


def _log(at: Any, x: Any) -> Any:
    if x == 0:
        raise Undefined("ln 0")
    if isinstance(x, acb) or x < 0:
        return acb(x).log(analytic=bool(at.analytic))
    return x.log()


def _gamma(_at: Any, x: Any) -> Any:
    if isinstance(x, arb) and x.is_exact() and x.is_integer() and x <= 0:
        raise Undefined(f"gamma at {x}")
    return x.gamma()


def _binomial(at: Any, above: Any, below: Any) -> Any:
    return _gamma(at, above + 1) * (below + 1).rgamma() * (above - below + 1).rgamma()


def _bessel_k(_at: Any, order: Any, x: Any) -> Any:
    if x == 0:
        raise Undefined("K at 0")
    if isinstance(x, acb) and not x.real > 0:
        return acb("nan")
    return x.bessel_k(order)


def _absolute(at: Any, x: Any) -> Any:
    return abs(x) if at.analytic is None or isinstance(x, arb) else x.real_abs(analytic=at.analytic)


def _sign(at: Any, x: Any) -> Any:
    if isinstance(x, arb):
        return x.sgn()
    if at.analytic is None:
        raise Unknown("sign of a complex number")
    return x.real_sgn(analytic=at.analytic)


def _largest(at: Any, *several: Any) -> Any:
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
    def power(base: Any, exponent: Any, _at: Any) -> Any:
        """Return a power."""
        return np.sqrt(base) if np.ndim(exponent) == 0 and exponent == 0.5 else base**exponent

    @staticmethod
    def call(kind: Any, arguments: list[Any], _at: Any) -> Any:
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
    exp: np.exp, log: np.log, tanh: np.tanh, sinh: np.sinh, cosh: np.cosh, sin: np.sin, cos: np.cos,
    tan: np.tan, Abs: np.abs, sign: np.sign, erf: _each(math.erf), erfc: _each(math.erfc),
    gamma: _each(math.gamma),
    factorial: lambda x: _each(math.gamma)(x + 1),
    Max: lambda *several: reduce(np.maximum, several), Min: lambda *several: reduce(np.minimum, several),
}  # fmt: skip


def log_gamma(x: Any) -> Any:
    """Return the logarithm of the gamma function where it is positive."""
    found = _each(math.lgamma)(x)
    return np.where(np.asarray(x) > 0, found, np.nan)


FUNCTIONS = (*_PLAIN, *_IN_BALLS)
"""The functions that are evaluated."""

EXACT, BALLS, FLOATS = ExactArithmetic(), Balls(), Floats()


def plain_float(raw: Any) -> float:
    """Return a raw number as a float of Python's."""
    return float(FLOATS.lift(raw))
