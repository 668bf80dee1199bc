"""False: a lower bound is derived, and an upper one measured."""

from sympy import S

from tests.faults.false_claims.shared import claim, measured, steps, theorem
from verify.spec import STANDARD, E, ScoreMoments, component, d, score, sharper
from verify.spec.rules import Evaluation, Replaced, Sign, Turned

CLAIM = claim(
    "A bound on the mean square",
    lambda: steps(
        E(score**2),
        (d, Evaluation(STANDARD, assumed=True)),
        (d / 2, Replaced(theorem(S.Zero, (d / 2, Sign()), (d / 2, Turned(start=d))))),
    ),
    measured(
        component("square", positive=True),
        5 * S.One,
        ScoreMoments(),
        relation="≤",
        controls=lambda check, tolerance: (sharper(check, 0.5),),
    ),
)
