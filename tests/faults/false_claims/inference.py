"""Inference that goes wrong: laws, lemmas, relations, tight bounds, and how far something reaches."""

from sympy import (
    Abs,
    Derivative,
    IndexedBase,
    Interval,
    KroneckerDelta,
    Rational,
    S,
    Sum,
    exp,
    log,
    oo,
    pi,
    sqrt,
    tanh,
)

from tests.faults.false_claims.pairs import (
    Pair,
    a,
    b,
    c,
    measured,
    of_derivations,
    of_parts,
    r,
    route,
    steps,
    t,
    theorem,
    w,
    y,
)
from verify.former import (
    ENTROPY,
    GENERAL,
    LOG_TOTAL,
    NORMAL_MOMENTS,
    STANDARD,
    Derivation,
    E,
    Population,
    ScoreMoments,
    Var,
    component,
    d,
    i,
    index,
    j,
    k,
    mu_k,
    mu_q,
    n,
    p,
    q,
    score,
    sigma,
    sigma_k,
    sigma_q,
)
from verify.former.rules import (
    AtItsLeast,
    Evaluation,
    EvenIsMost,
    FirstTerms,
    FromZero,
    Hypotheses,
    Identity,
    Jensen,
    LargestScore,
    OnRange,
    PutIn,
    Replaced,
    Rising,
    Sign,
    Surplus,
    TotalGrows,
    Turned,
    Unfolded,
    by,
    largest,
)


def logarithm(mean: int) -> Derivation:
    """Return the bound of the mean of ln(1 + a) for a positive number of that mean."""
    law = Population({a: (1, mean, 5)})
    return steps(E(log(1 + a)), (log(1 + E(a)), Jensen(a)), under=Hypotheses(law=law))


LAW: dict[str, Pair] = {
    "both_for_one": of_derivations(
        # False: both may be the same score, so that E S² is (E S)² = 0; true: E S² is d.
        lambda: steps(
            E(r * y),
            (E(r) * E(y), Evaluation(Population({r: None, y: None}))),
            (E(score) ** 2, PutIn({r: score, y: score})),
            (S.Zero, Evaluation(STANDARD, assumed=True)),
        ),
        lambda: steps(E(score**2), (d, Evaluation(STANDARD, assumed=True))),
        experiment=measured(component("square", positive=True), None, ScoreMoments()),
    ),
    # False: it is 3 + 6/d for components of any law with mean 0 and variance 1.
    # True: it is for normal ones.
    "kurtosis_of_any": of_parts(
        lambda part: steps(E(score**4) / E(score**2) ** 2, (3 + 6 / d, Evaluation(part, assumed=True))),
        STANDARD,
        Population({q: NORMAL_MOMENTS, k: NORMAL_MOMENTS}, d),
    ),
    # False: a fourth moment of ½ makes the kurtosis 3 - 11/4d; true: one of 1 makes it 3 - 2/d.
    "light_tails": of_parts(
        lambda part: steps(E(score**4) / E(score**2) ** 2, part),
        (
            3 - Rational(11, 4) / d,
            Evaluation(Population({q: (1, 0, 1, 0, S.Half), k: (1, 0, 1, 0, S.Half)}, d), assumed=True),
        ),
        (3 - 2 / d, Evaluation(Population({q: (1, 0, 1, 0, 1), k: (1, 0, 1, 0, 1)}, d), assumed=True)),
    ),
    # False: a positive number has mean -2; true: it has mean 2.
    "mean_outside": of_parts(logarithm, -2, 2),
    # False: the variance is d σ²σ² whatever the means are; true: the means add to it.
    "means_forgotten": of_parts(
        lambda part: steps(Var(score), (part, Evaluation(GENERAL, assumed=True))),
        d * sigma_q**2 * sigma_k**2,
        d * (sigma_q**2 * sigma_k**2 + mu_q**2 * sigma_k**2 + mu_k**2 * sigma_q**2),
    ),
    # False: for components of variance -1 the variance of a score is -d; true: of variance 1.
    "negative_variance": of_parts(
        lambda part: steps(Var(score), part),
        (-d, Evaluation(Population({q: (1, 0, -1), k: (1, 0, 1)}, d), assumed=True)),
        (d, Evaluation(Population({q: (1, 0, 1), k: (1, 0, 1)}, d), assumed=True)),
    ),
    # False: E ab = E a E b, and b may be a; true: a may be c.
    "one_for_two": of_parts(
        lambda part: steps(E(a * b), (E(a) * E(b), Evaluation(Population({a: None, b: None}))), part),
        (E(b) ** 2, PutIn({a: b})),
        (E(c) * E(b), PutIn({a: c})),
    ),
    # False: the variance of k·k is d, as that of q·k; true: it is 2 d for normal components.
    "self_score": of_parts(
        lambda part: steps(
            Var(score.subs(k, q)),
            (part, Evaluation(Population({q: NORMAL_MOMENTS, k: NORMAL_MOMENTS}, d), assumed=True)),
        ),
        d,
        2 * d,
    ),
    # False: it is 0 for every law with mean 0; true: it is where the components' third moments are.
    "third_moment": of_parts(
        lambda part: steps(E(score**3), (S.Zero, Evaluation(part, assumed=True))),
        STANDARD,
        Population({q: (1, 0, 1, 0), k: (1, 0, 1, 0)}, d),
    ),
    # False: Var Σ w_i q_i k_i is d w_i²; true: with one weight for all it is d w².
    "weighted": of_parts(
        lambda part: steps(
            Var(Sum(part * q[index] * k[index], (index, 1, d))),
            (d * part**2, Evaluation(STANDARD, assumed=True)),
        ),
        IndexedBase("w")[index],
        w,
    ),
}
"""What the distribution of the components does not allow."""


LEMMA: dict[str, Pair] = {
    # False: what holds for b holds for a: the derivative of a² is a; true: it holds for c.
    "captured_slope": of_parts(
        lambda part: steps(Derivative(a * b, a), (b, Identity()), (part, PutIn({b: part}))), a, c
    ),
    # False: E r³ ≥ (E r)³ for all r, by the curvature of r⁴; true: E r⁴ ≥ (E r)⁴.
    "curvature_of_another": of_parts(
        lambda part: steps(E(r**part), (E(r) ** part, Jensen(r, "≥", theorem(S.Zero, (12 * r**2, Sign()))))),
        3,
        4,
    ),
    "defined_number": of_derivations(
        # False: b stands for a², and 5 is put in for b; true: b stands for a².
        lambda: steps(b, (a**2, Unfolded({b: a**2})), (a**2, PutIn({b: S(5)}))),
        lambda: steps(b + 1, (a**2 + 1, Unfolded({b: a**2}))),
    ),
    "defined_slope": of_derivations(
        # False: the derivative of a b by a is that of a³ where b stands for a².
        # True: the derivative of a³ is 3a².
        lambda: steps(
            Derivative(a * b, a), (Derivative(a**3, a), Replaced(theorem(b, (a**2, Unfolded({b: a**2})))))
        ),
        lambda: steps(Derivative(a**3, a), (3 * a**2, Identity())),
    ),
    "other_end": of_derivations(
        # False: the variance is d, and by another route 2 d; true: both routes end in d.
        lambda: Derivation.of(
            route(Var(score), (d, Evaluation(STANDARD, assumed=True))),
            route(Var(score) + Var(score), (2 * d, Evaluation(STANDARD, assumed=True))),
        ),
        lambda: Derivation.of(
            route(Var(score), (d, Evaluation(STANDARD, assumed=True))),
            route(
                Var(score),
                (E(score**2) - E(score) ** 2, Evaluation(STANDARD)),
                (d, Evaluation(STANDARD, assumed=True)),
            ),
        ),
    ),
    "other_part": of_derivations(
        # False: a lemma about E Z² is put in for E Z; true: it is put in for what it is about.
        lambda: steps(
            E(a) + 1,
            (
                E(b) + 1,
                Replaced(theorem(E(a * b), (E(a) * E(b), Evaluation(Population({a: None, b: None}))))),
            ),
        ),
        lambda: steps(
            E(a * b) + 1,
            (
                E(a) * E(b) + 1,
                Replaced(theorem(E(a * b), (E(a) * E(b), Evaluation(Population({a: None, b: None}))))),
            ),
        ),
    ),
    "slope_elsewhere": of_derivations(
        # False: 1 ≤ (r - 1)² for r ≥ 0, by a slope known from 1 on; true: 0 ≤ (r - 1)² for r ≥ 1.
        lambda: steps(
            S.One,
            (
                (r - 1) ** 2,
                Rising(
                    r,
                    theorem(S.Zero, (2 * (r - 1), Sign()), under=Hypotheses().restricted(r, Interval(1, oo))),
                ),
            ),
            under=Hypotheses().restricted(r, Interval(0, oo)),
        ),
        lambda: steps(
            S.Zero,
            (
                (r - 1) ** 2,
                Rising(
                    r,
                    theorem(S.Zero, (2 * (r - 1), Sign()), under=Hypotheses().restricted(r, Interval(1, oo))),
                ),
            ),
            under=Hypotheses().restricted(r, Interval(1, oo)),
        ),
    ),
    "starts_nowhere": of_derivations(
        # False: the variance is 4 d, for that of twice the score is; true: the lemma says what it is about.
        lambda: Derivation.of(
            route(Var(score), (d, Evaluation(STANDARD, assumed=True))),
            lemmas=(route(Var(2 * score), (4 * d, Evaluation(STANDARD, assumed=True))),),
        ),
        lambda: Derivation.of(
            route(Var(score), (d, Evaluation(STANDARD, assumed=True))),
            lemmas=(
                route(Var(2 * score), (4 * d, Evaluation(STANDARD, assumed=True))).defining(
                    "the variance of twice a score"
                ),
            ),
        ),
    ),
}
"""A lemma is used for something that it does not say."""
REACH: dict[str, Pair] = {
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
    # False: r² ≤ r from 0 to 2; true: r² ≤ r from 0 to 1.
    "beyond_range": of_parts(
        lambda part: steps(r**2, (r, part)), OnRange(r, S.Zero, S(2), S(3)), OnRange(r, S.Zero, S.One, S(2))
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
"""What holds for a few values is said of all."""
RELATION: dict[str, Pair] = {
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
    # False: E e^s is at least e^|E s|, by Jensen's inequality; that is e^(E s).
    # True: E e^s is at least e^(E s).
    "jensen_abs": of_parts(lambda part: steps(E(exp(r)), (exp(part), Jensen(r, "≥"))), Abs(E(r)), E(r)),
    # False: E ln Z is at least ln E Z; it is at most that; true: E ln Z is at most ln E Z.
    "log_mean": of_parts(lambda part: steps(E(log(a)), (log(E(a)), part)), Jensen(a, "≥"), Jensen(a)),
    # False: E 1/Z is at most 1/E Z; true: E 1/Z is at least 1/E Z.
    "mean_inverse": of_parts(lambda part: steps(E(1 / a), (1 / E(a), part)), Jensen(a), Jensen(a, "≥")),
    # False: E r² is at most (E r)²; true: E r² is at least (E r)².
    "mean_square": of_parts(lambda part: steps(E(r**2), (E(r) ** 2, part)), Jensen(r), Jensen(r, "≥")),
    # False: -1/y grows with y, over the pole at 0 as well; true: -1/b grows with b > 0.
    "minus_inverse": of_parts(
        lambda part: steps(
            -1 / part,
            (-1 / (part + a), Replaced(theorem(S.Zero, (a, Sign()), (part + a, Turned(start=part))))),
        ),
        y,
        b,
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
"""Relations that do not compose."""
TIGHT: dict[str, Pair] = {
    # False: r² - tanh² r is at most 0.65 r⁴; true: it is at most two thirds of r⁴.
    "capped": of_parts(
        lambda part: steps(r**2 - tanh(r) ** 2, (part, FromZero(r))), Rational(65, 100) * r**4, 2 * r**4 / 3
    ),
    # False: E ln Σe^s is at least ln n + 0.515 σ² E(1 - Σp²); true: ½ σ² E(1 - Σp²).
    "entropy_growth": of_parts(
        lambda part: steps(E(LOG_TOTAL), (log(n) + part, TotalGrows())),
        Rational(515, 1000) * sigma**2 * E(1 - Sum(p[i] ** 2, (i, 1, n))),
        sigma**2 * E(1 - Sum(p[i] ** 2, (i, 1, n))) / 2,
    ),
    # False: it is at most 0.98 ln n; true: it is at most ln n.
    "entropy": of_parts(
        lambda part: steps(ENTROPY, (part, EvenIsMost())), Rational(98, 100) * log(n), log(n)
    ),
    # False: E max s is at most 0.98 σ√(2 ln n); true: at most σ√(2 ln n).
    "largest": of_parts(
        lambda part: steps(E(largest), (part * sqrt(2 * log(n)), LargestScore())),
        Rational(98, 100) * sigma,
        sigma,
    ),
    # False: 1/(a + 1) is at most 0.97; true: it is at most 1.
    "least": of_parts(
        lambda part: steps(1 / (a + 1), (part, AtItsLeast(a, S.Zero))), Rational(97, 100), S.One
    ),
    # False: r² ≤ 0.98 r from 0 to 1; true: r² ≤ r.
    "range": of_parts(
        lambda part: steps(r**2, (part, OnRange(r, S.Zero, S.One, S(2)))), Rational(98, 100) * r, r
    ),
    # False: Σp² is at most 0.98; true: it is at most 1.
    "squares": of_parts(
        lambda part: steps(Sum(p[i] ** 2, (i, 1, n)), part),
        (Rational(98, 100), Surplus(Sum(p[i] * (1 - p[i]), (i, 1, n)))),
        (
            Sum(p[i], (i, 1, n)) ** 2,
            Surplus(Sum(p[i] * p[j] * (1 - KroneckerDelta(i, j)), (i, 1, n), (j, 1, n))),
        ),
    ),
}
"""Bounds that are a little too tight."""
