"""Bounded scores must disperse: within a range R no weight of n keys leaves 1/(1 + (n - 1)e^(±R))."""

from math import comb
from typing import Any

import numpy as np
from sympy import Expr, Ge, KroneckerDelta, Le, Rational, Symbol, exp

from verify.spec import RADEMACHER, ROUNDING, Chain, Check, Claim, Computed, Derivation, E, Figure, Findings
from verify.spec import Items, Largest, Softmax, Within, Wrong, a, algebra, at_least, at_most, cite, earlier
from verify.spec import fact, figures as draw, j, l, m, n, over_keys, s, sigma
from verify.spec.arrays import softmax

R = Symbol("R", positive=True)
ROWS = ((2, Rational(1, 8)), (4, Rational(1)), (64, Rational(1)))
"""Numbers of keys, and scores that are plus or minus that number."""
LEVELS = sigma * s[a, j]
LARGEST = E(Largest(Softmax(LEVELS, j), j))
MOST, LEAST = 1 / (1 + (n - 1) * exp(-R)), 1 / (1 + (n - 1) * exp(R))
WRITTEN = "over the exponential of the key’s own score"


def derive() -> tuple[Chain, ...]:
    """Derive both bounds from the exponentials of the other keys, and the one of rows with two levels."""
    above = s[a, l] - s[a, j]
    total, others = over_keys(exp(above), l), 1 - KroneckerDelta(j, l)
    more = at_most(over_keys(others * (exp(above) - exp(-R)), l) * MOST / total, given=(Le(-above, R),))
    less = at_least(over_keys(others * (exp(R) - exp(above)), l) * LEAST / total, given=(Le(above, R),))
    most = (
        Chain(Softmax(s[a, j], j), title="A weight at most")
        .then(1 / total, WRITTEN, algebra)
        .then(MOST, "no other score is further below than $R$", more, "≤")
    )
    least = (
        Chain(Softmax(s[a, j], j), name="least", title="A weight at least")
        .then(1 / total, WRITTEN, algebra)
        .then(LEAST, "no other score is further above than $R$", less, "≥")
    )
    apart, bound = sigma * above, MOST.subs(R, 2 * sigma)
    within, total = (Le(s[a, j], 1), Ge(s[a, j], -1)), over_keys(exp(sigma * above), l)
    further = at_most(over_keys(others * (exp(apart) - exp(-2 * sigma)), l) * bound / total, given=within)
    levels = (
        Chain(Softmax(LEVELS, j), name="levels", title=r"Scores between $-\sigma$ and $\sigma$")
        .then(1 / total, WRITTEN, algebra)
        .then(bound, r"no two scores differ by more than $2\sigma$", further, "≤")
    )
    drawn = Chain(LARGEST, name="drawn", title="The largest weight of such a row, on average").then(
        bound, "the bound of every weight", earlier(levels, given=within), "≤"
    )
    return most, least, levels, drawn


def mean_of_largest(keys: int, size: float) -> float:
    """Return the mean of the largest weight where every score is ±``size``, with equal chance."""
    weights = [softmax(np.where(np.arange(keys) < high, 2 * size, 0.0)).max() for high in range(keys + 1)]
    return sum(comb(keys, high) * float(weight) for high, weight in enumerate(weights)) / 2.0**keys


def weight_of_leader(lead: float, keys: int) -> float:
    """Return softmax's weight of the one key whose score is larger than all others, which are alike."""
    return float(softmax(np.where(np.arange(keys) < 1, lead, 0.0))[0])


def experiment(derived: Derivation) -> Items:
    """Measure the largest weight of rows of two levels, and compute the weights that attain both bounds."""
    drawn, least, tight = derived["drawn"], derived["least"], Within(0.5, fixed=True)
    means = {size: mean_of_largest(size[0], float(size[1])) for size in ROWS}
    for keys, level in ROWS:
        at, name = {n: keys, sigma: level}, f"n{keys}-s{float(level):g}".replace(".", "")
        rows = dict[str, Any](laws={s: RADEMACHER}, shape={m: 16})
        control = keys == 4
        value = means[keys, level]
        yield Check(f"largest-{name}", drawn, at, equals=value, control=control, **rows)
        false = 0.93 if keys == 2 else 0
        bound = dict[str, Any](at_most=drawn.end, sharper=false, sharper_truth=value)
        yield Check(f"bound-{name}", drawn.start, at, tolerance=tight, **bound, **rows)
    what = "weight of a key whose score is {} by 3 than all others"
    for keys in (8, 512):
        at, where = {R: 3, n: keys}, {"n": keys}
        given = dict[str, Any](settings=where, allowance=ROUNDING)
        most, lowest = derived.end.subs(at), least.end.subs(at)
        larger, smaller = (what.format(word) for word in ("larger", "smaller"))
        yield Computed(f"most-n{keys}", larger, weight_of_leader, (3.0, keys), at_most=most, **given)
        yield Computed(f"least-n{keys}", smaller, weight_of_leader, (-3.0, keys), at_least=lowest, **given)
    yield from wrong_versions(derived.end, least.end, means[ROWS[1]])
    at = {R: 3, n: 512}
    yield fact("attained", "largest weight of 512 keys within a range of 3", derived.end.subs(at))
    yield fact("published", "the published bound of it, $e^R/n$", (exp(R) / n).subs(at))


def wrong_versions(most: Expr, least: Expr, of_few: float) -> Items:
    """Yield the bounds for a smaller range, and many keys as if they were few."""
    smaller = {R: Rational(297, 100), n: 512}
    says = "the bound for a range smaller by a hundredth holds as well"
    yield Wrong("smaller-range", of="most-n512", at_most=most.subs(smaller), says=says)
    says = "the lower bound for a range smaller by a hundredth holds as well"
    yield Wrong("smaller-range-below", of="least-n512", at_least=least.subs(smaller), says=says)
    says = "the largest of {cell:n} weights is as large as that of {largest-n4-s1:n}"
    yield Wrong("as-few-keys", of="largest-n64-s1", equals=of_few, says=says)


def figures(derived: Derivation, findings: Findings) -> Figure:
    """Draw the largest weight over the number of keys, and both bounds."""
    span = (4, 64)
    return draw.figure(
        "dispersion",
        "Within a fixed range of scores every weight falls like one over the number of keys",
        "The mean of the largest weight over the number of keys, on log axes: measured points between two "
        "falling lines, one for a key ahead of all others by the whole range and one for a key behind them.",
        draw.curve("exact", lambda keys: mean_of_largest(round(keys), 1.0), span, many=2),
        draw.curve("{main:end}", derived.end.subs(R, 2), span, "other"),
        draw.curve("{least:end}", derived["least"].end.subs(R, 2), span, "control"),
        draw.measured(findings.matching("largest-n*-s1"), n),
        x="number of keys {n}",
        y="mean of the largest weight",
    )


CLAIM = Claim(
    title="Within a fixed range of scores, attention spreads over all keys as their number grows",
    statement="If no two scores of a row of {n} keys differ by more than {R}, every weight is at least "
    "{least:end} and at most {main:end}. Rows with two levels of scores attain these bounds. Both "
    "tend to zero as {n} grows: bounded scores cannot keep attention on one key.",
    meaning="How sharp a softmax can be depends on how far apart its scores are. A key that leads by three "
    "has a weight of {most-n8:prediction.2} among {most-n8:n} keys, and of {attained:3} among {most-n512:n}. "
    "A published bound, {loose}, gives {published:3} for the latter: it is true, but attained only if all "
    "scores are equal. Networks with bounded inputs have bounded scores, so a head that must find one token "
    "among more and more needs scores that grow.",
    symbols={"n": n, "R": R, "loose": exp(R) / n},
    references=cite("velickovic2025"),
)
