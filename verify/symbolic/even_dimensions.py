"""The tail of a score in an even dimension as a finite sum: it is the difference of two gamma numbers."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import (
    Dummy,
    I,
    Integral,
    S,
    Sum,
    Symbol,
    Tuple,
    binomial,
    diff,
    exp,
    expand,
    expand_log,
    factorial,
    gamma,
    gammasimp,
    log,
    loggamma,
    oo,
    powsimp,
)

from verify.symbolic import characteristic
from verify.symbolic.checks import by
from verify.symbolic.integrals import runs_over
from verify.symbolic.kernel.algebra import is_zero
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.integrals import euler_integral
from verify.symbolic.kernel.words import Ordered
from verify.symbolic.predict import function
from verify.symbolic.routes import Route, Step
from verify.symbolic.scores import d

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

b = Ordered("b", "b", positive=True)
TAIL = Symbol(r"P(q\cdot k > b)")
"""The chance of a score above b."""

m = Ordered("m", "a", integer=True, positive=True)
"""Half the dimension."""

k, i = Symbol("k", integer=True, nonnegative=True), Symbol("i", integer=True, nonnegative=True)
v, y = Symbol("v", positive=True), Symbol("y", positive=True)


def _density(order: Any, at: Any) -> Any:
    """Return the density of a gamma number of that order."""
    return at ** (order - 1) * exp(-at) / gamma(order)


_BOTH = Integral(_density(m, y) * Integral(_density(m, v), (v, b + y, oo)), (y, 0, oo))
"""The chance that the first of two gamma numbers of order m exceeds the other by more than b."""


@by("SymPy: the characteristic functions of both gamma numbers multiply to the score’s")
def _is_a_difference(before: Any, after: Any) -> bool:
    """They are (1 - it)^-m and, of what is subtracted, (1 + it)^-m: Laplace transforms at ∓it."""
    t, s = characteristic.t, Dummy(positive=True)
    base, power = euler_integral(_density(m, y) * exp(-s * y), y).as_base_exp()
    product = expand(base.subs(s, I * t) * base.subs(s, -I * t)) ** power
    of_score = bool(product == characteristic.OF_SCORE.subs(d, 2 * m))
    return before == TAIL and of_score and bool(after == _BOTH)


@by("induction over m: by parts the tail grows by the next term")
def _is_a_sum(before: Any, after: Any) -> bool:
    """The density of order m + 1 has the derivative g_m - g_(m+1), so that the tails differ by it."""
    (total,), c = after.atoms(Sum), b + y
    if before != _BOTH or not runs_over(after, (y, 0, oo)) or total.limits != (Tuple(k, 0, m - 1),):
        return False
    following = _density(m + 1, v)
    by_parts = powsimp(gammasimp(diff(following, v) - _density(m, v) + following))
    of_one = euler_integral(_density(S.One, v).subs(v, c + v), v) - exp(-c) * total.subs(m, 1).doit()
    grows = same(exp(-c) * total.function.subs(k, m), following.subs(v, c))
    put_in = bool(after.function == _density(m, y) * exp(-c) * total)
    return put_in and grows and by_parts == S.Zero and is_zero(of_one)


@by("SymPy: the binomial theorem, and Euler’s integral of every term")
def _term_by_term(before: Any, after: Any) -> bool:
    """Over k! the power of b + y has as its derivative in b the one before, and is y^k/k! for b = 0.

    So has and is the sum of b^i·y^(k - i)/(i!·(k - i)!) over i from 0 to k.
    """
    term = b**i * y ** (k - i) / (factorial(i) * factorial(k - i))
    (total,) = before.atoms(Sum)
    earlier = term.subs({i: i - 1, k: k - 1}, simultaneous=True)
    theorem = same(diff(term, b), earlier) and total.function == (b + y) ** k / factorial(k)
    sums = after.limits == (Tuple(i, 0, k), Tuple(k, 0, m - 1)) and total.limits == (Tuple(k, 0, m - 1),)
    one = euler_integral(before.function / total * term, y)
    return theorem and sums and runs_over(before, (y, 0, oo)) and same(one, after.function)


def tail() -> Route:
    """Return the tail of a score in 2m dimensions."""
    beyond = Sum((b + y) ** k / factorial(k), (k, 0, m - 1))
    term = exp(-b) * b**i / factorial(i) * binomial(m + k - i - 1, k - i) / 2 ** (m + k - i)
    return Route.of(
        "In an even dimension, $d_k = 2m$",
        TAIL,
        Step(
            _BOTH,
            "A score is the difference of two independent gamma numbers of order m",
            _is_a_difference,
        ),
        Step(
            Integral(_density(m, y) * exp(-b - y) * beyond, (y, 0, oo)),
            "The tail of a gamma number of whole order",
            _is_a_sum,
        ),
        Step(Sum(term, (i, 0, k), (k, 0, m - 1)), "Integrated term by term", _term_by_term),
    )


def value(total: Sum, given: Mapping[Any, float]) -> float:
    """Return a finite sum, whose inner ends may depend on outer indices, with ``given`` values put in.

    Its terms are products of what is positive. They are added up from their logarithms, for factors may be
    beyond double precision.
    """
    logarithm = _logarithm(total.function)
    return math.fsum(
        float(np.sum(np.exp(function(tuple(places), logarithm, "scipy")(*places.values()))))
        for places in _places(total.limits, given)
    )


@cache
def _logarithm(product: Any) -> Any:
    """Return the logarithm of a product of powers, factorials and binomial coefficients."""
    parts = expand_log(log(product.rewrite(gamma)), force=True)
    return parts.replace(
        lambda one: isinstance(one, log) and isinstance(one.args[0], gamma),
        lambda one: loggamma(*one.args[0].args),
    )


def _places(limits: Sequence[Any], given: Mapping[Any, float]) -> Iterator[Mapping[Any, Any]]:
    """Yield the values of all symbols, those of the innermost index at once as an array.

    The outermost index of a sum comes last.
    """
    *inner, (index, *ends) = limits
    low, high = (int(function(tuple(given), end)(*given.values())) for end in ends)
    if not inner:
        yield {**given, index: np.arange(low, high + 1, dtype=np.float64)}
        return
    for at in range(low, high + 1):
        yield from _places(inner, {**given, index: float(at)})
