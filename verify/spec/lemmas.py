"""Lemmas that claims of several chapters rest on: bounds for raw scores from those of rows."""

from sympy import Gt, Indexed, Integral, Symbol, exp, gamma, oo, simplify, sqrt

from verify import spec as of

w = Symbol("w", positive=True)
SQUARED_LENGTH = of.Dot(of.q, of.a, of.q, of.a)


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


def for_raw_scores(bound: of.Chain, inverse: of.Chain) -> of.Chain:
    """Derive a bound for raw scores of normal queries and keys from one in proportion to 1/σ.

    Args:
        bound: A chain about scores ``sigma*s[a, j]``, from a mean to a constant over σ.
        inverse: The chain of ``inverse_square``.
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
        name="raw",
        title="Raw scores: averaged over the length of a query",
        given=(of.d > 2,),
    )
