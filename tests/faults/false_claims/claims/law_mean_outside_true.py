"""True: it has mean 2."""

from sympy import log

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec import E, Population
from verify.spec.rules import Hypotheses, Jensen

CLAIM = claim(
    "The mean of a logarithm of what is positive",
    lambda: steps(E(log(a)), (log(E(a)), Jensen(a)), under=Hypotheses(law=Population({a: (1, 2, 5)}))),
)
