"""QK-clip: weights of queries and keys times √γ bring the largest score to τ, and bound none from below."""

import numpy as np
from sympy import Sum, exp, sqrt

from verify.claims.newer.shared import ClippedScores, clipped
from verify.spec import (
    ROUNDING, Claim, Derivation, Experiment, Figure, Findings, Route, Step, beside, biased, cell_of, cells_of, cite,
    component, computed, d, figure, i, index, k, largest_difference, line, loops, n, normal, one_step, ordered, over_cells, p, q, s, score,
    softmax, threshold, wrong,
)  # fmt: skip
from verify.spec.rules import Families, Identity, SumIdentity, Unfolded

gamma, tau, top = ordered(r"gamma tau S_{\max}", positive=True)
LEVEL = 4.0
"""The level that scores are clipped to."""
DIMENSIONS = (4, 16, 64)
LABEL = "share of inputs with a score below minus the level after clipping"


def derive() -> Derivation:
    """Derive what the factor does to scores, to the largest of them and to ratios of weights."""
    both = Sum(sqrt(gamma) * q[index] * sqrt(gamma) * k[index], (index, 1, d))
    scores = one_step("Queries and keys times a root each", both, gamma * score, "The factor stands before the sum",
                      SumIdentity(Families(sizes={q: (d,), k: (d,)}), "components"),
                      defines="a score once queries and keys are multiplied by the root of the factor")  # fmt: skip
    largest = one_step("The largest score", gamma * top, tau, "With the factor that is chosen", Unfolded({gamma: tau / top}),
                       defines="the largest score, multiplied by the factor", name="largest")  # fmt: skip
    weights = exp(gamma * s[1]) / Sum(exp(gamma * s[i]), (i, 1, n)), exp(gamma * s[2]) / Sum(exp(gamma * s[i]), (i, 1, n))
    ratio = one_step("Two weights", weights[0] / weights[1], exp(gamma * (s[1] - s[2])), "The sum cancels", SumIdentity(),
                     defines="the ratio of two weights after clipping", name="ratio")  # fmt: skip
    return Derivation.of(scores, lemmas=(largest, ratio))
