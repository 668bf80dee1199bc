"""The gradients of attention with respect to values, probabilities, scores, queries and keys."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Rational, S

from verify.spec import (
    ROUNDING, SHAPE, VASWANI, Allowance, Array, Assumption, Claim, Control, Derivation, Exact, Experiment,
    Figure, Findings, Prediction, Quantity, Reference, SingleQueries, against_dimension, attention_in_loops,
    capped, cell_of, complex_step, curve, drawn, gradient_rules, gradients, gradients_of_loops,
    in_single_precision, jacobian, largest_difference, matrices, measured, no_distance, over_queries, plain,
    prediction, probabilities, ratio, softmax, threshold, wrong,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Callable


SCALE, FACTOR = 0.6, 100
DIMENSIONS = (8, 16, 64)
SHARP = 8.0
"""A scale, in the highest dimension, at which hardly more than one key of a row counts."""
KEYS, ROWS = 16, 32
LABEL = r"mean $\|dV\|^2$ over mean $\|g\|^2$"


def derive() -> Derivation:
    """Derive the gradient of the queries by the chain rule, and the others beside it."""
    queries = gradient_rules.of_queries()
    lemmas = (
        *gradient_rules.of_single_matrices(),
        gradient_rules.bounded_values(),
        gradient_rules.same_scores(),
        gradient_rules.unbounded_queries(),
    )
    return Derivation.of(queries, lemmas=lemmas, definitions=gradient_rules.DEFINITIONS)


def _stepped() -> dict[Any, Array]:
    """Return the derivatives of the loss ΣG·output of plain loops by complex steps, without any formula."""
    queries, keys, values, upstream = drawn()
    of_queries, of_keys, of_values = gradients_of_loops(queries, keys, values, upstream, SCALE)
    # Scores are queries whose keys are the unit vectors.
    of_scores, _, _ = gradients_of_loops(SCALE * queries @ keys.T, np.eye(len(keys)), values, upstream, 1.0)
    of_weights = complex_step(lambda one: np.sum(upstream * (one @ values), axis=(-2, -1)), _weights())
    return {
        matrices.DV: of_values,
        matrices.DP: of_weights,
        matrices.DS: of_scores,
        matrices.DQ: of_queries,
        matrices.DK: of_keys,
    }


def _weights() -> Array:
    """Return the weights that the loops give: what they make of values that are the unit vectors."""
    queries, keys, _, _ = drawn()
    return attention_in_loops(queries, keys, np.eye(len(keys)), SCALE)


def _derived(derivation: Derivation) -> dict[Any, Array]:
    """Return the derived expressions' values, each from those before it."""
    probability, score, key, values = (route.end for route in derivation.lemmas[:4])
    known = dict(zip((matrices.Q, matrices.K, matrices.V, matrices.G), drawn(), strict=True)) | {
        matrices.P: _weights()
    }
    known[matrices.DP] = matrices.value(probability, (matrices.a, matrices.j), known, SCALE)
    known[matrices.DS] = matrices.value(score, (matrices.a, matrices.j), known, SCALE)
    known[matrices.DV] = matrices.value(values, (matrices.j, matrices.b), known, SCALE)
    known[matrices.DK] = matrices.value(key, (matrices.j, matrices.h), known, SCALE)
    known[matrices.DQ] = matrices.value(derivation.result, (matrices.a, matrices.h), known, SCALE)
    return known


def _coded(weights: Array, factor: float = SCALE) -> dict[Any, Array]:
    """Return the gradients that the array code's own formulas give, from these weights and this factor."""
    queries, keys, values, upstream = drawn()
    found = gradients(queries, keys, values, weights, upstream, factor)
    return {
        matrices.DV: found.values,
        matrices.DP: found.probabilities,
        matrices.DS: found.scores,
        matrices.DQ: found.queries,
        matrices.DK: found.keys,
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
    after = {matrices.DQ: found.queries, matrices.DV: found.values}[base]
    return float(np.linalg.norm(after) / np.linalg.norm(_stepped()[base]))


def _of_values(derivation: Derivation) -> Any:
    """Return the derived ‖dV‖² over |g|² of one query, a sum over its probabilities."""
    return derivation.lemmas[4].steps[0].expression / gradient_rules.g**2


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
    expected = jacobian.value(_of_values(derivation), _weights()[0])
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
    names = {
        matrices.DV: "values",
        matrices.DP: "probabilities",
        matrices.DS: "scores",
        matrices.DQ: "queries",
        matrices.DK: "keys",
    }
    checks: list[Exact] = []
    for base, name in names.items():
        label = f"largest difference of an entry of ${plain(base)}$: {{}} against complex steps of loops"
        checks += [
            _difference(f"derived-{name}", label.format("the derived formula"), derived[base], stepped[base],
                        _derived),
            _difference(f"code-{name}", label.format("the array code"), coded[base], stepped[base], _coded),
        ]  # fmt: skip
    times = (derivation.lemmas[-1].end / gradient_rules.OF_QUERIES).subs(gradient_rules.t, FACTOR)
    grown = (
        _grown("queries-times-t", matrices.DQ, times, (S.One / FACTOR, FACTOR)),
        _grown("values-times-t", matrices.DV, S.One, (S.One / FACTOR, FACTOR)),
    )
    bound = derivation.lemmas[4].end / gradient_rules.g**2
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
    cell = cell_of(f"scale{scale:g}-d{dimension}", SingleQueries(dimension, KEYS, 8, ROWS, scale))
    estimand = ratio("to-values", "from-above")
    band = capped(1.0, tolerance)
    return Quantity(f"values-{name}", LABEL, cell, estimand, prediction(expected), band, relation="≤")


def _wrong_code(
    derivation: Derivation, derived: dict[Any, Array], stepped: dict[Any, Array], weights: Array
) -> tuple[Control, ...]:
    queries, keys, _, _ = drawn()
    logistic = derived[matrices.P] * (1 - derived[matrices.P]) * derived[matrices.DP]
    scores = SCALE * queries @ keys.T
    single = in_single_precision(softmax)(scores)
    of_scores, of_queries, of_keys = (f"largest difference of an entry of $d{name}$" for name in "SQK")
    return (
        Control(
            "each score changes its own probability only, by $p(1-p)$",
            _difference("own-probability-only", of_scores, logistic, stepped[matrices.DS], _derived),
        ),
        Control(
            "the scale acts forwards only, and the gradient of the queries is $dS\\cdot K$ without it",
            _difference(
                "scale-forwards-only",
                of_queries,
                _coded(weights, 1.0)[matrices.DQ],
                stepped[matrices.DQ],
                _coded,
            ),
        ),
        Control(
            "the softmax may run over the queries instead of the keys",
            _difference(
                "over-queries",
                of_keys,
                _coded(over_queries(scores))[matrices.DK],
                stepped[matrices.DK],
                _coded,
            ),
        ),
        Control(
            "weights of single precision give the same gradients",
            _difference(
                "single-precision", of_queries, _coded(single)[matrices.DQ], stepped[matrices.DQ], _coded
            ),
        ),
        Control(
            "one query's values get the sum of squares of any weights",
            _shared(derivation, "any-weights", single),
        ),
        Control(
            "the gradient of the queries grows with the keys, whatever becomes of the scores",
            _grown("queries-by-keys-alone", matrices.DQ, S(FACTOR), (S.One, FACTOR)),
        ),
        Control(
            "the gradient of the values is the same whatever becomes of the scores",
            _grown("values-by-keys-alone", matrices.DV, S.One, (S.One, FACTOR)),
        ),
    )


def _wrong_bounds(tightest: Quantity, high: Quantity) -> tuple[Control, ...]:
    less = prediction(Rational(95, 100) * S(tightest.prediction.value))
    variance = prediction(S(DIMENSIONS[-1]))
    return (
        wrong(
            high,
            "value-gradient-unbounded",
            "the gradient of the values grows with the scores without bound: in the mean square it is what "
            "comes from above times the scores' variance, here 64",
            variance,
            relation="≥",
        ),
        wrong(
            tightest,
            "five-per-cent-less",
            "what reaches the values stays 5% below what comes from above",
            less,
        ),
    )


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw what reaches the values, against the dimension, below its bound."""
    span = (DIMENSIONS[0], DIMENSIONS[-1])
    bound = float(derivation.lemmas[4].end / gradient_rules.g**2)
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
