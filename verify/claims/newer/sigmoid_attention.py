"""Sums of rows of sigmoid attention tend not to one, but to the mean exponential of a score."""

from verify.spec import NORMAL_COMPONENTS, NORMAL_ROWS, Chain, Chains, Check, Claim, Derivation, E, Integral
from verify.spec import Items, Law, Limit, Plot, Rational, S, Symbol, Within, Wrong, a, algebra, at_most
from verify.spec import between, by_density, cite, cited, d, earlier, exp, fact, integral, j, moments, n, oo
from verify.spec import over_keys, pi, s, score, sigma, sqrt, symbols
from verify.spec.lemmas import t, transform

KEYS, NEAR = (4, 64, 1024), Within(0.5, fixed=True)
x, c, r = symbols("x c r", positive=True)
z = Symbol("z", real=True)
TERM = exp(sigma * s[a, j])
SUM = E(over_keys(1 / (1 + n * exp(-sigma * s[a, j]))))  # a sigmoid of s - ln n is x/(n + x) with x = eˢ
# Mean and mean square of the exponential of a normal score.
MEAN, SQUARE = exp(sigma**2 / 2), exp(2 * sigma**2)


def derive() -> Chains:
    mean, square = E(TERM), E(TERM**2)
    law = moments({s: Law("a finite mean of the exponential", (S.One,))})
    of_key = E(TERM / (1 + TERM / n)), "all keys have the same mean", law
    above = Chain(SUM, title="From above").through(
        of_key,
        (mean / (1 + mean / n), "concave in the exponential", cited("jensen"), "≤"),
    )
    line = x * (1 / (1 + c / n) - (x - c) / n / (1 + c / n) ** 2)
    gap = at_most(x * (x - c) ** 2 / n**2 / ((1 + x / n) * (1 + c / n) ** 2))
    tangent = Chain(line, name="tangent", title="A tangent")
    tangent = tangent.then(x / (1 + x / n), "$1/(1 + x/n)$ lies above its tangent at any $c$", gap, "≤")
    best = {x: TERM, c: square / mean}
    below = Chain(SUM, name="below", title="From below").through(
        of_key,
        (E(line.xreplace(best)), r"the tangent at $c = E x^2/E x$", earlier(tangent, at=best), "≥"),
        (mean**2 / (mean + square / n), "mean and mean square", algebra),
    )
    yield from (above, tangent, below)
    limit = Chain(Limit(SUM, n, oo), name="limit", title="The limit")
    yield limit.then(mean, "both bounds tend there", between(below, above))
    density, drawn = exp(-(z**2) / 2) / sqrt(2 * pi), by_density({s[a, j]: z}, NORMAL_ROWS)
    yield Chain(SUM, name="normal-sum", title="Normal scores").through(
        (of_key[0], "all keys have the same mean", moments(NORMAL_ROWS)),
        (Integral(density / (exp(-sigma * z) + 1 / n), (z, -oo, oo)), "the normal density", drawn),
    )
    moment = Chain(E(TERM**r), name="moment", title="Powers of the exponential of a normal score").through(
        (Integral(exp(r * sigma * z) * density, (z, -oo, oo)), "the normal density", drawn),
        (exp(r**2 * sigma**2 / 2), "integrated", integral()),
    )
    yield moment
    first, second = earlier(moment, at={r: 1}), earlier(moment, at={r: 2})
    yield Chain(SUM, name="normal-above", title="Normal scores, from above").through(
        (above.end, "the bound from above", earlier(above), "≤"),
        (above.end.xreplace({mean: MEAN}), "the mean", first),
    )
    yield Chain(SUM, name="normal-below", title="Normal scores, from below").through(
        (below.end, "the bound from below", earlier(below), "≥"),
        (below.end.xreplace({mean: MEAN}), "the mean", first),
        (MEAN**2 / (MEAN + SQUARE / n), "the mean square", second),
    )
    # Scaled scores of normal components, whose mean square may be infinite.
    (*parts, of_score), term = transform("exponential"), exp(score / sqrt(d))
    yield from (*parts, of_score)
    rises = cited("monotone convergence", laws=NORMAL_COMPONENTS)
    there = earlier(of_score, at={t: 1 / sqrt(d)}, given=(d > 1,))
    title = "The limit for scaled scores, whether or not they have a mean square"
    yield Chain(Limit(n * E(1 / (1 + n / term)), n, oo), name="scaled", title=title, given=(d > 1,)).through(
        (E(term), "$nx/(n + x)$ rises to $x$, the exponential of the score", rises),
        ((1 - 1 / d) ** (-d / 2), "the mean of such an exponential", there),
    )


def experiment(derived: Derivation) -> Items:
    most, least = derived["normal-above"], derived["normal-below"]
    for keys in KEYS:
        at = {n: keys, sigma: 1}
        yield Check(f"sum-n{keys}", derived["normal-sum"], at, control=keys == KEYS[-1])
        yield Check(f"above-n{keys}", most, at, tolerance=NEAR, sharper=0.95 if keys == KEYS[1] else 0)
        yield Check(f"below-n{keys}", least, at, tolerance=NEAR)
    # At a small deviation of scores the lower bound is close.
    yield Check("below-n4-narrow", least, {n: 4, sigma: Rational(1, 4)}, tolerance=NEAR)
    says = "the bound for a mean square less three hundredths holds, too"
    smaller = MEAN**2 / (MEAN + Rational(97, 100) * SQUARE / n)
    yield Wrong("smaller-square", of="below-n4-narrow", at_least=smaller, says=says)
    yield Wrong("sums-to-one", of="sum-n1024", equals=S.One, says="with this bias weights sum to one")
    yield fact("normal", "limit of the sum at standard normal scores", exp(S.Half))
    for size in (2, 64):
        yield fact(f"scaled-d{size}", f"limit in {size} dimensions", derived["scaled"].end.subs(d, size))
    bounds = {"from above": most.end.subs(sigma, 1), "from below": least.end.subs(sigma, 1)}
    yield Plot("sums", "sum-n*", n, bounds=bounds, y="mean sum of a row’s weights", linear="y")


CLAIM = Claim(
    statement="Let each of {n} weights be the sigmoid of a score minus the logarithm of {n}, and let all "
    "scores be {sigma} times numbers of one law. The mean sum of a row is at most {main:end}. On condition "
    "that the exponential of a score has a finite mean square, the mean sum is at least {below:end}, and "
    "tends to {limit:end} as {n} grows. For standard normal numbers, the mean of the exponential raised to "
    "the power {r} is {moment:end}.",
    meaning="The bias keeps the sum from growing with the length, and no more: for standard normal scores "
    "the sum is {sum-n64:prediction.4} for {sum-n64:n} keys, {sum-n1024:prediction.4} for {sum-n1024:n}, and "
    "tends to {normal:5}, not to one. For scaled scores of normal components the mean square is finite in "
    "five dimensions and more; in 64 the sum tends to {scaled-d64:4}. In two to four dimensions the mean "
    "square is infinite and the bound from below says nothing, but each term rises with {n}, so that the sum "
    "still tends to the mean, which is {scaled-d2:1} in two; in one dimension the mean is infinite. The sum "
    "of a row follows the spread of its scores, so a change of scale changes this sum, which softmax keeps "
    "at one.",
    headline="sum-n1024",
    references=cite("ramapuram2025"),
)
