"""YaRN's temperature: a factor (0.1 ln s + 1)² on scores, and what it does to rows s times as long."""

from collections.abc import Callable
from functools import partial

from sympy import Expr, Rational, S, cbrt, exp, log, sqrt

from verify.claims.modern.shared import entropy_lost
from verify.former import (
    E, NORMAL, SQUARES, STANDARD, Claim, Derivation, Experiment, Fact, Figure, Findings, SoftmaxRows, Step,
    Tolerance, beside, biased, cells_of, cite, component, d, effective_keys, fact, figure, in_turn, line,
    mean_of_rows, n, normal, one_step, ordered, over_cells, row_integrals, score, score_cell, sigma,
    variance_route, variances, wrong,
)  # fmt: skip
from verify.former.rules import AtItsMost, OnRange, PutIn

D, KEYS = 16, 8
"""Dimension, and keys of the rows of training."""
longer, ell, factor = ordered(r"s \ell c", positive=True)
FACTOR, ROOT, CUBE = (log(longer) / 10 + 1) ** 2, sqrt(d), cbrt(Rational(5, 2))
SCALE, RANGE = FACTOR / ROOT, OnRange(ell, S.Zero, Rational(33, 5), Rational(20, 3))
"""The scale; and effective keys are no fewer than at s = 1 up to the first logarithm of s, not the second."""
VARIANCE, SUM = r"$\operatorname{Var}(c\,q\cdot k)$", r"$\mathbb{E}\sum p_j^2$"


def derive() -> Derivation:
    """Derive the variance, the effective share of many keys, and how their number follows the length."""
    chosen = Step(FACTOR**2, r"YaRN’s factor, $c = (0.1\ln s + 1)^2$", PutIn({factor: FACTOR}))
    variance = variance_route(factor * score / ROOT, STANDARD).then(chosen)
    bent, power, at = (1 + ell / 10) ** 4, 15 * CUBE / 2 - 9, 10 * (CUBE - 1)
    grows = one_step(r"The variance at $\ell = \ln s$ stays below what keeps $n e^{-\sigma^2}$ the same",
                     bent, 1 + ell, r"for $0 < \ell \le 6.6$, that is $s \le 735$", RANGE,
                     defines="the variance of the scores", name="grows")  # fmt: skip
    most = one_step(r"Logarithm of $n e^{-\sigma^2}$ over what it is at $s = 1$", 1 + ell - bent, power,
                    r"Most at $\ell = 10(\sqrt[3]{5/2} - 1)$, that is $s = 36$", AtItsMost(ell, at),
                    defines="how many times as many keys, as a logarithm")  # fmt: skip
    many = effective_keys.for_many().defining("many keys over the effective number of them").called("many")
    return Derivation.of(variance, lemmas=(*effective_keys.lemmas(), many, grows, most))


def _exact(mean: Callable[..., row_integrals.Approximation], s: float, factor: Expr = FACTOR) -> float:
    """Return a mean over rows s times as long as in training, integrated."""
    return mean_of_rows(mean, round(KEYS * s), dimension=D, scale=factor.subs(longer, s) / ROOT)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance, and concentration and entropy of rows that grow with s."""
    scores = [score_cell(D, NORMAL, NORMAL, tolerance, scale=SCALE.subs(longer, s),
                         prefix=f"s{s}-", s=s) for s in (1, 4, 16, 64)]  # fmt: skip
    spreads = variances(scores, VARIANCE, derivation.result, name="variance-s{s}")
    rows = cells_of("rows-s{s}", (1, 4, 16), lambda s: (
        normal(64, KEYS * s, D), SoftmaxRows(("squares", "entropy")), SCALE.subs(longer, s)))  # fmt: skip
    mean, wide = component("squares", positive=True), Tolerance(2.0)
    squares = over_cells("squares-s{s}", SUM, rows, mean, partial(_exact, row_integrals.mean_squares), wide)
    lost = over_cells("lost-s{s}", r"$\ln n - \mathbb{E}H$", rows, lambda s: entropy_lost(KEYS * s),
                      partial(_exact, row_integrals.mean_lost), wide)  # fmt: skip
    return Experiment((*spreads, *in_turn(squares, lost)), (
        wrong(spreads[-1], "factor-once", "the factor enters the variance once", FACTOR.subs(longer, 64)),
        wrong(squares[16], "same-number", "{cell:s} times as long rows attend to as many keys", squares[1]),
        wrong(squares[16], "no-effect", "the factor changes nothing",
              _exact(row_integrals.mean_squares, 16, S.One)),
        wrong(lost[16], "same-loss", "rows lose as much entropy as at {lost-s1:s=}", lost[1]),
        biased(spreads[-1], tolerance),
    ))  # fmt: skip


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return how many times as many keys rows attend to if these are many, and how long they may be."""
    many = {f"many-keys-s{s}": log(s) + 1 - derivation.result.subs(longer, s) for s in (16, 64)}
    powers = {**many, "most-keys": derivation.lemmas[-1].end, "longest-row": RANGE.high}
    return tuple(fact(one, one.replace("-", " "), exp(power)) for one, power in powers.items())


def figures(findings: Findings) -> Figure:
    """Draw the effective number of keys over s, with the factor, without it, and as in training."""
    squares, without = (
        partial(_exact, row_integrals.mean_squares),
        partial(_exact, row_integrals.mean_squares, factor=S.One),
    )
    return figure(
        "effective",
        "YaRN’s factor slows the spreading of attention over longer rows",
        "Mean sum of squared weights, one over the effective number of keys, over the length of rows: with "
        "the factor it falls more slowly than without, and still far below the level line of training.",
        "{sum}", *beside(findings.matching("squares-*"), "integrated", squares, "s", over=(1, 64), points=7),
        line("without the factor", without, "other", over=(1, 64), points=7),
        line("as in training", squares(1), "control"), x="length of a row over that in training, {s}",
    )  # fmt: skip


CLAIM = Claim(
    title="YaRN's factor slows the spreading of attention over longer rows",
    statement="With YaRN’s factor on scaled scores, {theorem}: {variance-s4:prediction.3} at "
    "{variance-s4:s=} and {variance-s64:prediction.3} at {variance-s64:s}. Of many keys, {n}, attention with "
    "normal scores of deviation {sigma} spreads over about one in {many:result}. For {n} proportional to {s} "
    "that is {many-keys-s64:2} times as many at {variance-s64:s=} as at {variance-s1:s=}, not "
    "{variance-s64:s}; at no {s} more than {most-keys:2} times, and no fewer than at {variance-s1:s=} for "
    "{s} up to {longest-row:3}.",
    meaning="Without the factor a row {variance-s64:s} times as long spreads its attention over "
    "{variance-s64:s} times as many keys. The factor takes most of that back: to keep the number, the "
    "variance would have to be {grows:result}, {ell} being the logarithm of {s}. With few keys it takes "
    "less: as they grow from {squares-s1:n} to {squares-s16:n}, in {squares-s1:d_k} dimensions, {sum} falls "
    "from {squares-s1:prediction.2} to {squares-s16:prediction.2}, by a factor of more than "
    "{many-keys-s16:2}. It was fitted to trained models, whose scores are not random.",
    symbols={"s": longer, "ell": ell, "n": n, "sigma": sigma, "sum": E(SQUARES)},
    references=cite(
        "peng2024",
        "B. Peng et al., YaRN: Efficient Context Window Extension of Large Language Models, ICLR 2024.",
        "https://arxiv.org/abs/2309.00071",
    ),
)
