"""True: a may be c."""

from tests.faults.false_claims.shared import a, b, c, claim, steps
from verify.spec import E, Population
from verify.spec.rules import Evaluation, PutIn

CLAIM = claim(
    "A product of means",
    lambda: steps(
        E(a * b), (E(a) * E(b), Evaluation(Population({a: None, b: None}))), (E(c) * E(b), PutIn({a: c}))
    ),
)
