"""Without scaling the largest softmax weight tends to 1 as the dimension grows; with it, it settles."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from sympy import Expr, Float, Integral, Max, Min, S, Symbol, exp, log, oo, pi, sqrt

from verify.claims.softmax.shared import attention_cell, complement
from verify.former import (
    E, NORMAL, Claim, Derivation, Experiment, Fact, Figure, Findings, NormalRows, Quantity, Route, Step,
    beside, capped, cell_of, component, d, fact, figure, function, gauss, integrated, line, measured,
    one_step, over_cells, p, row_integrals, s, scaled, score_law, sharper, sigma, threshold, wrong,
)  # fmt: skip
from verify.former.rules import SCORES, AtItsLeast, Even, FewKeys, Integrated, OverNormal, Primitive, Replaced

TWO_DIMENSIONS, MANY_DIMENSIONS = (1, 4, 16, 64, 256, 1024), (4, 16, 64, 256)
RAW, ROOT = S.One, 1 / sqrt(d)
"""The scales without scaling and with it."""
HELD = 0.9
"""What the larger weight would stay below if the softmax itself prevented saturation."""
SPREADS = (1, 4, 16)
"""Standard deviations of two keys' scores, the last where the bound is tight."""
LABEL, REST = r"$\mathbb{E}\max_j p_j$", r"$1 - \mathbb{E}\max_j p_j$"
x = Symbol("x", real=True)
LOWER = 1 / (1 + exp(x))
"""The smaller of two weights whose scores differ by x."""
GAP = exp(-(x**2) / (4 * sigma**2)) / (sigma * sqrt(pi))
"""The density of the size x of the difference of two scores."""


def _of_gap(integrand: Callable[..., Any], _: int, deviation: float) -> row_integrals.Approximation:
    """Return one minus the integral of ``integrand`` over gaps, of two keys' scores of this deviation."""
    one, other = (
        float(integrand(gaps, deviation) @ weights)
        for gaps, weights in (gauss.legendre(0.0, min(60.0, 15 * deviation), count) for count in (160, 120))
    )
    return row_integrals.Approximation(1 - one, abs(one - other))


def derive() -> Derivation:
    """Derive a lower bound for two keys that tends to 1 as the scores spread."""
    gap, most = s[1] - s[2], LOWER / (sigma * sqrt(pi))
    weights = [1 / (1 + exp(one)) for one in (-gap, gap)]
    rest = one_step("The smaller weight over all gaps", Integral(LOWER, (x, 0, oo)), log(2),
                    r"Its primitive is $-\ln(1 + e^{-x})$", Primitive(x, -log(1 + exp(-x))),
                    defines="the smaller weight of two keys, over all sizes of the gap")  # fmt: skip
    bounded = Route.of(
        "The density of the gap is largest at 0", LOWER * GAP,
        Step(most, "It falls with the square of the gap", AtItsLeast(x**2, S.Zero)),
        Step(Integral(most, (x, 0, oo)), "Over all sizes", Integrated(x, 0, oo, (rest.proved(),))),
        defines="the smaller weight at a gap x times the density of its size",
    )  # fmt: skip
    route = Route.of(
        "Two keys, scores of standard deviation σ",
        E(Max(p[1], p[2])),
        Step(1 - E(Min(*weights)), "One minus the smaller weight, by the gap alone", FewKeys(2)),
        Step(1 - Integral(Min(*(one.subs(gap, x) for one in weights)) * GAP / 2, (x, -oo, oo)),
             r"averaged over the gap, which is normal with variance $2\sigma^2$",
             OverNormal(SCORES, gap, x)),
        Step(1 - Integral(LOWER * GAP, (x, 0, oo)), "Either key may lead by the size of the gap", Even(x)),
        Step(1 - Integral(most, (x, 0, oo)), "The density of the gap is largest at 0",
             Replaced(bounded.proved())),
        Step(1 - log(2) / (sigma * sqrt(pi)), r"which tends to 1 as $\sigma \to \infty$",
             Primitive(x, -log(1 + exp(-x)) / (sigma * sqrt(pi)))),
    )  # fmt: skip
    raw = score_law.over_length(log(2) / sqrt(pi)).defining(
        "the most by which the larger weight falls short of one, averaged"
    )
    return Derivation.of(route, lemmas=(rest, bounded, raw.called("raw")))


@cache
def _two_keys(d: float, scale: float) -> float:
    """Return E max p of two keys: the derived integral over the gap, averaged over the query's length."""
    return row_integrals.over_lengths(_given_length(), 2, d, scale).value


@cache
def _given_length() -> Callable[[int, float], row_integrals.Approximation]:
    return partial(_of_gap, function((x, sigma), LOWER * GAP, "numpy"))


def _largest(keys: int, d_k: int, scale: Expr) -> Quantity:
    """Return the comparison of the largest of two or sixteen weights with its exact mean."""
    cell, factor = attention_cell(keys, d_k, scale, "largest"), scaled(scale, d_k)
    mean = _given_length() if keys == 2 else row_integrals.mean_largest_weight
    exact = integrated(row_integrals.over_lengths(mean, keys, d_k, factor).value)
    kind, number = cell.id.split("-")[0], "two" if keys == 2 else "many"
    return Quantity(f"{kind}-{number}-keys-d{d_k}", LABEL, cell, component("largest", positive=True), exact)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure two and sixteen keys against exact means, and independent scores against the bound."""
    raw, even = ([_largest(2, one, scale) for one in TWO_DIMENSIONS] for scale in (RAW, ROOT))
    many = [_largest(16, one, ROOT) for one in MANY_DIMENSIONS]
    sharp = _largest(16, MANY_DIMENSIONS[-1], RAW)
    rows = {one: NormalRows(2, 64, float(one), NORMAL, ("largest",)) for one in SPREADS}
    cells = {one: cell_of(f"rows-s{one}", drawn) for one, drawn in rows.items()}
    left, near, most = complement("largest"), capped(0.5, tolerance), SPREADS[-1]
    bounds = over_cells("bound-sigma-{sigma:g}", REST, cells, left, 1 - derivation.result, near, "≤")
    return Experiment((*raw, *even, *many, sharp, *bounds.values()), (
        sharper(bounds[most], 0.98, 1 - row_integrals.mean_largest_weight(2, float(most)).value),
        wrong(many[-1], "scaled-saturates",
              "scaled attention saturates in high dimension: one of {cell:n} keys gets as much as unscaled",
              sharp),
        wrong(raw[-1], "raw-stays", "without scaling the weights stay as they are with it", even[-1]),
        wrong(raw[-1], "softmax-prevents-it",
              "the softmax itself prevents saturation: the largest of two weights stays below {value}",
              threshold(HELD), relation="≤"),
    ))  # fmt: skip


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the means of scaled attention over two keys at either end, and how sharp the bound is."""
    larger, rest = "mean of the larger weight of two keys at", 1 - derivation.result
    lost = r"share of the bound on $1 - \mathbb{E}\max_j p_j$ that is reached at"
    mean = {one: row_integrals.mean_largest_weight(2, float(one)).value for one in SPREADS}
    found = [
        ("one-dimension", rf"{larger} $d_k = 1$", _two_keys(1, 1.0)),
        ("settles", rf"{larger} $\sigma = 1$", mean[1]),
    ]
    for one in SPREADS:
        share = (1 - mean[one]) / float(rest.subs(sigma, one))
        found.append((f"reached-sigma-{one}", rf"{lost} $\sigma = {one}$", share))
    return tuple(fact(name, what, Float(value, 6)) for name, what, value in found)


def figures(findings: Findings) -> Figure:
    """Draw the largest of two weights with and without scaling."""
    return figure(
        "largest-weight",
        "Unscaled, the largest of two weights goes to one; scaled, it settles",
        "The mean of the larger of two softmax weights over the dimension: unscaled it rises from "
        "two thirds towards one, scaled it settles below three quarters.",
        "mean of the larger weight of two keys",
        *beside(findings.matching("raw-two-keys-d*"), "unscaled", lambda n: _two_keys(n, 1.0), points=25),
        line("over {root_d}", lambda n: _two_keys(n, n**-0.5), points=25),
        measured(findings.matching("scaled-two-keys-d*"), ""),
        line(f"wrong: stays below ${HELD}$", HELD, "control", points=2),
        y_scale="linear",
    )


CLAIM = Claim(
    title="Without scaling, the softmax saturates as the dimension grows",
    headline="raw-many-keys-d256",
    statement="For two keys whose independent normal scores have standard deviation {sigma}, {theorem}, "
    "which tends to one. For raw scores of one query with standard normal keys, {sigma} is the length of "
    "the query; on average over standard normal queries of three dimensions or more, the larger weight "
    "falls short of one by at most {raw:result}, which tends to zero as the dimension grows.",
    meaning="Raw scores lead to winner-take-all attention, and the softmax does not counteract it. The "
    "deviation of scaled scores settles at one instead, and the mean of the larger of two weights goes from "
    "{one-dimension:3} in one dimension to {settles:3}: both are integrated numerically. With sixteen keys "
    "and {raw-many-keys-d256:d_k} dimensions the largest raw weight is {raw-many-keys-d256:prediction.2} on "
    "average, the largest scaled one {scaled-many-keys-d256:prediction.2}. How soon depends on the number of "
    "keys; the claim on concentration says when.",
    symbols={"sigma": sigma},
)
