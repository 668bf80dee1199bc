"""Scores within a range R: at least n/cosh²(R/2) effective keys, and at most R²/8 of entropy lost."""

from functools import partial

import numpy as np
from scipy import special
from sympy import Expr, Idx, Interval, Rational, S, Sum, cosh, diff, exp, log, sinh

from verify.claims.newer.shared import LevelRows, M, entropy_lost, mean_over_signs, weights_of_levels, x
from verify.former import (
    RADEMACHER, ROUNDING, Claim, Derivation, Experiment, Figure, Route, Step, biased, capped, cell_of, cite,
    component, computed, figure, in_turn, j, line, n, ordered, over_cells, scatter, sharper, wrong,
)  # fmt: skip
from verify.former.rules import Compared, Hypotheses, PutIn, Rising, SumIdentity, Surplus

R, e = ordered("R e", positive=True)
t, i = ordered("t", real=True), Idx("i")
ROWS = ((2, 0.25), (4, 1.0), (64, 1.0))
"""Numbers of keys, and scores that are plus or minus that number."""
SUM, LOST = r"$\mathbb{E}\sum p_j^2$", r"$\ln n - \mathbb{E}H$"


def _squares() -> Route:
    """Return the bound of the squared weights, exponentials being M + e + x_j with x_j within ±M."""
    entry = M + e + x[j]
    total, least = Sum(entry, (j, 1, n)), e * (e + 2 * M)
    square = ((M + e) * total - n * least) ** 2 / (n * least) / total**2
    return Route.of(
        "Exponentials between $e$ and $e + 2M$", Sum(entry**2, (j, 1, n)) / total**2,
        Step((M + e) ** 2 / (n * least), "What is lacking is a square, and what each $x_j^2$ lacks of $M^2$",
             Surplus(square + Sum(M**2 - x[j] ** 2, (j, 1, n)) / total**2, bounded=True)),
        Step(cosh(R / 2) ** 2 / n, "Scores between $-R/2$ and $R/2$",
             PutIn({e: exp(-R / 2), M: sinh(R / 2)})),
        defines="the sum of the squared weights", name="squares",
    )  # fmt: skip


def _entropy() -> Route:
    """Return the bound of the entropy that is lost, by scores times t, from 0 to 1."""
    whole, total = Sum(exp(x[i]), (i, 1, n)), Sum(exp(t * x[j]), (j, 1, n))
    tilted = Sum(x[j] * exp(t * x[j]), (j, 1, n))
    lost = t * tilted / total - log(total) + log(n)
    pairs = Sum((M**2 - x[j] ** 2) * exp(t * x[j]) * exp(t * x[i]), (j, 1, n), (i, 1, n))
    gap, unit = t**2 * M**2 / 2 - lost, Hypotheses().restricted(t, Interval(0, 1))
    slope = Route.of(
        "The slope of a bound less what is lost", S.Zero,
        Step(diff(gap, t), "The variance of scores under their weights is at most $M^2$",
             Surplus(t * pairs / total**2 + t * tilted**2 / total**2, bounded=True)), under=unit,
    )  # fmt: skip
    grown = Route.of(
        "A bound less what is lost at scores $t x_j$", S.Zero,
        Step(log(Sum(S.One, (j, 1, n))) - log(n), "Nothing is lost where all scores are 0", SumIdentity()),
        Step(gap, "It grows with $t$", Rising(t, slope.proved())),
        Step(R**2 / 8 - lost.subs(t, 1), "At $t = 1$, for scores between $-R/2$ and $R/2$",
             PutIn({t: S.One, M: R / 2})),
        under=unit,
    )  # fmt: skip
    weight = exp(x[j]) / whole
    return Route.of(
        "The entropy that is lost", log(n) + Sum(weight * log(weight), (j, 1, n)),
        Step(lost.subs(t, 1), "The logarithm of a weight written out", SumIdentity()),
        Step(R**2 / 8, "By how the bound grows", Compared("≤", grown.proved())),
    )  # fmt: skip


def derive() -> Derivation:
    """Derive how many keys attention spreads over at least, and the entropy that it loses at most."""
    return Derivation.of(_entropy(), lemmas=(_squares(),))


def squares_of(weights: np.ndarray) -> float:
    """Return the sum of the squared weights."""
    return float(weights @ weights)


def lost_by(weights: np.ndarray) -> float:
    """Return the entropy that weights lack of that of equal ones."""
    return float(np.log(len(weights)) - special.entr(weights).sum())


def squares_of_levels(high: int, keys: int, apart: float) -> float:
    """Return the sum of the squared weights of two levels of scores."""
    return squares_of(weights_of_levels(high, keys, apart))


def lost_by_levels(high: int, keys: int, apart: float) -> float:
    """Return the entropy that two levels of scores lose."""
    return lost_by(weights_of_levels(high, keys, apart))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure rows of two levels against both bounds, and compute rows that attain them, or nearly."""
    (least,) = derivation.lemmas
    cells = {(keys, size): cell_of(f"n{keys}-s{size:g}".replace(".", ""),
                                   LevelRows(keys, 16, size, RADEMACHER, ("squares", "entropy")))
             for keys, size in ROWS}  # fmt: skip
    mean, near = component("squares", positive=True), capped(0.5, tolerance)
    squares = over_cells("squares-{cell}", SUM, cells, mean, partial(mean_over_signs, squares_of))
    lost = over_cells(
        "lost-{cell}", LOST, cells, lambda keys, _: entropy_lost(keys), partial(mean_over_signs, lost_by)
    )
    most = over_cells("most-squares-{cell}", SUM, cells, mean, partial(_bound, least.end), near, "≤")
    half = over_cells("most-lost-{cell}", LOST, cells, lambda keys, _: entropy_lost(keys),
                      partial(_bound, derivation.result), near, "≤")  # fmt: skip
    where: dict[str, int | float | str] = {"n": 3, "R": "ln 2", "scores": "one above the others by R"}
    attained = computed("attained", "sum of squared weights", where, least.end.subs({n: 3, R: log(2)}),
                        squares_of_levels, 1, 3, float(log(2)), allowance=ROUNDING)  # fmt: skip
    where = {"n": 16, "R": 0.5, "scores": "seven above the others by R"}
    nearly = computed("nearly", "entropy lost", where, derivation.result.subs(R, S.Half), lost_by_levels, 7,
                      16, 0.5, relation="≤")  # fmt: skip
    return Experiment((*in_turn(squares, most, lost, half), attained, nearly), (
        sharper(most[2, 0.25], 0.95, squares[2, 0.25].prediction.value),
        sharper(half[2, 0.25], 0.45, lost[2, 0.25].prediction.value),
        wrong(attained, "smaller-range", "the bound for a range smaller by a twentieth holds as well",
              least.end.subs({n: 3, R: log(2) * Rational(19, 20)})),
        wrong(nearly, "smaller-constant", "one eighth can be lowered to one over eight and a tenth",
              (R**2 / Rational(81, 10)).subs(R, S.Half)),
        biased(squares[4, 1.0], tolerance, at="n"),
        wrong(lost[4, 1.0], "less-lost", "rows of {cell:n} keys lose a fifth less entropy",
              0.8 * lost[4, 1.0].prediction.value),
    ))  # fmt: skip


def _bound(bound: Expr, keys: int, size: float) -> Expr:
    return bound.subs({n: keys, R: 2 * Rational(size)})


def figures(derivation: Derivation) -> Figure:
    """Draw the entropy that rows of two levels lose over the range, for two shares of high scores."""
    ranges = np.linspace(0.25, 4, 16)
    half, few = ([lost_by_levels(high, 16, one) for one in ranges] for high in (8, 3))
    return figure(
        "entropy",
        "Rows lose no more entropy than an eighth of the squared range of their scores",
        "Entropy that rows of two levels lose, over the distance of the levels: points below a parabola, "
        "close to it where the range is small and far below it where it is large.",
        "entropy lost, in nats", line("bound: {theorem:result}", derivation.result, over=(0.25, 4)),
        scatter("half of the keys high", ranges, half),
        scatter("three keys in sixteen high", ranges, few, "other"), x="range {R} of scores",
        x_scale="linear", y_scale="linear",
    )  # fmt: skip


CLAIM = Claim(
    title="Scores within a fixed range spread attention over at least a fixed share of the keys",
    statement="Let the scores of a row of {n} keys lie within a range {R}. The sum of the squared weights is "
    "at most {squares:result}, so the effective number of keys is at least {n} divided by {part}, and the "
    "entropy falls short of that of an even spread by at most {theorem:result}.",
    meaning="The range of its scores limits how sharply a head can attend, and the limit is a share of the "
    "row, not a number of keys: in a text twice as long, the smallest possible effective number is twice as "
    "large. Three keys, one with twice the weight of each of the others, attain the first bound. With "
    "queries and keys normalised to length one and their products multiplied by a gain, scores lie between "
    "the gain and its negative, so the range is at most twice the gain: a head with a small gain can do "
    "little but average.",
    symbols={"n": n, "R": R, "part": cosh(R / 2) ** 2},
    references=(
        *cite(
            "hoeffding1963",
            "W. Hoeffding, Probability Inequalities for Sums of Bounded Random Variables, Journal of the "
            "American Statistical Association 58 (1963), 13-30: the variance of what is bounded, tilted.",
            "https://doi.org/10.1080/01621459.1963.10500830",
        ),
        *cite(
            "velickovic2025",
            "P. Veličković et al., Softmax Is Not Enough (for Sharp Size Generalisation), ICML 2025.",
            "https://arxiv.org/abs/2410.01104",
        ),
    ),
)
