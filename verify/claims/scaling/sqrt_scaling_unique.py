"""±1/√d_k are the only factors that make the variance 1."""

from __future__ import annotations

from typing import Any

from sympy import Contains, Eq, FiniteSet, Poly, S, root, simplify, solveset, sqrt

from verify.spec import (
    NORMAL, STANDARD, STANDARD_COMPONENTS, By, Claim, Control, Derivation, Expansion, Experiment, Ordered,
    Quantity, Route, Step, Var, d, evaluate, prediction, scaled, score, score_cell,
)  # fmt: skip

c = Ordered("c", "b", real=True)
DIMENSIONS = (4, 64, 512)
LABEL = r"$\operatorname{Var}(c\,q\cdot k)$"


MOMENTS = Expansion(STANDARD, assumed=True)


def _evaluates(before: Any, after: Any) -> bool:
    return before.rhs == after.rhs and MOMENTS.holds(before.lhs, after.lhs)


def _are_all_roots(before: Any, after: Any) -> bool:
    """Put every factor in, and count: a polynomial has no more roots than its degree."""
    polynomial = Poly(before.lhs - before.rhs, c)
    roots = after.args[1]
    return len(roots) == polynomial.degree() and all(simplify(polynomial.eval(r)) == S.Zero for r in roots)


def derive() -> Derivation:
    """Solve c²·d = 1 for the factor."""
    wanted = Eq(Var(c * score), S.One, evaluate=False)
    equation = Eq(evaluate(Var(c * score), STANDARD), S.One, evaluate=False)
    solution = Contains(c, solveset(equation, c, S.Reals), evaluate=False)
    route = Route(
        "Solving for the factor",
        wanted,
        (
            Step(
                equation,
                "Variance of the multiple",
                By(MOMENTS.label, _evaluates, "general"),
                "⇔",
            ),
            Step(
                solution,
                "Both roots, and a quadratic has no more",
                By(
                    "SymPy: each root put in gives 0, and there are as many as the degree",
                    _are_all_roots,
                    "general",
                ),
                relation="⇔",
            ),
        ),
    )
    result = Contains(c, FiniteSet(-1 / sqrt(d), 1 / sqrt(d)), evaluate=False)
    return Derivation(wanted, result, (route,))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure both roots in three dimensions, and other factors that must fail."""
    checks = []
    for factor, sign in zip(
        sorted(derivation.result.args[1], key=lambda r: float(r.subs(d, 1))), ("minus", "plus"), strict=True
    ):
        for n in DIMENSIONS:
            cell = score_cell(n, NORMAL, NORMAL, tolerance, scale=factor, prefix=f"{sign}-")
            checks.append(Quantity(f"{sign}-d{n}", LABEL, cell.cell, cell.variance, prediction(S.One)))
    n = 64
    others = (
        ("fourth-root", 1 / root(d, 4), "the fourth root does as well"),
        ("three-quarters", 1 / (sqrt(d) * root(d, 4)), "the power −3/4 does as well"),
        ("dimension", 1 / d, "the dimension itself does as well"),
        ("nearly", (1 + 2 * tolerance) / sqrt(d), "a factor larger by twice the tolerance does as well"),
    )
    controls = []
    for name, scale, what in others:
        cell = score_cell(n, NORMAL, NORMAL, tolerance, scale=scale, prefix=f"{name}-")
        wrong = Quantity(name, LABEL, cell.cell, cell.variance, prediction(S.One))
        controls.append(Control(what, wrong, truth=scaled(scale, n) ** 2 * n))
    return Experiment(tuple(checks), tuple(controls))


CLAIM = Claim(
    title="No other factor keeps the variance at 1",
    statement=(
        r"For independent components with mean 0 and variance 1, $\operatorname{Var}(c\,q\cdot k) = 1$ "
        r"only for $c = 1/\sqrt{d_k}$ and $c = -1/\sqrt{d_k}$."
    ),
    meaning=(
        r"The scale $1/\sqrt{d_k}$ is not one choice among several: under these assumptions it is the only "
        "positive one with unit variance. (Whether unit variance is the best target is another question.)"
    ),
    assumptions=STANDARD_COMPONENTS,
    derive=derive,
    experiment=experiment,
)
