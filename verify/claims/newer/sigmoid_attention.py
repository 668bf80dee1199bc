"""Sigmoid attention with bias -ln n: a row's sum tends to E eˢ, not to 1, and is bounded on both sides."""

from dataclasses import replace
from typing import Any

from sympy import Rational, exp

from verify.claims.newer.shared import SigmoidRows, mean_of_sigmoids
from verify.former import (
    E, Claim, Derivation, Experiment, Fact, Figure, Findings, Population, Route, Step, beside, biased,
    capped, cell_of, characteristic, cite, component, d, fact, figure, in_turn, line, n, ordered, over_cells,
    score_law, sharper, wrong,
)  # fmt: skip
from verify.former.rules import Between, Evaluation, Jensen, PutIn, Surplus

KEYS = (4, 64, 1024)
NARROW = 0.25
"""A deviation of scores at which the lower bound is close."""
LABEL = "mean sum of a row’s weights"
x, a, m, mu_2, power = ordered("x a m m_2 r", positive=True)
"""The exponential of a score; the place of a tangent; the first two moments of exponentials."""
WEIGHTS = n * x / (n + x)
"""A sigmoid of s - ln n is x/(n + x) with x = eˢ, and all keys have the same mean."""
LAW = Population({x: (1, m, mu_2)})


def derive() -> Derivation:
    """Derive both bounds of the mean sum of a row, and the moments at normal scores."""
    above = Route.of(
        "From above", E(WEIGHTS),
        Step(n * E(x) / (n + E(x)), "Concave in x", Jensen(x)),
        Step(m / (1 + m / n), "With $m$ for the mean", Evaluation(LAW, assumed=True)),
    )  # fmt: skip
    tangent = x * (1 / (1 + a / n) - (x - a) / n / (1 + a / n) ** 2)
    gap = x * (x - a) ** 2 / n**2 / ((1 + x / n) * (1 + a / n) ** 2)
    below = Route.of(
        "From below", E(WEIGHTS),
        Step(E(tangent), "$1/(1 + x/n)$ lies above its tangent at any $a$", Surplus(gap, "≥")),
        Step(m / (1 + a / n) - (mu_2 - a * m) / n / (1 + a / n) ** 2, "Mean and mean square",
             Evaluation(LAW, assumed=True)),
        Step(m**2 / (m + mu_2 / n), "At $a = m_2/m$", PutIn({a: mu_2 / m})), name="below",
    )  # fmt: skip
    below = below.defining("the mean sum of a row’s weights")
    tends = below.then(Step(m, "Both bounds tend to $m$ as $n$ grows", Between(n, above.proved())))
    tends = replace(tends, title="The limit of many keys").called("limit")
    moment = characteristic.of_normal(exp(power * characteristic.y), exp(power**2 * characteristic.v / 2))
    moment = moment.defining("the mean of a power of the exponential of a normal score").called("moment")
    total = score_law.mean_total().defining("the mean of the sum of exponentials of scaled scores")
    return Derivation.of(above, lemmas=(below, tends, moment, total.called("total")))


def _normal(deviation: float = 1.0) -> dict[Any, Any]:
    """Return both moments at normal scores."""
    variance = Rational(deviation) ** 2
    return {m: exp(variance / 2), mu_2: exp(2 * variance)}


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the sum of a row of standard normal scores against the integral and both bounds."""
    cells = {keys: cell_of(f"n{keys}", SigmoidRows(keys)) for keys in KEYS}
    narrow = {4: cell_of("n4-narrow", SigmoidRows(4, NARROW))}
    total, near = component("total", positive=True), capped(0.5, tolerance)
    least = derivation.lemmas[0].end
    above, below = (one.subs(_normal()) for one in (derivation.result, least))
    values = over_cells("sum-{cell}", LABEL, cells, total, mean_of_sigmoids)
    highest = over_cells("above-{cell}", LABEL, cells, total, above, near, "≤")
    lowest = over_cells("below-{cell}", LABEL, cells, total, below, near, "≥")
    moments = _normal(NARROW)
    close = over_cells("below-{cell}", LABEL, narrow, total, least.subs(moments), near, "≥")
    return Experiment((*in_turn(values, highest, lowest), *close.values()), (
        sharper(highest[64], 0.95, values[64].prediction.value),
        wrong(close[4], "smaller-square", "the bound for a mean square less three hundredths holds, too",
              least.subs({**moments, mu_2: Rational(97, 100) * moments[mu_2], n: 4}),
              truth=mean_of_sigmoids(4, NARROW)),
        wrong(values[1024], "sums-to-one", "with this bias the weights of a row sum to one on average",
              Rational(1)),
        biased(values[1024], tolerance, at="n"),
    ))  # fmt: skip


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return what the sum tends to at standard normal scores, and at scaled ones."""
    of_score = derivation.lemmas[-1].end.subs(n, 1)
    return (
        fact("normal", "limit of the sum at standard normal scores", _normal()[m]),
        *(fact(f"scaled-d{at}", f"limit of the sum at scaled scores in {at} dimensions", of_score.subs(d, at))
          for at in (2, 64)),
    )  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the mean sum over the number of keys between its bounds."""
    return figure(
        "sums",
        "The sum of a sigmoid row rises with the number of keys towards the mean exponential of a score",
        "Mean sum of a row's weights over the number of keys: measured points on a rising curve that "
        "levels off at about one and two thirds, between two bounds that meet there.",
        LABEL, *beside(findings.matching("sum-n*"), "integrated", mean_of_sigmoids, "n", over=(4, 1024)),
        *(line(f"bound: {{{name}:result}}", end.subs(_normal()), "other", over=(4, 1024))
          for name, end in (("theorem", derivation.result), ("below", derivation.lemmas[0].end))),
        x="number of keys {n}", y_scale="linear",
    )  # fmt: skip


CLAIM = Claim(
    title="Sums of rows of sigmoid attention tend not to one, but to the mean exponential of a score",
    statement="Let each of {n} weights be the sigmoid of a score minus the logarithm of {n}, and let the "
    "exponential of a score have mean {m} and mean square {mu}. The mean sum of a row is at most "
    "{theorem:result}, at least {below:result}, and tends to {limit:result} as {n} grows. For centred normal "
    "scores of variance {v}, the mean of the exponential raised to the power {power} is {moment:result}.",
    meaning="The bias keeps the sum from growing with the length, and no more: for standard normal scores "
    "the sum is {sum-n64:prediction.4} for {sum-n64:n} keys, {sum-n1024:prediction.4} for {sum-n1024:n}, and "
    "tends to {normal:5}, not to one. For scaled scores of normal components it tends to {scaled-d64:4} in "
    "sixty-four dimensions and to {scaled-d2:1} in two; in one dimension the mean is infinite. The sum of a "
    "row follows the spread of its scores, so a change of scale changes this sum, which softmax keeps at "
    "one.",
    headline="sum-n1024",
    symbols={"n": n, "m": m, "mu": mu_2, "v": characteristic.v, "power": power},
    references=cite(
        "ramapuram2025",
        "J. Ramapuram et al., Theory, Analysis, and Best Practices for Sigmoid Self-Attention, ICLR 2025.",
        "https://arxiv.org/abs/2409.04431",
    ),
)
