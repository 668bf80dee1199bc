"""Differential attention can lower the noise of a weight, but never relative to its mean."""

import numpy as np

from verify.spec import NORMAL_ROWS, Chain, Chains, Check, Claim, Cov, Derivation, E, Expr, Family, Float
from verify.spec import Items, Named, Rational, S, Softmax, Symbol, Var, Wrong, a, algebra, at_least, cite
from verify.spec import cited, earlier, exp, fact, j, m, moments, n, normal, s, sqrt, symbols

factor, (r, rho), t = Symbol("lambda", nonnegative=True), symbols("r rho", real=True), Family("t", m, n)
LAWS = {**NORMAL_ROWS, t: normal()}
POSSIBLE, MANY = (r >= -1, r <= 1), n > 1
# Scores of the second map, whose correlation with those of the first is r.
OTHER = r * s[a, j] + sqrt(1 - r**2) * t[a, j]
FIRST, SECOND = Softmax(s[a, j], j), Softmax(OTHER, j)
LESS = FIRST - factor * SECOND
CORRELATION = Named(rho, Cov(FIRST, SECOND) / Var(FIRST))


def derive() -> Chains:
    shared, same_law = 2 * factor * CORRELATION, cited("normal combination", laws=LAWS)
    title = "The variance of a weight over that of a plain one"
    noise = Chain(Var(LESS) / Var(FIRST), title=title, given=(*POSSIBLE, MANY)).through(
        (1 + factor**2 * Var(SECOND) / Var(FIRST) - shared, "a variance of a difference", algebra),
        (1 + factor**2 - shared, "scores of both maps have one law", same_law),
    )
    means, title = E(LESS) / E(FIRST), "The mean of a weight over that of a plain one"
    mean = Chain(means, name="mean", title=title, given=POSSIBLE).through(
        ((E(FIRST) - factor * E(SECOND)) / E(FIRST), "by linearity", algebra),
        (1 - factor, "keys are alike in both maps", moments(LAWS)),
    )
    less, squared, taken_out = factor < 1, (1 - factor) ** 2, "the square of the mean taken out"
    title = "The variance over the squared mean, over that of a plain weight"
    over_mean, given = noise.start / means**2, (*POSSIBLE, MANY, less)
    relative = Chain(over_mean, name="relative", title=title, given=given).through(
        (noise.end / means**2, "the variance", earlier(noise)),
        (noise.end / squared, "the mean", moments(LAWS)),
        (1 + 2 * factor * (1 - CORRELATION) / squared, taken_out, algebra),
    )
    yield from (noise, mean, relative)
    surplus = at_least(2 * factor * (1 - rho) / squared, given=(rho <= 1, less))
    of_rho = (noise.end / squared).xreplace({CORRELATION: rho})
    never = Chain(of_rho, name="never", title="The variance over the squared mean is not reduced")
    yield never.then(S.One, "no correlation is above 1", surplus, "≥")
    # Where maps are independent, their weights are not correlated.
    for chain, name in ((noise, "apart"), (relative, "relative-apart")):
        start, end = (side.xreplace({r: S.Zero}) for side in (chain.start, chain.end))
        alone = end.xreplace({CORRELATION.xreplace({r: S.Zero}): S.Zero})
        given = tuple(condition for condition in chain.given if condition not in POSSIBLE)
        yield Chain(start, name=name, title=f"{chain.title}: independent maps", given=given).through(
            (end, "correlated maps", earlier(chain, at={r: 0})),
            (alone, "independent weights have no covariance", moments(LAWS)),
        )
    first, second, rest = exp(s[a, j]), exp(r * s[a, j]), exp(sqrt(1 - r**2) * t[a, j])
    product = E(exp((1 + r) * s[a, j])) * E(rest) - E(first) * E(second) * E(rest)
    title, correlation = "The correlation of exponentials", Cov(first, exp(OTHER)) / Var(first)
    yield Chain(correlation, name="exponentials", title=title, given=POSSIBLE).through(
        (product / (E(exp(2 * s[a, j])) - E(first) ** 2), "independent factors", moments(LAWS)),
        ((exp(r) - 1) / (exp(1) - 1), "means of exponentials", cited("change of measure", laws=LAWS)),
    )


def correlation_of_two(correlation: float) -> float:
    """Return the correlation of the weights of two maps of two keys, at standard normal scores."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    first, second = np.meshgrid(nodes, nodes, indexing="ij")
    joint = np.outer(weights, weights)
    other = correlation * first + np.sqrt(1 - correlation**2) * second
    # Of two keys a weight is logistic in the gap of their scores, whose deviation is √2.
    left, right = (1 / (1 + np.exp(-np.sqrt(2) * gaps)) - 0.5 for gaps in (first, other))
    return float((joint * left * right).sum() / (joint * left**2).sum())


def experiment(derived: Derivation) -> Items:
    def at_half(noise: Expr, correlation: Expr | float) -> float:
        return float(noise.xreplace({CORRELATION: correlation}).subs(factor, S.Half))

    check, relative, shared = Check.sharing(tolerance=2), derived["relative"], correlation_of_two(0.9)
    apart = derived["apart"].end, derived["relative-apart"].end
    correlated = at_half(derived.end, shared), at_half(relative.end, shared)
    for keys, correlation, ends in ((2, 0.0, apart), (64, 0.0, apart), (2, 0.9, correlated)):
        at, name = {n: keys, r: correlation, factor: 0.5}, f"n{keys}-r{round(10 * correlation)}"
        yield check(f"noise-{name}", derived, at, equals=ends[0], control=keys == 64)
        yield check(f"relative-{name}", relative, at, equals=ends[1])
    limit = at_half(derived.end, derived["exponentials"].end.subs(r, Rational(9, 10)))
    yield check("many", derived, {n: 64, r: 0.9, factor: 0.5}, at_most=limit, off={"ever-less": 0.7})
    says, less = "the correlation counts a twentieth less", correlated[0] + 0.05 * shared
    yield Wrong("less-correlation", of="noise-n2-r9", equals=less, says=says)
    yield Wrong("noise-cancels", of="noise-n64-r0", at_most=S.One, says="independent noise partly cancels")
    says = "over the mean, noise changes as the noise alone does"
    yield Wrong("mean-kept", of="relative-n64-r0", equals=apart[0], says=says)
    yield fact("independent", "relative standard deviation at λ = ½", sqrt(apart[1].subs(factor, S.Half)))
    yield fact("many-keys", "noise of scores correlated like exponentials", Float(limit, 6))


CLAIM = Claim(
    statement="Let two attention maps have weights of equal means and variances with correlation {rho}, as "
    "those of standard normal scores have, and let {factor} times the second be subtracted from the first. "
    "The mean of a weight, and so the sum of a row, is multiplied by {mean:end} and the variance of a weight "
    "by {main:end}, which is a reduction only for {factor} below twice {rho}. For {factor} below one, the "
    "variance over the squared mean is multiplied by {relative:end}, which is never less than one: {never}.",
    meaning="The idea is that noise common to both maps cancels, as in a differential amplifier. It does so "
    "as far as the maps are alike, but the signal is subtracted too. Two independent maps at "
    "{noise-n64-r0:lambda=} have {noise-n64-r0:prediction.3} times the variance, and {independent:3} times "
    "the standard deviation relative to the mean. With scores correlated at {noise-n2-r9:r}, the variance "
    "falls to {noise-n2-r9:prediction.3} of its value for two keys, to {many:estimate.3} as measured for "
    "{many:n}, and to {many-keys:4} if weights are correlated like exponentials, as they are for very many "
    "keys. Any gain has to come from training: random maps show none of it.",
    references=cite("ye2025"),
)
