"""The gradients of attention with respect to values, probabilities, scores, queries and keys."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sympy import Expr, Rational, S

from verify.claims.gradients.shared import SingleQueries, attention_gradients, gradients, jacobian, plain
from verify.former import (
    ROUNDING, VASWANI, Allowance, Array, Claim, Comparison, Control, Derivation, Exact, Experiment, Figure,
    Findings, Prediction, Quantity, Tolerance, assume, capped, cell_of, cite, complex_step, computed, figure,
    in_single_precision, largest_difference, line, loops, matrices, measured, no_distance, prediction,
    probabilities, ratio, softmax, threshold, wrong,
)  # fmt: skip

SCALE, FACTOR = 0.6, 100
DIMENSIONS, KEYS, ROWS = (8, 16, 64), 16, 32
SHARP = 8.0
"""A scale, in the highest dimension, at which hardly more than one key of a row counts."""
LABEL = r"mean $\|dV\|^2$ over mean $\|g\|^2$"
BASES = (matrices.DV, matrices.DP, matrices.DS, matrices.DQ, matrices.DK)
GRADIENTS = dict(zip(BASES, ("values", "probabilities", "scores", "queries", "keys"), strict=True))
"""What the loss is differentiated by, as the array code calls it."""


def derive() -> Derivation:
    """Derive the gradient of the queries by the chain rule, and the others beside it."""
    queries, unbounded = attention_gradients.of_queries(), attention_gradients.unbounded_queries()
    names = "probabilities", "scores", "keys", "values", "bound"
    bounded = zip(
        names, (*attention_gradients.of_single_matrices(), attention_gradients.bounded_values()), strict=True
    )
    lemmas = (*(route.called(name) for name, route in bounded), attention_gradients.same_scores(), unbounded)
    return Derivation.of(queries, lemmas=lemmas)


def _stepped() -> dict[Expr, Array]:
    """Return the derivatives of the loss ΣG·output of plain loops by complex steps, without any formula."""
    queries, keys, values, upstream = loops.drawn()
    of_queries, of_keys, of_values = loops.gradients_of_loops(queries, keys, values, upstream, SCALE)
    # Scores are queries whose keys are the unit vectors.
    of_scores, _, _ = loops.gradients_of_loops(
        SCALE * queries @ keys.T, np.eye(len(keys)), values, upstream, 1.0
    )
    of_weights = complex_step(lambda one: np.sum(upstream * (one @ values), axis=(-2, -1)), _weights())
    return dict(zip(GRADIENTS, (of_values, of_weights, of_scores, of_queries, of_keys), strict=True))


def _weights() -> Array:
    """Return the weights that the loops give: what they make of values that are the unit vectors."""
    queries, keys, _, _ = loops.drawn()
    return loops.attention_in_loops(queries, keys, np.eye(len(keys)), SCALE)


def _derived(derivation: Derivation) -> dict[Expr, Array]:
    """Return the derived expressions' values, each from those before it."""
    known = dict(zip((matrices.Q, matrices.K, matrices.V, matrices.G), loops.drawn(), strict=True))
    known[matrices.P] = _weights()
    probability, score, key, values = (route.end for route in derivation.lemmas[:4])
    a, b, h, j = matrices.a, matrices.b, matrices.h, matrices.j
    for base, expression, places in (
        (matrices.DP, probability, (a, j)),
        (matrices.DS, score, (a, j)),
        (matrices.DV, values, (j, b)),
        (matrices.DK, key, (j, h)),
        (matrices.DQ, derivation.result, (a, h)),
    ):
        known[base] = matrices.value(expression, places, known, SCALE)
    return known


def _coded(weights: Array, factor: float = SCALE) -> dict[Expr, Array]:
    """Return the gradients that the array code's own formulas give, from these weights and this factor."""
    queries, keys, values, upstream = loops.drawn()
    found = gradients(queries, keys, values, weights, upstream, factor)
    return {base: getattr(found, name) for base, name in GRADIENTS.items()}


def _difference(name: str, label: str, one: Array, other: Array, code: Callable[..., object]) -> Exact:
    sizes = zip(("queries", "keys", "d_k", "d_v"), loops.SHAPE, strict=True)
    return no_distance(name, label, (*sizes, ("scale", SCALE)), largest_difference(one, other), code)


def _growth(base: Expr, by: tuple[Expr, Expr]) -> float:
    """Return the norm of a gradient with queries and keys multiplied ``by`` factors, over what it was."""
    queries, keys, values, upstream = loops.drawn()
    moved = (float(by[0]) * queries, float(by[1]) * keys)
    found = gradients(*moved, values, probabilities(*moved, SCALE), upstream, SCALE)
    return float(np.linalg.norm(getattr(found, GRADIENTS[base])) / np.linalg.norm(_stepped()[base]))


def _grown(name: str, base: Expr, expected: Expr, by: tuple[Expr, Expr]) -> Exact:
    label = rf"$\|{plain(base)}\|$ with queries times ${by[0]}$ and keys times ${by[1]}$, over what it was"
    rounding = Allowance(FACTOR * ROUNDING.size)
    return computed(name, label, {"scale": SCALE}, expected, _growth, base, by, allowance=rounding)


def _share(weights: Array) -> float:
    """Return what the array code's first query sends to all values together, ‖dV‖² over |g|²."""
    queries, keys, values, upstream = loops.drawn()
    found = gradients(queries[:1], keys, values, weights[:1], upstream[:1], SCALE)
    return float(np.sum(found.values**2) / np.sum(upstream[0] ** 2))


def _shared(derivation: Derivation, name: str, weights: Array) -> Exact:
    """Return the comparison of that with what is derived, at the weights of the loops."""
    of_values = derivation.lemmas[4].steps[0].expression / attention_gradients.g**2
    expected = jacobian.value(of_values, _weights()[0])
    label, settings = r"$\|dV\|^2$ of one query of the array code over $|g|^2$", {"keys": loops.SHAPE[1]}
    shown = Prediction(expected, rf"\sum p_j^2 = {expected:.6g}")
    return computed(name, label, settings | {"scale": SCALE}, shown, _share, weights, allowance=ROUNDING)


def _to_values(name: str, dimension: int, scale: float, most: Prediction, band: Tolerance) -> Quantity:
    """Return the comparison of what reaches the values, in the mean square, with a bound."""
    cell = cell_of(f"scale{scale:g}-d{dimension}", SingleQueries(dimension, KEYS, 8, ROWS, scale))
    return Quantity(f"values-{name}", LABEL, cell, ratio("to-values", "from-above"), most, band, "≤")


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Differentiate plain loops by complex steps; measure what reaches the values as scores grow."""
    derived, stepped = _derived(derivation), _stepped()
    weights = probabilities(*loops.drawn()[:2], SCALE)
    coded = _coded(weights)
    checks: list[Comparison] = []
    for base, name in GRADIENTS.items():
        label = f"largest difference of an entry of ${plain(base)}$: {{}} against complex steps of loops"
        formula, code = label.format("the derived formula"), label.format("the array code")
        checks.append(_difference(f"derived-{name}", formula, derived[base], stepped[base], _derived))
        checks.append(_difference(f"code-{name}", code, coded[base], stepped[base], _coded))
    times = (derivation.lemmas[-1].end / attention_gradients.OF_QUERIES).subs(attention_gradients.t, FACTOR)
    most, band = prediction(derivation.lemmas[4].end / attention_gradients.g**2), capped(1.0, tolerance)
    few, some, many = (_to_values(f"d{one}", one, 1.0, most, band) for one in DIMENSIONS)
    tightest = _to_values("tightest", DIMENSIONS[-1], SHARP, most, band)
    checks += [
        _grown("queries-times-t", matrices.DQ, times, (S.One / FACTOR, FACTOR)),
        _grown("values-times-t", matrices.DV, S.One, (S.One / FACTOR, FACTOR)),
        _shared(derivation, "values-of-one-query", weights),
        *(few, some, many, tightest),
        replace(few, id="values-little-when-spread", prediction=threshold(S.Half)),
        replace(many, id="values-most-when-sharp", prediction=threshold(Rational(3, 4)), relation="≥"),
    ]
    less = "what reaches the values stays five per cent below what comes from above"
    return Experiment(tuple(checks), (
        *_wrong_code(derivation, derived, stepped),
        wrong(many, "value-gradient-unbounded",
              "the gradient of the values grows with the scores without bound: in the mean square it is what "
              "comes from above times the scores' variance, here {value}", S(DIMENSIONS[-1]), relation="≥"),
        wrong(tightest, "five-per-cent-less", less, Rational(95, 100) * S(most.value)),
    ))  # fmt: skip


def _wrong_code(
    derivation: Derivation, derived: dict[Expr, Array], stepped: dict[Expr, Array]
) -> tuple[Control, ...]:
    query, key, _, _ = loops.drawn()
    logistic = derived[matrices.P] * (1 - derived[matrices.P]) * derived[matrices.DP]
    scores = SCALE * query @ key.T
    single = in_single_precision(softmax)(scores)
    unscaled = _coded(probabilities(query, key, SCALE), 1.0)[matrices.DQ]
    arrays = (
        ("own-probability-only", matrices.DS, logistic, _derived,
         "each score changes its own probability only, as a logistic function would"),
        ("scale-forwards-only", matrices.DQ, unscaled, _coded,
         "the scale acts forwards only, and the gradient of the queries is without it"),
        ("over-queries", matrices.DK, _coded(loops.over_queries(scores))[matrices.DK], _coded,
         "the softmax may run over the queries instead of the keys"),
        ("single-precision", matrices.DQ, _coded(single)[matrices.DQ], _coded,
         "weights of single precision give the same gradients"),
    )  # fmt: skip
    label = "largest difference of an entry of ${}$"
    of_one = _shared(derivation, "any-weights", single)
    queries = _grown("queries-by-keys-alone", matrices.DQ, S(FACTOR), (S.One, FACTOR))
    values = _grown("values-by-keys-alone", matrices.DV, S.One, (S.One, FACTOR))
    return (
        *(
            Control(words, _difference(name, label.format(plain(base)), one, stepped[base], code))
            for name, base, one, code, words in arrays
        ),
        Control("one query's values get the sum of squares of any weights", of_one),
        Control("the gradient of the queries grows with the keys, whatever becomes of the scores", queries),
        Control("the gradient of the values is the same whatever becomes of the scores", values),
    )


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw what reaches the values, against the dimension, below its bound."""
    return figure(
        "values",
        "From one query, values receive at most the gradient of its output",
        "Mean squared gradient of the values over that of the output, unscaled, against the dimension: it "
        "rises as the scores grow, but stays below its bound of one, while the variance of the scores grows "
        "to {values-d64:d_k}.",
        "squared gradient of the values over that of the output",
        line(
            "bound: {values-tightest:prediction}", float(derivation.lemmas[4].end / attention_gradients.g**2)
        ),
        line("variance of the scores", lambda n: n, "control"),
        measured(findings.matching("values-d*")),
    )


CLAIM = Claim(
    title="The gradients of attention",
    statement="For attention with queries Q, keys K, values V and the scale {c} on its scores S, "
    "probabilities P and the gradient {G} of a loss at its output: {values}, {probabilities}, {scores}, "
    "{theorem} and {keys}. What one query with a gradient of length {g} sends to all values together "
    "satisfies {bound}; for {dQ} and {dK} there is no such bound.",
    meaning="Scores reach the gradients in two ways. Values receive the upstream gradient in shares given "
    "by the probabilities: more of it to one key when attention is sharp, but never more in all. Queries "
    "and keys receive it through the softmax's Jacobian, multiplied by the scale and by the keys or queries "
    "themselves, which nothing bounds. A sharp row thus gives the values larger gradients in the mean "
    "square than a spread one, up to the bound.",
    assumptions=assume(
        no_mask="Scores are finite; a key that a mask excludes counts as no key of that query.",
        drawn_normal="What is measured is drawn with standard normal queries, keys, values and gradients.",
    ),
    symbols={
        "G": matrices.G,
        "c": matrices.c,
        "g": attention_gradients.g,
        "dQ": matrices.DQ,
        "dK": matrices.DK,
    },
    references=(
        *VASWANI,
        *cite(
            "dao2022",
            "T. Dao et al., FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness, "
            "NeurIPS 2022.",
            "https://arxiv.org/abs/2205.14135",
        ),
    ),
)
