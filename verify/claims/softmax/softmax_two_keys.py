"""Two keys: the weight is the logistic function, and its slope dies away like 1/σ, not exponentially."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from scipy import integrate as quadrature
from sympy import Float, Integral, S, Symbol, diff, exp, oo, pi, simplify, sqrt

from verify.spec import (
    NORMAL, Assumption, Axis, By, Cell, Claim, Control, Definition, Derivation, E, Experiment, Fact, Figure,
    Findings, Identity, Layer, NormalRows, Quadrature, Quantity, Route, Step, WrittenOut, capped, cell_of,
    component, fact, function, integrated, p, prediction, runs_over, s, sharper, sigma,
)  # fmt: skip

DEVIATIONS = (1, 2, 8, 32)
LABEL = r"$\mathbb{E}[p(1-p)]$"
MEAN = component(0, positive=True)

x = Symbol("x", real=True)
SLOPE = exp(x) / (1 + exp(x)) ** 2
"""p(1-p) for two keys whose scores differ by x: the derivative of the logistic function."""

NORMAL_GAP = exp(-(x**2) / (4 * sigma**2)) / (2 * sigma * sqrt(pi))
"""The density of the difference of two independent scores of deviation σ."""


def _averages_over_the_gap(before: Any, after: Any) -> bool:
    """Both sides integrated numerically: over two scores, and over their difference."""
    points = Quadrature(sizes=(2,))
    for deviation in points.deviations:
        over_gap = quadrature.quad(
            function((x,), after.function.subs(sigma, deviation)), -60, 60, epsabs=1e-13
        )[0]
        if abs(points.value(before, 2, deviation) - over_gap) > 1e-9:
            return False
    return True


def _at_the_peak(before: Any, after: Any) -> bool:
    """The density is largest at 0, for there alone its slope vanishes and on both sides it falls."""
    density = simplify(before.function / SLOPE)
    peak = density.subs(x, 0)
    falls = simplify(diff(density, x) / density * x)
    whole = runs_over(before, (x, -oo, oo))
    return whole and bool(falls.is_nonpositive and after == peak * Integral(SLOPE, (x, -oo, oo)))


def _is_the_rise(before: Any, after: Any) -> bool:
    """The slope integrates to the logistic function's rise from 0 to 1."""
    logistic = 1 / (1 + exp(-x))
    rise = logistic.subs(x, oo) - 0
    return bool(
        simplify(diff(logistic, x) - SLOPE) == 0
        and logistic.limit(x, -oo) == 0
        and simplify(before.subs(Integral(SLOPE, (x, -oo, oo)), rise) - after) == 0
    )


def derive() -> Derivation:
    """Derive the bound on E p(1-p); the closed forms and their limit as lemmas."""
    subject = E(p[1] * p[2])
    peak = 1 / (2 * sigma * sqrt(pi))
    route = Route(
        "From the density of the gap",
        subject,
        (
            Step(
                Integral(SLOPE * NORMAL_GAP, (x, -oo, oo)),
                r"$p(1 - p)$ depends on the gap $s_1 - s_2$ alone, which is normal with variance $2\sigma^2$",
                By("numerical integration on both sides, σ = 0.5, 1, 2", _averages_over_the_gap, "numerical"),
            ),
            Step(
                peak * Integral(SLOPE, (x, -oo, oo)),
                "The density is nowhere larger than at 0",
                By("SymPy: it falls on both sides of 0", _at_the_peak, "general"),
                relation="≤",
            ),
            Step(
                peak,
                "The slope of the logistic function integrates to its rise, 1",
                By("SymPy differentiates and takes the limits", _is_the_rise, "general"),
            ),
        ),
    )
    logistic = Route(
        "The weights of two keys",
        p[1],
        (Step(1 / (1 + exp(s[2] - s[1])), "Divide by the first exponential", WrittenOut((2,))),),
    )
    slope = Route(
        r"The slope at a gap $x$, in the gap's hyperbolic form",
        SLOPE,
        (Step(1 / (2 + exp(x) + exp(-x)), r"which tends to 0 as $x \to \pm\infty$", Identity()),),
    )
    definitions = (
        Definition(p[1], "the weight of the first key"),
        Definition(exp(x) / (1 + exp(x)) ** 2, "the slope of the logistic function"),
    )
    lemmas = (logistic, slope)
    return Derivation(subject, peak, (route,), lemmas, relation="≤", definitions=definitions)


def _exact(derivation: Derivation, deviation: float) -> float:
    """Return E p(1-p) by integrating the derived expression over the gap."""
    integrand = function((x,), derivation.routes[0].steps[0].expression.function.subs(sigma, deviation))
    reach = min(40.0, 14 * deviation)
    return 2 * quadrature.quad(integrand, 0, reach, epsabs=1e-13, limit=200)[0]


def _cell(deviation: int) -> Cell:
    return cell_of(f"sigma-{deviation}", NormalRows(2, 64, float(deviation), NORMAL, ("product",)))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure E p(1-p) against the integral, and against its bound."""
    exact = {one: _exact(derivation, one) for one in DEVIATIONS}
    values = [
        Quantity(f"product-sigma-{one}", LABEL, _cell(one), MEAN, integrated(exact[one]))
        for one in DEVIATIONS
    ]
    near = capped(1.0, tolerance)
    bounds = [
        Quantity(
            f"bound-sigma-{one}",
            LABEL,
            _cell(one),
            MEAN,
            prediction(derivation.result.subs(sigma, one)),
            near,
            relation="≤",
        )
        for one in DEVIATIONS
    ]
    typical = integrated(float(function((x,), SLOPE)(math.sqrt(2) * 8)))
    value = dict(zip(DEVIATIONS, values, strict=True))
    last = DEVIATIONS[-1]
    controls = (
        sharper(bounds[-1], 0.97, exact[last]),
        Control(
            r"the slope dies exponentially: at $\sigma = 8$ it is that of a typical gap, $\sqrt2\,\sigma$",
            replace(value[8], id="at-a-typical-gap", prediction=typical, relation="≤"),
            truth=exact[8],
        ),
        Control(
            r"it does not depend on the spread: at $\sigma = 8$ as at $\sigma = 1$",
            replace(value[8], id="spread-does-not-matter", prediction=value[1].prediction),
            truth=exact[8],
        ),
        Control(
            r"the bound is the value: at $\sigma = 1$, too",
            replace(value[1], id="bound-as-value", prediction=bounds[0].prediction),
            truth=exact[1],
        ),
    )
    return Experiment((*values, *bounds), controls)


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the bound at one standard deviation, and which share of it is reached where."""
    bound = function((sigma,), derivation.result)
    reached = (
        fact(
            f"reached-sigma-{one}",
            rf"share of the bound that is reached at $\sigma = {one}$, integrated",
            Float(_exact(derivation, one) / bound(one), 6),
        )
        for one in DEVIATIONS
    )
    at_one = derivation.result.subs(sigma, S.One)
    return (
        fact("bound-at-one", r"bound on $\mathbb{E}[p(1-p)]$ at $\sigma = 1$", at_one),
        *reached,
    )


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the measured values on the integral, below the bound, far above the slope at a typical gap."""
    at = tuple(float(v) for v in (0.5, 0.7, 1, 1.4, 2, 2.8, 4, 5.6, 8, 11, 16, 22, 32))
    checks = [findings.checks[f"product-sigma-{one}"] for one in DEVIATIONS]
    bound, slope = function((sigma,), derivation.result), function((x,), SLOPE)
    few = tuple(v for v in at if v <= 8)
    return (
        Figure(
            id="slow-decay",
            title="The softmax of two keys loses its slope like one over the spread, not exponentially",
            alt="The mean of p times one minus p over the standard deviation of the scores: measured values "
            "on the exact curve, which falls like one over sigma just below its bound, while the slope at a "
            "typical gap falls off a cliff.",
            x=Axis(label=r"standard deviation $\sigma$ of the scores", scale="log"),
            y=Axis(label=r"mean of $p(1-p)$", scale="log"),
            layers=(
                Layer(
                    kind="line", role="truth", label="exact", x=at, y=tuple(_exact(derivation, v) for v in at)
                ),
                Layer(
                    kind="line",
                    role="other",
                    label=r"bound $1/(2\sigma\sqrt{\pi})$",
                    x=at,
                    y=tuple(map(bound, at)),
                ),
                Layer(
                    kind="line",
                    role="control",
                    label="at a typical gap",
                    x=few,
                    y=tuple(slope(math.sqrt(2) * v) for v in few),
                ),
                Layer(
                    kind="points",
                    role="measured",
                    label="measured",
                    x=tuple(map(float, DEVIATIONS)),
                    y=tuple(check.estimate for check in checks),
                    lo=tuple(check.interval[0] for check in checks),
                    hi=tuple(check.interval[1] for check in checks),
                ),
            ),
        ),
    )


CLAIM = Claim(
    title="With two keys, saturation is slow: the slope falls like one over the spread",
    statement=(
        r"For two keys with independent normal scores of standard deviation $\sigma$, "
        r"$\mathbb{E}[p(1-p)] \le 1/(2\sigma\sqrt{\pi})$, where $p = 1/(1 + e^{-(s_1 - s_2)})$."
    ),
    meaning=(
        r"$p(1-p)$ is what a gradient is multiplied with on its way through the softmax. At a given large "
        r"gap it is exponentially small; on average over random gaps it is not, because now and then two "
        r"scores come close. Once the spread is large, twice the spread halves the average. Talk of "
        r"gradients that vanish exponentially describes the typical row only."
    ),
    assumptions=(
        Assumption(id="normal", text=r"Both scores are independent and normal with deviation $\sigma$."),
    ),
    derive=derive,
    experiment=experiment,
    facts=facts,
    figures=figures,
)
