"""What the pairs of this campaign share: symbols, chains in one call, and something to measure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from sympy import Symbol, symbols

from verify.former import (
    NORMAL,
    STANDARD,
    Array,
    Claim,
    Derivation,
    Experiment,
    Quantity,
    Route,
    ScoreMoments,
    Simulated,
    Statistic,
    Step,
    biased,
    cell_of,
    d,
    prediction,
    score,
    score_cell,
    variance,
    variance_route,
    variances,
)
from verify.former.rules import Hypotheses
from verify.symbolic.kernel.core import Theorem

a, b, c, e, t, w = symbols("a b c e t w", positive=True)
r, y = symbols("r y", real=True)
h = Symbol("h", real=True)
z = Symbol("z")
j_ = Symbol("j", integer=True, positive=True)
NOTHING = Hypotheses()
LABEL = r"$\operatorname{Var}(q\cdot k)$"

Taken = tuple[Any, Any]
"""An expression, and the rule that leads to it."""

Measuring = Callable[[Derivation, float], Experiment]
"""A function of what is derived and of the tolerance."""


@dataclass(frozen=True)
class InverseLengths(Statistic):
    """The mean of 1/|k|²."""

    names = ("inverse",)

    def reduce(self, queries: Array, keys: Array) -> Array:  # of keys alone
        """Return the means, shape (blocks, 1)."""
        inverse: Array = (1 / (keys**2).sum(axis=2)).mean(axis=1, keepdims=True)
        return inverse


def route(start: Any, *taken: Taken, under: Hypotheses = NOTHING) -> Route:
    """Return the chain from ``start`` through what is ``taken``."""
    return Route.of(
        "Step by step", start, *(Step(end, "As the rule says", rule) for end, rule in taken), under=under
    )


def steps(start: Any, *taken: Taken, under: Hypotheses = NOTHING) -> Derivation:
    """Return the derivation of that one chain."""
    return Derivation.of(route(start, *taken, under=under))


def theorem(start: Any, *taken: Taken, under: Hypotheses = NOTHING) -> Theorem:
    """Return the theorem of that chain, for a rule that rests on one."""
    return route(start, *taken, under=under).proved()


def variance_in_four(derivation: Derivation, tolerance: float) -> Experiment:  # whatever is derived
    """Measure that scores of four dimensions have a variance of four: it stands for what agrees."""
    (check,) = variances([score_cell(4, NORMAL, NORMAL, tolerance)], LABEL, d)
    return Experiment((check,), (biased(check, tolerance),))


def measured(
    estimand: Any,
    law: Any,
    statistic: Any,
    *,
    name: str = "found",
    query: Any = NORMAL,
    key: Any = NORMAL,
    n: int = 4,
    scale: Any = None,
    relation: Any = "=",
    controls: Any = None,
    label: str = LABEL,
    **more: Any,
) -> Measuring:
    """Return the function that measures an estimand of a statistic of scores in ``n`` dimensions.

    ``law`` None is what is derived; ``controls`` makes other controls of the check and the tolerance than the
    biased one; ``more`` are fields of the check.
    """

    def experiment(derivation: Derivation, tolerance: float) -> Experiment:
        cell = cell_of(f"d{n}", Simulated(query, key, 8, 8, n), statistic, scale=scale)
        found = prediction((derivation.result if law is None else law).subs(d, n))
        check = Quantity(name, label, cell, estimand, found, relation=relation, **more)
        others = (biased(check, tolerance),) if controls is None else controls(check, tolerance)
        return Experiment((check,), others)

    return experiment


def spread(law: Any = None, **more: Any) -> Measuring:
    """Return the function that measures the variance of scores, against what is derived or another law."""
    return measured(variance(), law, ScoreMoments(), **more)


def claim(
    derive: Callable[[], Derivation],
    experiment: Callable[..., Experiment] = variance_in_four,
    title: str = "One of a pair",
    statement: str = "In every case, {theorem}.",
    **more: Any,
) -> Claim:
    """Return a claim of few words, which measures what agrees unless it says what."""
    return Claim(
        title=title,
        statement=statement,
        meaning="It is one of a campaign.",
        assumptions=(),
        derive=derive,
        experiment=experiment,
        **more,
    )


class Pair(NamedTuple):
    """A false claim and the nearest true one; each is made when its file is run."""

    false: Callable[[], Claim]
    true: Callable[[], Claim]


def of_derivations(false: Callable[[], Derivation], true: Callable[[], Derivation], **both: Any) -> Pair:
    """Return the pair of these derivations; ``both`` are further arguments of ``claim``."""
    return Pair(lambda: claim(false, **both), lambda: claim(true, **both))


def of_parts(made: Callable[[Any], Derivation], false: Any, true: Any, **both: Any) -> Pair:
    """Return the pair of the derivations that are made of one part and of another."""
    return of_derivations(lambda: made(false), lambda: made(true), **both)


def of_experiments(
    false: Callable[[], Measuring], true: Callable[[], Measuring] = spread, **both: Any
) -> Pair:
    """Return the pair of what is measured beside one derivation, that of the variance if none is given."""
    return of_claims(lambda: {"experiment": false()}, lambda: {"experiment": true()}, **both)


def of_measured_parts(made: Callable[[Any], Measuring], false: Any, true: Any, **both: Any) -> Pair:
    """Return the pair of what is measured with one part and with another."""
    return of_experiments(lambda: made(false), lambda: made(true), **both)


def of_claims(false: Callable[[], dict[str, Any]], true: Callable[[], dict[str, Any]], **both: Any) -> Pair:
    """Return the pair that differs in these arguments of ``claim``; about the variance unless it says."""

    def made(own: Callable[[], dict[str, Any]]) -> Claim:
        usual = {
            "derive": lambda: Derivation.of(variance_route(score, STANDARD)),
            "experiment": spread(),
        }
        return claim(**(usual | both | own()))

    return Pair(lambda: made(false), lambda: made(true))
