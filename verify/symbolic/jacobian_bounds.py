"""Chains that bound the norm of softmax's Jacobian, the largest xᵀJx/|x|², from both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sympy import Derivative, Dummy, Indexed, KroneckerDelta, Rational, S, Sum, diff, factor, symbols

from verify.symbolic.checks import By
from verify.symbolic.jacobian import ENTRY, FORM, LENGTH
from verify.symbolic.kernel.algebra import is_rational_zero, is_zero
from verify.symbolic.kernel.equations import Identity
from verify.symbolic.kernel.sums import SumIdentity, vanishes
from verify.symbolic.kernel.surplus import Surplus
from verify.symbolic.kernel.terms import Families
from verify.symbolic.kernel.words import n, p, x
from verify.symbolic.routes import Route, Step
from verify.symbolic.softmax import i, j

if TYPE_CHECKING:
    from collections.abc import Callable

QUOTIENT = FORM / LENGTH
VARIANCE = Sum(p[i] * x[i] ** 2, (i, 1, n)) - Sum(p[i] * x[i], (i, 1, n)) ** 2
BELOW_LARGEST = Sum(p[i] * x[i] ** 2, (i, 1, n))
ROW_SUMS = 2 * Sum(p[i] * (1 - p[i]) * x[i] ** 2, (i, 1, n))
BOUND = 2 * p[1] * (1 - p[1])
SMALLEST: Any = n / (n - 1) * p[1] * (1 - p[1])

_AT = Dummy("i", integer=True)
t = symbols("t", positive=True)
"""exp of the lead of the first score over all others, which are equal."""
LEADING = n * t / (t + n - 1) ** 2


def by_row_sums() -> Route:
    """Return the bound 2p₁(1 - p₁)|x|² of xᵀJx, where p₁ is the largest probability."""
    apart = 1 - KroneckerDelta(i, j)
    cross = Sum(apart * p[i] * p[j] * (x[i] + x[j]) ** 2, (i, 1, n), (j, 1, n)) / 2
    unequal = 2 * Sum((p[1] - p[i]) * (1 - p[1] - p[i]) * x[i] ** 2, (i, 1, n))
    return Route(
        r"The largest of all $x^{\mathsf T}Jx$: by the sums of rows",
        FORM,
        (
            Step(VARIANCE, "The variance of x under p", SumIdentity()),
            Step(
                ROW_SUMS,
                "Row i holds $p_i(1-p_i)$ twice in absolute value; the difference is "
                r"$\frac12\sum_{i\ne j} p_ip_j(x_i+x_j)^2$",
                Surplus(cross),
            ),
            Step(
                BOUND * LENGTH,
                "$p_1(1-p_1)$ is the largest of its kind: for other keys $p_1 \\ge p_i$ and "
                "$p_1 + p_i \\le 1$",
                Surplus(unequal, ordered=True),
            ),
        ),
    )


def by_largest() -> Route:
    """Return the bound p₁|x|² of xᵀJx."""
    mean = Sum(p[i] * x[i], (i, 1, n))
    below = Sum((p[1] - p[i]) * x[i] ** 2, (i, 1, n))
    return Route(
        "By the largest probability",
        FORM,
        (
            Step(VARIANCE, "The variance of x under p", SumIdentity()),
            Step(BELOW_LARGEST, "A square less is more", Surplus(mean**2)),
            Step(p[1] * LENGTH, "$p_1$ is the largest", Surplus(below, ordered=True)),
        ),
    )


def _is_over_length(before: Any, after: Any) -> bool:
    return bool(after == before / LENGTH)


def never_above_half() -> Route:
    """Return the bound ½ of 2p₁(1 - p₁)."""
    half = Rational(1, 2)
    return Route(
        "The sums of rows never exceed one half",
        BOUND * LENGTH,
        (
            Step(BOUND, "Over $|x|^2$", By("SymPy divides", _is_over_length), "⇒"),
            Step(half, r"The difference is $2(p_1-\frac12)^2$", Surplus(2 * (p[1] - half) ** 2)),
        ),
    )


def from_below() -> tuple[Route, Route]:
    """Return lower bounds of the norm, from two directions x: n/(n-1)·p₁(1-p₁), and p₂."""
    two = p[1] * p[2] * (p[1] + p[2]) / (p[1] ** 2 + p[2] ** 2)
    surplus = p[2] ** 2 * (p[1] - p[2]) / (p[1] ** 2 + p[2] ** 2)
    return (
        Route(
            "From below, in the direction of the first key",
            QUOTIENT,
            (
                Step(
                    SMALLEST,
                    "$x_1 = 1 - 1/n$, and $-1/n$ for all others",
                    _in_direction(lambda key: KroneckerDelta(key, 1) - 1 / n),
                    "⇒",
                ),
            ),
        ).defining(r"the norm is its largest value over all $x$"),
        Route(
            "From below, between the first two keys",
            QUOTIENT,
            (
                Step(
                    two,
                    "$x_1 = p_2$, $x_2 = -p_1$, and 0 for all others",
                    _in_direction(lambda key: KroneckerDelta(key, 1) * p[2] - KroneckerDelta(key, 2) * p[1]),
                    "⇒",
                ),
                Step(
                    p[2],
                    r"The difference is $p_2^2(p_1-p_2)/(p_1^2+p_2^2)$",
                    Surplus(surplus, "≥", ordered=True),
                ),
            ),
        ),
    )


def _in_direction(entry: Callable[[Any], Any]) -> By:
    """Return the check that puts a direction into xᵀJx/|x|², whose entries are a function of the index."""

    def holds(before: Any, after: Any) -> bool:
        chosen = before.replace(
            lambda one: isinstance(one, Indexed) and one.base == x, lambda one: entry(*one.indices)
        )
        return vanishes(chosen - after)

    return By("SymPy puts it in, for any number of keys", holds)


def one_ahead() -> Route:
    """Return how the norm moves with the lead of one key: up to n - 1, and then down."""
    slope = factor(diff(LEADING, t))
    return Route(
        "One key ahead of the others, which are equal: $p_1 = t/(t+n-1)$",
        SMALLEST,
        (
            Step(
                LEADING,
                "The lower bound is then an eigenvalue, and for $t\\ge1$ the largest",
                By("SymPy: all eigenvectors put in, for any number of keys", _is_largest_eigenvalue),
            ),
            Step(
                Derivative(LEADING, t),
                "How it changes with the lead",
                By("SymPy: differentiated", _is_derivative),
                "⇒",
            ),
            Step(slope, "Positive up to $t = n-1$, negative beyond", Identity()),
        ),
    )


def _is_largest_eigenvalue(before: Any, after: Any) -> bool:
    """Put in all eigenvectors: equal entries, the first against the others, and differences of two others.

    There are n of these, for the differences with the second key give n - 2, and they span everything.
    """
    ahead = Families(made_of={p: ((_AT,), (1 + (t - 1) * KroneckerDelta(_AT, 1)) / (t + n - 1))})
    other = 1 / (t + n - 1)
    leading = {p[1]: t * other}
    pairs: tuple[tuple[Callable[[Any], Any], Any], ...] = (
        (lambda _: S.One, S.Zero),
        (lambda index: KroneckerDelta(index, 1) - 1 / n, SMALLEST.xreplace(leading)),
        (lambda index: KroneckerDelta(index, 2) - KroneckerDelta(index, 3), other),
    )
    known = all(
        vanishes(Sum(ENTRY * vector(j), (j, 1, n)) - value * vector(i), ahead) for vector, value in pairs
    )
    more, lead = symbols("more lead", nonnegative=True)
    gaps = [factor((after - value).subs({n: more + 2, t: 1 + lead})) for _, value in pairs]
    largest = S.Zero in gaps and all(gap.is_nonnegative for gap in gaps)
    return known and largest and is_rational_zero(before.xreplace(leading) - after)


def _is_derivative(before: Any, after: Any) -> bool:
    return bool(after.expr == before and is_zero(after.doit() - diff(before, t)))
