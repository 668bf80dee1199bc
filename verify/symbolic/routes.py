"""Chains of expressions, each following from the one before by a rule of the kernel's or of an author's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from verify.errors import described
from verify.symbolic.kernel.core import Reach, Reviewed, Rule, Same, Theorem, chained, prove
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses, Refused


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


@dataclass(frozen=True)
class Step:
    """An expression, in words how it follows from the one before, and the rule by which it does.

    The rule decides the relation. One that moves a whole theorem, such as ``PutIn``, gets the theorem that
    the chain has come to. ``By`` is an author's own, of which the author says the ``relation``: "⇒" where
    what follows is not comparable.
    """

    expression: Any
    words: str
    rule: Rule | By = field(hash=False)  # some hold mappings
    relation: Literal["=", "≤", "≥", "⇒", "⇔"] = "="


@dataclass(frozen=True)
class Definition:
    """A quantity that a chain may start at besides the subject, and what it is, in words."""

    expression: Any
    meaning: str


@dataclass(frozen=True)
class TakenStep:
    """A step with what the kernel made of it; ``problem`` says why it does not hold, if it does not.

    ``relation`` is how its expression compares with the one before, "⇒" where a whole theorem was turned into
    another.
    """

    step: Step
    relation: str
    reach: Reach
    problem: str = ""

    @property
    def holds(self) -> bool:
        """Whether the kernel took the step."""
        return not self.problem


@dataclass(frozen=True)
class Followed:
    """A chain with all its steps taken, and the ``theorem`` that it ends in, None if a step does not hold."""

    route: Route
    steps: tuple[TakenStep, ...]
    theorem: Theorem | None


@dataclass(frozen=True)
class Route:
    """A chain of steps from ``start`` to the expression of the last one; ``definition`` says what that is.

    A chain that starts at the subject of its derivation, or at the end of another, needs none. Texts speak of
    it by its ``name``. ``under`` are hypotheses that it starts with.
    """

    title: str
    start: Any
    steps: tuple[Step, ...]
    definition: Definition | None = None
    name: str = ""
    under: Hypotheses = NOTHING

    @classmethod
    def of(
        cls,
        title: str,
        start: Any,
        *steps: Step,
        defines: str = "",
        name: str = "",
        under: Hypotheses = NOTHING,
    ) -> Route:
        """Return the chain of ``steps`` from ``start``, which in words is what it ``defines``."""
        route = cls(title, start, steps, name=name, under=under)
        return route.defining(defines) if defines else route

    @classmethod
    def telling(cls, title: str, start: Any, steps: Iterable[Step], under: Hypotheses = NOTHING) -> Route:
        """Return the route with those of ``steps`` that change the form of what they are applied to.

        For rules applied in turn to whatever expression is given: not each has something to do each time.
        """
        kept: list[Step] = []
        for step in steps:
            if step.expression != (kept[-1].expression if kept else start):
                kept.append(step)
        return cls(title, start, tuple(kept), under=under)

    def then(self, *steps: Step) -> Route:
        """Return this chain with more steps at its end."""
        return replace(self, steps=(*self.steps, *steps))

    def defining(self, meaning: str) -> Route:
        """Return this chain with what it starts at defined, in words."""
        return replace(self, definition=Definition(self.start, meaning))

    def called(self, name: str) -> Route:
        """Return this chain under a name that texts speak of it by."""
        return replace(self, name=name)

    @property
    def end(self) -> Any:
        """The expression that the route ends in."""
        return self.steps[-1].expression

    @lru_cache(maxsize=1024)  # noqa: B019  # lemmas are shared by claims; what they rest on is proved first
    def followed(self) -> Followed:
        """Return the chain with all its steps taken, and the theorem that they make."""
        taken: list[TakenStep] = []
        reached = Reach.ALL_VALUES
        try:
            known: Theorem | None = prove(Same(), self.start, self.start, self.under)
        except Exception as error:  # noqa: BLE001  # whatever a rule raises, the step does not hold
            return Followed(self, (_missed(self.steps[0], error),), None)
        for step in self.steps:
            try:
                found, relation, reach = _taken(known, step)
            except Exception as error:  # noqa: BLE001
                taken.append(_missed(step, error))
                known = None
                continue
            # What the chain loses with a step, by a condition of its rule too, is the step's.
            if found.reach < min(reached, reach):
                reach = found.reach
            reached = min(reached, reach)
            taken.append(TakenStep(step, relation, reach))
            known = found
        return Followed(self, tuple(taken), known if all(one.holds for one in taken) else None)

    def proved(self) -> Theorem:
        """Return the theorem that the chain makes.

        Raises:
            Refused: a step does not hold.
        """
        followed = self.followed()
        if followed.theorem is None:
            raise Refused(next(f"“{self.title}”: {one.problem}" for one in followed.steps if one.problem))
        return followed.theorem


def _taken(known: Theorem | None, step: Step) -> tuple[Theorem, str, Reach]:
    """Return what a chain has come to with one more step, and how that step compares and reaches."""
    if known is None:
        raise Refused("a step before it does not hold")
    rule = step.rule
    if isinstance(rule, By):
        if not rule.test(known.rhs, step.expression):
            raise Refused(rule.label)
        reviewed = Reviewed(rule.label, step.relation.replace("⇒", "="), rule.numerically)
        if step.relation == "⇒":
            found = prove(reviewed, step.expression, step.expression)
            return found, "⇒", found.reach
        rule = reviewed
    if rule.moves:
        moved = replace(rule, known=known)  # type: ignore[type-var]
        return prove(moved, known.lhs, step.expression), "⇒", Reach.ALL_VALUES
    found = prove(rule, known.rhs, step.expression, known.hypotheses)
    return chained(known, found), found.relation, found.reach


def _missed(step: Step, error: Exception) -> TakenStep:
    why = str(error) if isinstance(error, Refused) else f"could not be checked ({described(error)})"
    return TakenStep(step, "=", Reach.NUMERICALLY, f"does not follow ({why})")


def one_step(
    title: str,
    start: Any,
    end: Any,
    words: str,
    rule: Rule | By,
    *,
    defines: str = "",
    name: str = "",
    under: Hypotheses = NOTHING,
) -> Route:
    """Return the route of a single step from ``start`` to ``end``, as ``Route.of`` of that ``Step``."""
    return Route.of(title, start, Step(end, words, rule), defines=defines, name=name, under=under)
