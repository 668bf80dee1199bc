"""How a step of a derivation is checked, by a route other than its rule, and how far that reaches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from verify.symbolic.algebra import is_zero

if TYPE_CHECKING:
    from collections.abc import Callable

Reach = Literal["general", "examples", "numerical"]
"""What a check covers: all values, exactly a few sizes, or numbers at a few points within rounding."""


class Checker(Protocol):
    """Decides whether one expression follows from another; ``label`` is printed beside the step."""

    @property
    def label(self) -> str:
        """How the step is checked, in words."""

    @property
    def reach(self) -> Reach:
        """What the check covers; beyond that the step stands on its rule alone."""

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether ``after`` follows from ``before``."""


@dataclass(frozen=True)
class Identity:
    """SymPy simplifies the difference of the two sides to zero."""

    label: str = "SymPy: the difference simplifies to 0"
    reach: ClassVar[Reach] = "general"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether the difference of the evaluated sides is identically zero."""
        return is_zero(before.doit() - after.doit())


@dataclass(frozen=True)
class By:
    """A check written for one step; ``test`` gets the expression before and after it.

    Its ``reach`` has no default: only who wrote the test knows what it covers.
    """

    label: str
    test: Callable[[Any, Any], bool] = field(repr=False)
    reach: Reach

    def holds(self, before: Any, after: Any) -> bool:
        """Return what the test says."""
        return bool(self.test(before, after))


def by(label: str, reach: Reach) -> Callable[[Callable[[Any, Any], bool]], By]:
    """Return a decorator that makes of a test the check ``By`` of this label and reach."""
    return lambda test: By(label, test, reach)


def made_by(label: str, make: Callable[[Any], Any]) -> By:
    """Return the check of a step to exactly what ``make`` makes of the expression before it."""
    return By(label, lambda before, after: bool(after == make(before)), "general")
