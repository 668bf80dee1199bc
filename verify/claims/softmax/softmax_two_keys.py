"""Two keys: the weight is the logistic function, and its slope dies away like 1/σ, not exponentially."""

import math
from functools import partial

from sympy import Expr, Float, Integral, S, Symbol, diff, exp, expand, oo, pi, sqrt

from verify.spec import (
    E, NORMAL, By, Claim, Derivation, Experiment, Fact, Figure, Findings, Identity, NormalRows, Route, Step,
    assume, by, capped, cell_of, component, fact, figure, function, integrals, integrated, is_zero, line,
    measured, over_cells, p, runs_over, s, scores, sharper, sigma, written_out, wrong,
)  # fmt: skip

DEVIATIONS = (1, 2, 8, 32)
LABEL = r"$\mathbb{E}[p(1-p)]$"
x = Symbol("x", real=True)
SLOPE = exp(x) / (1 + exp(x)) ** 2
"""p(1-p) for two keys whose scores differ by x: the derivative of the logistic function."""

NORMAL_GAP = exp(-(x**2) / (4 * sigma**2)) / (2 * sigma * sqrt(pi))
"""The density of the difference of two independent scores of deviation σ."""


@by("SymPy: density and function of the gap, by completing a square")
def _averages_over_the_gap(before: Expr, after: Expr) -> bool:
    """The gap's density is the integral of both scores' densities over the second, with the first x above."""
    second = Symbol("y", real=True)
    both = -((second + x) ** 2 + second**2) / (2 * sigma**2)
    left = expand(both + (second + x / 2) ** 2 / sigma**2)
    # What is taken out integrates to σ√π over the second score.
    density = exp(left) * sigma * sqrt(pi) / (2 * pi * sigma**2)
    of_gap = written_out(before.args[0], 2).xreplace(dict(zip(scores(2), (second + x, second), strict=True)))
    whole = before == E(before.args[0]) and runs_over(after, (x, -oo, oo))
    return whole and not left.has(second) and is_zero(after.function / density - of_gap)


@by("SymPy: it falls on both sides of 0")
def _at_the_peak(before: Expr, after: Expr) -> bool:
    """The density is largest at 0, for there alone its slope vanishes and on both sides it falls."""
    density = before.function / SLOPE
    peak = density.subs(x, 0)
    falls = diff(density, x) / density * x
    whole = runs_over(before, (x, -oo, oo))
    return whole and bool(falls.is_nonpositive and after == peak * Integral(SLOPE, (x, -oo, oo)))


@by("SymPy differentiates and takes the limits")
def _is_the_rise(before: Expr, after: Expr) -> bool:
    """The slope integrates to the logistic function's rise from 0 to 1."""
    logistic = 1 / (1 + exp(-x))
    rise = logistic.subs(x, oo) - 0
    return bool(
        is_zero(diff(logistic, x) - SLOPE)
        and logistic.limit(x, -oo) == 0
        and is_zero(before.subs(Integral(SLOPE, (x, -oo, oo)), rise) - after)
    )


def derive() -> Derivation:
    """Derive the bound on E p(1-p); the closed forms and their limit as lemmas."""
    peak = 1 / (2 * sigma * sqrt(pi))
    route = Route.of(
        "From the density of the gap",
        E(p[1] * p[2]),
        Step(Integral(SLOPE * NORMAL_GAP, (x, -oo, oo)),
             r"$p(1 - p)$ depends on the gap $s_1 - s_2$ alone, which is normal with variance $2\sigma^2$",
             _averages_over_the_gap),
        Step(peak * Integral(SLOPE, (x, -oo, oo)), "The density is nowhere larger than at 0", _at_the_peak, "≤"),
        Step(peak, "The slope of the logistic function integrates to its rise, 1", _is_the_rise),
    )  # fmt: skip
    same = By("SymPy, written out for the two keys",
              lambda one, other: is_zero(written_out(one - other, 2)))  # fmt: skip
    weight = Step(1 / (1 + exp(s[2] - s[1])), "Divide by the first exponential", same)
    logistic = Route.of("The weights of two keys", p[1], weight).defining("the weight of the first key")
    vanishes = Step(1 / (2 + exp(x) + exp(-x)), r"which tends to 0 as $x \to \pm\infty$", Identity())
    slope = Route.of(r"The slope at a gap $x$, in the gap's hyperbolic form", SLOPE, vanishes)
    slope = slope.defining("the slope of the logistic function")
    return Derivation.of(route, lemmas=(logistic, slope))


def _exact(derivation: Derivation, deviation: float) -> float:
    """Return E p(1-p) by integrating the derived expression over the gap."""
    averaged = derivation.routes[0].steps[0].expression.function
    integrand = function((x, sigma), averaged, "numpy")
    reach = min(40.0, 14 * deviation)
    return 2 * float(integrals(lambda gap: integrand(gap, deviation), (0.0, reach), 1e-15)[0])


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure E p(1-p) against the integral, and against its bound."""
    rows = {one: NormalRows(2, 64, float(one), NORMAL, ("product",)) for one in DEVIATIONS}
    cells = {one: cell_of(f"sigma-{one}", drawn) for one, drawn in rows.items()}
    mean, near = component("product", positive=True), capped(1.0, tolerance)
    value = over_cells("product-{cell}", LABEL, cells, mean, partial(_exact, derivation))
    bounds = over_cells("bound-{cell}", LABEL, cells, mean, derivation.result, near, "≤")
    most = DEVIATIONS[-1]
    return Experiment((*value.values(), *bounds.values()), (
        sharper(bounds[most], 0.97, value[most].prediction.value),
        wrong(value[8], "at-a-typical-gap",
              r"the slope dies exponentially: at $\sigma = 8$ it is that of a typical gap, $\sqrt2\,\sigma$",
              integrated(float(function((x,), SLOPE)(math.sqrt(2) * 8))), relation="≤"),
        wrong(value[8], "spread-does-not-matter",
              r"it does not depend on the spread: at $\sigma = 8$ as at $\sigma = 1$", value[1]),
        wrong(value[1], "bound-as-value", r"the bound is the value: at $\sigma = 1$, too", bounds[1]),
    ))  # fmt: skip


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the bound at one standard deviation, and which share of it is reached where."""
    bound = function((sigma,), derivation.result)
    at_one = derivation.result.subs(sigma, S.One)
    reached = (
        fact(f"reached-sigma-{one}", rf"share of the bound that is reached at $\sigma = {one}$, integrated",
             Float(_exact(derivation, one) / bound(one), 6))
        for one in DEVIATIONS
    )  # fmt: skip
    return (fact("bound-at-one", r"bound on $\mathbb{E}[p(1-p)]$ at $\sigma = 1$", at_one), *reached)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the measured values on the integral, below the bound, far above the slope at a typical gap."""
    at = (0.5, 0.7, 1, 1.4, 2, 2.8, 4, 5.6, 8, 11, 16, 22, 32)
    bound, slope = function((sigma,), derivation.result), function((x,), SLOPE)
    return figure(
        "slow-decay",
        "The softmax of two keys loses its slope like one over the spread, not exponentially",
        "The mean of p times one minus p over the standard deviation of the scores: measured values "
        "on the exact curve, which falls like one over sigma just below its bound, while the slope at a "
        "typical gap falls off a cliff.",
        r"mean of $p(1-p)$",
        line("exact", lambda deviation: _exact(derivation, deviation), at=at),
        line(r"bound $1/(2\sigma\sqrt{\pi})$", bound, "other", at=at),
        line("at a typical gap", lambda deviation: slope(math.sqrt(2) * deviation), "control", at=at[:9]),
        measured(findings.matching("product-sigma-*"), against="sigma"),
        x=r"standard deviation $\sigma$ of the scores",
    )


CLAIM = Claim(
    title="With two keys, saturation is slow: the slope falls like one over the spread",
    statement=r"For two keys with independent normal scores of standard deviation $\sigma$, "
    r"$\mathbb{E}[p(1-p)] \le 1/(2\sigma\sqrt{\pi})$, where $p = 1/(1 + e^{-(s_1 - s_2)})$.",
    meaning="$p(1-p)$ is what a gradient is multiplied with on its way through the softmax. At a given large "
    "gap it is exponentially small; on average over random gaps it is not, because now and then two scores "
    "come close. Once the spread is large, twice the spread halves the average. Talk of gradients that "
    "vanish exponentially describes the typical row only.",
    assumptions=assume(normal=r"Both scores are independent and normal with deviation $\sigma$."),
)
