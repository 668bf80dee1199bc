"""Without scaling the largest softmax weight tends to 1 as the dimension grows; with it, it settles."""

from collections.abc import Callable

from sympy import Expr, Float, sqrt

from verify.spec.lemmas import for_raw_scores, inverse_square, smaller_of_two
from verify.spec import Chain, Check, Claim, Derivation, E, Figure, Findings, Items, Largest, Softmax
from verify.spec import Threshold, Within, Wrong, a, d, fact, figures as draw, j, n, s, score, sigma
from verify.spec.integrals import integrated

TWO_DIMENSIONS, MANY_DIMENSIONS = (1, 4, 16, 64, 256, 1024), (4, 16, 64, 256)
HELD = 0.9
"""What the larger weight would stay below if the softmax itself prevented saturation."""

SPREADS = (1, 4, 16)
"""Standard deviations of two keys' scores, the last where the bound is tight."""


def largest(scores: Expr) -> Expr:
    """Return the mean of the largest weight."""
    return E(Largest(Softmax(scores, j), j))


def derive() -> tuple[Chain, ...]:
    """Derive a bound on the smaller of two weights that tends to 0 as the scores spread."""
    mean, bound = smaller_of_two()
    inverse = inverse_square()
    return mean, bound, inverse, for_raw_scores(bound, inverse)


def experiment(derived: Derivation) -> Items:
    """Measure 2 and 16 keys against exact means, and the smaller of 2 weights against its bounds."""
    scaled = score / sqrt(d)
    two = [
        (kind, of, 2, size) for kind, of in (("raw", score), ("scaled", scaled)) for size in TWO_DIMENSIONS
    ]
    many = [("scaled", scaled, 16, size) for size in MANY_DIMENSIONS] + [("raw", score, 16, 256)]
    for kind, scores, keys, size in two + many:
        at, name = {n: keys, d: size}, f"{kind}-{'two' if keys == 2 else 'many'}-keys-d{size}"
        yield Check(name, largest(scores), at, equals=integrated(largest(scores), at))
    raw, bound, near = derived["raw"], derived.end, Within(0.5, fixed=True)
    for size in MANY_DIMENSIONS[:3]:
        at = {n: 2, d: size}
        truth, false = 1 - integrated(largest(score), at), 0.95 if size == 64 else 0
        name = f"raw-bound-d{size}"
        yield Check(name, raw, at, sharper=false, sharper_truth=truth)
    for size in SPREADS:
        at, name, false = {n: 2, sigma: size}, f"bound-sigma-{size}", 0.98 if size == SPREADS[-1] else 0
        mean, most = 1 - integrated(largest(sigma * s[a, j]), at), bound.subs(sigma, size)
        yield Check(f"smaller-sigma-{size}", derived, at, equals=mean)
        yield Check(name, derived, at, at_most=most, tolerance=near, sharper=false, sharper_truth=mean)
        share = rf"share of the bound on $1 - \mathbb{{E}}\max_j p_j$ that is reached at $\sigma = {size}$"
        yield fact(f"reached-sigma-{size}", share, Float(mean / float(most), 6))
    larger, of_rows = "mean of the larger weight of two keys at", largest(sigma * s[a, j])
    yield fact("settles", rf"{larger} $\sigma = 1$", Float(integrated(of_rows, {n: 2, sigma: 1}), 6))
    yield fact("one-dimension", rf"{larger} $d_k = 1$", Float(integrated(largest(score), {n: 2, d: 1}), 6))
    says = "scaled attention saturates in high dimension: one of {cell:n} keys gets as much as unscaled"
    sharp = integrated(largest(score), {n: 16, d: 256})
    yield Wrong("scaled-saturates", of="scaled-many-keys-d256", equals=sharp, says=says)
    says = "without scaling the weights stay as they are with it"
    even = integrated(largest(scaled), {n: 2, d: 1024})
    yield Wrong("raw-stays", of="raw-two-keys-d1024", equals=even, says=says)
    says = "the softmax itself prevents saturation: the largest of two weights stays below {value}"
    yield Wrong("softmax-prevents-it", of="raw-two-keys-d1024", at_most=Threshold(HELD), says=says)


def figures(findings: Findings) -> Figure:
    """Draw the largest of two weights with and without scaling."""
    span = (1, 1024)

    def two_keys(scores: Expr) -> Callable[[float], float]:
        return lambda size: integrated(largest(scores), {n: 2, d: size})

    return draw.figure(
        "largest-weight",
        "Unscaled, the largest of two weights goes to 1; scaled, it settles",
        "The mean of the larger of two softmax weights over the dimension: unscaled it rises from "
        "2/3 towards 1, scaled it settles below 3/4.",
        draw.curve("unscaled", two_keys(score), span, many=25),
        draw.curve("over {root_d}", two_keys(score / sqrt(d)), span, many=25),
        draw.measured(findings.matching("raw-two-keys-d*"), d),
        draw.measured(findings.matching("scaled-two-keys-d*"), d),
        draw.curve(f"wrong: stays below ${HELD}$", Float(HELD), span, "control", many=2),
        x=d,
        y="mean of the larger weight of two keys",
        y_scale="linear",
    )


CLAIM = Claim(
    title="Without scaling, the softmax saturates as the dimension grows",
    headline="raw-many-keys-d256",
    statement="For two keys whose independent normal scores have standard deviation {sigma}, {main}: "
    "as they spread the smaller weight tends to 0 on average, and the larger one to 1. For raw scores of one "
    "query with standard normal keys, {sigma} is the length of the query; on average over standard normal "
    "queries of 3 dimensions or more, the smaller weight is at most {raw:end}, which tends to 0 as the "
    "dimension grows.",
    meaning="Raw scores lead to winner-take-all attention, and the softmax does not counteract it. The "
    "deviation of scaled scores settles at 1 instead, and the mean of the larger of two weights goes from "
    "{one-dimension:3} in one dimension to {settles:3}: both are integrated numerically. With 16 keys "
    "and {raw-many-keys-d256:d_k} dimensions the largest raw weight is {raw-many-keys-d256:prediction.2} on "
    "average, the largest scaled one {scaled-many-keys-d256:prediction.2}. How soon depends on the number of "
    "keys; the claim on concentration says when.",
    symbols={"sigma": sigma},
)
