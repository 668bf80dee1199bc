"""Softpick gives half of the keys no weight, and its rows sum to less than one."""

import math

import numpy as np

from verify.spec import NORMAL_ROWS, Abs, Chain, Chains, Check, Claim, Derivation, E, Float, Indicator
from verify.spec import Integral, Items, Max, Plot, Rational, S, Symbol, Within, Wrong, a, algebra, by_density
from verify.spec import cite, earlier, erf, exp, fact, integral, j, n, numerically, of_probability, oo
from verify.spec import over_keys, pi, s, sigma, sqrt

DEVIATIONS = {"half": S.Half, "one": S.One, "two": S(2)}
y = Symbol("y", real=True)
DENSITY = exp(-(y**2) / 2) / sqrt(2 * pi)
ABOVE = exp(sigma * s[a, j]) - 1
POSITIVE, SIZE = Max(ABOVE, 0), Abs(ABOVE)
TOTAL = E(over_keys(POSITIVE) / over_keys(SIZE))  # the mean sum of the weights of a row
ZERO = 1 - E(Indicator(s[a, j]))  # the share of weights that are 0: those of scores that are not positive


def derive() -> Chains:
    above, mean, below = exp(sigma * y) - 1, exp(sigma**2 / 2), (1 + erf(sigma / sqrt(2))) / 2
    drawn, all_scores = by_density({s[a, j]: y}, NORMAL_ROWS), (y, -oo, oo)
    zero = Chain(ZERO, name="half", title="Weights that are 0")
    zero = zero.then(1 - Integral(DENSITY, (y, -oo, 0)), "the density of a score, of either sign", drawn)
    yield zero.then(S.Half, "half of all scores are positive", integral())
    positive = Chain(E(POSITIVE), name="kept", title="The mean of the positive part").through(
        (Integral(Max(above, 0) * DENSITY, all_scores), "the density of a score", drawn),
        (Integral(above * DENSITY, (y, 0, oo)), "positive scores alone count", numerically()),
        (mean * below - S.Half, "integrated", integral()),
    )
    whole = Chain(E(ABOVE), name="whole", title="All scores")
    whole = whole.then(Integral(above * DENSITY, all_scores), "the density of a score", drawn)
    yield from (positive, whole := whole.then(mean - 1, "integrated", integral()))
    part, size = positive.start, "a size is twice the positive part less the number"
    yield Chain(part / E(SIZE), title="The positive part’s share of the mean size").through(
        (part / (2 * part - E(ABOVE)), size, algebra),
        (part / (2 * part - mean + 1), "the mean of $e^s - 1$", earlier(whole)),
        (positive.end / (2 * positive.end - mean + 1), "the mean of the positive part", earlier(positive)),
        (positive.end / (mean * erf(sigma / sqrt(2))), "terms gathered", algebra),
    )


def mean_total(keys: float) -> float:
    """Return the mean sum of a row at deviation 1: n·∫ E[a e^(-tb)] (E e^(-tb))^(n - 1) dt with b = |a|."""
    grid, scores, many = np.linspace(-60.0, 12.0, 721), np.linspace(-9, 9, 1801), round(keys)
    at, above = np.exp(grid), np.expm1(scores)
    density = np.exp(-(scores**2) / 2) / math.sqrt(2 * math.pi) * (scores[1] - scores[0])
    falls = np.exp(-np.outer(at, np.abs(above)))
    of_row = many * (falls @ (density * np.maximum(above, 0))) * (falls @ density) ** (many - 1)
    return float(np.trapezoid(at * of_row, grid))


def experiment(derived: Derivation) -> Items:
    near, limit, positive = Within(0.5, fixed=True), derived.end.subs(sigma, 1), derived["kept"]
    for keys in (2, 16, 64, 1024):
        at = {n: keys, sigma: 1}
        yield Check(f"sum-n{keys}", TOTAL, at, equals=mean_total(keys), control=keys == 64)
    yield Check("limit-n1024", TOTAL, at, at_most=limit, tolerance=near, sharper=0.98)
    yield Check("zero-n64", ZERO, {n: 64}, equals=derived["half"].end)
    for words in ("half", "one"):
        yield Check(f"kept-s{words}", positive, {sigma: DEVIATIONS[words]})
        yield Check(f"share-s{words}", derived, {sigma: DEVIATIONS[words]})
    yield Wrong("four-fifths", TOTAL, at, equals=Rational(4, 5), tolerance=0.1)
    yield Wrong("sums-to-one", of="sum-n1024", equals=S.One, says="a row sums to one, as with softmax")
    yield Wrong("limit-at-once", of="sum-n2", equals=limit, says="the limit holds for two keys")
    yield Wrong("none-is-zero", ZERO, {n: 64}, equals=S.Zero, tolerance=of_probability())
    for words, deviation in DEVIATIONS.items():
        what = f"sum of a row of very many keys at scores of deviation {float(deviation)}"
        yield fact(f"limit-s{words}", what, Float(float(derived.end.subs(sigma, deviation)), 6))
    curves, bounds = {"integrated": mean_total}, {"limit": Float(float(limit))}
    yield Plot("sums", "sum-n*", n, curves=curves, bounds=bounds, y="mean sum of a row’s weights", linear="y")


CLAIM = Claim(
    headline="sum-n1024",
    statement="Softpick divides the positive part of a score’s exponential minus one by the sum of the "
    "absolute values of these differences over the row. For centred normal scores of standard deviation "
    "{sigma}, the positive part has mean {kept:end}, which is the share {main:end} of the mean absolute "
    "value.",
    meaning="A key with a negative score gets no weight at all; that is half of the keys if scores are "
    "symmetric about zero. Negative scores still count in the denominator, so rows do not sum to one: for "
    "standard normal scores the sum is {sum-n2:prediction.3} on average for two keys, {sum-n64:prediction.3} "
    "for {sum-n64:n}, and {limit-sone:4} for very many; at half that standard deviation it is "
    "{limit-shalf:4}, at twice it {limit-stwo:4}. That the sum of a row tends to this share, by the law of "
    "large numbers, is measured only. A row whose scores are all zero is zero over zero.",
    references=cite("zuhri2025"),
)
