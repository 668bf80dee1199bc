"""Scaled rows keep passing gradients on at every dimension, unscaled ones less and less."""

from __future__ import annotations

import math
from functools import cache

from sympy import S

from verify.spec import (
    INDEPENDENT, NORMAL, NORMAL_COMPONENTS, Assumption, BothScales, Cell, Check, Claim, Control, Derivation,
    Experiment, Fact, Figure, Findings, NormalRows, Prediction, Quantity, Reference, RowMeans, Simulated,
    Smooth, Tolerance, against_dimension, biased, capped, cell_of, component, curve, d, extremes, function,
    integrated, mean_jacobian, mean_squares, measured, over_lengths, prediction, ratio, saturation, sharper,
    sigma, threshold, wrong,
)  # fmt: skip

DIMENSIONS = (4, 16, 64)
LARGE = 32
"""A standard deviation at which two keys are as good as at their limit."""
NARROW = 0.25
"""A standard deviation at which two keys are as good as at the bound by the trace."""
NORM = r"$\mathbb{E}\,\|J\|_F^2$"
OF_TRACE = r"$\mathbb{E}\,\|J\|_F^2\,/\,\tfrac12(1 - \mathbb{E}\sum p_j^2)$"
RATIO = r"$\mathbb{E}\,\|J\|_F^2$ unscaled, over the same scaled"


def derive() -> Derivation:
    """Derive the limit from an identity and again by ties, and a bound for every deviation."""
    route, again = saturation.limit(), saturation.by_ties()
    lemmas = (
        saturation.identity(),
        saturation.bound(),
        saturation.inverse_length(),
        saturation.two_keys(),
        extremes.largest(),
    )
    return Derivation.of(route, again, lemmas=lemmas, definitions=saturation.DEFINITIONS)


@cache
def _exact(dimension: float, scale: float) -> float:
    return saturation.of_two_keys(dimension, scale)


def _predicted(dimension: int, *, scaled: bool) -> Prediction:
    """Return the mean for two keys, the derived function of the gap averaged over the gap's law."""
    value = _exact(dimension, dimension**-0.5 if scaled else 1.0)
    return Prediction(value, f"{value:.6f}")


def _cell(dimension: int, keys: int, queries: int) -> Cell:
    return cell_of(f"n{keys}-d{dimension}", Simulated(NORMAL, NORMAL, queries, keys, dimension), BothScales())


def _rows(name: str, deviation: float) -> Cell:
    return cell_of(name, NormalRows(2, 256, deviation, NORMAL, ("jacobian", "squares")))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure two and more keys against their exact means, the bounds where they are tight, and the limit."""
    two = []
    for dimension in DIMENSIONS:
        cell = _cell(dimension, 2, dimension)
        for name in ("unscaled", "scaled"):
            expected = _predicted(dimension, scaled=name == "scaled")
            label = f"{NORM} of two keys, {name}"
            factor = Tolerance(2.0 if name == "unscaled" else 1.0)
            two.append(Quantity(f"{name}-d{dimension}", label, cell, component(name), expected, factor))
    near = capped(0.5, tolerance)
    many = [_bounded(derivation, dimension, near) for dimension in (16, 64)]
    bounds = [_by_trace(near), _by_largest(derivation, near)]
    ratios = [_ratio(64, 16, 8), _ratio(16, 64, 32)]
    limiting = _limiting(derivation)
    checks = (*two, *many, *bounds, *ratios, limiting)
    return Experiment(checks, _controls(two, (*bounds, many[-1]), ratios, limiting, tolerance))


def _ratio(keys: int, dimension: int, queries: int) -> Quantity:
    """Return the comparison of the quotient of both scales with that of their integrals."""
    parts = (over_lengths(mean_jacobian, keys, dimension, scale).value for scale in (1.0, dimension**-0.5))
    unscaled, scaled = parts
    cell = _cell(dimension, keys, queries)
    name = f"ratio-n{keys}-d{dimension}"
    return Quantity(
        name, RATIO, cell, ratio("unscaled", "scaled"), integrated(unscaled / scaled), Tolerance(2.0)
    )


def _bounded(derivation: Derivation, dimension: int, near: Tolerance) -> Quantity:
    """Return the comparison of sixteen unscaled keys with the bound, averaged over the query's length."""
    _, for_all, inverse, *_ = derivation.lemmas
    mean = (for_all.end * sigma * inverse.end).subs(d, dimension)
    label, cell = f"{NORM} of sixteen keys, unscaled", _cell(dimension, 16, 32)
    bounded = component("unscaled", positive=True)
    return Quantity(
        f"bounded-n16-d{dimension}", label, cell, bounded, integrated(extremes.number(mean, 16)), near, "≤"
    )


def _by_trace(near: Tolerance) -> Quantity:
    """Return the comparison of two keys' squared norm with half the trace, in the same rows."""
    share = Smooth(lambda mean: 2 * mean["jacobian"] / (1 - mean["squares"]), positive=True)
    cell = _rows("narrow-scores", NARROW)
    return Quantity("by-the-trace-n2", OF_TRACE, cell, share, prediction(S.One), near, "≤")


def _by_largest(derivation: Derivation, near: Tolerance) -> Quantity:
    """Return the comparison of two keys' squared norm at large scores with its bound."""
    bound = extremes.number(derivation.lemmas[1].end * sigma, 2)
    label = r"$\sigma\,\mathbb{E}\,\|J\|_F^2$ of two keys with large scores"
    mean = component("jacobian", float(LARGE), positive=True)
    return Quantity("bounded-n2", label, _rows("large-scores", LARGE), mean, integrated(bound), near, "≤")


def _limiting(derivation: Derivation) -> Quantity:
    value = extremes.number(derivation.result, 2)
    label = r"$\sigma\,\mathbb{E}\,\|J\|_F^2$ of two keys with large scores"
    mean = component("jacobian", float(LARGE), positive=True)
    return Quantity("limit-n2", label, _rows("large-scores", LARGE), mean, integrated(value), Tolerance(3.0))


def _controls(
    two: list[Quantity],
    bounds: tuple[Quantity, ...],
    ratios: list[Quantity],
    limiting: Quantity,
    tolerance: float,
) -> tuple[Control, ...]:
    by_name = {one.id: one for one in two}
    last = DIMENSIONS[-1]
    unscaled, scaled = by_name[f"unscaled-d{last}"], by_name[f"scaled-d{last}"]
    typical = function((saturation.g,), saturation.OF_GAP)(2 * math.sqrt(last / math.pi))
    of_trace, of_largest, averaged = bounds
    narrow = 2 * mean_jacobian(2, NARROW).value / (1 - mean_squares(2, NARROW).value)
    large, above, below = LARGE * mean_jacobian(2, LARGE).value, *ratios
    return (
        biased(scaled, tolerance),
        sharper(of_trace, 0.95, narrow),
        sharper(of_largest, 0.65, large),
        sharper(averaged, 0.53, over_lengths(mean_jacobian, 16, 64, 1.0).value),
        wrong(
            limiting,
            "half-in-the-limit",
            "the limit is that of the bound, half of $M_2$",
            of_largest.prediction,
            truth=large,
        ),
        wrong(
            unscaled,
            "as-much-unscaled",
            "without scaling rows pass on as much as with it",
            scaled.prediction,
            tolerance=Tolerance(),
        ),
        wrong(
            unscaled,
            "typical-gap",
            "the mean is that of the typical gap of scores, and so falls exponentially",
            Prediction(typical, f"{typical:.3g}"),
            tolerance=Tolerance(1.0, unscaled.prediction.value, "the derived mean"),
        ),
        wrong(
            above,
            "less-in-every-dimension",
            "in every dimension rows pass on less without scaling, such as 64 keys in 16 dimensions",
            threshold(S.One),
            relation="≤",
        ),
        wrong(
            below,
            "more-in-every-dimension",
            "in every dimension they pass on more, such as 16 keys in 64 dimensions",
            threshold(S.One),
            relation="≥",
        ),
        wrong(above, "no-change", "scaling changes nothing for 64 keys in 16 dimensions", threshold(S.One)),
    )


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the limit of two keys, and the means of the largest score in it."""
    named = ((2, "two"), (16, "sixteen"), (128, "128"))
    means = (
        (
            f"largest-n{keys}",
            f"mean of the largest of {words} standard normal scores",
            extremes.number(extremes.LARGEST, keys),
        )
        for keys, words in named
    )
    of_two = (
        "limit-of-two",
        "limit of σ times the mean, for two keys",
        extremes.number(derivation.result, 2),
    )
    bounded = derivation.lemmas[1]
    reached = max(RowMeans("≤").tightness(bounded.start, bounded.end))
    loose = (
        "bound-reached",
        r"largest share of the bound $M_n/(2\sigma)$ that is reached, up to a million keys, $\sigma \le 32$",
        reached,
    )
    return tuple(
        Fact(id=name, what=what, latex=f"{value:.6g}", value=value)
        for name, what, value in (of_two, loose, *means)
    )


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw both means of two keys over the dimension, and the limit."""
    span = (2.0, 256.0)
    top = extremes.number(derivation.result, 2)

    def found(name: str) -> list[Check]:
        return [findings.checks[f"{name}-d{dimension}"] for dimension in DIMENSIONS]

    return (
        against_dimension(
            "two-keys",
            "Scaled rows keep passing gradients on; unscaled ones less with every dimension",
            "Mean squared norm of the softmax Jacobian of two keys against the dimension, on log axes: "
            "with scaling it stays near 0.15, without it falls like one over the root of the dimension, "
            "close to the derived limit; measured points lie on both curves.",
            NORM,
            (
                curve("scaled", "truth", lambda x: _exact(x, x**-0.5), span, 15),
                curve("unscaled", "truth", lambda x: _exact(x, 1.0), span, 15),
                curve(r"limit $M_2/(3\sqrt{d_k})$", "other", lambda x: top / math.sqrt(x), span),
                measured(found("scaled"), ""),
                measured(found("unscaled"), "measured"),
            ),
        ),
    )


CLAIM = Claim(
    title="Without scaling the softmax saturates, in the mean like one over the root of the dimension",
    statement=(
        r"For $n$ independent normal scores of standard deviation $\sigma$ and the softmax Jacobian $J$: "
        r"$\mathbb{E}\,\|J\|_F^2 \le \tfrac12(1 - \mathbb{E}\sum p_j^2) \le M_n/(2\sigma)$ always and "
        r"$\sigma\,\mathbb{E}\,\|J\|_F^2 \to M_n/3$ as $\sigma\to\infty$, where $M_n$ is the mean of the "
        r"largest of $n$ standard normal variables. Unscaled, $\sigma$ is the length of the query, about "
        r"$\sqrt{d_k}$, and the mean falls to 0; divided by $\sqrt{d_k}$, $\sigma$ tends to 1 and the mean "
        "to a constant."
    ),
    meaning=(
        "As the dimension grows, what a row can pass on to its scores soon settles if they are scaled, and "
        "fades if they are not. But it fades slowly, not exponentially: the mean lives from rare rows whose "
        "two largest scores nearly tie. (The bound is loose: no mean was found above two thirds of it, which "
        "is its limit.) And it falls below the scaled value late when there are many keys, since an almost "
        "uniform row passes on little as well: 64 keys in 16 dimensions still pass on more unscaled. All "
        "this is for random queries and keys, as at the start of training."
    ),
    assumptions=(
        INDEPENDENT,
        NORMAL_COMPONENTS,
        Assumption(
            id="given-the-query",
            text=r"Given a query $q$, its scores with normal keys are independent and normal, with standard "
            r"deviation $c|q|$ at scale $c$.",
        ),
    ),
    references=(
        Reference(
            key="stein1981",
            text="C. M. Stein, Estimation of the Mean of a Multivariate Normal Distribution, Ann. Statist. 9 "
            "(1981), 1135-1151: integration by parts.",
            url="https://doi.org/10.1214/aos/1176345632",
        ),
    ),
    derive=derive,
    experiment=experiment,
    facts=facts,
    figures=figures,
)
