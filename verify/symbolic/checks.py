"""An author's own rule: a test that a reader has checked, outside the kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class By:
    """A check written for one step; ``test`` gets the expression before and after it.

    What it lets pass is *reviewed*, below proved: nothing but its author's word says that it is right.
    """

    label: str
    test: Callable[[Any, Any], bool] = field(repr=False)
    numerically: bool = False


def by(label: str, *, numerically: bool = False) -> Callable[[Callable[[Any, Any], bool]], By]:
    """Return a decorator that makes of a test the check ``By`` of this label."""
    return lambda test: By(label, test, numerically)


def made_by(label: str, make: Callable[[Any], Any]) -> By:
    """Return the check of a step to exactly what ``make`` makes of the expression before it."""
    return By(label, lambda before, after: bool(after == make(before)))
