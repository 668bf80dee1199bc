"""A rotation of queries and keys changes no score; what eight bits lose depends on the format."""

from sympy import Integral, Rational, S, cos, sin

from verify.claims.newer.shared import EightBits, change_by_rotation
from verify.former import (
    ROUNDING, Claim, Derivation, Experiment, Fact, Route, Step, capped, cell_of,
    cite, computed, fact, one_step, ordered, over_cells, ratio, threshold, wrong,
)  # fmt: skip
from verify.former.rules import Identity, Primitive

(q_1, q_2, k_1, k_2, theta, e), h = ordered("q_1 q_2 k_1 k_2 theta e", real=True), ordered("h", positive=True)
SCORES, OUTPUTS = "error of scores, plain over rotated", "error of outputs, plain over rotated"


def derive() -> Derivation:
    """Derive that a rotation of two components changes no score, and the error of a uniform step."""
    query = q_1 * cos(theta) - q_2 * sin(theta), q_1 * sin(theta) + q_2 * cos(theta)
    key = k_1 * cos(theta) - k_2 * sin(theta), k_1 * sin(theta) + k_2 * cos(theta)
    turned = Route.of(
        "Two components of query and key, turned by one angle", query[0] * key[0] + query[1] * key[1],
        Step(q_1 * k_1 + q_2 * k_2, r"$\cos^2 + \sin^2 = 1$", Identity()),
    )  # fmt: skip
    step = one_step("An error that is uniform within half a step h", Integral(e**2 / h, (e, -h / 2, h / 2)),
                    h**2 / 12,
                    "Integrated", Primitive(e, e**3 / (3 * h)), defines="the mean squared error",
                    name="step")  # fmt: skip
    beyond = "what rounding in either format does to scores and to outputs is measured only."
    return Derivation.of(turned, lemmas=(step,), beyond=beyond)


def experiment(tolerance: float) -> Experiment:
    """Measure the errors of scores and of outputs, as they are and rotated, in two formats."""
    floats = {keys: cell_of(f"e4m3-n{keys}", EightBits(keys, "E4M3")) for keys in (32, 256)}
    whole = {32: cell_of("int8-n32", EightBits(32, "int8"))}
    by_row = {32: cell_of("row-n32", EightBits(32, "int8 by row"))}
    near, scores = capped(0.5, tolerance), ratio("scores", "scores-rotated")
    outputs = ratio("outputs", "outputs-rotated")
    same = over_cells("scores-{cell}", SCORES, floats, scores, threshold(1), near, "≤")
    less = over_cells("scores-{cell}", SCORES, whole, scores, threshold(2), near, "≥")
    row = over_cells("scores-{cell}", SCORES, by_row, scores, threshold(Rational(6, 5)), near, "≥")
    gain = over_cells(
        "outputs-{cell}", OUTPUTS, {256: floats[256]}, outputs, threshold(Rational(11, 10)), near, "≥"
    )
    label = "largest change of scores by a rotation of all components"
    change = computed("change", label, {"d_k": 64}, S.Zero, change_by_rotation, allowance=ROUNDING)
    return Experiment((*same.values(), *less.values(), *row.values(), *gain.values(), change), (
        wrong(same[32], "scores-improve", "in eight-bit floats rotation takes a tenth off the error of "
                                          "scores",
              threshold(Rational(9, 10))),
        wrong(less[32], "as-in-floats", "eight-bit integers gain a factor of ten", threshold(10)),
        wrong(row[32], "as-without-rows", "a step for each row leaves as large a gain", threshold(2)),
        wrong(gain[256], "twice", "rotation leaves a third of the error of outputs", threshold(3)),
        wrong(change, "no-rotation", "a matrix whose rows are longer by a thousandth does as well",
              computed=change_by_rotation(1.001)),
    ))  # fmt: skip


def facts() -> Fact:
    """Return the published gain."""
    return fact("published", "the published gain of outputs by rotation", Rational(13, 5))


CLAIM = Claim(
    title="Rotating queries and keys changes no score, and helps eight-bit formats with uniform steps",
    statement="Rotating two components of queries and keys by {theta} leaves their contribution to a score "
    "unchanged: {theorem}; and every rotation of all components is a product of such rotations. With steps "
    "of {h}, an error that is uniform within half a step has mean square {step:result}; a uniform format "
    "takes its step from the largest number.",
    meaning="A few outliers set the step of a uniform format for all numbers; a rotation spreads them over "
    "all components, so the largest number becomes smaller, and every error with it. With one component in "
    "a thousand enlarged, the error of scores in eight-bit integers is measured as "
    "{scores-int8-n32:estimate.2} times as large without rotation as with it, and "
    "{scores-row-n32:estimate.2} times if each row has a step of its own. Eight-bit floats err in "
    "proportion to each number, large or small, and there the ratio is {scores-e4m3-n32:estimate.2}: "
    "rotation does not improve the scores. Outputs do improve, by a factor of "
    "{outputs-e4m3-n256:estimate±} over {outputs-e4m3-n256:n} keys; the published gain of {published:2} "
    "also concerns outputs, over longer rows.",
    headline="scores-int8-n32",
    symbols={"theta": theta, "h": h},
    references=cite(
        "shah2024",
        "J. Shah et al., FlashAttention-3: Fast and Accurate Attention with Asynchrony and "
        "Low-precision, NeurIPS 2024.",
        "https://arxiv.org/abs/2407.08608",
    ),
)
