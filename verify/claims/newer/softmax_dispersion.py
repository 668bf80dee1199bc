"""Bounded scores must disperse: within a range R no weight of N keys leaves 1/(1 + (N - 1)e^(±R))."""

from functools import partial

import numpy as np
from sympy import Rational, exp

from verify.claims.newer.shared import N, mean_over_signs, termwise, weight_of_leader
from verify.former import (
    RADEMACHER, ROUNDING, Claim, Derivation, Experiment, Fact, Figure, Findings, NormalRows, beside, biased,
    capped,
    cell_of, cite, component, computed, fact, figure, in_turn, line, ordered, over_cells, sharper, wrong,
)  # fmt: skip

R = ordered("R", positive=True)
LABEL = "mean of the largest weight"
ROWS = ((2, 0.125), (4, 1.0), (64, 1.0))
"""Numbers of keys, and scores that are plus or minus that number."""


def derive() -> Derivation:
    """Derive both bounds term by term."""
    least, most = termwise.between(exp(-R), exp(R), "No two scores of the row are further apart than $R$")
    return Derivation.of(most, lemmas=(least.defining("the weight of a key").called("least"),
                                       termwise.written_out()))  # fmt: skip


_mean_of_largest = partial(mean_over_signs, np.max)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the largest weight of rows of two levels, and compute the weights that attain both bounds."""
    cells = {(keys, size): cell_of(f"n{keys}-s{size:g}".replace(".", ""),
                                   NormalRows(keys, 16, size, RADEMACHER, ("largest",)))
             for keys, size in ROWS}  # fmt: skip
    most, least, largest = derivation.result, derivation.lemmas[0].end, component("largest", positive=True)
    values = over_cells("largest-{cell}", LABEL, cells, largest, _mean_of_largest)
    bounds = over_cells("bound-{cell}", LABEL, cells, largest,
                        lambda keys, size: most.subs({R: 2 * Rational(size), N: keys}),
                        capped(0.5, tolerance), "≤")  # fmt: skip
    label, lead = "weight of a key whose score is {} by 3 than all others", 3.0
    attained = {}
    for keys in (8, 512):
        at, where = {R: 3, N: keys}, {"n": keys}
        attained["most", keys] = computed(
            f"most-n{keys}", label.format("larger"), where, most.subs(at), weight_of_leader, lead, keys,
            allowance=ROUNDING, relation="≤")  # fmt: skip
        attained["least", keys] = computed(
            f"least-n{keys}", label.format("smaller"), where, least.subs(at), weight_of_leader, -lead, keys,
            allowance=ROUNDING, relation="≥")  # fmt: skip
    tight = attained["most", 512]
    return Experiment((*in_turn(values, bounds), *attained.values()), (
        sharper(bounds[2, 0.125], 0.93, _mean_of_largest(2, 0.125)),
        wrong(tight, "smaller-range", "the bound for a range smaller by a hundredth holds as well",
              most.subs({R: Rational(297, 100), N: 512})),
        wrong(attained["least", 512], "smaller-range-below",
              "the lower bound for a range smaller by a hundredth holds as well",
              least.subs({R: Rational(297, 100), N: 512})),
        wrong(values[64, 1.0], "as-few-keys",
              "the largest of {cell:n} weights is as large as that of {largest-n4-s1:n}", values[4, 1.0]),
        biased(values[4, 1.0], tolerance, at="n"),
    ))  # fmt: skip


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the published bound beside the one that is attained."""
    at = {R: 3, N: 512}
    return (fact("attained", "largest weight of 512 keys within a range of 3", derivation.result.subs(at)),
            fact("published", "the published bound of it, $e^R/n$", (exp(R) / N).subs(at)))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the largest weight over the number of keys, and both bounds."""
    found = findings.matching("largest-n*-s1")
    low, high = derivation.lemmas[0].end.subs(R, 2), derivation.result.subs(R, 2)
    return figure(
        "dispersion",
        "Within a fixed range of scores every weight falls like one over the number of keys",
        "The mean of the largest weight over the number of keys, on log axes: measured points between two "
        "falling lines, one for a key ahead of all others by the whole range and one for a key behind them.",
        LABEL, *beside(found, "integrated", lambda keys: _mean_of_largest(round(keys), 1.0), "n",
                       over=(4, 64), points=2),
        line("{theorem:result}", high, "other", over=(4, 64)),
        line("{least:result}", low, "control", over=(4, 64)), x="number of keys {n}",
    )  # fmt: skip


CLAIM = Claim(
    title="Within a fixed range of scores, attention spreads over all keys as their number grows",
    statement="If no two scores of a row of {n} keys differ by more than {R}, every weight is at least "
    "{least:result} and at most {theorem:result}. Rows with two levels of scores attain these bounds. Both "
    "tend to zero as {n} grows: bounded scores cannot keep attention on one key.",
    meaning="How sharp a softmax can be depends on how far apart its scores are. A key that leads by three "
    "has a weight of {most-n8:prediction.2} among {most-n8:n} keys, and of {attained:3} among {most-n512:n}. "
    "A published bound, {loose}, gives {published:3} for the latter: it is true, but attained only if all "
    "scores are equal. Networks with bounded inputs have bounded scores, so a head that must find one token "
    "among more and more needs scores that grow.",
    symbols={"n": N, "R": R, "loose": exp(R) / N},
    references=cite(
        "velickovic2025",
        "P. Veličković et al., Softmax Is Not Enough (for Sharp Size Generalisation), ICML 2025.",
        "https://arxiv.org/abs/2410.01104",
    ),
)
