"""Attention concentrates once the scores' spread passes the root of 2 ln n: raw scores at d_k = 2 ln n."""

from __future__ import annotations

import math

from sympy import Sum, log, sqrt

from verify.claim import Claim, Findings
from verify.conditions import INDEPENDENT, NORMAL_COMPONENTS
from verify.designs import fact, prediction, threshold
from verify.evidence import Axis, Fact, Figure, Layer, Reference
from verify.montecarlo.blocks import Cell
from verify.montecarlo.components import NORMAL
from verify.montecarlo.distribution_free import Bounded
from verify.montecarlo.experiment import Control, Experiment, Prediction, Quantity, Relation, Tolerance
from verify.montecarlo.rows import AttentionRows, NormalRows
from verify.symbolic.derivation import Derivation, Route, Step
from verify.symbolic.expectation import E
from verify.symbolic.row_means import RowMeans
from verify.symbolic.softmax import i, largest, n, p, s, sigma

ROWS = ((16, 4), (16, 16), (256, 4), (256, 16), (1024, 8))
"""Numbers of keys and standard deviations of independent normal scores."""

DIMENSIONS = (1, 4, 16, 64, 256)
KEYS = (16, 256)
FROZEN: tuple[tuple[int, int, float, Relation], ...] = (
    (16, 1, 0.5, "≤"),
    (16, 64, 0.6, "≥"),
    (16, 256, 0.75, "≥"),
    (256, 4, 0.5, "≤"),
    (256, 64, 0.4, "≥"),
    (256, 256, 0.65, "≥"),
)
"""Keys, dimension, and on which side of what unscaled attention is to be found there."""
LABEL = r"$\mathbb{E}\sum p_j^2$"
WEIGHT = Tolerance(1.0, 1.0, "a probability of 1")
SQUARES = Sum(p[i] ** 2, (i, 1, n))


def derive() -> Derivation:
    """Derive the bound from the largest of n scores."""
    subject = 1 - E(SQUARES)
    route = Route(
        r"Independent normal scores of standard deviation $\sigma$",
        subject,
        (
            Step(E(Sum(p[i] * s[i], (i, 1, n))) / sigma**2, "Integration by parts (Stein)", RowMeans()),
            Step(
                E(largest) / sigma**2,
                "No average of scores exceeds the largest",
                RowMeans("≤", reaches=0.999, for_each=True),
                relation="≤",
            ),
            Step(
                sqrt(2 * log(n)) / sigma,
                r"The largest of $n$ normal scores is at most $\sigma\sqrt{2\ln n}$ on average",
                RowMeans("≤", reaches=0.925),
                relation="≤",
            ),
        ),
    )
    return Derivation(
        subject,
        route.end,
        (route,),
        relation="≤",
        beyond="how concentrated the attention of raw and of scaled scores is in a given dimension is "
        "measured against thresholds set in advance.",
    )


def _rows(keys: int, deviation: int, name: str, bound: Prediction, relation: Relation = "≥") -> Quantity:
    settings = (("n", keys), ("sigma", deviation), ("scores", "independent normal"))
    cell = Cell(
        f"rows-n{keys}-s{deviation}", settings, NormalRows(keys, 16, float(deviation), NORMAL, ("squares",))
    )
    return Quantity(name, LABEL, cell, Bounded(0), bound, WEIGHT, relation)


def _attention(
    keys: int, d: int, name: str, bound: float, relation: Relation, *, scaled: bool = False
) -> Quantity:
    settings = (
        ("n", keys),
        ("d_k", d),
        ("components", NORMAL.name),
        ("scale", r"$1/\sqrt{d_k}$" if scaled else "1"),
    )
    sampler = AttentionRows(d, 8, keys, NORMAL, NORMAL, d**-0.5 if scaled else 1.0, ("squares",))
    cell = Cell(f"{'scaled' if scaled else 'raw'}-n{keys}-d{d}", settings, sampler)
    return Quantity(name, LABEL, cell, Bounded(0), threshold(bound), WEIGHT, relation)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # noqa: ARG001  # a bound is a bound
    """Measure the bound on independent scores, and where real attention freezes and where not."""
    floor = 1 - derivation.result
    checks = tuple(
        _rows(
            keys,
            deviation,
            f"bound-n{keys}-s{deviation}",
            prediction(floor.subs({n: keys, sigma: deviation})),
        )
        for keys, deviation in ROWS
    )
    attention = tuple(
        _attention(keys, d, f"raw-n{keys}-d{d}", bound, relation) for keys, d, bound, relation in FROZEN
    )
    scaled = tuple(_attention(keys, 64, f"scaled-n{keys}-d64", 0.25, "≤", scaled=True) for keys in KEYS)
    controls = (
        Control(
            "attention freezes only when there are more dimensions than keys: 256 keys, 64 dimensions",
            _attention(256, 64, "freezes-at-d-equal-n", 0.2, "≤"),
        ),
        Control(
            "scaled attention concentrates as well",
            _attention(256, 64, "scaled-concentrates", 0.4, "≥", scaled=True),
        ),
        Control(
            r"the bound holds with $\sqrt{\ln n}/2$ in place of $\sqrt{2\ln n}$",
            _rows(256, 4, "too-sharp", prediction(1 - sqrt(log(256)) / 8)),
        ),
    )
    return Experiment((*checks, *attention, *scaled), controls)


def facts(_: Derivation) -> tuple[Fact, ...]:
    """Return the dimension at which raw attention begins to freeze, for some numbers of keys."""
    return tuple(
        fact(f"freezing-dimension-n{keys}", rf"$2\ln n$ at $n = {keys}$", 2 * log(keys))
        for keys in (16, 256, 4096)
    )


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the concentration of raw attention over the dimension, with the freezing line of each length."""
    del derivation
    layers = []
    for keys in KEYS:
        known = [(d, findings.checks.get(f"raw-n{keys}-d{d}")) for d in DIMENSIONS]
        points = [(d, check) for d, check in known if check is not None]
        layers.append(
            Layer(
                kind="points",
                role="measured",
                label=f"$n = {keys}$",
                x=tuple(float(d) for d, _ in points),
                y=tuple(check.estimate for _, check in points),
                lo=tuple(check.interval[0] for _, check in points),
                hi=tuple(check.interval[1] for _, check in points),
            )
        )
        freezing = 2 * math.log(keys)
        layers.append(
            Layer(
                kind="line",
                role="truth",
                label=rf"$2\ln {keys}$",
                x=(freezing, freezing + 1e-6),
                y=(0.0, 1.0),
            )
        )
    return (
        Figure(
            id="freezing",
            title=r"Unscaled attention freezes once the dimension passes twice the logarithm of the length",
            alt="The mean sum of squared weights of unscaled attention over the dimension, for 16 and 256 "
            "keys: "
            "small below the freezing lines at 5.5 and 11 dimensions, and rising towards one beyond them.",
            x=Axis(label="dimension $d_k$", scale="log"),
            y=Axis(label=r"mean of $\sum p_j^2$"),
            layers=tuple(layers),
        ),
    )


CLAIM = Claim(
    id="attention-concentration",
    order=60,
    title="Unscaled attention freezes once the dimension passes 2 ln n",
    statement=(
        r"For independent normal scores of standard deviation $\sigma$ over $n$ keys, $1 - \mathbb{E}\sum "
        r"p_j^2 \le "
        r"\mathbb{E}\max_j s_j/\sigma^2 \le \sqrt{2\ln n}/\sigma$. Raw scores have $\sigma \approx "
        r"\sqrt{d_k}$: their attention falls on few keys once $d_k$ is well beyond $2\ln n$."
    ),
    meaning=(
        "How many dimensions saturate the softmax depends on the number of keys, but only through its "
        "logarithm: 5.5 "
        "dimensions for 16 keys, 17 for 4096. Every head in use is far beyond. It is not a matter of taste "
        "whether scores "
        "are scaled; without it, attention would start out as a lookup of one or two random keys."
    ),
    assumptions=(INDEPENDENT, NORMAL_COMPONENTS),
    references=(
        Reference(
            key="derrida1981",
            text="B. Derrida, Random-energy model: An exactly solvable model of disordered systems, Phys. "
            "Rev. B 24 (1981), 2613-2626: the freezing point.",
        ),
    ),
    derive=derive,
    experiment=experiment,
    facts=facts,
    figures=figures,
)
