"""Scaled rows keep passing gradients on at every dimension, unscaled ones less and less."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Literal

from sympy import Derivative, Expr, Float, Gt, Integral, Limit, Rational, S, Sum, Symbol, erf, exp, gamma, log
from sympy import oo, pi, sqrt

from verify.claims.gradients.shared.weights import squared_norm
from verify.spec import NORMAL_COMPONENTS, NORMAL_ROWS, Chain, Check, Claim, Derivation, E, Entropy, Figure
from verify.spec import Findings, Index, Items, Largest, LogSumExp, Softmax, Threshold, Within, Wrong, a
from verify.spec import algebra, at_least, at_most, between, cite, cited, d, earlier, fact, figures as draw
from verify.spec import integral, j, l, latex, n, numerically, over_keys, s, score, sigma, squares, substitute
from verify.spec.integrals import DEVIATIONS, KEYS, integrated
from verify.spec.lemmas import SQUARED_LENGTH, for_raw_scores, inverse_square, smaller_of_two

DIMENSIONS, LARGE, NARROW = (4, 16, 64), 32, Rational(1, 4)
"""Deviations at which two keys are as good as at their limit, and at the bound by the trace."""

PRECISE = 1e-10
c, g, w = (Symbol(name, positive=True) for name in "cgw")
z, h, LENGTH = Symbol("z", real=True), Index("h"), sqrt(SQUARED_LENGTH)
ROW = sigma * s[a, j]
p, p_l, p_h = (Softmax(sigma * s[a, key], key) for key in (j, l, h))
SQUARES, NORM, TOP = squares(ROW), squared_norm(ROW), Largest(s[a, l], l)
REST, MEAN, LARGEST = 1 - SQUARES, over_keys(p * s[a, j]), E(TOP)
PASSED = 2 * over_keys(p**2 * s[a, j]) - SQUARES * MEAN
BEHIND = over_keys(p * (TOP - s[a, j]))
"""How far the mean score of a row is below the largest, over the deviation."""

OF_GAP = 4 * exp(2 * g) / (1 + exp(g)) ** 4
"""The squared norm of the Jacobian of two keys with a gap g between their scores."""

NORMAL, BELOW = exp(-(z**2) / 2) / sqrt(2 * pi), (1 + erf(z / sqrt(2))) / 2
BY_DENSITY = Integral(n * z * NORMAL * BELOW ** (n - 1), (z, -oo, oo))
TIES = n * (n - 1) * Integral(NORMAL**2 * BELOW ** (n - 2), (z, -oo, oo))
"""The mean of the largest of n standard normal scores, and how densely the two largest tie."""

LAWS = {**NORMAL_COMPONENTS, **NORMAL_ROWS}
BY_PARTS = cited("stein", laws=NORMAL_ROWS)


def derive() -> tuple[Chain, ...]:
    """Derive the limit from an identity and again by ties, and bounds for every deviation."""
    trace, bound, largest, rest = for_all_deviations()
    identity, behind, lower, upper = near_the_limit(rest)
    limit = Chain(Limit(sigma * E(NORM), sigma, oo), title="The limit, by an identity").then(
        LARGEST / 3, "both bounds tend to it", between(lower, upper)
    )
    spread, inverse = extended(rest), inverse_square()
    _, smaller = (chains := smaller_of_two("smaller"))
    raw = for_raw_scores(spread, inverse, "raw", "The squared weights of raw scores")
    two = for_raw_scores(smaller, inverse, "raw-smaller", "The smaller weight of two, for raw scores")
    return (
        limit,
        *(trace, bound, largest, rest, identity, behind, lower, upper),
        *by_ties(largest),
        *of_queries(bound, largest),
        *times_deviation(trace, bound, largest),
        *(spread, inverse, raw, *chains, two),
    )


def for_all_deviations() -> tuple[Chain, Chain, Chain, Chain]:
    """Derive the bound by the largest score: by the trace, and by parts."""
    average = "no average of scores exceeds the largest"
    rest = (
        Chain(E(REST), name="rest", title="What the squared weights lack")
        .then(E(MEAN) / sigma, "integration by parts", BY_PARTS)
        .then(LARGEST / sigma, average, at_most(E(BEHIND) / sigma), "≤")
    )
    both, pairs = p * p_l, ((l, 1, j - 1), (j, 1, n))
    missing = Sum(both * (1 - p - p_l), *pairs) + Sum(both * (p - p_l) ** 2, *pairs)
    trace = Chain(E(NORM), name="trace", title="A bound by the trace").then(
        E(REST) / 2,
        "no eigenvalue is above ½, and their sum is the trace",
        at_most(E(missing)),
        "≤",
    )
    bound = (
        Chain(E(NORM), name="bound", title="A bound for all n and σ")
        .then(E(REST) / 2, "the bound by the trace", earlier(trace), "≤")
        .then(LARGEST / (2 * sigma), "what the squared weights lack", earlier(rest), "≤")
    )
    density = cited("density of a maximum", laws=NORMAL_ROWS)
    largest = Chain(LARGEST, name="largest", title="The mean of the largest score").then(
        BY_DENSITY, r"all scores are at most z with probability $\Phi(z)^n$", density
    )
    return trace, bound, largest, rest


def extended(rest: Chain) -> Chain:
    """Derive the bound of what the squared weights lack by the number of keys."""
    most = cited("normal maximum", laws=NORMAL_ROWS)
    return (
        Chain(1 - E(SQUARES), name="lacks", title="What the squared weights lack, by the number of keys")
        .then(E(REST), "under one mean", algebra)
        .then(LARGEST / sigma, "the bound by the largest score", earlier(rest), "≤")
        .then(sqrt(2 * log(n)) / sigma, r"the largest of $n$ normal scores", most, "≤")
    )


def near_the_limit(rest: Chain) -> tuple[Chain, Chain, Chain, Chain]:
    """Derive an identity for all n and σ, and bounds that meet as the scores spread."""
    field = Rational(2, 3) * p**2 - p * over_keys(p_h**2, h) / 3
    divergence = r"the squared norm is the divergence of $\frac23p_j^2 - \frac13p_j\sum p_h^2$, over $\sigma$"
    identity = (
        Chain(sigma * E(NORM), name="identity", title="An identity for all n and σ")
        .then(E(over_keys(Derivative(field, s[a, j]))), divergence, algebra)
        .then(E(over_keys(s[a, j] * field)), "integration by parts", BY_PARTS)
        .then(E(PASSED) / 3, "collecting terms", algebra)
    )
    log_sum = at_most(E(LogSumExp(ROW, j) - sigma * TOP) / sigma)
    behind = (
        Chain(E(BEHIND), name="behind", title="How far the mean score is below the largest")
        .then(E(Entropy(ROW, j)) / sigma, r"$\sigma\max s$ is at most the log-sum-exp", log_sum, "≤")
        .then(log(n) / sigma, "no entropy is more", cited("gibbs"), "≤")
    )
    return identity, behind, near(-1, identity, rest, behind), near(1, identity, rest, behind)


def near(sign: int, identity: Chain, rest: Chain, behind: Chain) -> Chain:
    """Derive the bound of σ E‖J‖² from above (1) or below (-1), with what the largest score leaves over."""
    relation: Literal["≤", "≥"] = "≤" if sign > 0 else "≥"
    excess = at_most if sign > 0 else at_least
    little, far = 1 / sqrt(sigma), S.One if sign > 0 else S(2)
    left = REST * BEHIND + 2 * over_keys(p**2 * (TOP - s[a, j]))
    if sign < 0:
        left = SQUARES * BEHIND + 2 * over_keys(p * (1 - p) * (TOP - s[a, j]))
    whole = E(((little * TOP + sign * REST) ** 2 + REST * SQUARES) / (2 * little)) / 3

    def bounded(lacking: Expr, distance: Expr) -> Expr:
        product_of_both = (little * E(TOP**2) + lacking / little) / 2
        return LARGEST / 3 + sign * (product_of_both + far * distance) / 3

    products = r"$|ab| \le (\varepsilon a^2 + b^2/\varepsilon)/2$ with $\varepsilon = 1/\sqrt\sigma$"
    lacks, entropy = "what the squared weights lack", "how far the mean score is below the largest"
    nearly = LARGEST / 3 - E(TOP * REST) / 3 + sign * far * E(BEHIND) / 3
    return (
        Chain(
            sigma * E(NORM),
            name="upper" if sign > 0 else "lower",
            title="At most" if sign > 0 else "At least",
        )
        .then(E(PASSED) / 3, "the identity", earlier(identity))
        .then(nearly, "nearly all weight is on the largest score", excess(E(left) / 3), relation)
        .then(bounded(E(REST), E(BEHIND)), products, excess(whole), relation)
        .then(bounded(LARGEST / sigma, E(BEHIND)), lacks, earlier(rest), relation)
        .then(bounded(LARGEST / sigma, log(n) / sigma), entropy, earlier(behind), relation)
    )


def by_ties(largest: Chain) -> tuple[Chain, Chain]:
    """Derive the same limit another way: how often the two largest scores tie, times what a tie passes."""
    weight = 1 / (1 + exp(-g))
    tie = Chain(Integral(OF_GAP, (g, 0, oo)), name="tie", title="What a tie passes on").then(
        Rational(1, 3),
        "with $p = 1/(1+e^{-g})$: $\\int 4p(1-p)\\,dp$ from ½ to 1",
        integral(2 * weight**2 - 4 * weight**3 / 3),
    )
    return tie, Chain(
        TIES * tie.start,
        name="ties",
        title="The limit again, by ties: their density, times what a tie passes on",
        given=(n >= 2,),
    ).then(TIES / 3, "what a tie passes on", earlier(tie)).then(
        BY_DENSITY / 3, r"by parts, for $z\varphi(z) = -\varphi'(z)$", numerically(given=(n >= 2,))
    ).then(LARGEST / 3, "the mean of the largest score", earlier(largest))


def of_queries(bound: Chain, largest: Chain) -> tuple[Chain, ...]:
    """Derive what queries' lengths make of rows: means of scores q·k, two keys, and the bound."""
    normal = cited("normal combination", laws=LAWS)
    given_query = "given the query, its scores are independent and normal"
    gap = OF_GAP.subs(g, sigma * (s[a, 1] - s[a, 2]))
    over = earlier(bound, at={sigma: LENGTH}, given=(Gt(SQUARED_LENGTH, 0),))
    chi_square, density = cited("chi-square", laws=NORMAL_COMPONENTS), w ** (d / 2 - 1) * exp(-w / 2)
    inverse = (
        Chain(E(1 / LENGTH), name="inverse", title="One over the length of a query", given=(d > 1,))
        .then(
            Integral(density / sqrt(w) / (2 ** (d / 2) * gamma(d / 2)), (w, 0, oo)),
            "the squared length is chi-square",
            chi_square,
        )
        .then(
            gamma((d - 1) / 2) / (sqrt(2) * gamma(d / 2)),
            "a gamma function again",
            integral(given=(d > 1,)),
        )
    )
    mean = Chain(
        E(squared_norm(c * score)), name="attention", title="Scores of normal queries and keys"
    ).then(E(squared_norm(c * LENGTH * s[a, j])), given_query, normal)
    two = Chain(NORM, name="two-keys", title="Two keys").then(
        gap, "of two keys it depends on the gap alone", substitute({n: 2})
    )
    ratio = Chain(E(squared_norm(score)) / mean.start, name="ratio", title="Unscaled over scaled").then(
        E(squared_norm(LENGTH * s[a, j])) / mean.end, given_query, normal
    )
    unscaled = (
        Chain(E(squared_norm(score)), name="unscaled", title="The bound for raw scores", given=(d > 1,))
        .then(E(squared_norm(LENGTH * s[a, j])), given_query, normal)
        .then(E(TOP / (2 * LENGTH)), "the bound at this deviation", over, "≤")
        .then(LARGEST * E(1 / LENGTH) / 2, "queries are independent of it", cited("independence", laws=LAWS))
        .then(BY_DENSITY * E(1 / LENGTH) / 2, "the mean of the largest score", earlier(largest))
        .then(BY_DENSITY * inverse.end / 2, "one over the length of a query", earlier(inverse))
    )
    return inverse, mean, two, ratio, unscaled


def times_deviation(trace: Chain, bound: Chain, largest: Chain) -> tuple[Chain, Chain]:
    """Derive the bound as a share of what the trace allows, and times the deviation."""
    share = Chain(
        2 * E(NORM) / E(REST),
        name="share",
        title="The share of the bound by the trace that is reached",
        given=(n > 1,),
    ).then(1, "the bound by the trace", earlier(trace, given=(Gt(E(REST), 0),)), "≤")
    times = (
        Chain(sigma * E(NORM), name="times-sigma", title="The bound times the deviation")
        .then(LARGEST / 2, "the bound, times the deviation", earlier(bound), "≤")
        .then(BY_DENSITY / 2, "the mean of the largest score", earlier(largest))
    )
    return share, times


def exact(quantity: Expr, at: dict[Expr, Expr]) -> float:
    """Return a mean over rows or queries, integrated."""
    return integrated(quantity, at, PRECISE)


def bounded(name: str, chain: Chain, at: dict[Expr, Expr], truth: Expr, false: float = 0) -> Check:
    """Return the check of a bound, with the factor of its constant that is false."""
    near, value = Within(0.5, fixed=True), exact(truth, at) if false else None
    return Check(name, chain, at, tolerance=near, sharper=false, sharper_truth=value)


def of_two(quantity: Expr, dimension: int, scale: str) -> Check:
    """Return the comparison of two keys' mean with the integral over gap and length."""
    c_value = S.One if scale == "unscaled" else 1 / sqrt(S(dimension))
    at, control = {n: S(2), d: S(dimension), c: c_value}, dimension == 64
    return Check(
        f"{scale}-d{dimension}",
        quantity,
        at,
        equals=exact(quantity, at),
        tolerance=Within(2.0 if scale == "unscaled" else 1.0),
        control=control if scale == "scaled" else "",
    )


def experiment(derived: Derivation) -> Items:
    """Measure two and more keys against their exact means, the bounds where they are tight, and the limit."""
    for dimension, scale in product(DIMENSIONS, ("unscaled", "scaled")):
        yield of_two(derived["attention"].start, dimension, scale)
    unscaled, raw, two = derived["unscaled"], derived["raw"], derived["raw-smaller"]
    for dimension in (16, 64):
        at, false = {n: S(16), d: S(dimension)}, dimension == 64
        yield bounded(f"bounded-n16-d{dimension}", unscaled, at, unscaled.start, 0.53 * false)
        yield bounded(f"lacks-n16-d{dimension}", raw, at, raw.start, 0.7 * false)
        smaller = 1 - E(Largest(Softmax(score, j), j))
        yield bounded(f"smaller-d{dimension}", two, {**at, n: S(2)}, smaller, 0.95 * false)
    narrow, wide = {n: S(2), sigma: NARROW}, {n: S(2), sigma: S(LARGE)}
    share, times = derived["share"], derived["times-sigma"]
    yield bounded("by-the-trace-n2", share, narrow, share.start, 0.95)
    yield bounded("bounded-n2", times, wide, times.start, 0.65)
    for keys, dimension in ((64, 16), (16, 64)):
        at = {n: S(keys), d: S(dimension), c: 1 / sqrt(S(dimension))}
        start, value = derived["ratio"].start, integrated(derived["ratio"].start, at)
        yield Check(f"ratio-n{keys}-d{dimension}", start, at, equals=value, tolerance=Within(2.0))
    rare = Within(3.0, because="only the few rows whose two scores lie close make the mean")
    yield Check("limit-n2", times, wide, equals=integrated(derived.end, {n: 2}), tolerance=rare)
    yield from wrong(derived)
    limit, norm = integrated(derived.end, {n: 2}), rf"${latex(sigma * E(NORM))}$"
    yield fact("limit-of-two", f"limit of {norm}, for two keys", Float(limit, 17))
    what = rf"largest share of the bound that is reached, up to a million keys, $\sigma \le {LARGE}$"
    yield fact("bound-reached", what, Float(share_reached(derived["bound"]), 17))
    for keys, words in ((2, "two"), (16, "sixteen"), (128, "128")):
        what = f"mean of the largest of {words} standard normal scores"
        yield fact(f"largest-n{keys}", what, Float(integrated(LARGEST, {n: keys}), 17))


def share_reached(bound: Chain) -> float:
    """Return the largest share of a bound that is reached, for up to a million keys and many deviations."""
    places = ({n: keys, sigma: deviation} for keys, deviation in product(KEYS, DEVIATIONS))
    return max(integrated(bound.start / bound.end, at) for at in places)


def wrong(derived: Derivation) -> Iterator[Wrong]:
    """Return other limits, and scaled and unscaled rows taken for each other."""
    says = "the limit is that of the bound, half of {largest}"
    yield Wrong("half-in-the-limit", of="limit-n2", equals=integrated(LARGEST / 2, {n: 2}), says=says)
    quantity, high = derived["attention"].start, {n: S(2), d: S(64), c: S.One}
    says = "unscaled rows transmit as much as scaled ones"
    as_much = exact(quantity, {**high, c: S.One / 8})
    yield Wrong("as-much-unscaled", of="unscaled-d64", equals=as_much, says=says)
    says = "the mean is that of the typical gap of scores, and so falls exponentially"
    typical, mean = (
        float(OF_GAP.subs(g, 2 * sqrt(64 / pi))),
        Within(1.0, exact(quantity, high), "the derived mean"),
    )
    yield Wrong("typical-gap", quantity, high, equals=typical, tolerance=mean, says=says)
    one, above, below = Threshold(S.One), "ratio-n64-d16", "ratio-n16-d64"
    says = (
        "in every dimension rows pass on less without scaling, such as {cell:n} keys in {cell:d_k} dimensions"
    )
    yield Wrong("less-in-every-dimension", of=above, at_most=one, says=says)
    says = "in every dimension they pass on more, such as {cell:n} keys in {cell:d_k} dimensions"
    yield Wrong("more-in-every-dimension", of=below, at_least=one, says=says)
    says = "scaling changes nothing for {cell:n} keys in {cell:d_k} dimensions"
    yield Wrong("no-change", of=above, equals=one, says=says)


def figures(derived: Derivation, findings: Findings) -> Figure:
    """Draw both means of two keys over the dimension, and the limit."""
    span, top, quantity = (2, 256), integrated(derived.end, {n: 2}), derived["attention"].start

    def of_dimension(power: float) -> Callable[[float], float]:
        return lambda size: integrated(quantity, {n: 2, d: size, c: size**power})

    return draw.figure(
        "two-keys",
        "Scaled rows keep passing gradients on; unscaled ones less with every dimension",
        "Mean squared norm of the softmax Jacobian of two keys against the dimension, on log axes: with "
        "scaling it stays near {scaled-d64:prediction.2}, without it falls like one over the root of the "
        "dimension, close to the derived limit; measured points lie on both curves.",
        draw.curve("scaled", of_dimension(-0.5), span, many=15),
        draw.curve("unscaled", of_dimension(0.0), span, many=15),
        draw.curve("limit: {limit-of-two:3} over {root_d}", top / sqrt(d), span, "other"),
        draw.measured(findings.matching("scaled-d*"), d),
        draw.measured(findings.matching("unscaled-d*"), d),
        x=d,
        y="mean of {norm}",
    )


CLAIM = Claim(
    title="Without scaling, the softmax's mean squared Jacobian falls as one over the root of the dimension",
    headline="unscaled-d64",
    statement="For {n} independent normal scores of standard deviation {sigma} and the Jacobian J of their "
    "softmax, the mean of its squared Frobenius norm {norm} is at most {bound:end} always, by way of "
    "{middle}, and times {sigma} it tends to {main:end} as the scores spread. For standard normal queries "
    "and keys, {sigma} is the length of the query, about {root_d}, if scores are not scaled, and the mean "
    "falls to zero: in 3 dimensions or more, {raw}, and the smaller of two weights is {raw-smaller:end} "
    "at most on average. If scores are divided by {root_d}, {sigma} tends to one and the mean to a constant.",
    meaning="As the dimension grows, the gradient that a row can transmit to its scores soon settles if "
    "they are scaled, and decays if they are not. It decays slowly, not exponentially: rare rows whose two "
    "largest scores nearly tie keep the mean up. (The bound is loose: no mean was found above two thirds of "
    "it, which is its limit.) And it falls below the scaled value late when there are many keys, since an "
    "almost uniform row transmits little as well: {ratio-n64-d16:n} keys in {ratio-n64-d16:d_k} dimensions "
    "still transmit more unscaled. All this is for random queries and keys, as at the start of training.",
    symbols={"n": n, "sigma": sigma, "largest": LARGEST, "middle": E(REST) / 2, "norm": NORM},
    references=cite("stein1981"),
)
