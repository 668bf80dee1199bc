"""Softpick: half of all weights are 0, and a row of many keys sums to less than 1, by the scores' spread."""

import math

import numpy as np
from sympy import Abs, Float, Integral, Max, Rational, S, Symbol, erf, exp, oo, pi, sqrt

from verify.spec import NORMAL_ROWS, Chain, Check, Claim, Derivation, E, Figure, Findings, Indicator, Items
from verify.spec import Within, Wrong, a, algebra, by_density, cite, earlier, fact, figures as draw, integral
from verify.spec import j, n, of_probability, over_keys, s, sigma

KEYS = (2, 16, 64, 1024)
y = Symbol("y", real=True)
DENSITY = exp(-(y**2) / 2) / sqrt(2 * pi)
DRAWN = by_density({s[a, j]: y}, NORMAL_ROWS)

ABOVE = exp(sigma * s[a, j]) - 1
POSITIVE, SIZE = Max(ABOVE, 0), Abs(ABOVE)
TOTAL = E(over_keys(POSITIVE) / over_keys(SIZE))
"""What the weights of a row sum to, on average."""
ZERO = 1 - E(Indicator(s[a, j]))
"""The share of weights that are 0: those of scores that are not positive."""


def over_scores(x: Integral) -> Integral:
    """Return the integral of a function over the density of a score of deviation 1."""
    return Integral(x * DENSITY, (y, -oo, oo))


def derive() -> tuple[Chain, ...]:
    """Derive the mean of what softpick keeps of a score, and its share of the mean of all sizes."""
    above, mean, below = exp(sigma * y) - 1, exp(sigma**2 / 2), (1 + erf(sigma / sqrt(2))) / 2
    zero = (
        Chain(ZERO, name="half", title="Weights that are 0")
        .then(1 - Integral(DENSITY, (y, -oo, 0)), "the density of a score, of either sign", DRAWN)
        .then(S.Half, "half of all scores are positive", integral())
    )
    kept = (
        Chain(
            E(POSITIVE),
            name="kept",
            title="Positive scores",
            defines="the mean of $e^s - 1$ where that is positive, for normal scores $s$ of deviation "
            r"$\sigma$",
        )
        .then(over_scores(Max(above, 0)), "the density of a score", DRAWN)
        .then(Integral(above * DENSITY, (y, 0, oo)), "positive scores alone count", integral())
        .then(mean * below - S.Half, "integrated", integral())
    )
    whole = (
        Chain(E(ABOVE), name="whole", title="All scores")
        .then(over_scores(above), "the density of a score", DRAWN)
        .then(mean - 1, "integrated", integral())
    )
    share = (
        Chain(E(POSITIVE) / E(SIZE), title="The positive part’s share of the mean size")
        .then(
            E(POSITIVE) / (2 * E(POSITIVE) - E(ABOVE)),
            "a size is twice the positive part less the number",
            algebra,
        )
        .then(
            E(POSITIVE) / (2 * E(POSITIVE) - mean + 1),
            "the mean of $e^s - 1$",
            earlier(whole),
        )
        .then(
            kept.end / (2 * kept.end - mean + 1),
            "the mean of the positive part",
            earlier(kept),
        )
        .then((mean * below - S.Half) / (mean * erf(sigma / sqrt(2))), "terms gathered", algebra)
    )
    return zero, kept, whole, share


LOGARITHMS = np.linspace(-60.0, 12.0, 721)
"""The logarithms over which an integral from 0 to infinity is taken, by the trapezoid rule."""


def mean_total(keys: float) -> float:
    """Return the mean sum of a row at deviation 1: n·∫ E[a e^(-tb)] (E e^(-tb))^(n - 1) dt with b = |a|."""
    at, scores = np.exp(LOGARITHMS), np.linspace(-9, 9, 1801)
    density = np.exp(-(scores**2) / 2) / math.sqrt(2 * math.pi) * (scores[1] - scores[0])
    above, many = np.expm1(scores), round(keys)
    falls = np.exp(-np.outer(at, np.abs(above)))
    of_row = many * (falls @ (density * np.maximum(above, 0))) * (falls @ density) ** (many - 1)
    return float(np.trapezoid(at * of_row, LOGARITHMS))


def experiment(derived: Derivation) -> Items:
    """Measure the sum of rows against the integral and the limit, what it tends to, and zeros."""
    near, most = Within(0.5, fixed=True), derived.end.subs(sigma, 1)
    for keys in KEYS:
        control = keys == 64
        at = {n: keys, sigma: 1}
        yield Check(f"sum-n{keys}", TOTAL, at, equals=mean_total(keys), control=control)
    at, truth = {n: 1024, sigma: 1}, mean_total(1024)
    yield Check("limit-n1024", TOTAL, at, at_most=most, tolerance=near, sharper=0.98, sharper_truth=truth)
    yield Check("zero-n64", ZERO, {n: 64}, equals=derived["half"].end)
    kept = derived["kept"]
    for words, deviation in (("half", S.Half), ("one", S.One)):
        yield Check(f"kept-s{words}", kept, {sigma: deviation})
        yield Check(f"share-s{words}", derived, {sigma: deviation})
    says = "rows of many keys sum to four fifths"
    yield Wrong("four-fifths", TOTAL, at, equals=Rational(4, 5), tolerance=Within(0.1), says=says)
    says = "the weights of a row sum to one, as with softmax"
    yield Wrong("sums-to-one", of="sum-n1024", equals=S.One, says=says)
    yield Wrong("limit-at-once", of="sum-n2", equals=most, says="the limit holds for two keys")
    says, within = "no weight is zero, as with softmax", of_probability()
    yield Wrong("none-is-zero", ZERO, {n: 64}, equals=S.Zero, tolerance=within, says=says)
    for words, deviation in (("half", S.Half), ("one", S.One), ("two", S(2))):
        what = f"sum of a row of very many keys at scores of deviation {float(deviation)}"
        yield fact(f"limit-s{words}", what, Float(float(derived.end.subs(sigma, deviation)), 6))


def figures(derived: Derivation, findings: Findings) -> Figure:
    """Draw the mean sum over the number of keys, and its limit."""
    span, limit = (2, 1024), Float(float(derived.end.subs(sigma, 1)))
    return draw.figure(
        "sums",
        "The sum of a softpick row rises with the number of keys to a limit below one",
        "Mean sum of a row's weights over the number of keys: measured points on a curve that rises from "
        "above one half and levels off at about four fifths.",
        draw.curve("integrated", mean_total, span, many=10),
        draw.measured(findings.matching("sum-n*"), n),
        draw.curve("limit", limit, span, "other", many=2),
        x=n,
        y="mean sum of a row’s weights",
        y_scale="linear",
    )


CLAIM = Claim(
    title="Softpick gives half of the keys no weight, and its rows sum to less than one",
    headline="sum-n1024",
    statement="Softpick divides the positive part of a score’s exponential minus one by the sum of the "
    "absolute values of these differences over the row. For centred normal scores of standard deviation "
    "{sigma}, the positive part has mean {kept:end}, which is the share {main:end} of the mean "
    "absolute value.",
    meaning="A key with a negative score gets no weight at all; that is half of the keys if scores are "
    "symmetric about zero. Negative scores still count in the denominator, so rows do not sum to one. On "
    "average over rows of standard normal scores, the sum is {sum-n2:prediction.3} for two keys, "
    "{sum-n64:prediction.3} for {sum-n64:n}, and {limit-sone:4} for very many; at half that standard "
    "deviation it is {limit-shalf:4}, at twice it {limit-stwo:4}. That the sum of a row tends to this share, "
    "by the law of large numbers, is measured only. The sum of a row follows the scale of its "
    "scores, and so do the outputs. A row whose scores are all zero is zero over zero, which the small "
    "constant that programs add to the denominator turns into zero.",
    symbols={"sigma": sigma},
    references=cite("zuhri2025"),
)
