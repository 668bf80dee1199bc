"""The gradients of attention with respect to values, probabilities, scores, queries and keys."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Mul, S, Sum

from verify.claim import Claim, Findings
from verify.conditions import VASWANI
from verify.designs import prediction
from verify.evidence import Assumption, Figure, Reference
from verify.montecarlo.attention import attention, gradients, probabilities, softmax
from verify.montecarlo.blocks import Cell
from verify.montecarlo.differentiate import complex_step
from verify.montecarlo.estimands import ratio
from verify.montecarlo.experiment import Allowance, Control, Exact, Experiment, Quantity
from verify.montecarlo.single_queries import SingleQueries
from verify.pictures import against_dimension, curve, measured
from verify.symbolic.attention import (
    DK,
    DP,
    DQ,
    DS,
    DV,
    Differentiated,
    G,
    K,
    P,
    Q,
    V,
    a,
    b,
    c,
    d_v,
    h,
    j,
    k,
    m,
    value,
)
from verify.symbolic.derivation import Derivation, Identity, Route, Step
from verify.symbolic.jacobian import SQUARES, Surplus
from verify.symbolic.printing import Ordered, plain
from verify.symbolic.scores import d
from verify.symbolic.softmax import i, n, p

if TYPE_CHECKING:
    from verify.montecarlo.components import Array

t = Ordered("t", "b", positive=True)
g = Ordered("|g|", "z", positive=True)
"""The factor by which keys grow while queries shrink; the length of the gradient at one query's output."""

OF_PROBABILITIES = Sum(G[a, b] * V[j, b], (b, 1, d_v))
INNER = Sum(P[a, k] * DP[a, k], (k, 1, n))
OF_SCORES = P[a, j] * (DP[a, j] - INNER)
OF_QUERIES = c * Sum(DS[a, j] * K[j, h], (j, 1, n))
OF_KEYS = c * Sum(DS[a, j] * Q[a, h], (a, 1, m))
OF_VALUES = Sum(P[a, j] * G[a, b], (a, 1, m))

SHAPE = (3, 4, 5, 2)
"""Queries, keys and both dimensions of the array code that is differentiated."""
SCALE, FACTOR, ROUNDING = 0.6, 100, 1e-12
DIMENSIONS = (8, 16, 64)
KEYS, ROWS = 16, 32
LABEL = r"mean $\|dV\|^2$ over mean $\|g\|^2$"


def derive() -> Derivation:
    """Derive the gradient of the queries by the chain rule, and the others beside it."""
    check = Differentiated()
    queries = Route(
        "Queries, by the chain rule",
        DQ[a, h],
        (
            Step(OF_QUERIES, "Score $(a, j)$ is $c\\sum_l Q_{a,l}K_{j,l}$", check),
            Step(
                c * Sum(OF_SCORES * K[j, h], (j, 1, n)),
                "The Jacobian of softmax, applied to what reaches the probabilities",
                check,
            ),
        ),
    )
    single = (
        ("Probabilities", DP[a, j], OF_PROBABILITIES, "The output is linear in the probabilities"),
        ("Scores", DS[a, j], OF_SCORES, "The Jacobian of softmax"),
        ("Keys", DK[j, h], OF_KEYS, "The same for the keys: each gets something from every query"),
        ("Values", DV[j, b], OF_VALUES, "The output is linear in the values"),
    )
    lemmas = (Route(title, start, (Step(end, rule, check),)) for title, start, end, rule in single)
    return Derivation(DQ[a, h], queries.end, (queries,), (*lemmas, _bounded(), _same_scores(), _unbounded()))


def _bounded() -> Route:
    """Return that one query sends no more to all values together than it gets."""
    surplus = g**2 * Sum(p[i] * (1 - p[i]), (i, 1, n))
    return Route(
        "The values of one query together: $dv_j = p_jg$",
        Sum((p[i] * g) ** 2, (i, 1, n)),
        (
            Step(g**2 * SQUARES, "The common factor", Surplus(relation="=")),
            Step(g**2, "Probabilities are at most 1 and sum to 1", Surplus(surplus), "≤"),
        ),
    )


def _same_scores() -> Route:
    return Route(
        "Queries over t and keys times t: the same scores, so the same probabilities",
        c * Sum(Mul(Q[a, h] / t, t * K[j, h], evaluate=False), (h, 1, d)),
        (Step(c * Sum(Q[a, h] * K[j, h], (h, 1, d)), "The factors cancel", Identity()),),
    )


def _unbounded() -> Route:
    start = OF_QUERIES.xreplace({K[j, h]: t * K[j, h]})
    return Route(
        "But t times the gradient of the queries, for any t",
        start,
        (Step(t * OF_QUERIES, "The common factor", Differentiated()),),
    )


@cache
def _drawn() -> dict[Any, Array]:
    """Return fixed matrices of normal entries: queries, keys, values and the gradient at the output."""
    queries, keys, dimension, values = SHAPE
    rng = np.random.default_rng(1)
    sizes = {Q: (queries, dimension), K: (keys, dimension), V: (keys, values), G: (queries, values)}
    return {base: rng.normal(size=size) for base, size in sizes.items()}


def _stepped() -> dict[Any, Array]:
    """Return the derivatives of the array code's loss ΣG·output by complex steps, without any formula."""
    queries, keys, values, upstream = _drawn().values()
    weights = probabilities(queries, keys, SCALE)

    def loss(output: Any) -> Any:
        return np.sum(upstream * output, axis=(-2, -1))

    return {
        DQ: complex_step(lambda z: loss(attention(z, keys, values, SCALE)), queries),
        DK: complex_step(lambda z: loss(attention(queries, z, values, SCALE)), keys),
        DV: complex_step(lambda z: loss(attention(queries, keys, z, SCALE)), values),
        DP: complex_step(lambda z: loss(z @ values), weights),
        DS: complex_step(lambda z: loss(softmax(z) @ values), SCALE * queries @ keys.T),
    }


def _derived(derivation: Derivation) -> dict[Any, Array]:
    """Return the derived expressions' values, each from those before it."""
    probability, score, key, values = (route.end for route in derivation.lemmas[:4])
    known = _drawn() | {P: probabilities(_drawn()[Q], _drawn()[K], SCALE)}
    known[DP] = value(probability, (a, j), known, SCALE)
    known[DS] = value(score, (a, j), known, SCALE)
    known[DV] = value(values, (j, b), known, SCALE)
    known[DK] = value(key, (j, h), known, SCALE)
    known[DQ] = value(derivation.result, (a, h), known, SCALE)
    return known


def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # noqa: ARG001  # one for all
    """Differentiate the array code by complex steps; measure what reaches the values as scores grow."""
    derived, stepped, coded = _derived(derivation), _stepped(), _coded()
    names = {DV: "values", DP: "probabilities", DS: "scores", DQ: "queries", DK: "keys"}
    checks = []
    for base, name in names.items():
        for kind, found, words in (
            ("derived", derived[base], "the derived formula"),
            ("code", coded[base], "the code's formula"),
        ):
            entry = f"an entry of ${plain(base)}$"
            label = f"largest difference of {entry}: {words} against complex steps of attention"
            checks.append(_difference(f"{kind}-{name}", label, found, stepped[base]))
    cells = {dimension: _cell(dimension) for dimension in DIMENSIONS}
    bound = derivation.lemmas[4].end / g**2
    bounds = tuple(
        Quantity(f"values-d{one}", LABEL, cell, ratio(0, 1), prediction(bound), relation="≤")
        for one, cell in cells.items()
    )
    return Experiment((*checks, *_grown(derivation), *bounds), _controls(derived, stepped, cells[64]))


def _coded() -> dict[Any, Array]:
    """Return the gradients that the array code's own formulas give."""
    queries, keys, values, upstream = _drawn().values()
    found = gradients(queries, keys, values, probabilities(queries, keys, SCALE), upstream, SCALE)
    return {
        DV: found.values,
        DP: found.probabilities,
        DS: found.scores,
        DQ: found.queries,
        DK: found.keys,
    }


def _difference(name: str, label: str, one: Array, other: Array) -> Exact:
    queries, keys, dimension, values = SHAPE
    settings = (("queries", queries), ("keys", keys), ("d_k", dimension), ("d_v", values), ("scale", SCALE))
    gap = float(np.max(np.abs(one - other)))
    return Exact(name, label, settings, prediction(S.Zero), gap, Allowance(ROUNDING))


def _grown(derivation: Derivation) -> tuple[Exact, Exact]:
    """Return how the code's gradients change as keys grow and queries shrink by the same factor."""
    queries, keys, values, upstream = _drawn().values()
    moved = (queries / FACTOR, keys * FACTOR)
    weights = probabilities(*moved, SCALE)
    found, before = gradients(*moved, values, weights, upstream, SCALE), _coded()
    times = (derivation.lemmas[-1].end / OF_QUERIES).subs(t, FACTOR)
    settings = (("t", FACTOR), ("scale", SCALE))
    return tuple(  # type: ignore[return-value]  # one for each of two
        Exact(
            f"{name}-times-t",
            rf"$\|{plain(base)}\|$ with queries over $t$ and keys times $t$, over what it was",
            settings,
            prediction(factor),
            float(np.linalg.norm(after) / np.linalg.norm(before[base])),
            Allowance(FACTOR * ROUNDING),
        )
        for name, base, after, factor in (
            ("queries", DQ, found.queries, times),
            ("values", DV, found.values, S.One),
        )
    )


def _cell(dimension: int) -> Cell:
    settings = (
        ("d_k", dimension),
        ("d_v", 8),
        ("keys", KEYS),
        ("queries", ROWS),
        ("scale", "1"),
        ("components", "normal"),
    )
    return Cell(f"unscaled-d{dimension}", settings, SingleQueries(dimension, KEYS, 8, ROWS))


def _controls(derived: dict[Any, Array], stepped: dict[Any, Array], unscaled: Cell) -> tuple[Control, ...]:
    logistic = derived[P] * (1 - derived[P]) * derived[DP]
    unscaled_sum = derived[DS] @ derived[K]
    return (
        Control(
            "the gradient of the values grows with the scores without bound: in the mean square it is what "
            "comes from above times the scores' variance, here 64",
            Quantity(
                "value-gradient-unbounded",
                LABEL,
                unscaled,
                ratio(0, 1),
                prediction(S(dict(unscaled.settings)["d_k"])),
                relation="≥",
            ),
        ),
        Control(
            "each score changes its own probability only, by $p(1-p)$",
            _difference(
                "own-probability-only", "largest difference of an entry of $dS$", logistic, stepped[DS]
            ),
        ),
        Control(
            "the scale acts forwards only, and the gradient of the queries is $dS\\cdot K$ without it",
            _difference(
                "scale-forwards-only", "largest difference of an entry of $dQ$", unscaled_sum, stepped[DQ]
            ),
        ),
    )


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw what reaches the values, against the dimension, below its bound."""
    span = (DIMENSIONS[0], DIMENSIONS[-1])
    bound = float(derivation.lemmas[4].end / g**2)
    return (
        against_dimension(
            "values",
            "The gradient of the values never exceeds what comes from above",
            "Mean squared gradient of the values over that of the output, without scaling, at 8, 16 and 64 "
            "dimensions: it rises as the scores grow, but stays below its bound of one, while the variance "
            "of the scores grows to 64.",
            r"$\|dV\|^2$ over $\|g\|^2$",
            (
                curve("bound: 1", "truth", lambda _: bound, span),
                curve("variance of the scores", "control", lambda x: x, span),
                measured((findings.checks[f"values-d{one}"] for one in DIMENSIONS), "measured"),
            ),
        ),
    )


CLAIM = Claim(
    id="attention-gradients",
    order=40,
    title="The gradients of attention",
    statement=(
        r"For the output $PV$ with $P = \operatorname{softmax}(c\,QK^{\mathsf T})$ and the gradient $G$ of a "
        r"loss at the output: $dV = P^{\mathsf T}G$, $dP = GV^{\mathsf T}$, "
        r"$dS = P\circ(dP - \operatorname{rowsum}(P\circ dP))$, $dQ = c\,dS\,K$ and "
        r"$dK = c\,dS^{\mathsf T}Q$. What one query with gradient $g$ sends to all values together satisfies "
        r"$\|dV\|^2 = |g|^2\sum p_j^2 \le |g|^2$; for $dQ$ and $dK$ there is no such bound."
    ),
    meaning=(
        "Scores reach the gradients in two ways. Values get the upstream gradient shared out by the "
        "probabilities: more of it to one key when attention is sharp, but never more than there was. "
        "Queries and keys get it through the softmax's Jacobian, multiplied by the scale and by the keys or "
        "queries themselves, which nothing bounds. A sharp row thus gives the values larger gradients in the "
        "mean square than a spread one, up to the bound."
    ),
    assumptions=(
        Assumption(
            id="no-mask", text="Scores are finite; a key that a mask excludes counts as no key of that query."
        ),
        Assumption(
            id="drawn-normal",
            text="For what is measured: queries, keys, values and upstream gradients are standard normal.",
        ),
    ),
    references=(
        VASWANI,
        Reference(
            key="dao2022",
            text="T. Dao et al., FlashAttention, NeurIPS 2022, appendix B.2: the backward pass.",
            url="https://arxiv.org/abs/2205.14135",
        ),
    ),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
