"""Any reference gives the same weights; where it lags by t at most, partial sums reach 1 + (n - 1)eᵗ."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from sympy import Le, Min, Rational, S, Sum, Symbol, exp, log, symbols

from verify.spec import NORMAL, ROUNDING, UNIT_INTERVAL, Allowance, Chain, Check, Claim, Column, Computed
from verify.spec import Derivation, E, Family, Figure, Items, Softmax, Threshold, Wrong, a, algebra, at_most
from verify.spec import cite, d_v, fact, figures as draw, j, m, n, over_keys, s, v
from verify.spec.arrays import Array, in_single_precision, largest_difference, loops, softmax
from verify.spec.rounding import rounded

LAG = 8 * log(2)
"""The published threshold, 8 in powers of two."""
SPREADS, THRESHOLDS, KEYS, RANGE = (1, 3), (1, 2, 4), 64, 128
r, (R, t), x = Symbol("r", real=True), symbols("R t", positive=True), Family("x", m, n)


def derive() -> tuple[Chain, ...]:
    """Derive how large a partial sum becomes where the reference lags, and that any reference cancels."""
    above = s[a, j] - s[a, 1]
    largest = (
        Chain(over_keys(exp(above)), title="A partial sum of exponentials")
        .then(1 + Sum(exp(above), (j, 2, n)), "the reference is one of the scores, here the first", algebra)
        .then(
            1 + (n - 1) * exp(t),
            "no score exceeds the reference by more than $t$",
            at_most(Sum(exp(t) - exp(above), (j, 2, n)), given=(Le(above, t),)),
            "≤",
        )
    )
    cancels = Chain(Softmax(s[a, j] - r, j), name="cancels", title="With any reference $r$").then(
        Softmax(s[a, j], j), "the exponential of the reference cancels", algebra
    )
    lead = Min(R * x[a, j], t)
    drawn = Chain(
        E(1 + Sum(exp(lead), (j, 2, n))),
        name="drawn",
        title="On average over rows whose scores lie anywhere from 0 to $R$ above the first, but at most $t$",
    ).then(
        1 + (n - 1) * exp(t),
        "none of them exceeds $t$",
        at_most(E(Sum(exp(t) - exp(lead), (j, 2, n)))),
        "≤",
    )
    return largest, cancels, drawn


def references(scores: Array, lag: float, *, last: bool = False) -> Array:
    """Return the reference that is stored at each key: a score that becomes it by exceeding it by more.

    With ``last``, a score becomes it that exceeds by more than ``lag`` the maximum so far.
    """
    stored, highest = scores[..., 0], scores[..., 0]
    at_keys = []
    for score in np.moveaxis(scores, -1, 0):
        stored = np.where(score - (highest if last else stored) > lag, score, stored)
        highest = np.maximum(highest, score)
        at_keys.append(stored)
    return np.stack(at_keys, axis=-1)


def one_pass(scores: Array, lag: float, *, last: bool = False) -> tuple[Array, Array]:
    """Return the weights, and the largest partial sum of exponentials over the reference of its time."""
    stored = references(scores, lag, last=last)
    total, most, before = np.zeros(scores.shape[:-1]), np.zeros(scores.shape[:-1]), stored[..., 0]
    for score, reference in zip(np.moveaxis(scores, -1, 0), np.moveaxis(stored, -1, 0), strict=True):
        total = total * np.exp(before - reference) + np.exp(score - reference)
        most, before = np.maximum(most, total), reference
    weights: Array = np.exp(scores - before[..., None]) / total[..., None]
    return weights, most


def in_few_bits(draws: Mapping[str, Array], _: np.random.Generator) -> dict[str, Array]:
    """Attention whose reference cancels but for rounding: squared errors, exponentials being in bfloat16.

    The reference is the largest score so far, or it lags by the published threshold.
    """
    errors = {}
    for spread in SPREADS:
        scores = spread * draws["s"].astype(float)
        exact = softmax(scores) @ draws["v"]
        for name, lag in (("at-maximum", 0.0), ("lagging", float(LAG))):
            parts = rounded(np.exp(scores - references(scores, lag)[..., -1:]), 8)
            errors[f"{name}-{spread}"] = (parts @ draws["v"] / parts.sum(axis=-1)[..., None] - exact) ** 2
    return errors


def largest_sum(lag: float, *, last: bool = False) -> float:
    """Return the largest partial sum where scores lie by ``lag`` above the first, or above the one before."""
    steps = np.arange(KEYS, dtype=float)
    return float(one_pass(lag * (steps if last else np.minimum(steps, 1)), lag, last=last)[1])


def distance_from_softmax(*, single: bool = False) -> float:
    """Return how far weights of one pass over fixed scores are from softmax's; in ``single`` too."""
    scores = 3 * loops.fixed_normals(64, 128)

    def weights(rows: Array) -> Array:
        return one_pass(rows, 2.0)[0]

    return largest_difference((in_single_precision(weights) if single else weights)(scores), softmax(scores))


def mean_of_capped(lag: float) -> float:
    """Return the mean of a partial sum of such rows."""
    return 1 + (KEYS - 1) * (math.expm1(lag) + (RANGE - lag) * math.exp(lag)) / RANGE


def experiment(derived: Derivation) -> Items:
    """Compute partial sums and weights of one pass, and measure what a lag costs in few bits."""
    few = Allowance(1e-9, "what sums of a few thousand lose")
    for lag in THRESHOLDS:
        where = {"n": KEYS, "scores": "one at the reference, all others t above it", "t": lag}
        end, given = derived.end.subs({n: KEYS, t: lag}), (float(lag),)
        what, drawn = "largest partial sum", dict[str, Any](settings=where, allowance=few)
        yield Computed(f"sum-t{lag}", what, largest_sum, given, equals=1 + 63 * exp(S(lag)), **drawn)
        yield Computed(f"bound-t{lag}", what, largest_sum, given, at_most=end, **drawn)
    what = "largest distance of one-pass weights from softmax"
    at = {"t": 2}
    yield Computed("same-weights", what, distance_from_softmax, equals=0, settings=at, allowance=ROUNDING)
    capped, at = derived["drawn"], {n: KEYS, R: RANGE, t: 2}
    laws, truth = {x: UNIT_INTERVAL}, mean_of_capped(2)
    yield Check("drawn-t2", capped, at, laws=laws, sharper=0.97, sharper_truth=truth)
    rows = dict[str, Any](laws={s: NORMAL, v: NORMAL}, shape={m: 16, d_v: 8})
    for spread in SPREADS:
        cost = E(Column(in_few_bits, f"lagging-{spread}")) / E(Column(in_few_bits, f"at-maximum-{spread}"))
        yield Check(f"cost-s{spread}", cost, {n: KEYS}, at_most=Threshold(2), **rows)
    says = "63 others count as 62, and the reference’s own key not at all"
    yield Wrong("one-key-less", of="bound-t2", at_most=62 * exp(S(2)), says=says)
    says = "it is enough that no score exceeds the maximum so far by more than that"
    yield Wrong("against-the-last", of="bound-t2", computed=largest_sum(2.0, last=True), says=says)
    says = "a lag smaller by a hundredth gives the same sum"
    yield Wrong("smaller-lag", of="sum-t2", equals=1 + 63 * exp(2 * Rational(99, 100)), says=says)
    single = distance_from_softmax(single=True)
    yield Wrong("in-single-precision", of="same-weights", computed=single, says="single precision is exact")
    says = "in few bits a lagging reference costs nothing"
    yield Wrong("no-cost", of="cost-s1", at_most=Threshold(1), says=says)
    says = "at the larger spread the error grows by two fifths at most"
    yield Wrong("little-cost", of="cost-s3", at_most=Threshold(Rational(7, 5)), says=says)
    yield fact("published-lag", "largest exponential over the reference, 8 in powers of two", exp(LAG))


def figures(derived: Derivation) -> Figure:
    """Draw the largest partial sum over the lag, and its bound."""
    return draw.figure(
        "sums",
        "A partial sum is at most one and the exponential of the lag for each other key",
        "Largest partial sum over the allowed lag, for rows whose scores all lie that far above the "
        "first: points on a rising line, the bound.",
        draw.curve("bound: {main:end}", derived.end.subs(n, KEYS), (0.5, 6)),
        draw.dots("computed", THRESHOLDS, [largest_sum(float(lag)) for lag in THRESHOLDS]),
        x="lag {t}",
        y="largest partial sum",
        x_scale="linear",
    )


CLAIM = Claim(
    title="One-pass softmax may let its reference lag, within a bound",
    statement="Subtracting any reference {r} from all scores leaves the weights unchanged: {cancels}. While "
    "no score exceeds the stored reference, which is a score itself, by more than {t}, every partial sum of "
    "{n} exponentials is at most {main:end}.",
    meaning="One-pass attention keeps a running maximum and rescales its sums whenever that maximum rises. "
    "Most of these corrections can be omitted, since exactness does not need them; the bound, which is "
    "reached where all other scores lie that far above the reference, says how far a sum can grow meanwhile, "
    "and single precision has room for it. What counts is the distance from the stored reference: if scores "
    "are compared with the maximum so far instead, a slow rise goes unnoticed and sums grow without bound. "
    "In low precision it is not quite free: with exponentials rounded to bfloat16, the largest one is exact "
    "if the reference is the maximum, and is rounded like all others if the reference lags. At the published "
    "threshold and with {cost-s1:n} keys, the mean squared error is {cost-s1:estimate±} times as large for "
    "scores of standard deviation 1, and {cost-s3:estimate±} times for one of 3.",
    symbols={"r": r, "t": t, "n": n},
    references=cite("milakov2018", "dao2022", "zadouri2026"),
)
