"""True: with one weight for all it is d w²."""

from sympy import Sum

from tests.faults.false_claims.shared import claim, steps, w
from verify.spec import STANDARD, Var, d, index, k, q
from verify.spec.rules import Evaluation

CLAIM = claim(
    "A weighted score",
    lambda: steps(
        Var(Sum(w * q[index] * k[index], (index, 1, d))), (d * w**2, Evaluation(STANDARD, assumed=True))
    ),
)
