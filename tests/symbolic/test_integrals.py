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
    "effective-keys",
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


def _routes() -> Iterator[Route]:
    for name in CLAIMS:
        derived = derivation(name)
        yield from (*derived.lemmas, *derived.routes)
    yield by_ties()


def _steps() -> Iterator[Any]:
    for route in _routes():
        before = route.start
        for number, step in enumerate(route.steps, 1):
            by_kernel = not isinstance(step.rule, By) and not step.rule.moves
            if by_kernel and (before.has(Integral) or step.expression.has(Integral)):
                marks = [pytest.mark.slow] if route.title in LONG else []
                so_far = replace(route, steps=route.steps[: number - 1]).proved() if number > 1 else None
                alone = Route.of("alone", before, step, under=so_far.hypotheses if so_far else route.under)
                yield pytest.param(alone, id=f"{route.title}, step {number}", marks=marks)
            before = step.expression


def _elsewhere(expression: Any) -> Iterator[Any]:
    """Return the expression with each of its integrals in turn over another range."""
    for one in expression.atoms(Integral):
        for place, (variable, low, high) in enumerate(one.limits):
            for ends in ((0, 1), (low, 5), (sqrt(2), high)):
                limits = (*one.limits[:place], (variable, *ends), *one.limits[place + 1 :])
                yield expression.xreplace({one: Integral(one.function, *limits)})


@pytest.mark.parametrize("alone", tuple(_steps()))
def test_a_step_over_other_ranges_is_noticed(alone: Route) -> None:
    """The integrands are right, the ends are not: on neither side does that pass."""
    assert holds(alone)
    kept = alone.start.atoms(Integral) & alone.end.atoms(Integral)
    for wrong in _elsewhere(alone.start):
        # What stands on both sides alike is carried along, whatever it is.
        if kept <= wrong.atoms(Integral):
            assert not holds(replace(alone, start=wrong)), wrong
    for wrong in _elsewhere(alone.end):
        assert not holds_with(alone, wrong), wrong
