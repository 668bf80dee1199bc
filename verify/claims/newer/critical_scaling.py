"""Tokens with cosines ρ and scores γ·ln N: attention on oneself survives only for γ above 1/(1 - ρ)."""

from collections.abc import Callable

import numpy as np
from sympy import Expr, Rational, S

from verify.claims.newer.shared import N, termwise
from verify.spec import (
    Allowance, Array, Claim, Derivation, Exact, Experiment, Fact, Figure, cite, computed, fact, figure, line, one_step,
    ordered, probabilities, scatter, wrong,
)  # fmt: skip
from verify.spec.rules import Identity, PutIn

(gamma, rho), LEAD = ordered("gamma rho", positive=True), ordered("g", positive=True)
KEYS, LARGE = (16, 256, 1024), 10**8
FACTOR = Rational(6, 5)
"""A factor that is critical at a cosine of one sixth."""
COSINES = (S.Zero, Rational(1, 6), Rational(3, 10))
NEAR = Allowance(1e-9, "what products of a thousand numbers lose")


def derive() -> Derivation:
    """Derive the weight from the lead that a token has over the others."""
    levels = one_step("The leader's score is 0, those of others $-g\\ln N$", 1)
