"""A vector's score with itself: mean d_k, variance 2 d_k."""

from collections.abc import Callable

from sympy import IndexedBase, S, Sum, Symbol, sqrt

from verify.claims.limits.shared import PairMoments, block_variances
from verify.former import (
    NORMAL, NORMAL_MOMENTS, UNIFORM, Cell, Claim, Derivation, Distribution, Experiment, Figure, Findings,
    Linked, Population, Smooth, Tolerance, biased, cell_of, component, d, figure, index, line, mean_route,
    measured, of_deviation, over_cells, variance, variance_route, wrong,
)  # fmt: skip

DIMENSIONS, PAIRS = (1, 8, 64, 128), 32
MEAN, VARIANCE = r"$\mathbb{E}[q\cdot q]$", r"$\operatorname{Var}(q\cdot q)$"
kappa = Symbol("kappa", positive=True)
skew = Symbol("gamma", real=True)
q = IndexedBase("q")
POPULATION = Population({q: (S.One, S.Zero, S.One, skew, kappa)}, d)
own = Sum(q[index] ** 2, (index, 1, d))

COARSE = Tolerance(2.0)
"""For variances: squared lengths have heavier tails than scores."""

WIDE = "a single square spreads further than its mean"
"""Why the tolerance of its mean is wide."""

_MOMENTS = {
    NORMAL: NORMAL_MOMENTS,
    UNIFORM: tuple(S(3) ** (n // 2) / (n + 1) if n % 2 == 0 else S.Zero for n in range(9)),
}
"""Raw moments of the components up to order 8, which a squared length's kurtosis takes."""


def derive() -> Derivation:
    """Derive the variance for any kurtosis of the components, and the mean as a lemma."""
    route, mean = variance_route(own, POPULATION), mean_route(own, POPULATION, "The mean")
    return Derivation.of(
        route, lemmas=(mean.defining("the mean of a vector’s score with itself").called("mean"),)
    )


def _cell(n: int, distribution: Distribution = NORMAL, prefix: str = "") -> Cell:
    """Return the cell whose keys are the queries themselves."""
    drawn = Linked(n, PAIRS, distribution, ((1.0,), (1.0,)), (0.0, 0.0))
    return cell_of(f"{prefix}d{n}", drawn, PairMoments())


def _of_variance(distribution: Distribution) -> Callable[[int], Smooth]:
    """Return the estimand of the variance, with its own variance in a block of independent scores."""
    of_score = block_variances.kurtosis(own, Population({q: _MOMENTS[distribution]}, d)) - 1
    return lambda n: variance(block_variance=float(of_score.subs(d, n)) / PAIRS)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure mean and variance over the dimensions, and the variance for uniform components."""
    cells = {n: _cell(n) for n in DIMENSIONS}
    law, of_uniform = (derivation.result.subs(kappa, _MOMENTS[one][4]) for one in (NORMAL, UNIFORM))

    def of_mean(n: int) -> Smooth:
        return component("mean", block_variance=float(law.subs(d, n)) / PAIRS)

    def near(n: int) -> Tolerance:
        return of_deviation(law.subs(d, n), 1.5, WIDE if n == 1 else "")

    means = over_cells("mean-d{d_k}", MEAN, cells, of_mean, derivation.lemmas[0].end, near)
    spreads = over_cells("variance-d{d_k}", VARIANCE, cells, _of_variance(NORMAL), law, COARSE)
    at64, estimand = {64: _cell(64, UNIFORM, "uniform-")}, _of_variance(UNIFORM)
    uniform = over_cells("uniform-variance-d{d_k}", VARIANCE, at64, estimand, of_uniform, COARSE)
    mean, spread = means[64], spreads[64]
    controls = (
        wrong(mean, "mean-zero", "a vector's score with itself is like any other, of mean {value}", S.Zero),
        wrong(spread, "variance-of-independent", "its variance is {d_k}, as for an independent key", S(64)),
        biased(mean, tolerance),
    )
    return Experiment((*means.values(), *spreads.values(), *uniform.values()), controls)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the mean of a score with itself above the spread of the others."""
    return figure(
        "above-the-others",
        "A token’s score with itself grows past the spread of the others, from nine dimensions on",
        "The mean score of a vector with itself is the dimension, a straight line; three standard "
        "deviations of scores with independent keys grow only like its root and stay below from nine on.",
        "score",
        line("with itself", derivation.lemmas[0].end),
        line("with others", 3 * sqrt(d), "other"),
        measured(findings.matching("mean-d*")),
    )


CLAIM = Claim(
    title="A vector's score with itself has the dimension as its mean",
    statement="For independent components with mean zero, unit variance and kurtosis {kappa}, the score of a "
    "vector with itself has mean {mean:result} and variance {theorem:result}; for normal components, "
    "in {variance-d64:d_k} dimensions, {variance-d64:prediction}.",
    meaning="Where query and key are the same vector, as with tied projections, nothing averages out: the "
    "score is the squared length. Divided by {root_d} it still grows like {root_d}, so that a "
    "token’s own key tends to win. For an independent query and key the variance is the dimension.",
    symbols={"kappa": kappa},
)
