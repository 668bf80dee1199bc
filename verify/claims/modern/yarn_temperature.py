"""YaRN's temperature: a factor (0.1 ln s + 1)² on scores, and what it does to rows s times as long."""

import math
from collections.abc import Callable
from functools import partial

from sympy import Expr, Rational, S, cbrt, log, sqrt

from verify.spec import (
    INDEPENDENT, NORMAL, NORMAL_COMPONENTS, PENG, STANDARD, Approximation, AtItsMost, Claim, Derivation,
    Experiment, Figure, Findings, OnRange, PutIn, SoftmaxRows, Step, Tolerance, beside, biased, cells_of,
    component, d, effective_keys, entropy_lost, figure, in_turn, line, mean_lost, mean_of_rows, mean_squares,
    normal, one_step, ordered, over_cells, score, score_cell, variance_route, variances, wrong,
)  # fmt: skip

D, TRAINED = 16, 8
"""Dimension, and keys of the rows of training."""
longer, ell, factor = ordered(r"s \ell c", positive=True)
FACTOR, ROOT = (log(longer) / 10 + 1) ** 2, sqrt(d)
RANGE = OnRange(ell, S.Zero, Rational(33, 5), Rational(20, 3))
"""Up to the first of these logarithms of s, at s = 735, effective keys are no fewer than at s = 1; at the
second, at s = 786, they are."""
VARIANCE, SQUARES = r"$\operatorname{Var}(c\,q\cdot k)$", r"$\mathbb{E}\sum p_j^2$"
LOST = r"$\ln n - \mathbb{E}H$"


def derive() -> Derivation:
    """Derive the variance, the effective share of many keys, and how their number follows the length."""
    chosen = Step(FACTOR**2, r"YaRN’s factor, $c = (0.1\ln s + 1)^2$", PutIn({factor: FACTOR}))
    variance = variance_route(factor * score / ROOT, STANDARD).then(chosen)
    grows = one_step(r"The variance at $\ell = \ln s$ stays below what keeps $n e^{-\sigma^2}$ the same",
                     (1 + ell / 10) ** 4, 1 + ell, r"for $0 < \ell \le 6.6$, that is $s \le 735$", RANGE,
                     defines="the variance of the scores")  # fmt: skip
    power, at = Rational(15, 2) * cbrt(Rational(5, 2)) - 9, 10 * (cbrt(Rational(5, 2)) - 1)
    most = one_step(r"Logarithm of $n e^{-\sigma^2}$ over what it is at $s = 1$",
                    1 + ell - (1 + ell / 10) ** 4, power,
                    r"Most at $\ell = 10(\sqrt[3]{5/2} - 1)$, that is $s = 36$", AtItsMost(ell, at),
                    defines="how many times as many keys, as a logarithm")  # fmt: skip
    many = effective_keys.for_many().defining("many keys over the effective number of them")
    return Derivation.of(variance, lemmas=(*effective_keys.lemmas(), many, grows, most))


def _exact(mean: Callable[..., Approximation], s: float, factor: Expr = FACTOR) -> float:
    """Return a mean over rows s times as long as in training, integrated."""
    return mean_of_rows(mean, round(TRAINED * s), dimension=D, scale=factor.subs(longer, s) / ROOT)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance, and concentration and entropy of rows that grow with s."""
    scores = [score_cell(D, NORMAL, NORMAL, tolerance, scale=FACTOR.subs(longer, s) / ROOT,
                         prefix=f"s{s}-", s=s) for s in (1, 4, 16, 64)]  # fmt: skip
    spreads = variances(scores, VARIANCE, derivation.result, name="variance-s{s}")
    rows = cells_of("rows-s{s}", (1, 4, 16), lambda s: (
        normal(64, TRAINED * s, D), SoftmaxRows(("squares", "entropy")), FACTOR.subs(longer, s) / ROOT
    ))  # fmt: skip
    mean, wide = component("squares", positive=True), Tolerance(2.0)
    squares = over_cells("squares-s{s}", SQUARES, rows, mean, partial(_exact, mean_squares), wide)
    lost = over_cells("lost-s{s}", LOST, rows, lambda s: entropy_lost(TRAINED * s),
                      partial(_exact, mean_lost), wide)  # fmt: skip
    return Experiment((*spreads, *in_turn(squares, lost)), (
        wrong(spreads[-1], "factor-once", "the factor enters the variance once, not squared",
              math.sqrt(spreads[-1].prediction.value)),
        wrong(squares[16], "same-number", "16 times as long rows attend to as many keys", squares[1]),
        wrong(squares[16], "no-effect", "effective keys are as many as without the factor",
              _exact(mean_squares, 16, S.One)),
        wrong(lost[16], "same-loss", "rows lose as much entropy as at $s = 1$", lost[1]),
        biased(spreads[-1], tolerance),
    ))  # fmt: skip


def figures(findings: Findings) -> Figure:
    """Draw the effective number of keys over s, with the factor, without it, and as in training."""
    squares, without = partial(_exact, mean_squares), partial(_exact, mean_squares, factor=S.One)
    return figure(
        "effective",
        "YaRN’s factor slows the spreading of attention over longer rows",
        "Mean sum of squared weights, one over the effective number of keys, over the length of rows: with "
        "the factor it falls more slowly than without, and still far below the level line of as many keys "
        "as in training.",
        SQUARES, *beside(findings.matching("squares-*"), "integrated", squares, "s", over=(1, 64), points=7),
        line("without the factor", without, "other", over=(1, 64), points=7),
        line("as in training", squares(1), "control"), x="length of a row over that in training, $s$",
    )  # fmt: skip


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
