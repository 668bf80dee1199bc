"""Var(cX) = c² Var(X)."""

from sympy import Rational, S, Symbol

from verify.former import (
    EXPONENTIAL, LAPLACE, NORMAL, RADEMACHER, UNIT_INTERVAL, Claim, Derivation, Experiment, Ordered,
    Population, Quantity, Route, Step, Var, biased, d, latex, prediction, score_cell, unfold, wrong,
)  # fmt: skip
from verify.former.rules import Evaluation, Identity, by_component

X = Symbol("X", real=True)
c = Ordered("c", "b", real=True)
mu, sigma = Symbol("mu", real=True), Symbol("sigma", positive=True)
ANY = Population({X: (S.One, mu, mu**2 + sigma**2)}, d)
D = 4
LABEL = r"$\operatorname{Var}(cX)$"
CASES = (
    ("normal", NORMAL, S(3), S(4)),
    ("laplace", LAPLACE, -Rational(1, 2), S(4)),
    ("rademacher", RADEMACHER, Rational(1, 8), S(4)),
    ("exponential", EXPONENTIAL, S(2), S(4)),
    ("uniform", UNIT_INTERVAL, -S(3), Rational(7, 36)),
)
"""A law, a constant, and the variance of X, the score of that law in four dimensions, written out."""


def derive() -> Derivation:
    """Derive the rule for any variable with a finite variance."""
    check = Evaluation(ANY)
    unfolded = unfold(Var(c * X))
    steps = (
        Step(unfolded, "Definition of the variance", check),
        Step(by_component(unfolded, ANY), "The constant leaves the expectation: linearity", check),
        Step(c**2 * unfold(Var(X)), "Collecting the constant", Identity()),
        Step(c**2 * Var(X), "Definition of the variance, read backwards", check),
    )
    return Derivation.of(Route.of("From the definition", Var(c * X), *steps))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure Var(cX) where X is a score in four dimensions, for five laws and constants."""
    checks = []
    for name, law, constant, of_x in CASES:
        expected = prediction(derivation.result.subs(Var(X), of_x).subs(c, constant))
        cell = score_cell(D, law, law, tolerance, scale=constant, prefix=f"{name}-")
        label = f"{LABEL}, $c = {latex(constant)}$"
        checks.append(Quantity(f"{name}-multiple", label, cell.cell, cell.variance, expected))
    _, _, constant, of_x = CASES[0]
    once = "the constant enters once: the variance is {once}"
    controls = wrong(checks[0], "linear", once, constant * of_x), biased(checks[0], tolerance)
    return Experiment(tuple(checks), controls)


CLAIM = Claim(
    title="A factor enters the variance squared",
    statement="For any variable with a finite variance and any constant, {theorem}.",
    meaning="To divide a variance by {d_k}, divide the variable by its square root. This one rule is why the "
    "scale of attention is a root, and it holds for every law, not only for the normal one.",
    symbols={"once": c * Var(X)},
)
