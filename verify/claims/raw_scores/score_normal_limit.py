"""Scores become normal as the dimension grows."""

from functools import cache

import numpy as np
from scipy import special

from verify.spec import NORMAL_COMPONENTS, Allowance, Chain, Chains, Check, Claim, Computed, Derivation, E
from verify.spec import Indicator, Integral, Items, Plot, S, Symbol, Var, Within, Wrong, a, algebra, d, erf
from verify.spec import exp, i, j, k, latex, moments, of_probability, oo, pi, q, score, simplify, sqrt
from verify.spec.lemmas import CHI_SQUARE, SQUARES, below, of_normals, w

NEAR, FAR = 1000, 2000  # dimensions in which the distance is computed from the exact law to tell its rate
x = Symbol("x", positive=True)
ROOT_3 = sqrt(3)
WORST = sqrt(3 - sqrt(6))  # where the leading term is largest: a root of the fourth Hermite polynomial
NORMAL = (1 - erf(x / sqrt(2))) / 2
DISTANCE = NORMAL - E(Indicator(-x * sqrt(d) - score))
TERM = (3 * x - x**3) * exp(-(x**2) / 2) / sqrt(2 * pi) / (4 * d)
# Distances from 0, in standard deviations, at which the exact law is searched for its largest gap.
PLACES = np.linspace(0.125, 4.0, 32)


def derive() -> Chains:
    normal, product = moments(NORMAL_COMPONENTS), q[a, i] * k[j, i]
    powers = d * E(product**4) + 3 * d * (d - 1) * E(product**2) ** 2
    yield Chain(E(score**4) / Var(score) ** 2).through(
        (powers / Var(score) ** 2, "of four products all are the same, or two and two are", normal),
        ((9 * d + 3 * d * (d - 1)) / d**2, "a normal number has the fourth moment 3", normal),
        (3 + 6 / d, "collected", algebra),
    )
    yield Chain(E(score**3), name="third", title="The third moment").then(0, "of normal numbers", normal)
    given = (1 - erf(x * sqrt(d) / sqrt(2 * SQUARES))) / 2
    tower = "given the query a score is normal, its variance the query’s squared length"
    given_query = NORMAL - E(given), tower, of_normals("conditioning")
    over_lengths = NORMAL - Integral(given.subs(SQUARES, w) * CHI_SQUARE, (w, 0, oo))
    exact = Chain(DISTANCE, name="exact", title="Below the normal probability by").then(*given_query)
    yield exact.then(over_lengths, "the squared length is chi-square", of_normals("chi-square"))
    expanded = "that is a mean of many squares: expanded about its own mean"
    distance = Chain(DISTANCE, name="distance", title="To first order in $1/d_k$").then(*given_query)
    # Half the second derivative in the mean square of a query's components, times its variance, 2/d.
    yield distance.then(TERM, expanded, of_normals("delta method"), "~")


@cache
def gap(dimension: float, place: float = float(WORST)) -> float:
    """Return how much less probable a score so many deviations below 0 is than a normal number."""
    return float(special.ndtr(-place)) - below(dimension, -place * dimension**0.5)


def largest_gap(dimension: int) -> float:
    """Return the largest distance of the exact law from the normal one."""
    return max(abs(gap(dimension, float(place))) for place in PLACES)


def experiment(derived: Derivation) -> Items:
    wide = Within(5.0, because="it is a small difference of two larger probabilities", fixed=True)
    for size in (1, 2, 4):
        yield Check(f"distance-d{size}", DISTANCE, {d: size, x: WORST}, equals=gap(size), tolerance=wide)
    many, few, fixed = {d: 32}, {d: 1, x: WORST}, Within(fixed=True)
    yield Check("kurtosis-d32", derived, many, tolerance=fixed, control=True)
    skewed = Within(3.0, 32**1.5, "the cube of the deviation", "third powers vary much")
    yield Check("third-moment-d32", derived["third"], many, tolerance=skewed)
    beyond, label = "what falls faster than the first-order term", f"${latex(DISTANCE)}$"
    power, far = simplify(d * TERM.diff(d) / TERM), Allowance(0.005, beyond)
    what, where = f"exponent of {label} in $d_k$", {"from": NEAR, "to": FAR}
    slope = np.log(gap(FAR) / gap(NEAR)) / np.log(FAR / NEAR)
    yield Computed("rate", what, float, (slope,), power, settings=where, allowance=far)
    larger, smaller = {"larger-term": 1.01}, {"smaller-gap": 0.99}
    for name, what, code, size, off in (
        ("leading-term", f"{label} at $x = 0.742$, of the exact law", gap, FAR, larger),
        ("largest-gap", f"the largest of its sizes at {len(PLACES)} places", largest_gap, NEAR, smaller),
    ):
        first, far = TERM.subs({x: WORST, d: size}), Allowance(0.005 * code(size), beyond)
        yield Computed(name, what, code, (size,), first, settings={"d_k": size}, allowance=far, off=off)
    yield Wrong("mesokurtic", derived, many, equals=3, tolerance=fixed, says="scores have a normal kurtosis")
    says, within = "a score of one dimension is normal", of_probability()
    yield Wrong("normal-at-once", DISTANCE, few, equals=0, tolerance=within, says=says)
    says = "the first-order term is exact already in one dimension"
    yield Wrong("first-order-is-exact", DISTANCE, few, equals=TERM, tolerance=wide, says=says)
    yield Wrong("root-rate", of="rate", equals=-S.Half, says="the distance shrinks like 1 over {root_d}")
    words, curves = "distance to the normal law, where its first order is largest", {"exact law": gap}
    bounds = {"first order": TERM.subs(x, WORST)}
    yield Plot("distance", "distance-d*", d, curves=curves, bounds=bounds, span=(1, 256), y=words)


CLAIM = Claim(
    statement="For independent standard normal components, {score} has the third moment {third:end} and the "
    "kurtosis {main:end}, where a normal number has 3. For positive {x}, the probability that it lies {x} "
    "standard deviations or more below 0 is that of a normal number less {distance:end}, to first order in "
    "the inverse of {d_k}; beyond {ROOT_3} deviations it is larger. The distance to the normal law shrinks "
    "like this inverse, not like the usual inverse of {root_d}.",
    meaning="At the usual 64 dimensions a scaled score is normal for most purposes: the probability of lying "
    "below any given value is off by about 0.002 at most. Formulas that take scores as normal are "
    "approximations of this quality, worse in few dimensions and in the far tails.",
)
