"""False: Var Σ w_i q_i k_i is d w_i²."""

from sympy import IndexedBase, Sum

from tests.faults.false_claims.shared import claim, steps
from verify.spec import STANDARD, Var, d, index, k, q
from verify.spec.rules import Evaluation

CLAIM = claim(
    "A weighted score",
    lambda: steps(
        Var(Sum(IndexedBase("w")[index] * q[index] * k[index], (index, 1, d))),
        (d * IndexedBase("w")[index] ** 2, Evaluation(STANDARD, assumed=True)),
    ),
)
