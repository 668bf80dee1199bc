"""Two keys: the weight is the logistic function, and its slope dies away like 1/σ, not exponentially."""

import math
from functools import partial

from sympy import Float, Integral, S, Symbol, exp, oo, pi, sqrt

from verify.former import (
    E, NORMAL, Claim, Derivation, Experiment, Fact, Figure, Findings, NormalRows, Route, Step, capped,
    cell_of, component, fact, figure, function, gauss, integrated, line, measured, one_step, over_cells, p, s,
    sharper, sigma, wrong,
)  # fmt: skip
from verify.former.rules import (
    SCORES, AtItsLeast, FewKeys, Identity, Integrated, OverNormal, Primitive, Replaced,
)  # fmt: skip

DEVIATIONS = (1, 2, 8, 32)
LABEL = r"$\mathbb{E}[p(1-p)]$"
x = Symbol("x", real=True)
SLOPE = exp(x) / (1 + exp(x)) ** 2
"""p(1-p) for two keys whose scores differ by x: the derivative of the logistic function."""

NORMAL_GAP = exp(-(x**2) / (4 * sigma**2)) / (2 * sigma * sqrt(pi))
"""The density of the difference of two independent scores of deviation σ."""


def derive() -> Derivation:
    """Derive the bound on E p(1-p); the closed forms and their limit as lemmas."""
    peak, gap = 1 / (2 * sigma * sqrt(pi)), s[1] - s[2]
    rise = one_step("The rise of the logistic function", Integral(SLOPE, (x, -oo, oo)), S.One,
                    "From 0 to 1", Primitive(x, 1 / (1 + exp(-x))),
                    defines="its slope over all gaps")  # fmt: skip
    bounded = Route.of(
        "The density of the gap is nowhere larger than at 0",
        SLOPE * NORMAL_GAP,
        Step(SLOPE * peak, "It falls with the square of the gap", AtItsLeast(x**2, S.Zero)),
        Step(Integral(SLOPE * peak, (x, -oo, oo)), "Over all gaps", Integrated(x, -oo, oo, (rise.proved(),))),
        defines="the slope at a gap x times the density of the gap",
    )
    route = Route.of(
        "From the density of the gap",
        E(p[1] * p[2]),
        Step(E(SLOPE.subs(x, gap)), "$p(1 - p)$ depends on the gap $s_1 - s_2$ alone", FewKeys(2)),
        Step(Integral(SLOPE * NORMAL_GAP, (x, -oo, oo)),
             r"which is normal with variance $2\sigma^2$", OverNormal(SCORES, gap, x)),
        Step(Integral(SLOPE * peak, (x, -oo, oo)), "The density is nowhere larger than at 0",
             Replaced(bounded.proved())),
        Step(peak, "The slope of the logistic function integrates to its rise, 1",
             Primitive(x, peak / (1 + exp(-x)))),
    )  # fmt: skip
    logistic = one_step("The weights of two keys", p[1], 1 / (1 + exp(s[2] - s[1])),
                        "Divide by the first exponential", FewKeys(2),
                        defines="the weight of the first key", name="logistic")  # fmt: skip
    slope = one_step(r"The slope at a gap $x$, in the gap's hyperbolic form", SLOPE,
                     1 / (2 + exp(x) + exp(-x)), r"which tends to 0 as $x \to \pm\infty$", Identity(),
                     defines="the slope of the logistic function")  # fmt: skip
    return Derivation.of(route, lemmas=(logistic, slope, rise, bounded))


def _exact(derivation: Derivation, deviation: float) -> float:
    """Return E p(1-p) by integrating the derived expression over the gap."""
    averaged = derivation.routes[0].steps[1].expression.function
    integrand = function((x, sigma), averaged, "numpy")
    reach = min(40.0, 14 * deviation)
    return 2 * float(gauss.integrals(lambda gap: integrand(gap, deviation), (0.0, reach), 1e-15)[0])


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
              "the slope dies exponentially: at {cell:sigma=} it is that of a typical gap",
              integrated(float(function((x,), SLOPE)(math.sqrt(2) * 8))), relation="≤"),
        wrong(value[8], "spread-does-not-matter",
              "it does not depend on the spread: at {cell:sigma=} as at {product-sigma-1:sigma=}", value[1]),
        wrong(value[1], "bound-as-value", "the bound is the value: at {cell:sigma=}, too", bounds[1]),
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
        "{theorem:subject}",
        line("exact", lambda deviation: _exact(derivation, deviation), at=at),
        line("bound {theorem:result}", bound, "other", at=at),
        line("at a typical gap", lambda deviation: slope(math.sqrt(2) * deviation), "control", at=at[:9]),
        measured(findings.matching("product-sigma-*"), against="sigma"),
        x="standard deviation {sigma} of the scores",
    )


CLAIM = Claim(
    title="With two keys, saturation is slow: the slope falls as one over the spread",
    statement="For two keys with independent normal scores of standard deviation {sigma}, {theorem}, where "
    "{logistic}.",
    meaning="The product of the weights is what a gradient is multiplied by on its way through the "
    "softmax. At a given large gap it is exponentially small; on average over random gaps it is not, "
    "because now and then two scores come close. Once the spread is large, twice the spread halves the "
    "average. The claim that gradients vanish exponentially describes the typical row only.",
    symbols={"sigma": sigma},
)
