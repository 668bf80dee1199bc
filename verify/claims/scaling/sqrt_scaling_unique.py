"""±1/√d_k are the only factors that make the variance 1."""

from sympy import Eq, Expr, S, root, sqrt

from verify.former import (
    NORMAL, STANDARD, Claim, Control, Derivation, Experiment, Ordered, Quantity, Route, Step, Var, d,
    prediction, scaled, score, score_cell, variance_route,
)  # fmt: skip
from verify.former.rules import Equivalent

c = Ordered("c", "b", real=True)
DIMENSIONS = (4, 64, 512)
LABEL = r"$\operatorname{Var}(c\,q\cdot k)$"


def derive() -> Derivation:
    """Solve c²·d = 1 for the factor."""
    variance = variance_route(c * score, STANDARD)
    equation = Eq(variance.end, S.One, evaluate=False)
    solved = Eq((c - 1 / sqrt(d)) * (c + 1 / sqrt(d)), S.Zero, evaluate=False)
    route = Route.of(
        "Solving for the factor",
        Eq(Var(c * score), S.One, evaluate=False),
        Step(equation, "Variance of the multiple", Equivalent(sides=variance.proved())),
        Step(solved, "Both roots; a product is 0 where a factor is", Equivalent(d)),
    )
    return Derivation.of(route)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure both roots in three dimensions, and other factors that must fail."""

    def of_one(name: str, n: int, factor: Expr, prefix: str) -> Quantity:
        cell = score_cell(n, NORMAL, NORMAL, tolerance, scale=factor, prefix=prefix)
        return Quantity(name, LABEL, cell.cell, cell.variance, prediction(1))

    solutions = (c - factor for factor in derivation.result.lhs.args)
    minus, plus = sorted(solutions, key=lambda one: float(one.subs(d, 1)))
    checks = tuple(
        of_one(f"{sign}-d{n}", n, factor, f"{sign}-")
        for sign, factor in (("minus", minus), ("plus", plus))
        for n in DIMENSIONS
    )
    others = (
        ("fourth-root", 1 / root(d, 4), "the fourth root does as well"),
        ("three-quarters", 1 / (sqrt(d) * root(d, 4)), "the third power of the fourth root does as well"),
        ("dimension", 1 / d, "the dimension itself does as well"),
        ("multiplied", sqrt(d), "multiplying by the root in place of dividing does as well"),
        ("nearly", (1 + 2 * tolerance) / sqrt(d), "a factor larger by twice the tolerance does as well"),
    )
    controls = tuple(
        Control(what, of_one(name, 64, factor, f"{name}-"), truth=scaled(factor, 64) ** 2 * 64)
        for name, factor, what in others
    )
    return Experiment(checks, controls)


CLAIM = Claim(
    title="No other factor keeps the variance at one",
    statement="For independent components with mean zero and unit variance, {theorem}: {c} is one "
    "over {root_d}, with either sign, and no other factor.",
    meaning="The scale of one over {root_d} is not one choice among several: under these assumptions it is "
    "the only positive one that gives unit variance. (Whether that is the best target is another matter.)",
    symbols={"c": c},
)
