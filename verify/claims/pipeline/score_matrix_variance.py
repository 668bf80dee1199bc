"""All entries of a score matrix have variance d_k; those of a row are uncorrelated, not independent."""

from dataclasses import replace
from typing import Any

from sympy import Expr

from verify.spec import NORMAL_COMPONENTS, Chain, Check, Claim, Cov, Derivation, E, Items, Line, Var, Within
from verify.spec import Wrong, a, algebra, b, cite, d, j, l, m, moments, n, score, score_of

D, SIDE = 16, 32
WHOLE, CORNERS = {m: SIDE, n: SIDE}, {m: 2, n: 2}
FIRST, LAST = {a: 1, j: 1}, {a: 2, j: 2}
SAME, ELSEWHERE = score_of(a, l), score_of(b, l)
"""A score of the same query with another key, and one of another query and key."""

OF_SCORES, LONE = Within(2.0, D, "the variance of a score"), "a matrix has but one such entry"
OF_SQUARES = Within(2.5, because="products of squares have heavy tails")
OF_ROW = Within(2.5, 2 * D, "the covariance within a row", OF_SQUARES.because)


def derive() -> tuple[Chain, ...]:
    """Derive the variance of an entry, and how entries of a row, and their squares, go together."""
    why = "independence, and the moments of the components"

    def together(name: str, of: str, start: Cov, end: Expr | int) -> Chain:
        definition = Line(start.definition, "definition", algebra)
        line = Line(end, why, moments(NORMAL_COMPONENTS))
        return Chain(start, definition, line, name=name, title=f"Covariance of {of}", defines=f"that of {of}")

    entry = (
        Chain(Var(score), title="Any one entry")
        .then(E(score**2) - E(score) ** 2, "definition", algebra)
        .then(d, why, moments(NORMAL_COMPONENTS))
    )
    return (
        entry,
        together("row", "two entries of a row", Cov(score, SAME), 0),
        together("corners", "two entries that share nothing", Cov(score, ELSEWHERE), 0),
        together("squares", "the squares of two entries of a row", Cov(score**2, SAME**2), 2 * d),
        together("apart", "the squares of two that share nothing", Cov(score**2, ELSEWHERE**2), 0),
    )


def experiment(derived: Derivation) -> Items:
    """Measure the variance in corners and over all, and how entries and their squares go together."""

    def check(name: str, chain: Any, within: Within, **more: Any) -> Check:
        at, shape = {d: D, **more.pop("places", {})}, more.pop("shape", WHOLE)
        return Check(name, chain, at, tolerance=within, shape=shape, **more)

    near, both = Within(3.0, because=LONE), {**FIRST, b: 2, l: 2}
    yield check("variance-first", derived, near, places=FIRST, shape=CORNERS)
    yield check("variance-last", derived, near, places=LAST, shape=CORNERS)
    yield check("variance-all", derived, Within(2.0), control=True)
    yield check("covariance-in-row", derived["row"], OF_SCORES)
    yield check("covariance-of-corners", derived["corners"], OF_SCORES, places=both, shape=CORNERS)
    yield check("squares-in-row", derived["squares"], OF_SQUARES)
    yield check("squares-apart", derived["apart"], OF_ROW)

    level, squares = derived.end.subs(d, D), derived["squares"]
    says = "the entries of a row are independent, so their squares are uncorrelated"
    alone = Wrong("row-is-independent", squares, {d: D}, equals=0, shape=WHOLE, says=says)
    yield replace(alone, tolerance=OF_ROW)
    says = "the entries of a matrix vary the more, the larger it is: here by {value}"
    yield Wrong("times-the-matrix", of="variance-all", equals=SIDE * level, says=says)
    says = "the two corners are one and the same entry"
    yield Wrong("corners-are-one", of="covariance-of-corners", equals=level, says=says)
    says = "the first entry varies half as much"
    yield Wrong("first-varies-less", of="variance-first", equals=level / 2, says=says)
    says = "the last entry varies twice as much"
    yield Wrong("last-varies-more", of="variance-last", equals=2 * level, says=says)
    says = "entries that share a query have a correlation of a half"
    yield Wrong("row-is-correlated", of="covariance-in-row", equals=level / 2, says=says)
    says = "squares go together as those within a row, wherever they stand"
    yield Wrong("all-squares-go-together", of="squares-apart", equals=squares.end, says=says)


CLAIM = Claim(
    title="Every entry of a score matrix has the dimension as its variance; a row's entries are dependent",
    statement="For independent standard normal components, every entry of a score matrix has the variance "
    "{main:end}. Two entries that share a query are uncorrelated, but their squares have covariance "
    "{squares:end}; the squares of entries that share neither are uncorrelated.",
    meaning="The variance of the matrix is that of its entries, whatever its size, and it comes from the "
    "dimension of queries and keys. But its entries are not as many independent observations: treating them "
    "so makes intervals far too short, which is why this tool takes whole matrices as its units.",
    references=cite("hoeffding1948"),
)
