"""Scores within a range R: at least n/cosh²(R/2) effective keys, and at most R²/8 of entropy lost."""

from functools import partial

import numpy as np
from scipy import special
from sympy import Dummy, Idx, Interval, Rational, S, Sum, cosh, diff, exp, log, sinh

from verify.claims.newer.shared import M, entropy_lost, x
from verify.spec import (
    RADEMACHER, ROUNDING, SQUARES, ENTROPY, Array, Claim, Derivation, Experiment, Figure, Findings, NormalRows, Notation, Route,
    Step, beside, biased, capped, cell_of, cite, component, computed, figure, in_turn, j, line, n, one_step,
    ordered, over_cells, sharper, softmax, wrong,
)  # fmt: skip
from verify.spec.rules import FamilyPutIn, Hypotheses, Identity, PutIn, Rising, SumIdentity, Surplus, TimesPositive

R, e = ordered("R e", positive=True)
t, i = ordered("t", real=True), Idx("i")
ROWS = ((2, 0.125), (4, 1.0), (64, 1.0))
"""Numbers of keys, and scores that are plus or minus that number."""
SUM, LOST = r"$\mathbb{E}\sum p_j^2$", r"$\ln n - \mathbb{E}H$"


def _squares() -> Route:
    """Return the bound of the squared weights, exponentials being M + e + x_j with x_j within ±M."""
    entry = M + e + x[j]
    total, least = Sum(entry, (j, 1, n)), e * (e + 2 * M)
    room = ((M + e) * total - n * least) ** 2 / (n * least) + Sum(M**2 - x[j] ** 2, (j, 1, n))
    return Route.of(
        "Exponentials between $e$ and $e + 2M$", Sum(entry**2, (j, 1, n)) / total**2,
        Step((M + e) ** 2 / (n * least), "A square, and what $x_j^2$ lacks of $M^2$", Surplus(room / total**2, bounded=True)),
        Step(cosh(R / 2) ** 2 / n, "Scores between $-R/2$ and $R/2$", PutIn({e: exp(-R / 2), M: sinh(R / 2)})),
        defines="the sum of the squared weights",
    )  # fmt: skip


def _entropy() -> tuple[Route, ...]:
    """Return the bound of the entropy that is lost, along scores times t, from 0 to 1."""
    total = Sum(exp(t * x[j]), (j, 1, n))
    tilted, pairs = Sum(x[j] * exp(t * x[j]), (j, 1, n)), exp(t * x[j]) * exp(t * x[i])
    lost = t * tilted / total - log(total) + log(n)
    room = t * (Sum((M**2 - x[j] ** 2) * pairs, (j, 1, n), (i, 1, n)) + tilted**2) / total**2
    unit = Hypotheses().restricted(t, Interval(0, 1))
    gap = t**2 * M**2 / 2 - lost
    slope = Route.of(
        "How a bound less the entropy lost at scores $t x_j$ grows with $t$", S.Zero,
        Step(diff(gap, t), "Their variance under the weights is at most $M^2$", Surplus(room, bounded=True)), under=unit,
        defines="zero, to begin with",
    )  # fmt: skip
    return (slope,)


def derive() -> Derivation:
    return Derivation.of(_squares(), lemmas=_entropy())
