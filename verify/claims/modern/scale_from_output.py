"""The scale can be read off the output of attention, with an error that scores and values decide."""

import numpy as np
from sympy import Derivative, Expr, Idx, Rational, Sum, exp, log, simplify, sqrt

from verify.claims.modern.shared import RecoveredScales, fitted_scale, response
from verify.former import (
    E, ROUNDING, Array, Claim, Derivation, Experiment, Tolerance, assume, biased, capped, cells_of,
    complex_step, component, computed, d, i, in_turn, j, largest_difference, loops, n, one_step, ordered,
    over_cells, p, s, softmax, wrong,
)  # fmt: skip
from verify.former.rules import Families, SumIdentity

KEYS, VALUES, ERROR, PLANTED = 8, 4, Rational(1, 10**5), Rational(17, 100)
"""Keys and value dimensions of a row, the errors' standard deviation, and a scale to be found again."""
BIAS = r"$\mathbb{E}(\hat c - c)$ over its standard error"
SQUARE = r"$\mathbb{E}(\hat c - c)^2$ over the squared standard error"

(c, tau), (v, g, error) = ordered("c:a0 tau:a1", positive=True), ordered("v[]:t g[] epsilon[]:u")
count, at = ordered("N:a2", integer=True, positive=True), Idx("a")
TOTAL = Sum(exp(c * s[j]), (j, 1, n))
OUTPUT = Sum(v[j] * exp(c * s[j]), (j, 1, n)) / TOTAL
RATIO = log(p[1] / p[2]) / (s[1] - s[2])
SQUARES = Sum(g[at] ** 2, (at, 1, count))
FITTED = E(Sum(g[at] * error[at], (at, 1, count)) ** 2) / SQUARES**2
"""One entry of the output, what two weights of a row say of its scale, and a fitted scale's mean squared
error."""
WEIGHTS = SumIdentity(Families(made_of={p: ((i,), exp(c * s[i]) / TOTAL)}))
ENTRIES = SumIdentity(Families(sizes={g: (count,), error: (count,)}, variances={error: tau**2}), "entries")


def _mean(expression: Expr) -> Expr:
    return Sum(p[j] * expression, (j, 1, n))


def derive() -> Derivation:
    """Derive how the output follows the scale, the scale from two weights, and a fitted scale's variance."""
    slope = _mean(s[j] * v[j]) - _mean(s[j]) * _mean(v[j])
    following = one_step("How the output follows the scale", Derivative(OUTPUT, c), slope,
                         "The covariance of scores and values under the weights", WEIGHTS)  # fmt: skip
    inverse = one_step("The scale from two weights whose scores differ", RATIO, c,
                       "The sum of all exponentials cancels", WEIGHTS,
                       defines="what two weights of a row say of its scale", name="inverse")  # fmt: skip
    fitted = r"the mean square of $\sum g_a\varepsilon_a/\sum g_a^2$, $g_a$ being the slope of entry $a$"
    variance = one_step("Least squares, to first order in the errors", FITTED, tau**2 / SQUARES,
                        r"The errors are independent, with mean 0 and variance $\tau^2$", ENTRIES,
                        defines=fitted, name="fitted")  # fmt: skip
    return Derivation.of(following, lemmas=(inverse, variance))


def _row() -> tuple[Array, Array]:
    """Return the scores and values of one row, always the same."""
    numbers = loops.fixed_normals(KEYS, 1 + VALUES)
    return 4 * numbers[:, 0], numbers[:, 1:]


def fitted_to_row(scale: float) -> float:
    """Return the scale that is fitted to the output of that row under ``scale``, from a start 30% off."""
    scores, values = _row()
    output, _ = response(scores, values, scale)
    return float(fitted_scale(scores, values, output, 1.3 * float(PLANTED)))


def distance_of_slopes(scale: float) -> float:
    """Return how far the derived slope under ``scale`` is from that of the array code, differentiated."""
    scores, values = _row()
    followed = complex_step(lambda x: softmax(x * scores) @ values, np.full(1, float(PLANTED)))
    return largest_difference(followed[0], response(scores, values, scale)[1])


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Fit scales to outputs with errors; compare slopes and fitted scales without any."""
    spread, one_error = derivation.lemmas[1].end, Tolerance(2.0, 1.0, "the standard error")
    cells = cells_of("rows-d{d_k}", (4, 64), lambda d_k: (
        RecoveredScales(d_k, KEYS, VALUES, d_k**-0.5, float(ERROR), times=32),
    ), scale=1 / sqrt(d))  # fmt: skip
    relative, near = simplify(spread * SQUARES / tau**2), capped(2.0, tolerance)
    biases = over_cells("bias-d{d_k}", BIAS, cells, component("deviation"), 0, one_error)
    errors = over_cells("error-d{d_k}", SQUARE, cells, component("square"), relative, near)
    row = "normal scores and values, one fixed row"
    where: dict[str, int | str] = {"keys": KEYS, "d_v": VALUES, "row": row}
    planted, larger = float(PLANTED), 1.01 * float(PLANTED)
    label = "the scale fitted to an output without errors"
    again = computed("found-again", label, where, PLANTED, fitted_to_row, planted, allowance=ROUNDING)
    label = "largest distance of the derived slope from that of the array code, by a complex step"
    slope = computed("slope", label, where, 0, distance_of_slopes, planted, allowance=ROUNDING)
    return Experiment((*in_turn(biases, errors), again, slope), (
        wrong(biases[4], "half-an-error-off", "fitted scales are half a standard error off on average", 0.5),
        biased(errors[4], tolerance),
        wrong(again, "larger-scale", "a scale that is larger by one per cent leaves the same output",
              computed=fitted_to_row(larger)),
        wrong(slope, "larger-slope", "the slope is the same under a scale that is larger by one per cent",
              computed=distance_of_slopes(larger)),
    ))  # fmt: skip


CLAIM = Claim(
    title="The scale of attention can be inferred from its output",
    statement="The output of a row changes with its scale {c} at the rate {theorem:result}, the covariance "
    "of scores and values under the weights. Two weights whose scores differ give it as "
    "{inverse:subject}; with independent centred errors of standard deviation {tau} in the "
    "output’s entries, least squares gives it with the squared standard error {fitted:result} to "
    "first order, over the slopes {slope} of all entries.",
    meaning="The divisor of a kernel can be known without its code: queries, keys, values and output "
    "determine it, wherever scores differ and so do the values of these keys. The more the "
    "output changes with the scale, the more precise the result; that small errors have effects of first "
    "order only is measured. Where all scores or all values of a row are alike, or its weights have frozen, "
    "nothing can be inferred, and the standard error says so.",
    symbols={"c": c, "tau": tau, "slope": g[at]},
    assumptions=assume(known_inputs="Queries, keys, values and mask are those that were used."),
)
