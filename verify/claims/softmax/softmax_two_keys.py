"""With two keys, saturation is slow: the slope falls as one over the spread."""

from verify.spec import NORMAL_ROWS, Chain, Chains, Check, Claim, Derivation, E, Integral, Items, Plot
from verify.spec import Softmax, Symbol, Within, Wrong, a, at_most, cited, earlier, exp, integral, j, n, oo
from verify.spec import pi, s, sigma, sqrt, substitute

x, p, GAP = Symbol("x", real=True), Softmax(sigma * s[a, j], j), sigma * (s[a, 1] - s[a, 2])
# p(1-p) for two keys whose scores differ by x: the derivative of the logistic function.
SLOPE = exp(x) / (1 + exp(x)) ** 2
# The density at 0 of the gap between two independent normal scores of deviation σ.
PEAK = 1 / (2 * sigma * sqrt(pi))


def derive() -> Chains:
    logistic = Chain(Softmax(sigma * s[a, 1], 1), name="logistic", title="The weights of two keys")
    yield logistic.then(1 / (1 + exp(-GAP)), "above and below over the first exponential", substitute({n: 2}))
    density, over = PEAK * exp(-(x**2) / (4 * sigma**2)), (x, -oo, oo)
    normal = cited("normal combination", laws=NORMAL_ROWS)
    mean = Chain(E(p * (1 - p)), name="mean", title="The mean as an integral over the gap").through(
        (E(SLOPE.subs(x, GAP)), "of two keys it depends on the gap alone", substitute({n: 2, j: 1})),
        (Integral(SLOPE * density, over), r"the gap is normal with variance $2\sigma^2$", normal),
    )
    missing = at_most(Integral(SLOPE * (PEAK - density), over))
    yield mean
    yield Chain(mean.start).through(
        (mean.end, "averaged over the gap", earlier(mean)),
        (Integral(SLOPE * PEAK, over), "the density of the gap is largest at 0", missing, "≤"),
        (PEAK, "the slope integrates to its rise, from 0 to 1", integral(PEAK / (1 + exp(-x)))),
    )


def experiment(derived: Derivation) -> Items:
    for size in (1, 2, 8, 32):
        at, near = {n: 2, sigma: size}, Within(fixed=True)
        yield Check(f"product-sigma-{size}", derived["mean"], at)
        yield Check(f"bound-sigma-{size}", derived, at, tolerance=near, sharper=0.97 if size == 32 else 0)
    says = "the slope dies exponentially: at {cell:sigma=} it is that of a typical gap"
    typical = SLOPE.subs(x, sqrt(2) * sigma)
    yield Wrong("at-a-typical-gap", of="product-sigma-8", at_most=float(typical.subs(sigma, 8)), says=says)
    yield Wrong("bound-as-value", of="product-sigma-1", equals=PEAK, says="the bound is the value")
    curves, wrong = {"exact": derived["mean"].start}, {"at a typical gap": (typical, (0.5, 8))}
    plot = Plot.sharing(at={n: 2}, span=(0.5, 32), x=r"standard deviation $\sigma$ of the scores")
    bounds, words = {"bound {main:end}": PEAK}, "{main:start}"
    yield plot("slow-decay", "product-sigma-*", sigma, curves=curves, bounds=bounds, wrong=wrong, y=words)


CLAIM = Claim(
    statement="For two keys with independent normal scores of standard deviation {sigma}, {main}, where "
    "{logistic}.",
    meaning="The product of the weights is what a gradient is multiplied by on its way through the softmax. "
    "At a given large gap it is exponentially small; on average over random gaps it is not, because now and "
    "then two scores come close. Once the spread is large, twice the spread halves the average. The claim "
    "that gradients vanish exponentially describes the typical row only.",
)
