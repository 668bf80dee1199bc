"""How the mean squared norm of softmax's Jacobian falls as scores grow: an identity, a bound and the limit.

Scores are independent and normal with mean 0 and standard deviation σ, as they are for one query and normal
keys. At last σ·E‖J‖² tends to a third of M_n: what the identity averages is nearly the largest score. What is
left over grows as the root of σ at most, so that over σ it vanishes, and two bounds have one limit.
"""

import math
from typing import Any

import numpy as np
from sympy import (
    Derivative, Integral, KroneckerDelta, Range, Rational, Sum, Symbol, exp, gamma, log, oo, sqrt,
)  # fmt: skip

from verify.claims.gradients.shared.jacobian import FROBENIUS
from verify.symbolic import extremes
from verify.symbolic.extremes import BELOW, BY_DENSITY, LARGEST, NORMAL_DENSITY, TIES, by_definition, z
from verify.symbolic.kernel.equations import Applied, Replaced, Turned
from verify.symbolic.kernel.hypotheses import Hypotheses
from verify.symbolic.kernel.integrals import EulerIntegrals, IntegralByParts, Primitive
from verify.symbolic.kernel.limits import Between, TimesPositive
from verify.symbolic.kernel.moments import Evaluation
from verify.symbolic.kernel.normal import NORMAL_SCORES, ByParts, EvenIsMost, LargestScore, OneOfAll
from verify.symbolic.kernel.sums import FewKeys, SumIdentity, Surplus
from verify.symbolic.kernel.terms import in_scores
from verify.symbolic.kernel.transforms import LargestOfNormal
from verify.symbolic.kernel.words import E, Ordered, largest, n, p, s, sigma
from verify.symbolic.law import lengths
from verify.symbolic.printing import function
from verify.symbolic.routes import Route, Step, one_step
from verify.symbolic.scores import d
from verify.symbolic.softmax import ENTROPY, SQUARES, TOTAL, i, j

g, r = Ordered("g", "g", positive=True), Symbol("r", positive=True)
"""Variables of integration: the gap of two scores, a query's length."""

OF_GAP = 4 * exp(2 * g) / (1 + exp(g)) ** 4
"""The squared norm of the Jacobian of two keys with a gap g between their scores."""

LENGTH_DENSITY = r ** (d - 1) * exp(-(r**2) / 2) / (2 ** (d / 2 - 1) * gamma(d / 2))
"""The density of the length of a query with d standard normal components."""

VALUES = Sum(s[j] * p[j], (j, 1, n))
PASSED = 2 * Sum(s[j] * p[j] ** 2, (j, 1, n)) - SQUARES * VALUES
"""The mean score of a row, and what is averaged in the identity."""


def identity() -> Route:
    """Return E‖J‖² as a mean of scores, exactly, for every number of keys and every deviation."""
    field = Rational(2, 3) * p[j] ** 2 - p[j] * SQUARES / 3
    return Route.of(
        "By parts over normal scores: an identity for all n and σ",
        E(FROBENIUS),
        Step(
            E(Sum(Derivative(in_scores(field), s[j]), (j, 1, n))),
            r"The squared norm is the divergence of $\frac23p_j^2 - \frac13p_j\sum p_i^2$",
            SumIdentity(),
        ),
        Step(
            E(Sum(s[j] * field, (j, 1, n))) / sigma**2,
            r"Gaussian integration by parts: $\mathbb{E}\,\partial F/\partial s_j = "
            r"\mathbb{E}[s_jF]/\sigma^2$",
            ByParts(field),
        ),
        Step(E(PASSED) / (3 * sigma**2), "Collecting terms", SumIdentity()),
        defines="the mean squared norm of the Jacobian",
    )


def by_ties() -> Route:
    """Return the same limit another way: how often the two largest scores tie, times what a tie passes."""
    share, boundary = 1 / (1 + exp(-g)), -n * NORMAL_DENSITY * BELOW ** (n - 1) / 3
    return Route.of(
        "By ties: the density of a tie of the two largest, times what a tie passes on",
        TIES * Integral(OF_GAP, (g, 0, oo)),
        Step(
            TIES / 3,
            r"With $p = 1/(1+e^{-g})$: $\int 4p(1-p)\,dp$ from ½ to 1",
            Primitive(g, 2 * share**2 - 4 * share**3 / 3),
        ),
        Step(BY_DENSITY / 3, r"By parts, for $z\varphi(z) = -\varphi'(z)$", IntegralByParts(z, boundary)),
        by_definition(Rational(1, 3)),
        under=Hypotheses().restricted(n, Range(2, oo)),
        defines="how densely the two largest tie, times what a tie adds",
    )


def bound() -> Route:
    """Return a bound that holds for every number of keys and every deviation."""
    apart = 1 - KroneckerDelta(i, j)
    pairs = (1 - p[i] - p[j], (p[i] - p[j]) ** 2)
    rest = sum(Sum(apart * p[i] * p[j] * one, (i, 1, n), (j, 1, n)) for one in pairs) / 2
    below_largest = Sum(p[j] * (largest - s[j]), (j, 1, n))
    return Route.of(
        "A bound for all n and σ",
        E(FROBENIUS),
        Step(
            E(1 - SQUARES) / 2,
            "No eigenvalue is above ½, and their sum is the trace",
            Surplus(rest),
        ),
        Step(E(VALUES) / (2 * sigma**2), "Gaussian integration by parts", ByParts(p[j] / 2)),
        Step(
            E(largest) / (2 * sigma**2),
            "A mean of scores is no more than the largest",
            Surplus(below_largest / (2 * sigma**2)),
        ),
        Step(
            BY_DENSITY / (2 * sigma),
            "Scores are σ times standard normal variables, "
            r"all of them at most z with probability $\Phi(z)^n$",
            LargestOfNormal(z),
        ),
        by_definition(1 / (2 * sigma)),
    )


def two_keys() -> Route:
    """Return the squared norm for two keys as a function of the gap of their scores."""
    return one_step(
        "Two keys with scores a gap g apart",
        FROBENIUS.subs(n, 2),
        OF_GAP.subs(g, s[1] - s[2]),
        "Put in $p_1 = 1/(1+e^{-g})$ and $p_2 = 1 - p_1$, the gap g being $s_1 - s_2$",
        FewKeys(2),
        defines="the squared norm of the Jacobian of two keys",
    )


def inverse_length() -> Route:
    """Return the mean of one over the length of a query with standard normal components."""
    return one_step(
        "Unscaled, σ is the length of the query: the mean of one over it",
        Integral(LENGTH_DENSITY / r, (r, 0, oo)),
        gamma((d - 1) / 2) / (sqrt(2) * gamma(d / 2)),
        "The integral is a gamma function again, for $d_k > 1$",
        EulerIntegrals(r),
        defines="the mean of one over a length of this density",
    )


def of_two_keys(dimension: float, scale: float) -> float:
    """Return E‖J‖² for two keys: the mean of ``OF_GAP`` over normal gaps, and over the query's length."""
    length, probability = lengths(dimension)
    # Gaps over their deviation, by the trapezoid rule in the logarithm; beyond the last gap nothing is left.
    logarithm = np.arange(-37.0, 2.3, 0.1)
    normal = np.exp(logarithm - np.exp(2 * logarithm) / 2)
    gaps = np.minimum(math.sqrt(2) * scale * np.outer(length, np.exp(logarithm)), 170.0)
    passed = function((g,), OF_GAP, "numpy")(gaps)
    return float(probability @ passed @ (normal / np.sum(normal)))


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
