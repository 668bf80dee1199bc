"""QK-clip: weights of queries and keys times √γ bring the largest score to τ, and bound none from below."""

from sympy import Rational, S, Sum, exp, sqrt

from verify.claims.newer.shared import ClippedScores, distance_from_temperature, largest_clipped
from verify.former import (
    ROUNDING, Claim, Derivation, Experiment, Figure, Findings, biased, cells_of, cite, component, computed, d,
    figure, i, index, k, line, measured, n, normal, of_probability, one_step, ordered, over_cells, q, s,
    score, wrong,
)  # fmt: skip
from verify.former.rules import Families, SumIdentity, Unfolded

gamma, tau, top = ordered(r"gamma tau S_{\max}", positive=True)
LEVEL = 4.0
"""The level that scores are clipped to."""
DIMENSIONS = (4, 8, 16)
LABEL = "share of inputs with a score below minus the level after clipping"


def derive() -> Derivation:
    """Derive what the factor does to scores, to the largest of them and to ratios of weights."""
    both = Sum(sqrt(gamma) * q[index] * sqrt(gamma) * k[index], (index, 1, d))
    scores = one_step("Queries and keys times a root each", both, gamma * score,
                      "The factor stands before the sum",
                      SumIdentity(Families(sizes={q: (d,), k: (d,)}), "components"),
                      defines="a score once queries and keys are multiplied by the root of the "
                              "factor")  # fmt: skip
    largest = one_step("The largest score", gamma * top, tau, "With the factor that is chosen",
                       Unfolded({gamma: tau / top}),
                       defines="the largest score, multiplied by the factor", name="largest")  # fmt: skip
    weights = (
        exp(gamma * s[1]) / Sum(exp(gamma * s[i]), (i, 1, n)),
        exp(gamma * s[2]) / Sum(exp(gamma * s[i]), (i, 1, n)),
    )
    ratio = one_step("Two weights", weights[0] / weights[1], exp(gamma * (s[1] - s[2])), "The sum cancels",
                     SumIdentity(),
                     defines="the ratio of two weights after clipping", name="ratio")  # fmt: skip
    return Derivation.of(scores, lemmas=(largest, ratio))


def experiment(tolerance: float) -> Experiment:
    """Measure how often a score stays below minus the level; compute the largest, and the weights."""
    cells = cells_of("d{d_k}", DIMENSIONS, lambda d_k: (normal(32, 32, d_k), ClippedScores(0.5, 4)))
    below = over_cells("below-{cell}", LABEL, cells, component("below", positive=True), S.Half)
    largest = computed("largest", "largest score of fixed inputs after clipping", {"tau": LEVEL}, LEVEL,
                       largest_clipped, LEVEL, allowance=ROUNDING)  # fmt: skip
    label = "largest distance of the weights of clipped scores from those at a temperature"
    weights = computed(
        "temperature", label, {"tau": LEVEL}, S.Zero, distance_from_temperature, LEVEL, allowance=ROUNDING
    )
    return Experiment((*below.values(), largest, weights), (
        wrong(below[16], "absolute", "after clipping no score exceeds the level in absolute value", S.Zero,
              tolerance=of_probability()),
        wrong(below[16], "seldom", "a score below minus the level remains in only nine of twenty draws",
              Rational(9, 20), relation="≤"),
        wrong(largest, "higher-level", "the largest score is a hundredth above the level",
              LEVEL * Rational(101, 100)),
        wrong(weights, "root-alone", "scores are multiplied by the root of the factor",
              computed=distance_from_temperature(LEVEL, 0.5)),
        biased(below[16], tolerance),
    ))  # fmt: skip


def figures(findings: Findings) -> Figure:
    """Draw in how many draws a score stays below minus the level."""
    return figure(
        "below",
        "Clipping leaves a score below minus the level in half of all draws",
        "Share of random inputs with a score below minus the level after clipping, over the dimension: "
        "measured points on a level line at one half, where a bound on both sides would have zero.",
        "share of inputs", line("derived", 0.5), measured(findings.matching("below-d*")),
        line("if both sides were bounded", 0.0, "control"), y_scale="linear",
    )  # fmt: skip


CLAIM = Claim(
    title="Clipping queries and keys acts as a temperature, and bounds scores on one side only",
    statement="Multiplying both queries and keys by the square root of {gamma} turns every score into "
    "{theorem:result}. If {top}, the largest score of some inputs, exceeds the level {tau}, and {gamma} is "
    "{tau} over {top}, their largest score becomes {largest:result}. The ratio of two weights becomes "
    "{ratio:result}: {gamma} is an inverse temperature.",
    meaning="After a training step in which scores grew too large, the projections of queries and keys are "
    "scaled down so that the same inputs would stay at the level. Scores of other inputs may exceed it "
    "again. Moreover, only the largest score counts, not the largest absolute value: scores far below zero "
    "remain below minus the level, for symmetrically distributed inputs in half of all draws, measured as "
    "{below-d16:estimate.2} in {below-d16:d_k} dimensions. This does softmax no harm, since such keys get "
    "little weight; in a low-precision format they may still overflow.",
    symbols={"gamma": gamma, "tau": tau, "top": top},
    references=cite(
        "kimi2025",
        "Kimi Team, Kimi K2: Open Agentic Intelligence, 2025: QK-Clip.",
        "https://arxiv.org/abs/2507.20534",
    ),
)
