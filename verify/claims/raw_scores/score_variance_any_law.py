"""Only the first two moments of the components matter for the variance of a score."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sympy import S, symbols

from verify.claim import Claim, Findings
from verify.conditions import STANDARD_COMPONENTS
from verify.designs import (
    biased,
    capped,
    exactly,
    exponent,
    fits,
    linear_law,
    prediction,
    score_cell,
    variances,
)
from verify.evidence import Axis, Figure
from verify.montecarlo.blocks import Cell
from verify.montecarlo.components import LAPLACE, NORMAL, RADEMACHER, STANDARD_LAWS, UNIFORM, ComponentLaw
from verify.montecarlo.experiment import Control, Experiment, Quantity
from verify.montecarlo.moments import ScorePowers, kurtosis
from verify.pictures import against_dimension, curve, measured
from verify.symbolic.derivation import Definition, Derivation
from verify.symbolic.expectation import E, Population, Var
from verify.symbolic.predict import function
from verify.symbolic.scores import STANDARD, d, k, kurtosis_route, q, score, variance_route

if TYPE_CHECKING:
    from verify.montecarlo.experiment import Comparison

DIMENSIONS = (1, 8, 128)
LABEL = r"$\operatorname{Var}(q\cdot k)$"
KURTOSIS = r"$\mathbb{E}[(q\cdot k)^4]/\operatorname{Var}(q\cdot k)^2$"
EIGHT = 8
"""The dimension in which the kurtosis is measured."""

kappa_q, kappa_k = symbols("kappa_q kappa_k", positive=True)
skew_q, skew_k = symbols("gamma_q gamma_k", real=True)
FOUR_MOMENTS = Population(
    {q: (S.One, S.Zero, S.One, skew_q, kappa_q), k: (S.One, S.Zero, S.One, skew_k, kappa_k)}, d
)


def derive() -> Derivation:
    """Derive the variance from two moments; the kurtosis, as a lemma, from four."""
    route = variance_route(score, STANDARD, "From mean 0 and variance 1 alone")
    lemma = kurtosis_route(FOUR_MOMENTS, "What does depend on the law: the kurtosis")
    kurtosis = Definition(E(score**4) / E(score**2) ** 2, "the kurtosis of a score, whose mean is 0")
    return Derivation(Var(score), route.end, (route,), lemmas=(lemma,), definitions=(kurtosis,))


def _slug(law: ComponentLaw) -> str:
    return law.name.split()[-1].replace("(", "").replace(")", "").lower()


def _kurtosis(derivation: Derivation, law: ComponentLaw) -> Any:
    of_law = {kappa_q: exactly(law.kurtosis), kappa_k: exactly(law.kurtosis), d: EIGHT}
    return derivation.lemmas[0].end.subs(of_law)


def _kurtosis_check(law: ComponentLaw, expected: Any, name: str, tolerance: float) -> Quantity:
    cell = Cell(
        f"{_slug(law)}-powers",
        (("d_k", EIGHT), ("components", law.name), ("block", "32×32")),
        ScorePowers(EIGHT, 32, law, law, (2, 4)),
    )
    # Fourth powers are so skewed that a coarse tolerance would not take fewer blocks.
    band = capped(3.0, tolerance)
    return Quantity(name, KURTOSIS, cell, kurtosis(0, 1), prediction(expected), band)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Fit one line for each law, and measure the kurtosis for two."""
    result = derivation.result
    checks: list[Comparison] = []
    for law in STANDARD_LAWS:
        slug = _slug(law)
        cells = [score_cell(n, law, law, tolerance, prefix=f"{slug}-") for n in DIMENSIONS]
        label = f"{LABEL}, {law.name} components"
        points = variances(cells, label, partial(result.subs, d), name=f"{slug}-variance")
        slope = linear_law(result, (DIMENSIONS[0], DIMENSIONS[-1]), f"{slug}-")[0]
        checks += [*points, *fits(points, DIMENSIONS, label, (slope, exponent(result, f"{slug}-")))]
        if law is LAPLACE:
            laplace = points[-1]
    checks += [
        _kurtosis_check(law, _kurtosis(derivation, law), f"{_slug(law)}-kurtosis", tolerance)
        for law in (UNIFORM, RADEMACHER)
    ]
    of_last = result.subs(d, DIMENSIONS[-1])
    ratio = exactly(LAPLACE.kurtosis / NORMAL.kurtosis)
    controls = (
        Control(
            "a law with twice the fourth moment has scores of twice the variance (Laplace components)",
            replace(laplace, id="fourth-moment-matters", prediction=prediction(ratio * of_last)),
            truth=float(of_last),
        ),
        Control(
            "the law does not matter for the kurtosis either: random signs have that of normal components",
            _kurtosis_check(RADEMACHER, _kurtosis(derivation, NORMAL), "same-kurtosis", tolerance),
            truth=float(_kurtosis(derivation, RADEMACHER)),
        ),
        biased(laplace, tolerance),
    )
    return Experiment(tuple(checks), controls)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the variances under all laws over the dimension, relative to the derived line."""
    span = (DIMENSIONS[0], DIMENSIONS[-1])
    layers = [curve("derived: $d_k$", "truth", function((d,), derivation.result), span)]
    for number, law in enumerate(STANDARD_LAWS):
        of_law = (findings.checks[f"{_slug(law)}-variance-d{n}"] for n in DIMENSIONS)
        # The points lie on one another: one label names them all.
        layers.append(measured(of_law, "" if number else "measured, six laws"))
    drawn = against_dimension(
        "six-laws",
        "Six laws of the components, one line",
        "Measured variances of q·k for normal, uniform, sign, Laplace, Student t and exponential components "
        "lie on one another, on the line variance = d.",
        r"variance of $q\cdot k$",
        layers,
    )
    return (drawn.model_copy(update={"x": Axis(label="dimension $d_k$, six component laws", scale="log")}),)


CLAIM = Claim(
    id="score-variance-any-law",
    order=34,
    title="The law of the components does not matter, only their mean and variance",
    statement=(
        r"For independent components with mean 0 and variance 1 of whatever law, "
        r"$\operatorname{Var}(q\cdot k) = d_k$; the kurtosis does depend on the law: it is "
        r"$3 + (\kappa_q\kappa_k - 3)/d_k$."
    ),
    meaning=(
        "Nobody's activations are exactly normal, and for the variance that is no loss: uniform, skewed or "
        "heavy-tailed components with the same two moments give the same line. What the law does change are "
        "the extremes of single scores, and this fades like $1/d_k$."
    ),
    assumptions=STANDARD_COMPONENTS,
    references=(),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
