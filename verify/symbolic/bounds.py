"""Checks of bounds by calculus: signs of slopes and curvatures, and roots of polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sympy import Dummy, Poly, Rational, S, diff, expand, factor, factor_list, oo, tanh, together
from sympy.calculus.util import minimum

from verify.symbolic.algebra import is_zero
from verify.symbolic.expectation import E, pointwise
from verify.symbolic.printing import latex

if TYPE_CHECKING:
    from verify.symbolic.checks import Reach

Bound = Literal["≤", "≥"]


@dataclass(frozen=True)
class Jensen:
    """The mean of a function of ``variable`` is bounded by the function of its mean."""

    variable: Any
    relation: Bound = "≤"
    reach: ClassVar[Reach] = "general"

    @property
    def label(self) -> str:
        """How the step is checked, in words."""
        curved = "concave" if self.relation == "≤" else "convex"
        return f"SymPy: {curved} in ${latex(self.variable)}$, by the sign of the second derivative"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether what is averaged is curved one way, and its value at the mean is the other side."""
        inside = pointwise(before)
        curvature = factor(together(diff(inside, self.variable, 2)))
        gap = inside.subs(self.variable, E(self.variable)) - after
        means = {mean: Dummy(positive=True) for mean in gap.atoms(E)}
        return _has_sign(curvature, self.relation) and is_zero(gap.xreplace(means))


@dataclass(frozen=True)
class AtItsLeast:
    """An expression falls, or rises, as an ``argument`` in it grows, and is put where that is ``least``."""

    argument: Any
    least: Any
    relation: Bound = "≤"
    reach: ClassVar[Reach] = "general"

    @property
    def label(self) -> str:
        """How the step is checked, in words."""
        moves = "falls" if self.relation == "≤" else "rises"
        return f"SymPy: it {moves} as ${latex(self.argument)}$ grows from ${latex(self.least)}$"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether the slope has one sign from there on, and the value there is the other side."""
        beyond, at = Dummy(nonnegative=True), Dummy()
        moved = before.subs(self.argument, at)
        slope = factor(together(diff(moved, at).subs(at, self.least + beyond)))
        moves = _has_sign(slope, self.relation) and _is_least(self.argument, self.least)
        return moves and is_zero(moved.subs(at, self.least) - after)


@dataclass(frozen=True)
class AtItsMost:
    """A concave function of a ``variable`` is put where it is level, ``at`` its most."""

    variable: Any
    at: Any
    relation: ClassVar[Bound] = "≤"
    reach: ClassVar[Reach] = "general"

    @property
    def label(self) -> str:
        """How the step is checked, in words."""
        return f"SymPy: concave in ${latex(self.variable)}$, and level there"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether it curves downwards, its slope vanishes there, and its value is the other side."""
        concave = diff(before, self.variable, 2).is_negative
        level = is_zero(diff(before, self.variable).subs(self.variable, self.at))
        return bool(concave) and level and is_zero(before.subs(self.variable, self.at) - after)


def _is_least(argument: Any, least: Any) -> bool:
    """Return whether an expression, in one real symbol if that is not plain to see, is at least so much."""
    if (argument - least).is_nonnegative:
        return True
    (variable,) = argument.free_symbols
    return bool(minimum(argument, variable, S.Reals) >= least)


@dataclass(frozen=True)
class OnRange:
    """A polynomial bound in a ``variable`` from ``low``, where the sides are equal, to ``high``.

    By Sturm's theorem, which counts roots exactly: a proof for the whole range, not for points of it. At
    ``beyond`` the bound fails, so that the range is about as long as it can be.
    """

    variable: Any
    low: Any
    high: Any
    beyond: Any
    relation: Bound = "≤"
    reach: ClassVar[Reach] = "general"

    @property
    def label(self) -> str:
        """How the step is checked, in words."""
        ends = " to ".join(f"${latex(one)}$" for one in (self.low, self.high))
        return f"Sturm’s theorem: the difference has no root for ${latex(self.variable)}$ from {ends}"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether the bound holds in the range, and fails where it is said to."""
        gap = after - before if self.relation == "≤" else before - after
        tight = gap.subs(self.variable, self.low) == S.Zero and gap.subs(self.variable, self.beyond) < 0
        return bool(tight) and never_negative(gap, self.variable, self.low, self.high)


def never_negative(polynomial: Any, variable: Any, low: Any, high: Any) -> bool:
    """Return whether a polynomial with rational coefficients is nowhere negative between two ends.

    Exact: it is if it is positive at one place, and if no factor of an odd power has a root inside (Sturm's
    theorem), at which it would change its sign.
    """
    if polynomial == S.Zero:
        return True
    _, factors = factor_list(polynomial, variable)
    odd = (Poly(one, variable) for one, power in factors if power % 2)
    if any(_roots_inside(one, low, high) for one in odd):
        return False
    # More places than the polynomial has roots, so that it is not 0 at all of them.
    parts = Poly(polynomial, variable).degree() + 2
    width = 1 if high == oo else high - low
    values = (polynomial.subs(variable, low + width * Rational(part, parts)) for part in range(1, parts))
    return bool(next(value for value in values if value != S.Zero) > 0)


def _roots_inside(polynomial: Poly, low: Any, high: Any) -> int:
    ends = sum(polynomial.eval(end) == 0 for end in (low, high) if end != oo)
    return int(polynomial.count_roots(low, None if high == oo else high) - ends)


@dataclass(frozen=True)
class FromZero:
    """A bound in an even function of a ``variable``, by derivatives in ``variable``/``unit``.

    Both sides differ by what is 0 where the variable is 0, as are its derivatives up to one that is a
    polynomial in the tanh alone and nowhere negative; so no smaller constant would do. Where the sides hold
    expectations, the bound is one of what is averaged, and so of the means.
    """

    variable: Any
    unit: Any = S.One
    most: int = 8
    reach: ClassVar[Reach] = "general"
    relation: ClassVar[Bound] = "≤"

    @property
    def label(self) -> str:
        """How the step is checked, in words."""
        return "SymPy: the gap and its derivatives are 0 at 0, and the last of them is nowhere negative"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether the derivatives show that."""
        x, t = Dummy(real=True), Dummy(real=True)
        gap = expand(pointwise(after - before).subs(self.variable, self.unit * x) / self.unit**2)
        even = expand(gap - gap.subs(x, -x)) == S.Zero
        for _ in range(self.most):
            polynomial = gap.subs(tanh(x), t)
            if not even or gap.subs(x, 0) != S.Zero:
                return False
            if not polynomial.has(x):
                return never_negative(polynomial, t, S.Zero, S.One)
            gap = expand(diff(gap, x))
        return False


def _has_sign(expression: Any, relation: Bound) -> bool:
    return bool(expression.is_nonpositive if relation == "≤" else expression.is_nonnegative)
