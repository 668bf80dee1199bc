"""Scaled attention loses at most half a nat of entropy, whatever the number of keys."""

from __future__ import annotations

from typing import Any

from sympy import S, Sum, exp, log

from verify.claim import Claim, Findings
from verify.conditions import INDEPENDENT, NORMAL_COMPONENTS
from verify.designs import fact, prediction
from verify.evidence import Axis, Fact, Figure, Layer, Reference
from verify.montecarlo.blocks import Cell
from verify.montecarlo.components import NORMAL
from verify.montecarlo.estimands import Smooth
from verify.montecarlo.experiment import Control, Experiment, Quantity, Tolerance
from verify.montecarlo.rows import AttentionRows
from verify.symbolic.derivation import Derivation, Route, Step
from verify.symbolic.expectation import E
from verify.symbolic.row_means import RowMeans
from verify.symbolic.softmax import i, n, p, s, sigma

GRID = ((4, 4), (4, 64), (64, 4), (64, 64), (64, 256), (512, 64))
"""Numbers of keys and dimensions."""

LABEL = r"$\ln n - \mathbb{E}H$"
NAT = Tolerance(2.0, 1.0, "one nat")

ENTROPY = -Sum(p[i] * log(p[i]), (i, 1, n))
SQUARES = Sum(p[i] ** 2, (i, 1, n))
SHARP = RowMeans("≥", reaches=0.9999, base=log(n))
"""The bounds are on the loss against ln n, and all but reached by many keys."""


def derive() -> Derivation:
    """Derive the bound by Gaussian integration by parts, for independent normal scores."""
    partition = E(log(Sum(exp(s[i]), (i, 1, n))))
    inner = E(Sum(p[i] * s[i], (i, 1, n)))
    rest = 1 - E(SQUARES)
    route = Route(
        r"Independent normal scores of standard deviation $\sigma$",
        E(ENTROPY),
        (
            Step(partition - inner, r"$\ln p_i = s_i - \ln \sum_j e^{s_j}$", RowMeans()),
            Step(
                partition - sigma**2 * rest,
                "Integration by parts (Stein): each score brings out its derivative",
                RowMeans(),
            ),
            Step(
                log(n) - sigma**2 * rest / 2,
                r"The first term is $\ln n$ at $\sigma = 0$ and grows with $\sigma^2$ at the rate "
                r"$\tfrac12\left(1 - \mathbb{E}\sum p_i^2\right)$, which falls",
                SHARP,
                relation="≥",
            ),
            Step(log(n) - sigma**2 / 2, "The squares add something positive", SHARP, relation="≥"),
        ),
    )
    return Derivation(E(ENTROPY), route.end, (route,), relation="≥")


def _cell(keys: int, d: int, *, scaled: bool = True) -> Cell:
    settings = (
        ("n", keys),
        ("d_k", d),
        ("components", NORMAL.name),
        ("scale", r"$1/\sqrt{d_k}$" if scaled else "1"),
    )
    sampler = AttentionRows(d, 16, keys, NORMAL, NORMAL, d**-0.5 if scaled else 1.0, ("entropy",))
    return Cell(f"{'scaled' if scaled else 'raw'}-n{keys}-d{d}", settings, sampler)


def _loss(
    keys: int, d: int, name: str, *, scaled: bool = True, bound: Any = S.Half, equal: bool = False
) -> Quantity:
    top = float(log(keys))
    lost = Smooth(lambda mean: top - mean[0], positive=False)
    cell = _cell(keys, d, scaled=scaled)
    return Quantity(name, LABEL, cell, lost, prediction(bound), NAT, relation="=" if equal else "≤")


def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # noqa: ARG001  # σ² averages to 1
    """Measure the entropy lost against the even spread, over numbers of keys and dimensions."""
    half = (log(n) - derivation.result).subs(sigma, 1)
    checks = tuple(_loss(keys, d, f"loss-n{keys}-d{d}", bound=half) for keys, d in GRID)
    controls = (
        Control(
            "without scaling, too, at most half a nat is lost",
            _loss(64, 64, "unscaled-loses-as-little", scaled=False),
        ),
        Control(
            "scaled attention is spread evenly: nothing is lost",
            _loss(64, 64, "nothing-lost", bound=S.Zero, equal=True),
        ),
        Control(
            "scaled attention loses at most a quarter of a nat",
            _loss(512, 64, "quarter-nat", bound=S.One / 4),
        ),
    )
    return Experiment(checks, controls)


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the bound at unit variance."""
    return (
        fact(
            "largest-loss",
            r"bound on the entropy lost at $\sigma = 1$, in nats",
            (log(n) - derivation.result).subs(sigma, 1),
        ),
    )


def figures(_: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the losses over the number of keys, below the bound."""
    measured = [(keys, findings.checks[f"loss-n{keys}-d{d}"]) for keys, d in GRID if d in (4, 64)]
    few = sorted((keys, check) for keys, check in measured if check.cell["d_k"] == 64)
    low = sorted((keys, check) for keys, check in measured if check.cell["d_k"] == 4)

    def layer(points: list[Any], label: str) -> Layer:
        return Layer(
            kind="points",
            role="measured",
            label=label,
            x=tuple(float(keys) for keys, _ in points),
            y=tuple(check.estimate for _, check in points),
            lo=tuple(check.interval[0] for _, check in points),
            hi=tuple(check.interval[1] for _, check in points),
        )

    return (
        Figure(
            id="losses",
            title="Scaled attention never loses more than half a nat against an even spread",
            alt="Measured loss of entropy of scaled attention over the number of keys, in 4 and 64 "
            "dimensions: it rises with the number of keys and stays below the bound of one half.",
            x=Axis(label="number of keys $n$", scale="log"),
            y=Axis(label="entropy lost, in nats"),
            layers=(
                Layer(kind="line", role="truth", label="bound: ½", x=(4.0, 512.0), y=(0.5, 0.5)),
                layer(few, "$d_k = 64$"),
                layer(low, "$d_k = 4$"),
            ),
        ),
    )


CLAIM = Claim(
    id="attention-entropy",
    order=50,
    title="Scaled attention keeps all but half a nat of its entropy",
    statement=(
        r"For independent normal scores of standard deviation $\sigma$ over $n$ keys, $\mathbb{E}H \ge \ln "
        r"n - "
        r"\tfrac{\sigma^2}{2}\left(1 - \mathbb{E}\sum p_j^2\right) \ge \ln n - \tfrac{\sigma^2}{2}$: with "
        r"scaled scores at most half a nat is lost, whatever the number of keys."
    ),
    meaning=(
        "Correctly scaled attention starts out balanced: it spreads over at least 60% as many keys as "
        "there are "
        r"($e^{-1/2}$), for any dimension and length. Whatever sharpness a trained head shows it has learnt; "
        "initialisation does not give it."
    ),
    assumptions=(INDEPENDENT, NORMAL_COMPONENTS),
    references=(
        Reference(
            key="stein1981",
            text="C. M. Stein, Estimation of the Mean of a Multivariate Normal Distribution, Ann. Stat. 9 "
            "(1981), 1135-1151.",
        ),
    ),
    derive=derive,
    experiment=experiment,
    facts=facts,
    figures=figures,
)
