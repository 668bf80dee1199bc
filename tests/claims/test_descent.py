"""A scale as a choice of weights and rate: the routes hold, and versions with a wrong power do not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sympy import sqrt

from verify.claims.gradients.shared.descent import c, eta, one_step, same_scores
from verify.symbolic.derivation import Derivation

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.symbolic.routes import Route


def proved(route: Route) -> bool:
    """Return whether every step of the route holds."""
    return Derivation.of(route).examine().status == "proved"


@pytest.mark.parametrize("route", [one_step, same_scores])
def test_routes_hold(route: Callable[[], Route]) -> None:
    """Both are proved as they stand."""
    assert proved(route())


@pytest.mark.parametrize("factor", [1 / c, c, 1 / sqrt(c)])
@pytest.mark.parametrize("number", [0, 1])
def test_another_power_of_the_scale_fails(factor: object, number: int) -> None:
    """The rate times another power of the scale is noticed by the step that introduces it."""
    right = one_step()
    steps = list(right.steps)
    steps[number] = replace(steps[number], expression=steps[number].expression.subs(eta, eta * factor))
    assert not proved(replace(right, steps=tuple(steps[: number + 1])))
