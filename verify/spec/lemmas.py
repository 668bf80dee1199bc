"""Lemmas that claims of several chapters rest on: a score's law, entropy of a row, bounds for raw scores.

Given the query a score of normal components is normal, and its variance is the query's squared length, which
is chi-square: so a score's law is an expression, and numbers by averaging over that length.

The chains at the end show over how many of very many keys attention spreads: n·E Σp² tends to exp(σ²). For
every number of keys it lies between two functions of n and σ, which both tend there. They come of shifting
single scores under the normal density, which adds a share of its exponential to the total.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Literal

import numpy as np
import scipy
from sympy import I, Indexed, besselk

from verify.montecarlo.distributions import Array
from verify.spec import NORMAL_COMPONENTS, NORMAL_ROWS, Chain, Dot, E, Entropy, Expr, Gt, Indicator, Integral
from verify.spec import Largest, Limit, Line, LineCheck, LogSumExp, S, Softmax, Symbol, a, algebra, at_most
from verify.spec import between, by_density, cited, d, earlier, erf, exp, gamma, i, integral, j, k, l, log
from verify.spec import moments, n, oo, over_components, over_keys, pi, q, s, score, score_of, sigma, simplify
from verify.spec import sqrt, squares, symbols

x = Symbol("x", real=True)
t, w, z = symbols("t w z", positive=True)
SHARE = E(Indicator(x - score))  # the probability that a score is below x, which is ``BELOW``
SQUARES = over_components(q[a, i] ** 2)  # a query's squared length
# The density of the squared length at w.
CHI_SQUARE = w ** (d / 2 - 1) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2))
# The density of a score at z > 0, as a mixture of normal densities.
MIXTURE = Integral(CHI_SQUARE * exp(-(z**2) / (2 * w)) / sqrt(2 * pi * w), (w, 0, oo))
# The density of a score at z > 0; the law is symmetric.
DENSITY = (
    2 ** ((1 - d) / S(2)) * z ** ((d - 1) / S(2)) * besselk((d - 1) / S(2), z) / (sqrt(pi) * gamma(d / 2))
)
# The probability that a score is below x.
BELOW = Integral(CHI_SQUARE * (1 + erf(x / sqrt(2 * w))) / 2, (w, 0, oo))


def of_normals(theorem: str) -> LineCheck:
    """Return the citation of a theorem for standard normal components."""
    return cited(theorem, laws=NORMAL_COMPONENTS)


@cache  # so that its lines are checked once in a process
def distribution() -> Chain:
    """Return the chain of the probability that a score is below x, for any real x."""
    tower = "given the query a score is normal, its variance the query’s squared length"
    return Chain(SHARE, name="distribution", title="The probability that a score is below $x$").through(
        (E((1 + erf(x / sqrt(2 * SQUARES))) / 2), tower, of_normals("conditioning")),
        (BELOW, "the squared length is chi-square", of_normals("chi-square")),
    )


@cache
def transform(name: Literal["characteristic", "exponential"]) -> tuple[Chain, Chain, Chain]:
    """Return the chain of the mean of exp(i·t·score), or exp(t·score), after two means over a component."""
    unit, factor, title, given = {
        "characteristic": (I, Symbol("t", real=True), "The characteristic function of a score", ()),
        "exponential": (S.One, t, "The mean of an exponential of a score", (t < 1,)),
    }[name]
    b, u, v = symbols("b u v", real=True)
    c, rest = Symbol("c", positive=True), 1 - unit**2 * factor**2

    def over(variable: Symbol, function: Any) -> Any:
        return Integral(function * exp(-(variable**2) / 2) / sqrt(2 * pi), (variable, -oo, oo))

    key, query = over(v, exp(unit * b * v)), Integral(exp(-c * u**2 / 2) / sqrt(2 * pi), (u, -oo, oo))
    of_key = Chain(key, name="of-key", title="A mean over a normal component of a key")
    of_key = of_key.then(exp(unit**2 * b**2 / 2), "integrated", integral())
    of_query = Chain(query, name="of-query", title="A mean over a normal component of a query")
    of_query = of_query.then(1 / sqrt(c), "integrated", integral())
    product, densities = q[a, 1] * k[j, 1], by_density({k[j, 1]: v, q[a, 1]: u}, NORMAL_COMPONENTS)
    both, there = over(u, over(v, exp(unit * factor * u * v))), earlier(of_query, at={c: rest}, given=given)
    of_score = Chain(E(exp(unit * factor * score)), name=name, title=title, given=given).through(
        (E(exp(unit * factor * product)) ** d, "independent factors of one law", moments(NORMAL_COMPONENTS)),
        (both**d, "both components are normal", densities),
        (query.xreplace({c: rest}) ** d, "over the key", earlier(of_key, at={b: factor * u})),
        (rest ** (-d / 2), "over the query", there),
    )
    return of_key, of_query, of_score


# Probability left out at either end; step in the logarithm of a length, at most, and over its deviation.
_TAIL, _STEP, _OF_DEVIATION = 1e-40, 0.05, 0.5


def below(dimension: float, point: float) -> float:
    """Return P(q·k < ``point``) by averaging the normal law over the query's squared length."""
    # Unlike the density it stays within floating point in thousands of dimensions.
    length, probability = lengths(dimension)
    return float(probability @ scipy.special.ndtr(point / length))


@cache
def lengths(dimension: float) -> tuple[Array, Array]:
    """Return lengths of a query of standard normal components, and their probabilities on a fine grid."""
    # The trapezoid rule in the logarithm, where everything is analytic about the real axis and it converges
    # geometrically. The tail beyond either end has a probability of 1e-40: claims ask for shares of 1e-24.
    ends = scipy.special.gammaincinv(dimension / 2, _TAIL), scipy.special.gammainccinv(dimension / 2, _TAIL)
    low, high = np.log(2 * np.array(ends)) / 2
    steps = math.ceil((high - low) / min(_STEP, _OF_DEVIATION / math.sqrt(2 * dimension)))
    logarithm = np.linspace(low, high, steps + 1)
    exponent = dimension * logarithm - np.exp(2 * logarithm) / 2
    density = np.exp(exponent - np.max(exponent))
    return np.exp(logarithm), density / np.sum(density)


# --- rows of scores ---

SQUARED_LENGTH, ROW = Dot(q, a, q, a), sigma * s[a, j]
GIVEN_QUERY = cited("normal combination", laws={**NORMAL_COMPONENTS, **NORMAL_ROWS})
# The total, an exponential, the share of it that comes on top, and a number near the total.
Z, part, c, r = symbols("Z x c r", positive=True)
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
    return first, Chain(first.start, name=name, title="A bound by the number of keys" * bool(name)).through(
        (first.end, "the bound by the largest score", earlier(first), "≤"),
        (sqrt(2 * log(n)) / sigma, r"the largest is at most $\sigma\sqrt{2\ln n}$ on average", most, "≤"),
    )


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
    more, many, there = Z + c * part, (n > ONCE,), {Z: TOTAL, part: TERM, c: ONCE}
    convex, missing = "a convex function lies above its tangent", at_most((c * part / Z) ** 2 / more)
    tangent = Chain(1 / Z - c * part / Z**2, name="tangent", title="A tangent of one over the total")
    tangent = tangent.then(1 / more, convex, missing, "≤")
    below, on_top = over_keys(1 / TOTAL - ONCE * TERM / TOTAL**2), over_keys(1 / (TOTAL + ONCE * TERM))
    back = r"score $j$ is shifted by $-\sigma^2$: the share on top is gone, and its exponential comes before"
    inverse = Chain(E(1 / TOTAL), name="inverse-total", title="One over the total", given=many).through(
        (E(below) / (n - ONCE), "the exponentials sum to the total", algebra),
        (E(on_top) / (n - ONCE), "the tangent", earlier(tangent, at=there, given=many), "≤"),
        (exp(-(sigma**2) / 2) * E(over_keys(TERM / TOTAL)) / (n - ONCE), back, SHIFTED),
        (exp(-(sigma**2) / 2) / (n - ONCE), "the weights sum to 1", algebra),
    )
    falling = Chain(part / more**2, name="falling", title="What comes on top makes it smaller")
    falling = falling.then(part / Z**2, "for positive numbers", at_most(part / Z**2 - part / more**2), "≤")
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
    more, level, factor = Z + c * part, (n + TWICE) * exp(sigma**2 / 2), n * exp(2 * sigma**2)
    missing = at_most((more - r) ** 2 * (2 * more + r) / (r**3 * more**2))
    title = "A tangent of one over the squared total"
    tangent = Chain(3 / r**2 - 2 * more / r**3, name="square-tangent", title=title)
    tangent = tangent.then(1 / more**2, "a convex function lies above its tangent", missing, "≤")
    there = earlier(tangent, at={Z: TOTAL, part: TERM, c: TWICE, r: level})
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
