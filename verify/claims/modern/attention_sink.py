"""A sink takes weight from all keys in the same proportion."""

from collections.abc import Callable
from functools import partial

import numpy as np

from verify.spec import NORMAL_COMPONENTS, ROUNDING, Chain, Chains, Check, Claim, Computed, Derivation
from verify.spec import Derivative, E, Items, Named, Plot, Rational, Symbol, Within, Wrong, a, algebra, cite
from verify.spec import cited, d, earlier, exp, j, l, mean_beside_sink, n, over_keys, over_lengths, s, score
from verify.spec import sqrt, symbols
from verify.spec.arrays import Array, complex_step, entries, fixed_normals, largest_difference, softmax
from verify.spec.lemmas import t, transform

# Dimension of the scores; numbers of keys and scores of the sink.
D, ROWS = 16, ((4, 0), (4, 2), (64, 2), (64, 5))
b, (x, Z) = Symbol("b", real=True), symbols("x Z", positive=True)
TOTAL = over_keys(exp(score / sqrt(d)))
SHARE = Z / (Z + exp(b))  # the keys’ weight, Z being the sum of their exponentials; x is that of a single key


def derive() -> Chains:
    *parts, of_score = transform("exponential")
    there = earlier(of_score, at={t: 1 / sqrt(d)}, given=(d > 1,))
    total = Chain(E(TOTAL), name="total", title="The mean sum of exponentials", given=(d > 1,)).through(
        (over_keys(E(exp(score / sqrt(d)))), "a sum of means", algebra),
        (n * (1 - 1 / d) ** (-d / 2), "all are the same", there),
    )
    yield from (*parts, of_score, total)
    jensen, there = cited("jensen", laws=NORMAL_COMPONENTS), earlier(total, given=(d > 1,))
    yield Chain(E(SHARE.subs(Z, TOTAL)), title="The weight that is left to the keys", given=(d > 1,)).through(
        (SHARE.subs(Z, E(TOTAL)), "concave in the total: at most its value at the mean", jensen, "≤"),
        (1 / (1 + exp(b) * (1 - 1 / d) ** (d / 2) / n), "the mean total", there),
    )
    own, whole = Named(x, exp(s[a, l])), Named(Z, over_keys(exp(s[a, j])))
    slope = Chain(Derivative(share := SHARE.subs(Z, whole), s[a, l]), name="slope", title="Its gradient")
    yield slope.then(own / whole * share * (1 - share), "without a sink it is 0", algebra)


def beside_sink(scores: Array, sink: float) -> Array:
    """Return the weights of keys beside a sink: softmax with a further score, which has no value."""
    padded = np.concatenate([scores, np.full((*scores.shape[:-1], 1), sink, scores.dtype)], axis=-1)
    return softmax(padded)[..., :-1]


def experiment(derived: Derivation) -> Items:
    def weight(keys: int) -> Callable[[float], float]:
        return lambda sink: over_lengths(partial(mean_beside_sink, sink=float(sink)), keys, D, D**-0.5).value

    for keys, sink in ROWS:
        at, cell, near = {n: keys, d: D, b: sink}, f"n{keys}-b{sink}", Within(0.5, fixed=True)
        yield Check(f"kept-{cell}", derived, at, equals=weight(keys)(sink), control=(keys, sink) == ROWS[-1])
        less = 0.99 if (keys, sink) == (64, 2) else 0
        yield Check(f"bound-{cell}", derived, at, tolerance=near, sharper=less)
    what, settings = "largest distance of the derived gradient from the array code’s", {"keys": 8, "b": 1}
    scores = fixed_normals(8)
    stepped = complex_step(lambda at: beside_sink(at, 1.0).sum(axis=-1, keepdims=True), scores)[:, 0]
    gradients, higher = (
        (stepped, entries(derived["slope"].end, (a, l), {"s": scores[None]}, {b: sink})[0])
        for sink in (1.0, 1.01)
    )
    yield Computed("gradient", what, largest_difference, gradients, 0, settings=settings, allowance=ROUNDING)
    says = "the sink counts as one more key at any score"
    yield Wrong("one-more-key", of="kept-n4-b2", equals=Rational(4, 5), says=says)
    yield Wrong("larger-sink", of="gradient", arguments=higher, says="the gradient is that of a larger sink")
    checks = {f"$n = {keys}$": f"kept-n{keys}-b*" for keys in (4, 64)}
    curves = {f"integrated, $n = {keys}$": weight(keys) for keys in (4, 64)}
    bounds = {f"bound, $n = {keys}$": derived.end.subs({n: keys, d: D}) for keys in (4, 64)}
    plot = Plot.sharing(x="score {b} of the sink", y="mean weight of all keys together", linear="xy")
    yield plot("sink", checks, b, curves=curves, bounds=bounds, span=(-1, 8))


CLAIM = Claim(
    statement="A sink of score {b} adds {added} to the sum {Z} that softmax divides by, and multiplies every "
    "weight by {SHARE}. Over {n} keys with scaled scores of normal components the keys keep at most "
    "{main:end} of the weight on average: for large {d_k} half where {b} exceeds the logarithm of {n} by "
    "about one half. The keys' weight changes with a score at the rate {slope:end}, {x} being its "
    "exponential.",
    meaning="A head with a sink can attend to nothing in particular, which softmax alone cannot: its weights "
    "sum to one. Moving all scores alike now has an effect, so gradients reach the level of a row's scores "
    "too; they are largest where sink and keys have half each. To keep its share, a sink must be higher in a "
    "longer text, by the logarithm of the lengths’ ratio. Here its score is one number, as a model may learn "
    "it for each head; that of a token kept as a sink depends on the query.",
    symbols={"added": exp(b)},
    references=cite("openai2025", "xiao2024"),
)
