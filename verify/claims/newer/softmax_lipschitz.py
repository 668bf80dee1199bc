"""Softmax moves by at most half of what its scores move by, and two equal scores attain that."""

import numpy as np
from sympy import KroneckerDelta, Rational, S, Sum, exp, tanh

from verify.claims.newer.shared import mean_slope, x
from verify.former import (
    NORMAL, ROUNDING, Claim, Derivation, Experiment, Figure, Findings, NormalRows, Route, Smooth, Step,
    beside, biased, capped, cell_of, cite, complex_step, computed, figure, i, in_turn, j, line, n, one_step,
    ordered, over_cells, p, sharper, sigma, softmax, wrong,
)  # fmt: skip
from verify.former.rules import Identity, SumIdentity, Surplus

delta, HALF = ordered("delta", positive=True), Rational(1, 2)
SPREADS = (0.25, 1.0, 4.0)
LABEL = r"$2\,\mathbb{E}\,p(1-p)$ of two keys"
ORDERS = {
    "sum": (1, "the sum norm"),
    "length": (2, "the Euclidean norm"),
    "largest": (np.inf, "the maximum norm"),
}


def derive() -> Derivation:
    """Derive the sums of rows of the Jacobian, the bound of its quadratic form, and a finite step."""
    apart = 1 - KroneckerDelta(i, j)
    row = p[i] * (1 - p[i]) + Sum(apart * p[i] * p[j], (j, 1, n))
    rows = Route.of(
        "The absolute values of a row of the Jacobian", row,
        Step(2 * p[i] * (1 - p[i]), "Weights sum to 1", SumIdentity()),
        Step(HALF, r"The difference is $2(p_i - \frac12)^2$", Surplus(2 * (p[i] - HALF) ** 2)),
        defines="the absolute values of a row of the Jacobian, or of a column, summed",
    )  # fmt: skip
    form = Sum(p[i] * x[i] ** 2, (i, 1, n)) - Sum(p[i] * x[i], (i, 1, n)) ** 2
    cross = Sum(apart * p[i] * p[j] * (x[i] + x[j]) ** 2, (i, 1, n), (j, 1, n)) / 2
    length = Route.of(
        "The quadratic form of the Jacobian", form,
        Step(2 * Sum(p[i] * (1 - p[i]) * x[i] ** 2, (i, 1, n)),
             r"The difference is $\frac12\sum_{i\ne j}p_ip_j(x_i+x_j)^2$",
             Surplus(cross)),
        Step(Sum(x[i] ** 2, (i, 1, n)) / 2, r"The difference is $2\sum(p_i - \frac12)^2x_i^2$",
             Surplus(2 * Sum((p[i] - HALF) ** 2 * x[i] ** 2, (i, 1, n)))),
        defines="the quadratic form of the Jacobian at any vector x", name="form",
    )  # fmt: skip
    step = one_step("One of two weights, its score higher by δ than the other's, and then lower by δ",
                    1 / (1 + exp(-delta)) - 1 / (1 + exp(delta)), tanh(delta / 2), "By half the argument",
                    Identity(),
                    defines="how far a weight of two moves", name="step")  # fmt: skip
    return Derivation.of(rows, lemmas=(length, step))


def norm_of_jacobian(keys: int, order: float) -> float:
    """Return the operator norm of softmax's Jacobian at equal scores, of the array code by complex steps."""
    return float(np.linalg.norm(complex_step(softmax, np.zeros(keys)), order))


def move_of_weights(by: float) -> float:
    """Return how far the first weight of two moves, over how far its score moves, from -by/2 to by/2."""
    scores = by * np.array([[0.5, -0.5], [-0.5, 0.5]]) / 2
    return float(np.subtract(*softmax(scores)[:, 0])) / (by / 2)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the sums of rows for two keys, and compute norms and finite steps of the array code."""
    cells = {
        one: cell_of(f"s{one:g}".replace(".", ""), NormalRows(2, 16, one, NORMAL, ("product",)))
        for one in SPREADS
    }
    slope, near = Smooth(lambda mean: 2 * mean["product"], positive=True), capped(0.5, tolerance)
    values = over_cells("slope-{cell}", LABEL, cells, slope, mean_slope)
    bounds = over_cells("bound-{cell}", LABEL, cells, slope, derivation.result, near, "≤")
    norms = {
        (keys, name): computed(f"norm-{name}-n{keys}", "operator norm of the Jacobian at equal scores",
                               {"n": keys, "norm": name}, derivation.result, norm_of_jacobian, keys, order,
                               allowance=ROUNDING, relation="=" if keys == 2 else "≤")
        for keys in (2, 3) for name, (order, _) in ORDERS.items()
    }  # fmt: skip
    finite = computed(
        "finite-step",
        "change of a weight over the change of its score, two keys",
        {"delta": 1},
        2 * derivation.lemmas[1].end.subs(delta, S.Half),
        move_of_weights,
        1.0,
        allowance=ROUNDING,
    )
    return Experiment((*in_turn(values, bounds), *norms.values(), finite), (
        sharper(bounds[0.25], 0.96, values[0.25].prediction.value),
        *(wrong(norms[2, name], f"smaller-{name}", f"in {words}, forty-nine hundredths are enough",
                Rational(49, 100), relation="≤") for name, (_, words) in ORDERS.items()),
        *(wrong(norms[2, name], f"strictly-{name}", f"in {words}, two keys stay a hundredth below one half",
                Rational(495, 1000)) for name, (_, words) in ORDERS.items()),
        wrong(norms[3, "sum"], "three-as-four", "three equal scores have the norm of four", Rational(3, 8)),
        wrong(finite, "half-for-steps", "a finite step, too, moves a weight by half as much", S.Half),
        biased(values[4.0], tolerance, at="sigma"),
    ))  # fmt: skip


def figures(findings: Findings) -> Figure:
    """Draw the mean slope of two weights over the spread of scores, below the bound."""
    return figure(
        "slope",
        "The slope of softmax is one half at equal scores, and less wherever they differ",
        "Mean absolute sum of a row of the Jacobian for two keys, over the spread of their scores: measured "
        "points on a curve that starts at one half and falls, below a level line at one half.",
        "mean absolute sum of a row of the Jacobian",
        *beside(findings.matching("slope-s*"), "integrated", mean_slope, "sigma", over=(0.1, 8)),
        line("bound: {theorem:result}", 0.5, "other", over=(0.1, 8)),
        x="standard deviation {sigma} of scores",
        y_scale="linear",
    )  # fmt: skip


CLAIM = Claim(
    title="Softmax moves by at most half as much as its scores",
    statement="The absolute values in a row or a column of the Jacobian of softmax sum to twice {slope}, "
    "hence to at most {theorem:result}; and for any vector {x} its quadratic form satisfies {form}. So "
    "softmax has Lipschitz constant one half in the maximum norm, the sum norm and the Euclidean norm.",
    meaning="A change of all scores by at most one hundredth moves each weight by at most half of that: "
    "softmax never amplifies. The constant cannot be smaller: two keys with equal scores attain it in all "
    "three norms. A published statement has it strictly smaller. With two keys that is false in all three "
    "norms; with more, the sum and the maximum norm still attain one half where a weight is one half, while "
    "three equal scores have {norm-sum-n3:estimate.3} in the sum norm. Any finite step moves the weights "
    "less: with two keys, a step of one half moves a weight by {finite-step:prediction.4} of that step. By "
    "the Riesz–Thorin theorem the same constant holds for the norms in between.",
    symbols={"x": x, "slope": p[i] * (1 - p[i]), "sigma": sigma},
    references=cite(
        "nair2025",
        "P. Nair, Softmax Is 1/2-Lipschitz: A Tight Bound Across All Norms, 2025.",
        "https://arxiv.org/abs/2510.23012",
    ),
)
