"""On average scaled attention loses at most half a nat of entropy, whatever the number of keys."""

import math

from sympy import Expr, Float, Rational, S, exp, log, sqrt

from verify.claims.softmax.shared import attention_cell
from verify.former import (
    E, ENTROPY, LOG_TOTAL, NORMAL, SQUARES, STEIN, WEIGHTED_SCORE, Cell, Claim, Control, Derivation,
    Experiment, Fact, Figure, Findings, NormalRows, Quantity, Route, Smooth, Step, capped, cell_of, component,
    d, fact, figure, integrated, j, line, measured, n, of_probability, p, prediction, row_integrals,
    row_means, sharper, sigma, threshold, wrong,
)  # fmt: skip
from verify.former.rules import ByParts, SumIdentity, Surplus, TotalGrows

GRID = ((4, 4), (4, 64), (64, 4), (64, 64), (64, 256), (512, 64))
"""Numbers of keys and dimensions."""
SCALE = 1 / sqrt(d)
MANY, TIGHT, WIDE = 512, 1.0, 2.0
"""A number of keys, and standard deviations of their scores, where the bounds are tight."""
BELOW = ((64, 4, threshold(Rational(1, 3))), (512, 64, threshold(Rational(2, 5))))
"""Keys, dimension, and at least which share of the rows there is to lose more than half a nat."""

LABEL = r"$\ln n - \mathbb{E}H$"
FIRST = r"$(\ln n - \mathbb{E}H)\,/\,\tfrac{\sigma^2}{2}(1 - \mathbb{E}\sum p_j^2)$"
SHARE = r"share of rows with $H < \ln n - \tfrac12$"


def derive() -> Derivation:
    """Derive the bound by Gaussian integration by parts, for independent normal scores."""
    rest = 1 - E(SQUARES)
    route = Route.of(
        r"Independent normal scores of standard deviation $\sigma$",
        E(ENTROPY),
        Step(E(LOG_TOTAL) - E(WEIGHTED_SCORE), r"$\ln p_i = s_i - \ln \sum_j e^{s_j}$", SumIdentity()),
        Step(E(LOG_TOTAL) - sigma**2 * rest,
             "Integration by parts (Stein): each score brings out its derivative",
             ByParts(sigma**2 * p[j])),
        Step(log(n) - sigma**2 * rest / 2,
             r"The first term is $\ln n$ at $\sigma = 0$ and grows with $\sigma^2$ at the rate "
             r"$\tfrac12\left(1 - \mathbb{E}\sum p_i^2\right)$, which falls",
             TotalGrows()),
        Step(log(n) - sigma**2 / 2, "The squares add something positive",
             Surplus(sigma**2 * E(SQUARES) / 2, "≥")),
    )  # fmt: skip
    return Derivation.of(route)


def _attention(keys: int, d_k: int, scale: Expr = SCALE) -> Cell:
    return attention_cell(keys, d_k, scale, "entropy", "sharp")


def _rows(deviation: float) -> Cell:
    sampler = NormalRows(MANY, 4, deviation, NORMAL, ("entropy", "squares"))
    return cell_of(f"rows-n{MANY}-s{deviation:g}", sampler)


def _lost(keys: int, deviation: float | None = None) -> Smooth:
    """Return the entropy lost; given a deviation, over σ²/2·(1 - E Σp²), measured in the same rows."""
    if deviation is None:
        return Smooth(lambda mean: math.log(keys) - mean["entropy"], positive=True)
    most, half = math.log(keys), deviation**2 / 2
    return Smooth(lambda mean: (most - mean["entropy"]) / (half * (1 - mean["squares"])), positive=True)


def _exact_loss(keys: int, d_k: int, scale: float) -> float:
    """Return the mean loss of attention, integrated over the scores and the query's length."""
    return math.log(keys) - row_integrals.over_lengths(row_integrals.mean_entropy, keys, d_k, scale).value


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the entropy lost against bounds and its exact mean, and how many rows lose more."""
    bound, near, few = log(n) - derivation.result, capped(0.25, tolerance), capped(1.0, tolerance)
    half, wide = (prediction(bound.subs(sigma, deviation)) for deviation in (1, WIDE))
    bounds = [
        Quantity(f"loss-n{keys}-d{d_k}", LABEL, _attention(keys, d_k), _lost(keys), half, near, "≤")
        for keys, d_k in GRID
    ]
    spread = Quantity("loss-of-spread-rows", LABEL, _rows(WIDE), _lost(MANY), wide, near, "≤")
    one = prediction(S.One)
    first = Quantity("first-bound", FIRST, _rows(TIGHT), _lost(MANY, TIGHT), one, near, "≤")
    exact = {at: integrated(_exact_loss(*at, at[1] ** -0.5)) for at in GRID if at[1] <= 64}
    values = [
        Quantity(f"value-n{keys}-d{d_k}", LABEL, _attention(keys, d_k), _lost(keys), mean)
        for (keys, d_k), mean in exact.items()
    ]
    shares = [
        Quantity(f"rows-below-n{keys}-d{d_k}", SHARE, _attention(keys, d_k), component("sharp"), least, few,
                 "≥")
        for keys, d_k, least in BELOW
    ]  # fmt: skip
    controls = _controls(bounds[-1], first, spread, values[-1], shares[0])
    return Experiment((*bounds, first, spread, *values, *shares), controls)


def _controls(
    bound: Quantity, first: Quantity, spread: Quantity, value: Quantity, share: Quantity
) -> tuple[Control, ...]:
    exact = value.prediction.value
    narrow, wide = (
        math.log(MANY) - row_integrals.mean_entropy(MANY, deviation).value for deviation in (TIGHT, WIDE)
    )
    return (
        sharper(bound, 0.98, exact),
        sharper(first, 0.98, narrow / (TIGHT**2 / 2 * (1 - row_integrals.mean_squares(MANY, TIGHT).value))),
        sharper(spread, 0.9, wide),
        wrong(spread, "half-sigma", "at most {half_sigma} is lost, not {half_square}", S(WIDE) / 2,
              truth=wide),
        wrong(bound, "unscaled-loses-as-little", "without scaling, too, at most half a nat is lost",
              truth=_exact_loss(64, 64, 1.0), cell=_attention(64, 64, S.One), estimand=_lost(64)),
        wrong(value, "loss-of-few-keys", "how many keys there are does not matter: many lose as much as four",
              integrated(_exact_loss(4, 64, 1 / 8))),
        wrong(share, "every-row", "every row, not only their mean, keeps all but half a nat",
              threshold(S.Zero), tolerance=of_probability(), relation="≤"),
        sharper(share, 1.1),
    )  # fmt: skip


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the bound at unit variance, as a loss and as a share of the keys, and how sharp it is."""
    lost = (log(n) - derivation.result).subs(sigma, 1)
    reached = (
        fact(f"reached-n{keys}", rf"share of that loss which {keys} keys suffer at $\sigma = 1$, integrated",
             Float((math.log(keys) - row_integrals.mean_entropy(keys, 1.0).value) / float(lost), 6))
        for keys in (row_means.KEYS[0], 64, row_means.KEYS[-1])
    )  # fmt: skip
    return (
        fact("largest-loss", r"bound on the mean entropy lost at $\sigma = 1$, in nats", lost),
        fact("least-spread", r"bound on $e^{\mathbb{E}H}/n$ at $\sigma = 1$", exp(-lost)),
        *reached,
    )


def figures(findings: Findings) -> Figure:
    """Draw the losses over the number of keys, below the bound."""
    bound = findings.checks["loss-n64-d64"].prediction
    return figure(
        "losses",
        "On average scaled attention loses at most half a nat against an even spread",
        "Measured mean loss of entropy of scaled attention over the number of keys, in two dimensions: it "
        "rises with the number of keys and stays below the bound of one half.",
        "mean entropy lost, in nats",
        line("bound: one half", bound, points=2),
        line("wrong: as little over many keys", _exact_loss(4, 64, 1 / 8), "control", points=2),
        *(measured(findings.matching(f"loss-n*-d{d_k}"), f"$d_k = {d_k}$", "n") for d_k in (64, 4)),
        x="number of keys {n}",
        y_scale="linear",
    )


CLAIM = Claim(
    title="On average scaled attention keeps all but half a nat of its entropy",
    headline="loss-n64-d64",
    statement="For independent normal scores of standard deviation {sigma} over {n} keys, {theorem}: with "
    "scaled scores at most half a nat is lost on average, whatever the number of keys. Single rows may lose "
    "more.",
    meaning="Correctly scaled attention starts out balanced on average. Counting keys by the exponential of "
    "the mean entropy, it spreads over at least {least-spread:3} of them in any dimension and at any length; "
    "with many keys, over no more. It is not true "
    "of each row: the longer its query, the sharper the row, and of those over {rows-below-n64-d4:n} "
    "keys in {rows-below-n64-d4:d_k} dimensions {rows-below-n64-d4:estimate.2%} lose more than half a nat. "
    "Any further sharpness on average is learnt, not given by the initialisation.",
    symbols={"sigma": sigma, "n": n, "half_sigma": sigma / 2, "half_square": sigma**2 / 2},
    references=STEIN,
)
