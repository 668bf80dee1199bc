"""What the distribution of the components does not allow."""

from sympy import IndexedBase, Rational, S, Sum, log

from tests.faults.false_claims.shared import Pair, a, b, c, measured, of_derivations, r, steps, w, y
from verify.spec import (
    GENERAL, NORMAL_MOMENTS, STANDARD, Derivation, E, Population, ScoreMoments, Var, component, d, index, k,
    mu_k, mu_q, q, score, sigma_k, sigma_q,
)  # fmt: skip
from verify.spec.rules import Evaluation, Hypotheses, Jensen, PutIn


def logarithm(mean: int) -> Derivation:
    """Return the bound of the mean of ln(1 + a) for a positive number of that mean."""
    law = Population({a: (1, mean, 5)})
    return steps(E(log(1 + a)), (log(1 + E(a)), Jensen(a)), under=Hypotheses(law=law))


PAIRS: dict[str, Pair] = {
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
    "kurtosis_of_any": of_derivations(
        # False: it is 3 + 6/d for components of any law with mean 0 and variance 1.
        # True: it is for normal ones.
        lambda: steps(E(score**4) / E(score**2) ** 2, (3 + 6 / d, Evaluation(STANDARD, assumed=True))),
        lambda: steps(
            E(score**4) / E(score**2) ** 2,
            (3 + 6 / d, Evaluation(Population({q: NORMAL_MOMENTS, k: NORMAL_MOMENTS}, d), assumed=True)),
        ),
    ),
    "light_tails": of_derivations(
        # False: a fourth moment of ½ makes the kurtosis 3 - 11/4d; true: one of 1 makes it 3 - 2/d.
        lambda: steps(
            E(score**4) / E(score**2) ** 2,
            (
                3 - Rational(11, 4) / d,
                Evaluation(Population({q: (1, 0, 1, 0, S.Half), k: (1, 0, 1, 0, S.Half)}, d), assumed=True),
            ),
        ),
        lambda: steps(
            E(score**4) / E(score**2) ** 2,
            (3 - 2 / d, Evaluation(Population({q: (1, 0, 1, 0, 1), k: (1, 0, 1, 0, 1)}, d), assumed=True)),
        ),
    ),
    "mean_outside": of_derivations(
        # False: a positive number has mean -2; true: it has mean 2.
        lambda: logarithm(-2),
        lambda: logarithm(2),
    ),
    "means_forgotten": of_derivations(
        # False: the variance is d σ²σ² whatever the means are; true: the means add to it.
        lambda: steps(Var(score), (d * sigma_q**2 * sigma_k**2, Evaluation(GENERAL, assumed=True))),
        lambda: steps(
            Var(score),
            (
                d * (sigma_q**2 * sigma_k**2 + mu_q**2 * sigma_k**2 + mu_k**2 * sigma_q**2),
                Evaluation(GENERAL, assumed=True),
            ),
        ),
    ),
    "negative_variance": of_derivations(
        # False: for components of variance -1 the variance of a score is -d; true: of variance 1.
        lambda: steps(
            Var(score), (-d, Evaluation(Population({q: (1, 0, -1), k: (1, 0, 1)}, d), assumed=True))
        ),
        lambda: steps(Var(score), (d, Evaluation(Population({q: (1, 0, 1), k: (1, 0, 1)}, d), assumed=True))),
    ),
    "one_for_two": of_derivations(
        # False: E ab = E a E b, and b may be a; true: a may be c.
        lambda: steps(
            E(a * b), (E(a) * E(b), Evaluation(Population({a: None, b: None}))), (E(b) ** 2, PutIn({a: b}))
        ),
        lambda: steps(
            E(a * b), (E(a) * E(b), Evaluation(Population({a: None, b: None}))), (E(c) * E(b), PutIn({a: c}))
        ),
    ),
    "self_score": of_derivations(
        # False: the variance of k·k is d, as that of q·k; true: it is 2 d for normal components.
        lambda: steps(
            Var(score.subs(k, q)),
            (d, Evaluation(Population({q: NORMAL_MOMENTS, k: NORMAL_MOMENTS}, d), assumed=True)),
        ),
        lambda: steps(
            Var(score.subs(k, q)),
            (2 * d, Evaluation(Population({q: NORMAL_MOMENTS, k: NORMAL_MOMENTS}, d), assumed=True)),
        ),
    ),
    "third_moment": of_derivations(
        # False: it is 0 for every law with mean 0; true: it is where the components' third moments are.
        lambda: steps(E(score**3), (S.Zero, Evaluation(STANDARD, assumed=True))),
        lambda: steps(
            E(score**3), (S.Zero, Evaluation(Population({q: (1, 0, 1, 0), k: (1, 0, 1, 0)}, d), assumed=True))
        ),
    ),
    "weighted": of_derivations(
        # False: Var Σ w_i q_i k_i is d w_i²; true: with one weight for all it is d w².
        lambda: steps(
            Var(Sum(IndexedBase("w")[index] * q[index] * k[index], (index, 1, d))),
            (d * IndexedBase("w")[index] ** 2, Evaluation(STANDARD, assumed=True)),
        ),
        lambda: steps(
            Var(Sum(w * q[index] * k[index], (index, 1, d))), (d * w**2, Evaluation(STANDARD, assumed=True))
        ),
    ),
}
