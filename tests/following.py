"""Whether a chain's step follows, and whether it does with another expression before or after it."""

from dataclasses import replace
from typing import Any

from verify.symbolic.routes import Route, Step


def with_step(route: Route, position: int, **changed: Any) -> Route:
    """Return the route with its step at a position changed."""
    steps = list(route.steps)
    steps[position] = replace(steps[position], **changed)
    return replace(route, steps=tuple(steps))


def holds(route: Route, position: int = 0) -> bool:
    """Return whether the kernel takes the route's step at a position, and all before it."""
    upto = replace(route, steps=route.steps[: position % len(route.steps) + 1])
    return upto.followed().theorem is not None


def holds_with(route: Route, expression: Any, position: int = 0) -> bool:
    """Return whether the route's step at a position also leads to another expression."""
    return holds(with_step(route, position, expression=expression), position)


def follows(step: Step, before: Any, after: Any) -> bool:
    """Return whether a step's rule leads from one expression to another, with nothing before it."""
    return holds(Route.of("a step", before, replace(step, expression=after)))
