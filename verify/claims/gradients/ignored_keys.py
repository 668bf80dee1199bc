"""What reaches a key through the scores is at most of the order of its probability."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from sympy import Abs, Expr, Idx, KroneckerDelta, Rational, S, Sum, sqrt

from verify.claims.gradients.shared import Relation, SingleQueries, gradients, jacobian, output_name
from verify.former import (
    E, RADEMACHER, ROUNDING, Array, Claim, Control, Derivation, Exact, Experiment, Figure, Findings, Ordered,
    Prediction, Quantity, Route, Step, Tolerance, assume, cell_of, computed, estimates, figure, function, i,
    in_single_precision, j, line, loops, matrices, n, one_step, p, prediction, probabilities, ratio, wrong,
)  # fmt: skip
from verify.former.rules import Families, FamilyPutIn, OfSigns, SumIdentity, Surplus, with_entries

k, x, M = Idx("k"), jacobian.x, jacobian.M
q = Ordered("|q|", "b", positive=True)
"""The length of the query."""

FACTOR = (matrices.c * q * p[j]) ** 2
OF_KEY = FACTOR * (x[j] - Sum(p[i] * x[i], (i, 1, n))) ** 2
"""The squared gradient of key j from one query, where x is the gradient at the probabilities."""

UNIT = matrices.c * q * M
"""What the length of a key's gradient is in proportion to, besides its probability."""

DIMENSION, KEYS, ROWS = 16, 16, 8
EDGES = {"unscaled": (1e-4, 1e-3, 1e-2, 0.1, 0.5), "scaled": (1e-3, 1e-2, 0.1, 0.5)}
SCALES = {"unscaled": S.One, "scaled": 1 / sqrt(S(DIMENSION))}


def derive() -> Derivation:
    """Bound the squared gradient of one key, for any gradient at the probabilities within ±M."""
    not_i, not_k = (1 - KroneckerDelta(one, j) for one in (i, k))
    differences, spread = (Sum(p[i] * (x[j] - x[i]) ** power, (i, 1, n)) for power in (1, 2))
    pairs = Sum(not_i * not_k * p[i] * p[k] * (x[i] - x[k]) ** 2, (i, 1, n), (k, 1, n)) / 2
    room = Sum(not_i * p[i] * (2 * M - x[j] + x[i]) * (2 * M + x[j] - x[i]), (i, 1, n))
    bound = 2 * UNIT * p[j] * (1 - p[j])
    route = Route.of(
        "The key's row of the Jacobian",
        OF_KEY,
        Step(FACTOR * differences**2, "Probabilities sum to 1", SumIdentity()),
        Step(FACTOR * (1 - p[j]) * spread,
             "Cauchy and Schwarz over the other keys, whose probabilities sum to $1-p_j$",
             Surplus(FACTOR * pairs)),
        Step(bound**2, "No two of the $x_i$ are further apart than 2M",
             Surplus(FACTOR * (1 - p[j]) * room, bounded=True)),
    )  # fmt: skip
    extreme = {x: ((i,), M * (2 * KroneckerDelta(i, j) - 1))}
    attained = Route.of(
        "No smaller bound holds", OF_KEY,
        Step(with_entries(OF_KEY, extreme), "$x_j = M$ and $-M$ for all others", FamilyPutIn(extreme)),
        Step(bound**2, "Both inequalities are then equations", SumIdentity()),
    )  # fmt: skip
    toward = Sum(p[i] * (M**2 - x[i] * x[j]), (i, 1, n)) / M
    terms = "No product of two entries is more than $M^2$"
    apart = one_step("What keys differ by", S.Zero, toward, terms, Surplus(toward, bounded=True))
    length = matrices.c * q * p[j] * Abs(x[j] - Sum(p[i] * x[i], (i, 1, n)))
    on_average = Route.of(
        r"On average over random signs $x_i=\pm M$: half of it", E(length),
        Step(E(length.xreplace({length.atoms(Abs).pop(): toward})),
             "Key j and every other one that differs, differ in the direction of $x_j$",
             OfSigns(x, M, apart.proved())),
        Step(bound / 2, "Every other key differs from key j, by 2M, with chance one half",
             SumIdentity(Families(variances={x: M**2}))),
        defines="the mean length of the gradient of one key", name="average",
    )  # fmt: skip
    return Derivation.of(route, lemmas=(attained, on_average))


def experiment(derivation: Derivation) -> Experiment:
    """Measure what reaches keys of each order of probability, scaled and unscaled, and the worst case."""
    mean = prediction(derivation.lemmas[1].end / (UNIT * p[j] * (1 - p[j])))
    classes = [_of_class(name, *ends, mean) for name, edges in EDGES.items() for ends in pairwise(edges)]
    worst = (_worst(f"attained-n{keys}", keys, derivation.result) for keys in (2, 5, 64))
    return Experiment((*classes, *worst), _controls(derivation, classes))


def _of_class(name: str, low: float, high: float, expected: Prediction) -> Quantity:
    """Return the comparison of the mean gradient of keys with probabilities from ``low`` to ``high``."""
    sampler = SingleQueries(DIMENSION, KEYS, 1, ROWS, float(SCALES[name]), EDGES[name], RADEMACHER)
    cell = cell_of(name, sampler, scale=SCALES[name])
    label = rf"mean of $\|dk_j\|$ over that of $c|q|\,p_j(1-p_j)\max|dP|$, $p_j$ from {low:g} to {high:g}"
    estimand = ratio(output_name("length", low, high), output_name("spread", low, high))
    return Quantity(f"{name}-{_slug(high)}", label, cell, estimand, expected)


def _slug(edge: float) -> str:
    return f"below-{edge:g}".replace(".", "").replace("e-0", "e")


def _largest_share(code: Callable[..., Array], keys: int, bound: Expr) -> float:
    """Return the largest ‖dk_j‖ over its bound of the array code's keys, the first value unlike all others.

    ``code`` gives the weights of queries, keys and scale.
    """
    rng = np.random.default_rng(keys)
    query, others = rng.normal(size=(1, 6)), rng.normal(size=(keys, 6))
    values = np.where(np.arange(keys) == 0, 1.0, -1.0)[:, None]
    found = gradients(query, others, values, code(query, others, 0.5), np.ones((1, 1)), 0.5)
    weights = loops.attention_in_loops(query, others, np.eye(keys), 0.5)[0]
    squared = bound.subs({matrices.c: 0.5, q: float(np.linalg.norm(query)), jacobian.M: 1})
    at_most = np.sqrt(function((p[j],), squared, "numpy")(weights))
    return float(np.max(np.linalg.norm(found.keys, axis=1) / at_most))


def _worst(
    name: str, keys: int, bound: Expr, code: Callable[..., Array] = probabilities, relation: Relation = "="
) -> Exact:
    label = r"largest $\|dk_j\|$ of the array code over its bound, where $dP_1 = 1$ and all other $dP_i = -1$"
    found, allowance = (_largest_share, code, keys, bound), ROUNDING
    return computed(name, label, {"keys": keys}, S.One, *found, allowance=allowance, relation=relation)


def _controls(derivation: Derivation, classes: list[Quantity]) -> tuple[Control, ...]:
    rare = next(one for one in classes if one.id == f"unscaled-{_slug(1e-2)}")
    bound = sqrt(derivation.result / (UNIT * p[j] * (1 - p[j])) ** 2)
    single = in_single_precision(probabilities)

    def of_five(name: str, times: Expr) -> Exact:
        return _worst(name, 5, derivation.result * times**2, relation="≤")

    return (
        wrong(rare, "no-update-at-all", "keys of a probability below a hundredth get no update at all",
              S.Zero, truth=None, tolerance=Tolerance(1.0, 1.0, "the value predicted")),
        wrong(rare, "bound-on-average", "the bound is what a key gets on average", bound, truth=None),
        Control("half of the bound suffices", of_five("without-the-two", S.Half)),
        Control("the bound holds with two per cent less room",
                of_five("two-per-cent-less", Rational(98, 100))),
        Control("single precision is exact", _worst("in-single-precision", 5, derivation.result, single)),
    )  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw what reaches keys on average, and the bound, against their probability."""
    probability = Ordered("p_j", "p", positive=True)
    span = (EDGES["unscaled"][0], EDGES["unscaled"][-1])

    def root(square: Expr) -> Callable[[float], float]:
        return function((probability,), sqrt(square / UNIT**2).subs(p[j], probability))

    layers = [
        line("bound", root(derivation.result), over=span),
        line("mean, derived: half of it", root(derivation.lemmas[1].end ** 2), over=span),
    ]
    for name, edges in EDGES.items():
        checks = [findings.checks[f"{name}-{_slug(high)}"] for high in edges[1:]]
        found = ((one.estimate, one.interval) for one in checks)
        middles = [math.sqrt(low * high) for low, high in pairwise(edges)]
        layers.append(estimates(name, middles, found, as_drawn=lambda p_j, value: value * (p_j * (1 - p_j))))
    return figure(
        "by-probability",
        "What reaches a key through the scores is in proportion to its probability",
        "Mean gradient of a key against its probability, both on log axes, with scaling and without, at "
        "{unscaled-below-01:d_k} dimensions and random signs as values: on the derived line, half of the "
        "bound, from one in ten thousand up to one half, and nowhere zero.",
        "length of the key’s gradient, in units of {unit}",
        *layers,
        x="probability {p_j} (classes, drawn at their middle)",
    )


CLAIM = Claim(
    title="Improbable keys receive little gradient through the scores, but not zero",
    statement="Let one query give a key the probability {p_j}, and let every gradient {x_i} at a probability "
    "be at most {M} in size. The gradient that reaches that key is {factor} times that of its score, and "
    "satisfies {theorem}; for every {p} there are gradients that attain it, and averaged over values of "
    "random sign a key gets half of what the bound allows, a length of {average:result}.",
    meaning="A key that receives little attention also trains slowly: one with a probability of a "
    "thousandth receives at most about a five-hundredth of the available gradient. But the update is small, "
    "not zero, unless floating-point arithmetic rounds the probability to zero. And it is the gradient of "
    "one key from one query: the weights that make all keys also learn from the other keys and queries.",
    assumptions=assume(
        through_scores="Only the way through the scores counts; a token's value gets a gradient of its own.",
        drawn_normal="For what is measured: values are random signs, all else is standard normal.",
    ),
    symbols={"p_j": p[j], "x_i": x[i], "M": M, "p": p, "factor": matrices.c * q, "unit": UNIT},
)
