"""False: the variance is 3 d, because its author says so."""

from tests.faults.false_claims.shared import claim, steps
from verify.spec import Var, d, score
from verify.spec.rules import by

CLAIM = claim(
    "A rule of the author's own",
    lambda: steps(Var(score), (3 * d, by("it is known")(lambda one, other: True))),
)
