"""A true theorem, and beside it a measurement, a tolerance or a control that shows something else."""

from sympy import Rational, S

from tests.faults.false_claims.pairs import Pair, measured, of_experiments, of_measured_parts, spread
from verify.former import (
    LAPLACE,
    NORMAL_MOMENTS,
    STANDARD,
    Derivation,
    Population,
    ScorePowers,
    Tolerance,
    component,
    d,
    k,
    kurtosis,
    kurtosis_route,
    q,
    score,
    variance_route,
    wrong,
)

MEASURING: dict[str, Pair] = {
    # False: what is measured is at a scale 1% larger than what is derived; true: at the same scale.
    "other_scale": of_measured_parts(
        lambda scale: spread(scale=scale),
        Rational(505, 1000),
        S.Half,
        derive=lambda: Derivation.of(variance_route(score / 2, STANDARD)),
    ),
    "other_law": of_experiments(
        # False: the kurtosis of normal components is that of Laplace's; true: of normal components.
        lambda: measured(kurtosis(), None, ScorePowers((2, 4)), query=LAPLACE, key=LAPLACE, n=16),
        lambda: measured(kurtosis(), None, ScorePowers((2, 4)), n=16),
        derive=lambda: Derivation.of(kurtosis_route(Population({q: NORMAL_MOMENTS, k: NORMAL_MOMENTS}, d))),
    ),
    # False: the variance is 1.3 d, within ten times the tolerance; true: it is d, within the tolerance.
    "wide_tolerance": of_experiments(lambda: spread(13 * d / 10, tolerance=Tolerance(10.0))),
    # Each of these is false in its control; true: one that is off by twice the tolerance.
    "control_none": of_experiments(lambda: spread(controls=lambda check, tolerance: ())),
    "control_right": of_experiments(
        lambda: spread(controls=lambda check, tolerance: (wrong(check, "same", "it is the same", check),))
    ),
    "control_near": of_experiments(
        lambda: spread(controls=lambda check, tolerance: (wrong(check, "near", "it is a little more", 4.02),))
    ),
    "control_of_a_bound": of_experiments(
        lambda: spread(
            controls=lambda check, tolerance: (wrong(check, "half", "it is at most half", 2.0, relation="≤"),)
        )
    ),
    "control_of_another_estimand": of_experiments(
        lambda: spread(
            controls=lambda check, tolerance: (
                wrong(check, "double", "it is double", 8.0, estimand=component("square")),
            )
        )
    ),
}
"""By what is wrong in the false claim."""
