"""On average scaled attention loses at most half a nat of entropy, whatever the number of keys."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from sympy import Float, Rational, S, Sum, exp, log, sqrt

from verify.spec import (
    INDEPENDENT, KEYS, NORMAL, NORMAL_COMPONENTS, AttentionRows, Axis, Cell, Claim, Control, Derivation, E,
    Experiment, Fact, Figure, Findings, NormalRows, Quantity, Reference, Route, RowMeans, Smooth, Step,
    Tolerance, capped, cell_of, component, curve, d, fact, i, integrated, mean_entropy, mean_squares,
    measured, n, over_lengths, p, prediction, s, scaled, sharper, sigma, threshold,
)  # fmt: skip

GRID = ((4, 4), (4, 64), (64, 4), (64, 64), (64, 256), (512, 64))
"""Numbers of keys and dimensions."""
SCALE = 1 / sqrt(d)
MANY, TIGHT, WIDE = 512, 1.0, 2.0
"""A number of keys, and standard deviations of their scores, where the bounds are tight."""
BELOW = ((64, 4, Rational(1, 3)), (512, 64, Rational(2, 5)))
"""Keys, dimension, and at least which share of the rows there is to lose more than half a nat."""

LABEL = r"$\ln n - \mathbb{E}H$"
FIRST = r"$(\ln n - \mathbb{E}H)\,/\,\tfrac{\sigma^2}{2}(1 - \mathbb{E}\sum p_j^2)$"
SHARE = r"share of rows with $H < \ln n - \tfrac12$"
WEIGHT = Tolerance(1.0, 1.0, "a probability of 1")

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


def _attention(keys: int, d_k: int, scale: Any = SCALE) -> Cell:
    law = (NORMAL, NORMAL, scaled(scale, d_k))
    sampler = AttentionRows(d_k, 16, keys, *law, ("entropy", "sharp"))
    return cell_of(f"{'raw' if scale == 1 else 'scaled'}-n{keys}-d{d_k}", sampler, scale=scale)


def _rows(deviation: float) -> Cell:
    sampler = NormalRows(MANY, 4, deviation, NORMAL, ("entropy", "squares"))
    return cell_of(f"rows-n{MANY}-s{deviation:g}", sampler)


def _lost(keys: int) -> Smooth:
    return Smooth(lambda mean: math.log(keys) - mean[0], positive=True)


def _share_of_first(keys: int, deviation: float) -> Smooth:
    """Return the entropy lost over σ²/2·(1 - E Σp²), both measured in the same rows."""
    half = deviation**2 / 2
    return Smooth(lambda mean: (math.log(keys) - mean[0]) / (half * (1 - mean[1])), positive=True)


def _exact_loss(keys: int, d_k: int, scale: float) -> float:
    """Return the mean loss of attention, integrated over the scores and the query's length."""
    return math.log(keys) - over_lengths(mean_entropy, keys, d_k, scale).value


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the entropy lost against bounds and its exact mean, and how many rows lose more."""
    bound, near = log(n) - derivation.result, capped(0.25, tolerance)
    few, half = capped(1.0, tolerance), prediction(bound.subs(sigma, 1))
    attention = {at: (_attention(*at), _lost(at[0])) for at in GRID}
    bounds = [
        Quantity(f"loss-n{keys}-d{d_k}", LABEL, *attention[keys, d_k], half, near, "≤") for keys, d_k in GRID
    ]
    wide = prediction(bound.subs(sigma, WIDE))
    spread = Quantity("loss-of-spread-rows", LABEL, _rows(WIDE), _lost(MANY), wide, near, "≤")
    of_first = _share_of_first(MANY, TIGHT)
    first = Quantity("first-bound", FIRST, _rows(TIGHT), of_first, prediction(S.One), near, "≤")
    values = [
        Quantity(
            f"value-n{keys}-d{d_k}",
            LABEL,
            *attention[keys, d_k],
            integrated(_exact_loss(keys, d_k, d_k**-0.5)),
        )
        for keys, d_k in GRID
        if d_k <= 64
    ]
    shares = [
        Quantity(
            f"rows-below-n{keys}-d{d_k}",
            SHARE,
            _attention(keys, d_k),
            component(1),
            threshold(least),
            few,
            "≥",
        )
        for keys, d_k, least in BELOW
    ]
    controls = _controls(bounds[-1], first, spread, values[-1], shares[0])
    return Experiment((*bounds, first, spread, *values, *shares), controls)


def _controls(
    bound: Quantity, first: Quantity, spread: Quantity, value: Quantity, share: Quantity
) -> tuple[Control, ...]:
    exact, at_wide = value.prediction.value, math.log(MANY) - mean_entropy(MANY, WIDE).value
    lost, squares = math.log(MANY) - mean_entropy(MANY, TIGHT).value, mean_squares(MANY, TIGHT).value
    raw = replace(bound, id="unscaled-loses-as-little", cell=_attention(64, 64, S.One), estimand=_lost(64))
    return (
        sharper(bound, 0.98, exact),
        sharper(first, 0.98, lost / (TIGHT**2 / 2 * (1 - squares))),
        sharper(spread, 0.9, at_wide),
        Control(
            r"at most $\sigma/2$ is lost, not $\sigma^2/2$",
            replace(spread, id="half-sigma", prediction=prediction(S(WIDE) / 2)),
            at_wide,
        ),
        Control("without scaling, too, at most half a nat is lost", raw, _exact_loss(64, 64, 1.0)),
        Control(
            "how many keys there are does not matter: 512 lose as much as 4",
            replace(value, id="loss-of-few-keys", prediction=integrated(_exact_loss(4, 64, 1 / 8))),
            exact,
        ),
        Control(
            "every row, not only their mean, keeps all but half a nat",
            replace(share, id="every-row", prediction=threshold(S.Zero), tolerance=WEIGHT, relation="≤"),
        ),
        sharper(share, 1.1),
    )


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the bound at unit variance, as a loss and as a share of the keys, and how sharp it is."""
    lost = (log(n) - derivation.result).subs(sigma, 1)
    few, *_, many = KEYS
    reached = {
        keys: (math.log(keys) - mean_entropy(keys, 1.0).value) / float(lost) for keys in (few, 64, many)
    }
    return (
        fact("largest-loss", r"bound on the mean entropy lost at $\sigma = 1$, in nats", lost),
        fact("least-spread", r"bound on $e^{\mathbb{E}H}/n$ at $\sigma = 1$", exp(-lost)),
        *(
            fact(
                f"reached-n{keys}",
                rf"share of that loss which {keys} keys suffer at $\sigma = 1$, integrated",
                Float(share, 6),
            )
            for keys, share in reached.items()
        ),
    )


def figures(findings: Findings) -> tuple[Figure, ...]:
    """Draw the losses over the number of keys, below the bound."""
    losses = [findings.checks[f"loss-n{keys}-d{d_k}"] for keys, d_k in GRID]
    layers = [
        measured((one for one in losses if one.cell["d_k"] == d_k), f"$d_k = {d_k}$", "n") for d_k in (64, 4)
    ]
    bound = findings.checks["loss-n64-d64"].prediction
    return (
        Figure(
            id="losses",
            title="On average scaled attention loses at most half a nat against an even spread",
            alt="Measured mean loss of entropy of scaled attention over the number of keys, in 4 and 64 "
            "dimensions: it rises with the number of keys and stays below the bound of one half.",
            x=Axis(label="number of keys $n$", scale="log"),
            y=Axis(label="mean entropy lost, in nats"),
            layers=(curve("bound: ½", "truth", lambda _: bound, (4.0, 512.0), 2), *layers),
        ),
    )


CLAIM = Claim(
    title="On average scaled attention keeps all but half a nat of its entropy",
    statement=(
        r"For independent normal scores of standard deviation $\sigma$ over $n$ keys, $\mathbb{E}H \ge \ln "
        r"n - \tfrac{\sigma^2}{2}\left(1 - \mathbb{E}\sum p_j^2\right) \ge \ln n - \tfrac{\sigma^2}{2}$: "
        r"with scaled scores at most half a nat is lost on average, whatever the number of keys. Single rows "
        r"may lose more."
    ),
    meaning=(
        r"Correctly scaled attention starts out balanced on average: $e^{\mathbb{E}H} \ge 0.6\,n$, for any "
        r"dimension and length, as $e^{-1/2}$ is 0.607; with many keys no more than that is kept. It is not "
        "true of each row: the longer its query, the sharper it is, and more than a third of those over 64 "
        "keys in 4 dimensions lose more than half a nat. Sharpness beyond this a head has learnt; "
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
