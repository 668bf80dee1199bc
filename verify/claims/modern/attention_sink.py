"""A sink of score b takes weight from all keys alike: half of it where b is about ln n + ½."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import Derivative, Rational, Symbol, diff, exp, expand, factor, integrate, log, oo, simplify, sqrt

from verify.spec import (
    E, INDEPENDENT, NORMAL, NORMAL_COMPONENTS, XIAO, Approximation, Array, Claim, Definition, Derivation,
    Experiment, Figure, Findings, Identity, Ordered, Quantity, Route, Simulated, Statistic, Step, biased, by,
    capped, cell_of, complex_step, component, d, figure, function, integrated, largest_difference, line,
    mean_beside_sink, measured, n, no_distance, over_lengths, prediction, score_law, sharper, softmax, stream,
    wrong,
)  # fmt: skip

D, ROWS = 16, ((4, 0), (4, 2), (64, 2), (64, 5))
"""Dimension of the scaled scores; numbers of keys and scores of the sink."""
LABEL = "mean weight of all keys together"
b = Ordered("b", "b", real=True)
Z, x, z = (Ordered(name, name, positive=True) for name in "Zxz")
s, rest = Symbol("s_j", real=True), Symbol("R", positive=True)
KEPT = Z / (Z + exp(b))
"""The keys’ weight, Z being the sum of their exponentials, and x that of one of them."""


@by("SymPy: the tangent at the mean less the function is a square over what is positive", "general")
def _below_its_tangent(before: Any, after: Any) -> bool:
    """A mean of a function below its tangent is at most the tangent’s mean, its value at the mean."""
    (inside,) = before.args
    at = inside.subs(Z, z)
    tangent = at + diff(at, z) * (Z - z)
    gap = factor(simplify(tangent - inside))
    positive = simplify(gap - exp(b) * (Z - z) ** 2 / ((Z + exp(b)) * (z + exp(b)) ** 2)) == 0
    return bool(positive and simplify(after.subs(E(Z), z) - at) == 0)


@by("SymPy: a completed square, and a gamma integral with symbolic d > 1", "general")
def _mean_of_total(before: Any, after: Any) -> bool:
    """Given the query a score is normal with variance v = w/d, and E exp(s) = exp(v/2); w is chi-square."""
    w, rate = score_law.w, Symbol("r", positive=True)
    square = expand(s - s**2 / (2 * x) - (x / 2 - (s - x) ** 2 / (2 * x)))
    power = w ** (d / 2 - 1) * exp(-rate * w)
    given = {rate: (1 - 1 / d) / 2}
    weight = simplify(score_law.CHI_SQUARE * exp(w / (2 * d)) / power.subs(given))
    mean = n * weight * integrate(power, (w, 0, oo)).subs(given)
    odds = simplify(before.subs(E(Z), z) / (1 - before.subs(E(Z), z))), simplify(1 / after - 1)
    return square == 0 and bool(simplify(odds[0].subs(z, mean) * odds[1]) == 1)


@by("SymPy differentiates, all other keys in one sum", "general")
def _one_key_in_the_total(before: Any, after: Any) -> bool:
    return bool(simplify(before.doit() - after.subs({x: exp(s), Z: exp(s) + rest})) == 0)


def derive() -> Derivation:
    """Derive the keys’ mean weight at most, what becomes of each weight, and of the gradient of their sum."""
    bound = Route.of(
        "The weight that is left to the keys", E(KEPT),
        Step(E(Z) / (E(Z) + exp(b)), "Concave in the total: below its tangent at the mean (Jensen)",
             _below_its_tangent, "≤"),
        Step(1 / (1 + exp(b) * (1 - 1 / d) ** (d / 2) / n), "The mean total of $n$ scaled scores, $d_k > 1$",
             _mean_of_total),
    )  # fmt: skip
    against = log(KEPT / (1 - KEPT))
    odds = Route.of("Keys against sink", against, Step(log(Z) - b, "One more score, $b$", Identity()))
    slope = Derivative(KEPT.subs(Z, exp(s) + rest), s)
    product = Step(x / Z * KEPT * (1 - KEPT), "Without a sink it is 0", _one_key_in_the_total)
    follows = Route.of("Gradient of the keys’ weight", slope, product)
    definitions = (Definition(against, "the log odds of the keys’ weight"),
                   Definition(slope, "how the keys’ weight follows a score"))  # fmt: skip
    return Derivation.of(bound, lemmas=(odds, follows), relation="≤", definitions=definitions)


@dataclass(frozen=True)
class BesideSink(Statistic):
    """The mean over rows of the weight of all keys beside a sink."""

    scale: float
    sink: float
    names = ("kept",)

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return it, shape (blocks, 1)."""
        weights = beside(self.scale * queries @ keys.swapaxes(1, 2), self.sink)
        kept: Array = weights.sum(axis=2).mean(axis=1, keepdims=True)
        return kept


def beside(scores: Array, sink: float) -> Array:
    """Return the weights of keys beside a sink: softmax with one score more, which has no value."""
    padded = np.concatenate([scores, np.full((*scores.shape[:-1], 1), sink, scores.dtype)], axis=-1)
    weights: Array = softmax(padded)[..., :-1]
    return weights


def distance_of_gradients(sink: float) -> float:
    """Return how far the derived gradient of the keys' weight is from the array code's, for fixed scores."""
    scores = NORMAL.draw(stream(0, "attention-sink", "row", 0), (8,))
    found = complex_step(lambda at: beside(at, 1.0).sum(axis=-1, keepdims=True), scores)[:, 0]
    kept = beside(scores, sink).sum()
    return largest_difference(found, softmax(scores) * kept * (1 - kept))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the keys' weight against the integral and the bound; compare gradients."""
    checks: dict[tuple[str, int, int], Quantity] = {}
    for keys, sink in ROWS:
        drawn = Simulated(NORMAL, NORMAL, 4, keys, D), BesideSink(D**-0.5, sink)
        cell = cell_of(f"n{keys}-b{sink}", *drawn, scale=1 / sqrt(d), n=keys, b=sink)
        kept, most = component("kept", positive=True), derivation.result.subs({n: keys, d: D, b: sink})
        value = integrated(_kept(keys, sink))
        checks |= {
            ("kept", keys, sink): Quantity(f"kept-{cell.id}", LABEL, cell, kept, value),
            ("bound", keys, sink): Quantity(f"bound-{cell.id}", LABEL, cell, kept, prediction(most),
                                            capped(0.5, tolerance), "≤"),
        }  # fmt: skip
    label = "largest distance of the derived gradient of the keys’ weight from that of the array code"
    slope = no_distance("gradient", label, (("keys", 8), ("b", 1)), distance_of_gradients(1.0),
                        distance_of_gradients)  # fmt: skip
    controls = (
        sharper(checks["bound", 64, 5], 0.97, _kept(64, 5)),
        wrong(checks["kept", 4, 2], "one-more-key", "the sink counts as one more key, whatever its score",
              Rational(4, 5)),
        wrong(checks["kept", 4, 2], "bound-as-value", "the bound is the value, for four keys too",
              checks["bound", 4, 2].prediction),
        wrong(slope, "larger-sink", "the gradient is that beside a sink whose score is higher by 0.01",
              computed=distance_of_gradients(1.01)),
        biased(checks["kept", 64, 5], tolerance, at="n"),
    )  # fmt: skip
    return Experiment((*checks.values(), slope), controls)


def _kept(keys: int, sink: float) -> float:
    def of_row(count: int, deviation: float) -> Approximation:
        return mean_beside_sink(count, deviation, sink)

    return over_lengths(of_row, keys, D, D**-0.5).value


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the bound over the sink's score for both numbers of keys, and what is measured below it."""
    layers, at = [], np.linspace(-1, 8, 10)
    for keys in (4, 64):
        bound = function((b,), derivation.result.subs({n: keys, d: D}))
        exact = [_kept(keys, float(sink)) for sink in at]
        layers += [line(f"$n = {keys}$", exact, at=at), line(f"bound, $n = {keys}$", bound, "other", at=at)]
        layers.append(measured(findings.matching(f"kept-n{keys}-b*"), "measured" if keys == 4 else "", "b"))
    return figure(
        "sink",
        "A sink takes half of the weight where its score is about the logarithm of the number of keys plus ½",
        "Weight of all keys over the score of the sink, for 4 and for 64 keys: falling curves of logistic "
        "shape, which pass one half at scores of about two and about five; measured points lie on them, "
        "and the bounds just above.",
        LABEL,
        *layers,
        x="score $b$ of the sink", x_scale="linear", y_scale="linear",
    )  # fmt: skip


CLAIM = Claim(
    title="A sink takes weight from all keys in the same proportion",
    statement="A sink of score $b$ adds $e^b$ to the sum $Z$ that softmax divides by, and multiplies "
    "every weight by $Z/(Z + e^b)$. Over $n$ keys with scaled scores of normal components the keys keep "
    r"at most $1/(1 + e^b(1 - 1/d_k)^{d_k/2}/n)$ of the weight on average: half where $b$ is about $\ln n + "
    r"\tfrac12$. The keys' weight $w$ follows a score at the slope $p_j w(1 - w)$, $p_j$ being its weight "
    "among the keys.",
    meaning="A head with a sink can attend to nothing in particular, which softmax alone cannot: its "
    "weights sum to 1. The order of the keys and the ratios of their weights stay. What is new is that "
    "moving all scores alike is no longer without effect, so gradients reach the level of a row's scores "
    "too; they are largest where sink and keys have half each. The longer the text, the higher the sink "
    "must be, by its logarithm.",
    assumptions=(INDEPENDENT, NORMAL_COMPONENTS),
    references=(XIAO,),
)
