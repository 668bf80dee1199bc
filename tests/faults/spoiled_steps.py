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

from tests.faults.spoiling import spoiled
from verify.engine.catalogue import catalogue
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
    """One expression of a derivation: the start of a chain (step 0), or what one of its steps reaches."""

    chain: Route
    step: int

    @property
    def expression(self) -> Any:
        """The expression itself."""
        return self.chain.steps[self.step - 1].expression if self.step else self.chain.start

    def with_another(self, expression: Any) -> Route:
        """Return the chain with another expression here."""
        if not self.step:
            return replace(self.chain, start=expression)
        steps = list(self.chain.steps)
        steps[self.step - 1] = replace(steps[self.step - 1], expression=expression)
        return replace(self.chain, steps=tuple(steps))


def places(derivation: Derivation) -> Iterator[Place]:
    """Yield every expression of every chain."""
    for chain in (*derivation.lemmas, *derivation.routes):
        yield from (Place(chain, step) for step in range(len(chain.steps) + 1))


def survives(derivation: Derivation, place: Place, expression: Any) -> bool:
    """Return whether the derivation holds with another expression at a place."""
    chain = place.with_another(expression)
    lemmas, routes = (
        tuple(chain if other is place.chain else other for other in chains)
        for chains in (derivation.lemmas, derivation.routes)
    )
    if replace(derivation, lemmas=lemmas, routes=routes).misfits():
        return False
    # What comes after the next step starts from an expression that is as it was.
    part = replace(chain, steps=chain.steps[: place.step + 1])
    return part.followed().theorem is not None


def spoil(name: str, derivation: Derivation, sample: int, seed: int) -> Tally:
    """Return what becomes of up to ``sample`` spoiled versions of each expression of a derivation."""
    tally = Tally()
    for number, place in enumerate(places(derivation)):
        others = [other.expression for other in places(derivation) if other.chain is place.chain]
        versions = list(spoiled(place.expression, others))
        random.Random(f"{seed} {name} {number}").shuffle(versions)  # noqa: S311  # not for secrets
        for how, expression in versions[:sample]:
            tally.tried += 1
            if survives(derivation, place, expression):
                where = f"{place.chain.title} | step {place.step} | {how} | {plain(expression)}"
                tally.survivors.append(where)
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
        tally = spoil(name, catalogue()[name].derive(), options.sample, options.seed)
        print(f"{name:34} {tally.tried:6} tried {len(tally.survivors):4} survive", flush=True)
        print(*(f"    {survivor}\n" for survivor in tally.survivors), sep="", end="", flush=True)
        total = Tally(total.tried + tally.tried, total.survivors + tally.survivors)
    print(f"{total.tried} tried, {len(total.survivors)} survive")
    return 0


if __name__ == "__main__":
    sys.exit(main())
