"""Sigmoid attention with bias -ln n: a row's sum tends to E eˢ, not to 1, and is bounded on both sides."""

from collections.abc import Iterator

import numpy as np
from sympy import Integral, Limit, Rational, S, Symbol, exp, gamma, oo, pi, sqrt, symbols

from verify.spec import NORMAL_COMPONENTS, NORMAL_ROWS, Chain, Check, Claim, Derivation, Dot, E, Figure
from verify.spec import Findings, Items, Law, Line, Within, Wrong, a, algebra, at_most, between, by_density
from verify.spec import cite, cited, d, earlier, fact, figures as draw, integral, j, moments, n, over_keys
from verify.spec import q, s, score, sigma, substitute

KEYS = (4, 64, 1024)
NARROW = Rational(1, 4)
"""A deviation of scores at which the lower bound is close."""
NEAR = Within(0.5, fixed=True)
ANY = {s: Law("a finite mean of the exponential", (S.One,))}

x, c, r = symbols("x c r", positive=True)
z = Symbol("z", real=True)
TERM = exp(sigma * s[a, j])
SUM = E(over_keys(1 / (1 + n * exp(-sigma * s[a, j]))))
"""A sigmoid of s - ln n is x/(n + x) with x = eˢ."""


def derive() -> Iterator[Chain]:
    """Derive bounds and limit for scores of any law, and what they are for normal ones."""
    mean, square = E(TERM), E(TERM**2)
    alike = Line(E(TERM / (1 + TERM / n)), "all keys have the same mean", moments(ANY))
    concave = Line(mean / (1 + mean / n), "concave in the exponential", cited("jensen"), "≤")
    above = Chain(SUM, alike, concave, title="From above")
    line = x * (1 / (1 + c / n) - (x - c) / n / (1 + c / n) ** 2)
    gap = at_most(x * (x - c) ** 2 / n**2 / ((1 + x / n) * (1 + c / n) ** 2))
    higher = Line(x / (1 + x / n), "$1/(1 + x/n)$ lies above its tangent at any $c$", gap, "≤")
    tangent = Chain(line, higher, name="tangent", title="A tangent")
    apart = mean / (1 + c / n) - (square - c * mean) / n / (1 + c / n) ** 2
    below = Chain(
        SUM,
        alike,
        Line(E(line.xreplace({x: TERM})), "the tangent at any $c$", earlier(tangent, at={x: TERM}), "≥"),
        Line(apart, "mean and mean square", algebra),
        Line(mean**2 / (mean + square / n), "at the largest bound", substitute({c: square / mean})),
        name="below",
        title="From below",
    )
    within = Line(mean, "both bounds tend there", between(below, above))
    yield from (above, tangent, below, Chain(Limit(SUM, n, oo), within, name="limit", title="The limit"))
    yield from of_normal(above, below)
    yield from of_scaled()


def of_normal(above: Chain, below: Chain) -> Iterator[Chain]:
    """Derive moments of exponentials of normal scores, and both bounds there."""
    mean_power = Integral(exp(r * sigma * z) * exp(-(z**2) / 2) / sqrt(2 * pi), (z, -oo, oo))
    moment = Chain(
        E(TERM**r),
        Line(mean_power, "the normal density", by_density({s[a, j]: z}, NORMAL_ROWS)),
        Line(exp(r**2 * sigma**2 / 2), "integrated", integral()),
        name="moment",
        title="Powers of the exponential of a normal score",
    )
    yield moment
    mean, square = exp(sigma**2 / 2), exp(2 * sigma**2)
    first, second = earlier(moment, at={r: 1}), earlier(moment, at={r: 2})
    yield Chain(
        SUM,
        Line(above.end, "the bound from above", earlier(above), "≤"),
        Line(mean / (1 + mean / n), "the mean", first),
        name="normal-above",
        title="Normal scores, from above",
    )
    yield Chain(
        SUM,
        Line(below.end, "the bound from below", earlier(below), "≥"),
        Line(mean**2 / (mean + E(TERM**2) / n), "the mean", first),
        Line(mean**2 / (mean + square / n), "the mean square", second),
        name="normal-below",
        title="Normal scores, from below",
    )


def of_scaled() -> Iterator[Chain]:
    """Derive the limit for scaled scores of normal components, whose mean square may be infinite."""
    term, length = exp(score / sqrt(d)), Dot(q, a, q, a)
    inside, title = Line(E(term / (1 + term / n)), "$n$ drawn in", algebra), "The mean of a weight, $n$ times"
    weight = Chain(n * E(1 / (1 + n / term)), inside, name="weight", title=title)
    over_squares = Integral(x ** (d / 2 - 1) * exp(-c * x / 2) / (2 ** (d / 2) * gamma(d / 2)), (x, 0, oo))
    integrated, title = (
        Line(c ** (-d / 2), "integrated", integral()),
        "A mean over squared lengths of queries",
    )
    lengths = Chain(over_squares, integrated, name="lengths", title=title)
    yield from (weight, lengths)
    theorems = ("monotone convergence", "conditioning", "chi-square")
    rises, given_query, chi_square = (cited(theorem, laws=NORMAL_COMPONENTS) for theorem in theorems)
    there = earlier(lengths, at={c: 1 - 1 / d}, given=(d > 1,))
    yield Chain(
        Limit(weight.start, n, oo),
        Line(Limit(weight.end, n, oo), "of a weight", earlier(weight)),
        Line(E(term), "it rises to the exponential of the score", rises),
        Line(E(exp(length / (2 * d))), "given the query a score is normal", given_query),
        Line(over_squares.xreplace({c: 1 - 1 / d}), "the squared length is chi-square", chi_square),
        Line((1 - 1 / d) ** (-d / 2), "integrated", there),
        name="scaled",
        title="The limit for scaled scores, whether or not they have a mean square",
        given=(d > 1,),
    )


def mean_of_sigmoids(keys: float, deviation: float = 1.0) -> float:
    """Return the mean sum of a row of normal scores, integrated."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(96)
    return float(weights @ (keys / (1 + keys * np.exp(-deviation * nodes))) / weights.sum())


def experiment(derived: Derivation) -> Items:
    """Measure the sum of a row of normal scores against the integral and both bounds."""
    most, least = derived["normal-above"], derived["normal-below"]
    for keys in KEYS:
        at, exact = {n: keys, sigma: 1}, mean_of_sigmoids(keys)
        control, false = "biased-prediction" if keys == KEYS[-1] else "", 0.95 if keys == KEYS[1] else 0
        yield Check(f"sum-n{keys}", SUM, at, equals=exact, control=control)
        yield Check(f"above-n{keys}", SUM, at, at_most=most.end, tolerance=NEAR, sharper=false)
        yield Check(f"below-n{keys}", SUM, at, at_least=least.end, tolerance=NEAR)
    narrow = {n: 4, sigma: NARROW}
    yield Check("below-n4-narrow", SUM, narrow, at_least=least.end, tolerance=NEAR)
    says = "the bound for a mean square less three hundredths holds, too"
    mean, square = exp(sigma**2 / 2), Rational(97, 100) * exp(2 * sigma**2)
    smaller = mean**2 / (mean + square / n)
    yield Wrong("smaller-square", of="below-n4-narrow", at_least=smaller, says=says)
    says = "with this bias the weights of a row sum to one on average"
    yield Wrong("sums-to-one", of="sum-n1024", equals=S.One, says=says)
    yield fact("normal", "limit of the sum at standard normal scores", exp(S.Half))
    for size in (2, 64):
        what = f"limit of the sum at scaled scores in {size} dimensions"
        yield fact(f"scaled-d{size}", what, derived["scaled"].end.subs(d, size))


def figures(derived: Derivation, findings: Findings) -> Figure:
    """Draw the mean sum over the number of keys between its bounds."""
    ends = (derived[name].end.subs(sigma, 1) for name in ("normal-above", "normal-below"))
    return draw.figure(
        "sums",
        "The sum of a sigmoid row rises with the number of keys towards the mean exponential of a score",
        "Mean sum of a row's weights over the number of keys: measured points on a rising curve that "
        "levels off at about one and two thirds, between two bounds that meet there.",
        draw.curve("integrated", mean_of_sigmoids, KEYS),
        *(draw.curve("derived bounds", end, KEYS, "other") for end in ends),
        draw.measured(findings.matching("sum-n*"), n),
        x="number of keys {n}",
        y="mean sum of a row’s weights",
        y_scale="linear",
    )


CLAIM = Claim(
    title="Sums of rows of sigmoid attention tend not to one, but to the mean exponential of a score",
    statement="Let each of {n} weights be the sigmoid of a score minus the logarithm of {n}, and let all "
    "scores be {sigma} times numbers of one law. The mean sum of a row is at most {main:end}. On condition "
    "that the exponential of a score has a finite mean square, the mean sum is at least {below:end}, and "
    "tends to {limit:end} as {n} grows. For standard normal numbers, the mean of the exponential raised to "
    "the power {power} is {moment:end}.",
    meaning="The bias keeps the sum from growing with the length, and no more: for standard normal scores "
    "the sum is {sum-n64:prediction.4} for {sum-n64:n} keys, {sum-n1024:prediction.4} for {sum-n1024:n}, and "
    "tends to {normal:5}, not to one. For scaled scores of normal components the mean square is finite in "
    "five dimensions and more; in sixty-four the sum tends to {scaled-d64:4}. In two to four dimensions the "
    "mean square is infinite and the bound from below says nothing, but each term rises with {n}, so that "
    "the sum still tends to the mean, which is {scaled-d2:1} in two; in one dimension the mean is infinite. "
    "The sum of a row follows the spread of its scores, so a change of scale changes this sum, which softmax "
    "keeps at one.",
    headline="sum-n1024",
    symbols={"n": n, "sigma": sigma, "power": r},
    references=cite("ramapuram2025"),
)
