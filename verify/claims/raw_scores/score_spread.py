"""The histogram of scores widens with the dimension."""

import math
from functools import cache

import numpy as np
import scipy
from sympy import Eq, Integral, Interval, Limit, Min, Rational, Symbol, erf, erfinv, log, oo, sign, sqrt

from verify.claims.raw_scores.shared import with_moments
from verify.former import (
    E, GENERAL, NORMAL, UNIT_INTERVAL, Allowance, Claim, Control, Derivation, Distribution, Exact, Experiment,
    Figure, Findings, PairShares, Quantile, Quantity, Route, Simulated, Step, biased, capped, cell_of, d,
    figure, function, integrated, line, mu_k, mu_q, one_step, prediction, scatter, score, score_law,
    variance_route, wrong,
)  # fmt: skip
from verify.former.rules import (
    CentralLimit, Equivalent, Hypotheses, Primitive, Replaced, Solved, SplitAt, Unfolded,
)  # fmt: skip

NORMAL_DIMENSIONS = (2, 100)
UNIFORM_DIMENSIONS = (3, 100, 1000)
LEVEL = 0.95
EXACTLY = Rational(95, 100)
LABEL = "95% point of the scores, above their mean"
IN_DEVIATIONS = "the same point, in standard deviations of a score"
NORMAL_POINT = sqrt(2) * erfinv(2 * EXACTLY - 1)
"""The 95% point of the normal law."""

IN_UNITS = np.concatenate([np.arange(1, 1.55, 0.05), np.arange(1.55, 1.9, 0.0025), np.arange(1.9, 2.5, 0.05)])
"""Where shares are counted, in standard deviations above the mean: closely about all 95% points."""
BIN = 0.25
EDGES = np.arange(-4 - BIN / 2, 4 + BIN, BIN)
"""The ends of the bins of the histograms, in standard deviations from the mean."""

_CELLS = 2048  # intervals into which (0, 1) is cut to convolve the law of a product numerically

u, v = (Symbol(name, positive=True) for name in "uv")
x = Symbol("x", real=True)
SHARE = Symbol(r"P(q_i k_i \le u)")
GIVEN_QUERY = Integral(Min(1, u / v), (v, 0, 1))
BELOW, ABOVE = Integral(1, (v, 0, u)), Integral(u / v, (v, u, 1))
PRODUCT = u - u * log(u)
"""P(xy ≤ u) for independent x and y from U(0, 1)."""


def derive() -> Derivation:
    """Derive the variance, which sets the width, how many deviations that is, and a single product's law."""
    unit = Hypotheses().restricted(u, Interval.open(0, 1))
    sure, rest = (Route.of("", of, Step(area, "", Primitive(v, primitive)), under=unit).proved()
                  for of, area, primitive in ((BELOW, u, v), (ABOVE, -u * log(u), u * log(v))))  # fmt: skip
    product = Route.of(
        "One product of components from $U(0, 1)$",
        SHARE,
        Step(GIVEN_QUERY, "Given the query, $v$, a key is at most $u/v$ with that probability, at most 1",
             Unfolded({SHARE: GIVEN_QUERY})),
        Step(BELOW + ABOVE, r"Certain for $v \le u$, the probability $u/v$ beyond", SplitAt(v, u)),
        Step(u + ABOVE, "The area of the unit square where the product is at most u", Replaced(sure)),
        Step(PRODUCT, "Integrated", Replaced(rest)),
        defines="the share of products that are at most u", under=unit,
    )  # fmt: skip
    route = variance_route(score, GENERAL)
    below = (1 + sign(x - (score - mu_q * mu_k * d) / sqrt(route.end))) / 2
    in_the_limit, normal = Limit(E(below), d, oo), (1 + erf(x / sqrt(2))) / 2
    limit = one_step("A score less its mean and over its standard deviation", in_the_limit, normal,
                     "A sum of independent products with one law and a finite variance",
                     CentralLimit(GENERAL),
                     defines="the chance that it is at most x, as the dimension grows")  # fmt: skip
    equation, point = Eq(in_the_limit, EXACTLY, evaluate=False), Eq(x, NORMAL_POINT, evaluate=False)
    many_dimensions = Route.of(
        "Where that is 95%", equation,
        Step(Eq(normal, EXACTLY, evaluate=False), "The normal law’s", Equivalent(sides=limit.proved())),
        Step(point, "which only rises", Solved(x)),
        defines="that 95% of scores are at most x",
    )  # fmt: skip
    return Derivation.of(route, lemmas=(product, limit.called("limit"), many_dimensions))


@cache
def _uniform_point(dimension: int) -> float:
    """Return the 95% point above the mean, by convolving the law of a product with itself numerically.

    Each cell's probability sits at the cell's mean product, so that mean and spread come out right.
    """
    edges = np.linspace(0, 1, _CELLS + 1)
    at_or_below = function((u,), PRODUCT, "numpy")
    probabilities = np.diff(at_or_below(edges[1:]), prepend=0.0)
    # A cell's numbers lie half a cell above its lower edge on average, up to the curvature of the density.
    centre = float(np.sum(np.arange(_CELLS) * probabilities)) / _CELLS
    # Further from its mean the sum lies with a probability of at most 1e-16 (Hoeffding).
    reach = math.sqrt(dimension * math.log(1e16) / 2)
    size = scipy.fft.next_fast_len(int(min(2 * reach, dimension) * _CELLS) + 1, real=True)
    first = max(0, int((dimension * centre - reach) * _CELLS))
    spectrum = np.fft.rfft(probabilities, size) ** dimension
    cumulative = np.cumsum(np.roll(np.fft.irfft(spectrum, size), -first))
    places = (first + np.arange(size)) / _CELLS - dimension * centre
    return float(np.interp(LEVEL, cumulative, places + 0.5 / _CELLS))


@cache
def _normal_point(dimension: int) -> float:
    """Return the 95% point of the exact law of normal components."""
    low, high = 0.1 * dimension**0.5, 4 * dimension**0.5
    return float(scipy.optimize.brentq(lambda point: score_law.below(dimension, point) - LEVEL, low, high))


def _deviation(derivation: Derivation, law: Distribution, n: int) -> float:
    """Return the derived standard deviation of a score of such components."""
    moments = Rational(law.mean), Rational(law.variance)
    return math.sqrt(with_moments(derivation.result, moments, moments).subs(d, n))


def _measured(derivation: Derivation, law: Distribution, n: int, tolerance: float) -> Quantity:
    """Return the comparison of a measured 95% point with that of the exact or the convolved law."""
    name, point = ("normal", _normal_point) if law is NORMAL else ("uniform", _uniform_point)
    steps = IN_UNITS * _deviation(derivation, law, n)
    grid = tuple(map(float, n * float(law.mean) ** 2 + steps))
    outline = tuple(map(float, EDGES * _deviation(derivation, law, n))) if law is NORMAL else ()
    pairs = 64 if n < 1000 else 16
    cell = cell_of(f"{name}-d{n}", Simulated(law, law, pairs, pairs, n), PairShares(grid, outline))
    estimand, expected = Quantile(tuple(map(float, steps)), level=LEVEL), integrated(point(n), 5)
    wide = capped(3.0, tolerance, "few scores lie near a point so far out")
    return Quantity(f"{name}-point-d{n}", LABEL, cell, estimand, expected, wide)


def _in_deviations(derivation: Derivation, law: Distribution, n: int, name: str) -> Exact:
    """Return the comparison with the normal law, whose point moves out exactly like the deviation."""
    point = _normal_point if law is NORMAL else _uniform_point
    found = point(n) / _deviation(derivation, law, n)
    settings, limited = (("d_k", n), ("components", law.name)), prediction(derivation.lemmas[2].end.rhs)
    far = Allowance(0.01, "the distance from the limit of high dimension")
    return Exact(name, IN_DEVIATIONS, settings, limited, found, far, code=point)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the 95% points against the exact law and against the convolved one."""
    two, hundred = (_measured(derivation, NORMAL, n, tolerance) for n in NORMAL_DIMENSIONS)
    uniform = tuple(_measured(derivation, UNIT_INTERVAL, n, tolerance) for n in UNIFORM_DIMENSIONS)
    of_normal = _in_deviations(derivation, NORMAL, 100, "normal-deviations-d100")
    of_uniform = _in_deviations(derivation, UNIT_INTERVAL, 1000, "uniform-deviations-d1000")
    limit = "{cell:components} components: in deviations the point is at its limit at {cell:d_k} dimensions"
    return Experiment((two, hundred, *uniform, of_normal, of_uniform), (
        wrong(hundred, "same-width", "the histogram is as wide at {cell:d_k} dimensions as at two", two),
        wrong(hundred, "proportional-width", "its width grows in proportion to the dimension",
              integrated(two.prediction.value * 50, 5)),
        wrong(uniform[2], "tenfold-width",
              "uniform components: it is ten times as wide at {cell:d_k} dimensions as at a hundred",
              integrated(10 * uniform[1].prediction.value, 5)),
        *(Control(limit, _in_deviations(derivation, law, n, f"{name}-limit-at-{n}"))
          for name, law, n in (("normal", NORMAL, 2), ("uniform", UNIT_INTERVAL, 3))),
        biased(hundred, tolerance),
    ))  # fmt: skip


def figures(findings: Findings) -> tuple[Figure, ...]:
    """Draw the histograms of normal components, raw and scaled, and the upper tails of uniform ones."""
    raw = _histograms(
        findings,
        "histograms",
        "Scores spread wider in more dimensions",
        "a narrow peak in the first, far wider in the second",
        is_scaled=False,
    )
    scaled = _histograms(
        findings,
        "scaled-histograms",
        "Divided by {root_d}, scores have one width",
        "as wide in both, with a sharper peak in the first",
        is_scaled=True,
    )
    return raw, scaled, _tails(findings)


def _histograms(findings: Findings, name: str, title: str, shown: str, *, is_scaled: bool) -> Figure:
    """Draw the measured histograms of normal components, and the exact law through them."""
    bars, laws = [], []
    half = BIN / 2
    for n in NORMAL_DIMENSIONS:
        deviation = math.sqrt(n)
        drawn = 1.0 if is_scaled else deviation
        shares = np.diff(findings.samples[f"normal-d{n}"].mean[-len(EDGES) :])
        bars.append(scatter(f"$d_k = {n}$", EDGES * drawn, shares, bars=True))
        places = np.linspace(EDGES[0], EDGES[-1], 201)
        below, above = (
            np.array([score_law.below(n, deviation * (place + side)) for place in places])
            for side in (-half, half)
        )
        laws.append(line("exact law", above - below, at=places * drawn))
    return figure(
        name,
        title,
        "Histograms of scores of normal components in {normal-point-d2:d_k} and {normal-point-d100:d_k} "
        f"dimensions: {shown}; the curves of the exact law lie on both.",
        "share of scores, in bins of a quarter deviation",
        *laws,
        *bars,
        x="{scaled_score}" if is_scaled else "{score}",
        x_scale="linear",
        y_scale="linear",
    )


def _tails(findings: Findings) -> Figure:
    """Draw the upper tails of uniform components at three dimensions, each from its mean on."""
    layers = []
    for n in UNIFORM_DIMENSIONS:
        grid = findings.cells[f"uniform-d{n}"].sampler.statistic.grid  # type: ignore[attr-defined]  # score pairs
        shares = 1 - findings.samples[f"uniform-d{n}"].mean
        point = _uniform_point(n)
        layers += [
            scatter(f"$d_k = {n}$", np.asarray(grid)[::10] - n / 4, shares[::10]),
            line("", (1 - LEVEL, 1 - LEVEL, 0), at=(0, point, point)),
        ]
    return figure(
        "tails",
        "Five scores in a hundred lie beyond a point that moves out with the dimension",
        "Share of scores beyond a distance above the mean, uniform components in three, a hundred and a "
        "thousand dimensions; the derived points with five percent beyond them lie on the measured curves.",
        "share of scores beyond",
        *layers,
        x="distance above the mean",
        x_scale="linear",
        y_scale="linear",
    )


CLAIM = Claim(
    title="Histograms of scores widen with the dimension",
    statement="Let all components be independent, those of queries with one law and those of keys with "
    "another, both of finite variance. Then {theorem}, and as the dimension grows, the share of scores at "
    "most {x} standard deviations above their mean tends to {limit:result}, which is ninety-five per cent at "
    "{normal-deviations-d100:prediction.4}.",
    meaning="What the eye sees in histograms of dot products is right: in more dimensions they are wider, by "
    "the root of the ratio of the dimensions, not by that ratio. The point above which five per cent of "
    "scores lie, taken from their mean, is computed and measured: for standard normal components "
    "{normal-point-d2:prediction.3} in two dimensions and {normal-point-d100:prediction.3} in a hundred, for "
    "uniform ones between zero and one {uniform-point-d3:prediction.2} in three, "
    "{uniform-point-d100:prediction.3} in a hundred and {uniform-point-d1000:prediction.3} in a thousand. "
    "Where components have a mean, the whole histogram moves as well, in proportion to the dimension.",
    symbols={"x": x},
)
