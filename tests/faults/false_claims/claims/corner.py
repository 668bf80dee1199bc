"""What holds fails at a corner: one dimension, one key, a closed end, nothing over nothing."""

from sympy import Eq, Interval, S, Sum

from tests.faults.false_claims.shared import Pair, a, b, c, of_derivations, r, steps, y
from verify.spec import d, i, j, n, p, sigma
from verify.spec.rules import Equivalent, Hypotheses, Sign, SumIdentity, Unfolded

PAIRS: dict[str, Pair] = {
    "closed_end": of_derivations(
        # False: 0 < 1 - r up to 1; true: 0 ≤ 1 - r.
        lambda: steps(S.Zero, (1 - r, Sign(strict=True)), under=Hypotheses().restricted(r, Interval(0, 1))),
        lambda: steps(S.Zero, (1 - r, Sign()), under=Hypotheses().restricted(r, Interval(0, 1))),
    ),
    "hidden_nothing": of_derivations(
        # False: what is 0 over what is 0 is 7; true: (r + 1)² over (r + 1)² is 1.
        lambda: steps(
            ((r + 1) ** 2 - r**2 - 2 * r - 1) / ((r + y) ** 2 - r**2 - 2 * r * y - y**2),
            (S(7), Unfolded({b: c})),
        ),
        lambda: steps(
            ((r + 1) ** 2 - r**2 - 2 * r) / ((r + y) ** 2 - r**2 - 2 * r * y - y**2 + 1),
            (S.One, Unfolded({b: c})),
        ),
    ),
    "lost_solution": of_derivations(
        # False: (r² - 2r + 1)/r = 0 and r(r - 1) = 0 have the same solutions.
        # True: twice an equation has the same.
        lambda: steps(Eq(r**2 - r, 0, evaluate=False), (Eq(r - 1, 0, evaluate=False), Equivalent(r))),
        lambda: steps(Eq(2 * r - 2, 0, evaluate=False), (Eq(r - 1, 0, evaluate=False), Equivalent(S(2)))),
    ),
    "no_spread": of_derivations(
        # False: 0 < σ - a; true: 0 < σ + a.
        lambda: steps(S.Zero, (sigma - a, Sign(strict=True))),
        lambda: steps(S.Zero, (sigma + a, Sign(strict=True))),
    ),
    "one_dimension": of_derivations(
        # False: 0 < d - 1; not for d = 1; true: 0 ≤ d - 1.
        lambda: steps(S.Zero, (d - 1, Sign(strict=True))),
        lambda: steps(S.Zero, (d - 1, Sign())),
    ),
    "one_key": of_derivations(
        # False: 0 < (n - 1)² for every n; true: 0 ≤ (n - 1)².
        lambda: steps(S.Zero, ((n - 1) ** 2, Sign(strict=True))),
        lambda: steps(S.Zero, ((n - 1) ** 2, Sign())),
    ),
    "over_nothing": of_derivations(
        # False: (Σp - 1)/(Σp - 1) is 7; true: Σp/Σp is 1.
        lambda: steps((Sum(p[i], (i, 1, n)) - 1) / (Sum(p[j], (j, 1, n)) - 1), (S(7), SumIdentity())),
        lambda: steps((Sum(p[i], (i, 1, n)) + 1) / (Sum(p[j], (j, 1, n)) + 1), (S.One, SumIdentity())),
    ),
    "two_keys": of_derivations(
        # False: 0 ≤ n - 2; true: 0 < n - 1 + a.
        lambda: steps(S.Zero, (n - 2, Sign())),
        lambda: steps(S.Zero, (n - 1 + a, Sign(strict=True))),
    ),
}
