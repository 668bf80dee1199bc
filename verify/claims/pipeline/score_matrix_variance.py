"""All entries of a score matrix have variance d_k; those of a row are uncorrelated, not independent."""

from dataclasses import replace

from sympy import Sum

from verify.claims.pipeline.shared import EntryProducts
from verify.former import (
    E, HOEFFDING, NORMAL_MOMENTS, Claim, Derivation, Experiment, Ordered, OrderedBase, Population, Quantity,
    Route, Tolerance, biased, capped, cell_of, covariance, d, index, k, moment_steps, normal, prediction, q,
    score, variance_route, wrong,
)  # fmt: skip

D, SIDE, SMALL_SIDE = 16, 32, 2
other_key = OrderedBase(Ordered("kbar", "q3"))
other_query = OrderedBase(Ordered("qbar", "q4"))
POPULATION = Population(dict.fromkeys((q, k, other_key, other_query), NORMAL_MOMENTS), d)
same_row = Sum(q[index] * other_key[index], (index, 1, d))
elsewhere = Sum(other_query[index] * other_key[index], (index, 1, d))
"""The scores of the same query with another key, and of another query with it."""


def derive() -> Derivation:
    """Derive the variance of an entry, and how entries of a row, and their squares, go together."""
    pairs = (
        (score, same_row, "Covariance of two entries of a row", "the covariance of two entries of a row"),
        (score**2, same_row**2, "Covariance of their squares", "the covariance of their squares"),
        (score**2, elsewhere**2,
         "Covariance of the squares of entries in different rows and columns",
         "the covariance of the squares of two entries that share nothing"),
    )  # fmt: skip
    lemmas = []
    for one, other, title, meaning in pairs:
        start = E(one * other) - E(one) * E(other)
        route = Route.telling(title, start, moment_steps(start, POPULATION)).defining(meaning)
        lemmas.append(route.called(meaning.removeprefix("the ").replace(" ", "-")))
    route = variance_route(score, POPULATION, "Any one entry")
    return Derivation.of(route, lemmas=tuple(lemmas))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance in corners and over all, and how entries and their squares go together."""
    whole_of, corners_of = (
        cell_of(name, normal(side, side, D), EntryProducts())
        for name, side in (("entries", SIDE), ("corners", SMALL_SIDE))
    )
    level = derivation.result.subs(d, D)
    row, squares, apart = (lemma.end.subs(d, D) for lemma in derivation.lemmas)
    of_scores = Tolerance(2.0, float(level), "the variance of a score")
    of_squares = capped(2.5, tolerance, "products of squares have heavy tails")
    near = capped(3.0, tolerance, "a matrix has but one such entry")
    of_row = replace(of_squares, scale=float(squares), of="the covariance within a row")
    rows = (
        ("variance-first", r"$\operatorname{Var}(S_{11})$", ("first-square", "first", "first"), level, near),
        ("variance-last", r"$\operatorname{Var}(S_{nn})$", ("last-square", "last", "last"), level, near),
        ("variance-all", "variance over all entries", ("square", "mean", "mean"), level,
         capped(2.0, tolerance)),
        ("covariance-in-row", "covariance of two entries of a row", ("row-product", "mean", "mean"), row,
         of_scores),
        ("covariance-of-corners",
         "covariance of the first and the last entry, which share neither row nor column",
         ("corners", "first", "last"), row, of_scores),
        ("squares-in-row", "covariance of the squares of two entries of a row",
         ("row-squares", "square", "square"), squares, of_squares),
        ("squares-apart", "covariance of the squares of entries that share neither row nor column",
         ("apart-squares", "square", "square"), apart, of_row),
    )  # fmt: skip
    checks: dict[str, Quantity] = {}
    for name, label, statistics, expected, band in rows:
        # A matrix has one first and one last entry, however large it is.
        cell = corners_of if "last" in statistics or "first" in statistics else whole_of
        checks[name] = Quantity(name, label, cell, covariance(*statistics), prediction(expected), band)
    whole = checks["variance-all"]
    return Experiment(tuple(checks.values()), (
        wrong(checks["squares-in-row"], "row-is-independent",
              "the entries of a row are independent, so their squares are uncorrelated", apart,
              tolerance=of_row),
        wrong(whole, "times-the-matrix", "the entries of a matrix vary the more, the larger it is: "
              "here by {value}", SIDE * level),
        wrong(checks["covariance-of-corners"], "corners-are-one",
              "the two corners are one and the same entry", level),
        wrong(checks["variance-first"], "first-varies-less", "the first entry varies half as much",
              level / 2),
        wrong(checks["variance-last"], "last-varies-more", "the last entry varies twice as much", 2 * level),
        wrong(checks["covariance-in-row"], "row-is-correlated",
              "entries that share a query have a correlation of a half", level / 2),
        wrong(checks["squares-apart"], "all-squares-go-together",
              "squares go together as those within a row, wherever they stand", squares),
        biased(whole, tolerance),
    ))  # fmt: skip


CLAIM = Claim(
    title="Every entry of a score matrix has the dimension as its variance; a row's entries are dependent",
    statement="For independent standard normal components, every entry of a score matrix has the variance "
    "{theorem:result}. Two entries that share a query are uncorrelated, but their squares have covariance "
    "{covariance-of-their-squares:result}; the squares of entries that share neither are uncorrelated.",
    meaning="The variance of the matrix is that of its entries, whatever its size, and it comes from the "
    "dimension of queries and keys. But its entries are not as many independent observations: treating them "
    "so makes intervals far too short, which is why this tool takes whole matrices as its units.",
    references=HOEFFDING,
)
