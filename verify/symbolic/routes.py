"""Chains of expressions, each following from the one before by a rule and a check of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verify.symbolic.checks import Checker


Relation = Literal["=", "⇔", "≤", "≥"]
"""What holds between both sides of a theorem."""


@dataclass(frozen=True)
class Theorem:
    """What a chain shows: its left side, the relation, and its right side; ``lhs`` None where it has none."""

    lhs: Any
    relation: Relation
    rhs: Any


@dataclass(frozen=True)
class Step:
    """An expression, the rule that leads to it from the one before, and how that is checked.

    ``relation`` is "=", "≤" or "≥" to the expression before or, where it follows without being comparable,
    "⇒", or "⇔" where each follows from the other. A checker that has a relation of its own decides it: a
    step shows what was checked.
    """

    expression: Any
    rule: str
    check: Checker
    relation: Literal["=", "⇒", "⇔", "≤", "≥"] = "="

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", getattr(self.check, "relation", self.relation))


@dataclass(frozen=True)
class Definition:
    """A quantity that a chain may start at besides the subject, and what it is, in words."""

    expression: Any
    meaning: str


@dataclass(frozen=True)
class Route:
    """A chain of steps from ``start`` to the expression of the last one; ``definition`` says what that is.

    A chain that starts at the subject of its derivation, or at the end of another, needs none. By its
    ``name``, if it has one, a claim's words take what it shows.
    """

    title: str
    start: Any
    steps: tuple[Step, ...]
    definition: Definition | None = None
    name: str = ""

    @classmethod
    def of(cls, title: str, start: Any, *steps: Step, defines: str = "", name: str = "") -> Route:
        """Return the chain of ``steps`` from ``start``, which in words is what it ``defines``."""
        route = cls(title, start, steps, name=name)
        return route.defining(defines) if defines else route

    @classmethod
    def telling(cls, title: str, start: Any, steps: Iterable[Step]) -> Route:
        """Return the route with those of ``steps`` that change the form of what they are applied to.

        For rules applied in turn to whatever expression is given: not each has something to do each time.
        """
        kept: list[Step] = []
        for step in steps:
            if step.expression != (kept[-1].expression if kept else start):
                kept.append(step)
        return cls(title, start, tuple(kept))

    def then(self, *steps: Step) -> Route:
        """Return this chain with more steps at its end."""
        return replace(self, steps=(*self.steps, *steps))

    def defining(self, meaning: str) -> Route:
        """Return this chain with what it starts at defined, in words."""
        return replace(self, definition=Definition(self.start, meaning))

    def called(self, name: str) -> Route:
        """Return this chain with the name by which a claim's words take what it shows."""
        return replace(self, name=name)

    @property
    def end(self) -> Any:
        """The expression that the route ends in."""
        return self.steps[-1].expression

    @property
    def theorem(self) -> Theorem:
        """What the chain shows as a whole; without left side where it follows without being comparable."""
        signs = [step.relation for step in self.steps]
        if "⇒" in signs:
            return Theorem(None, "=", self.end)
        order: tuple[Relation, ...] = ("⇔", "≤", "≥")
        return Theorem(self.start, next((one for one in order if one in signs), "="), self.end)


def one_step(
    title: str, start: Any, end: Any, rule: str, check: Checker, *, defines: str = "", name: str = ""
) -> Route:
    """Return the route of a single step from ``start`` to ``end``, as ``Route.of`` of that ``Step``."""
    return Route.of(title, start, Step(end, rule, check), defines=defines, name=name)
