"""False: n b is Σj where b stands for j."""

from sympy import Sum

from tests.faults.false_claims.shared import b, claim, j_, steps, theorem
from verify.spec import n
from verify.spec.rules import ClosedSums, Replaced, Unfolded

CLAIM = claim(
    "A constant that stands for the index",
    lambda: steps(
        n * b,
        (Sum(b, (j_, 1, n)), ClosedSums({Sum(b, (j_, 1, n)): n * b})),
        (Sum(j_, (j_, 1, n)), Replaced(theorem(b, (j_, Unfolded({b: j_}))))),
    ),
)
