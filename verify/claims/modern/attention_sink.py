"""A sink of score b takes weight from all keys alike: half of it where b is about ln n + ½."""

from functools import partial

import numpy as np
from sympy import Derivative, Rational, exp, sqrt

from verify.claims.modern.shared import BesideSink, beside_sink
from verify.former import (
    E, ROUNDING, Claim, Derivation, Experiment, Figure, Findings, Route, Step, beside, biased, capped,
    cells_of, cite, complex_step, component, computed, d, figure, function, in_turn, largest_difference, line,
    loops, mean_of_rows, n, normal, one_step, ordered, over_cells, row_integrals, score_law, sharper, wrong,
)  # fmt: skip
from verify.former.rules import Identity, Jensen, PutIn, Replaced, Unfolded

D, SCALE, ROWS = 16, 1 / sqrt(d), ((4, 0), (4, 2), (64, 2), (64, 5))
"""Dimension and scale of the scores; numbers of keys and scores of the sink."""
LABEL = "mean weight of all keys together"
(b, s), (x, R, Z) = ordered("b s_j", real=True), ordered("x R Z", positive=True)
_kept = partial(mean_of_rows, row_integrals.mean_beside_sink, dimension=D, scale=SCALE)
KEPT = Z / (Z + exp(b))
"""The keys’ weight, Z being the sum of their exponentials; x is that of one of them, R that of all others."""


def derive() -> Derivation:
    """Derive the keys’ mean weight at most, what becomes of each weight, and of the gradient of their sum."""
    total = score_law.mean_total().defining("the mean of the keys’ sum of exponentials")
    bound = Route.of(
        "The weight that is left to the keys", E(KEPT),
        Step(KEPT.subs(Z, E(Z)), "Concave in the total: at most its value at the mean", Jensen(Z)),
        Step(KEPT.subs(Z, E(score_law.TOTAL)), "The total of the keys’ exponentials",
             PutIn({Z: score_law.TOTAL})),
        Step(1 / (1 + exp(b) * (1 - 1 / d) ** (d / 2) / n), "The mean total", Replaced(total.proved())),
    )  # fmt: skip
    odds = one_step("Keys against sink", KEPT / (1 - KEPT), Z / exp(b),
                    "One more exponential beside those of the keys", Identity(),
                    defines="the odds of the keys’ weight")  # fmt: skip
    parts = {x: exp(s), Z: exp(s) + R}
    follows = one_step("Gradient of the keys’ weight", Derivative(KEPT.subs(parts), s),
                       x / Z * KEPT * (1 - KEPT), "Without a sink it is 0", Unfolded(parts),
                       defines="how the keys’ weight follows a score", name="slope")  # fmt: skip
    return Derivation.of(bound, lemmas=(total, odds, follows))


def distance_of_gradients(derivation: Derivation, sink: float) -> float:
    """Return how far the derived gradient of the keys' weight is from the array code's, for fixed scores."""
    scores, slope = loops.fixed_normals(8), function((x, Z, b), derivation.lemmas[-1].end, "numpy")
    found = complex_step(lambda at: beside_sink(at, 1.0).sum(axis=-1, keepdims=True), scores)[:, 0]
    return largest_difference(found, np.asarray(slope(np.exp(scores), np.exp(scores).sum(), sink)))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the keys' weight against the integral and the bound; compare gradients."""
    cells = cells_of("n{n}-b{b}", ROWS, lambda n, b: (normal(4, n, D), BesideSink(b)), scale=SCALE)
    weight, near = component("kept", positive=True), capped(0.5, tolerance)
    kept = over_cells("kept-{cell}", LABEL, cells, weight, _kept)
    bounds = over_cells("bound-{cell}", LABEL, cells, weight, derivation.result, near, "≤")
    label = "largest distance of the derived gradient of the keys’ weight from that of the array code"
    slope = computed("gradient", label, {"keys": 8, "b": 1}, 0, distance_of_gradients, derivation, 1.0,
                     allowance=ROUNDING)  # fmt: skip
    return Experiment((*in_turn(kept, bounds), slope), (
        sharper(bounds[64, 2], 0.99, _kept(64, 2)),
        wrong(kept[4, 2], "one-more-key", "the sink counts as one more key at any score", Rational(4, 5)),
        wrong(kept[4, 2], "bound-as-value", "the bound is the value, for four keys too", bounds[4, 2]),
        wrong(slope, "larger-sink", "the gradient is that beside a sink whose score is higher by a hundredth",
              computed=distance_of_gradients(derivation, 1.01)),
        biased(kept[64, 5], tolerance, at="n"),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the bound over the sink's score for both numbers of keys, and what is measured below it."""
    layers = []
    for keys in (4, 64):
        found, bound = findings.matching(f"kept-n{keys}-b*"), derivation.result.subs({n: keys, d: D})
        label = f"{{kept-n{keys}-b2:n=}}"
        layers += [*beside(found, label, partial(_kept, keys), "b", over=(-1, 8), points=10),
                   line(f"bound, {label}", bound, "other", over=(-1, 8))]  # fmt: skip
    return figure(
        "sink",
        "A sink takes half of the weight at a score of about the logarithm of the number of keys plus a half",
        "Weight of all keys over the sink’s score, for four and for many keys: falling curves, one half at "
        "about two and about five; measured points lie on them, and the bounds just above.",
        LABEL, *layers, x="score {b} of the sink", x_scale="linear", y_scale="linear",
    )  # fmt: skip


CLAIM = Claim(
    title="A sink takes weight from all keys in the same proportion",
    statement="A sink of score {b} adds {added} to the sum {Z} that softmax divides by, and multiplies every "
    "weight by {kept}. Over {n} keys with scaled scores of normal components the keys keep at most "
    "{theorem:result} of the weight on average: for large {d_k} half where {b} exceeds the logarithm of {n} "
    "by about one half. The keys' weight changes with a score at the rate {slope:result}, {x} being its "
    "exponential.",
    meaning="A head with a sink can attend to nothing in particular, which softmax alone cannot: its weights "
    "sum to one. The order of the keys and the ratios of their weights stay. What is new is that moving all "
    "scores alike now has an effect, so gradients reach the level of a row's scores too; they are "
    "largest where sink and keys have half each. To keep its share, a sink must be higher in a longer text, "
    "by the logarithm of the lengths’ ratio. Here its score is one number, as a model may learn it for each "
    "head; that of a token kept as a sink depends on the query.",
    symbols={"b": b, "n": n, "x": x, "Z": Z, "added": exp(b), "kept": KEPT},
    references=(
        *cite(
            "openai2025",
            "OpenAI, gpt-oss-120b & gpt-oss-20b Model Card, 2025: a learnt score beside the keys for each "
            "head.",
            "https://arxiv.org/abs/2508.10925",
        ),
        *cite(
            "xiao2024",
            "G. Xiao et al., Efficient Streaming Language Models with Attention Sinks, ICLR 2024.",
            "https://arxiv.org/abs/2309.17453",
        ),
    ),
)
