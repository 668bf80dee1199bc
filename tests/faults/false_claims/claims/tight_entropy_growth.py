"""False: E ln Σe^s is at least ln n + 0.515 σ² E(1 - Σp²)."""

from sympy import Rational, Sum, log

from tests.faults.false_claims.shared import claim, steps
from verify.spec import LOG_TOTAL, E, i, n, p, sigma
from verify.spec.rules import TotalGrows

CLAIM = claim(
    "How a total grows",
    lambda: steps(
        E(LOG_TOTAL),
        (log(n) + Rational(515, 1000) * sigma**2 * E(1 - Sum(p[i] ** 2, (i, 1, n))), TotalGrows()),
    ),
)
