"""Lemmas that claims of several chapters rest on: entropy of a row, two weights, bounds for raw scores."""

from functools import cache

from sympy import Expr, Gt, Indexed, Integral, S, log, oo, simplify, sqrt

from verify.spec.score_law import CHI_SQUARE, of_normals, w
from verify.symbolic.analysis import integral
from verify.symbolic.bounds import at_most, earlier
from verify.symbolic.chains import Chain
from verify.symbolic.checks import algebra, moments
from verify.symbolic.theorems import cited
from verify.symbolic.vocabulary import NORMAL_COMPONENTS, NORMAL_ROWS, Dot, E, Entropy, Largest, LogSumExp
from verify.symbolic.vocabulary import Softmax, a, d, j, l, n, over_keys, q, s, score, score_of, sigma
from verify.symbolic.vocabulary import squares

SQUARED_LENGTH, ROW = Dot(q, a, q, a), sigma * s[a, j]
GIVEN_QUERY = cited("normal combination", laws={**NORMAL_COMPONENTS, **NORMAL_ROWS})


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
    """Derive a mean over rows of scores q·k as a mean over normal rows, of the query's length as deviation.

    Its end is integrated wherever a check is of this chain.
    """
    normal = "given the query, its scores are independent and normal, with its length as deviation"
    of_rows = mean.xreplace({score: sqrt(SQUARED_LENGTH) * s[a, j]})
    return Chain(mean, name=name, title=title).then(of_rows, normal, GIVEN_QUERY)


def for_raw_scores(bound: Chain) -> Chain:
    """Derive a bound for raw scores of normal queries and keys from a bound in proportion to 1/σ.

    The ``bound`` is a chain about scores ``sigma*s[a, j]``, from a mean to a constant over σ.
    """
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
    """Derive how much the squared weights of a normal row lack of 1 at most.

    By the mean of the largest score, the chain "first", and by the number of keys, that of the ``name``.
    """
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
    """Derive how much of its largest entropy a row of normal scores loses at most on average.

    The first chain has the squared weights in its bound, the second, which gets the ``name``, has none; the
    third, "scaled", is about scaled scores of normal queries and keys.
    """
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
