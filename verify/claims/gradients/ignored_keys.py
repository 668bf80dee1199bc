"""What reaches a key through the scores is at most of the order of its probability."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from sympy import Idx, KroneckerDelta, Rational, S, Sum, sqrt

from verify.claim import Claim, Findings
from verify.designs import prediction
from verify.evidence import Assumption, Axis, Figure, Layer
from verify.montecarlo.attention import gradients, probabilities
from verify.montecarlo.blocks import Cell
from verify.montecarlo.estimands import ratio
from verify.montecarlo.experiment import Allowance, Control, Exact, Experiment, Quantity, Tolerance
from verify.montecarlo.single_queries import SingleQueries
from verify.pictures import curve
from verify.symbolic.attention import c
from verify.symbolic.derivation import By, Derivation, Route, Step
from verify.symbolic.jacobian import M, Surplus, is_rational_zero, weighted_out, x
from verify.symbolic.predict import function
from verify.symbolic.printing import Ordered
from verify.symbolic.softmax import i, j, n, p

k = Idx("k")
q = Ordered("|q|", "b", positive=True)
"""The length of the query."""

FACTOR = (c * q * p[j]) ** 2
OF_KEY = FACTOR * (x[j] - Sum(p[i] * x[i], (i, 1, n))) ** 2
"""The squared gradient of key j from one query, where x is the gradient at the probabilities."""

DIMENSION, KEYS, VALUE_D, ROWS = 16, 16, 4, 32
EDGES = {"unscaled": (1e-4, 1e-3, 1e-2, 0.1, 0.5), "scaled": (1e-3, 1e-2, 0.1, 0.5)}
SCALES = {"unscaled": 1.0, "scaled": DIMENSION**-0.5}


def derive() -> Derivation:
    """Bound the squared gradient of one key, for any gradient at the probabilities within ±M."""
    at = ((j, 1),)
    differences = Sum(p[i] * (x[j] - x[i]), (i, 1, n))
    spread = Sum(p[i] * (x[j] - x[i]) ** 2, (i, 1, n))
    others = (1 - KroneckerDelta(i, j)) * (1 - KroneckerDelta(k, j))
    pairs = Sum(others * p[i] * p[k] * (x[i] - x[k]) ** 2, (i, 1, n), (k, 1, n)) / 2
    room = Sum((1 - KroneckerDelta(i, j)) * p[i] * (2 * M - x[j] + x[i]) * (2 * M + x[j] - x[i]), (i, 1, n))
    result = (2 * c * q * M * p[j] * (1 - p[j])) ** 2
    route = Route(
        "The key's row of the Jacobian",
        OF_KEY,
        (
            Step(FACTOR * differences**2, "Probabilities sum to 1", Surplus(relation="=", at=at)),
            Step(
                FACTOR * (1 - p[j]) * spread,
                "Cauchy and Schwarz over the other keys, whose probabilities sum to $1-p_j$",
                Surplus(FACTOR * pairs, at=at),
                "≤",
            ),
            Step(
                result,
                "No two of the $x_i$ are further apart than 2M",
                Surplus(FACTOR * (1 - p[j]) * room, at=at, bounded=True),
                "≤",
            ),
        ),
    )
    return Derivation(OF_KEY, result, (route,), (_attained(result),), "≤")


def _attained(result: Any) -> Route:
    return Route(
        "No smaller bound holds: $x_j = M$ and $-M$ for all others",
        OF_KEY,
        (
            Step(
                result,
                "Both inequalities are then equations",
                By("SymPy, put in for n = 2…5 keys", _is_attained, "examples"),
                "⇒",
            ),
        ),
    )


def _is_attained(before: Any, after: Any) -> bool:
    for keys in (2, 3, 4, 5):
        one, other = (weighted_out(side.subs(j, 1), keys) for side in (before, after))
        chosen = {weighted_out(x[key], keys): M if key == 1 else -M for key in range(1, keys + 1)}
        if not is_rational_zero(one.xreplace(chosen) - other):
            return False
    return True


def _per_probability(derivation: Derivation, probability: Any) -> Any:
    """Return the bound of the gradient's length at a probability, in units of c|q|M times that."""
    return sqrt(derivation.result / (c * q * M) ** 2).subs(p[j], probability) / probability


def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # noqa: ARG001  # one for all
    """Measure what reaches keys of each order of probability, scaled and unscaled, and the worst case."""
    bounds = []
    for name, edges in EDGES.items():
        cell = _cell(name)
        for place, (low, high) in enumerate(pairwise(edges)):
            bounds.append(
                Quantity(
                    f"{name}-{_slug(high)}",
                    _label(low, high),
                    cell,
                    ratio(3 + 2 * place, 2 + 2 * place),
                    prediction(_per_probability(derivation, Rational(str(low)))),
                    relation="≤",
                )
            )
    worst = tuple(_worst(f"attained-n{keys}", keys, derivation.result) for keys in (2, 5, 64))
    return Experiment((*bounds, *worst), _controls(derivation, bounds))


def _cell(name: str) -> Cell:
    settings = (
        ("d_k", DIMENSION),
        ("d_v", VALUE_D),
        ("keys", KEYS),
        ("queries", ROWS),
        ("scale", "1" if name == "unscaled" else r"$1/\sqrt{d_k}$"),
        ("components", "normal"),
    )
    return Cell(name, settings, SingleQueries(DIMENSION, KEYS, VALUE_D, ROWS, SCALES[name], EDGES[name]))


def _slug(edge: float) -> str:
    return f"below-{edge:g}".replace(".", "").replace("e-0", "e")


def _label(low: float, high: float) -> str:
    return rf"mean of $\|dk_j\|/(c|q|\,p_j\max|dP|)$ over keys with $p_j$ from {low:g} to {high:g}"


def _worst(name: str, keys: int, bound: Any, **more: Any) -> Exact:
    """Return the array code's gradient of a key whose value differs from all others, against ``bound``."""
    rng = np.random.default_rng(keys)
    query, others = rng.normal(size=(1, 6)), rng.normal(size=(keys, 6))
    values = np.where(np.arange(keys) == 0, 1.0, -1.0)[:, None]
    weights = probabilities(query, others, 0.5)
    found = gradients(query, others, values, weights, np.ones((1, 1)), 0.5)
    numbers = {c: 0.5, q: float(np.linalg.norm(query)), M: 1, p[j]: float(weights[0, 0])}
    return Exact(
        name,
        r"$\|dk_1\|$ of the array code where $dP_1 = 1$ and all other $dP_i = -1$",
        (("keys", keys), ("p_1", round(float(weights[0, 0]), 4))),
        prediction(sqrt(bound).subs(numbers).evalf()),
        float(np.linalg.norm(found.keys[0])),
        Allowance(1e-12),
        **more,
    )


def _controls(derivation: Derivation, bounds: list[Quantity]) -> tuple[Control, ...]:
    rare = next(one for one in bounds if one.id == f"unscaled-{_slug(1e-2)}")
    scale = Tolerance(1.0, rare.prediction.value, "the bound")
    return (
        Control(
            "keys of low probability, here 0.001 to 0.01, get no update at all",
            Quantity("no-update-at-all", rare.label, rare.cell, rare.estimand, prediction(S.Zero), scale),
        ),
        Control(
            r"$c|q|p_j(1-p_j)\max|dP|$ suffices, without the 2",
            _worst("without-the-two", 5, derivation.result / 4, relation="≤"),
        ),
    )


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw what reaches keys per unit of their probability, below the bound."""
    edges = EDGES["unscaled"]
    probability = Ordered("p_j", "p", positive=True)
    bound = function((probability,), _per_probability(derivation, probability))
    layers = [curve("bound: $2(1-p_j)$", "truth", bound, (edges[0], edges[-1]))]
    for name, words in (("unscaled", "unscaled"), ("scaled", "scaled")):
        pairs = list(pairwise(EDGES[name]))
        found = [findings.checks[f"{name}-{_slug(high)}"] for _, high in pairs]
        layers.append(
            Layer(
                kind="points",
                role="measured",
                label=words,
                x=tuple(float(np.sqrt(low * high)) for low, high in pairs),
                y=tuple(check.estimate for check in found),
                lo=tuple(check.interval[0] for check in found),
                hi=tuple(check.interval[1] for check in found),
            )
        )
    return (
        Figure(
            id="by-probability",
            title="What reaches a key through the scores is in proportion to its probability",
            alt="Mean gradient of a key divided by its probability, against that probability on a log axis, "
            "with scaling and without, at 16 dimensions: about level from one in ten thousand up to one "
            "half, always below the derived bound of two, and nowhere zero.",
            x=Axis(label="probability $p_j$ (classes, drawn at their middle)", scale="log"),
            y=Axis(label=r"$\|dk_j\|$ over $p_j$, in units of $c|q|\max|dP|$"),
            layers=tuple(layers),
        ),
    )


CLAIM = Claim(
    id="ignored-keys",
    order=50,
    title="Improbable keys get little through the scores, but not nothing",
    statement=(
        r"Let one query give key $j$ the probability $p_j$. The gradient that reaches that key through its "
        r"score satisfies $|dS_j| = p_j\left|dP_j - \sum_i p_i\,dP_i\right| \le 2p_j(1-p_j)\max_i|dP_i|$, "
        r"hence $\|dk_j\| \le 2c\,|q|\,p_j(1-p_j)\max_i|dP_i|$; for every $p$ there are gradients $dP$ that "
        "attain it."
    ),
    meaning=(
        "What attention passes over it also trains slowly: a key with a probability of one in a thousand "
        "gets at most about a five-hundredth of what there is to get. But the update is small, not zero, "
        "unless floating-point arithmetic rounds the probability to zero. And it is the gradient of one key "
        "from one query: the weights that make all keys also learn from the other keys and queries."
    ),
    assumptions=(
        Assumption(
            id="through-scores",
            text="Only the way through the scores counts; a token's value gets a gradient of its own.",
        ),
        Assumption(
            id="drawn-normal",
            text="For what is measured: queries, keys, values and upstream gradients are standard normal.",
        ),
    ),
    references=(),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
