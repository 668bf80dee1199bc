"""Spoils every expression of every derivation, one place at a time, and prints what still passes.

    python -m tests.faults.spoiled_steps [--sample N] [--seed N] [CLAIM ...]

A spoiled expression that survives is for the reader to judge: it may be as right as the original, such as a
looser bound or a sum that is 1 to another power.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sympy import sympify

from tests.faults.spoiling import spoiled
from verify.engine.catalogue import catalogue
from verify.errors import ClaimError
from verify.symbolic import notation
from verify.symbolic.chains import Chain
from verify.symbolic.chains import Derivation as Chains
from verify.symbolic.derivation import Derivation
from verify.symbolic.printing import plain
from verify.symbolic.routes import Route


@dataclass
class Tally:
    """How many spoiled expressions were tried, and those with which the derivation holds."""

    tried: int = 0
    survivors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """One expression of a former derivation: a route’s start (step 0), or what one of its steps reaches."""

    derivation: Derivation
    chain: Route
    step: int

    def __str__(self) -> str:
        return f"{self.chain.title} | step {self.step}"

    @property
    def expressions(self) -> list[Any]:
        """All expressions of the chain, its start first."""
        return [self.chain.start, *(step.expression for step in self.chain.steps)]

    def with_another(self, expression: Any) -> Route:
        """Return the chain with another expression here."""
        if not self.step:
            return replace(self.chain, start=expression)
        steps = list(self.chain.steps)
        steps[self.step - 1] = replace(steps[self.step - 1], expression=expression)
        return replace(self.chain, steps=tuple(steps))

    def survives(self, expression: Any) -> bool:
        """Return whether the derivation holds with another expression here."""
        chain = self.with_another(expression)
        lemmas, routes = (
            tuple(chain if other is self.chain else other for other in chains)
            for chains in (self.derivation.lemmas, self.derivation.routes)
        )
        if replace(self.derivation, lemmas=lemmas, routes=routes).misfits():
            return False
        # What comes after the next step starts from an expression that is as it was.
        part = replace(chain, steps=chain.steps[: self.step + 1])
        return part.followed().theorem is not None


@dataclass(frozen=True)
class LinePlace:
    """One expression of a chain: its start (line 0), or that of a line."""

    chain: Chain
    line: int

    def __str__(self) -> str:
        return f"{self.chain.title or self.chain.name or 'the chain'} | line {self.line}"

    @property
    def expressions(self) -> list[Any]:
        """All expressions of the chain, its start first."""
        return [self.chain.start, *(sympify(line.expression) for line in self.chain.lines)]

    def survives(self, expression: Any) -> bool:
        """Return whether neither net catches another expression here, in its own line and in the next."""
        start, lines = expression, list(self.chain.lines[max(self.line - 1, 0) : self.line + 1])
        if self.line:
            start, lines[0] = self.expressions[self.line - 1], replace(lines[0], expression=expression)
        spoiled_chain = Chain(start, *lines, given=self.chain.given)
        try:
            return all(line.holds for line in spoiled_chain.checked)
        except ClaimError:  # it is no expression any more, such as a softmax over an index that is gone
            return False


def places(derivation: Derivation | Chains) -> Iterator[Place | LinePlace]:
    """Yield every expression of every chain, but those that only a cited theorem reaches."""
    if isinstance(derivation, Derivation):
        for route in (*derivation.lemmas, *derivation.routes):
            yield from (Place(derivation, route, step) for step in range(len(route.steps) + 1))
        return
    for chain in derivation.chains:
        for number, line in enumerate((chain.lines[0], *chain.lines)):
            if not line.check.cites:
                yield LinePlace(chain, number)


def spoil(name: str, derivation: Derivation | Chains, sample: int, seed: int) -> Tally:
    """Return what becomes of up to ``sample`` spoiled versions of each expression of a derivation."""
    tally = Tally()
    for number, place in enumerate(places(derivation)):
        at = place.step if isinstance(place, Place) else place.line
        expressions = place.expressions
        versions = list(spoiled(expressions[at], expressions))
        random.Random(f"{seed} {name} {number}").shuffle(versions)  # noqa: S311  # not for secrets
        for how, expression in versions[:sample]:
            tally.tried += 1
            if place.survives(expression):
                shown = notation.plain(expression) if isinstance(place, LinePlace) else plain(expression)
                tally.survivors.append(f"{place} | {how} | {shown}")
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how many are tried for each claim, and the survivors."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("claims", nargs="*", metavar="CLAIM")
    parser.add_argument("--sample", type=int, default=sys.maxsize, help="versions of each expression")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    total = Tally()
    for name in options.claims or catalogue():
        tally = spoil(name, catalogue()[name].derived(), options.sample, options.seed)
        print(f"{name:34} {tally.tried:6} tried {len(tally.survivors):4} survive", flush=True)
        print(*(f"    {survivor}\n" for survivor in tally.survivors), sep="", end="", flush=True)
        total = Tally(total.tried + tally.tried, total.survivors + tally.survivors)
    print(f"{total.tried} tried, {len(total.survivors)} survive")
    return 0


if __name__ == "__main__":
    sys.exit(main())
