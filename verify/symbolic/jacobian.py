"""The Jacobian of softmax with symbolic n, and checks of bounds on it that are exact for a few keys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sympy import (
    Add,
    Dummy,
    Float,
    Integer,
    KroneckerDelta,
    Mul,
    S,
    Sum,
    Symbol,
    factor,
    fraction,
    lambdify,
    symbols,
    together,
)

from verify.symbolic.printing import Ordered, OrderedBase
from verify.symbolic.softmax import SQUARES, i, j, n, p

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verify.symbolic.derivation import Reach

    Array = NDArray[np.float64]

x = OrderedBase(Ordered("x", "x"))
"""Any real vector."""

M = Ordered("M", "M", positive=True)
"""A bound on the entries of a vector."""

ENTRY = p[i] * (KroneckerDelta(i, j) - p[j])
"""J_ij, the derivative of probability i by score j."""

FORM = Sum(x[i] * ENTRY * x[j], (i, 1, n), (j, 1, n))
"""xᵀJx."""

LENGTH = Sum(x[i] ** 2, (i, 1, n))
"""|x|²."""

CUBES = Sum(p[i] ** 3, (i, 1, n))

FROBENIUS = SQUARES - 2 * CUBES + SQUARES**2
"""The squared Frobenius norm of J."""


@dataclass(frozen=True)
class Surplus:
    """The larger side is the smaller one plus ``surplus``, all of whose terms are visibly not negative.

    Exact at each of a few numbers of keys, for all probabilities at once: they are written as weights over
    their sum. The weights fall with the key's number if ``ordered``, so that p₁ is the largest probability
    and p₂ the second; free indices have the values ``at``. If ``bounded``, the entries of x lie between -M
    and M. With the relation "=" there is no surplus.
    """

    surplus: Any = S.Zero
    relation: Literal["=", "≤", "≥"] = "≤"
    ordered: bool = False
    bounded: bool = False
    at: tuple[tuple[Any, int], ...] = ()
    sizes: tuple[int, ...] = (2, 3, 4, 5)
    reach: ClassVar[Reach] = "examples"

    @property
    def label(self) -> str:
        """How the step is checked, in words."""
        what = (
            "both sides are the same"
            if self.relation == "="
            else "the difference is a sum of terms that are not negative"
        )
        return f"SymPy, written out for n = {self.sizes[0]}…{self.sizes[-1]} keys: {what}"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether the sides differ by the surplus at every size, and it is not negative."""
        less, more = (after, before) if self.relation == "≥" else (before, after)
        for size in self.sizes:
            surplus = self._written(self.surplus, size)
            gap = self._written(more, size) - self._written(less, size) - surplus
            if not (is_rational_zero(gap) and _is_never_negative(surplus.xreplace(self._range(size)))):
                return False
        return True

    def _written(self, expression: Any, keys: int) -> Any:
        return weighted_out(expression.subs(dict(self.at)), keys, ordered=self.ordered)

    def _range(self, keys: int) -> dict[Any, Any]:
        """Return a bounded x's entries as M(1 - r)/(1 + r): all from M down to -M as r runs from 0 on."""
        if not self.bounded:
            return {}
        ratios = symbols(f"r_1:{keys + 1}", nonnegative=True)
        return {entry: M * (1 - r) / (1 + r) for entry, r in zip(_entries(keys), ratios, strict=True)}


@cache  # a step's expression is the next step's start
def weighted_out(expression: Any, keys: int, *, ordered: bool = False) -> Any:
    """Return ``expression`` for ``keys`` keys with probabilities w/Σw of any weights.

    ``ordered`` weights are sums of ever fewer symbols that are not negative.
    """
    weights = symbols(f"w_1:{keys + 1}", positive=True)
    if ordered:
        steps = (*symbols(f"u_1:{keys}", nonnegative=True), Symbol(f"u_{keys}", positive=True))
        weights = [Add(*steps[key:]) for key in range(keys)]
    total = Add(*weights)
    entries = {p[key]: weight / total for key, weight in enumerate(weights, 1)}
    entries |= {x[key]: plain for key, plain in enumerate(_entries(keys), 1)}
    return without_sums(expression.subs(n, keys)).xreplace(entries)


def _entries(keys: int) -> tuple[Any, ...]:
    """Return the plain symbols that stand for x[1]…x[keys] once written out."""
    plain: tuple[Any, ...] = symbols(f"x_1:{keys + 1}", real=True)
    return plain


def without_sums(expression: Any) -> Any:
    """Return ``expression`` with its sums written out term by term, as they stand.

    SymPy's own ``doit`` multiplies out what is summed over a Kronecker delta.

    Raises:
        TypeError: a sum does not run from one whole number to another.
    """

    def terms(summand: Any, *limits: Any) -> Any:
        indices = [limit[0] for limit in limits]
        ranges = [range(index(limit[1]), index(limit[2]) + 1) for limit in limits]
        return Add(
            *(
                summand.xreplace(dict(zip(indices, map(Integer, keys), strict=True)))
                for keys in product(*ranges)
            )
        )

    return expression.replace(Sum, terms)


def is_rational_zero(expression: Any) -> bool:
    """Return whether a rational function of symbols is identically zero."""
    return bool(fraction(together(expression))[0].expand() == S.Zero)


def _is_never_negative(expression: Any) -> bool:
    """Return whether sums and products of what is never negative make up the expression."""
    if expression.is_nonnegative:
        return True
    if isinstance(expression, Add | Mul) and all(map(_is_never_negative, expression.args)):
        return True
    return bool(factor(expression).is_nonnegative)


def value(expression: Any, probabilities: Array) -> float:
    """Return the number that a function of sums over the probabilities, and of single ones, is for these."""

    def total(summand: Any, limits: Any) -> Any:
        of_one = lambdify(entry := Dummy(), summand.xreplace({p[limits[0]]: entry}), "numpy")
        return Float(np.sum(np.broadcast_to(of_one(probabilities), probabilities.shape)))

    entries = {p[key]: Float(number) for key, number in enumerate(probabilities, 1)}
    return float(expression.replace(Sum, total).xreplace(entries | {n: Integer(len(probabilities))}))
