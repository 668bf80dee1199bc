"""Two keys: the weight is the logistic function, and its slope dies away like 1/σ, not exponentially."""

from sympy import Float, Integral, Symbol, exp, oo, pi, sqrt

from verify.spec import NORMAL_ROWS, Chain, Check, Claim, Derivation, E, Figure, Findings, Items, Line
from verify.spec import Softmax, Within, Wrong, a, algebra, at_most, cited, earlier, fact, figures as draw
from verify.spec import integral, j, n, s, sigma, substitute
from verify.spec.integrals import integrated

DEVIATIONS = (1, 2, 8, 32)
x = Symbol("x", real=True)
p = Softmax(sigma * s[a, j], j)
GAP = sigma * (s[a, 1] - s[a, 2])
SLOPE = exp(x) / (1 + exp(x)) ** 2
"""p(1-p) for two keys whose scores differ by x: the derivative of the logistic function."""

PEAK = 1 / (2 * sigma * sqrt(pi))
"""The density at 0 of the gap between two independent normal scores of deviation σ."""

DENSITY, OVER = PEAK * exp(-(x**2) / (4 * sigma**2)), (x, -oo, oo)


def derive() -> tuple[Chain, ...]:
    """Derive the bound on E p(1-p), and on the way its mean as an integral."""
    first = "above and below over the first exponential"
    logistic = Line(1 / (1 + exp(-GAP)), first, substitute({n: 2}))
    tails = Line(1 / (2 + exp(x) + exp(-x)), r"which tends to 0 as $x \to \pm\infty$", algebra)
    normal = cited("normal combination", laws=NORMAL_ROWS)
    mean = (
        Chain(E(p * (1 - p)), name="mean", title="The mean as an integral over the gap")
        .then(E(SLOPE.subs(x, GAP)), "of two keys it depends on the gap alone", substitute({n: 2, j: 1}))
        .then(Integral(SLOPE * DENSITY, OVER), r"the gap is normal with variance $2\sigma^2$", normal)
    )
    missing = at_most(Integral(SLOPE * (PEAK - DENSITY), OVER))
    bound = (
        Chain(mean.start)
        .then(mean.end, "averaged over the gap", earlier(mean))
        .then(Integral(SLOPE * PEAK, OVER), "the density of the gap is largest at 0", missing, "≤")
        .then(PEAK, "the slope integrates to its rise, from 0 to 1", integral(PEAK / (1 + exp(-x))))
    )
    return (
        Chain(Softmax(sigma * s[a, 1], 1), logistic, name="logistic", title="The weights of two keys"),
        Chain(SLOPE, tails, name="slope", title="The slope of the logistic function at a gap $x$"),
        mean,
        bound,
    )


def exact(deviation: float) -> float:
    """Return E p(1-p) at a deviation of the scores, integrated."""
    return integrated(E(p * (1 - p)), {n: 2, sigma: deviation})


def experiment(derived: Derivation) -> Items:
    """Measure E p(1-p) against the integral, and against its bound."""
    mean, bound = derived.start, derived.end
    near = Within(fixed=True)
    for size in DEVIATIONS:
        at, false = {n: 2, sigma: size}, 0.97 if size == DEVIATIONS[-1] else 0
        yield Check(f"product-sigma-{size}", mean, at, equals=exact(size))
        name, value = f"bound-sigma-{size}", exact(size)
        yield Check(name, mean, at, at_most=bound, tolerance=near, sharper=false, sharper_truth=value)
        share = rf"share of the bound that is reached at $\sigma = {size}$, integrated"
        yield fact(f"reached-sigma-{size}", share, Float(exact(size) / float(bound.subs(sigma, size)), 6))
    yield fact("bound-at-one", r"bound on $\mathbb{E}[p(1-p)]$ at $\sigma = 1$", bound.subs(sigma, 1))
    says = "the slope dies exponentially: at {cell:sigma=} it is that of a typical gap"
    typical = float(SLOPE.subs(x, sqrt(2) * 8))
    yield Wrong("at-a-typical-gap", of="product-sigma-8", at_most=typical, says=says)
    says = "it does not depend on the spread: at {cell:sigma=} as at {product-sigma-1:sigma=}"
    yield Wrong("spread-does-not-matter", of="product-sigma-8", equals=exact(1), says=says)
    says = "the bound is the value: at {cell:sigma=}, too"
    yield Wrong("bound-as-value", of="product-sigma-1", equals=bound, says=says)


def figures(derived: Derivation, findings: Findings) -> Figure:
    """Draw the measured values on the integral, below the bound, far above the slope at a typical gap."""
    typical = SLOPE.subs(x, sqrt(2) * sigma)
    return draw.figure(
        "slow-decay",
        "The softmax of two keys loses its slope like one over the spread, not exponentially",
        "The mean of p times one minus p over the standard deviation of the scores: measured values "
        "on the exact curve, which falls like one over sigma just below its bound, while the slope at a "
        "typical gap falls off a cliff.",
        draw.curve("exact", exact, (0.5, 32), many=25),
        draw.curve("bound {main:end}", derived.end, (0.5, 32), "other"),
        draw.curve("at a typical gap", typical, (0.5, 8), "control"),
        draw.measured(findings.matching("product-sigma-*"), sigma),
        x=r"standard deviation $\sigma$ of the scores",
        y="{main:start}",
    )


CLAIM = Claim(
    title="With two keys, saturation is slow: the slope falls as one over the spread",
    statement="For two keys with independent normal scores of standard deviation {sigma}, {main}, where "
    "{logistic}.",
    meaning="The product of the weights is what a gradient is multiplied by on its way through the softmax. "
    "At a given large gap it is exponentially small; on average over random gaps it is not, because now and "
    "then two scores come close. Once the spread is large, twice the spread halves the average. The claim "
    "that gradients vanish exponentially describes the typical row only.",
    symbols={"sigma": sigma},
)
