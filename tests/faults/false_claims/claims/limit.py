"""A limit is exchanged with what it may not be exchanged with."""

from sympy import Integral, Limit, Max, S, Sum, exp, oo, sqrt

from tests.faults.false_claims.shared import Pair, a, b, h, j_, of_derivations, r, steps, t, w, y
from verify.spec import E, Population, n
from verify.spec.rules import Applied, ClosedSums, EulerIntegrals, Evaluation, Identity, Jensen

PAIRS: dict[str, Pair] = {
    "largest_mean": of_derivations(
        # False: the mean of the larger is the larger mean.
        # True: the mean of the sum is the sum of the means.
        lambda: steps(E(Max(r, y)), (Max(E(r), E(y)), Identity())),
        lambda: steps(E(r + y), (E(r) + E(y), Evaluation(Population({r: None, y: None})))),
    ),
    "many_small_terms": of_derivations(
        # False: each term of Σ1/n goes to 0, and so does the sum; true: the sum is 1.
        lambda: steps(Limit(Sum(1 / n, (j_, 1, n)), n, oo), (S.Zero, Identity())),
        lambda: steps(n * Sum(1, (j_, 1, n)), (n**2, ClosedSums({Sum(1, (j_, 1, n)): n}))),
    ),
    "mass_escapes": of_derivations(
        # False: the limit of the mean of t e^(-t a) is the mean of the limit.
        # True: a limit of a sum in closed form is that of the form.
        lambda: steps(Limit(E(t * exp(-t * a)), t, oo), (E(Limit(t * exp(-t * a), t, oo)), Identity())),
        lambda: steps(
            Sum(j_, (j_, 1, n)),
            (n * (n + 1) / 2, ClosedSums()),
            (Limit(n * (n + 1) / (2 * n**2), n, oo), Applied(Limit(h / n**2, n, oo), h)),
        ),
    ),
    "mean_of_ratio": of_derivations(
        # False: the mean of a/b is the ratio of the means; true: that of a product is the product.
        lambda: steps(E(a / b), (E(a) / E(b), Evaluation(Population({a: None, b: None})))),
        lambda: steps(E(a * b), (E(a) * E(b), Evaluation(Population({a: None, b: None})))),
    ),
    "mean_of_root": of_derivations(
        # False: the mean of the root is the root of the mean; true: it is at most that.
        lambda: steps(E(sqrt(a)), (sqrt(E(a)), Identity())),
        lambda: steps(E(sqrt(a)), (sqrt(E(a)), Jensen(a))),
    ),
    "order_of_integrals": of_derivations(
        # False: both orders of integrating (a - b)/(a + b)³ over the unit square agree.
        # True: an integral and the same in other terms.
        lambda: steps(
            Integral((a - b) / (a + b) ** 3, (a, 0, 1), (b, 0, 1)),
            (Integral((a - b) / (a + b) ** 3, (b, 0, 1), (a, 0, 1)), Identity()),
        ),
        lambda: steps(Integral(exp(-2 * w), (w, 0, oo)), (S.Half, EulerIntegrals(w))),
    ),
}
