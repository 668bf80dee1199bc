"""A vector's score with itself: mean d_k, variance 2 d_k."""

from __future__ import annotations

from typing import Any

from sympy import IndexedBase, S, Sum, Symbol, factorial2, sqrt

from verify.spec import (
    NORMAL, UNIFORM, Assumption, Cell, Claim, Control, Definition, Derivation, Distribution, E, Experiment,
    Figure, Findings, LinkedPairs, Population, Quantity, Smooth, Tolerance, against_dimension, biased,
    block_variances, cell_of, component, d, formula, index, mean_route, measured, prediction, variance,
    variance_route,
)  # fmt: skip


DIMENSIONS = (1, 8, 64, 128)
PAIRS = 32
MEAN, VARIANCE = r"$\mathbb{E}[q\cdot q]$", r"$\operatorname{Var}(q\cdot q)$"
kappa = Symbol("kappa", positive=True)
skew = Symbol("gamma", real=True)
q = IndexedBase("q")
POPULATION = Population({q: (S.One, S.Zero, S.One, skew, kappa)}, d)
own = Sum(q[index] ** 2, (index, 1, d))

COARSE = Tolerance(2.0)
"""For variances: squared lengths have heavier tails than scores."""

_MOMENTS = {
    NORMAL.name: tuple(factorial2(n - 1) if n % 2 == 0 else S.Zero for n in range(9)),
    UNIFORM.name: tuple(S(3) ** (n // 2) / (n + 1) if n % 2 == 0 else S.Zero for n in range(9)),
}
"""Raw moments of the components up to order 8, which a squared length's kurtosis takes."""


def derive() -> Derivation:
    """Derive the variance for any kurtosis of the components, and the mean as a lemma."""
    route = variance_route(own, POPULATION)
    return Derivation.of(
        route,
        lemmas=(mean_route(own, POPULATION, "The mean"),),
        definitions=(Definition(E(own), "the mean of a vector’s score with itself"),),
    )


def _cell(n: int, distribution: Distribution = NORMAL, prefix: str = "") -> Cell:
    """Return the cell whose keys are the queries themselves."""
    return cell_of(f"{prefix}d{n}", LinkedPairs(n, PAIRS, distribution, ((1.0,), (1.0,)), (0.0, 0.0)))


def _spread(n: int, distribution: Distribution) -> Smooth:
    """Return the variance as an estimand, with the derived variance of a block of independent scores."""
    of_score = block_variances.kurtosis(own, Population({q: _MOMENTS[distribution.name]}, d)).subs(d, n)
    return variance(block_variance=float(of_score - 1) / PAIRS)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure mean and variance over the dimensions, and the variance for uniform components."""
    mean, spread = derivation.lemmas[0].end, derivation.result.subs(kappa, 3)
    cells = {n: _cell(n) for n in DIMENSIONS}
    means = tuple(
        Quantity(
            f"mean-d{n}",
            MEAN,
            cells[n],
            component("mean", block_variance=float(spread.subs(d, n)) / PAIRS),
            prediction(mean.subs(d, n)),
            Tolerance(1.5, float(spread.subs(d, n)) ** 0.5, "the standard deviation"),
        )
        for n in DIMENSIONS
    )
    spreads = tuple(
        Quantity(
            f"variance-d{n}", VARIANCE, cells[n], _spread(n, NORMAL), prediction(spread.subs(d, n)), COARSE
        )
        for n in DIMENSIONS
    )
    of_uniform = derivation.result.subs({kappa: S(9) / 5, d: 64})
    uniform = Quantity(
        "uniform-variance-d64",
        VARIANCE,
        _cell(64, UNIFORM, "uniform-"),
        _spread(64, UNIFORM),
        prediction(of_uniform),
        COARSE,
    )
    at = DIMENSIONS.index(64)
    controls = (
        Control(
            "a vector's score with itself is like any other: mean 0",
            Quantity(
                "mean-zero", MEAN, cells[64], means[at].estimand, prediction(S.Zero), means[at].tolerance
            ),
            truth=float(mean.subs(d, 64)),
        ),
        Control(
            "its variance is $d_k$, as for an independent key",
            Quantity(
                "variance-of-independent",
                VARIANCE,
                cells[64],
                spreads[at].estimand,
                prediction(S(64)),
                COARSE,
            ),
            truth=float(spread.subs(d, 64)),
        ),
        biased(means[at], tolerance),
    )
    return Experiment((*means, *spreads, uniform), controls)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the mean of a score with itself above the spread of the others."""
    span = (DIMENSIONS[0], DIMENSIONS[-1])
    mean: Any = derivation.lemmas[0].end
    return (
        against_dimension(
            "above-the-others",
            "A token’s score with itself grows past the spread of the others, from nine dimensions on",
            "The mean score of a vector with itself is the dimension, a straight line; three standard "
            "deviations of scores with independent keys grow only like its root and stay below from nine on.",
            r"score",
            (
                formula("with itself", "truth", mean, span),
                formula("with others", "other", 3 * sqrt(d), span),
                measured((findings.checks[f"mean-d{n}"] for n in DIMENSIONS), "measured"),
            ),
        ),
    )


CLAIM = Claim(
    title="A vector's score with itself has mean $d_k$",
    statement=(
        r"For independent components with mean 0, variance 1 and kurtosis $\kappa$, the score $q\cdot q$ "
        r"has mean $d_k$ and variance $d_k(\kappa - 1)$; for normal components $2d_k$."
    ),
    meaning=(
        "Where query and key are the same vector, as with tied projections, nothing averages out: the score "
        r"is the squared length. Divided by $\sqrt{d_k}$ it still grows like $\sqrt{d_k}$, and every token "
        r"attends to itself. The statement on the variance needs query and key to be independent."
    ),
    assumptions=(
        Assumption(id="independent", text="The components of the vector are independent."),
        Assumption(id="standard", text=r"Each has mean 0, variance 1 and finite kurtosis $\kappa$."),
    ),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
