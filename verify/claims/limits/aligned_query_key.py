"""Queries and keys that are aligned: the mean of the score grows like d_k, not like its root."""

from __future__ import annotations

from typing import Any

from sympy import IndexedBase, S, Sum, factorial2, sqrt

from verify.claim import Claim, Findings
from verify.designs import biased, prediction
from verify.evidence import Assumption, Figure, Reference
from verify.montecarlo.blocks import Cell
from verify.montecarlo.components import NORMAL
from verify.montecarlo.estimands import component, variance
from verify.montecarlo.experiment import Control, Experiment, Quantity, Tolerance
from verify.montecarlo.linked import LinkedPairs
from verify.pictures import against_dimension, curve, measured
from verify.symbolic.blocks import kurtosis
from verify.symbolic.derivation import Definition, Derivation
from verify.symbolic.expectation import Population, Var
from verify.symbolic.predict import function
from verify.symbolic.printing import Ordered
from verify.symbolic.scores import d, index, mean_route, variance_route

DIMENSIONS = (4, 16, 64)
PAIRS = 32
RHO = S.One / 2
MEAN, VARIANCE = r"$\mathbb{E}[q\cdot k]$", r"$\operatorname{Var}(q\cdot k)$"
_NORMAL = tuple(factorial2(n - 1) if n % 2 == 0 else S.Zero for n in range(9))

rho = Ordered("rho", "r", positive=True)
q, e = IndexedBase(Ordered("q", "q1")), IndexedBase(Ordered("e", "q2"))
POPULATION = Population({q: _NORMAL, e: _NORMAL}, d)
aligned = Sum(q[index] * (rho * q[index] + sqrt(1 - rho**2) * e[index]), (index, 1, d))
"""The score with the key k = ρq + √(1-ρ²)e, whose components have correlation ρ with the query's."""

OTHER_PART = r"With the key $k = \rho q + \sqrt{1 - \rho^2}\,e$: $e$ is independent of the query"


def derive() -> Derivation:
    """Derive the mean of the score; its variance as a lemma."""
    spread = variance_route(aligned, POPULATION, "The variance", independence=OTHER_PART)
    mean = mean_route(aligned, POPULATION, independence=OTHER_PART)
    variance_of_score = Definition(Var(aligned), "the variance of the same score")
    return Derivation(mean.start, mean.end, (mean,), lemmas=(spread,), definitions=(variance_of_score,))


def _cell(n: int, scale: float = 1.0, name: str = "1") -> Cell:
    settings = (("d_k", n), ("components", NORMAL.name), ("rho", float(RHO)), ("scale", name))
    mixing = ((1.0, 0.0), (float(RHO), float(sqrt(1 - RHO**2))))
    prefix = "" if scale == 1 else "over-root-" if name == r"$1/\sqrt{d_k}$" else "over-"
    return Cell(f"{prefix}d{n}", settings, LinkedPairs(n, PAIRS, NORMAL, mixing, (0.0, 0.0), scale))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure mean and variance, and the mean under both scales."""
    mean, spread = (one.subs(rho, RHO) for one in (derivation.result, derivation.lemmas[0].end))
    tails = kurtosis(aligned.subs(rho, RHO), POPULATION)
    checks: list[Quantity] = []
    for n in DIMENSIONS:
        block = float(spread.subs(d, n)) / PAIRS
        cells = (
            ("", _cell(n), 1),
            ("root-", _cell(n, n**-0.5, r"$1/\sqrt{d_k}$"), sqrt(n)),
            ("over-", _cell(n, 1 / n, "$1/d_k$"), n),
        )
        checks += [
            Quantity(
                f"{name}mean-d{n}",
                MEAN if not name else r"$\mathbb{E}[c\,q\cdot k]$",
                cell,
                component(0, block_variance=block / float(divisor) ** 2),
                prediction(mean.subs(d, n) / divisor),
            )
            for name, cell, divisor in cells
        ]
        checks.append(
            Quantity(
                f"variance-d{n}",
                VARIANCE,
                cells[0][1],
                variance(0, 1, block_variance=float(tails.subs(d, n) - 1) / PAIRS),
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
    for name, text, divisor in (
        ("", "unscaled", S.One),
        ("root-", r"over $\sqrt{d_k}$", sqrt(d)),
        ("over-", "over $d_k$", d),
    ):
        layers.append(curve(text, "truth", function((d,), mean / divisor), span))
        layers.append(measured((findings.checks[f"{name}mean-d{n}"] for n in DIMENSIONS), ""))
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
    id="aligned-query-key",
    order=40,
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
