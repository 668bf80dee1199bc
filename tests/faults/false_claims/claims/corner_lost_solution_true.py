"""True: twice an equation has the same."""

from sympy import Eq, S

from tests.faults.false_claims.shared import claim, r, steps
from verify.spec.rules import Equivalent

CLAIM = claim(
    "An equation over its factor",
    lambda: steps(Eq(2 * r - 2, 0, evaluate=False), (Eq(r - 1, 0, evaluate=False), Equivalent(S(2)))),
)
