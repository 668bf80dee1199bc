"""False: E ab = E a E b, and b may be a."""

from tests.faults.false_claims.shared import a, b, claim, steps
from verify.spec import E, Population
from verify.spec.rules import Evaluation, PutIn

CLAIM = claim(
    "A product of means",
    lambda: steps(
        E(a * b), (E(a) * E(b), Evaluation(Population({a: None, b: None}))), (E(b) ** 2, PutIn({a: b}))
    ),
)
