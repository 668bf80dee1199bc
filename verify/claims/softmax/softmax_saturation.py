"""Without scaling the largest softmax weight tends to 1 as the dimension grows; with it, it settles."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from sympy import Float, Integral, Max, S, Symbol, exp, integrate, log, oo, pi, simplify, sqrt

from verify.spec import (
    INDEPENDENT, NORMAL, NORMAL_COMPONENTS, Approximation, Assumption, AttentionRows, Bounded, By, Cell,
    Claim, Control, Derivation, E, Experiment, Fact, Figure, Findings, NormalRows, Quantity, Route, Step,
    Tolerance, against_dimension, capped, cell_of, complement, component, curve, d, fact, function,
    integrated, legendre, mean_largest_weight, measured, over_lengths, p, prediction, runs_over, scaled,
    sharper, sigma, threshold,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Callable

TWO_DIMENSIONS = (1, 4, 16, 64, 256, 1024)
MANY_DIMENSIONS = (4, 16, 64, 256)
KEYS = 16
SPREADS = (1, 4, 16)
"""Standard deviations of two keys' scores, the last where the bound is tight."""
LABEL = r"$\mathbb{E}\max_j p_j$"
REST = r"$1 - \mathbb{E}\max_j p_j$"
MEAN = component(0, positive=True)
BOUNDED = Bounded(0)
"""For weights near 1: most rows lie at that end, too skewed for anything else."""

x = Symbol("x", positive=True)
LOWER = 1 / (1 + exp(x))
"""The smaller of two weights whose scores differ by x."""


def _of_gap(integrand: Callable[..., Any], _: int, deviation: float) -> Approximation:
    """Return one minus the integral of ``integrand`` over gaps, of two keys' scores of this deviation."""
    one, other = (
        float(integrand(gaps, deviation) @ weights)
        for gaps, weights in (legendre(0.0, min(60.0, 15 * deviation), count) for count in (160, 120))
    )
    return Approximation(1 - one, abs(one - other))


def _is_one_minus_the_lower(before: Any, after: Any) -> bool:
    """Integrated over the size of the gap, and over the place of the larger score."""
    (integral,) = after.atoms(Integral)
    integrand = function((x, sigma), integral.function, "numpy")
    known = before == E(Max(p[1], p[2])) and after == 1 - integral and runs_over(after, (x, 0, oo))
    return known and all(
        abs(_of_gap(integrand, 2, deviation).value - mean_largest_weight(2, deviation).value) < 1e-9
        for deviation in (0.5, 1.0, 2.0, 8.0)
    )


def _drops_the_exponential(before: Any, after: Any) -> bool:
    """The exponential is at most 1, so that without it more is taken away."""
    (integral,) = before.atoms(Integral)
    (simpler,) = after.atoms(Integral)
    lost = simplify(integral.function / (simpler.function / (sigma * sqrt(pi))))
    return bool(
        all(runs_over(side, (x, 0, oo)) for side in (before, after))
        and (-log(lost).expand(force=True)).is_nonnegative
        and simplify(before - 1 + integral) == 0
        and simplify(after - 1 + simpler / (sigma * sqrt(pi))) == 0
    )


def derive() -> Derivation:
    """Derive a lower bound for two keys that tends to 1 as the scores spread."""
    subject = E(Max(p[1], p[2]))
    gap = exp(-(x**2) / (4 * sigma**2)) / (sigma * sqrt(pi))
    rest = Integral(LOWER, (x, 0, oo))
    route = Route(
        "Two keys, scores of standard deviation σ",
        subject,
        (
            Step(
                1 - Integral(LOWER * gap, (x, 0, oo)),
                "One minus the smaller weight, averaged over the size of the gap",
                By(
                    "numerical integration on both sides, σ = 0.5, 1, 2, 8",
                    _is_one_minus_the_lower,
                    "numerical",
                ),
            ),
            Step(
                1 - rest / (sigma * sqrt(pi)),
                "The density of the gap is largest at 0",
                By("SymPy: the factor left out is at most 1", _drops_the_exponential, "general"),
                relation="≥",
            ),
            Step(
                1 - log(2) / (sigma * sqrt(pi)),
                r"which tends to 1 as $\sigma \to \infty$",
                By("SymPy integrates", _integrates, "general"),
            ),
        ),
    )
    return Derivation(
        subject,
        route.end,
        (route,),
        relation="≥",
        beyond=r"how large $\sigma$ is for raw and for scaled scores, and the means 0.669 and 0.725, which "
        "are integrated numerically over the query’s length and measured.",
    )


def _integrates(before: Any, after: Any) -> bool:
    value = integrate(1 / (1 + exp(x)), (x, 0, oo))
    return bool(simplify(before.subs(Integral(LOWER, (x, 0, oo)), value) - after) == 0)


@cache
def _two_keys(d: float, scale: float) -> float:
    """Return E max p of two keys: the derived integral over the gap, averaged over the query's length."""
    return over_lengths(_given_length(), 2, d, scale).value


@cache
def _given_length() -> Callable[[int, float], Approximation]:
    (integral,) = derive().routes[0].steps[0].expression.atoms(Integral)
    return partial(_of_gap, function((x, sigma), integral.function, "numpy"))


def _cell(keys: int, d_k: int, *, divided: bool) -> Cell:
    scale = 1 / sqrt(d) if divided else S.One
    queries = 1 if keys == 2 else 4
    sampler = AttentionRows(d_k, queries, keys, NORMAL, NORMAL, scaled(scale, d_k), ("largest",))
    return cell_of(f"{'scaled' if divided else 'raw'}-n{keys}-d{d_k}", sampler, scale=scale)


def _many(d_k: int, *, divided: bool) -> Quantity:
    """Return the comparison of the largest of sixteen weights with its integral."""
    cell = _cell(KEYS, d_k, divided=divided)
    exact = over_lengths(mean_largest_weight, KEYS, d_k, d_k**-0.5 if divided else 1.0).value
    name = f"{'scaled' if divided else 'raw'}-many-keys-d{d_k}"
    return Quantity(name, LABEL, cell, MEAN if divided else BOUNDED, integrated(exact))


def _two(d_k: int, *, divided: bool) -> Quantity:
    """Return the comparison of the larger of two weights with the derived mean."""
    exact = _two_keys(d_k, d_k**-0.5 if divided else 1.0)
    name, cell = f"{'scaled' if divided else 'raw'}-two-keys-d{d_k}", _cell(2, d_k, divided=divided)
    return Quantity(name, LABEL, cell, MEAN if divided else BOUNDED, integrated(exact))


def _bounded(bound: Any, deviation: int, near: Tolerance) -> Quantity:
    """Return the comparison of what the largest weight leaves with the bound on it."""
    cell = cell_of(f"rows-s{deviation}", NormalRows(2, 64, float(deviation), NORMAL, ("largest",)))
    most = prediction((1 - bound).subs(sigma, deviation))
    return Quantity(f"bound-sigma-{deviation}", REST, cell, complement(0), most, near, "≤")


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure two and sixteen keys against exact means, and independent scores against the bound."""
    raw = [_two(one, divided=False) for one in TWO_DIMENSIONS]
    even = [_two(one, divided=True) for one in TWO_DIMENSIONS]
    many = [_many(one, divided=True) for one in MANY_DIMENSIONS]
    sharp = _many(MANY_DIMENSIONS[-1], divided=False)
    near = capped(0.5, tolerance)
    bounds = [_bounded(derivation.result, deviation, near) for deviation in SPREADS]
    controls = _controls(raw[-1], even[-1], many[-1], sharp, bounds[-1])
    return Experiment((*raw, *even, *many, sharp, *bounds), controls)


def _controls(
    raw: Quantity, even: Quantity, many: Quantity, sharp: Quantity, bound: Quantity
) -> tuple[Control, ...]:
    return (
        sharper(bound, 0.98, 1 - mean_largest_weight(2, float(SPREADS[-1])).value),
        Control(
            "scaled attention saturates as well in high dimension: one of 16 keys gets as much as unscaled",
            replace(many, id="scaled-saturates", prediction=sharp.prediction),
            many.prediction.value,
        ),
        Control(
            "without scaling the weights stay as they are with it",
            replace(raw, id="raw-stays", prediction=even.prediction),
            raw.prediction.value,
        ),
        Control(
            "the softmax itself prevents saturation: the largest of two weights stays below 0.9",
            replace(raw, id="softmax-prevents-it", prediction=threshold(0.9), relation="≤"),
            raw.prediction.value,
        ),
    )


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the means of scaled attention over two keys at either end, and how sharp the bound is."""
    rest = 1 - derivation.result
    means = (
        ("one-dimension", r"mean of the larger weight of two keys at $d_k = 1$", _two_keys(1, 1.0)),
        (
            "settles",
            r"mean of the larger weight of two keys at $\sigma = 1$",
            mean_largest_weight(2, 1.0).value,
        ),
    )
    reached = (
        (
            f"reached-sigma-{one}",
            rf"share of the bound on $1 - \mathbb{{E}}\max_j p_j$ that is reached at $\sigma = {one}$",
            (1 - mean_largest_weight(2, float(one)).value) / float(rest.subs(sigma, one)),
        )
        for one in SPREADS
    )
    return tuple(fact(name, what, Float(value, 6)) for name, what, value in (*means, *reached))


def _over_dimensions(power: float) -> Callable[[float], float]:
    """Return the exact mean for two keys over the dimension, at scale d^power."""
    return lambda dimension: _two_keys(dimension, dimension**power)


def figures(findings: Findings) -> tuple[Figure, ...]:
    """Draw the largest of two weights with and without scaling."""
    span = (TWO_DIMENSIONS[0], TWO_DIMENSIONS[-1])
    layers = []
    for kind, power, text in (("raw", 0.0, "unscaled"), ("scaled", -0.5, r"over $\sqrt{d_k}$")):
        checks = (findings.checks[f"{kind}-two-keys-d{one}"] for one in TWO_DIMENSIONS)
        layers.append(curve(text, "truth", _over_dimensions(power), span, 25))
        layers.append(measured(checks, "measured" if kind == "raw" else ""))
    return (
        against_dimension(
            "largest-weight",
            "Unscaled, the largest of two weights goes to 1; scaled, it settles",
            "The mean of the larger of two softmax weights over the dimension: unscaled it rises from "
            "two thirds towards one, scaled it settles below three quarters.",
            "mean of the larger weight of two keys",
            layers,
            y_scale="linear",
        ),
    )


CLAIM = Claim(
    title="Without scaling, the softmax saturates as the dimension grows",
    statement=(
        r"For two keys whose scores have standard deviation $\sigma$, $\mathbb{E}\max_j p_j \ge 1 - \ln "
        r"2/(\sigma\sqrt{\pi})$, which tends to 1. Raw scores have $\sigma = |q| \approx \sqrt{d_k}$; for "
        r"scaled ones $\sigma$ settles at 1, and the mean, 0.669 at $d_k = 1$, at 0.725."
    ),
    meaning=(
        "Winner takes all is what raw scores lead to, and the softmax does nothing against it. With 16 keys "
        "and 256 dimensions the largest raw weight is near 0.9 on average, the largest scaled one about a "
        "quarter. How quickly it happens depends on the number of keys; the claim on concentration says when."
    ),
    assumptions=(
        INDEPENDENT,
        NORMAL_COMPONENTS,
        Assumption(id="one-query", text="All keys meet the same query."),
    ),
    derive=derive,
    experiment=experiment,
    facts=facts,
    figures=figures,
)
