"""Under a causal mask, row t attends to t keys, and its entropy is that of t keys."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sympy import S, Sum, Symbol, degree, exp, log, simplify, sqrt

from verify.claim import Claim, Findings
from verify.conditions import INDEPENDENT, NORMAL_COMPONENTS
from verify.designs import prediction
from verify.evidence import Axis, Figure, Layer
from verify.montecarlo.blocks import Cell
from verify.montecarlo.components import NORMAL
from verify.montecarlo.estimands import component
from verify.montecarlo.experiment import Control, Experiment, Quantity, Relation, Tolerance
from verify.montecarlo.rows import CausalRows
from verify.symbolic.derivation import By, Derivation, Route, Step
from verify.symbolic.expectation import E, evaluate
from verify.symbolic.printing import Ordered
from verify.symbolic.row_means import RowMeans
from verify.symbolic.scores import STANDARD, d, index, q
from verify.symbolic.softmax import i, n, p, s, sigma

POSITIONS = (2, 8, 32, 128)
LENGTH, D = 128, 64
NAT = Tolerance(2.0, 1.0, "one nat")
ENTROPY = -Sum(p[i] * log(p[i]), (i, 1, n))
SQUARES = Sum(p[i] ** 2, (i, 1, n))
t = Ordered("t", "t", integer=True, positive=True)


def _is_that_of_row_t(before: Any, after: Any) -> bool:
    """A bound linear in σ² = |q|²/d holds on average with the mean of σ², which the moment calculus gives."""
    square = Symbol("v", positive=True)
    given_query = before.subs({n: t, sigma: sqrt(square)})
    linear = given_query.is_polynomial(square) and degree(given_query, square) <= 1
    mean = evaluate(E(Sum(q[index] ** 2, (index, 1, d))) / d, STANDARD)
    return linear and bool(simplify(given_query.subs(square, mean) - after) == S.Zero)


def derive() -> Derivation:
    """Derive the bound for n keys, and put the position in the place of n."""
    partition = E(log(Sum(exp(s[i]), (i, 1, n))))
    rest = 1 - E(SQUARES)
    route = Route(
        "A row of n keys that the mask leaves",
        E(ENTROPY),
        (
            Step(
                partition - sigma**2 * rest,
                "As for attention without a mask: integration by parts",
                RowMeans(),
            ),
            Step(
                log(n) - sigma**2 / 2,
                "The first term grows with σ² at a falling rate; the squares are positive",
                RowMeans("≥", reaches=0.9999, base=log(n)),
                relation="≥",
            ),
        ),
    )
    row = Route(
        "Row t of a causal mask",
        route.end,
        (
            Step(
                log(t) - S.Half,
                r"$n = t$ keys; given the query, scaled scores have $\sigma = |q|/\sqrt{d_k}$, the bound is "
                r"linear in $\sigma^2$, and $\mathbb{E}\,\sigma^2 = 1$",
                By("SymPy puts in t and the mean of σ², by moments", _is_that_of_row_t, "general"),
                "⇒",
            ),
        ),
    )
    most = Route(
        "The same row at most",
        E(ENTROPY),
        (
            Step(
                log(n),
                r"No weights have more entropy than equal ones: in row $t$, with $n = t$, $\ln t$",
                RowMeans("≤", reaches=0.99, for_each=True),
                relation="≤",
            ),
        ),
    )
    return Derivation(E(ENTROPY), route.end, (route,), lemmas=(row, most), relation="≥")


@cache
def _cell() -> Cell:
    settings = (("d_k", D), ("tokens", LENGTH), ("mask", "causal"), ("scale", r"$1/\sqrt{d_k}$"))
    return Cell("causal", settings, CausalRows(D, LENGTH, 16, NORMAL, D**-0.5, POSITIONS))


def _check(position: int, name: str, bound: Any, relation: Relation) -> Quantity:
    entropy = component(POSITIONS.index(position))
    label = rf"$\mathbb{{E}}H$ of row {position}"
    return Quantity(name, label, _cell(), entropy, prediction(bound), NAT, relation)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # noqa: ARG001  # a bound is a bound
    """Measure the entropy at four positions against its bounds."""
    bound = derivation.lemmas[0].end
    lower = tuple(_check(one, f"at-least-t{one}", bound.subs(t, one), "≥") for one in POSITIONS)
    upper = tuple(_check(one, f"at-most-t{one}", log(S(one)), "≤") for one in POSITIONS)
    controls = (
        Control(
            "every row of a text of 128 tokens spreads over about as many keys",
            _check(8, "as-if-unmasked", bound.subs(t, LENGTH), "≥"),
        ),
        Control(
            "causal rows are sharper than others: row 128 loses more than a nat",
            _check(128, "causal-is-sharper", log(S(128)) - 1, "≤"),
        ),
    )
    return Experiment((*lower, *upper), controls)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the entropy over the position, between its bounds."""
    bound = derivation.lemmas[0].end
    at = tuple(float(x) for x in np.geomspace(2, LENGTH, 25))
    checks = [findings.checks[f"at-least-t{one}"] for one in POSITIONS]
    return (
        Figure(
            id="by-position",
            title="A causal row’s entropy follows the logarithm of its position",
            alt="Measured entropy of the rows of causal attention over their position: it rises like the "
            "logarithm of the position and stays within half a nat below it.",
            x=Axis(label="position $t$", scale="log"),
            y=Axis(label="mean entropy, in nats"),
            layers=(
                Layer(
                    kind="line", role="other", label=r"$\ln t$", x=at, y=tuple(float(np.log(x)) for x in at)
                ),
                Layer(
                    kind="line",
                    role="truth",
                    label=r"$\ln t - 1/2$",
                    x=at,
                    y=tuple(float(bound.subs(t, x)) for x in at),
                ),
                Layer(
                    kind="points",
                    role="measured",
                    label="measured",
                    x=tuple(map(float, POSITIONS)),
                    y=tuple(check.estimate for check in checks),
                    lo=tuple(check.interval[0] for check in checks),
                    hi=tuple(check.interval[1] for check in checks),
                ),
            ),
        ),
    )


CLAIM = Claim(
    id="causal-rows",
    order=90,
    title="Under a causal mask, entropy grows with the position",
    statement=(
        r"Row $t$ of causal attention has $t$ keys: with scaled scores of independent standard normal "
        r"components, its entropy lies between $\ln t - \tfrac12$ and $\ln t$."
    ),
    meaning=(
        "A mask changes no score, but it decides among how many keys a row chooses. The first token "
        "attends to itself "
        "with certainty, whatever the scale, and gets no gradient through its scores; late tokens average. "
        "Statistics over all rows of a causal head mix these."
    ),
    assumptions=(INDEPENDENT, NORMAL_COMPONENTS),
    references=(),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
