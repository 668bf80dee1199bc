"""Without scaling the largest softmax weight tends to 1 as the dimension grows; with it, it settles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import integrate as quadrature
from scipy import special, stats
from sympy import Integral, Max, Symbol, exp, integrate, log, oo, pi, simplify, sqrt

from verify.claim import Claim, Findings
from verify.conditions import INDEPENDENT, NORMAL_COMPONENTS
from verify.designs import threshold
from verify.evidence import Assumption, Figure
from verify.montecarlo.blocks import Cell
from verify.montecarlo.components import NORMAL
from verify.montecarlo.distribution_free import Bounded
from verify.montecarlo.estimands import component
from verify.montecarlo.experiment import Control, Experiment, Prediction, Quantity, Relation
from verify.montecarlo.rows import AttentionRows
from verify.pictures import against_dimension, curve, measured
from verify.symbolic.derivation import By, Derivation, Route, Step
from verify.symbolic.expectation import E
from verify.symbolic.integrals import runs_over
from verify.symbolic.softmax import Quadrature, p, sigma

if TYPE_CHECKING:
    from collections.abc import Callable

TWO_DIMENSIONS = (1, 4, 16, 64, 256, 1024)
MANY_DIMENSIONS = (4, 16, 64, 256)
KEYS = 16
LABEL = r"$\mathbb{E}\max_j p_j$"
MEAN = component(0, positive=True)
BOUNDED = Bounded(0)
"""For weights near 1, and for bounds: most rows lie near one end, too skewed for anything else."""

x = Symbol("x", positive=True)
LOWER = 1 / (1 + exp(x))
"""The smaller of two weights whose scores differ by x."""


def _is_one_minus_the_lower(before: Any, after: Any) -> bool:
    """Integrated numerically over both scores, and over the size of their gap."""
    points = Quadrature(sizes=(2,), digits=3)
    for deviation in points.deviations:
        gap = sqrt(2) * deviation

        def lower(z: float, scale: float = float(gap)) -> float:
            return 2 * float(special.expit(-scale * z) * stats.norm.pdf(z))

        over_gap = 1 - quadrature.quad(lower, 0, 12, epsabs=1e-12)[0]
        stated = (
            1
            - quadrature.quad(
                lambda v, s=deviation: (
                    float(special.expit(-v)) * float(np.exp(-(v**2) / (4 * s**2))) / (s * float(sqrt(pi)))
                ),
                0,
                60,
            )[0]
        )
        both_scores = points.value(before, 2, deviation)
        if abs(over_gap - stated) > 1e-8 or abs(both_scores - over_gap) > 2e-3:
            return False
    return bool(
        simplify(
            after - (1 - Integral(LOWER * exp(-(x**2) / (4 * sigma**2)) / (sigma * sqrt(pi)), (x, 0, oo)))
        )
        == 0
    )


def _drops_the_exponential(before: Any, after: Any) -> bool:
    """The exponential is at most 1, so that without it more is taken away."""
    (integral,) = before.atoms(Integral)
    (simpler,) = after.atoms(Integral)
    lost = simplify(integral.function / (simpler.function / (sigma * sqrt(pi))))
    return bool(
        all(runs_over(side, (x, 0, oo)) for side in (before, after))
        and (-log(lost).expand(force=True)).is_nonnegative
        and simplify(before - 1 + integral) == 0
        and simplify(after - 1 + simpler / (sigma * sqrt(pi))) == 0
    )


def derive() -> Derivation:
    """Derive a lower bound for two keys that tends to 1 as the scores spread."""
    subject = E(Max(p[1], p[2]))
    gap = exp(-(x**2) / (4 * sigma**2)) / (sigma * sqrt(pi))
    rest = Integral(LOWER, (x, 0, oo))
    route = Route(
        "Two keys, scores of standard deviation σ",
        subject,
        (
            Step(
                1 - Integral(LOWER * gap, (x, 0, oo)),
                "One minus the smaller weight, averaged over the size of the gap",
                By(
                    "numerical integration on both sides, σ = 0.5, 1, 2", _is_one_minus_the_lower, "numerical"
                ),
            ),
            Step(
                1 - rest / (sigma * sqrt(pi)),
                "The density of the gap is largest at 0",
                By("SymPy: the factor left out is at most 1", _drops_the_exponential, "general"),
                relation="≥",
            ),
            Step(
                1 - log(2) / (sigma * sqrt(pi)),
                r"which tends to 1 as $\sigma \to \infty$",
                By("SymPy integrates", _integrates, "general"),
            ),
        ),
    )
    return Derivation(
        subject,
        route.end,
        (route,),
        relation="≥",
        beyond=r"how large $\sigma$ is for raw and for scaled scores, and the means 0.669 and 0.725, which "
        "are integrated numerically over the query’s length and measured.",
    )


def _integrates(before: Any, after: Any) -> bool:
    value = integrate(1 / (1 + exp(x)), (x, 0, oo))
    return bool(simplify(before.subs(Integral(LOWER, (x, 0, oo)), value) - after) == 0)


def _two_keys(d: float, scale: float) -> float:
    """Return E max p of two keys exactly: the gap is normal given the query's length, which is chi.

    Between whole dimensions the chi-square law of that many draws a smooth curve.
    """

    def given(deviation: float) -> float:
        lower = quadrature.quad(
            lambda z: float(2 * special.expit(-deviation * z) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)),
            0,
            12,
        )[0]
        return 1 - float(lower)

    law = stats.chi2(d)
    nodes, weights = np.polynomial.legendre.leggauss(48)
    # Equal probabilities of the squared length, refined towards both ends by the nodes.
    lengths = np.sqrt(law.ppf((nodes + 1) / 2))
    return float(
        sum(w / 2 * given(scale * np.sqrt(2) * length) for w, length in zip(weights, lengths, strict=True))
    )


def _cell(keys: int, d: int, scaled: bool) -> Cell:
    name = r"$1/\sqrt{d_k}$" if scaled else "1"
    settings = (("d_k", d), ("keys", keys), ("components", NORMAL.name), ("scale", name))
    sampler = AttentionRows(
        d, 1 if keys == 2 else 4, keys, NORMAL, NORMAL, d**-0.5 if scaled else 1.0, ("largest",)
    )
    return Cell(f"{'scaled' if scaled else 'raw'}-n{keys}-d{d}", settings, sampler)


def _many(name: str, cell: Cell, bound: float, relation: Relation) -> Quantity:
    return Quantity(name, LABEL, cell, BOUNDED, threshold(bound), relation=relation)


def _scaled(power: float) -> Callable[[float], float]:
    """Return the exact mean for two keys over the dimension, at scale d^power."""
    return lambda d: _two_keys(d, d**power)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # noqa: ARG001  # at each σ its own
    """Measure two keys against the exact mean, and sixteen against bounds."""
    checks = []
    for scaled in (False, True):
        kind, estimand = ("scaled", MEAN) if scaled else ("raw", BOUNDED)
        for d in TWO_DIMENSIONS:
            exact = _two_keys(d, d**-0.5 if scaled else 1.0)
            name, cell = f"{kind}-two-keys-d{d}", _cell(2, d, scaled)
            checks.append(Quantity(name, LABEL, cell, estimand, Prediction(exact, f"{exact:.5f}")))
    last = MANY_DIMENSIONS[-1]
    checks += [_many(f"scaled-many-keys-d{d}", _cell(KEYS, d, True), 0.35, "≤") for d in MANY_DIMENSIONS]
    checks.append(_many(f"raw-many-keys-d{last}", _cell(KEYS, last, False), 0.85, "≥"))
    top = TWO_DIMENSIONS[-1]
    controls = (
        Control(
            "scaled attention saturates as well in high dimension: one of 16 keys gets 85%",
            _many("scaled-saturates", _cell(KEYS, last, True), 0.85, "≥"),
        ),
        Control(
            "without scaling the weights stay as they are with it",
            Quantity(
                "raw-stays", LABEL, _cell(2, top, False), BOUNDED, Prediction(_two_keys(top, top**-0.5), "x")
            ),
            truth=_two_keys(top, 1.0),
        ),
        Control(
            "the softmax itself prevents saturation: the largest of two weights stays below 0.9",
            _many("softmax-prevents-it", _cell(2, top, False), 0.9, "≤"),
            truth=_two_keys(top, 1.0),
        ),
    )
    return Experiment(tuple(checks), controls)


def figures(_: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the largest of two weights with and without scaling."""
    span = (TWO_DIMENSIONS[0], TWO_DIMENSIONS[-1])
    layers = []
    for kind, scale, text in (("raw", 0.0, "unscaled"), ("scaled", -0.5, r"over $\sqrt{d_k}$")):
        layers.append(curve(text, "truth", _scaled(scale), span, points=25))
        layers.append(
            measured(
                (findings.checks[f"{kind}-two-keys-d{d}"] for d in TWO_DIMENSIONS),
                "measured" if kind == "raw" else "",
            )
        )
    return (
        against_dimension(
            "largest-weight",
            "Unscaled, the largest of two weights goes to 1; scaled, it settles",
            "The mean of the larger of two softmax weights over the dimension: unscaled it rises from "
            "two thirds towards one, scaled it settles below three quarters.",
            "mean of the larger weight of two keys",
            layers,
            y_scale="linear",
        ),
    )


CLAIM = Claim(
    id="softmax-saturation",
    order=40,
    title="Without scaling, the softmax saturates as the dimension grows",
    statement=(
        r"For two keys whose scores have standard deviation $\sigma$, $\mathbb{E}\max_j p_j \ge 1 - \ln "
        r"2/(\sigma\sqrt{\pi})$, which tends to 1. Raw scores have $\sigma = |q| \approx \sqrt{d_k}$; for "
        r"scaled ones $\sigma$ settles at 1, and the mean, 0.669 at $d_k = 1$, at 0.725."
    ),
    meaning=(
        "Winner takes all is what raw scores lead to, and the softmax does nothing against it. With 16 "
        "keys and 256 "
        "dimensions the largest raw weight is near 0.9 on average, the largest scaled one about a quarter. "
        "How quickly it happens depends on the number of keys; the claim on concentration says when."
    ),
    assumptions=(
        INDEPENDENT,
        NORMAL_COMPONENTS,
        Assumption(id="one-query", text="All keys meet the same query."),
    ),
    references=(),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
