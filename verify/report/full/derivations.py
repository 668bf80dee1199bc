"""Derivations for print: the way a step is checked as a letter, shared arguments cited."""

from __future__ import annotations

from string import ascii_lowercase
from typing import TYPE_CHECKING

from verify.report.full.arguments import Argument, rules_of
from verify.report.views.full import FullRoute, FullStep
from verify.text.latex import Prose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verify.evidence import ClaimRecord, Route
    from verify.report.views import RouteView, StepView

Legend = tuple[tuple[str, Prose], ...]


def legend(claim: ClaimRecord) -> Legend:
    """Return the ways in which a claim's steps are checked, each with its letter, a lone one without."""
    ways = tuple(dict.fromkeys(step.checked_by for route in claim.derivation.routes for step in route.steps))
    letters = ascii_lowercase if len(ways) > 1 else [""]
    return tuple((letter, Prose(way)) for letter, way in zip(letters, ways, strict=False))


def full_routes(
    claim: ClaimRecord, routes: Sequence[RouteView], arguments: Sequence[Argument], numbers: Mapping[str, str]
) -> tuple[FullRoute, ...]:
    """Return a claim's routes; ``numbers`` are those of all claims, by id."""
    letters = {way: letter for letter, way in legend(claim)}
    return tuple(
        _route(claim.id, place, route, shown, letters, arguments, numbers)
        for place, (route, shown) in enumerate(zip(claim.derivation.routes, routes, strict=True))
    )


def _route(
    claim: str,
    place: int,
    route: Route,
    shown: RouteView,
    letters: Mapping[Prose, str],
    arguments: Sequence[Argument],
    numbers: Mapping[str, str],
) -> FullRoute:
    rules = rules_of(route)
    made = next((one for one in arguments if rules[: len(one.rules)] == one.rules), None)
    first = made is not None and (made.claim, made.route) == (claim, place)
    steps = [_step(one, letters) for one in shown.steps]
    if made and not first:
        steps = [_citing(made, steps[: len(made.rules)], numbers), *steps[len(made.rules) :]]
    return FullRoute(
        shown.title,
        shown.label,
        shown.opening,
        shown.start,
        tuple(steps),
        made.name if made and first else "",
    )


def _step(of: StepView, letters: Mapping[Prose, str]) -> FullStep:
    return FullStep(of.relation, of.rule, of.formula, letters.get(of.checked, ""), of.holds, "")


def _citing(argument: Argument, steps: Sequence[FullStep], numbers: Mapping[str, str]) -> FullStep:
    """Return the step that stands for those of an argument."""
    return FullStep(
        relation=steps[-1].relation,
        rule=Prose(f"Argument {argument.name} of {numbers[argument.claim]}, for this score"),
        formula=steps[-1].formula,
        marks="".join(dict.fromkeys("".join(step.marks for step in steps))),
        holds=True,
        link=argument.anchor,
    )
