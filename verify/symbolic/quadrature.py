"""Integrals: a first look by the trapezoid rule in floats, and rigorously in balls where it counts."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from flint import acb, arb
from sympy import Abs, Add, Integral, Max, Min, Mul, S, exp, factor, oo, sign

from verify.symbolic.arithmetics import EXACT, FLOATS, Undefined, Unknown
from verify.symbolic.balls import HANDLERS, Scene, value


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
    scene must be ``rigorous`` for balls that hold the value. On an infinite range what lies beyond 10^17 is
    taken to fall on as fast as it did.

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
        if np.size(fine) != 1:
            return None
        middle, error = complex(np.squeeze(fine)), float(np.squeeze(error))
    except (Unknown, Undefined, TypeError):
        return None
    if not (math.isfinite(abs(middle)) and middle != 0 and error < 1e-6 * (1e-3 + abs(middle))):
        return None
    real = arb(middle.real, error)
    return real if np.isrealobj(fine) else acb(real, arb(middle.imag, error))


_HALF, _WHOLE, _FINITE = 80.0, 40.0, 4.0


def _paths(low: Any, high: Any) -> tuple[float, Any]:
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
    """Return an integral in floats and ten times what half the steps or half the width change.

    Where all that counts is on few steps, these alone are gone over again; where steps are too long, once
    more in more of them.
    """
    width, path = _paths(low, high)
    steps = 1024 if at.depth == 1 else 256
    over, narrowed = (-width, width), False
    for _ in range(6):
        nodes = np.linspace(*over, 2 * steps + 1).reshape(-1, *(1,) * at.depth)
        terms = _terms(function, path, nodes, at)
        step, sizes = (over[1] - over[0]) / (2 * steps), abs(terms)
        few = _counting(nodes, sizes) if terms.size == len(terms) and step > 1e-9 else None
        if few is not None:
            over, narrowed = few, True
        elif at.depth == 1 and steps == 1024 and _is_coarse(terms, sizes):
            steps = 4096
        else:
            break
    fine, coarse = terms.sum(axis=0) * step, terms[::2].sum(axis=0) * 2 * step
    error = 10 * abs(fine - coarse) + 3e-9 * sizes.sum(axis=0) * step  # a logarithm of 10^7 has so few digits
    if not narrowed and width != _FINITE:
        error = error + 10 * abs(fine - terms[steps // 2 : -(steps // 2)].sum(axis=0) * step)
    return fine, error


def _counting(nodes: Any, sizes: Any) -> tuple[float, float] | None:
    """Return the ends of what counts of an integral if that is on few of the nodes, and within them."""
    counting = np.flatnonzero(sizes > 1e-17 * sizes.max())
    if not 0 < len(counting) < len(nodes) / 8 or counting[0] == 0 or counting[-1] == len(nodes) - 1:
        return None
    return float(nodes[counting[0] - 1].flat[0]), float(nodes[counting[-1] + 1].flat[0])


def _is_coarse(terms: Any, sizes: Any) -> bool:
    return bool(np.any(abs(terms.sum(axis=0) - 2 * terms[::2].sum(axis=0)) > 1e-10 * sizes.sum(axis=0)))


def _terms(function: Any, path: Any, nodes: Any, at: Scene) -> Any:
    x, slope = path(nodes, at)
    terms = function(x, at.having({}, depth=at.depth + 1)) * slope
    terms = np.broadcast_to(terms, np.broadcast_shapes(np.shape(terms), nodes.shape))
    if terms.size > 3 * 10**7:
        raise Unknown("an integral of too many terms")
    return _without_overflow(terms)


def _without_overflow(terms: Any) -> Any:
    """Return the terms of a rule with 0 where floats overflow, if those beside these are negligible."""
    bad = ~np.isfinite(terms)
    if not bad.any():
        return terms
    sizes = np.where(bad, 0.0, abs(np.where(bad, 0, terms)))
    beside = np.zeros(bad.shape, dtype=bool)
    beside[1:] |= bad[:-1]
    beside[:-1] |= bad[1:]
    if np.any(sizes[beside] > 1e-20 * sizes.max()):
        raise Unknown("an integral that overflows")
    return np.where(bad, 0, terms)


def _rigorous(function: Any, low: Any, high: Any, at: Scene) -> Any:
    if oo not in {high, -low}:
        ends = acb(value(low, at)), acb(value(high, at))
        return _real_part(_quadrature(function, *ends, at), at)
    width, path = _paths(low, high)

    def in_path(u: Any, inside: Scene) -> Any:
        x, slope = path(u, inside)
        return function(x, inside) * slope

    inner, middle, outer = (int(width * part) for part in (0.5, 0.75, 1))
    found = _quadrature(in_path, acb(-inner), acb(inner), at)
    for side in (1, -1):
        near, far = (
            side * _quadrature(in_path, acb(side * a), acb(side * b), at)
            for a, b in ((inner, middle), (middle, outer))
        )
        found = found + near + far
        missed = _tail(near, far, found)
        if not missed.is_finite():
            return missed
        found = found + arb(0, missed.upper())
    if not found.is_finite():
        raise Unknown("an integral that is not resolved")
    return _real_part(found, at)


def _tail(near: Any, far: Any, whole: Any) -> Any:
    """Return what is left of an integral beyond its last part, which is far less than the part before it.

    Raises:
        Unknown: it is not.
    """
    if abs(far) < arb("1e-20") * abs(whole) + arb("1e-30"):
        return arb("1e-30") + 2 * abs(far)
    if abs(far) * 2 < abs(near):
        return 2 * abs(far)
    if far.real > near.real and near.real > 0:
        return arb.pos_inf()
    raise Unknown("an integral whose tail falls slowly, or is not resolved")


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
        except Exception as error:  # noqa: BLE001  # it is raised below
            stopped.append(error)
            return acb("nan")

    found = acb.integral(integrand, low, high, rel_tol=arb("1e-14"), abs_tol=arb("1e-30"), eval_limit=6000)
    if stopped:
        raise stopped[0]
    return found


HANDLERS[Integral] = _integral
