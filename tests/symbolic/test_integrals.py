"""Every step over integrals looks at their ranges."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sympy import Integral, sqrt

from tests.catalogue import derivation
from tests.following import holds, holds_with
from verify.claims.gradients.shared.saturation import by_ties
from verify.symbolic.routes import By, Route

CLAIMS = ("half-precision", "heavy-tails", "score-law", "softmax-saturation", "softmax-two-keys")
"""Claims whose derivation turns one integral into another, or into its value."""
LONG = {
    "By ties: the density of a tie of the two largest, times what a tie passes on",
    "From the density of the gap",
}
"""Routes whose integrals take seconds; the short ones have checks of the same kinds."""


def _steps(name: str, *, long: bool) -> Iterator[Route]:
    """Return the kernel's steps over integrals of a claim's routes, each as a route of its own."""
    derived = derivation(name)
    extra = (by_ties(),) if name == "softmax-saturation" else ()
    for route in (*derived.lemmas, *derived.routes, *extra):
        before = route.start
        for number, step in enumerate(route.steps, 1):
            by_kernel = not isinstance(step.rule, By) and not step.rule.moves
            over_integrals = before.has(Integral) or step.expression.has(Integral)
            if by_kernel and over_integrals and (route.title in LONG) is long:
                so_far = replace(route, steps=route.steps[: number - 1]).proved() if number > 1 else None
                under = so_far.hypotheses if so_far else route.under
                yield Route.of(f"{route.title}, step {number}", before, step, under=under)
            before = step.expression


def _elsewhere(expression: Any) -> Iterator[Any]:
    """Return the expression with each of its integrals in turn over another range."""
    for one in expression.atoms(Integral):
        for place, (variable, low, high) in enumerate(one.limits):
            for ends in ((0, 1), (low, 5), (sqrt(2), high)):
                limits = (*one.limits[:place], (variable, *ends), *one.limits[place + 1 :])
                yield expression.xreplace({one: Integral(one.function, *limits)})


@pytest.mark.parametrize(
    ("name", "long"),
    [
        *(
            pytest.param(name, False, marks=() if name == "score-law" else pytest.mark.slow)
            for name in CLAIMS
        ),
        pytest.param("softmax-saturation", True, marks=pytest.mark.slow),
        pytest.param("softmax-two-keys", True, marks=pytest.mark.slow),
    ],
)
def test_a_step_over_other_ranges_is_noticed(name: str, long: bool) -> None:
    """The integrands are right, the ends are not: on neither side does that pass."""
    steps = list(_steps(name, long=long))
    assert steps
    for alone in steps:
        assert holds(alone), alone.title
        kept = alone.start.atoms(Integral) & alone.end.atoms(Integral)
        for wrong in _elsewhere(alone.start):
            # What stands on both sides alike is carried along, whatever it is.
            if kept <= wrong.atoms(Integral):
                assert not holds(replace(alone, start=wrong)), (alone.title, wrong)
        for wrong in _elsewhere(alone.end):
            assert not holds_with(alone, wrong), (alone.title, wrong)
