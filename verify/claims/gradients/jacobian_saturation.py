"""Without scaling, the softmax's mean squared Jacobian falls as one over the root of the dimension."""

from functools import partial
from typing import Literal

from verify.claims.gradients.shared.weights import squared_norm
from verify.spec import NORMAL_COMPONENTS, NORMAL_ROWS, Chain, Chains, Check, Claim, Derivation, Derivative, E
from verify.spec import Entropy, Expr, Gt, Index, Integral, Items, Largest, Limit, LogSumExp, Plot, Rational
from verify.spec import S, Softmax, Sum, Symbol, Threshold, Within, Wrong, a, algebra, at_least, at_most
from verify.spec import between, cite, cited, d, earlier, exp, gamma, integral, integrated, j, l, log, n, oo
from verify.spec import over_keys, pi, s, score, sigma, sqrt, squares
from verify.spec.lemmas import CHI_SQUARE, SQUARED_LENGTH, of_normals, of_queries, w

exact = partial(integrated, within=1e-10)
c, h, LENGTH = Symbol("c", positive=True), Index("h"), sqrt(SQUARED_LENGTH)
ROW = sigma * s[a, j]
p, p_l, p_h = (Softmax(sigma * s[a, key], key) for key in (j, l, h))
SQUARES, NORM, TOP = squares(ROW), squared_norm(ROW), Largest(s[a, l], l)
REST, MEAN, LARGEST = 1 - SQUARES, over_keys(p * s[a, j]), E(TOP)
PASSED = 2 * over_keys(p**2 * s[a, j]) - SQUARES * MEAN
# How far the mean score of a row is below the largest, over the deviation.
BEHIND = over_keys(p * (TOP - s[a, j]))
BY_PARTS = cited("stein", laws=NORMAL_ROWS)


def derive() -> Chains:
    rest = Chain(E(REST), name="rest", title="What the squared weights lack").through(
        (E(MEAN) / sigma, "integration by parts", BY_PARTS),
        (LARGEST / sigma, "no average of scores exceeds the largest", at_most(E(BEHIND) / sigma), "≤"),
    )
    both, pairs = p * p_l, ((l, 1, j - 1), (j, 1, n))
    missing = at_most(E(Sum(3 * both * p_h, (h, 1, l - 1), *pairs) + Sum(both * (p - p_l) ** 2, *pairs)))
    trace = Chain(E(NORM), name="trace", title="A bound by the trace")
    trace = trace.then(E(REST) / 2, "no eigenvalue is above ½, and their sum is the trace", missing, "≤")
    bound = Chain(E(NORM), name="bound", title="A bound for all n and σ").through(
        (E(REST) / 2, "the bound by the trace", earlier(trace), "≤"),
        (LARGEST / (2 * sigma), "what the squared weights lack", earlier(rest), "≤"),
    )
    yield from (rest, trace, bound)
    share = Chain(2 * E(NORM) / E(REST), name="share", title="The share that is reached", given=(n > 1,))
    yield share.then(1, "the bound by the trace", earlier(trace, given=(Gt(E(REST), 0),)), "≤")
    # The limit: σ times the squared norm is a divergence in the scores, so Stein's lemma gives an identity
    # for all n and σ; in it nearly all weight is on the largest score, and bounds meet as scores spread.
    field = Rational(2, 3) * p**2 - p * over_keys(p_h**2, h) / 3
    divergence = r"the squared norm is the divergence of $\frac23p_j^2 - \frac13p_j\sum p_h^2$, over $\sigma$"
    identity = Chain(sigma * E(NORM), name="identity", title="An identity for all n and σ").through(
        (E(over_keys(Derivative(field, s[a, j]))), divergence, algebra),
        (E(over_keys(s[a, j] * field)), "integration by parts", BY_PARTS),
        (E(PASSED) / 3, "collecting terms", algebra),
    )
    log_sum = at_most(E(LogSumExp(ROW, j) - sigma * TOP) / sigma)
    behind = Chain(E(BEHIND), name="behind", title="How far the mean score is below the largest").through(
        (E(Entropy(ROW, j)) / sigma, r"$\sigma\max s$ is at most the log-sum-exp", log_sum, "≤"),
        (log(n) / sigma, "no entropy is more", cited("gibbs"), "≤"),
    )
    lower, upper = (near(sign, identity, rest, behind) for sign in (-1, 1))
    yield from (identity, behind, lower, upper)
    main = Chain(Limit(sigma * E(NORM), sigma, oo), title="The limit, by an identity")
    yield main.then(LARGEST / 3, "both bounds tend to it", between(lower, upper))
    times = Chain(sigma * E(NORM), name="times-sigma", title="The bound times the deviation")
    yield times.then(LARGEST / 2, "the bound, times the deviation", earlier(bound), "≤")
    unscaled, scaled = E(squared_norm(score)), E(squared_norm(c * score))
    yield of_queries(scaled, "attention", "Scores of normal queries and keys")
    yield of_queries(unscaled / scaled, "ratio", "Unscaled over scaled")
    # For raw scores the deviation is the length of the query.
    normal = cited("normal combination", laws={**NORMAL_COMPONENTS, **NORMAL_ROWS})
    independent = cited("independence", laws={**NORMAL_COMPONENTS, **NORMAL_ROWS})
    quotient = gamma((d - 1) / 2) / (sqrt(2) * gamma(d / 2))
    inverse = Chain(E(1 / LENGTH), name="inverse", title="One over the length of a query").through(
        (Integral(CHI_SQUARE / sqrt(w), (w, 0, oo)), "its square is chi-square", of_normals("chi-square")),
        (quotient, "a gamma function again", integral(given=(d > 1,))),
    )
    yield inverse
    there = earlier(bound, at={sigma: LENGTH}, given=(Gt(SQUARED_LENGTH, 0),))
    yield Chain(unscaled, name="unscaled", title="The bound for raw scores", given=(d > 1,)).through(
        (E(squared_norm(LENGTH * s[a, j])), "given the query, its scores are independent and normal", normal),
        (E(TOP / (2 * LENGTH)), "the bound at this deviation", there, "≤"),
        (LARGEST * E(1 / LENGTH) / 2, "queries are independent of it", independent),
        (LARGEST * quotient / 2, "one over the length of a query", earlier(inverse)),
    )


def near(sign: int, identity: Chain, rest: Chain, behind: Chain) -> Chain:
    """Derive the bound of σ E‖J‖² from above (1) or below (-1), with the remainder of the largest score."""
    relation: Literal["≤", "≥"] = "≤" if sign > 0 else "≥"
    excess, far = (at_most, 1) if sign > 0 else (at_least, 2)
    weight, remaining = (REST, p) if sign > 0 else (SQUARES, 1 - p)
    left = weight * BEHIND + 2 * over_keys(p * remaining * (TOP - s[a, j]))
    little = 1 / sqrt(sigma)
    whole = ((little * TOP + sign * REST) ** 2 + REST * SQUARES) / (2 * little)

    def within(lacking: Expr, distance: Expr) -> Expr:
        return LARGEST / 3 + sign * ((little * E(TOP**2) + lacking / little) / 2 + far * distance) / 3

    nearly = LARGEST / 3 - E(TOP * REST) / 3 + sign * far * E(BEHIND) / 3
    products = r"$|ab| \le (\varepsilon a^2 + b^2/\varepsilon)/2$ with $\varepsilon = 1/\sqrt\sigma$"
    lacks, entropy = "what the squared weights lack", "how far the mean score is below the largest"
    title = "At most" if sign > 0 else "At least"
    return Chain(sigma * E(NORM), name="upper" if sign > 0 else "lower", title=title).through(
        (E(PASSED) / 3, "the identity", earlier(identity)),
        (nearly, "nearly all weight is on the largest score", excess(E(left) / 3), relation),
        (within(E(REST), E(BEHIND)), products, excess(E(whole) / 3), relation),
        (within(LARGEST / sigma, E(BEHIND)), lacks, earlier(rest), relation),
        (within(LARGEST / sigma, log(n) / sigma), entropy, earlier(behind), relation),
    )


def experiment(derived: Derivation) -> Items:
    attention, ratio, limit = derived["attention"], derived["ratio"], exact(derived.end, {n: 2})
    for size in (4, 16, 64):
        for name, factor in (("unscaled", S.One), ("scaled", 1 / sqrt(S(size)))):
            at, times = {n: S(2), d: S(size), c: factor}, 2.0 if factor == 1 else 1.0
            value, control = exact(attention.end, at), name == "scaled" and size == 64
            yield Check(f"{name}-d{size}", attention, at, equals=value, tolerance=times, control=control)
    # Where two keys are as good as at the bound by the trace, and at their limit.
    narrow, wide = ({n: S(2), sigma: deviation} for deviation in (Rational(1, 4), S(32)))
    for name, part, at, sharper in (
        ("bounded-n16-d16", "unscaled", {n: S(16), d: S(16)}, 0),
        ("bounded-n16-d64", "unscaled", {n: S(16), d: S(64)}, 0.53),
        ("by-the-trace-n2", "share", narrow, 0.95),
        ("bounded-n2", "times-sigma", wide, 0.65),
    ):
        chain, band = derived[part], Within(0.5, fixed=True)
        truth = exact(chain.start, at) if sharper else None
        yield Check(name, chain, at, tolerance=band, sharper=sharper, sharper_truth=truth)
    for keys, size in ((64, 16), (16, 64)):
        at = {n: S(keys), d: S(size), c: 1 / sqrt(S(size))}
        yield Check(f"ratio-n{keys}-d{size}", ratio, at, tolerance=2.0)
    rare = Within(3.0, because="only the few rows whose two scores lie close make the mean")
    yield Check("limit-n2", derived["times-sigma"], wide, equals=limit, tolerance=rare)
    half, says = integrated(LARGEST / 2, {n: 2}), "the limit is that of the bound, half of {LARGEST}"
    yield Wrong("half-in-the-limit", of="limit-n2", equals=half, says=says)
    high, unity, where = {n: 2, d: 64, c: 1}, Threshold(1), "{cell:n} keys in {cell:d_k} dimensions"
    as_much, says = exact(attention.end, {**high, c: 1 / 8}), "unscaled rows transmit as much as scaled ones"
    yield Wrong("as-much-unscaled", of="unscaled-d64", equals=as_much, says=says)
    says = f"in every dimension rows pass on less without scaling, such as {where}"
    yield Wrong("less-in-every-dimension", of="ratio-n64-d16", at_most=unity, says=says)
    says = f"in every dimension they pass on more, such as {where}"
    yield Wrong("more-in-every-dimension", of="ratio-n16-d64", at_least=unity, says=says)
    says = "the mean is that of the typical gap of scores, and so falls exponentially"
    factor, whole = exp(2 * sqrt(64 / pi)), Within(1.0, exact(attention.end, high), "the derived mean")
    typical = float(4 * factor**2 / (1 + factor) ** 4)  # the squared norm of two keys at the mean gap
    yield Wrong("typical-gap", attention, high, equals=typical, tolerance=whole, says=says)
    curves = {"over {root_d}": attention.end.subs(c, 1 / sqrt(d)), "unscaled": attention.end.subs(c, 1)}
    below = {"limit: {limit-n2:prediction.3} over {root_d}": limit / sqrt(d)}
    plot = Plot.sharing("two-keys", ("scaled-d*", "unscaled-d*"), d, at={n: 2}, span=(2, 256))
    yield plot(curves=curves, bounds=below, y="mean squared norm of the Jacobian")


CLAIM = Claim(
    headline="unscaled-d64",
    statement="For {n} independent normal scores of standard deviation {sigma} and the Jacobian J of their "
    "softmax, the mean of its squared Frobenius norm {NORM} is at most {bound:end} always, by way of "
    "{middle}, and times {sigma} it tends to {main:end} as the scores spread. For standard normal queries "
    "and keys, {sigma} is the length of the query, about {root_d}, if scores are not scaled, and the mean "
    "falls to zero. If scores are divided by {root_d}, {sigma} tends to one and the mean to a constant.",
    meaning="What a row can transmit decays slowly without scaling, not exponentially: rare rows whose two "
    "largest scores nearly tie keep the mean up. And it falls below the scaled value late when there are "
    "many keys, since an almost uniform row transmits little as well: {ratio-n64-d16:n} keys in "
    "{ratio-n64-d16:d_k} dimensions still transmit more unscaled. All this is for random queries and keys, "
    "as at the start of training.",
    symbols={"middle": E(REST) / 2},
    references=cite("stein1981"),
)
