"""Spoils every expression of every derivation, one place at a time, and counts what still passes.

    python -m tests.faults.spoiled_steps [--sample N] [--seed N] [--limit SECONDS] [CLAIM ...]

prints, for each claim, how many spoiled expressions were tried and caught, and every one that survives: the
derivation with it holds as if nothing had happened. ``EQUIVALENT`` lists those that are as right as the
original, with the reason.
"""

import argparse
import random
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from types import FrameType
from typing import Any

from sympy import IndexedBase, Symbol, expand

from tests.faults.spoiling import spoiled
from verify.engine.catalogue import catalogue
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.core import Theorem
from verify.symbolic.kernel.words import E
from verify.symbolic.printing import plain
from verify.symbolic.routes import Route

_ALIKE = "both keys have the same distribution"
EQUIVALENT: dict[tuple[str, str], str] = {
    ("softmax-jacobian", "-p[i]*Sum(p[j], (j, 1, n))**2 + p[i]"): "the sum is 1, and so is its square",
    ("variance-split", r"-E(q^{\mathsf T} k)*E(q^{\mathsf T} k') + E(q^{\mathsf T} k'**2)"): _ALIKE,
    ("variance-split", r"E(q^{\mathsf T} k**2) - E(q^{\mathsf T} k')**2"): _ALIKE,
    ("variance-split", r"-E(q^{\mathsf T} k)**2 + E(q^{\mathsf T} k**2)"): _ALIKE,
    (
        "softmax-jacobian",
        "(-p[i]*Sum(p[j], (j, 1, n)) + p[i])*((n - 5)*(n - 4)*(n - 3)*(n - 2)*(n - 1) + 1)",
    ): "the sum is 1, so that it is a multiple of nothing",
    ("linear-bias", "E(Sum((-m*i - s[i])**2, (i, 1, n))/n - Sum(-m*i + s[i], (i, 1, n))**2/n**2)"): (
        "of a score with mean 0 a square's mean does not tell the sign"
    ),
    ("adaptive-temperature", "0"): "what is above 1 is above 0",
    ("adaptive-temperature", "2"): "what is below 1 is below 2",
    ("softmax-jacobian", "0"): "the sum is 1, so that nothing is left without it as well",
    (
        "score-normal-limit",
        "-sqrt(2)*(-3*sqrt(3 - sqrt(6)) + (3 - sqrt(6))**(3/2))*exp(-3/2)/(8*d_k*sqrt(pi))",
    ): "the bound with a smaller number is true as well",
    ("worked-dot-products", "Sum((i + 2)*i, (i, 0, n))"): "the term that is more is 0",
    ("attention-shapes", "MatrixShape(X*W_V)"): "the weights are a square matrix",
    ("variance-split", "-E(Trace(mu_q.T*k))*E(Trace(q.T*k')) + E(Trace(q.T*k)**2)"): (
        "a score with the mean query has the same mean"
    ),
    (
        "vanishing-or-exploding",
        (
            "Limit(sqrt(Sum(Sum((g[j] - Sum(exp(tau*s[i])*g[i], (i, 1, n))/Sum(exp(tau*s[i]), (i, 1, n)))"
            "*exp(tau*s[j])*k[j, a]/Sum(exp(tau*s[i]), (i, 1, n)), (j, 1, n))**2, (a, 1, d_k)))/(c*sqrt("
            "Sum(Sum((g[j] - Sum(exp(c*tau*s[i])*g[i], (i, 1, n))/Sum(exp(c*tau), (i, 1, n)))"
            "*exp(c*tau*s[j])*k[j, a]/Sum(exp(c*tau*s[i]), (i, 1, n)), (j, 1, n))**2, "
            "(a, 1, d_k)))), tau, 0, dir='+')"
        ),
    ): "in the limit that sum has as many ones",
}
"""Claim and spoiled expression, which is as right as the original, and why."""


class Slow(BaseException):
    """A check of a spoiled step takes longer than it may; no check must catch that."""


@dataclass
class Tally:
    """What became of a claim's spoiled expressions."""

    tried: int = 0
    caught: int = 0
    slow: list[str] = field(default_factory=list)
    survivors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """One expression of a derivation: the start of a chain (step 0), or what one of its steps reaches."""

    chain: Route
    lemma: bool
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

    def follows(self, chain: Route) -> bool:
        """Return whether the kernel takes the steps to and from this place in ``chain``.

        They start with what the steps before them assume, which are taken once; where one moves the whole
        theorem that the chain has come to, all are taken again.
        """
        first, last = max(self.step - 1, 0), min(self.step + 1, len(chain.steps))
        if first and not any(getattr(one.rule, "moves", False) for one in chain.steps[first:last]):
            before = _come_to(self.chain, first)
            if before is None:
                return False
            part = replace(chain, start=before.rhs, steps=chain.steps[first:last], under=before.hypotheses)
        else:
            part = replace(chain, steps=chain.steps[:last])
        return part.followed().theorem is not None


_TAKEN: dict[tuple[int, int], tuple[Route, Theorem | None]] = {}
"""What the first steps of a chain, kept with it, come to; a chain is told from others as an object."""


def _come_to(chain: Route, steps: int) -> Theorem | None:
    """Return the theorem of a chain's first steps."""
    key = id(chain), steps
    if key not in _TAKEN:
        _TAKEN[key] = chain, replace(chain, steps=chain.steps[:steps]).followed().theorem
    return _TAKEN[key][1]


def places(derivation: Derivation) -> Iterator[Place]:
    """Yield every expression of every chain."""
    for chains, lemma in ((derivation.lemmas, True), (derivation.routes, False)):
        for chain in chains:
            yield from (Place(chain, lemma, step) for step in range(len(chain.steps) + 1))


def survives(derivation: Derivation, place: Place, expression: Any) -> bool:
    """Return whether the derivation holds with another expression at a place, as only that changed."""
    chain = place.with_another(expression)

    def changed(chains: tuple[Route, ...]) -> tuple[Route, ...]:
        return tuple(chain if one is place.chain else one for one in chains)

    other = replace(derivation, lemmas=changed(derivation.lemmas), routes=changed(derivation.routes))
    return not other.misfits() and place.follows(chain)


def spoil(name: str, derivation: Derivation, sample: int, seed: int, limit: float) -> Tally:
    """Return what becomes of up to ``sample`` spoiled versions of each expression of a derivation."""
    tally = Tally()
    for number, place in enumerate(places(derivation)):
        others = [one.expression for one in places(derivation) if one.chain is place.chain]
        versions = list(spoiled(place.expression, others))
        random.Random(f"{seed} {name} {number}").shuffle(versions)  # noqa: S311  # not for secrets
        for how, expression in versions[:sample]:
            tally.tried += 1
            where = f"{place.chain.title} | step {place.step} | {how} | {plain(expression)}"
            try:
                found = _survives_within(derivation, place, expression, limit)
            except Slow:
                tally.slow.append(where)
                continue
            if found and not _is_equivalent(name, place, expression):
                tally.survivors.append(where)
            else:
                tally.caught += 1
    return tally


def _is_equivalent(name: str, place: Place, expression: Any) -> bool:
    """Return whether a survivor is as right as the original: listed, or with alike components exchanged."""
    rules = [step.rule for step in place.chain.steps]
    groups = {group for rule in rules for group in getattr(getattr(rule, "population", None), "alike", ())}
    same = _in_order(expression, groups) == _in_order(place.expression, groups)
    return same or (name, plain(expression)) in EQUIVALENT


def _in_order(expression: Any, groups: set[tuple[Any, ...]]) -> Any:
    """Return ``expression`` with alike components inside each mean in one and the same order."""

    def renamed(argument: Any) -> Any:
        for group in groups:
            orders = [
                dict(zip(members, order, strict=True))
                for members in ([x for x in group if isinstance(x, kind)] for kind in (Symbol, IndexedBase))
                for order in permutations(members)
            ]
            argument = min((argument.xreplace(order) for order in orders), key=str)
        return E(argument)

    return expand(expression.replace(E, renamed))


def _survives_within(derivation: Derivation, place: Place, expression: Any, limit: float) -> bool:
    def stop(_: int, __: FrameType | None) -> None:
        raise Slow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        return survives(derivation, place, expression)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and the survivors; return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("claims", nargs="*")
    parser.add_argument("--sample", type=int, default=sys.maxsize, help="versions of each expression")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of processor time for one version")
    chosen = parser.parse_args(arguments)
    total = Tally()
    for name, claim in catalogue().items():
        if chosen.claims and name not in chosen.claims:
            continue
        found = spoil(name, claim.derive(), chosen.sample, chosen.seed, chosen.limit)
        print(
            f"{name:34} {found.tried:6} tried {found.caught:6} caught "
            f"{len(found.survivors):4} survive {len(found.slow):3} slow",
            flush=True,
        )
        for kind, members in (("survives", found.survivors), ("slow", found.slow)):
            for member in members:
                print(f"    {kind}: {member}", flush=True)
        total.tried += found.tried
        total.caught += found.caught
        total.survivors += found.survivors
        total.slow += found.slow
    print(
        f"{total.tried} tried, {total.caught} caught, {len(total.survivors)} survive, {len(total.slow)} slow"
    )
    return bool(total.survivors)


if __name__ == "__main__":
    sys.exit(main())
