"""How the mean squared norm of softmax's Jacobian falls at last: σ·E‖J‖² tends to a third of M_n.

What the identity averages is nearly the largest score. What is left over grows as the root of σ at most, so
that over σ it vanishes, and σ·E‖J‖² lies between two bounds with one limit.
"""

from __future__ import annotations

from typing import Any

from sympy import Rational, Sum, Symbol, exp, log, sqrt

from verify.claims.gradients.shared.saturation import VALUES, identity
from verify.symbolic import extremes
from verify.symbolic.extremes import LARGEST
from verify.symbolic.kernel.equations import Applied, Replaced, Turned
from verify.symbolic.kernel.limits import Between, TimesPositive
from verify.symbolic.kernel.moments import Evaluation
from verify.symbolic.kernel.normal import NORMAL_SCORES, ByParts, EvenIsMost, LargestScore, OneOfAll
from verify.symbolic.kernel.sums import SumIdentity, Surplus
from verify.symbolic.kernel.words import E, largest, n, p, s, sigma
from verify.symbolic.routes import Route, Step
from verify.symbolic.softmax import ENTROPY, SQUARES, TOTAL, i, j

_BELOW = Sum(p[j] * (largest - s[j]), (j, 1, n))
_UNEVEN = Sum(p[i] * (1 - p[i]), (i, 1, n))
"""How far the mean score is below the largest, and how far Σp² is below 1."""

_SMALL = sigma ** Rational(-3, 2)
_LEFT = (_SMALL * largest**2 + _UNEVEN / _SMALL) / 2 + 2 * _BELOW
"""A small weight, for |ab| is at most (εa² + b²/ε)/2, and what the largest score leaves over with it."""

_TERM, _SIDE = Symbol("y", positive=True), Symbol("y")


def _largest_is_one() -> tuple[Route, Route]:
    """Return that the total is at least its largest term, and the squares at least the largest square."""
    squares = Sum(s[j] ** 2, (j, 1, n))
    return (
        Route.of(
            "The largest score is one of them",
            exp(largest),
            Step(TOTAL, "The total has its exponential as one of its terms", OneOfAll()),
            Step(log(TOTAL), "The logarithm rises", Applied(log(_TERM), _TERM)),
            Step(E(log(TOTAL)), "Averaged", Applied(E(_SIDE), _SIDE)),
            Step(E(largest), "Read from right to left", Turned()),
            defines="the exponential of the largest score",
        ),
        Route.of(
            "Its square is one of the squares",
            largest**2,
            Step(squares, "A sum of squares has it as one of its terms", OneOfAll()),
            Step(E(squares), "Averaged", Applied(E(_SIDE), _SIDE)),
            defines="the square of the largest score",
        ),
    )


def _below() -> Route:
    """Return that the mean score is below the largest by no more than the logarithm of their number."""
    total, _ = (one.proved() for one in _largest_is_one())
    return Route.of(
        "How far the mean score is below the largest",
        E(_BELOW),
        Step(
            E(largest) - total.lhs + E(ENTROPY),
            "The entropy is the logarithm of the total, less the mean score",
            SumIdentity(),
        ),
        Step(E(ENTROPY), "The largest score is at most that logarithm", Replaced(total)),
        Step(log(n), "No entropy is more", EvenIsMost()),
        defines="the mean distance of the largest score from the mean under the weights",
    )


def _left_over() -> Route:
    """Return that the mean of what the largest score leaves over grows as the root of σ at most."""
    below, (_, square) = _below().proved(), (one.proved() for one in _largest_is_one())
    spread = E(_UNEVEN) / (2 * _SMALL)
    mean_square, to_largest = _SMALL * square.lhs / 2, E(largest) / (2 * _SMALL * sigma**2)
    of_squares = _SMALL * square.rhs / 2
    return Route.of(
        "What the largest score leaves over",
        E(_LEFT),
        Step(mean_square + spread + 2 * E(_BELOW), "Term by term", SumIdentity()),
        Step(of_squares + spread + 2 * E(_BELOW), "The largest square is one of them", Replaced(square)),
        Step(
            of_squares + E(VALUES) / (2 * _SMALL * sigma**2) + 2 * E(_BELOW),
            "Gaussian integration by parts",
            ByParts(p[j] / (2 * _SMALL)),
        ),
        Step(
            of_squares + to_largest + 2 * E(_BELOW),
            "A mean of scores is no more than the largest",
            Surplus(_BELOW / (2 * _SMALL * sigma**2)),
        ),
        Step(of_squares + to_largest + 2 * below.rhs, "The bound of that distance", Replaced(below)),
        Step(
            of_squares + sqrt(2 * log(n)) / (2 * _SMALL * sigma) + 2 * log(n),
            "The largest of $n$ normal scores",
            LargestScore(),
        ),
        Step(
            _SMALL * n * sigma**2 / 2 + sqrt(2 * log(n)) / (2 * _SMALL * sigma) + 2 * log(n),
            "The variances",
            Evaluation(NORMAL_SCORES, assumed=True),
        ),
        defines="the mean of parts of squares, and of how far the mean score is below the largest",
    )


def _near(title: str, sign: int, surplus: Any) -> Route:
    """Return a bound of σ·E‖J‖² on one side: a third of the mean largest, and what that leaves over."""
    identical, most, level = (one.proved() for one in (identity(), _left_over(), _scaled()))
    factor = 1 / (3 * sigma)
    return Route.of(
        title,
        sigma * identical.lhs,
        Step(sigma * identical.rhs, "The identity", Replaced(identical)),
        Step(
            factor * (E(largest) + sign * E(_LEFT)),
            "All but a little of the probability goes to the largest score",
            Surplus(factor * surplus, "≤" if sign > 0 else "≥"),
        ),
        Step(factor * (E(largest) + sign * most.rhs), "What is left over at most", Replaced(most)),
        Step(
            factor * (level.rhs + sign * most.rhs),
            "The largest is σ times that of standard normal ones",
            Replaced(level),
        ),
    )


def _scaled() -> Route:
    """Return the mean of the largest score as a multiple of that of standard normal variables."""
    return extremes.largest().then(
        Step(sigma * LARGEST, "Times their standard deviation", TimesPositive(sigma))
    )


def _at_least() -> Route:
    """Return the bound of σ·E‖J‖² from below."""
    nearly = Sum(p[j] * (1 - p[j]) * (largest - s[j]), (j, 1, n))
    apart = (_SMALL * largest - _UNEVEN) ** 2 + _UNEVEN * SQUARES
    return _near("At least", -1, apart / (2 * _SMALL) + 2 * nearly + SQUARES * _BELOW)


def lemmas() -> tuple[Route, ...]:
    """Return the chains that the limit follows from, besides the identity."""
    return (*_largest_is_one(), _below(), _left_over(), _at_least())


def limit() -> Route:
    """Return the limit, from the identity and two bounds."""
    squared = Sum(p[j] ** 2 * (largest - s[j]), (j, 1, n))
    apart = (_SMALL * largest + _UNEVEN) ** 2 + _UNEVEN * SQUARES
    at_most = _near("By the identity", 1, apart / (2 * _SMALL) + 2 * squared + (1 + _UNEVEN) * _BELOW)
    return at_most.then(
        Step(
            LARGEST / 3,
            "What is left over, over σ, tends to 0: both bounds have this limit",
            Between(sigma, _at_least().proved()),
        )
    )
