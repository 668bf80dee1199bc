"""True: it is put in for what it is about."""

from tests.faults.false_claims.shared import a, b, claim, steps, theorem
from verify.spec import E, Population
from verify.spec.rules import Evaluation, Replaced

CLAIM = claim(
    "What is derived for another part",
    lambda: steps(
        E(a * b) + 1,
        (
            E(a) * E(b) + 1,
            Replaced(theorem(E(a * b), (E(a) * E(b), Evaluation(Population({a: None, b: None}))))),
        ),
    ),
)
