"""Relations that do not compose."""

from sympy import Abs, S, exp, log

from tests.faults.false_claims.shared import Pair, a, b, c, of_derivations, r, steps, theorem, y
from verify.spec import E, d
from verify.spec.rules import FirstTerms, Jensen, Replaced, Sign, Turned

PAIRS: dict[str, Pair] = {
    "cap_bound": of_derivations(
        # False: a bound, and then its first terms, make a bound of two over c²; true: the bound alone.
        lambda: steps(
            (2 + 4 / d) / c**2 - a,
            ((2 + 4 / d) / c**2, Replaced(theorem(S.Zero, (a, Sign()), (S.Zero, Turned(start=-a))))),
            (2 / c**2, FirstTerms(d, 0)),
        ),
        lambda: steps(
            (2 + 4 / d) / c**2 - a,
            ((2 + 4 / d) / c**2, Replaced(theorem(S.Zero, (a, Sign()), (S.Zero, Turned(start=-a))))),
        ),
    ),
    "jensen_abs": of_derivations(
        # False: E e^s is at least e^|E s|, by Jensen's inequality; that is e^(E s).
        # True: E e^s is at least e^(E s).
        lambda: steps(E(exp(r)), (exp(Abs(E(r))), Jensen(r, "≥"))),
        lambda: steps(E(exp(r)), (exp(E(r)), Jensen(r, "≥"))),
    ),
    "log_mean": of_derivations(
        # False: E ln Z is at least ln E Z; it is at most that; true: E ln Z is at most ln E Z.
        lambda: steps(E(log(a)), (log(E(a)), Jensen(a, "≥"))),
        lambda: steps(E(log(a)), (log(E(a)), Jensen(a))),
    ),
    "mean_inverse": of_derivations(
        # False: E 1/Z is at most 1/E Z; true: E 1/Z is at least 1/E Z.
        lambda: steps(E(1 / a), (1 / E(a), Jensen(a))),
        lambda: steps(E(1 / a), (1 / E(a), Jensen(a, "≥"))),
    ),
    "mean_square": of_derivations(
        # False: E r² is at most (E r)²; true: E r² is at least (E r)².
        lambda: steps(E(r**2), (E(r) ** 2, Jensen(r))),
        lambda: steps(E(r**2), (E(r) ** 2, Jensen(r, "≥"))),
    ),
    "minus_inverse": of_derivations(
        # False: -1/y grows with y, over the pole at 0 as well; true: -1/b grows with b > 0.
        lambda: steps(
            -1 / y, (-1 / (y + a), Replaced(theorem(S.Zero, (a, Sign()), (y + a, Turned(start=y)))))
        ),
        lambda: steps(
            -1 / b, (-1 / (b + a), Replaced(theorem(S.Zero, (a, Sign()), (b + a, Turned(start=b)))))
        ),
    ),
    "squared_bound": of_derivations(
        # False: from a ≥ -b follows a² ≥ b²; true: from b ≤ a + b follows b² ≤ (a + b)².
        lambda: steps(a**2, (b**2, Replaced(theorem(S.Zero, (a + b, Sign()), (-b, Turned(start=a)))))),
        lambda: steps(b**2, ((a + b) ** 2, Replaced(theorem(S.Zero, (a, Sign()), (a + b, Turned(start=b)))))),
    ),
    "two_ways": of_derivations(
        # False: y ≤ y + a, and y + a ≥ y - b, so y ≤ y - b; true: y ≤ y + a ≤ y + a + b.
        lambda: steps(
            y,
            (y + a, Replaced(theorem(S.Zero, (a, Sign()), (y + a, Turned(start=y))))),
            (y - b, Replaced(theorem(S.Zero, (a + b, Sign()), (y - b, Turned(start=y + a))))),
        ),
        lambda: steps(
            y,
            (y + a, Replaced(theorem(S.Zero, (a, Sign()), (y + a, Turned(start=y))))),
            (y + a + b, Replaced(theorem(S.Zero, (b, Sign()), (y + a + b, Turned(start=y + a))))),
        ),
    ),
}
