"""Under a causal mask, row t attends to t keys, and its mean entropy is that of t keys."""

import math
from functools import cache
from typing import Any

import scipy
from scipy import special
from sympy import Rational, S, Sum, log, simplify, sqrt

from verify.claims.limits.shared import CausalRows, best_queries
from verify.former import (
    E, ENTROPY, LOG_TOTAL, NORMAL, NORMAL_VECTORS, SQUARES, Cell, Claim, Derivation, Experiment, Figure,
    Findings, Prediction, Quantity, Route, Simulated, Smooth, Step, Tolerance, capped, cell_of, component, d,
    estimates, figure, function, index, integrated, j, k, line, mean_of_rows, n, of_probability, one_step, p,
    prediction, q, row_integrals, sharper, sigma, threshold, wrong,
)  # fmt: skip
from verify.former.rules import ByParts, Evaluation, EvenIsMost, OverQueries, Replaced, Surplus, TotalGrows

POSITIONS = (2, 8, 32, 128)
TOGETHER = ((2,), (8,), (32, 128))
"""Which of them share a sample: early rows vary more, and cost less by themselves."""
D = 64
BELOW = {8: Rational(9, 50), 32: Rational(29, 100), 128: Rational(37, 100)}
"""At least which share of the rows at a position there is to lose more than half a nat."""
SCALE = 1 / sqrt(d)


def derive() -> Derivation:
    """Derive the bound for n keys, and put the position in the place of n."""
    route = Route.of(
        "A row of n keys that the mask leaves",
        E(ENTROPY),
        Step(E(LOG_TOTAL) - sigma**2 * (1 - E(SQUARES)),
             "As for attention without a mask: integration by parts", ByParts(sigma**2 * p[j])),
        Step(log(n) - sigma**2 * (1 - E(SQUARES)) / 2,
             r"The first term is $\ln n$ at $\sigma = 0$, and grows with $\sigma^2$ at a falling rate",
             TotalGrows()),
        Step(log(n) - sigma**2 / 2, "The squares are positive", Surplus(sigma**2 * E(SQUARES) / 2, "≥")),
    )  # fmt: skip
    square = Sum(q[index] ** 2, (index, 1, d))
    row = Route.of(
        "A row of any scaled scores, such as row $t$ of a causal mask with its $n = t$ keys",
        E(ENTROPY),
        Step(route.end, "The bound for one query", Replaced(route.proved())),
        Step(E(log(n) - square / (2 * d)),
             r"On average over queries: given one, scaled scores have $\sigma = |q|/\sqrt{d_k}$",
             OverQueries(square, k, SCALE)),
        Step(log(n) - S.Half, "The mean of the squared length", Evaluation(NORMAL_VECTORS, assumed=True)),
    )  # fmt: skip
    most = one_step("The same row at most", E(ENTROPY), log(n),
                    r"No weights have more entropy than equal ones: in row $t$, with $n = t$, $\ln t$",
                    EvenIsMost(), name="most")  # fmt: skip
    return Derivation.of(route, lemmas=(row.called("row"), most))


@cache
def _cell(position: int) -> Cell:
    """Return the cell in which the row at a position is measured."""
    positions = next(one for one in TOGETHER if position in one)
    last = positions[-1]
    drawn = Simulated(NORMAL, NORMAL, len(positions) * best_queries(last, D), last, D)
    return cell_of(f"causal-t{last}", drawn, CausalRows(positions), scale=SCALE)


def _lost(position: int, of: int) -> Smooth:
    """Return by how much the mean entropy at a position is below that of an even spread over ``of`` keys."""
    return Smooth(lambda mean: math.log(of) - mean[f"entropy-{position}"], positive=True)


def _loss(name: str, position: int, expected: Prediction, *claimed: Any) -> Quantity:
    """Return the comparison of a row's mean loss of entropy, in a band and by a relation that are claimed."""
    label = rf"$\ln {position} - \mathbb{{E}}H$ of row {position}"
    lost = _lost(position, position)
    return Quantity(f"{name}-t{position}", label, _cell(position), lost, expected, *claimed)


def _share(position: int, expected: Prediction, *claimed: Any) -> Quantity:
    """Return the comparison of the share of rows that lose more than half a nat."""
    share = component(f"sharp-{position}", positive=True)
    label = rf"share of rows {position} with $H < \ln {position} - \tfrac12$"
    return Quantity(f"rows-below-t{position}", label, _cell(position), share, expected, *claimed)


def _half_a_nat_lost(_: int, deviation: float) -> row_integrals.Approximation:
    """Return the probability that two keys' scores are so far apart that H < ln 2 - ½."""

    def beyond(gap: float) -> float:
        p = special.expit(gap)
        return float(special.entr(p) + special.entr(1 - p)) - math.log(2) + 0.5

    gap = scipy.optimize.brentq(beyond, 0.0, 40.0, xtol=1e-13)
    return row_integrals.Approximation(float(special.erfc(gap / (2 * deviation))), 1e-12)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the mean loss of entropy at four positions, and how many rows lose more than its bound."""
    two, early, _, last = POSITIONS
    near, few = capped(0.25, tolerance), capped(1.0, tolerance)
    half = prediction(simplify(log(n) - derivation.lemmas[0].end))
    bounds = [_loss("at-least", one, half, near, "≤") for one in POSITIONS]
    values = {}
    for one in POSITIONS:
        exact = integrated(mean_of_rows(row_integrals.mean_lost, one, dimension=D, scale=SCALE))
        # Rows of many keys vary least.
        values[one] = _loss("value", one, exact, Tolerance(0.5 if one == last else 0.75))
    of_two = integrated(mean_of_rows(_half_a_nat_lost, two, dimension=D, scale=SCALE))
    of_pairs = _share(two, of_two, capped(
        10.0, tolerance, "few rows lose so much, so that a sharper share takes many more draws"
    ))  # fmt: skip
    shares = [_share(one, threshold(least), few, "≥") for one, least in BELOW.items()]
    return Experiment((*bounds, *values.values(), of_pairs, *shares), (
        sharper(bounds[-1], 0.95, values[last].prediction.value),
        wrong(bounds[-1], "as-if-unmasked",
              "every row of a text of {at-least-t128:tokens} tokens spreads over about as many keys",
              truth=math.log(last / early) + values[early].prediction.value,
              cell=_cell(early), estimand=_lost(early, last)),
        wrong(values[early], "same-loss", "row {cell:tokens} loses as much as row {value-t128:tokens}",
              values[last]),
        wrong(shares[-1], "every-row", "every row, not only their mean, keeps all but half a nat",
              threshold(S.Zero), tolerance=of_probability(), relation="≤"),
        wrong(of_pairs, "same-share", "of two keys' rows as many lose half a nat as of all keys' rows",
              shares[-1]),
        sharper(shares[-1], 1.1),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the mean entropy over the position, between its bounds."""
    lost = [findings.checks[f"value-t{one}"] for one in POSITIONS]
    found = ((check.estimate, check.interval) for check in lost)
    return figure(
        "by-position",
        "A causal row’s mean entropy follows the logarithm of its position",
        "Measured mean entropy of the rows of causal attention over their position: it rises like "
        "the logarithm of the position and stays within half a nat below it.",
        "mean entropy, in nats",
        line("{most:result}", math.log, "other", points=25),
        line("{row:result}", function((n,), derivation.lemmas[0].end), points=25),
        estimates("measured", POSITIONS, found, as_drawn=lambda at, value: math.log(at) - value),
        x="position {n}",
        y_scale="linear",
    )


CLAIM = Claim(
    title="Under a causal mask, the mean entropy grows with the position",
    headline="at-least-t128",
    statement="Row {n} of causal attention has {n} keys: with scaled scores of independent standard normal "
    "components, its mean entropy is at most {most:result} and at least {row:result}.",
    meaning="A mask changes no score, but it decides among how many keys a row chooses. The first token "
    "attends to itself with certainty, whatever the scale, and gets no gradient through its scores; late "
    "tokens average. Statistics over all rows of a causal head mix these. The lower bound holds for the "
    "mean: in {value-t2:d_k} dimensions {rows-below-t2:estimate.1%} of the rows lose more with two keys, "
    "{rows-below-t8:estimate.2%} with eight, {rows-below-t32:estimate.2%} with thirty-two and "
    "{rows-below-t128:estimate.2%} with {value-t128:tokens}.",
    symbols={"n": n},
)
