"""One-pass softmax may let its reference lag, within a bound."""

import numpy as np

from verify.spec import NORMAL, ROUNDING, UNIT_INTERVAL, Allowance, Chain, Chains, Check, Claim, Column
from verify.spec import Computed, Derivation, E, Family, Items, Le, Line, Max, Min, Rational, Softmax, Sum
from verify.spec import Symbol, Threshold, Wrong, a, algebra, at_most, cite, d_v, exp, j, log, m, n, over_keys
from verify.spec import s, symbols, v
from verify.spec.arrays import Array, Draws, fixed_normals, in_single_precision, largest_difference, rounded
from verify.spec.arrays import softmax

LAG = 8 * log(2)  # the published threshold, 8 in powers of two
SPREADS, THRESHOLDS, KEYS, RANGE = (1, 3), (1, 2, 4), 64, 128
SCORES = 3 * fixed_normals(64, 128)
r, (R, t), x = Symbol("r", real=True), symbols("R t", positive=True), Family("x", m, n)


def derive() -> Chains:
    above, lead = s[a, j] - s[a, 1], Min(R * x[a, j], t)
    less = at_most(Sum(exp(t) - exp(above), (j, 2, n)), given=(Le(above, t),))
    yield Chain(over_keys(exp(above)), title="A partial sum of exponentials").through(
        (1 + Sum(exp(above), (j, 2, n)), "the reference is one of the scores, here the first", algebra),
        (1 + (n - 1) * exp(t), "no score exceeds the reference by more than $t$", less, "≤"),
    )
    same = Line(Softmax(s[a, j], j), "the exponential of the reference cancels", algebra)
    yield Chain(Softmax(s[a, j] - r, j), same, name="cancels", title="With any reference $r$")
    below = exp(lead) * (exp(Max(t - R * x[a, j], 0)) - 1)
    title = "On average over rows whose scores lie anywhere from 0 to $R$ above the first, but at most $t$"
    chain = Chain(E(1 + Sum(exp(lead), (j, 2, n))), name="drawn", title=title)
    yield chain.then(1 + (n - 1) * exp(t), "none of them exceeds $t$", at_most(E(Sum(below, (j, 2, n)))), "≤")


def single_pass(scores: Array, lag: float, *, last: bool = False) -> tuple[Array, Array, Array]:
    """Return the weights of a single pass, its largest partial sum, and the reference at the end."""
    # A score becomes the reference by exceeding it, or the maximum so far, by more than the lag.
    reference = highest = scores[..., 0]
    total = most = np.zeros(scores.shape[:-1])
    for score in np.moveaxis(scores, -1, 0):
        before = reference
        reference = np.where(score - (highest if last else before) > lag, score, before)
        highest = np.maximum(highest, score)
        total = total * np.exp(before - reference) + np.exp(score - reference)
        most = np.maximum(most, total)
    return np.exp(scores - reference[..., None]) / total[..., None], most, reference


def in_few_bits(draws: Draws, _: np.random.Generator) -> dict[str, Array]:
    """Attention whose reference cancels but for rounding: squared errors, exponentials being in bfloat16."""
    # The reference is the largest score so far, or it lags by the published threshold.
    errors = {}
    for spread in SPREADS:
        scores = spread * draws["s"].astype(float)
        exact = softmax(scores) @ draws["v"]
        for name, lag in (("at-maximum", 0.0), ("lagging", float(LAG))):
            parts = rounded(np.exp(scores - single_pass(scores, lag)[2][..., None]), 8)
            errors[f"{name}-{spread}"] = (parts @ draws["v"] / parts.sum(axis=-1)[..., None] - exact) ** 2
    return errors


def largest_sum(lag: float, last: bool = False) -> float:
    """Return the largest partial sum where scores lie by ``lag`` above the first, or above the last score."""
    steps = np.arange(KEYS, dtype=float)
    return float(single_pass(lag * (steps if last else np.minimum(steps, 1)), lag, last=last)[1])


def experiment(derived: Derivation) -> Items:
    few, (weights, *_) = Allowance(1e-9, "what sums of a few thousand lose"), single_pass(SCORES, 2.0)
    of_sum, what = Computed.sharing(code=largest_sum, allowance=few), "largest partial sum"
    for lag in THRESHOLDS:
        where = {"n": KEYS, "t": lag, "scores": "one at the reference, all others t above it"}
        end = derived.end.subs({n: KEYS, t: lag})
        yield of_sum(f"sum-t{lag}", what, arguments=(float(lag),), equals=end, settings=where)
    what, both = "largest distance of one-pass weights from softmax", (weights, softmax(SCORES))
    yield Computed("same-weights", what, largest_difference, both, 0, settings={"t": 2}, allowance=ROUNDING)
    # The mean of a partial sum of such rows, of which a share of 2/128 is below the lag.
    truth = 1 + (KEYS - 1) * (np.expm1(2) + (RANGE - 2) * np.exp(2)) / RANGE
    capped = Check.sharing(laws={x: UNIT_INTERVAL}, sharper=0.97, sharper_truth=truth)
    yield capped("drawn-t2", derived["drawn"], {n: KEYS, R: RANGE, t: 2})
    of_rows = Check.sharing(laws={s: NORMAL, v: NORMAL}, shape={m: 16, d_v: 8})
    for spread in SPREADS:
        cost = E(Column(in_few_bits, f"lagging-{spread}")) / E(Column(in_few_bits, f"at-maximum-{spread}"))
        yield of_rows(f"cost-s{spread}", cost, {n: KEYS}, at_most=Threshold(2))
    yield Wrong("against-the-last", of="sum-t2", arguments=(2.0, True), says="the maximum so far will do")
    single = in_single_precision(lambda scores: single_pass(scores, 2.0)[0])(SCORES), both[1]
    yield Wrong("in-single-precision", of="same-weights", arguments=single, says="single precision is exact")
    yield Wrong("no-cost", of="cost-s1", at_most=Threshold(1), says="a lagging reference costs nothing")
    says = "at the larger spread the error grows by two fifths at most"
    yield Wrong("little-cost", of="cost-s3", at_most=Threshold(Rational(7, 5)), says=says)


CLAIM = Claim(
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
    references=cite("milakov2018", "dao2022", "zadouri2026"),
)
