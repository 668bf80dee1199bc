"""All entries of a score matrix have variance d_k; those of a row are uncorrelated, not independent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import S, Sum, factor

from verify.spec import (
    INDEPENDENT, NORMAL, NORMAL_COMPONENTS, Cell, Claim, Control, Definition, Derivation, E, Expansion,
    Experiment, Identity, Ordered, OrderedBase, Population, Quantity, Reference, Route, ScoreMatrixEntries,
    Step, Tolerance, Var, biased, by_component, by_index, by_moments, capped, covariance, d, index, k,
    prediction, q, score, variance_route,
)  # fmt: skip

D, SIDE = 16, 8
SQUARES = "covariance of the squares of two entries of a row"
_NORMAL = (S.One, S.Zero, S.One, S.Zero, S(3))
other_key = OrderedBase(Ordered("kbar", "q3"))
other_query = OrderedBase(Ordered("qbar", "q4"))
POPULATION = Population(dict.fromkeys((q, k, other_key, other_query), _NORMAL), d)
same_row = Sum(q[index] * other_key[index], (index, 1, d))
elsewhere = Sum(other_query[index] * other_key[index], (index, 1, d))
"""The scores of the same query with another key, and of another query with it."""


def _route(title: str, start: Any) -> Route:
    check, moments = Expansion(POPULATION), Expansion(POPULATION, assumed=True)
    split = by_index(start, POPULATION)
    known = by_moments(by_component(split, POPULATION), POPULATION)
    return Route.telling(
        title,
        start,
        (
            Step(split, "Equal and different indices apart", check),
            Step(known, "Independence, and the moments of the components", moments),
            Step(factor(known), "Collecting terms", Identity()),
        ),
    )


def derive() -> Derivation:
    """Derive the variance of an entry, and how entries of a row, and their squares, go together."""
    route = variance_route(score, POPULATION, "Any one entry")
    lemmas = (
        _route("Covariance of two entries of a row", E(score * same_row) - E(score) * E(same_row)),
        _route("Covariance of their squares", E(score**2 * same_row**2) - E(score**2) * E(same_row**2)),
        _route(
            "Covariance of the squares of entries in different rows and columns",
            E(score**2 * elsewhere**2) - E(score**2) * E(elsewhere**2),
        ),
    )
    definitions = tuple(
        Definition(E(one * other) - E(one) * E(other), meaning)
        for one, other, meaning in (
            (score, same_row, "the covariance of two entries of a row"),
            (score**2, same_row**2, "the covariance of their squares"),
            (score**2, elsewhere**2, "the covariance of the squares of two entries that share nothing"),
        )
    )
    return Derivation(Var(score), route.end, (route,), lemmas=lemmas, definitions=definitions)


def _cell() -> Cell:
    settings = (("d_k", D), ("components", NORMAL.name), ("matrix", f"{SIDE}×{SIDE}"))
    return Cell("entries", settings, ScoreMatrixEntries(D, SIDE, NORMAL, NORMAL))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance in corners and over all, and how entries and their squares go together."""
    cell = _cell()
    level = derivation.result.subs(d, D)
    row, squares, apart = (lemma.end.subs(d, D) for lemma in derivation.lemmas)
    entries = tuple(
        Quantity(
            f"variance-{name}",
            rf"$\operatorname{{Var}}(S_{{{place}}})$",
            cell,
            covariance(f"{name}-square", name, name),
            prediction(level),
            capped(3.0, tolerance),
        )
        for name, place in (("first", "11"), ("last", "nn"))
    )
    whole = Quantity(
        "variance-all", "variance over all entries", cell, covariance("square", "mean", "mean"),
        prediction(level), capped(2.0, tolerance),
    )  # fmt: skip
    in_row = covariance("row-squares", "square", "square")
    of_scores, of_squares = Tolerance(2.0, float(level), "the variance of a score"), capped(2.5, tolerance)
    covariances = (
        Quantity(
            "covariance-in-row",
            "covariance of two entries of a row",
            cell,
            covariance("row-product", "mean", "mean"),
            prediction(row),
            of_scores,
        ),
        Quantity(
            "covariance-of-corners",
            "covariance of the first and the last entry, which share neither row nor column",
            cell,
            covariance("corners", "first", "last"),
            prediction(row),
            of_scores,
        ),
        Quantity("squares-in-row", SQUARES, cell, in_row, prediction(squares), of_squares),
        Quantity(
            "squares-apart",
            "covariance of the squares of entries that share neither row nor column",
            cell,
            covariance("apart-squares", "square", "square"),
            prediction(apart),
            replace(of_squares, scale=float(squares), of="the covariance within a row"),
        ),
    )
    controls = (
        Control(
            "the entries of a row are independent, so their squares are uncorrelated",
            replace(covariances[-1], id="row-is-independent", label=SQUARES, estimand=in_row),
            truth=float(squares),
        ),
        Control(
            "the entries of a matrix vary the more, the larger it is: 8×8 entries by 8 times as much",
            replace(whole, id="times-the-matrix", prediction=prediction(SIDE * level)),
            truth=float(level),
        ),
        Control(
            "the two corners are one and the same entry",
            replace(covariances[1], id="corners-are-one", prediction=prediction(level)),
            truth=float(row),
        ),
        biased(whole, tolerance),
    )
    return Experiment((*entries, whole, *covariances), controls)


CLAIM = Claim(
    title="Every entry of a score matrix varies by the dimension; entries of a row are not independent",
    statement=r"For independent standard normal components, every entry of $QK^{\mathsf T}$ has variance "
    "$d_k$. Two entries that share a query or a key are uncorrelated, but their squares have covariance "
    "$2d_k$; entries that share neither are independent.",
    meaning="The variance of the matrix is that of its entries, whatever its size, and it comes from the "
    "dimension of queries and keys. But $n^2$ entries are not $n^2$ independent observations: treating them "
    "so makes intervals far too short, which is why this tool takes whole matrices as its units.",
    assumptions=(INDEPENDENT, NORMAL_COMPONENTS),
    references=(
        Reference(
            key="hoeffding1948",
            text="W. Hoeffding, A Class of Statistics with Asymptotically Normal Distribution, Ann. Math. "
            "Stat. 19 (1948), 293-325.",
        ),
    ),
    derive=derive,
    experiment=experiment,
)
