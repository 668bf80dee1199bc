"""Dividing by d_k^α leaves a variance that goes like d_k^(1 − 2α)."""

from sympy import Rational, S, Symbol, root, sqrt

from verify.former import (
    NORMAL, STANDARD, Claim, Comparison, Control, Derivation, Experiment, Figure, Findings, Notation, Route,
    Step, Var, biased, d, figure, fits, fitting, function, line, measured, score, score_cell,
    variances, wrong,
)  # fmt: skip
from verify.former.rules import Evaluation

DIMENSIONS = (2, 16, 128, 1024)
POWERS = {
    "none": (S.Zero, S.One),
    "quarter": (Rational(1, 4), 1 / root(d, 4)),
    "half": (Rational(1, 2), 1 / sqrt(d)),
    "three-quarters": (Rational(3, 4), 1 / (sqrt(d) * root(d, 4))),
    "whole": (S.One, 1 / d),
}
"""The power, which predicts; and the factor by which scores are multiplied, written out with roots."""
LABEL = r"$\operatorname{Var}(q\cdot k/d_k^{\alpha})$"
alpha = Symbol("alpha", real=True)


def derive() -> Derivation:
    """Derive the variance for any power of the dimension."""
    check, moments = Evaluation(STANDARD), Evaluation(STANDARD, assumed=True)
    route = Route.of(
        "The factor first",
        Var(score * d**-alpha),
        Step(d ** (-2 * alpha) * Var(score), "A factor enters the variance squared", check),
        Step(d ** (1 - 2 * alpha), "The variance of the raw score is the dimension", moments),
    )
    return Derivation.of(route)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the exponent for five powers of the dimension, by which the same scores are divided."""
    checks: list[Comparison] = []
    controls: list[Control] = []
    raw = [score_cell(n, NORMAL, NORMAL, tolerance) for n in DIMENSIONS]
    for name, (power, factor) in POWERS.items():
        law = derivation.result.subs(alpha, power)
        label = rf"{LABEL}, $\alpha = {power}$"
        points = variances([one.times(factor, f"{name}-") for one in raw], label, law)
        (fit,) = fits(points, fitting.exponent(law, f"{name}-"), label=label)
        checks += [*points, fit]
        if name == "quarter":
            what = "the factor enters once, not squared: the exponent is {value}, as one minus {alpha}"
            controls = [wrong(fit, "power-counted-once", what, 1 - power), biased(points[-1], tolerance)]
    return Experiment(tuple(checks), tuple(controls))


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the five lines on logarithmic axes."""
    layers = []
    for name, (power, _) in POWERS.items():
        law = function((d,), derivation.result.subs(alpha, power))
        layers.append(line(rf"$\alpha = {power}$", law))
        layers.append(measured(findings.matching(f"{name}-variance-d*"), ""))
    return figure(
        "fan",
        "Only the exponent one half keeps the variance level",
        "Variances of the score over the dimension to five powers from zero to one: straight lines "
        "on logarithmic axes that rise, stay level at one half, and fall.",
        "variance of {divided}",
        *layers,
    )


CLAIM = Claim(
    title="Each power of the dimension has its own exponent",
    statement="For independent components with mean zero and unit variance, {theorem} for every {alpha}.",
    meaning="The usual scale, the power one half, separates two regimes: with a smaller power scores grow "
    "with the dimension, with a larger one they shrink. No other power keeps the variance level: a quarter "
    "instead of a half leaves a variance of {quarter-variance-d128:prediction.3} in "
    "{quarter-variance-d128:d_k} dimensions. In each dimension all powers are measured on the same scores.",
    symbols={"alpha": alpha, "divided": Notation(r"q\cdot k/d_k^{\alpha}", score * d**-alpha)},
)
