"""False: the limit of the mean of t e^(-t a) is the mean of the limit."""

from sympy import Limit, exp, oo

from tests.faults.false_claims.shared import a, claim, steps, t
from verify.spec import E
from verify.spec.rules import Identity

CLAIM = claim(
    "A limit and a mean",
    lambda: steps(Limit(E(t * exp(-t * a)), t, oo), (E(Limit(t * exp(-t * a), t, oo)), Identity())),
)
