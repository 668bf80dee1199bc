"""What holds on a part of the numbers is said of all."""

from sympy import Interval, Rational, S, Symbol, cbrt, exp, log, oo, sqrt, tan, tanh

from tests.faults.false_claims.shared import Pair, a, b, of_derivations, r, steps, y, z
from verify.spec import E
from verify.spec.rules import AtItsLeast, AtItsMost, Hypotheses, Identity, Jensen, Rising

PAIRS: dict[str, Pair] = {
    "complex_exponential": of_derivations(
        # False: the root of e^z is e^(z/2) for complex z; true: the square of e^(z/2) is e^z.
        lambda: steps(sqrt(exp(z)), (exp(z / 2), Identity())),
        lambda: steps((exp(z / 2) + 1) ** 2, (exp(z) + 2 * exp(z / 2) + 1, Identity())),
    ),
    "convex_on_both_sides": of_derivations(
        # False: E 1/r² is at least 1/(E r)², also for r of both signs; true: it is for positive a.
        lambda: steps(E(1 / r**2), (1 / E(r) ** 2, Jensen(r, "≥"))),
        lambda: steps(E(1 / a**2), (1 / E(a) ** 2, Jensen(a, "≥"))),
    ),
    "cube_root": of_derivations(
        # False: the principal cube root of r³ is r; of -8 it is no real number.
        # True: (a b³)^⅓ is b a^⅓ for positive ones.
        lambda: steps(cbrt(r**3), (r, Identity())),
        lambda: steps((a * b**3 + b**3) ** Rational(1, 3), (b * (a + 1) ** Rational(1, 3), Identity())),
    ),
    "least_beyond_pole": of_derivations(
        # False: 1/(a - 1) is at most -1, where a is put at 0; true: 1/(a + 1) is at most 1.
        lambda: steps(1 / (a - 1), (S.NegativeOne, AtItsLeast(a, S.Zero))),
        lambda: steps(1 / (a + 1), (S.One, AtItsLeast(a, S.Zero))),
    ),
    "log_of_product": of_derivations(
        # False: ln(r y) is ln r + ln y for all numbers; true: it is for positive ones.
        lambda: steps(log(r * y), (log(r) + log(y), Identity())),
        lambda: steps(log(a * b), (log(a) + log(b), Identity())),
    ),
    "log_square_real": of_derivations(
        # False: ln r² - r is at most ln 4 - 2 wherever it is defined; true: 2 ln a - a is for positive a.
        lambda: steps(log(r**2) - r, (log(S(4)) - 2, AtItsMost(r, S(2)))),
        lambda: steps(2 * log(a) - a, (2 * log(S(2)) - 2, AtItsMost(a, S(2)))),
    ),
    "log_square": of_derivations(
        # False: ln s² - s is at most ln 4 - 2 for every s other than 0; at s = -10 it is far more.
        # True: it is for positive s.
        lambda: steps(
            log(Symbol("x", real=True, nonzero=True) ** 2) - Symbol("x", real=True, nonzero=True),
            (log(S(4)) - 2, AtItsMost(Symbol("x", real=True, nonzero=True), S(2))),
        ),
        lambda: steps(log(a**2) - a, (log(S(4)) - 2, AtItsMost(a, S(2)))),
    ),
    "over_a_pole": of_derivations(
        # False: 1 ≤ -1/(r - 1) for r ≥ 0; true: -1 ≤ -1/(r + 1).
        lambda: steps(S.One, (-1 / (r - 1), Rising(r)), under=Hypotheses().restricted(r, Interval(0, oo))),
        lambda: steps(
            S.NegativeOne, (-1 / (r + 1), Rising(r)), under=Hypotheses().restricted(r, Interval(0, oo))
        ),
    ),
    "root_of_complex_square": of_derivations(
        # False: the root of z² is z; true: the square of the root of z + 1 is z + 1, times z.
        lambda: steps(sqrt(z**2), (z, Identity())),
        lambda: steps(z * sqrt(z + 1) ** 2, (z**2 + z, Identity())),
    ),
    "root_of_square": of_derivations(
        # False: the root of r² is r; true: the square of the root of r + a is r + a, times r.
        lambda: steps(sqrt(r**2 + 2 * r + 1), (r + 1, Identity())),
        lambda: steps(r * sqrt(r + a) ** 2, (r**2 + a * r, Identity())),
    ),
    "tangent": of_derivations(
        # False: the tangent rises from 0 on, for its slope is 1 + tan²; true: the hyperbolic tangent does.
        lambda: steps(S.Zero, (tan(r), Rising(r)), under=Hypotheses().restricted(r, Interval(0, oo))),
        lambda: steps(S.Zero, (tanh(r), Rising(r)), under=Hypotheses().restricted(r, Interval(0, oo))),
    ),
}
