"""False: the mean of a/b is the ratio of the means."""

from tests.faults.false_claims.shared import a, b, claim, steps
from verify.spec import E, Population
from verify.spec.rules import Evaluation

CLAIM = claim(
    "The mean of a ratio",
    lambda: steps(E(a / b), (E(a) / E(b), Evaluation(Population({a: None, b: None})))),
)
