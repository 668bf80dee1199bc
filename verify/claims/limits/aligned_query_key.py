"""Queries and keys that are aligned: the mean of the score grows like d_k, not like its root."""

from __future__ import annotations

from typing import Any

from sympy import S, Sum, factorial2, sqrt

from verify.spec import (
    NORMAL, Assumption, Cell, Claim, Control, Definition, Derivation, Experiment, Figure, Findings,
    LinkedPairs, Ordered, OrderedBase, Population, Quantity, Reference, Tolerance, Var, against_dimension,
    biased, block_variances, cell_of, component, d, formula, index, mean_route, measured, prediction, scaled,
    variance, variance_route,
)  # fmt: skip


DIMENSIONS = (4, 16, 64)
PAIRS = 32
RHO = S.One / 2
MEAN, VARIANCE = r"$\mathbb{E}[q\cdot k]$", r"$\operatorname{Var}(q\cdot k)$"
_NORMAL = tuple(factorial2(n - 1) if n % 2 == 0 else S.Zero for n in range(9))

rho = Ordered("rho", "r", positive=True)
q, e = OrderedBase(Ordered("q", "q1")), OrderedBase(Ordered("e", "q2"))
POPULATION = Population({q: _NORMAL, e: _NORMAL}, d)
aligned = Sum(q[index] * (rho * q[index] + sqrt(1 - rho**2) * e[index]), (index, 1, d))
"""The score with the key k = ρq + √(1-ρ²)e, whose components have correlation ρ with the query's."""

OTHER_PART = r"With the key $k = \rho q + \sqrt{1 - \rho^2}\,e$: $e$ is independent of the query"


def derive() -> Derivation:
    """Derive the mean of the score; its variance as a lemma."""
    spread = variance_route(aligned, POPULATION, "The variance", independence=OTHER_PART)
    mean = mean_route(aligned, POPULATION, independence=OTHER_PART)
    variance_of_score = Definition(Var(aligned), "the variance of the same score")
    return Derivation.of(mean, lemmas=(spread,), definitions=(variance_of_score,))


SCALES: tuple[tuple[str, Any], ...] = (("", S.One), ("root-", 1 / sqrt(d)), ("over-", 1 / d))
"""Prefixes of checks and the factors of their scores."""


def _cell(n: int, prefix: str, scale: Any) -> Cell:
    """Return the cell with k = q/2 + √3/2·e, written out: its correlation is one half."""
    mixing = ((1.0, 0.0), (0.5, 0.75**0.5))
    sampler = LinkedPairs(n, PAIRS, NORMAL, mixing, (0.0, 0.0), scaled(scale, n))
    return cell_of(f"{prefix}d{n}", sampler, scale=scale)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure mean and variance, and the mean under both scales."""
    mean, spread = (one.subs(rho, RHO) for one in (derivation.result, derivation.lemmas[0].end))
    tails = block_variances.kurtosis(aligned.subs(rho, RHO), POPULATION)
    checks: list[Quantity] = []
    for n in DIMENSIONS:
        block = float(spread.subs(d, n)) / PAIRS
        cells = [(prefix, _cell(n, prefix, scale), scale.subs(d, n)) for prefix, scale in SCALES]
        checks += [
            Quantity(
                f"{name}mean-d{n}",
                MEAN if not name else r"$\mathbb{E}[c\,q\cdot k]$",
                cell,
                component("mean", block_variance=block * float(factor) ** 2),
                prediction(mean.subs(d, n) * factor),
            )
            for name, cell, factor in cells
        ]
        checks.append(
            Quantity(
                f"variance-d{n}",
                VARIANCE,
                cells[0][1],
                variance(block_variance=float(tails.subs(d, n) - 1) / PAIRS),
                prediction(spread.subs(d, n)),
                Tolerance(2.0),
            )
        )
    last = DIMENSIONS[-1]
    rooted = next(c for c in checks if c.id == f"root-mean-d{last}")
    controls = (
        Control(
            r"divided by $\sqrt{d_k}$, aligned scores have the same mean in every dimension (that of $d_k "
            r"= 4$)",
            _moved(rooted, "root-keeps-the-mean", mean.subs(d, 4) / 2),
            truth=float(mean.subs(d, last) / sqrt(last)),
        ),
        Control(
            "aligned or not, the variance is $d_k$",
            _moved(checks[-1], "variance-of-independent", S(last)),
            truth=float(spread.subs(d, last)),
        ),
        biased(_moved(checks[0], "mean", mean.subs(d, DIMENSIONS[0])), tolerance),
    )
    return Experiment(tuple(checks), controls)


def _moved(check: Quantity, name: str, value: Any) -> Quantity:
    return Quantity(name, check.label, check.cell, check.estimand, prediction(value), check.tolerance)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the mean under the three scales."""
    span = (float(DIMENSIONS[0]), float(DIMENSIONS[-1]))
    mean = derivation.result.subs(rho, RHO)
    layers = []
    words = ("unscaled", r"over $\sqrt{d_k}$", "over $d_k$")
    for text, (prefix, scale) in zip(words, SCALES, strict=True):
        layers.append(formula(text, "truth", mean * scale, span))
        layers.append(measured((findings.checks[f"{prefix}mean-d{n}"] for n in DIMENSIONS), ""))
    return (
        against_dimension(
            "three-scales",
            "For aligned vectors it is division by the dimension itself that keeps the mean",
            "The mean score of queries and keys with correlation one half: unscaled it grows like d, over "
            "the root of d like the root, and over d it stays at one half.",
            r"mean of $c\,q\cdot k$, $\rho = 1/2$",
            layers,
        ),
    )


CLAIM = Claim(
    title="Aligned queries and keys have scores with a mean of their own",
    statement=(
        r"If query and key components are standard normal with correlation $\rho$, pair by pair, then "
        r"$\mathbb{E}[q\cdot k] = \rho d_k$ and $\operatorname{Var}(q\cdot k) = (1 + \rho^2)d_k$: dividing "
        r"by $d_k$ keeps the mean, dividing by $\sqrt{d_k}$ does not."
    ),
    meaning=(
        "The root is the right scale at initialisation, when queries and keys know nothing of each other. "
        "Where training aligns them, the mean takes over, which calls for $1/d_k$: the choice of "
        "maximal-update parametrisation. Which scale is right depends on what it is to keep."
    ),
    assumptions=(
        Assumption(id="normal", text="Components are standard normal."),
        Assumption(
            id="pairs", text=r"$q_i$ and $k_i$ have correlation $\rho$; everything else is independent."
        ),
    ),
    references=(
        Reference(
            key="yang2022",
            text="G. Yang et al., Tensor Programs V: Tuning Large Neural Networks via Zero-Shot "
            "Hyperparameter Transfer, 2022.",
            url="https://arxiv.org/abs/2203.03466",
        ),
    ),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
