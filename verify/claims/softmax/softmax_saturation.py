"""Without scaling, the softmax saturates as the dimension grows."""

from verify.spec import NORMAL_ROWS, Chain, Check, Claim, Derivation, E, Float, Integral, Items, Largest, Min
from verify.spec import Plot, Softmax, Symbol, Threshold, Within, Wrong, a, at_most, cited, d, earlier, exp
from verify.spec import fact, integral, integrated, j, l, log, n, numerically, oo, pi, s, score, sigma, sqrt
from verify.spec import substitute
from verify.spec.lemmas import for_raw_scores, inverse_square, of_queries

TWO, MANY = (1, 4, 16, 64, 256, 1024), (4, 16, 64, 256)  # dimensions for two keys and for many


def derive() -> tuple[Chain, ...]:
    x, row = Symbol("x", real=True), sigma * s[a, j]
    over, sizes = (x, -oo, oo), (x, 0, oo)
    lower, peak = 1 / (1 + exp(x)), 1 / (2 * sigma * sqrt(pi))
    density, smaller = peak * exp(-(x**2) / (4 * sigma**2)), Min(lower, lower.subs(x, -x))
    two, normal = substitute({n: 2, j: 1, l: 2}), cited("normal combination", laws=NORMAL_ROWS)
    title = "The mean of the smaller weight as an integral over the gap"
    mean = Chain(E(Min(Softmax(row, j), Softmax(row.subs(j, l), l))), name="mean", title=title).through(
        (E(smaller.subs(x, row.subs(j, 1) - row.subs(j, 2))), "of two keys it depends on the gap alone", two),
        (Integral(smaller * density, over), r"the gap is normal with variance $2\sigma^2$", normal),
        (Integral(2 * lower * density, sizes), "either key may lead by its size", numerically()),
    )
    missing = at_most(Integral(2 * lower * (peak - density), sizes))
    primitive, most = -2 * peak * log(1 + exp(-x)), "the density of the gap is largest at 0"
    bound = Chain(mean.start).through(
        (mean.end, "averaged over the gap", earlier(mean)),
        (Integral(2 * lower * peak, sizes), most, missing, "≤"),
        (log(2) / (sigma * sqrt(pi)), r"a primitive is $-\ln(1 + e^{-x})$", integral(primitive)),
    )
    means = {"largest": score, "largest-scaled": score / sqrt(d)}
    rows = (of_queries(E(Largest(Softmax(scores, j), j)), name) for name, scores in means.items())
    return mean, bound, inverse_square(), for_raw_scores(bound), *rows


def experiment(derived: Derivation) -> Items:
    raw, scaled = derived["largest"], derived["largest-scaled"]
    two = [(name, of, 2, size) for name, of in (("raw-two", raw), ("scaled-two", scaled)) for size in TWO]
    many = [("scaled-many", scaled, 16, size) for size in MANY] + [("raw-many", raw, 16, 256)]
    for name, chain, keys, size in two + many:
        yield Check(f"{name}-keys-d{size}", chain, {n: keys, d: size})
    for size in MANY[:3]:
        at, false = {n: 2, d: size}, 0.95 if size == 64 else 0
        truth = 1 - integrated(raw.end, at)
        yield Check(f"raw-bound-d{size}", derived["raw"], at, sharper=false, sharper_truth=truth)
    of_rows, settled = E(Largest(Softmax(sigma * s[a, j], j), j)), "mean of the larger weight of two keys at"
    for size in (1, 4, 16):
        at, near, false = {n: 2, sigma: size}, Within(0.5, fixed=True), 0.98 if size == 16 else 0
        yield Check(f"smaller-sigma-{size}", derived, at, equals=1 - integrated(of_rows, at))
        yield Check(f"bound-sigma-{size}", derived, at, tolerance=near, sharper=false)
    yield fact("settles", rf"{settled} $\sigma = 1$", Float(integrated(of_rows, {n: 2, sigma: 1}), 6))
    says = "scaled attention saturates in high dimension: one of {cell:n} keys gets as much as unscaled"
    yield Wrong("scaled-saturates", of="scaled-many-keys-d256", equals=raw.end, says=says)
    says = "the softmax itself prevents saturation: the largest of two weights stays below {value}"
    yield Wrong("softmax-prevents-it", of="raw-two-keys-d1024", at_most=Threshold(0.9), says=says)
    curves, wrong = {"over {root_d}": scaled.end, "unscaled": raw.end}, {"wrong: stays below $0.9$": 0.9}
    checks, words = ("scaled-two-keys-d*", "raw-two-keys-d*"), "mean of the larger weight of two keys"
    yield Plot("largest-weight", checks, d, curves=curves, wrong=wrong, at={n: 2}, y=words, linear="y")


CLAIM = Claim(
    headline="raw-many-keys-d256",
    statement="For two keys whose independent normal scores have standard deviation {sigma}, {main}: as they "
    "spread the smaller weight tends to 0 on average, and the larger one to 1. For raw scores of one query "
    "with standard normal keys, {sigma} is the length of the query; on average over standard normal queries "
    "of 3 dimensions or more, the smaller weight is at most {raw:end}, which tends to 0 as the dimension "
    "grows.",
    meaning="Raw scores lead to winner-take-all attention, and the softmax does not counteract it. The "
    "deviation of scaled scores settles at 1 instead, and the mean of the larger of two weights goes from "
    "{raw-two-keys-d1:prediction.3} in one dimension to {settles:3}: both are integrated numerically. With "
    "16 keys and {raw-many-keys-d256:d_k} dimensions the largest raw weight is "
    "{raw-many-keys-d256:prediction.2} on average, the largest scaled one "
    "{scaled-many-keys-d256:prediction.2}.",
)
