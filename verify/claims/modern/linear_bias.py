"""A linear bias adds m²(n² - 1)/12 to the variance of a row over n keys, whatever the scale."""

import numpy as np
from sympy import Rational, S, Sum, exp, sqrt, tanh

from verify.claims.modern.shared import BiasedRows, with_linear_bias
from verify.former import (
    E, ROUNDING, Claim, Derivation, Experiment, Figure, Findings, Route, Step, biased, cells_of, cite,
    component, computed, d, figure, index, line, measured, n, normal, ordered, over_cells, s, sigma,
    softmax, wrong,
)  # fmt: skip
from verify.former.rules import ClosedSums, Families, Identity, SumIdentity

D, SLOPES = 16, (0.5, 0.125)
"""Dimension, and the slopes of the first and the third of eight heads."""
ROWS = [(slope, keys) for slope in SLOPES for keys in (4, 16, 64)]
VARIANCE = r"$\mathbb{E}\,\frac{1}{n}\sum_j (s_j - \bar s)^2$"
m = ordered("m", positive=True)
SCORES = s[index] - m * index
ROW = E(Sum(SCORES**2, (index, 1, n)) / n - (Sum(SCORES, (index, 1, n)) / n) ** 2)
"""The variance of a row of biased scores."""


def derive() -> Derivation:
    """Derive the variance within a row, and how far attention reaches by the bias alone."""
    distances = {Sum((m * index) ** power, (index, 1, n)): m**power * form for power, form in
                 ((1, n * (n + 1) / 2), (2, n * (n + 1) * (2 * n + 1) / 6))}  # fmt: skip
    squares, mean = (Sum((m * index) ** power, (index, 1, n)) / n for power in (2, 1))
    row = Route.of(
        "Variance within a row", ROW,
        Step(sigma**2 * (1 - 1 / n) + squares - mean**2,
             "Scores are uncorrelated with variance σ²: what the bias varies is added",
             SumIdentity(Families(variances={s: sigma**2}))),
        Step(sigma**2 * (1 - 1 / n) + m**2 * (n**2 - 1) / 12, "Distances are 1 to n", ClosedSums(distances)),
    )  # fmt: skip
    sums = {power: Sum(exp(-power * m * index), (index, 1, n)) for power in (1, 2)}
    closed = {one: exp(-power * m) * (1 - exp(-power * m * n)) / (1 - exp(-power * m))
              for power, one in sums.items()}  # fmt: skip
    first, second = closed.values()
    alone = Route.of(
        "The bias alone", sums[2] / sums[1] ** 2,
        Step(second / first**2, "Geometric sums", ClosedSums(closed)),
        Step(tanh(m / 2) / tanh(m * n / 2), "Exponentials", Identity()),
        defines="Σp² of equal scores",
        name="alone",
    )  # fmt: skip
    return Derivation.of(row, lemmas=(alone,))


def squares_of_bias(slope: float, keys: int) -> float:
    """Return Σp² of a row of equal scores under the bias."""
    return float((softmax(with_linear_bias(np.zeros(keys), slope)) ** 2).sum())


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance within rows of scaled scores; compare the reach of the bias alone."""
    law, alone = derivation.result.subs(sigma, 1), derivation.lemmas[0].end
    cells = cells_of("m{m}-n{n}", ROWS, lambda m, n: (normal(8, n, D), BiasedRows(m)),
                     scale=1 / sqrt(d))  # fmt: skip
    checks = over_cells("row-{cell}", VARIANCE, cells, component("row-variance", positive=True), law)
    reach = computed("reach", r"$\sum_j p_j^2$ of equal scores", {"m": 0.5, "n": 64},
                     alone.subs({m: S.Half, n: 64}), squares_of_bias, 0.5, 64,
                     allowance=ROUNDING)  # fmt: skip
    return Experiment((*checks.values(), reach), (
        wrong(checks[0.5, 64], "scale-alone", "the scale alone sets the variance of rows: it is {value}", 1),
        wrong(checks[0.5, 4], "twelfth-of-n-squared", "the bias adds {twelfth} to what scores have alone",
              1 + S.Half ** 2 * 16 / 12),
        wrong(checks[0.125, 64], "slope-once", "the slope enters once, not squared",
              law.subs({n: 64, m: sqrt(Rational(1, 8))})),
        wrong(reach, "one-over-the-slope", "attention reaches as few as {inverse} keys", S.Half),
        biased(checks[0.5, 4], tolerance, at="n"),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the variance of rows over their length for both slopes."""
    layers = []
    for slope, found in zip(SLOPES, ("row-m05-n*", "row-m0125-n*"), strict=True):
        law = derivation.result.subs({sigma: 1, m: slope})
        layers += [line(f"$m = {slope:g}$", law), measured(findings.matching(found), against="n")]
    return figure(
        "rows",
        "The bias, not the scale, sets the variance of long rows",
        "Variance within rows over the number of keys, for scaled scores less one half and less an eighth of "
        "the distance: level near one for few keys, then on lines that rise like the square of their number.",
        "variance within a row", *layers, line("wrong: scaling alone", 1.0, "control"),
        x="number of keys {n}",
    )  # fmt: skip


CLAIM = Claim(
    title="A linear bias adds to the variance of rows, and more so in longer ones",
    statement="Let a row's {n} scores be uncorrelated with mean zero and standard deviation {sigma}, less a "
    "slope {m} times the distance of the key. Their mean variance within the row is {theorem:result}. Where "
    "the scores are equal, the bias alone leaves a sum of squared weights of {alone:result}: in long rows, "
    "for a small slope, attention over about as many keys as twice the inverse of the slope.",
    meaning="Scaling sets the variance of the scores and not that of what softmax is given. With the "
    "steepest slope of eight heads, one half, seven keys are enough for the bias to count as much as scaled "
    "scores; with the flattest it takes hundreds. In longer rows the bias by itself keeps attention to the "
    "near keys.",
    symbols={"n": n, "sigma": sigma, "m": m, "twelfth": m**2 * n**2 / 12, "inverse": 1 / m},
    references=cite(
        "press2022",
        "O. Press, N. A. Smith and M. Lewis, Train Short, Test Long: Attention with Linear Biases "
        "Enables Input Length Extrapolation, ICLR 2022.",
        "https://arxiv.org/abs/2108.12409",
    ),
)
