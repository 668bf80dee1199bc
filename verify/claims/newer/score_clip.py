"""Clipping queries and keys acts as a temperature, and bounds scores on one side only."""

import numpy as np

from verify.spec import NORMAL_COMPONENTS, ROUNDING, Chain, Chains, Check, Claim, Computed, Derivation, E
from verify.spec import Indicator, Items, Largest, Max, Rational, S, Softmax, Wrong, a, algebra, cite, cited
from verify.spec import d, exp, i, j, k, l, m, n, of_probability, over_components, q, s, score, sqrt
from verify.spec import substitute, symbols
from verify.spec.arrays import Array, fixed_normals, largest_difference, softmax

gamma, tau, top = symbols(r"gamma tau S_{\max}", positive=True)
# The level that scores of fixed inputs are clipped to, and that of random inputs.
LEVEL, LOW = 4.0, Rational(1, 2)
LARGEST, LEAST = Largest(Largest(score, j), a), -Largest(Largest(-score, j), a)
# The share of inputs with a score below -τ once the largest is clipped to τ.
BELOW = E(Indicator(-LEAST * tau / Max(LARGEST, tau) - tau))
# Queries and keys with scores beyond the level.
FIXED = fixed_normals(32, 16), fixed_normals(32, 16)[::-1] + 0.5


def derive() -> Chains:
    clipped_score = over_components(sqrt(gamma) * q[a, i] * sqrt(gamma) * k[j, i])
    chain = Chain(clipped_score, title="A score, queries and keys times the root of the factor")
    yield chain.then(gamma * score, "the factor stands before the sum", algebra)
    chain = Chain(gamma * top, name="largest", title="The largest score, times the factor")
    yield chain.then(tau, "with the factor that is chosen", substitute({gamma: tau / top}))
    weights = Softmax(gamma * s[a, j], j) / Softmax(gamma * s[a, l], l)
    chain = Chain(weights, name="ratio", title="The ratio of two weights")
    yield chain.then(exp(gamma * (s[a, j] - s[a, l])), "the sum cancels", algebra)
    turned, lead = cited("rotation", laws=NORMAL_COMPONENTS), -LEAST - LARGEST
    lowest, largest = Indicator(lead) * Indicator(-LEAST - tau), Indicator(-lead) * Indicator(LARGEST - tau)
    title = r"How often the lowest score is the furthest from 0, of inputs with one beyond $\pm\tau$"
    chain = Chain(E(lowest) / (E(lowest) + E(largest)), name="half", title=title)
    yield chain.then(S.Half, "with $-q$ for $q$ every score turns its sign, and ends change places", turned)


def clipped(queries: Array, keys: Array, level: float) -> Array:
    """Return the scores after queries and keys are multiplied by the root of the factor."""
    root = np.sqrt(level / max((queries @ keys.T).max(), level))
    return (root * queries) @ (root * keys).T


def experiment(derived: Derivation) -> Items:
    check = Check.sharing(shape={m: 4, n: 4})
    # So low a level is passed in size by all but a few inputs, and by either end as often.
    yield check("below-d16", BELOW, {d: 16, tau: LOW}, equals=S.Half, control=True)
    for level, false in ((4, 0.9), (8, 0.4), (12, 0.05)):
        yield check(f"below-t{level}", BELOW, {d: 16, tau: level}, at_most=S.Half, sharper=false)
    for level in (4, 8):
        yield check(f"half-t{level}", derived["half"], {d: 16, tau: level})
    of_fixed = Computed.sharing(settings={"tau": LEVEL}, allowance=ROUNDING)
    lowered, off = clipped(*FIXED, LEVEL), {"higher-level": 1.01}
    yield of_fixed("largest", derived["largest"].start, np.max, (lowered,), equals=LEVEL, off=off)
    what, scores = "largest distance of weights from those at a temperature", FIXED[0] @ FIXED[1].T
    cooled, less = ((softmax(lowered), softmax((LEVEL / scores.max()) ** by * scores)) for by in (1, 0.5))
    yield of_fixed("temperature", what, largest_difference, cooled, equals=0)
    says = "after clipping no score exceeds the level in absolute value"
    no_score = Wrong.sharing(shape={m: 4, n: 4}, tolerance=of_probability(), says=says)
    yield no_score("absolute", BELOW, {d: 16, tau: LOW}, equals=S.Zero)
    says = "a score below minus the level remains in only nine of twenty draws"
    yield Wrong("seldom", of="below-d16", at_most=Rational(9, 20), says=says)
    yield Wrong("root-alone", of="temperature", arguments=less, says="scores get the root of the factor")


CLAIM = Claim(
    statement="Multiplying both queries and keys by the square root of {gamma} turns every score into "
    "{main:end}. If {top}, the largest score of some inputs, exceeds the level {tau}, and {gamma} is {tau} "
    "over {top}, their largest score becomes {largest:end}. The ratio of two weights becomes {ratio:end}: "
    "{gamma} is an inverse temperature.",
    meaning="After a training step in which scores grew too large, the projections of queries and keys are "
    "scaled down so that the same inputs would stay at the level. Only the largest score counts, not the "
    "largest absolute value: scores far below zero remain below minus the level. For symmetrically "
    "distributed inputs that is so in half of the draws in which any score is beyond the level in size, "
    "above or below: with 4 queries and 4 keys in {below-t8:d_k} dimensions, in {below-t4:estimate.2%} of "
    "all draws at a level of {below-t4:tau}, in {below-t8:estimate.2%} at {below-t8:tau} and in "
    "{below-t12:estimate.2%} at {below-t12:tau}.",
    references=cite("kimi2025"),
)
