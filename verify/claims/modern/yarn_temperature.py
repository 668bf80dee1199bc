"""YaRN's temperature: a factor (0.1 ln s + 1)² on scores, and what it does to rows s times as long."""

import math

from sympy import Expr, Rational, S, cbrt, log, sqrt

from verify.spec import (
    INDEPENDENT, NORMAL, NORMAL_COMPONENTS, PENG, STANDARD, Claim, Derivation, Experiment, Figure, Findings,
    OnRange, Ordered, PutIn, Quantity, Route, Simulated, Smooth, SoftmaxRows, Step, Tolerance, biased,
    by, cell_of, component, d, effective_keys, figure, in_turn, integrated, is_zero, line, mean_entropy,
    mean_squares, measured, over_cells, over_lengths, prediction, scaled, score, score_cell, variance_route,
    wrong,
)  # fmt: skip

D, TRAINED, LONGER = 16, 8, (1, 4, 16, 64)
"""Dimension, keys of the rows of training, and how many times as long the rows become."""
s, ell = (Ordered(name, name, positive=True) for name in ("s", r"\ell"))
FACTOR, factor = (log(s) / 10 + 1) ** 2, Ordered("c", "c", positive=True)
UNTIL, BEYOND = Rational(33, 5), Rational(20, 3)
"""Up to the first of these logarithms of s, at s = 735, effective keys are no fewer than at s = 1; at the
second, at s = 786, they are."""
VARIANCE, SQUARES = r"$\operatorname{Var}(c\,q\cdot k)$", r"$\mathbb{E}\sum p_j^2$"
LOST = r"$\ln n - \mathbb{E}H$"


@by("SymPy: concave, and level where the slope of the power is 1", "general")
def _at_its_most(before: Expr, after: Expr) -> bool:
    """The most of a concave function is where it is level."""
    at = 10 * (cbrt(Rational(5, 2)) - 1)
    level = is_zero(before.diff(ell).subs(ell, at)) and is_zero(before.subs(ell, at) - after)
    return level and bool(before.diff(ell, 2).is_negative)


def derive() -> Derivation:
    """Derive the variance, the effective share of many keys, and how their number follows the length."""
    chosen = Step(FACTOR**2, r"YaRN’s factor, $c = (0.1\ln s + 1)^2$", PutIn({factor: FACTOR}), "⇒")
    variance = variance_route(factor * score / sqrt(d), STANDARD).then(chosen)
    grows = Route.of(
        r"The variance at $\ell = \ln s$ stays below what keeps $n e^{-\sigma^2}$ the same",
        (1 + ell / 10) ** 4,
        Step(1 + ell, r"for $0 < \ell \le 6.6$, that is $s \le 735$", OnRange(ell, S.Zero, UNTIL, BEYOND)),
    ).defining("the variance of the scores")  # fmt: skip
    power = Rational(15, 2) * cbrt(Rational(5, 2)) - 9
    most = Route.of(
        r"Logarithm of $n e^{-\sigma^2}$ over what it is at $s = 1$",
        1 + ell - (1 + ell / 10) ** 4,
        Step(power, r"Most at $\ell = 10(\sqrt[3]{5/2} - 1)$, that is $s = 36$", _at_its_most, "≤"),
    ).defining("how many times as many keys, as a logarithm")
    many = effective_keys.for_many().defining("many keys over the effective number of them")
    return Derivation.of(variance, lemmas=(many, grows, most))


def _scale(longer: int) -> Expr:
    return FACTOR.subs(s, longer) / sqrt(d)


def _squares(longer: int, scale: Expr) -> float:
    """Return E Σp² of rows so many times as long as in training, integrated."""
    return over_lengths(mean_squares, TRAINED * longer, D, scaled(scale, D)).value


def _exactly_lost(longer: int) -> float:
    entropy = over_lengths(mean_entropy, TRAINED * longer, D, scaled(_scale(longer), D))
    return math.log(TRAINED * longer) - entropy.value


def _lost(longer: int) -> Smooth:
    """Return the entropy that such rows lose, from its mean."""
    return Smooth(lambda mean: math.log(TRAINED * longer) - mean["entropy"], positive=True)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance, and concentration and entropy of rows that grow with s."""
    spreads = {}
    for one in LONGER:
        cell = score_cell(D, NORMAL, NORMAL, tolerance, scale=_scale(one), prefix=f"s{one}-")
        level = prediction(derivation.result.subs(s, one))
        spreads[one] = Quantity(f"variance-s{one}", VARIANCE, cell.cell, cell.variance, level)
    rows = {
        one: cell_of(f"rows-s{one}", Simulated(NORMAL, NORMAL, 64, TRAINED * one, D),
                     SoftmaxRows(("squares", "entropy")), scale=_scale(one), s=one)
        for one in LONGER[:-1]
    }  # fmt: skip
    mean, wide = component("squares", positive=True), Tolerance(2.0)
    squares = over_cells("squares-s{s}", SQUARES, rows, mean, lambda one: _squares(one, _scale(one)), wide)
    lost = over_cells("lost-s{s}", LOST, rows, _lost, _exactly_lost, wide)
    many, most = LONGER[-2:]
    controls = (
        wrong(spreads[most], "factor-once", "the factor enters the variance once, not squared",
              math.sqrt(spreads[most].prediction.value)),
        wrong(squares[many], "same-number", "16 times as long rows attend to as many keys", squares[1]),
        wrong(squares[many], "no-effect", "effective keys are as many as without the factor",
              integrated(_squares(many, 1 / sqrt(d)))),
        wrong(lost[many], "same-loss", "rows lose as much entropy as at $s = 1$", lost[1]),
        biased(spreads[many], tolerance),
    )  # fmt: skip
    return Experiment((*spreads.values(), *in_turn(squares, lost)), controls)


def figures(findings: Findings) -> Figure:
    """Draw the effective number of keys over s, with the factor, without it, and as in training."""
    at = (1, 2, 4, 8, 16, 32, 64)
    with_factor, without = (
        [_squares(one, scale(one)) for one in at] for scale in (_scale, lambda _: 1 / sqrt(d))
    )
    return figure(
        "effective",
        "YaRN’s factor slows the spreading of attention over longer rows",
        "Mean sum of squared weights, one over the effective number of keys, over the length of rows: with "
        "the factor it falls more slowly than without, and still far below the level line of as many keys "
        "as in training.",
        SQUARES,
        line("integrated", with_factor, at=at),
        line("without the factor", without, "other", at=at),
        line("as in training", with_factor[0], "control"),
        measured(findings.matching("squares-*"), against="s"),
        x="length of a row over that in training, $s$",
    )


CLAIM = Claim(
    title="YaRN's factor slows the spreading of attention over longer rows",
    statement=r"The factor $(0.1\ln s + 1)^2$ on scaled scores makes their variance $(0.1\ln s + 1)^4$: 1.68 "
    "at $s = 4$, 2.66 at 16 and 4.02 at 64. Over many keys attention with normal scores of variance "
    r"$\sigma^2$ spreads over about $n e^{-\sigma^2}$ of them. With $n$ in proportion to $s$ that is 3.1 "
    r"times as many at $s = 64$ as at $s = 1$, not 64 times; at no $s$ more than $e^{7.5\sqrt[3]{2.5} - 9}$, "
    "3.3 times as many, and no fewer up to $s = 735$.",
    meaning="Without the factor a row 64 times as long spreads its attention over 64 times as many keys. "
    r"The factor takes most of that back: to keep the number, the variance would have to be $1 + \ln s$. "
    "“Many keys” are needed for these numbers: rows that grow from 8 to 128 keys in 16 dimensions attend to "
    "3.5 times as many, not 3.0. It was fitted to trained models, whose scores are not random; for random "
    "ones this is what it does.",
    assumptions=(INDEPENDENT, NORMAL_COMPONENTS),
    references=(PENG,),
)
