"""Improbable keys receive little gradient through the scores, but not zero."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from verify.spec import RADEMACHER, ROUNDING, Abs, Chain, Chains, Check, Claim, Computed, Derivation, E, Expr
from verify.spec import Family, Float, Index, Indicator, Items, KroneckerDelta, Law, Le, Rational, S, Softmax
from verify.spec import Symbol, Within, Wrong, a, algebra, assume, at_most, d, j, l, lambdify, moments, n
from verify.spec import over_keys, s, score, score_of, sqrt, symbols
from verify.spec.arrays import Array, attention_in_loops, gradients, in_single_precision, probabilities

EDGES = {"unscaled": ("0.0001", "0.001", "0.01", "0.1", "0.5"), "scaled": ("0.001", "0.01", "0.1", "0.5")}
SCALES = {"unscaled": S.One, "scaled": S.One / 4}  # classes of weights, and scales in 16 dimensions
x, r, h = Family("x", n), Family("r", n), Index("h")
SIGNS = {r: Law("random signs", (S.One, S.Zero, S.One, S.Zero, S.One))}
c, M, size, low, high = symbols("c M |q| p_min p_max", positive=True)
p, p_l = Softmax(s[a, j], j), Softmax(s[a, l], l)
UNIT, FACTOR = c * size * M, (c * size * p) ** 2
BOUND = (2 * UNIT * p * (1 - p)) ** 2


def derive() -> Chains:
    # Deltas leave the key itself out of sums over pairs of the other keys.
    others, p_h = (1 - KroneckerDelta(l, j)) * (1 - KroneckerDelta(h, j)), p_l.xreplace({l: h})
    room = (1 - KroneckerDelta(l, j)) ** 2 * p_l * (2 * M - x[j] + x[l]) * (2 * M + x[j] - x[l])
    cauchy = "Cauchy and Schwarz over the other keys, whose weights sum to $1-p_j$"
    by_cauchy = at_most(FACTOR * over_keys(over_keys(p_l * p_h * (others * (x[l] - x[h])) ** 2, l), h) / 2)
    wide = at_most(FACTOR * (1 - p) * over_keys(room, l), given=(Le(Abs(x[j]), M),))
    yield Chain(FACTOR * (x[j] - over_keys(p_l * x[l], l)) ** 2, title="The key's row of J").through(
        (FACTOR * over_keys(p_l * (x[j] - x[l]), l) ** 2, "weights sum to 1", algebra),
        (FACTOR * (1 - p) * over_keys(p_l * (x[j] - x[l]) ** 2, l), cauchy, by_cauchy, "≤"),
        (BOUND, "no two of the $x_l$ are further apart than 2M", wide, "≤"),
    )
    alone = FACTOR * (M - over_keys(p_l * M * (2 * KroneckerDelta(l, j) - 1), l)) ** 2
    title = "No smaller bound holds: $x_j = M$, and $-M$ for all others"
    yield Chain(alone, name="attained", title=title).then(BOUND, "both inequalities are equations", algebra)
    weight, of_other = Softmax(c * score, j), Softmax(c * score_of(a, l), l)
    within = Indicator((weight - low) * (high - weight)) * weight
    gap, most = r[j] - over_keys(of_other * r[l], l), E(within * (1 - weight))
    along = "the gradient in the direction of $x_j$, which is its size:"
    defines = f"{along} every other key that differs from key j differs from it by 2 in that direction"
    title = r"On average over random signs $x_j = M r_j$, in units of $cM|q|$: half of the bound"
    average = Chain(E(within * r[j] * gap) / most, name="average", title=title, defines=defines)
    yield average.then(1, "another key differs with chance one half, whatever the weights", moments(SIGNS))


def largest_share(code: Callable[..., Array], keys: int, bound: Expr) -> float:
    """Return the largest gradient of a key over its bound in array code, with a value unlike all others."""
    rng = np.random.default_rng(keys)
    query, others = rng.normal(size=(1, 6)), rng.normal(size=(keys, 6))
    values = np.where(np.arange(keys) == 0, 1.0, -1.0)[:, None]
    sent = gradients(query, others, values, code(query, others, 0.5), np.ones((1, 1)), 0.5)
    weights = attention_in_loops(query, others, np.eye(keys), 0.5)[0]
    weight, length = Symbol("weight"), Float(np.linalg.norm(query), 17)
    of_weight = lambdify(weight, bound.xreplace({c: S.Half, M: S.One, size: length, p: weight}))
    return float(np.max(np.linalg.norm(sent.keys, axis=1) / np.sqrt(of_weight(weights))))


def experiment(derived: Derivation) -> Items:
    mean, laws = derived["average"], {r: RADEMACHER}
    for name, edges in EDGES.items():
        for least, most in pairwise(edges):
            at = {d: 16, n: 16, c: SCALES[name], low: Rational(least), high: Rational(most)}
            yield Check(f"{name}-below-{most.replace('.', '')}", mean.start, at, equals=mean.end, laws=laws)
    what = r"largest $\|dk_j\|$ of the array code over its bound, where $dP_1 = 1$ and all other $dP_i = -1$"
    for keys in (2, 5, 64):
        given, at_keys, name = (probabilities, keys, derived.end), {"keys": keys}, f"attained-n{keys}"
        yield Computed(name, what, largest_share, given, equals=1, settings=at_keys, allowance=ROUNDING)
    wide, at = Within(1.0, 1.0, "the value predicted"), {**at, c: S.One}
    at |= {low: Rational(1, 1000), high: Rational(1, 100)}
    says = "keys of a weight below a hundredth get no update at all"
    yield Wrong("no-update-at-all", mean.start, at, equals=0, laws=laws, tolerance=wide, says=says)
    says, bound = "the bound is what a key gets on average", sqrt(BOUND / (UNIT * p * (1 - p)) ** 2)
    yield Wrong("bound-on-average", of="unscaled-below-001", equals=bound, says=says)
    says, less = "the bound holds with two per cent less room", derived.end * Rational(98, 100) ** 2
    room = (probabilities, 5, less)
    yield Wrong("two-per-cent-less", of="attained-n5", arguments=room, at_most=1, says=says)
    single, says = (in_single_precision(probabilities), 5, derived.end), "single precision is exact"
    yield Wrong("in-single-precision", of="attained-n5", arguments=single, says=says)


CLAIM = Claim(
    statement="Let one query give a key the weight {p}, and let every gradient {x_l} at a weight be at most "
    "{M} in size. The gradient that reaches that key is {factor} times that of its score, and satisfies "
    "{main}; for all weights there are gradients that attain it, and averaged over values of random sign a "
    "key gets half of what the bound allows, a length of {half}, whatever the weights.",
    meaning="A key that receives little attention also trains slowly: one with a weight of a thousandth "
    "receives at most about a five-hundredth of the available gradient. But the update is small, not zero, "
    "unless floating-point arithmetic rounds the weight to zero. And it is the gradient of one key from one "
    "query: the weights that make all keys also learn from the other keys and queries.",
    assumptions=assume(
        through_scores="Only the way through the scores counts; a token's value gets a gradient of its own.",
        drawn_normal="For what is measured: values are random signs, all else is standard normal.",
    ),
    symbols={"x_l": x[l], "factor": c * size, "half": UNIT * p * (1 - p)},
)
