"""The gradients of attention with respect to values, probabilities, scores, queries and keys."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Rational, S

from verify.evidence import Assumption, Figure, Reference
from verify.montecarlo.attention import gradients, probabilities, softmax
from verify.montecarlo.blocks import Cell
from verify.montecarlo.differentiate import complex_step
from verify.montecarlo.estimands import ratio
from verify.montecarlo.experiment import Allowance, Control, Exact, Experiment, Prediction, Quantity
from verify.montecarlo.literal import (
    SHAPE,
    attention_in_loops,
    drawn,
    gradients_of_loops,
    in_single_precision,
    largest_difference,
    over_queries,
)
from verify.montecarlo.single_queries import SingleQueries
from verify.spec.assumptions import VASWANI
from verify.spec.claim import Claim, Findings
from verify.spec.designs import ROUNDING, capped, no_distance, prediction, threshold
from verify.spec.figures import against_dimension, curve, measured
from verify.symbolic.attention import DK, DP, DQ, DS, DV, G, K, P, Q, V, a, b, h, j, value
from verify.symbolic.attention_gradients import (
    DEFINITIONS,
    OF_QUERIES,
    bounded_values,
    g,
    of_queries,
    of_single_matrices,
    same_scores,
    t,
    unbounded_queries,
)
from verify.symbolic.derivation import Derivation
from verify.symbolic.jacobian import value as squares_of
from verify.symbolic.printing import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.montecarlo.components import Array

SCALE, FACTOR = 0.6, 100
DIMENSIONS = (8, 16, 64)
SHARP = 8.0
"""A scale, in the highest dimension, at which hardly more than one key of a row counts."""
KEYS, ROWS = 16, 32
LABEL = r"mean $\|dV\|^2$ over mean $\|g\|^2$"


def derive() -> Derivation:
    """Derive the gradient of the queries by the chain rule, and the others beside it."""
    queries = of_queries()
    lemmas = (*of_single_matrices(), bounded_values(), same_scores(), unbounded_queries())
    return Derivation(queries.start, queries.end, (queries,), lemmas, definitions=DEFINITIONS)


def _stepped() -> dict[Any, Array]:
    """Return the derivatives of the loss ΣG·output of plain loops by complex steps, without any formula."""
    queries, keys, values, upstream = drawn()
    of_queries, of_keys, of_values = gradients_of_loops(queries, keys, values, upstream, SCALE)
    # Scores are queries whose keys are the unit vectors.
    of_scores, _, _ = gradients_of_loops(SCALE * queries @ keys.T, np.eye(len(keys)), values, upstream, 1.0)
    of_weights = complex_step(lambda one: np.sum(upstream * (one @ values), axis=(-2, -1)), _weights())
    return {DV: of_values, DP: of_weights, DS: of_scores, DQ: of_queries, DK: of_keys}


def _weights() -> Array:
    """Return the weights that the loops give: what they make of values that are the unit vectors."""
    queries, keys, _, _ = drawn()
    return attention_in_loops(queries, keys, np.eye(len(keys)), SCALE)


def _derived(derivation: Derivation) -> dict[Any, Array]:
    """Return the derived expressions' values, each from those before it."""
    probability, score, key, values = (route.end for route in derivation.lemmas[:4])
    known = dict(zip((Q, K, V, G), drawn(), strict=True)) | {P: _weights()}
    known[DP] = value(probability, (a, j), known, SCALE)
    known[DS] = value(score, (a, j), known, SCALE)
    known[DV] = value(values, (j, b), known, SCALE)
    known[DK] = value(key, (j, h), known, SCALE)
    known[DQ] = value(derivation.result, (a, h), known, SCALE)
    return known


def _coded(weights: Array, factor: float = SCALE) -> dict[Any, Array]:
    """Return the gradients that the array code's own formulas give, from these weights and this factor."""
    queries, keys, values, upstream = drawn()
    found = gradients(queries, keys, values, weights, upstream, factor)
    return {
        DV: found.values,
        DP: found.probabilities,
        DS: found.scores,
        DQ: found.queries,
        DK: found.keys,
    }


def _difference(name: str, label: str, one: Array, other: Array, code: Callable[..., object]) -> Exact:
    queries, keys, dimension, values = SHAPE
    settings = (("queries", queries), ("keys", keys), ("d_k", dimension), ("d_v", values), ("scale", SCALE))
    return no_distance(name, label, settings, largest_difference(one, other), code)


def _growth(base: Any, by: tuple[float, float]) -> float:
    """Return the norm of a gradient with queries and keys multiplied ``by`` factors, over what it was."""
    queries, keys, values, upstream = drawn()
    moved = (by[0] * queries, by[1] * keys)
    found = gradients(*moved, values, probabilities(*moved, SCALE), upstream, SCALE)
    after = {DQ: found.queries, DV: found.values}[base]
    return float(np.linalg.norm(after) / np.linalg.norm(_stepped()[base]))


def _of_values(derivation: Derivation) -> Any:
    """Return the derived ‖dV‖² over |g|² of one query, a sum over its probabilities."""
    return derivation.lemmas[4].steps[0].expression / g**2


def _grown(name: str, base: Any, expected: Any, by: tuple[Any, Any]) -> Exact:
    return Exact(
        name,
        rf"$\|{plain(base)}\|$ with queries times ${by[0]}$ and keys times ${by[1]}$, over what it was",
        (("scale", SCALE),),
        prediction(expected),
        _growth(base, (float(by[0]), float(by[1]))),
        Allowance(FACTOR * ROUNDING.size),
        code=_growth,
    )


def _share(weights: Array) -> float:
    """Return what the array code's first query sends to all values together, ‖dV‖² over |g|²."""
    queries, keys, values, upstream = drawn()
    found = gradients(queries[:1], keys, values, weights[:1], upstream[:1], SCALE)
    return float(np.sum(found.values**2) / np.sum(upstream[0] ** 2))


def _shared(derivation: Derivation, name: str, weights: Array) -> Exact:
    """Return the comparison of that with what is derived, at the weights of the loops."""
    expected = squares_of(_of_values(derivation), _weights()[0])
    return Exact(
        name,
        r"$\|dV\|^2$ of one query of the array code over $|g|^2$",
        (("keys", SHAPE[1]), ("scale", SCALE)),
        Prediction(expected, rf"\sum p_j^2 = {expected:.6g}"),
        _share(weights),
        ROUNDING,
        code=_share,
    )


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Differentiate plain loops by complex steps; measure what reaches the values as scores grow."""
    derived, stepped = _derived(derivation), _stepped()
    weights = probabilities(*drawn()[:2], SCALE)
    coded = _coded(weights)
    names = {DV: "values", DP: "probabilities", DS: "scores", DQ: "queries", DK: "keys"}
    checks: list[Exact] = []
    for base, name in names.items():
        label = f"largest difference of an entry of ${plain(base)}$: {{}} against complex steps of loops"
        checks += [
            _difference(f"derived-{name}", label.format("the derived formula"), derived[base], stepped[base],
                        _derived),
            _difference(f"code-{name}", label.format("the array code"), coded[base], stepped[base], _coded),
        ]  # fmt: skip
    times = (derivation.lemmas[-1].end / OF_QUERIES).subs(t, FACTOR)
    grown = (
        _grown("queries-times-t", DQ, times, (S.One / FACTOR, FACTOR)),
        _grown("values-times-t", DV, S.One, (S.One / FACTOR, FACTOR)),
    )
    bound = derivation.lemmas[4].end / g**2
    bounds = tuple(_to_values(f"d{one}", one, 1.0, bound, tolerance) for one in DIMENSIONS)
    tightest = _to_values("tightest", DIMENSIONS[-1], SHARP, bound, tolerance)
    half, most = threshold(S.Half), threshold(Rational(3, 4))
    spread = replace(bounds[0], id="values-little-when-spread", prediction=half)
    sharp = replace(bounds[2], id="values-most-when-sharp", prediction=most, relation="≥")
    controls = (*_wrong_code(derivation, derived, stepped, weights), *_wrong_bounds(tightest, bounds[-1]))
    of_one = _shared(derivation, "values-of-one-query", weights)
    return Experiment((*checks, *grown, of_one, *bounds, tightest, spread, sharp), controls)


def _to_values(name: str, dimension: int, scale: float, expected: Any, tolerance: float) -> Quantity:
    """Return the comparison of what reaches the values, in the mean square, with a bound."""
    settings = (
        ("d_k", dimension),
        ("d_v", 8),
        ("keys", KEYS),
        ("queries", ROWS),
        ("scale", f"{scale:g}"),
        ("components", "normal"),
    )
    cell = Cell(f"scale{scale:g}-d{dimension}", settings, SingleQueries(dimension, KEYS, 8, ROWS, scale))
    estimand = ratio(SingleQueries.TO_VALUES, SingleQueries.FROM_ABOVE)
    band = capped(1.0, tolerance)
    return Quantity(f"values-{name}", LABEL, cell, estimand, prediction(expected), band, relation="≤")


def _wrong_code(
    derivation: Derivation, derived: dict[Any, Array], stepped: dict[Any, Array], weights: Array
) -> tuple[Control, ...]:
    queries, keys, _, _ = drawn()
    logistic = derived[P] * (1 - derived[P]) * derived[DP]
    scores = SCALE * queries @ keys.T
    single = in_single_precision(softmax)(scores)
    of_scores, of_queries, of_keys = (f"largest difference of an entry of $d{name}$" for name in "SQK")
    return (
        Control(
            "each score changes its own probability only, by $p(1-p)$",
            _difference("own-probability-only", of_scores, logistic, stepped[DS], _derived),
        ),
        Control(
            "the scale acts forwards only, and the gradient of the queries is $dS\\cdot K$ without it",
            _difference("scale-forwards-only", of_queries, _coded(weights, 1.0)[DQ], stepped[DQ], _coded),
        ),
        Control(
            "the softmax may run over the queries instead of the keys",
            _difference("over-queries", of_keys, _coded(over_queries(scores))[DK], stepped[DK], _coded),
        ),
        Control(
            "weights of single precision give the same gradients",
            _difference("single-precision", of_queries, _coded(single)[DQ], stepped[DQ], _coded),
        ),
        Control(
            "one query's values get the sum of squares of any weights",
            _shared(derivation, "any-weights", single),
        ),
        Control(
            "the gradient of the queries grows with the keys, whatever becomes of the scores",
            _grown("queries-by-keys-alone", DQ, S(FACTOR), (S.One, FACTOR)),
        ),
        Control(
            "the gradient of the values is the same whatever becomes of the scores",
            _grown("values-by-keys-alone", DV, S.One, (S.One, FACTOR)),
        ),
    )


def _wrong_bounds(tightest: Quantity, high: Quantity) -> tuple[Control, ...]:
    less = prediction(Rational(95, 100) * S(tightest.prediction.value))
    variance = prediction(S(DIMENSIONS[-1]))
    return (
        Control(
            "the gradient of the values grows with the scores without bound: in the mean square it is what "
            "comes from above times the scores' variance, here 64",
            replace(high, id="value-gradient-unbounded", prediction=variance, relation="≥"),
        ),
        Control(
            "what reaches the values stays 5% below what comes from above",
            replace(tightest, id="five-per-cent-less", prediction=less),
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
