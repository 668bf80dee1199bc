"""Runs of steps that many derivations share: made once, cited elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.evidence import ClaimRecord, Route

_SHORTEST = 3  # steps
_FEWEST = 4  # claims

Rules = tuple[tuple[str, str], ...]
"""The relation and the rule of each step."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A run of rules with its name, and the claim and the place of the route that makes it first."""

    name: str
    rules: Rules
    claim: str
    route: int

    @property
    def anchor(self) -> str:
        """The id of the place where it is made."""
        return f"argument-{self.name}"


def shared_arguments(claims: Sequence[ClaimRecord]) -> tuple[Argument, ...]:
    """Return the runs of rules worth a name, that which saves most steps first.

    A run has three steps at least and opens a route of four claims at least.
    """
    found: list[Argument] = []
    makers = _makers(claims)
    for rules in sorted(makers, key=lambda rules: (-_saved(rules, makers[rules]), makers[rules])):
        if len(found) == len(ascii_uppercase):
            break
        known = any(_overlap(rules, one.rules) for one in found)
        if len({claim for claim, _ in makers[rules]}) >= _FEWEST and not known:
            found.append(Argument(ascii_uppercase[len(found)], rules, *makers[rules][0]))
    return tuple(found)


def rules_of(route: Route) -> Rules:
    """Return the rules of a route's steps as far as they hold."""
    rules: list[tuple[str, str]] = []
    for step in route.steps:
        if not step.holds:
            break
        rules.append((step.relation, step.rule))
    return tuple(rules)


def _makers(claims: Sequence[ClaimRecord]) -> dict[Rules, list[tuple[str, int]]]:
    """Return every run of rules that opens a route, with the claims and places of these routes."""
    makers: dict[Rules, list[tuple[str, int]]] = {}
    for claim in claims:
        for place, route in enumerate(claim.derivation.routes):
            rules = rules_of(route)
            for length in range(_SHORTEST, len(rules) + 1):
                makers.setdefault(rules[:length], []).append((claim.id, place))
    return makers


def _saved(rules: Rules, makers: Sequence[tuple[str, int]]) -> int:
    return (len(makers) - 1) * (len(rules) - 1)


def _overlap(one: Rules, other: Rules) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
