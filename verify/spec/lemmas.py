"""Lemmas that claims of several chapters rest on: entropy of a row, two weights, bounds for raw scores."""

from functools import cache

from sympy import Expr, Gt, Indexed, Integral, Min, S, Symbol, exp, gamma, log, oo, pi, simplify, sqrt

from verify import spec as of

w, x = Symbol("w", positive=True), Symbol("x", real=True)
SQUARED_LENGTH = of.Dot(of.q, of.a, of.q, of.a)


@cache  # so that its lines are checked once in a process
def inverse_square() -> of.Chain:
    """Derive the mean of one over the squared length of a normal query, which is chi-square."""
    density = w ** (of.d / 2 - 1) * exp(-w / 2) / (2 ** (of.d / 2) * gamma(of.d / 2))
    chi_square = of.cited("chi-square", laws=of.NORMAL_COMPONENTS)
    return of.Chain(
        of.E(1 / SQUARED_LENGTH),
        of.Line(Integral(density / w, (w, 0, oo)), "the squared length is chi-square", chi_square),
        of.Line(1 / (of.d - 2), "a gamma function over another", of.integral(given=(of.d > 2,))),
        name="inverse-square",
        title="One over the squared length of a query",
        given=(of.d > 2,),
    )


def for_raw_scores(
    bound: of.Chain,
    inverse: of.Chain,
    name: str = "raw",
    title: str = "Raw scores: averaged over the length of a query",
) -> of.Chain:
    """Derive a bound for raw scores of normal queries and keys from one in proportion to 1/σ.

    Args:
        bound: A chain about scores ``sigma*s[a, j]``, from a mean to a constant over σ.
        inverse: The chain of ``inverse_square``.
        name: What the chain is called.
        title: What stands above it.
    """
    length, constant = sqrt(SQUARED_LENGTH), simplify(bound.end * of.sigma)
    rows = {of.sigma * entry: of.score_of(*entry.indices) for entry in bound.start.atoms(Indexed)}
    laws = {**of.NORMAL_COMPONENTS, **of.NORMAL_ROWS}
    given_length = "given the query its scores are independent and normal, their deviation is its length"
    return of.Chain(
        bound.start.xreplace(rows),
        of.Line(
            bound.start.xreplace({of.sigma: length}), given_length, of.cited("normal combination", laws=laws)
        ),
        of.Line(
            of.E(constant / length),
            "the bound at this deviation, averaged over queries",
            of.earlier(bound, at={of.sigma: length}, given=(Gt(SQUARED_LENGTH, 0),)),
            "≤",
        ),
        of.Line(constant * sqrt(of.E(1 / SQUARED_LENGTH)), "the root bends down", of.cited("jensen"), "≤"),
        of.Line(constant / sqrt(of.d - 2), "put in", of.earlier(inverse)),
        name=name,
        title=title,
        given=(of.d > 2,),
    )


@cache  # so that its lines are checked once in a process
def smaller_of_two(name: str = "") -> tuple[of.Chain, of.Chain]:
    """Derive the mean of the smaller of two weights, and a bound, which gets the ``name``.

    The bound tends to 0 as the scores spread.
    """
    row, over, sizes = of.sigma * of.s[of.a, of.j], (x, -oo, oo), (x, 0, oo)
    lower, peak = 1 / (1 + exp(x)), 1 / (2 * of.sigma * sqrt(pi))
    density, smaller = peak * exp(-(x**2) / (4 * of.sigma**2)), Min(lower, lower.subs(x, -x))
    normal = of.cited("normal combination", laws=of.NORMAL_ROWS)
    gap = of.E(smaller.subs(x, row.subs(of.j, 1) - row.subs(of.j, 2)))
    two, either = {of.n: 2, of.j: 1, of.l: 2}, "either key may lead by the size of the gap"
    mean = of.Chain(
        of.E(Min(of.Softmax(row, of.j), of.Softmax(row.subs(of.j, of.l), of.l))),
        of.Line(gap, "of two keys it depends on the gap alone", of.substitute(two)),
        of.Line(Integral(smaller * density, over), r"the gap is normal with variance $2\sigma^2$", normal),
        of.Line(Integral(2 * lower * density, sizes), either, of.numerically()),
        name="mean",
        title="The mean of the smaller weight as an integral over the gap",
    )
    missing = of.at_most(Integral(2 * lower * (peak - density), sizes))
    primitive, most = -2 * peak * log(1 + exp(-x)), "the density of the gap is largest at 0"
    bound = of.Chain(
        mean.start,
        of.Line(mean.end, "averaged over the gap", of.earlier(mean)),
        of.Line(Integral(2 * lower * peak, sizes), most, missing, "≤"),
        of.Line(log(2) / (of.sigma * sqrt(pi)), r"a primitive is $-\ln(1 + e^{-x})$", of.integral(primitive)),
        name=name,
        title="A bound of the smaller of two weights" * bool(name),
    )
    return mean, bound


@cache  # so that its lines are checked once in a process
def entropy_lost(name: str = "") -> tuple[of.Chain, of.Chain, of.Chain]:
    """Derive how much of its largest entropy a row of normal scores loses at most on average.

    The first chain has the squared weights in its bound, the second, which gets the ``name``, has none; the
    third, "scaled", is about scaled scores of normal queries and keys.
    """
    row, scaled_score = of.sigma * of.s[of.a, of.j], of.score / sqrt(of.d)
    rest, total = 1 - of.E(of.squares(row)), of.E(of.LogSumExp(row, of.j))
    weighted = of.E(of.over_keys(of.Softmax(row, of.j) * row))
    stein, growth = (of.cited(theorem, laws=of.NORMAL_ROWS) for theorem in ("stein", "interpolation"))
    by_parts = "integration by parts: each score brings out the derivative of its weight"
    grows = r"the first mean is $\ln n$ at $\sigma = 0$ and grows with $\sigma^2/2$ at the rate in brackets, "
    grows += "which falls"
    first = of.Chain(
        lost(row),
        of.Line(
            log(of.n) - total + weighted, r"$\ln p_j = \sigma s_j - \ln\sum_l e^{\sigma s_l}$", of.algebra
        ),
        of.Line(log(of.n) - total + of.sigma**2 * rest, by_parts, stein),
        of.Line(of.sigma**2 * rest / 2, grows, growth, "≤"),
        name="first",
        title="A bound with the squared weights",
    )
    missing = of.at_most(of.sigma**2 * of.E(of.squares(row)) / 2)
    bound = of.Chain(
        lost(row),
        of.Line(first.end, "the bound with the squared weights", of.earlier(first), "≤"),
        of.Line(of.sigma**2 / 2, "squares are positive", missing, "≤"),
        name=name,
        title="A bound without them" if name else "",
    )
    deviation = sqrt(SQUARED_LENGTH / of.d)
    given_query = r"given the query, scaled scores are independent and normal with deviation $|q|/\sqrt{d_k}$"
    normal = of.cited("normal combination", laws={**of.NORMAL_COMPONENTS, **of.NORMAL_ROWS})
    there = of.earlier(bound, at={of.sigma: deviation}, given=(Gt(SQUARED_LENGTH, 0),))
    mean_length = of.moments(of.NORMAL_COMPONENTS)
    scaled = of.Chain(
        lost(scaled_score),
        of.Line(of.E(log(of.n) - of.Entropy(deviation * of.s[of.a, of.j], of.j)), given_query, normal),
        of.Line(
            of.E(SQUARED_LENGTH / (2 * of.d)),
            "the bound at this deviation, averaged over queries",
            there,
            "≤",
        ),
        of.Line(S.Half, "the mean of the squared length is the dimension", mean_length),
        name="scaled",
        title="Scaled scores of normal queries and keys",
    )
    return first, bound, scaled


def lost(scores: Expr) -> Expr:
    """Return the mean entropy of rows that is lost against an even spread over all keys."""
    return log(of.n) - of.E(of.Entropy(scores, of.j))
