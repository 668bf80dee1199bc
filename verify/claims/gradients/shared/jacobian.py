"""The Jacobian of softmax with symbolic n, and chains that bound its norm, the largest xᵀJx/|x|²."""

from typing import Any

import numpy as np
from sympy import (
    Derivative, Dummy, Float, Indexed, Integer, Interval, KroneckerDelta, Range, Rational, Sum, diff, factor,
    oo, symbols,
)  # fmt: skip

from verify.montecarlo.distributions import Array
from verify.symbolic.kernel.algebra import replaced
from verify.symbolic.kernel.entries import FamilyPutIn, with_entries
from verify.symbolic.kernel.equations import Applied, Identity, Replaced
from verify.symbolic.kernel.hypotheses import NOTHING
from verify.symbolic.kernel.sums import SumIdentity, Surplus
from verify.symbolic.kernel.words import M, n, p, x
from verify.symbolic.printing import function
from verify.symbolic.routes import Route, Step, one_step
from verify.symbolic.softmax import SQUARES, i, j

__all__ = [
    "CUBES", "ENTRY", "FORM", "FROBENIUS", "LENGTH", "M", "by_largest", "by_row_sums", "from_below",
    "never_above_half", "one_ahead", "t", "value", "x",
]  # fmt: skip

ENTRY = p[i] * (KroneckerDelta(i, j) - p[j])
"""J_ij, the derivative of probability i by score j."""

FORM = Sum(x[i] * ENTRY * x[j], (i, 1, n), (j, 1, n))
"""xᵀJx."""

LENGTH = Sum(x[i] ** 2, (i, 1, n))
"""|x|²."""

CUBES = Sum(p[i] ** 3, (i, 1, n))

FROBENIUS = SQUARES - 2 * CUBES + SQUARES**2
"""The squared Frobenius norm of J."""


_ENTRY = Dummy()


def value(expression: Any, probabilities: Array) -> float:
    """Return the number that a function of sums over the probabilities, and of single ones, is for these."""

    def total(summand: Any, limits: Any) -> Any:
        of_one = function((_ENTRY,), summand.xreplace({p[limits[0]]: _ENTRY}), "numpy")
        return Float(np.sum(np.broadcast_to(of_one(probabilities), probabilities.shape)))

    summed = replaced(expression, Sum, total)
    entries = {one: Float(probabilities[int(one.indices[0]) - 1]) for one in summed.atoms(Indexed)}
    return float(summed.xreplace(entries | {n: Integer(len(probabilities))}))


QUOTIENT = FORM / LENGTH
VARIANCE = Sum(p[i] * x[i] ** 2, (i, 1, n)) - Sum(p[i] * x[i], (i, 1, n)) ** 2
BELOW_LARGEST = Sum(p[i] * x[i] ** 2, (i, 1, n))
ROW_SUMS = 2 * Sum(p[i] * (1 - p[i]) * x[i] ** 2, (i, 1, n))
BOUND = 2 * p[1] * (1 - p[1])
SMALLEST: Any = n / (n - 1) * p[1] * (1 - p[1])

_AT = Dummy("i", integer=True)
_FIRST = KroneckerDelta(_AT, 1) - 1 / n  # the direction of the first key against all others, by index

t = symbols("t", positive=True)
"""exp of the lead of the first score over all others, which are equal."""
LEADING = n * t / (t + n - 1) ** 2
AHEAD = {p: ((_AT,), (1 + (t - 1) * KroneckerDelta(_AT, 1)) / (t + n - 1))}
"""The probabilities of such a row."""
QUOTIENT_AHEAD = with_entries(QUOTIENT, AHEAD)


def by_row_sums() -> Route:
    """Return the bound 2p₁(1 - p₁)|x|² of xᵀJx, where p₁ is the largest probability."""
    apart = 1 - KroneckerDelta(i, j)
    cross = Sum(apart * p[i] * p[j] * (x[i] + x[j]) ** 2, (i, 1, n), (j, 1, n)) / 2
    unequal = 2 * Sum((p[1] - p[i]) * (1 - p[1] - p[i]) * x[i] ** 2, (i, 1, n))
    return Route.of(
        r"The largest of all $x^{\mathsf T}Jx$: by the sums of rows",
        FORM,
        Step(VARIANCE, "The variance of x under p", SumIdentity()),
        Step(
            ROW_SUMS,
            "Row i holds $p_i(1-p_i)$ twice in absolute value; the difference is "
            r"$\frac12\sum_{i\ne j} p_ip_j(x_i+x_j)^2$",
            Surplus(cross),
        ),
        Step(
            BOUND * LENGTH,
            "$p_1(1-p_1)$ is the largest of its kind: for other keys $p_1 \\ge p_i$ and $p_1 + p_i \\le 1$",
            Surplus(unequal, ordered=True),
        ),
    )


def by_largest() -> Route:
    """Return the bound p₁|x|² of xᵀJx."""
    mean = Sum(p[i] * x[i], (i, 1, n))
    below = Sum((p[1] - p[i]) * x[i] ** 2, (i, 1, n))
    return Route.of(
        "By the largest probability",
        FORM,
        Step(VARIANCE, "The variance of x under p", SumIdentity()),
        Step(BELOW_LARGEST, "A square less is more", Surplus(mean**2)),
        Step(p[1] * LENGTH, "$p_1$ is the largest", Surplus(below, ordered=True)),
    )


def never_above_half() -> Route:
    """Return the bound ½ of the norm, over all rows."""
    half = Rational(1, 2)
    return Route.of(
        "The sums of rows never exceed one half",
        QUOTIENT,
        Step(BOUND, "Over $|x|^2$", Replaced(by_row_sums().proved())),
        Step(half, r"The difference is $2(p_1-\frac12)^2$", Surplus(2 * (p[1] - half) ** 2)),
        defines=r"the norm is its largest value over all $x$",
    )


def from_below() -> tuple[Route, Route]:
    """Return lower bounds of the norm, from two directions x: n/(n-1)·p₁(1-p₁), and p₂."""
    two = p[1] * p[2] * (p[1] + p[2]) / (p[1] ** 2 + p[2] ** 2)
    surplus = p[2] ** 2 * (p[1] - p[2]) / (p[1] ** 2 + p[2] ** 2)
    between = KroneckerDelta(_AT, 1) * p[2] - KroneckerDelta(_AT, 2) * p[1]
    return (
        _towards(
            "From below, in the direction of the first key", "$x_1 = 1 - 1/n$, and $-1/n$ for all others",
            QUOTIENT, _FIRST,
            Step(SMALLEST, "Probabilities sum to 1", SumIdentity()),
        ),
        _towards(
            "From below, between the first two keys", "$x_1 = p_2$, $x_2 = -p_1$, and 0 for all others",
            QUOTIENT, between,
            Step(two, "The deltas pick single terms", SumIdentity()),
            Step(p[2], r"The difference is $p_2^2(p_1-p_2)/(p_1^2+p_2^2)$",
                 Surplus(surplus, "≥", ordered=True)),
        ),
    )  # fmt: skip


def _towards(title: str, words: str, of: Any, entry: Any, *steps: Step) -> Route:
    """Return the chain of ``steps`` from an expression in a direction x, a function of the index."""
    direction = {x: ((_AT,), entry)}
    put_in = Step(with_entries(of, direction), words, FamilyPutIn(direction))
    return Route.of(title, of, put_in, *steps, under=NOTHING.restricted(n, Range(2, oo)))


def one_ahead() -> tuple[Route, Route, Route]:
    """Return the norm for one key ahead of the others, and how it moves with the lead.

    It is the largest xᵀJx/|x|²: a bound for every x, and a direction in which it is reached.
    """
    whole, both = Sum(x[i], (i, 1, n)) ** 2, (1 - KroneckerDelta(i, 1)) * (1 - KroneckerDelta(j, 1))
    others = Sum(both * (x[i] - x[j]) ** 2, (i, 1, n), (j, 1, n)) / 2
    hole, form = Dummy(), QUOTIENT_AHEAD * LENGTH
    slope = factor(diff(LEADING, t))
    above = Route.of(
        "One key ahead of the others, which are equal: $p_1 = t/(t+n-1)$",
        form,
        Step(
            LEADING * LENGTH,
            r"More by $\left(t(\sum x_i)^2+\frac{t-1}{2}\sum_{i,j\ne1}(x_i-x_j)^2\right)/(t+n-1)^2$",
            Surplus((t * whole + (t - 1) * others) / (t + n - 1) ** 2),
        ),
        Step(LEADING, "Over $|x|^2$", Applied(hole / LENGTH, hole)),
        under=NOTHING.restricted(t, Interval(1, oo)),
        defines=r"$x^{\mathsf T}Jx$ of such a row",
    )
    reached = _towards(
        "That much is reached in the direction of the first key",
        "$x_1 = 1 - 1/n$, and $-1/n$ for all others", QUOTIENT_AHEAD, _FIRST,
        Step(LEADING, "The deltas pick single terms", SumIdentity()),
    )  # fmt: skip
    moves = one_step(
        "How the norm changes with the lead",
        Derivative(LEADING, t),
        slope,
        "Positive up to $t = n-1$, negative beyond",
        Identity(),
    )
    return (
        above,
        reached.defining(r"$x^{\mathsf T}Jx/|x|^2$ of such a row"),
        moves.defining("the slope of the norm"),
    )
