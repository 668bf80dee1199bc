"""True: the mean of the sum is the sum of the means."""

from tests.faults.false_claims.shared import claim, r, steps, y
from verify.spec import E, Population
from verify.spec.rules import Evaluation

CLAIM = claim(
    "The mean of the larger",
    lambda: steps(E(r + y), (E(r) + E(y), Evaluation(Population({r: None, y: None})))),
)
