"""Scaled rows keep passing gradients on at every dimension, unscaled ones less and less."""

import math
from functools import cache

from sympy import S

from verify.claims.gradients.shared import BothScales, extremes, jacobian, saturation
from verify.former import (
    E, EVEN, NORMAL, SQUARES, STEIN, Cell, Claim, Control, Derivation, Experiment, Fact, Figure, Findings,
    NormalRows, Notation, Prediction, Quantity, Smooth, Tolerance, biased, capped, cell_of, component, d,
    figure, function, integrated, line, measured, n, normal, prediction, ratio, row_integrals, row_means,
    sharper, sigma, threshold, wrong,
)  # fmt: skip

DIMENSIONS = (4, 16, 64)
LARGE, NARROW = 32, 0.25
"""Standard deviations at which two keys are as good as at their limit, and at the bound by the trace."""
SIZE = Notation(r"\|J\|_F^2", jacobian.FROBENIUS)
NORM = r"$\mathbb{E}\,\|J\|_F^2$"
OF_TRACE = r"$\mathbb{E}\,\|J\|_F^2\,/\,\tfrac12(1 - \mathbb{E}\sum p_j^2)$"
OF_LARGE = r"$\sigma\,\mathbb{E}\,\|J\|_F^2$ of two keys with large scores"
RATIO = r"$\mathbb{E}\,\|J\|_F^2$ unscaled, over the same scaled"


def derive() -> Derivation:
    """Derive the limit from an identity and again by ties, and a bound for every deviation."""
    route, again = saturation.limit(), saturation.by_ties()
    bounds = saturation.identity(), saturation.bound().called("bound"), saturation.inverse_length()
    lemmas = (*bounds, saturation.two_keys(), extremes.largest(), *saturation.lemmas())
    return Derivation.of(route, again, lemmas=lemmas)


@cache
def _exact(dimension: float, scale: float) -> float:
    return saturation.of_two_keys(dimension, scale)


def _cell(dimension: int, keys: int, queries: int) -> Cell:
    return cell_of(f"n{keys}-d{dimension}", normal(queries, keys, dimension), BothScales())


def _rows(name: str, deviation: float) -> Cell:
    return cell_of(name, NormalRows(2, 256, deviation, NORMAL, ("jacobian", "squares")))


def _of_two(dimension: int, name: str, power: float, factor: float) -> Quantity:
    """Return the comparison of two keys' mean, the derived function of the gap averaged over its law."""
    value, cell = _exact(dimension, dimension**power), _cell(dimension, 2, dimension)
    exact, label = Prediction(value, f"{value:.6f}"), f"{NORM} of two keys, {name}"
    return Quantity(f"{name}-d{dimension}", label, cell, component(name), exact, Tolerance(factor))


def _bounded(derivation: Derivation, dimension: int, near: Tolerance) -> Quantity:
    """Return the comparison of sixteen unscaled keys with the bound, averaged over the query's length."""
    _, for_all, inverse, *_ = derivation.lemmas
    mean = extremes.number((for_all.end * sigma * inverse.end).subs(d, dimension), 16)
    label, cell = f"{NORM} of sixteen keys, unscaled", _cell(dimension, 16, 32)
    unscaled = component("unscaled", positive=True)
    return Quantity(f"bounded-n16-d{dimension}", label, cell, unscaled, integrated(mean), near, "≤")


def _ratio(keys: int, dimension: int, queries: int) -> Quantity:
    """Return the comparison of the quotient of both scales with that of their integrals."""
    parts = (
        row_integrals.over_lengths(row_integrals.mean_jacobian, keys, dimension, scale).value
        for scale in (1.0, dimension**-0.5)
    )
    unscaled, scaled = parts
    name, cell = f"ratio-n{keys}-d{dimension}", _cell(dimension, keys, queries)
    of_both = ratio("unscaled", "scaled")
    return Quantity(name, RATIO, cell, of_both, integrated(unscaled / scaled), Tolerance(2.0))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure two and more keys against their exact means, the bounds where they are tight, and the limit."""
    near = capped(0.5, tolerance)
    unscaled, scaled = (
        {n: _of_two(n, *scale) for n in DIMENSIONS}
        for scale in (("unscaled", 0.0, 2.0), ("scaled", -0.5, 1.0))
    )
    two = [one[n] for n in DIMENSIONS for one in (unscaled, scaled)]
    many = [_bounded(derivation, n, near) for n in (16, 64)]
    share = Smooth(lambda mean: 2 * mean["jacobian"] / (1 - mean["squares"]), positive=True)
    narrow, one = _rows("narrow-scores", NARROW), prediction(S.One)
    by_trace = Quantity("by-the-trace-n2", OF_TRACE, narrow, share, one, near, "≤")
    at_large, mean = _rows("large-scores", LARGE), component("jacobian", float(LARGE), positive=True)
    most = integrated(extremes.number(derivation.lemmas[1].end * sigma, 2))
    by_largest = Quantity("bounded-n2", OF_LARGE, at_large, mean, most, near, "≤")
    limit = integrated(extremes.number(derivation.result, 2))
    wide = Tolerance(3.0, because="only the few rows whose two scores lie close make the mean")
    limiting = Quantity("limit-n2", OF_LARGE, at_large, mean, limit, wide)
    ratios = [_ratio(64, 16, 8), _ratio(16, 64, 32)]
    large = LARGE * row_integrals.mean_jacobian(2, LARGE).value
    of_trace = 2 * row_integrals.mean_jacobian(2, NARROW).value
    of_trace /= 1 - row_integrals.mean_squares(2, NARROW).value
    return Experiment((*two, *many, by_trace, by_largest, *ratios, limiting), (
        biased(scaled[64], tolerance),
        sharper(by_trace, 0.95, of_trace),
        sharper(by_largest, 0.65, large),
        sharper(many[-1], 0.53, row_integrals.over_lengths(row_integrals.mean_jacobian, 16, 64, 1.0).value),
        wrong(limiting, "half-in-the-limit", "the limit is that of the bound, half of {largest}", most,
              truth=large),
        *_wrong_scales(unscaled[64], scaled[64], *ratios),
    ))  # fmt: skip


def _wrong_scales(
    unscaled: Quantity, scaled: Quantity, above: Quantity, below: Quantity
) -> tuple[Control, ...]:
    typical = function((saturation.g,), saturation.OF_GAP)(2 * math.sqrt(64 / math.pi))
    one = threshold(S.One)
    return (
        wrong(unscaled, "as-much-unscaled", "unscaled rows transmit as much as scaled ones",
              scaled, tolerance=EVEN),
        wrong(unscaled, "typical-gap",
              "the mean is that of the typical gap of scores, and so falls exponentially",
              integrated(typical, 3),
              tolerance=Tolerance(1.0, unscaled.prediction.value, "the derived mean")),
        wrong(above, "less-in-every-dimension",
              "in every dimension rows pass on less without scaling, such as {cell:n} keys in {cell:d_k} "
              "dimensions", one, relation="≤"),
        wrong(below, "more-in-every-dimension",
              "in every dimension they pass on more, such as {cell:n} keys in {cell:d_k} dimensions", one,
              relation="≥"),
        wrong(above, "no-change", "scaling changes nothing for {cell:n} keys in {cell:d_k} dimensions", one),
    )  # fmt: skip


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the limit of two keys, and the means of the largest score in it."""
    bounded = derivation.lemmas[1]
    bound = r"the bound $M_n/(2\sigma)$ that is reached, up to a million keys, $\sigma \le 32$"
    limit, reached = (
        extremes.number(derivation.result, 2),
        row_means.share_reached(bounded.start, bounded.end),
    )
    found = [
        ("limit-of-two", "limit of σ times the mean, for two keys", limit),
        ("bound-reached", f"largest share of {bound}", reached),
    ]
    for keys, words in ((2, "two"), (16, "sixteen"), (128, "128")):
        what = f"mean of the largest of {words} standard normal scores"
        found.append((f"largest-n{keys}", what, extremes.number(extremes.LARGEST, keys)))
    return tuple(Fact(id=name, what=what, latex=f"{value:.6g}", value=value) for name, what, value in found)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw both means of two keys over the dimension, and the limit."""
    span, top = (2.0, 256.0), extremes.number(derivation.result, 2)
    return figure(
        "two-keys",
        "Scaled rows keep passing gradients on; unscaled ones less with every dimension",
        "Mean squared norm of the softmax Jacobian of two keys against the dimension, on log axes: with "
        "scaling it stays near {scaled-d64:prediction.2}, without it falls like one over the root of the "
        "dimension, close to the derived limit; measured points lie on both curves.",
        "mean of {norm}",
        line("scaled", lambda n: _exact(n, n**-0.5), over=span, points=15),
        line("unscaled", lambda n: _exact(n, 1.0), over=span, points=15),
        line("limit: {limit-of-two:3} over {root_d}", lambda n: top / math.sqrt(n), "other", over=span),
        measured(findings.matching("scaled-d*"), ""),
        measured(findings.matching("unscaled-d*")),
    )


CLAIM = Claim(
    title="Without scaling, the softmax's mean squared Jacobian falls as one over the root of the dimension",
    headline="unscaled-d64",
    statement="For {n} independent normal scores of standard deviation {sigma} and the Jacobian J of their "
    "softmax, {bound} always, by way of {middle}, and {theorem}, where {largest} is the mean of the largest "
    "of {n} standard normal variables. For standard normal queries and keys, {sigma} is the length of the "
    "query, about {root_d}, if scores are not scaled, and the mean falls to zero; if they are divided by "
    "{root_d}, {sigma} tends to one and the mean to a constant.",
    meaning="As the dimension grows, the gradient that a row can transmit to its scores soon settles if "
    "they are scaled, and decays if they are not. It decays slowly, not exponentially: rare rows whose two "
    "largest scores nearly tie keep the mean up. (The bound is loose: no mean was found above two thirds of "
    "it, which is its limit.) And it falls below the scaled value late when there are many keys, since an "
    "almost uniform row transmits little as well: {ratio-n64-d16:n} keys in {ratio-n64-d16:d_k} dimensions "
    "still transmit more unscaled. All this is for random queries and keys, as at the start of training.",
    symbols={"n": n, "sigma": sigma, "largest": extremes.LARGEST, "middle": E(1 - SQUARES) / 2, "norm": SIZE},
    references=STEIN,
)
