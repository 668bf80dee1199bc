"""Analysis that goes wrong: at corners, outside domains, in integrals, limits, sums and series."""

from typing import Any

from sympy import (
    Abs,
    Derivative,
    Eq,
    IndexedBase,
    Integral,
    Interval,
    Limit,
    Max,
    Rational,
    S,
    Sum,
    Symbol,
    cbrt,
    exp,
    gamma,
    log,
    oo,
    pi,
    sign,
    sin,
    sqrt,
    tan,
    tanh,
)

from tests.faults.false_claims.pairs import (
    InverseLengths,
    NOTHING,
    Pair,
    a,
    b,
    e,
    h,
    j_,
    measured,
    of_claims,
    of_derivations,
    of_parts,
    r,
    steps,
    t,
    w,
    y,
    z,
)
from verify.former import Derivation, E, Population, Var, component, d, n, sigma
from verify.former.rules import (
    Applied,
    AtItsLeast,
    AtItsMost,
    ClosedSums,
    Equivalent,
    EulerIntegrals,
    Evaluation,
    FirstTerms,
    Hypotheses,
    Identity,
    Jensen,
    PutIn,
    Rising,
    Shifted,
    Sign,
)

CORNER: dict[str, Pair] = {
    # False: 0 < 1 - r up to 1; true: 0 ≤ 1 - r.
    "closed_end": of_parts(
        lambda part: steps(S.Zero, (1 - r, part), under=Hypotheses().restricted(r, Interval(0, 1))),
        Sign(strict=True),
        Sign(),
    ),
    "lost_solution": of_derivations(
        # False: (r² - 2r + 1)/r = 0 and r(r - 1) = 0 have the same solutions.
        # True: twice an equation has the same.
        lambda: steps(Eq(r**2 - r, 0, evaluate=False), (Eq(r - 1, 0, evaluate=False), Equivalent(r))),
        lambda: steps(Eq(2 * r - 2, 0, evaluate=False), (Eq(r - 1, 0, evaluate=False), Equivalent(S(2)))),
    ),
    # False: 0 < σ - a; true: 0 < σ + a.
    "no_spread": of_parts(lambda part: steps(S.Zero, (part, Sign(strict=True))), sigma - a, sigma + a),
    # False: 0 < d - 1; not for d = 1; true: 0 ≤ d - 1.
    "one_dimension": of_parts(lambda part: steps(S.Zero, (d - 1, part)), Sign(strict=True), Sign()),
    # False: 0 < (n - 1)² for every n; true: 0 ≤ (n - 1)².
    "one_key": of_parts(lambda part: steps(S.Zero, ((n - 1) ** 2, part)), Sign(strict=True), Sign()),
    # False: 0 ≤ n - 2; true: 0 < n - 1 + a.
    "two_keys": of_parts(lambda part: steps(S.Zero, part), (n - 2, Sign()), (n - 1 + a, Sign(strict=True))),
}
"""What holds fails at a corner: one dimension, one key, a closed end, nothing over nothing."""
DOMAIN: dict[str, Pair] = {
    "complex_exponential": of_derivations(
        # False: the root of e^z is e^(z/2) for complex z; true: the square of e^(z/2) is e^z.
        lambda: steps(sqrt(exp(z)), (exp(z / 2), Identity())),
        lambda: steps((exp(z / 2) + 1) ** 2, (exp(z) + 2 * exp(z / 2) + 1, Identity())),
    ),
    # False: E 1/r² is at least 1/(E r)², also for r of both signs; true: it is for positive a.
    "convex_on_both_sides": of_parts(
        lambda part: steps(E(1 / part**2), (1 / E(part) ** 2, Jensen(part, "≥"))), r, a
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
    # False: ln s² - s is at most ln 4 - 2 for every s other than 0; at s = -10 it is far more.
    # True: it is for positive s.
    "log_square": of_parts(
        lambda part: steps(log(part**2) - part, (log(S(4)) - 2, AtItsMost(part, S(2)))),
        Symbol("x", real=True, nonzero=True),
        a,
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
    # False: the tangent rises from 0 on, for its slope is 1 + tan²; true: the hyperbolic tangent does.
    "tangent": of_parts(
        lambda part: steps(S.Zero, (part(r), Rising(r)), under=Hypotheses().restricted(r, Interval(0, oo))),
        tan,
        tanh,
    ),
}
"""What holds on a part of the numbers is said of all."""
normals = IndexedBase("y")
NORMAL = Population({normals: (1, 0, 1)}, d, normal=(normals,))
OF_TWO = Hypotheses(law=Population({normals: (1, 0, 1)}, d))
OF_FOUR = Hypotheses(law=Population({normals: (1, 0, 1, 0, 2)}, d))
N = Symbol("N", integer=True, positive=True)
OF_N = Hypotheses(law=Population({N: (1, a)}))


def cancelled(part: Any, under: Hypotheses = NOTHING) -> Derivation:
    """Return the derivation of a² from what cancels, where the part is a number."""
    return steps((part + a) ** 2 - part**2 - 2 * a * part, (a**2, Identity()), under=under)


def shifted(part: Any, moved: Any) -> Derivation:
    """Return the derivation of a mean with its normal number shifted by h."""
    return steps(E(part), (E(moved * exp(-h * normals[1] - h**2 / 2)), Shifted(normals[1], h, NORMAL)))


def slope_of_root(x: Any) -> Derivation:
    """Return the derivation of the slope of the root of x⁴ + x², times that root."""
    root = sqrt(x**4 + x**2)
    return steps(Derivative(root, x) * root, (2 * x**3 + x, Identity()))


EXISTENCE: dict[str, Pair] = {
    "derivative": of_derivations(
        # False: abs(r) has the slope sign(r), at r = 0 too; true: r² has the slope 2r.
        lambda: steps(Derivative(Abs(r), r), (sign(r), Identity())),
        lambda: steps(Derivative(r**2, r), (2 * r, Identity())),
    ),
    # False: ∫e^(tw) dw may be subtracted from itself; true: ∫e^(-tw) dw may.
    "integral": of_parts(lambda part: cancelled(Integral(exp(part * w), (w, 0, oo))), t, -t),
    # False: the root of r⁴ + r² has a slope at r = 0; true: that of t⁴ + t² has, for t > 0.
    "kink": of_parts(slope_of_root, r, t),
    # False: a law of which two moments are known has the fourth; true: of which four are.
    "moment": of_parts(lambda part: cancelled(E(normals[1] ** 4), part), OF_TWO, OF_FOUR),
    "order": of_derivations(
        # False: ∫∫sin(rw)e^(-tw) is done over t first; true: what is nowhere negative is.
        lambda: steps(
            Integral(sin(r * w) * exp(-t * w), (w, 0, oo), (t, 0, oo)),
            (Integral(sin(r * w) / w, (w, 0, oo)), EulerIntegrals(t)),
        ),
        lambda: steps(
            Integral(w * exp(-w - t * w), (w, 0, oo), (t, 0, oo)),
            (Integral(exp(-w), (w, 0, oo)), EulerIntegrals(t)),
            (S.One, EulerIntegrals(w)),
        ),
    ),
    "shift": of_derivations(
        # False: E e^(y²) of a standard normal y stays what it is if y is shifted. Shifted by
        # h and by -h, and with both added, it would be less than itself. True: E e^y is one.
        lambda: shifted(exp(normals[1] ** 2), exp((normals[1] + h) ** 2)),
        lambda: shifted(exp(normals[1]), exp(normals[1] + h)),
    ),
    # False: squares of what has three moments have a variance; true: of what has four.
    "variance": of_parts(lambda part: cancelled(Var(normals[1] ** 2), part), OF_TWO, OF_FOUR),
}
"""Integrals, means, limits and derivatives that need not exist, and cancel; or are taken in another order."""
INDUCTION: dict[str, Pair] = {
    # False: Σj³ is (Σj)³; true: it is (Σj)².
    "cubes": of_parts(
        lambda part: steps(Sum(j_**3, (j_, 1, n)), ((n * (n + 1) / 2) ** part, ClosedSums())), 3, 2
    ),
    # False: Σj is n², which is right for n = 1; true: Σ(2j - 1) is.
    "first_only": of_parts(lambda part: steps(Sum(part, (j_, 1, n)), (n**2, ClosedSums())), j_, 2 * j_ - 1),
    # False: Σ2^j is 2^(n + 1) - 1; true: it is 2^(n + 1) - 2.
    "geometric": of_parts(
        lambda part: steps(Sum(2**j_, (j_, 1, n)), (2 ** (n + 1) - part, ClosedSums())), 1, 2
    ),
    # False: Σj is n(n - 1)/2; true: it is n(n + 1)/2.
    "one_too_few": of_parts(
        lambda part: steps(Sum(j_, (j_, 1, n)), (n * part / 2, ClosedSums())), n - 1, n + 1
    ),
    # False: Σj² is one more than it is; true: it is n(n + 1)(2n + 1)/6.
    "one_too_many": of_parts(
        lambda part: steps(Sum(j_**2, (j_, 1, n)), (part, ClosedSums())),
        n * (n + 1) * (2 * n + 1) / 6 + 1,
        n * (n + 1) * (2 * n + 1) / 6,
    ),
    "size_within": of_derivations(
        # False: Σ(j - 1)n is (n - 1)n(2n - 1)/6; true: Σ(j - 1) is n(n - 1)/2.
        lambda: steps(Sum((j_ - 1) * n, (j_, 1, n)), ((n - 1) * n * (2 * n - 1) / 6, ClosedSums())),
        lambda: steps(Sum(j_ - 1, (j_, 1, n)), (n * (n - 1) / 2, ClosedSums())),
    ),
}
"""What does not follow by induction."""
INTEGRAL: dict[str, Pair] = {
    # False: ∫w^(a-1)/(1 + w)^(a+b) dw is B(a, b + 1); true: it is B(a, b).
    "beta": of_parts(
        lambda part: steps(
            Integral(w ** (a - 1) / (1 + w) ** (a + b), (w, 0, oo)), (part, EulerIntegrals(w))
        ),
        gamma(a) * gamma(b + 1) / gamma(a + b + 1),
        gamma(a) * gamma(b) / gamma(a + b),
    ),
    "diverges": of_derivations(
        # False: ∫e^w dw is -1; true: ∫e^-w dw is 1.
        lambda: steps(Integral(exp(w), (w, 0, oo)), (S.NegativeOne, EulerIntegrals(w))),
        lambda: steps(Integral(exp(-w), (w, 0, oo)), (S.One, EulerIntegrals(w))),
    ),
    "inverse_length": of_claims(
        # False: E 1/|k|² is 1/(d - 2) for every d; for one dimension there is no mean.
        # True: it is from three dimensions on.
        lambda: {
            "experiment": measured(component("inverse"), None, InverseLengths(), n=1),
            "statement": "For every {d_k}, {theorem}.",
        },
        lambda: {
            "experiment": measured(component("inverse"), None, InverseLengths(), n=12),
            "statement": "For {d_k} above two, {theorem}.",
        },
        derive=lambda: steps(
            Integral(w ** (d / 2 - 2) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2)), (w, 0, oo)),
            (1 / (d - 2), EulerIntegrals(w)),
        ),
    ),
    "outside": of_derivations(
        # False: ∫√a² da over all numbers, for a positive a; true: ∫a² e^-a from 0 on is 2.
        lambda: steps(Integral(sqrt(a**2), (a, -oo, oo)) + 1, (1 + Integral(a, (a, -oo, oo)), Identity())),
        lambda: steps(Integral(w**2 * exp(-w), (w, 0, oo)), (S(2), EulerIntegrals(w))),
    ),
    # False: ∫w^a e^-w dw is Γ(a); true: it is Γ(a + 1).
    "shifted": of_parts(
        lambda part: steps(Integral(w**a * exp(-w), (w, 0, oo)), (gamma(part), EulerIntegrals(w))), a, a + 1
    ),
    # False: ∫e^(-a w²) dw from 0 on is √(π/a); true: it is half of that.
    "twice": of_parts(
        lambda part: steps(Integral(exp(-a * w**2), (w, 0, oo)), (part, EulerIntegrals(w))),
        sqrt(pi / a),
        sqrt(pi / a) / 2,
    ),
}
"""Integrals that diverge, are elsewhere, or of something else."""
LIMIT: dict[str, Pair] = {
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
    # False: the mean of the root is the root of the mean; true: it is at most that.
    "mean_of_root": of_parts(lambda part: steps(E(sqrt(a)), (sqrt(E(a)), part)), Identity(), Jensen(a)),
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
"""A limit is exchanged with what it may not be exchanged with."""
SERIES: dict[str, Pair] = {
    "bounded": of_derivations(
        # False: first terms for a below 5; true: for large a.
        lambda: steps(
            a / (a + e), (1 - e / a, FirstTerms(a, 1)), under=Hypotheses().restricted(a, Interval.open(0, 5))
        ),
        lambda: steps(a / (a + e), (1 - e / a, FirstTerms(a, 1))),
    ),
    # False: d/(d + e) is 1 - e/d; true: it is 1 - e/(d + e).
    "equal": of_parts(lambda part: steps(d / (d + e), (1 - e / part, Identity())), d, d + e),
    "nothing": of_derivations(
        # False: 1/d is about 0; true: 1/(d + 1) is about 1/d.
        lambda: steps(1 / d, (S.Zero, FirstTerms(d, 0))),
        lambda: steps(1 / (d + 1), (1 / d, FirstTerms(d, 1))),
    ),
    "put_in": of_derivations(
        # False: d/(d + e) is about 1 - e/d, and so 1 - e/a at d = 1; true: d/(d + e) at 1 is 1/(1 + e).
        lambda: steps(a / (a + e), (1 - e / a, FirstTerms(a, 1)), (1 - e, PutIn({a: S.One}))),
        lambda: steps(
            a / (a + e) + b, (b + 1 - e / (a + e), Identity()), (b + 1 - e / (1 + e), PutIn({a: S.One}))
        ),
    ),
    # False: d/(d + e) is 1 - e/d up to 1/d²; true: the next term is e²/d².
    "second_term": of_parts(
        lambda part: steps(d / (d + e), (part, FirstTerms(d, 2))), 1 - e / d, 1 - e / d + e**2 / d**2
    ),
    # False: d/(d + e) is about 1 + e/d; true: it is about 1 - e/d.
    "sign": of_parts(lambda part: steps(d / (d + e), (part, FirstTerms(d, 1))), 1 + e / d, 1 - e / d),
}
"""First terms of a series stand for the whole."""
