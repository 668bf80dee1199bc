"""Without scaling, the typical gradient vanishes in high dimension while the root mean square grows."""

from itertools import product

from verify.claims.gradients.shared.weights import squared_norm
from verify.spec import NORMAL_COMPONENTS, STANDARD, Chain, Chains, Check, Claim, Derivation, Dot, E, Expr
from verify.spec import Items, Limit, Plot, Quantile, Rational, S, Softmax, Symbol, Threshold, Within, Wrong
from verify.spec import a, assume, cited, d, d_v, i, integrated, j, k, l, limit, moments, n, over_components
from verify.spec import over_keys, q, score, sqrt, squares, substitute, u, v

LARGER, SMALLER = ((16, 16), (16, 64)), ((16, 128), (16, 256))
# Where the typical gradient is larger unscaled, or smaller: numbers of keys with dimensions.
LARGER_STILL, SMALLER_STILL = ((16, 4), (128, 64), (128, 256), (1024, 64)), ((128, 768),)
c, t = Symbol("c", positive=True), Symbol("t", positive=True)
LENGTH, UPSTREAM = Dot(q, a, q, a), moments(dict.fromkeys((v, u), STANDARD[q]))


def sent(weight: Expr) -> Expr:
    """Return the gradient that reaches score j, for weights of which this is that of key j."""
    return weight * (Dot(u, a, v, j) - over_keys(weight.xreplace({j: l}) * Dot(u, a, v, l), l))


# The squared gradient of a query at scale c; and that of one whose components are t times as large.
SQUARED, OF_SMALL = (
    over_components((c * over_keys(sent(Softmax(c * size * score, j)) * k[j, i])) ** 2) for size in (S.One, t)
)
WEIGHT, UNSCALED = Softmax(c * score, j), {c: S.One}
MEDIANS = sqrt(Quantile(SQUARED.xreplace(UNSCALED), S.Half) / Quantile(SQUARED, S.Half))


def derive() -> Chains:
    even = (Dot(u, a, v, j) - over_keys(Dot(u, a, v, l), l) / n) / n
    both = "both sums over keys tend to that of even attention; the factor before the keys is left"
    title = r"One query’s gradient $c\sum_j\delta_j k_j$ at scale 1, over that at scale $c$"
    yield Chain(Limit(sqrt(OF_SMALL.xreplace(UNSCALED)) / sqrt(OF_SMALL), t, 0), title=title).through(
        (1 / c, both, limit(given=(over_components((c * over_keys(even * k[j, i])) ** 2) > 0,))),
        (sqrt(d), r"at the scale $c = 1/\sqrt{d_k}$", substitute({c: 1 / sqrt(d)})),
    )
    mean = over_keys(WEIGHT * score)
    from_mean = k[j, i] - over_keys(WEIGHT.xreplace({j: l}) * k[l, i], l)
    spread = over_components(over_keys(WEIGHT**2 * from_mean**2))
    split = (d - 1) * squared_norm(c * score) + over_keys(WEIGHT**2 * (score - mean) ** 2) / LENGTH
    why = r"across the query, keys are independent of the scores; along it, their component is $q\cdot k/|q|$"

    def ratio(mean_square: Expr) -> Expr:
        return sqrt(mean_square.xreplace(UNSCALED) / mean_square)

    yield Chain(ratio(E(SQUARED)), name="queries", title="Root mean squares of a query's gradient").through(
        (ratio(c**2 * E(spread)), "products of values and upstream are uncorrelated", UPSTREAM),
        (ratio(c**2 * E(split)), why, cited("rotation", laws=NORMAL_COMPONENTS)),
    )
    of_keys, norm = c**2 * LENGTH * over_keys(sent(WEIGHT) ** 2), c**2 * LENGTH * squared_norm(c * score)
    to_keys = Chain(ratio(E(of_keys)), name="keys", title="Root mean squares at the keys")
    yield to_keys.then(ratio(E(norm)), "upstream products are uncorrelated, of one variance", UPSTREAM)
    squared, apart = squares(c * score), "the upstream gradient is apart"
    of_values, title = ratio(E(squared * Dot(u, a, u, a))), "Root mean squares at the values"
    yield Chain(of_values, name="values", title=title).then(ratio(E(squared)), apart, UPSTREAM)


def experiment(derived: Derivation, tolerance: float) -> Items:
    def at(keys: int, dimension: int) -> dict[Symbol, Expr]:
        return {n: S(keys), d: S(dimension), d_v: S(8), c: 1 / sqrt(S(dimension))}

    yield Check("median-vanishes", MEDIANS, at(16, 1024), at_most=Threshold(Rational(1, 200)))
    rare = Within(10.0, because="in high dimension it hangs on rare rows", fixed=True)
    for path, dimension in product(("queries", "keys", "values"), (16, 64, 256)):
        name, band = f"rms-{path}-d{dimension}", Within()
        if dimension == 256:
            name, band = "rms-grows" if path == "queries" else f"rms-grows-{path}", rare
        control = "biased-prediction" * (name == "rms-values-d16")
        yield Check(name, derived[path], at(16, dimension), tolerance=band, control=control)
    unity, fine = Threshold(S.One), tolerance < 0.02
    for place in (*LARGER, *LARGER_STILL * fine):
        yield Check("median-above-1-n{}-d{}".format(*place), MEDIANS, at(*place), at_least=unity)
    for place in (*SMALLER, *SMALLER_STILL * fine):
        yield Check("median-below-1-n{}-d{}".format(*place), MEDIANS, at(*place), at_most=unity)
    little = sqrt(E(OF_SMALL.xreplace(UNSCALED)) / E(OF_SMALL))
    for dimension in (16, 64):  # scores of a deviation of a thousandth
        where = {**at(16, dimension), t: Rational(1, 1000) / sqrt(S(dimension))}
        yield Check(f"small-scores-d{dimension}", little, where, equals=derived.end)
    says = "gradients vanish in the root mean square, too: without scaling it is smaller"
    yield Wrong("rms-vanishes", of="rms-grows", at_most=unity, says=says)
    says = "at full size, too, the ratio of root mean squares is the root of the dimension"
    yield Wrong("keeps-to-the-limit", of="rms-grows", equals=1 / c, says=says)
    says = "the typical gradient grows as the root mean square does"
    root = Rational(integrated(derived["queries"].end, at(16, 16))).limit_denominator(1000)
    yield Wrong("typical-as-rms", of="median-above-1-n16-d16", at_least=Threshold(root), says=says)
    says = "the typical gradient explodes: without scaling it is larger in high dimension, too"
    yield Wrong("typical-explodes", of="median-below-1-n16-d256", at_least=unity, says=says)
    says = "in {cell:d_k} dimensions less than {value} of the typical gradient is left"
    least = Threshold(Rational(1, 10_000))
    yield Wrong("less-than-a-ten-thousandth", of="median-vanishes", at_most=least, says=says)
    checks = {"median, measured": ("median-*-n16-*", "median-vanishes")}
    checks["root mean square, measured"] = ("rms-queries-d*", "rms-grows")
    roots = derived["queries"].end.xreplace({c: 1 / sqrt(d)})
    curves = {"where scores hardly vary: {main:end}": derived.end, "root mean square": roots}
    title = "Without scaling the typical gradient dies while the root mean square grows"
    words = "a query’s gradient, unscaled over scaled, $16$ keys"
    plot = Plot.sharing("two-answers", checks, d, title, at={n: 16}, span=(4, 1024), y=words)
    yield plot(curves=curves, wrong={"no difference": 1})


CLAIM = Claim(
    headline="median-vanishes",
    statement="Compare the norm of one query’s gradient at unit scale with that at the scale of one over "
    "{root_d}, for standard normal components. Where scores hardly vary, the ratio is {main:end} in the "
    "limit. At full size the ratio of root mean squares rises with the dimension, for 16 keys and "
    "{rms-queries-d16:d_k=}, {rms-queries-d64:d_k} and {rms-grows:d_k} to {rms-queries-d16:prediction.3}, "
    "{rms-queries-d64:prediction.3} and {rms-grows:prediction.3} for queries, nearly the same for keys, and "
    "{rms-values-d16:prediction.3}, {rms-values-d64:prediction.3} and {rms-grows-values:prediction.3} for "
    "values; that of medians starts above one and falls below it: for 16 keys between "
    "{median-above-1-n16-d64:d_k} and {median-below-1-n16-d128:d_k} dimensions, for 128 keys between "
    "{rms-grows:d_k} and 768; for 1024 keys it is still above one in {rms-queries-d64:d_k}. With 16 keys it "
    "is less than half a per cent in {median-vanishes:d_k} dimensions.",
    meaning="“Gradients vanish” and “gradients explode” are both half true. Most rows saturate and send "
    "almost nothing back, but the rare row that is still undecided between two keys sends back a gradient "
    "that lacks the damping factor, and it dominates every mean square. In low dimension, or with many keys, "
    "even the typical gradient is larger without scaling. Say which norm, which statistic and which path is "
    "meant. All this is at initialisation: trained weights are not independent.",
    assumptions=assume(upstream="Values and the gradient at the output are standard normal and independent."),
)
