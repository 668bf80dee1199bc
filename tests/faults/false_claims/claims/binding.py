"""What is measured is something else than what is derived."""

from typing import Any

from sympy import Range, Rational, S, exp, oo, sqrt

from tests.faults.false_claims.shared import (
    Measuring, Pair, measured, measured_correlated, of_claims, of_derivations, of_experiments, spread, steps,
    theorem,
)  # fmt: skip
from verify.claims.newer import bounded_scores, sigmoid_attention, softmax_lipschitz
from verify.claims.newer.shared import SigmoidRows, entropy_lost
from verify.spec import (
    LAPLACE, NORMAL, NORMAL_MOMENTS, RADEMACHER, STANDARD, Derivation, Distribution, E, Experiment,
    NormalRows, Population, Quantity, ScoreMoments, ScorePowers, Smooth, Var, cell_of, component, d, k,
    kurtosis, kurtosis_route, prediction, q, score, sharper, variance_route,
)  # fmt: skip
from verify.spec.rules import Evaluation, FirstTerms, Hypotheses, Replaced, Sign, Turned

PAIRS_OF_SCORES = NormalRows(2, 16, 0.25, NORMAL, ("product",))
SIGMOIDS = exp(S.Half) / (1 + exp(S.Half) / 4), 0.95
"""The bound for four standard normal scores, and less than their mean."""
LIKE = Distribution("normal", RADEMACHER.base_moments, RADEMACHER.fill)


def _rows(sampler: Any, estimand: Any, bound: Any, truth: float) -> Measuring:
    """Return the function that measures a mean over rows against a bound, 0.4 times which is no bound."""

    def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # given
        cell = cell_of("rows", sampler)
        check = Quantity("found", "a mean over rows", cell, estimand, prediction(bound), relation="≤")
        return Experiment((check,), (sharper(check, 0.4, truth),))

    return experiment


PAIRS: dict[str, Pair] = {
    "called_normal": of_experiments(
        # False: a distribution that is called normal is one; true: a normal one.
        lambda: spread(query=LIKE, key=LIKE),
        spread,
        derive=lambda: steps(
            Var(score),
            (d, Evaluation(Population({q: (1, 0, 1), k: (1, 0, 1)}, d, normal=(q, k)), assumed=True)),
        ),
    ),
    "correlated": of_claims(
        # False: the theorem for independent components speaks of correlated ones.
        # True: of independent ones.
        lambda: {"title": "Correlated components", "experiment": measured_correlated},
        lambda: {"title": "The variance of a score", "experiment": spread()},
    ),
    "law_of_more": of_experiments(
        # False: a theorem for normal components speaks of random signs; true: of normal components.
        lambda: spread(query=RADEMACHER, key=RADEMACHER),
        spread,
        derive=lambda: steps(
            Var(score), (d, Evaluation(Population({q: (1, 0, 1, 0, 3), k: (1, 0, 1, 0, 3)}, d), assumed=True))
        ),
    ),
    "mean_for_variance": of_experiments(
        # False: a quarter of the mean square is measured, and the variance derived.
        # True: their variance is measured.
        lambda: measured(component("square", 0.25, positive=True), S.One, ScoreMoments()),
        spread,
    ),
    "mean_square": of_experiments(
        # False: the mean square of scores with a mean is measured; the theorem is about their variance.
        # True: their variance is 3 d.
        lambda: measured(
            component("square", positive=True),
            d * (d + 3),
            ScoreMoments(),
            query=NORMAL.moved(1, 1),
            key=NORMAL.moved(1, 1),
        ),
        lambda: spread(query=NORMAL.moved(1, 1), key=NORMAL.moved(1, 1)),
        derive=lambda: Derivation.of(variance_route(score, Population({q: (1, 1, 2), k: (1, 1, 2)}, d))),
    ),
    "only_large": of_experiments(
        # False: a theorem for many dimensions speaks of four; true: of 64.
        spread,
        lambda: spread(n=64),
        derive=lambda: steps(
            Var(score),
            (d, Evaluation(STANDARD, assumed=True)),
            under=Hypotheses().restricted(d, Range(64, oo)),
        ),
    ),
    "other_law": of_experiments(
        # False: the kurtosis of normal components is that of Laplace's; true: of normal components.
        lambda: measured(kurtosis(), None, ScorePowers((2, 4)), query=LAPLACE, key=LAPLACE, n=16),
        lambda: measured(kurtosis(), None, ScorePowers((2, 4)), n=16),
        derive=lambda: Derivation.of(kurtosis_route(Population({q: NORMAL_MOMENTS, k: NORMAL_MOMENTS}, d))),
    ),
    "other_relation": of_claims(
        # False: a lower bound is derived, and an upper one measured; true: the value is derived.
        lambda: {
            "title": "A bound on the mean square",
            "derive": lambda: steps(
                E(score**2),
                (d, Evaluation(STANDARD, assumed=True)),
                (d / 2, Replaced(theorem(S.Zero, (d / 2, Sign()), (d / 2, Turned(start=d))))),
            ),
            "experiment": measured(
                component("square", positive=True),
                5 * S.One,
                ScoreMoments(),
                relation="≤",
                controls=lambda check, tolerance: (sharper(check, 0.5),),
            ),
        },
        lambda: {
            "title": "The mean square",
            "derive": lambda: steps(E(score**2), (d, Evaluation(STANDARD, assumed=True))),
            "experiment": measured(component("square", positive=True), None, ScoreMoments()),
        },
    ),
    "padded": of_derivations(
        # False: the variance of a padded score is exactly 1 - 1/d; these are first terms of d/(d + 1).
        # True: it is d/(d + e).
        lambda: steps(
            Var(score / sqrt(d + 1)),
            (d / (d + 1), Evaluation(STANDARD, assumed=True)),
            (1 - 1 / d, FirstTerms(d, 1)),
        ),
        lambda: steps(Var(score / sqrt(d + 1)), (d / (d + 1), Evaluation(STANDARD, assumed=True))),
        experiment=spread(scale=1 / sqrt(d + 1), n=64),
    ),
    "scale": of_experiments(
        # False: what is measured is at a scale 1% larger than what is derived; true: at the same scale.
        lambda: spread(scale=Rational(505, 1000)),
        lambda: spread(scale=S.Half),
        derive=lambda: Derivation.of(variance_route(score / 2, STANDARD)),
    ),
    "sigmoids": of_experiments(
        # False: the bound for scores of deviation 1 is about rows of deviation 0.98; true: of 1.
        lambda: _rows(SigmoidRows(4, 0.98), component("total"), *SIGMOIDS),
        lambda: _rows(SigmoidRows(4), component("total"), *SIGMOIDS),
        derive=sigmoid_attention.derive,
    ),
    "some_weight": of_experiments(
        # False: what bounds a row of the Jacobian is about one entry of it; true: about the row.
        lambda: _rows(PAIRS_OF_SCORES, component("product"), S.Half, 0.242),
        lambda: _rows(
            PAIRS_OF_SCORES, Smooth(lambda mean: 2 * mean["product"], positive=True), S.Half, 0.485
        ),
        derive=softmax_lipschitz.derive,
    ),
    "unbounded": of_experiments(
        # False: what holds of scores within a range is about normal ones; true: about scores of two levels.
        lambda: _rows(NormalRows(4, 16, 1.0, NORMAL, ("entropy",)), entropy_lost(4), S.Half, 0.35),
        lambda: _rows(NormalRows(4, 16, 1.0, RADEMACHER, ("entropy",)), entropy_lost(4), S.Half, 0.28),
        derive=bounded_scores.derive,
    ),
}
