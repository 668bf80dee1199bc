"""What does not follow by induction."""

from sympy import Sum

from tests.faults.false_claims.shared import Pair, b, j_, of_derivations, steps, theorem
from verify.spec import n
from verify.spec.rules import ClosedSums, Replaced, Unfolded

PAIRS: dict[str, Pair] = {
    "cubes": of_derivations(
        # False: Σj³ is (Σj)³; true: it is (Σj)².
        lambda: steps(Sum(j_**3, (j_, 1, n)), ((n * (n + 1) / 2) ** 3, ClosedSums())),
        lambda: steps(Sum(j_**3, (j_, 1, n)), ((n * (n + 1) / 2) ** 2, ClosedSums())),
    ),
    "first_only": of_derivations(
        # False: Σj is n², which is right for n = 1; true: Σ(2j - 1) is.
        lambda: steps(Sum(j_, (j_, 1, n)), (n**2, ClosedSums())),
        lambda: steps(Sum(2 * j_ - 1, (j_, 1, n)), (n**2, ClosedSums())),
    ),
    "geometric": of_derivations(
        # False: Σ2^j is 2^(n + 1) - 1; true: it is 2^(n + 1) - 2.
        lambda: steps(Sum(2**j_, (j_, 1, n)), (2 ** (n + 1) - 1, ClosedSums())),
        lambda: steps(Sum(2**j_, (j_, 1, n)), (2 ** (n + 1) - 2, ClosedSums())),
    ),
    "one_too_few": of_derivations(
        # False: Σj is n(n - 1)/2; true: it is n(n + 1)/2.
        lambda: steps(Sum(j_, (j_, 1, n)), (n * (n - 1) / 2, ClosedSums())),
        lambda: steps(Sum(j_, (j_, 1, n)), (n * (n + 1) / 2, ClosedSums())),
    ),
    "one_too_many": of_derivations(
        # False: Σj² is one more than it is; true: it is n(n + 1)(2n + 1)/6.
        lambda: steps(Sum(j_**2, (j_, 1, n)), (n * (n + 1) * (2 * n + 1) / 6 + 1, ClosedSums())),
        lambda: steps(Sum(j_**2, (j_, 1, n)), (n * (n + 1) * (2 * n + 1) / 6, ClosedSums())),
    ),
    "size_within": of_derivations(
        # False: Σ(j - 1)n is (n - 1)n(2n - 1)/6; true: Σ(j - 1) is n(n - 1)/2.
        lambda: steps(Sum((j_ - 1) * n, (j_, 1, n)), ((n - 1) * n * (2 * n - 1) / 6, ClosedSums())),
        lambda: steps(Sum(j_ - 1, (j_, 1, n)), (n * (n - 1) / 2, ClosedSums())),
    ),
    "what_is_bound": of_derivations(
        # False: n b is Σj where b stands for j; true: Σb is n b.
        lambda: steps(
            n * b,
            (Sum(b, (j_, 1, n)), ClosedSums({Sum(b, (j_, 1, n)): n * b})),
            (Sum(j_, (j_, 1, n)), Replaced(theorem(b, (j_, Unfolded({b: j_}))))),
        ),
        lambda: steps(Sum(b, (j_, 1, n)), (n * b, ClosedSums())),
    ),
}
