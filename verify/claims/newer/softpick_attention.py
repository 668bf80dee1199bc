"""Softpick: half of all weights are 0, and a row of many keys sums to less than 1, by the scores' spread."""

from scipy import special
from sympy import Dummy, Float, Integral, Rational, S, exp, oo

from verify.claims.newer.shared import SoftpickRows, mean_of_softpick
from verify.former import (
    Claim, Derivation, Experiment, Fact, Figure, Findings, Route, Step, Tolerance, beside, biased, capped,
    cell_of, cite, component,
    fact, figure, line, of_probability, one_step, ordered, over_cells, sharper, sigma, wrong,
)  # fmt: skip
from verify.former.rules import (
    Applied, Even, GaussIntegrals, Identity, Replaced, SameIntegrands, Substituted, Turned, normal_density,
)  # fmt: skip

KEYS = (2, 16, 64, 1024)
LABEL, ZERO = "mean sum of a row’s weights", "share of weights that are 0"
y, u = ordered("y u", real=True)
DENSITY, MEAN = normal_density(y, sigma**2), exp(sigma**2 / 2)
BELOW = Integral(normal_density(u, sigma**2), (u, -(sigma**2), oo))
"""The chance that a score exceeds -σ², which is that of a standard normal number below σ."""
KEPT, POSITIVE = Integral((exp(y) - 1) * DENSITY, (y, 0, oo)), MEAN * BELOW - S.Half


def derive() -> Derivation:
    """Derive the mean of what softpick keeps of a score, and its share of the mean of all sizes."""
    half, whole, hole = Integral(DENSITY, (y, 0, oo)), Integral(DENSITY, (y, -oo, oo)), Dummy()
    even = Route.of(
        "Half of all scores are positive", whole,
        Step(2 * half, "The density is even", Even(y)),
        Step(whole, "Read from right to left", Turned()),
        Step(S.One, "The whole probability", GaussIntegrals(y)),
        Step(S.Half, "Halved", Applied(hole / 2, hole)),
    )  # fmt: skip
    tilted = one_step("The exponentials of positive scores", Integral(exp(y) * DENSITY, (y, 0, oo)),
                      MEAN * BELOW,
                      r"The square completed: $y = u + \sigma^2$",
                      Substituted(y, u, u + sigma**2))  # fmt: skip
    kept = Route.of(
        "Positive scores", KEPT,
        Step(Integral(exp(y) * DENSITY, (y, 0, oo)) - half, "One integral for each term", SameIntegrands(y)),
        Step(MEAN * BELOW - half, "The exponential", Replaced(tilted.proved())),
        Step(POSITIVE, "Half of all scores are positive", Replaced(even.proved())),
        defines="the mean of $e^s - 1$ where that is positive, for normal scores", name="kept",
    )  # fmt: skip
    mean = MEAN - 1
    share = Route.of(
        r"Its share of the mean size of $e^s - 1$, which is twice it less the mean of $e^s - 1$",
        KEPT / (2 * KEPT - mean),
        Step(POSITIVE / (2 * POSITIVE - mean), "The mean put in", Replaced(kept.proved())),
        Step(POSITIVE / (MEAN * (2 * BELOW - 1)), "Terms gathered", Identity()),
    )  # fmt: skip
    beyond = "that the sum of a row tends to this share, by the law of large numbers, is measured only."
    return Derivation.of(
        share, lemmas=(kept, even.defining("the whole probability").called("half")), beyond=beyond
    )


def _limit(derivation: Derivation, deviation: float) -> float:
    """Return what rows of very many keys sum to."""
    chance = Float(special.ndtr(deviation), 17)
    return float(derivation.result.subs({BELOW: chance}).subs(sigma, deviation))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the sum of rows against the integral and the limit, and how many weights are 0."""
    cells = {keys: cell_of(f"n{keys}", SoftpickRows(keys)) for keys in KEYS}
    total, zero, near = (
        component("total", positive=True),
        component("zero", positive=True),
        capped(0.5, tolerance),
    )
    sums = over_cells("sum-{cell}", LABEL, cells, total, mean_of_softpick)
    limit = over_cells("limit-{cell}", LABEL, {1024: cells[1024]}, total, _limit(derivation, 1.0), near, "≤")
    none = over_cells("zero-{cell}", ZERO, {64: cells[64]}, zero, S.Half)
    return Experiment((*sums.values(), *limit.values(), *none.values()), (
        sharper(limit[1024], 0.98, sums[1024].prediction.value),
        wrong(sums[1024], "four-fifths", "rows of many keys sum to four fifths", Rational(4, 5),
              tolerance=Tolerance(0.1)),
        wrong(sums[1024], "sums-to-one", "the weights of a row sum to one, as with softmax", S.One),
        wrong(sums[2], "limit-at-once", "the limit holds for two keys", _limit(derivation, 1.0)),
        wrong(none[64], "none-is-zero", "no weight is zero, as with softmax", S.Zero,
              tolerance=of_probability()),
        biased(sums[64], tolerance, at="n"),
    ))  # fmt: skip


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the limits at several deviations of scores."""
    return tuple(
        fact(f"limit-s{words}", f"sum of a row of very many keys at scores of deviation {value}",
             Float(_limit(derivation, value), 6))
        for words, value in (("half", 0.5), ("one", 1.0), ("two", 2.0))
    )  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the mean sum over the number of keys, and its limit."""
    return figure(
        "sums",
        "The sum of a softpick row rises with the number of keys to a limit below one",
        "Mean sum of a row's weights over the number of keys: measured points on a curve that rises from "
        "above one half and levels off at about four fifths.",
        LABEL, *beside(findings.matching("sum-n*"), "integrated",
                       lambda keys: mean_of_softpick(round(keys)), "n",
                       over=(2, 1024), points=10),
        line("derived limit", _limit(derivation, 1.0), "other", over=(2, 1024)),
        x="number of keys", y_scale="linear",
    )  # fmt: skip


CLAIM = Claim(
    title="Softpick gives half of the keys no weight, and its rows sum to less than one",
    statement="Softpick divides the positive part of a score’s exponential minus one by the sum of the "
    "absolute values of these differences over the row. For centred normal scores of standard deviation "
    "{sigma}, the positive part has mean {kept:result}, which is the share {theorem:result} of the mean "
    "absolute value.",
    meaning="A key with a negative score gets no weight at all; that is half of the keys if scores are "
    "symmetric about zero. Negative scores still count in the denominator, so rows do not sum to one. On "
    "average over rows of standard normal scores, the sum is {sum-n2:prediction.3} for two keys, "
    "{sum-n64:prediction.3} for {sum-n64:n}, and {limit-sone:4} for very many; at half that standard "
    "deviation it is {limit-shalf:4}, at twice it {limit-stwo:4}. The sum of a row follows the scale of its "
    "scores, and so do the outputs. A row whose scores are all zero is zero over zero, which the small "
    "constant that programs add to the denominator turns into zero.",
    symbols={"sigma": sigma},
    references=cite(
        "zuhri2025",
        "Z. M. K. Zuhri et al., Softpick: No Attention Sink, No Massive Activations with Rectified "
        "Softmax, 2025.",
        "https://arxiv.org/abs/2504.20966",
    ),
)
