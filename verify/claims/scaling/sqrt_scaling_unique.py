"""±1/√d_k are the only factors that make the variance 1."""

from sympy import Contains, Eq, Expr, FiniteSet, Poly, S, root, solveset, sqrt

from verify.spec import (
    NORMAL, STANDARD, STANDARD_COMPONENTS, By, Claim, Control, Derivation, Expansion, Experiment, Ordered,
    Quantity, Route, Step, Var, by, d, evaluate, is_zero, prediction, scaled, score, score_cell,
)  # fmt: skip

c = Ordered("c", "b", real=True)
DIMENSIONS = (4, 64, 512)
LABEL = r"$\operatorname{Var}(c\,q\cdot k)$"
MOMENTS = Expansion(STANDARD, assumed=True)


@by("SymPy: each root put in gives 0, and there are as many as the degree", "general")
def _all_roots(before: Expr, after: Expr) -> bool:
    """Put every factor in, and count: a polynomial has no more roots than its degree."""
    polynomial = Poly(before.lhs - before.rhs, c)
    roots = after.args[1]
    return len(roots) == polynomial.degree() and all(is_zero(polynomial.eval(r)) for r in roots)


def derive() -> Derivation:
    """Solve c²·d = 1 for the factor."""
    wanted = Eq(Var(c * score), S.One, evaluate=False)
    equation = Eq(evaluate(Var(c * score), STANDARD), S.One, evaluate=False)
    solution = Contains(c, solveset(equation, c, S.Reals), evaluate=False)
    left = By(MOMENTS.label, lambda a, b: a.rhs == b.rhs and MOMENTS.holds(a.lhs, b.lhs), "general")
    route = Route.of(
        "Solving for the factor",
        wanted,
        Step(equation, "Variance of the multiple", left, "⇔"),
        Step(solution, "Both roots, and a quadratic has no more", _all_roots, "⇔"),
    )
    result = Contains(c, FiniteSet(-1 / sqrt(d), 1 / sqrt(d)), evaluate=False)
    return Derivation(wanted, result, (route,))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure both roots in three dimensions, and other factors that must fail."""

    def of_one(name: str, n: int, factor: Expr, prefix: str) -> Quantity:
        cell = score_cell(n, NORMAL, NORMAL, tolerance, scale=factor, prefix=prefix)
        return Quantity(name, LABEL, cell.cell, cell.variance, prediction(1))

    minus, plus = sorted(derivation.result.args[1], key=lambda factor: float(factor.subs(d, 1)))
    checks = tuple(
        of_one(f"{sign}-d{n}", n, factor, f"{sign}-")
        for sign, factor in (("minus", minus), ("plus", plus))
        for n in DIMENSIONS
    )
    others = (
        ("fourth-root", 1 / root(d, 4), "the fourth root does as well"),
        ("three-quarters", 1 / (sqrt(d) * root(d, 4)), "the power −3/4 does as well"),
        ("dimension", 1 / d, "the dimension itself does as well"),
        ("nearly", (1 + 2 * tolerance) / sqrt(d), "a factor larger by twice the tolerance does as well"),
    )
    controls = tuple(
        Control(what, of_one(name, 64, factor, f"{name}-"), truth=scaled(factor, 64) ** 2 * 64)
        for name, factor, what in others
    )
    return Experiment(checks, controls)


CLAIM = Claim(
    title="No other factor keeps the variance at 1",
    statement=r"For independent components with mean 0 and variance 1, $\operatorname{Var}(c\,q\cdot k) = 1$ "
    r"only for $c = 1/\sqrt{d_k}$ and $c = -1/\sqrt{d_k}$.",
    meaning=r"The scale $1/\sqrt{d_k}$ is not one choice among several: under these assumptions it is the "
    "only positive one with unit variance. (Whether unit variance is the best target is another question.)",
    assumptions=STANDARD_COMPONENTS,
)
