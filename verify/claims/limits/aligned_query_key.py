"""Queries and keys that are aligned: the mean of the score grows like d_k, not like its root."""

from sympy import Expr, S, Sum, sqrt

from verify.claims.limits.shared import PairMoments, block_variances
from verify.former import (
    NORMAL, NORMAL_MOMENTS, Cell, Claim, Derivation, Experiment, Figure, Findings, Linked, Ordered,
    OrderedBase, Population, Quantity, Tolerance, biased, cell_of, cite, component, d, figure, index, line,
    mean_route, measured, prediction, scaled, variance, variance_route, wrong,
)  # fmt: skip

DIMENSIONS, PAIRS, RHO = (4, 16, 64), 32, S.One / 2
SCALES: dict[str, tuple[str, Expr]] = {
    "": ("unscaled", S.One),
    "root-": ("over {root_d}", 1 / sqrt(d)),
    "over-": ("over {d_k}", 1 / d),
}
"""Prefixes of checks, and the factors of their scores in words and as expressions."""
rho = Ordered("rho", "r", positive=True)
q, e = OrderedBase(Ordered("q", "q1")), OrderedBase(Ordered("e", "q2"))
POPULATION = Population({q: NORMAL_MOMENTS, e: NORMAL_MOMENTS}, d)
aligned = Sum(q[index] * (rho * q[index] + sqrt(1 - rho**2) * e[index]), (index, 1, d))
"""The score with the key k = ρq + √(1-ρ²)e, whose components have correlation ρ with the query's."""

OTHER_PART = r"With the key $k = \rho q + \sqrt{1 - \rho^2}\,e$: $e$ is independent of the query"


def derive() -> Derivation:
    """Derive the mean of the score; its variance as a lemma."""
    spread = variance_route(aligned, POPULATION, "The variance", independence=OTHER_PART)
    mean = mean_route(aligned, POPULATION, independence=OTHER_PART)
    return Derivation.of(mean, lemmas=(spread.defining("the variance of the same score").called("variance"),))


def _cell(n: int, prefix: str = "") -> Cell:
    """Return the cell with k = q/2 + √3/2·e, written out: its correlation is one half."""
    mixing, scale = ((1.0, 0.0), (0.5, 0.75**0.5)), SCALES[prefix][1]
    drawn = Linked(n, PAIRS, NORMAL, mixing, (0.0, 0.0))
    return cell_of(f"{prefix}d{n}", drawn, PairMoments(), scale=scale)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure mean and variance, and the mean under all scales."""
    mean, spread = (one.subs(rho, RHO) for one in (derivation.result, derivation.lemmas[0].end))
    of_squares = block_variances.kurtosis(aligned.subs(rho, RHO), POPULATION) - 1
    checks: dict[str, Quantity] = {}
    for n in DIMENSIONS:
        of_mean, of_variance = (float(one.subs(d, n)) / PAIRS for one in (spread, of_squares))
        for prefix, (_, scale) in SCALES.items():
            label = r"$\mathbb{E}[c\,q\cdot k]$" if prefix else r"$\mathbb{E}[q\cdot k]$"
            estimand = component("mean", block_variance=of_mean * scaled(scale, n) ** 2)
            name, expected = f"{prefix}mean-d{n}", prediction((mean * scale).subs(d, n))
            checks[name] = Quantity(name, label, _cell(n, prefix), estimand, expected)
        name, label = f"variance-d{n}", r"$\operatorname{Var}(q\cdot k)$"
        estimand, expected = variance(block_variance=of_variance), prediction(spread.subs(d, n))
        checks[name] = Quantity(name, label, _cell(n), estimand, expected, Tolerance(2.0))
    return Experiment(tuple(checks.values()), (
        wrong(checks["root-mean-d64"], "root-keeps-the-mean",
              "divided by {root_d}, aligned scores have the same mean in every dimension, {value}",
              mean.subs(d, 4) / 2),
        wrong(checks["variance-d64"], "variance-of-independent", "aligned or not, the variance is {d_k}",
              S(64)),
        biased(checks["mean-d4"], tolerance),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the mean under the three scales."""
    mean = derivation.result.subs(rho, RHO)
    layers = []
    for prefix, (words, scale) in SCALES.items():
        layers += [line(words, mean * scale), measured(findings.matching(f"{prefix}mean-d*"), "")]
    return figure(
        "three-scales",
        "For aligned vectors it is division by the dimension itself that keeps the mean",
        "The mean score of queries and keys with correlation one half: unscaled it grows like the "
        "dimension, over the root of that like the root, and over the dimension it stays at one half.",
        "mean of the score, at a correlation of one half",
        *layers,
    )


CLAIM = Claim(
    title="Aligned queries and keys have scores with a mean of their own",
    statement="If query and key components are standard normal with correlation {rho}, pair by pair, the "
    "mean of the score is {theorem:result} and its variance {variance:result}: dividing by {d_k} keeps the "
    "mean, dividing by {root_d} does not.",
    meaning="The root is the right scale at initialisation, when queries and keys are independent of each "
    "other. Where training aligns them, the mean takes over, which calls for division by {d_k}: the choice "
    "of maximal-update parametrisation. Which scale is right depends on what it is to keep.",
    symbols={"rho": rho},
    references=cite(
        "yang2022",
        "G. Yang et al., Tensor Programs V: Tuning Large Neural Networks via Zero-Shot Hyperparameter "
        "Transfer, 2022.",
        "https://arxiv.org/abs/2203.03466",
    ),
)
