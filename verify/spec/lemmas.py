"""Lemmas that claims of several chapters rest on: entropy of a row, two weights, bounds for raw scores.

And the chains that show over how many of very many keys attention spreads: n·E Σp² tends to exp(σ²). For
every number of keys it lies between two functions of n and σ, which both tend there. They come of shifting
single scores under the normal density, which adds a share of its exponential to the total.
"""

from functools import cache

from sympy import Indexed

from verify.spec import NORMAL_COMPONENTS, NORMAL_ROWS, Chain, Dot, E, Entropy, Expr, Gt, Integral, Largest
from verify.spec import Limit, Line, LogSumExp, S, Softmax, a, algebra, at_most, between, cited, d, earlier
from verify.spec import exp, integral, j, l, log, moments, n, oo, over_keys, q, s, score, score_of, sigma
from verify.spec import simplify, sqrt, squares, symbols
from verify.spec.score_law import CHI_SQUARE, of_normals, w

SQUARED_LENGTH, ROW = Dot(q, a, q, a), sigma * s[a, j]
GIVEN_QUERY = cited("normal combination", laws={**NORMAL_COMPONENTS, **NORMAL_ROWS})
# The total, an exponential, the share of it that comes on top, and a number near the total.
Z, x, c, r = symbols("Z x c r", positive=True)
TOTAL, TERM = over_keys(exp(sigma * s[a, l]), l), exp(ROW)
# Which share of its exponential a score adds that is shifted by σ², and by 2σ².
ONCE, TWICE = exp(sigma**2) - 1, exp(2 * sigma**2) - 1
SHIFTED = cited("change of measure", laws=NORMAL_ROWS)
SPREAD = n * E(squares(ROW))


@cache  # so that its lines are checked once in a process
def inverse_square() -> Chain:
    """Derive the mean inverse of the squared length of a normal query, which is chi-square."""
    title, mean = "One over the squared length of a query", Integral(CHI_SQUARE / w, (w, 0, oo))
    return Chain(E(1 / SQUARED_LENGTH), name="inverse-square", title=title, given=(d > 2,)).through(
        (mean, "the squared length is chi-square", of_normals("chi-square")),
        (1 / (d - 2), "a gamma function over another", integral(given=(d > 2,))),
    )


@cache  # so that its lines are checked once in a process
def of_queries(mean: Expr, name: str, title: str = "Given the query") -> Chain:
    """Derive a mean over rows of scores q·k as one over normal rows, of the query's length as deviation."""
    # Its end is integrated wherever a check is of this chain.
    normal = "given the query, its scores are independent and normal, with its length as deviation"
    of_rows = mean.xreplace({score: sqrt(SQUARED_LENGTH) * s[a, j]})
    return Chain(mean, name=name, title=title).then(of_rows, normal, GIVEN_QUERY)


def for_raw_scores(bound: Chain) -> Chain:
    """Derive a bound for raw scores of normal queries and keys from a bound in proportion to 1/σ."""
    # The bound is a chain about scores sigma*s[a, j], from a mean to a constant over σ.
    length, constant = sqrt(SQUARED_LENGTH), simplify(bound.end * sigma)
    rows = {sigma * entry: score_of(*entry.indices) for entry in bound.start.atoms(Indexed)}
    normal = "given the query its scores are independent and normal, their deviation is its length"
    there = earlier(bound, at={sigma: length}, given=(Gt(SQUARED_LENGTH, 0),))
    title, given = "Raw scores: averaged over the length of a query", (d > 2,)
    return Chain(bound.start.xreplace(rows), name="raw", title=title, given=given).through(
        (bound.start.xreplace({sigma: length}), normal, GIVEN_QUERY),
        (E(constant / length), "the bound at this deviation, averaged over queries", there, "≤"),
        (constant * sqrt(E(1 / SQUARED_LENGTH)), "the root bends down", cited("jensen"), "≤"),
        (constant / sqrt(d - 2), "put in", earlier(inverse_square())),
    )


@cache  # so that its lines are checked once in a process
def squares_lack(name: str = "") -> tuple[Chain, Chain]:
    """Derive how much the squared weights of a normal row lack of 1 at most."""
    # By the mean of the largest score, the chain "first", and by the number of keys, that of the name.
    weighted, top = over_keys(Softmax(ROW, j) * ROW), Largest(sigma * s[a, l], l)
    missing = at_most(E(over_keys(Softmax(ROW, j) * (top - ROW))) / sigma**2)
    stein, most = (cited(theorem, laws=NORMAL_ROWS) for theorem in ("stein", "normal maximum"))
    first = Chain(1 - E(squares(ROW)), name="first", title="A bound by the largest score").through(
        (E(weighted) / sigma**2, "integration by parts", stein),
        (E(top) / sigma**2, "no average of scores exceeds the largest", missing, "≤"),
    )
    bound = Chain(first.start, name=name, title="A bound by the number of keys" * bool(name)).through(
        (first.end, "the bound by the largest score", earlier(first), "≤"),
        (sqrt(2 * log(n)) / sigma, r"the largest is at most $\sigma\sqrt{2\ln n}$ on average", most, "≤"),
    )
    return first, bound


@cache  # so that its lines are checked once in a process
def entropy_lost(name: str = "") -> tuple[Chain, Chain, Chain]:
    """Derive how much of its largest entropy a row of normal scores loses at most on average."""
    # The first chain has the squared weights in its bound, the second, which gets the name, has none; the
    # third, "scaled", is about scaled scores of normal queries and keys.
    rest, total = 1 - E(squares(ROW)), E(LogSumExp(ROW, j))
    weighted = E(over_keys(Softmax(ROW, j) * ROW))
    stein, growth = (cited(theorem, laws=NORMAL_ROWS) for theorem in ("stein", "interpolation"))
    by_parts = "integration by parts: each score brings out the derivative of its weight"
    grows = r"the first mean is $\ln n$ at $\sigma = 0$ and grows with $\sigma^2/2$ at the rate in brackets, "
    grows += "which falls"
    first = Chain(lost(ROW), name="first", title="A bound with the squared weights").through(
        (log(n) - total + weighted, r"$\ln p_j = \sigma s_j - \ln\sum_l e^{\sigma s_l}$", algebra),
        (log(n) - total + sigma**2 * rest, by_parts, stein),
        (sigma**2 * rest / 2, grows, growth, "≤"),
    )
    bound = Chain(lost(ROW), name=name, title="A bound without them" if name else "").through(
        (first.end, "the bound with the squared weights", earlier(first), "≤"),
        (sigma**2 / 2, "squares are positive", at_most(sigma**2 * E(squares(ROW)) / 2), "≤"),
    )
    deviation, average = sqrt(SQUARED_LENGTH / d), "the bound at this deviation, averaged over queries"
    normal = r"given the query, scaled scores are independent and normal with deviation $|q|/\sqrt{d_k}$"
    there = earlier(bound, at={sigma: deviation}, given=(Gt(SQUARED_LENGTH, 0),))
    title = "Scaled scores of normal queries and keys"
    scaled = Chain(lost(score / sqrt(d)), name="scaled", title=title).through(
        (E(log(n) - Entropy(deviation * s[a, j], j)), normal, GIVEN_QUERY),
        (E(SQUARED_LENGTH / (2 * d)), average, there, "≤"),
        (S.Half, "the mean of the squared length is the dimension", moments(NORMAL_COMPONENTS)),
    )
    return first, bound, scaled


def lost(scores: Expr) -> Expr:
    """Return the mean entropy of rows that is lost against an even spread over all keys."""
    return log(n) - E(Entropy(scores, j))


@cache  # so that its lines are checked once in a process
def at_most_keys() -> tuple[Chain, ...]:
    """Derive the upper bound of n·E Σp², for enough keys, and the chains that it rests on."""
    more, many, there = Z + c * x, (n > ONCE,), {Z: TOTAL, x: TERM, c: ONCE}
    convex, missing = "a convex function lies above its tangent", at_most((c * x / Z) ** 2 / more)
    tangent = Chain(1 / Z - c * x / Z**2, name="tangent", title="A tangent of one over the total")
    tangent = tangent.then(1 / more, convex, missing, "≤")
    below, on_top = over_keys(1 / TOTAL - ONCE * TERM / TOTAL**2), over_keys(1 / (TOTAL + ONCE * TERM))
    back = r"score $j$ is shifted by $-\sigma^2$: the share on top is gone, and its exponential comes before"
    inverse = Chain(E(1 / TOTAL), name="inverse-total", title="One over the total", given=many).through(
        (E(below) / (n - ONCE), "the exponentials sum to the total", algebra),
        (E(on_top) / (n - ONCE), "the tangent", earlier(tangent, at=there, given=many), "≤"),
        (exp(-(sigma**2) / 2) * E(over_keys(TERM / TOTAL)) / (n - ONCE), back, SHIFTED),
        (exp(-(sigma**2) / 2) / (n - ONCE), "the weights sum to 1", algebra),
    )
    falling = Chain(x / more**2, name="falling", title="What comes on top makes it smaller")
    falling = falling.then(x / Z**2, "for positive numbers", at_most(x / Z**2 - x / more**2), "≤")
    factor, put_in = n * exp(3 * sigma**2 / 2), earlier(falling, at=there)
    shift = r"score $j$ is shifted by $\sigma^2$, which turns one of its exponentials into a share on top"
    upper = Chain(SPREAD, name="upper", title="At most, for enough keys", given=many).through(
        (n * E(over_keys(TERM**2 / TOTAL**2)), "weights are exponentials over the total", algebra),
        (factor * E(over_keys(TERM / (TOTAL + ONCE * TERM) ** 2)), shift, SHIFTED),
        (factor * E(over_keys(TERM / TOTAL**2)), "without it, it is more", put_in, "≤"),
        (factor * E(1 / TOTAL), "the exponentials sum to the total", algebra),
        (n * exp(sigma**2) / (n - ONCE), "the bound of its inverse", earlier(inverse, given=many), "≤"),
    )
    return tangent, inverse, falling, upper


@cache  # so that its lines are checked once in a process
def many_keys(name: str = "") -> tuple[Chain, ...]:
    """Derive the limit of n·E Σp² for ever more keys, which gets the ``name``, after the chains below it."""
    more, level, factor = Z + c * x, (n + TWICE) * exp(sigma**2 / 2), n * exp(2 * sigma**2)
    missing = at_most((more - r) ** 2 * (2 * more + r) / (r**3 * more**2))
    title = "A tangent of one over the squared total"
    tangent = Chain(3 / r**2 - 2 * more / r**3, name="square-tangent", title=title)
    tangent = tangent.then(1 / more**2, "a convex function lies above its tangent", missing, "≤")
    there = earlier(tangent, at={Z: TOTAL, x: TERM, c: TWICE, r: level})
    below = over_keys(3 / level**2 - 2 * (TOTAL + TWICE * TERM) / level**3)
    linear = 3 * n / level**2 - 2 * (n + TWICE) / level**3 * E(over_keys(TERM))
    mean = 3 * n / level**2 - 2 * (n + TWICE) / level**3 * n * exp(sigma**2 / 2)
    shift = r"score $j$ is shifted by $2\sigma^2$, which turns its exponentials into a share on top"
    lower = Chain(SPREAD, name="lower", title="At least, for any number of keys").through(
        (factor * E(over_keys(1 / (TOTAL + TWICE * TERM) ** 2)), shift, SHIFTED),
        (factor * E(below), "the tangent at the mean of that total", there, "≥"),
        (factor * linear, "the exponentials sum to the total", algebra),
        (factor * mean, "the mean of an exponential", SHIFTED),
        (n**2 * exp(sigma**2) / (n + TWICE) ** 2, "terms collected", algebra),
    )
    *others, upper = at_most_keys()
    squeezed, title = between(lower, upper), "For ever more keys" if name else ""
    line = Line(exp(sigma**2), "it lies between two bounds that tend there", squeezed)
    return *others, upper, tangent, lower, Chain(Limit(SPREAD, n, oo), line, name=name, title=title)
