"""Chains of steps: in fewer words, lengthened, and told without the rules that change nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sympy import Symbol

from verify.symbolic.checks import Reach, by
from verify.symbolic.derivation import Derivation
from verify.symbolic.routes import Definition, Route, Step, one_step

x = Symbol("x", positive=True)


@by("one more", "general")
def one_more(before: Any, after: Any) -> bool:
    """Return whether one is added."""
    return bool(before + 1 == after)


STEPS = Step(x + 1, "one", one_more), Step(x + 2, "another", one_more)


def test_short_forms_are_what_they_stand_for() -> None:
    """The subject is where the first route starts, the result where it ends."""
    assert Route.of("r", x, *STEPS) == Route("r", x, STEPS) == Route.of("r", x, STEPS[0]).then(STEPS[1])
    route = Route.of("r", x, *STEPS)
    lemma = Route.of("l", x - 1, Step(x, "one", one_more)).defining("one less")
    assert lemma == Route("l", x - 1, lemma.steps, Definition(x - 1, "one less"))
    assert lemma == Route.of("l", x - 1, *lemma.steps, defines="one less")
    assert lemma == one_step("l", x - 1, x, "one", one_more, defines="one less")
    short = Derivation.of(route, lemmas=(lemma,), beyond="all else")
    assert short == Derivation(x, x + 2, (route,), (lemma,), beyond="all else")
    assert short.examine().holds
    assert route.end == x + 2


def test_rules_that_change_nothing_are_left_out() -> None:
    """At the start and in the middle; of a route whose rules all do nothing no step is left."""
    idle = Step(x, "nothing", one_more), STEPS[0], Step(x + 1, "nothing again", one_more), STEPS[1]
    assert Route.telling("r", x, idle) == Route("r", x, STEPS)
    assert Route.telling("r", x, idle[:1]).steps == ()


@dataclass(frozen=True)
class Above:
    """A check that has a relation of its own."""

    relation: str = "≥"
    label: str = "above"
    reach: ClassVar[Reach] = "general"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether ``after`` is less."""
        return bool(before > after)


def test_a_step_shows_the_relation_that_was_checked() -> None:
    """Not the one that the author wrote beside it."""
    assert Step(x - 1, "less", Above(), "=").relation == "≥"
    assert Step(x + 1, "more", one_more, "⇒").relation == "⇒"
