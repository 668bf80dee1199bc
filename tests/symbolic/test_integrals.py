"""Every step over integrals looks at their ranges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sympy import Integral, sqrt

from tests.catalogue import derivation
from tests.following import holds, holds_with
from verify.claims.gradients.shared.saturation import by_ties
from verify.symbolic.routes import By, Route

if TYPE_CHECKING:
    from collections.abc import Iterator

CLAIMS = (
    "half-precision",
    "heavy-tails",
    "score-law",
    "softmax-saturation",
    "softmax-two-keys",
)
"""Claims whose derivation turns one integral into another, or into its value."""
LONG = {
    "By ties: the density of a tie of the two largest, times what a tie passes on",
    "From the density of the gap",
}
"""Routes whose integrals take seconds; the short ones have checks of the same kinds."""


def _steps(name: str) -> Iterator[tuple[str, Route]]:
    """Yield each step of a claim over integrals, as a route of its own, with its route's title."""
    derived = derivation(name)
    ties = (by_ties(),) if name == CLAIMS[-1] else ()
    for route in (*derived.lemmas, *derived.routes, *ties):
        before = route.start
        for number, step in enumerate(route.steps, 1):
            by_kernel = not isinstance(step.rule, By) and not step.rule.moves
            if by_kernel and (before.has(Integral) or step.expression.has(Integral)):
                so_far = replace(route, steps=route.steps[: number - 1]).proved() if number > 1 else None
                yield (
                    route.title,
                    Route.of("alone", before, step, under=so_far.hypotheses if so_far else route.under),
                )
            before = step.expression


def _elsewhere(expression: Any) -> Iterator[Any]:
    """Return the expression with each of its integrals in turn over a range of which one end is another."""
    for one in expression.atoms(Integral):
        for place, (variable, low, high) in enumerate(one.limits):
            for ends in ((low, 5), (sqrt(2), high)):
                limits = (*one.limits[:place], (variable, *ends), *one.limits[place + 1 :])
                yield expression.xreplace({one: Integral(one.function, *limits)})


@pytest.mark.parametrize(
    ("name", "is_long"),
    [
        *((name, False) for name in CLAIMS[1:]),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((CLAIMS[0], False), (CLAIMS[-1], True))),
    ],
)
def test_a_step_over_other_ranges_is_noticed(name: str, is_long: bool) -> None:
    """The integrands are right, an end is not: on neither side does that pass."""
    steps = [(title, alone) for title, alone in _steps(name) if (title in LONG) == is_long]
    assert steps
    for title, alone in steps:
        assert holds(alone), title
        kept = alone.start.atoms(Integral) & alone.end.atoms(Integral)
        for wrong in _elsewhere(alone.start):
            # What stands on both sides alike is carried along, whatever it is.
            if kept <= wrong.atoms(Integral):
                assert not holds(replace(alone, start=wrong)), (title, wrong)
        for wrong in _elsewhere(alone.end):
            assert not holds_with(alone, wrong), (title, wrong)
