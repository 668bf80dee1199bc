"""Bounds that are a little too tight."""

from sympy import KroneckerDelta, Rational, S, Sum, log, sqrt, tanh

from tests.faults.false_claims.shared import Pair, a, of_derivations, r, steps, theorem
from verify.spec import ENTROPY, LOG_TOTAL, STANDARD, E, Var, d, i, j, n, p, score, sigma
from verify.spec.rules import (
    AtItsLeast, Evaluation, EvenIsMost, FromZero, LargestScore, OnRange, Replaced, Sign, Surplus, TotalGrows,
    Turned, by, largest,
)  # fmt: skip

PAIRS: dict[str, Pair] = {
    "capped": of_derivations(
        # False: r² - tanh² r is at most 0.65 r⁴; true: it is at most two thirds of r⁴.
        lambda: steps(r**2 - tanh(r) ** 2, (Rational(65, 100) * r**4, FromZero(r))),
        lambda: steps(r**2 - tanh(r) ** 2, (2 * r**4 / 3, FromZero(r))),
    ),
    "entropy_growth": of_derivations(
        # False: E ln Σe^s is at least ln n + 0.515 σ² E(1 - Σp²); true: ½ σ² E(1 - Σp²).
        lambda: steps(
            E(LOG_TOTAL),
            (log(n) + Rational(515, 1000) * sigma**2 * E(1 - Sum(p[i] ** 2, (i, 1, n))), TotalGrows()),
        ),
        lambda: steps(E(LOG_TOTAL), (log(n) + sigma**2 * E(1 - Sum(p[i] ** 2, (i, 1, n))) / 2, TotalGrows())),
    ),
    "entropy": of_derivations(
        # False: it is at most 0.98 ln n; true: it is at most ln n.
        lambda: steps(ENTROPY, (Rational(98, 100) * log(n), EvenIsMost())),
        lambda: steps(ENTROPY, (log(n), EvenIsMost())),
    ),
    "largest": of_derivations(
        # False: E max s is at most 0.98 σ√(2 ln n); true: at most σ√(2 ln n).
        lambda: steps(E(largest), (Rational(98, 100) * sigma * sqrt(2 * log(n)), LargestScore())),
        lambda: steps(E(largest), (sigma * sqrt(2 * log(n)), LargestScore())),
    ),
    "least": of_derivations(
        # False: 1/(a + 1) is at most 0.97; true: it is at most 1.
        lambda: steps(1 / (a + 1), (Rational(97, 100), AtItsLeast(a, S.Zero))),
        lambda: steps(1 / (a + 1), (S.One, AtItsLeast(a, S.Zero))),
    ),
    "range": of_derivations(
        # False: r² ≤ 0.98 r from 0 to 1; true: r² ≤ r.
        lambda: steps(r**2, (Rational(98, 100) * r, OnRange(r, S.Zero, S.One, S(2)))),
        lambda: steps(r**2, (r, OnRange(r, S.Zero, S.One, S(2)))),
    ),
    "reviewed": of_derivations(
        # False: Var(q·k) is at most 0.98 d, says a test of the author's; true: it is at most d + a.
        lambda: steps(Var(score), (Rational(98, 100) * d, by("close enough")(lambda one, other: True))),
        lambda: steps(
            Var(score),
            (d, Evaluation(STANDARD, assumed=True)),
            (d + a, Replaced(theorem(S.Zero, (a, Sign()), (d + a, Turned(start=d))))),
        ),
    ),
    "squares": of_derivations(
        # False: Σp² is at most 0.98; true: it is at most 1.
        lambda: steps(
            Sum(p[i] ** 2, (i, 1, n)), (Rational(98, 100), Surplus(Sum(p[i] * (1 - p[i]), (i, 1, n))))
        ),
        lambda: steps(
            Sum(p[i] ** 2, (i, 1, n)),
            (
                Sum(p[i], (i, 1, n)) ** 2,
                Surplus(Sum(p[i] * p[j] * (1 - KroneckerDelta(i, j)), (i, 1, n), (j, 1, n))),
            ),
        ),
    ),
}
