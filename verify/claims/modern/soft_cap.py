"""A soft cap: c·tanh(s/c) bounds scores, takes little variance where they are small, and damps gradients."""

from functools import partial

from sympy import Derivative, Expr, sqrt, tanh

from verify.claims.modern.shared import CappedScores
from verify.former import (
    E, INDEPENDENT, NORMAL_MOMENTS, Claim, Derivation, Experiment, Figure, Findings, Population, Route,
    Smooth, Step, Tolerance, assume, biased, capped, cells_of, cite, component, d, figure, in_turn, k, line,
    measured, normal, ordered, over_cells, q, score as raw, score_law, sharper, wrong,
)  # fmt: skip
from verify.former.rules import Evaluation, FirstTerms, FromZero, Identity, PutIn

D, CAPS = 16, (1, 2, 4, 32)
"""Dimension of the scaled scores, and caps, the last about as large as those in use."""
c, score = ordered("c:a", positive=True), ordered("s", real=True)
SCALED = Population(dict.fromkeys((q, k), NORMAL_MOMENTS[:5]), d)
CAPPED = c * tanh(score / c)
LOST, DAMPED = r"$\mathbb{E}s^2 - \mathbb{E}[c\tanh(s/c)]^2$", r"$\mathbb{E}[1 - \tanh^2(s/c)]$"


def derive() -> Derivation:
    """Derive what a cap takes of the second moment at most, its first terms, and the slope that is left."""
    lost = score**2 - CAPPED**2
    bound = Route.of(
        "By the fourth moment", E(lost),
        Step(E(2 * score**4 / (3 * c**2)), r"$x^2 - \tanh^2 x \le 2x^4/3$ for $x = s/c$", FromZero(score, c)),
        Step(E(2 * (raw / sqrt(d)) ** 4 / (3 * c**2)), "At a scaled score", PutIn({score: raw / sqrt(d)})),
        Step((2 + 4 / d) / c**2, "Its fourth moment", Evaluation(SCALED, assumed=True)),
    )  # fmt: skip
    first = 2 * score**4 / (3 * c**2) - 17 * score**6 / (45 * c**4)
    series = Step(first, "Next come the 8th power and c to the −6th", FirstTerms(c, 4))
    terms = Route.of("For a large cap", lost, series, defines="what the cap takes of a square")
    falls = Step(1 - CAPPED**2 / c**2, "tanh' = 1 − tanh²", Identity())
    damped = Route.of("The slope", Derivative(CAPPED, score), falls, defines="the cap’s slope", name="slope")
    return Derivation.of(bound, lemmas=(terms, damped))


def _mean(of_score: Expr, cap: float) -> float:
    """Return the mean of an even function of a scaled score under that cap, integrated over the exact law."""
    return score_law.mean_of_even(of_score.subs(c, cap), score, D, D**-0.5)


_lost = partial(_mean, score**2 - CAPPED**2)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure what each cap takes, against the integral and the bound, and the slope that it leaves."""
    lost = Smooth(lambda mean: mean["square"] - mean["capped"], positive=True)
    slope, (two_terms, damped) = component("slope", positive=True), (one.end for one in derivation.lemmas)
    cells = cells_of("c{c}", CAPS, lambda c: (normal(16, 16, D), CappedScores(c)), scale=1 / sqrt(d))
    values = over_cells("lost-c{c}", LOST, cells, lost, _lost, Tolerance(2.0))
    bounds = over_cells("bound-c{c}", LOST, cells, lost, derivation.result, capped(0.5, tolerance), "≤")
    slopes = over_cells("slope-c{c}", DAMPED, cells, slope, partial(_mean, damped))
    least, largest = CAPS[0], CAPS[-1]
    return Experiment(in_turn(values, bounds, slopes), (
        sharper(bounds[largest], 0.98, _lost(largest)),
        wrong(values[least], "first-terms-suffice", "two terms suffice at a cap of one deviation",
              _mean(two_terms, least)),
        wrong(values[2], "bound-as-value", "a cap of {cell:c} takes what the bound says", bounds[2]),
        wrong(slopes[least], "slope-kept", "the cap leaves gradients as they are", 1),
        biased(values[least], tolerance, at="c"),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw what is lost over the cap, with the bound."""
    return figure(
        "lost",
        "A cap takes little of the variance of scores that are well below it",
        "What a cap takes of the variance of scaled scores, over the cap: measured points on the integrated "
        "curve, which falls like the inverse square of the cap and for large caps meets its bound.",
        "variance lost",
        line("integrated", _lost, points=11),
        line("bound", derivation.result.subs(d, D), "other"),
        measured(findings.matching("lost-c*"), against="c"),
        x="cap {c}",
    )


CLAIM = Claim(
    title="A soft cap bounds scores and costs hardly any variance while they are small beside it",
    statement="Capped scores {capped} stay within {c} of zero. Whatever the law of {s}, the cap takes at "
    "most {most} of their mean square: of scaled scores of normal components {theorem:result}, and nearly as "
    "much where {c} is large. It multiplies the gradient of each score by {slope:result}.",
    meaning="A cap of {lost-c32:c}, as in practice, takes {lost-c32:prediction.1%} of the variance of scaled "
    "scores in {lost-c32:d_k} dimensions: at the start of training it has little effect. It acts when scores "
    "grow, bounding the softmax’s input and damping the gradient of just those scores. A cap of {lost-c4:c} "
    "takes {lost-c4:prediction.2%}, one of {lost-c2:c} takes {lost-c2:prediction.2%}. The series in the "
    "inverse cap fails for small caps: at one standard deviation its first two terms are far off.",
    headline="lost-c32",
    symbols={"c": c, "s": score, "capped": CAPPED, "most": E(2 * score**4 / (3 * c**2))},
    assumptions=assume(INDEPENDENT, normal="Every component is standard normal."),
    references=cite(
        "gemma2024",
        "Gemma Team, Gemma 2: Improving Open Language Models at a Practical Size, 2024: a cap of 50 on "
        "scores.",
        "https://arxiv.org/abs/2408.00118",
    ),
)
