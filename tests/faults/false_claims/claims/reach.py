"""What holds for a few values is said of all."""

from sympy import Rational, S, exp, pi

from tests.faults.false_claims.shared import Pair, a, b, of_derivations, r, steps, t, theorem
from verify.spec import STANDARD, Var, d, n, score
from verify.spec.rules import Evaluation, Identity, OnRange, PutIn, Replaced, Sign, Turned, by

PAIRS: dict[str, Pair] = {
    "almost_twenty": of_derivations(
        # False: e^π - π is 20, as its first digits show; true: it is less than e^π + r.
        lambda: steps(
            exp(pi) - pi + r,
            (
                20 + r,
                by("to three digits", numerically=True)(
                    lambda one, other: abs(float((one - other).evalf())) < 0.001
                ),
            ),
        ),
        lambda: steps(
            exp(pi) - a, (exp(pi), Replaced(theorem(S.Zero, (a, Sign()), (S.Zero, Turned(start=-a)))))
        ),
    ),
    "author_says": of_derivations(
        # False: the variance is 3 d, because its author says so; true: it is d.
        lambda: steps(Var(score), (3 * d, by("it is known")(lambda one, other: True))),
        lambda: steps(Var(score), (d, Evaluation(STANDARD, assumed=True))),
    ),
    "beyond_range": of_derivations(
        # False: r² ≤ r from 0 to 2; true: r² ≤ r from 0 to 1.
        lambda: steps(r**2, (r, OnRange(r, S.Zero, S(2), S(3)))),
        lambda: steps(r**2, (r, OnRange(r, S.Zero, S.One, S(2)))),
    ),
    "cube": of_derivations(
        # False: a³ is a², as putting in 1 shows; true: what holds for all a holds for 1.
        lambda: steps(a**3, (a**2, PutIn({a: S.One}))),
        lambda: steps(
            (a + b) ** 2, (a**2 + 2 * a * b + b**2, Identity()), (b**2 + 2 * b + 1, PutIn({a: S.One}))
        ),
    ),
    "four_sizes": of_derivations(
        # False: 2ⁿ is n² - n + 2, as sizes up to three show; true: 2ⁿ⁺¹ is twice 2ⁿ.
        lambda: steps(
            2**n,
            (
                n**2 - n + 2,
                by("tried for up to three keys")(
                    lambda one, other: all((one - other).subs(n, size) == 0 for size in (1, 2, 3))
                ),
            ),
        ),
        lambda: steps(2 ** (n + 1), (2 * 2**n, Identity())),
    ),
    "temperature": of_derivations(
        # False: the variance at temperature T is d/T^2.02, as putting in 1 shows; true: it is d/T².
        lambda: steps(
            Var(score / t),
            (d / t**2, Evaluation(STANDARD, assumed=True)),
            (d / t ** Rational(101, 50), PutIn({t: S.One})),
        ),
        lambda: steps(Var(score / t), (d / t**2, Evaluation(STANDARD, assumed=True))),
    ),
}
