"""The chains that show over how many of very many keys attention spreads: n·E Σp² tends to exp(σ²).

For every number of keys it lies between two functions of n and σ, which both tend there. They come of
shifting one score at a time under the normal density, which adds a share of its exponential to the total.
"""

from __future__ import annotations

from typing import Any

from sympy import Sum, Symbol, exp, symbols

from verify.symbolic.kernel.equations import Applied, PutIn, Replaced, Turned
from verify.symbolic.kernel.limits import Between, TimesPositive
from verify.symbolic.kernel.normal import Shifted
from verify.symbolic.kernel.sums import SumIdentity, Surplus
from verify.symbolic.kernel.words import E, n, s, sigma
from verify.symbolic.routes import Route, Step
from verify.symbolic.softmax import SQUARES, TOTAL, i

x, Z, a, c = symbols("x Z a c", positive=True)
"""An exponential, the total, any positive number, and a share of the exponential that comes on top."""

_ONE, _SIDE = exp(s[i]), Symbol("y")
_MEAN = exp(sigma**2 / 2)
"""The mean of one exponential."""

_ONCE, _TWICE = exp(sigma**2) - 1, exp(2 * sigma**2) - 1
"""Which share of its exponential a score adds that is shifted by σ², and by 2σ²."""

_AT_MOST = {Z: TOTAL, x: _ONE, c: _ONCE}
_AT_LEAST = {Z: TOTAL, x: _ONE, c: _TWICE, a: (n + _TWICE) * _MEAN}
_PUT_IN = r"Put in the exponential of score $i$, the total of all"


def _all(of_one: Any) -> Any:
    return Sum(of_one, (i, 1, n))


def _of_rows(values: dict[Any, Any], bound: Any) -> tuple[Step, Step, Step]:
    """Return the steps that take a bound in symbols to the mean of its sum over the keys of rows."""
    of_one = bound.xreplace(values)
    return (
        Step(of_one, _PUT_IN, PutIn(values)),
        Step(_all(of_one), "Summed over all keys", Applied(_all(_SIDE), _SIDE)),
        Step(E(_all(of_one)), "Averaged over rows", Applied(E(_SIDE), _SIDE)),
    )


def _falling() -> Route:
    """Return that a mean is larger without the share on top."""
    least, most = x / (Z + c * x) ** 2, x / Z**2
    return Route.of(
        "What comes on top makes it smaller",
        least,
        Step(most, "For positive numbers", Surplus(most - least.factor())),
        *_of_rows(_AT_MOST, most),
        defines="an exponential over a squared total, and a share on top",
    )


def _inverse_total() -> Route:
    """Return a bound of the mean of one over the total."""
    tangent, most = 1 / Z - c * x / Z**2, 1 / (Z + c * x)
    return Route.of(
        "One over the total",
        tangent,
        Step(most, "A convex function lies above its tangent", Surplus((c * x / Z) ** 2 * most)),
        *_of_rows(_AT_MOST, most),
        Step(
            E(_all(_ONE / TOTAL)) / _MEAN,
            r"Score $i$ is shifted by $-\sigma^2$: the share on top is gone, and $e^{s_i}$ comes before it",
            Shifted(s[i], -(sigma**2)),
        ),
        Step(1 / _MEAN, "The terms sum to 1", SumIdentity()),
        Step(E(_all(tangent.xreplace(_AT_MOST))), "Read from right to left", Turned()),
        Step((n - _ONCE) * E(1 / TOTAL), "The exponentials sum to the total", SumIdentity()),
        Step(E(1 / TOTAL), "Divided by what is positive for many keys", TimesPositive(1 / (n - _ONCE))),
        Step(1 / (_MEAN * (n - _ONCE)), "Read from left to right", Turned()),
        defines="the tangent of one over a total that grows by a share of one term",
    )


def _at_least() -> Route:
    """Return that n·E Σp² is at least a function that tends to exp(σ²)."""
    more = Z + c * x
    tangent, least = 3 / a**2 - 2 * more / a**3, more**-2
    of_rows = tangent.xreplace(_AT_LEAST)
    level = _AT_LEAST[a]
    return Route.of(
        "At least, for any number of keys",
        tangent,
        Step(
            least,
            "A convex function lies above its tangent",
            Surplus((more - a) ** 2 * (2 * more + a) / (more**2 * a**3)),
        ),
        *_of_rows(_AT_LEAST, least),
        Step(
            exp(-2 * sigma**2) * E(_all(_ONE**2 / TOTAL**2)),
            r"Score $i$ is shifted by $-2\sigma^2$: the share on top is gone, and $e^{2s_i}$ comes before it",
            Shifted(s[i], -2 * sigma**2),
        ),
        Step(exp(-2 * sigma**2) * E(SQUARES), "These are the squared weights", SumIdentity()),
        Step(E(_all(of_rows)), "Read from right to left", Turned()),
        Step(3 * n / level**2 - 2 * (n + _TWICE) * E(_all(_ONE)) / level**3, "Linear", SumIdentity()),
        Step(
            3 * n / level**2 - 2 * (n + _TWICE) * E(_all(_MEAN)) / level**3,
            r"The mean of an exponential, by a shift of $\sigma^2$",
            Shifted(s[i], sigma**2),
        ),
        Step(n / level**2, "Collecting terms", SumIdentity()),
        Step(
            n**2 * exp(sigma**2) / (n + _TWICE) ** 2,
            r"Times $n e^{2\sigma^2}$",
            TimesPositive(n * exp(2 * sigma**2)),
        ),
        defines="the tangent of one over a squared total at any number",
    )


def lemmas() -> tuple[Route, Route, Route]:
    """Return the bounds that the limit follows from."""
    return _falling(), _inverse_total(), _at_least()


def for_many() -> Route:
    """Return the limit, from an upper bound for many keys and a lower one for any number."""
    falling, inverse, at_least = (one.proved() for one in lemmas())
    factor = n * _MEAN**3
    return Route.of(
        "Many keys",
        n * E(SQUARES),
        Step(n * E(_all(_ONE**2 / TOTAL**2)), "The weights are exponentials over the total", SumIdentity()),
        Step(
            factor * falling.lhs,
            r"Score $i$ is shifted by $\sigma^2$, which turns one $e^{s_i}$ into a share on top",
            Shifted(s[i], sigma**2),
        ),
        Step(factor * falling.rhs, "Without the share on top it is more", Replaced(falling)),
        Step(factor * E(1 / TOTAL), "The exponentials sum to the total", SumIdentity()),
        Step(n * exp(sigma**2) / (n - _ONCE), "The bound of one over the total", Replaced(inverse)),
        Step(exp(sigma**2), "It lies between two bounds that tend there", Between(n, at_least)),
    )
