"""Dividing by d_k^α leaves a variance that goes like d_k^(1 − 2α)."""

from sympy import Rational, Symbol

from verify.spec import STANDARD, Chain, Check, Claim, Derivation, Figure, Findings, Fit, Items, Line, Var
from verify.spec import Wrong, algebra, d, figures as drawing, moments, score

DIMENSIONS = (2, 16, 128, 1024)
POWERS = {
    "none": 0,
    "quarter": Rational(1, 4),
    "half": Rational(1, 2),
    "three-quarters": Rational(3, 4),
    "whole": 1,
}
alpha = Symbol("alpha", real=True)
divided = score * d**-alpha


def derive() -> Chain:
    """Derive the variance for any power of the dimension."""
    return Chain(
        Var(divided),
        Line(d ** (-2 * alpha) * Var(score), "a factor enters the variance squared", algebra),
        Line(d ** (1 - 2 * alpha), "the variance of the raw score is the dimension", moments(STANDARD)),
    )


def experiment(derived: Derivation) -> Items:
    """Measure the exponent for five powers of the dimension, by which the same scores are divided."""
    for name, power in POWERS.items():
        for size in DIMENSIONS:
            control = "biased-prediction" if (name, size) == ("quarter", 1024) else ""
            at = {alpha: power, d: size}
            yield Check(f"{name}-variance-d{size}", derived.start, at, equals=derived.end, control=control)
        law = derived.end.subs(alpha, power)
        yield Fit(f"{name}-variance-d*", over=d, law=law, only=("exponent",), prefix=f"{name}-")
    yield Wrong(
        "power-counted-once",
        of="quarter-exponent",
        equals=1 - POWERS["quarter"],
        says="the factor enters once, not squared: the exponent is {value}, as 1 minus {alpha}",
    )


def figures(derived: Derivation, findings: Findings) -> Figure:
    """Draw the five lines on logarithmic axes."""
    layers = []
    for name, power in POWERS.items():
        law = derived.end.subs(alpha, power)
        layers.append(drawing.curve(rf"$\alpha = {power}$", law, DIMENSIONS))
        layers.append(drawing.measured(findings.matching(f"{name}-variance-d*"), d))
    return drawing.figure(
        "fan",
        "Only the exponent ½ keeps the variance level",
        "Variances of the score over the dimension to five powers from 0 to 1: straight lines on logarithmic "
        "axes that rise, stay level at one half, and fall.",
        *layers,
        x=d,
        y="variance of {divided}",
    )


CLAIM = Claim(
    title="Each power of the dimension has its own exponent",
    statement="For independent components with mean 0 and variance 1, {main} for every {alpha}.",
    meaning="The usual scale, the power one half, separates two regimes: with a smaller power scores grow "
    "with the dimension, with a larger one they shrink. No other power keeps the variance level: a quarter "
    "instead of a half leaves a variance of {quarter-variance-d128:prediction.3} in "
    "{quarter-variance-d128:d_k} dimensions. In each dimension all powers are measured on the same scores.",
    symbols={"alpha": alpha, "divided": divided},
)
