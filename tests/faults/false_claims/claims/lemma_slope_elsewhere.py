"""False: 1 ≤ (r - 1)² for r ≥ 0, by a slope known from 1 on."""

from sympy import Interval, S, oo

from tests.faults.false_claims.shared import claim, r, steps, theorem
from verify.spec.rules import Hypotheses, Rising, Sign

CLAIM = claim(
    "A slope from a lemma",
    lambda: steps(
        S.One,
        (
            (r - 1) ** 2,
            Rising(
                r, theorem(S.Zero, (2 * (r - 1), Sign()), under=Hypotheses().restricted(r, Interval(1, oo)))
            ),
        ),
        under=Hypotheses().restricted(r, Interval(0, oo)),
    ),
)
