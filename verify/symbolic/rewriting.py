"""Checks of steps that put something in, write the same in exponentials, or close a sum by induction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from sympy import S, Sum, expand, series, symbols

from verify.symbolic.algebra import vanishes_in_exponentials
from verify.symbolic.checks import Identity
from verify.symbolic.printing import latex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verify.symbolic.checks import Checker, Reach


@dataclass(frozen=True)
class PutIn:
    """The step holds by another check once ``values`` are put in for what they stand for, on both sides."""

    values: Mapping[Any, Any]
    then: Checker = field(default_factory=Identity)

    @property
    def label(self) -> str:
        """How the step is checked, in words."""
        values = ", ".join(f"${latex(one)} = {latex(other)}$" for one, other in self.values.items())
        return f"{values} put in; {self.then.label}"

    @property
    def reach(self) -> Reach:
        """That of the other check."""
        return self.then.reach

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether the other check finds that one follows from the other."""
        return self.then.holds(*(side.doit().subs(self.values) for side in (before, after)))


@dataclass(frozen=True)
class SameExponentials:
    """Both sides are the same once hyperbolic functions, sines and cosines are written as exponentials."""

    label: ClassVar[str] = "SymPy: the same exponentials"
    reach: ClassVar[Reach] = "general"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether they are."""
        return vanishes_in_exponentials(before - after)


@dataclass(frozen=True)
class ClosedSums:
    """Sums up to a symbolic size are put in closed form, each right by induction over the size.

    ``closed`` are the sums with their closed forms; without any, the step turns one sum into its own.
    """

    closed: Mapping[Any, Any] = field(default_factory=dict)
    label: ClassVar[str] = "induction: the first value and the next term"
    reach: ClassVar[Reach] = "general"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether the closed forms are right, and ``after`` is ``before`` with them."""
        closed = self.closed or {before: after}
        put_in = before.xreplace(dict(closed))
        return all(map(_by_induction, closed, closed.values())) and vanishes_in_exponentials(put_in - after)


def _by_induction(sum_: Sum, form: Any) -> bool:
    """Return whether a closed form is right at the first size, and grows by the next term."""
    ((index, low, size),) = sum_.limits
    first = form.subs(size, low) - sum_.function.subs(index, low)
    step = form.subs(size, size + 1) - form - sum_.function.subs(index, size + 1)
    return all(vanishes_in_exponentials(gap) for gap in (first, step))


@dataclass(frozen=True)
class FirstTerms:
    """``after`` are the terms of ``before`` for a large symbol, up to one over a power of it."""

    large: Any
    order: int

    reach: ClassVar[Reach] = "general"

    @property
    def label(self) -> str:
        """How the step is checked, in words."""
        return f"SymPy: series in $1/{latex(self.large)}$"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether the series has these terms, and no other up to that order."""
        small = symbols("small", positive=True)
        terms = series(before.subs(self.large, 1 / small), small, 0, self.order + 1).removeO()
        return bool(expand(terms - after.subs(self.large, 1 / small)) == S.Zero)
