"""Given numbers, such as the entries of a matrix: derived with as symbols, and measured at their values."""

import numpy as np
import pytest
from sympy import Expr, S, Sum, Symbol

from tests.catalogue import derived_in
from verify.errors import ClaimError
from verify.spec import NORMAL, STANDARD, Chain, Check, Cov, Derivation, E, Family, Given, Index, Line, Var
from verify.spec import Wrong, a, algebra, d, i, l, m, moments, normal, numbers, q
from verify.spec.experiment import experiment_of

r = Symbol("r", positive=True, integer=True)
c, e, z, A = Index("c"), Index("e"), Family("z", m, r), Given("A", d, r)
ROWS = [[1, 2, 3], [0, -1, "1/2"]]


def mixed(place: Index) -> Expr:
    """Return a component of what the matrix makes of independent numbers."""
    return Sum(A[place, c] * z[a, c], (c, 1, r))


def covariance(first: Index, second: Index) -> Expr:
    """Return what the covariance of two such components is."""
    return Sum(A[first, e] * A[second, e], (e, 1, r))


SQUARES = Sum(mixed(i) ** 2, (i, 1, d))
SPREAD = 2 * Sum(covariance(i, l) ** 2, (i, 1, d), (l, 1, d))
"""The variance of the squared length, where all are normal: twice the sum of all squared covariances."""

CHAIN = Chain(Var(SQUARES), Line(SPREAD, "pairs of pairs", moments({z: normal()})))


def test_moments_leave_sums_of_given_numbers() -> None:
    """The variance of a squared length holds for every matrix of every size, and nearby ones do not."""
    assert Derivation.of(CHAIN).problem == ""
    for wrong in (SPREAD / 2, SPREAD.xreplace({A[l, e]: A[i, e]}), SPREAD + covariance(i, l) ** 2):
        chain = Chain(Var(SQUARES), Line(wrong, "", moments({z: normal()})))
        assert "differ" in Derivation.of(chain).problem


def test_a_given_number_is_the_same_in_every_mean() -> None:
    """It goes before any mean, whatever the law, as nothing that is drawn does."""
    entry = A[1, 2]
    for check in (algebra, moments(STANDARD)):
        chain = Chain(E(entry * q[a, i] ** 2), Line(entry * E(q[a, i] ** 2), "it is a number", check))
        assert Derivation.of(chain).problem == ""
    chain = Chain(E(z[a, 1] * q[a, i] ** 2), Line(z[a, 1] * E(q[a, i] ** 2), "", algebra))
    assert "differ" in Derivation.of(chain).problem


def test_the_prediction_is_that_of_its_values() -> None:
    """What is derived is measured at a matrix, with the value that NumPy finds, and draws agree."""
    check = Check("spread", CHAIN.start, {d: 2, r: 3}, equals=CHAIN.end, laws={A: numbers(ROWS)})
    wrong = Wrong("half", of="spread", equals=SPREAD / 2, says="half of it")
    experiment = experiment_of([check, wrong], Derivation.of(CHAIN), 0.05)
    assert derived_in(experiment) == ("spread",)
    matrix = np.array([[1, 2, 3], [0, -1, 0.5]])
    spread = 2 * float(((matrix @ matrix.T) ** 2).sum())
    (measured,), (control, _) = experiment.checks, experiment.controls
    assert measured.prediction.value == pytest.approx(spread)
    assert control.comparison.prediction.value == pytest.approx(spread / 2)
    cell = measured.cell  # type: ignore[union-attr]
    means = cell.sample(np.random.default_rng(1), 2000).mean(axis=0)
    value, _ = measured.estimand.at(dict(zip(cell.names, means, strict=True)))  # type: ignore[union-attr]
    assert value == pytest.approx(spread, rel=0.1)


def test_an_index_has_a_place_where_one_is_given() -> None:
    """One chain is that of every entry: a check says which, and is of what is derived."""
    chain = Chain(Cov(mixed(i), mixed(l)), Line(covariance(i, l), "", moments({z: normal()})))
    given = {"laws": {A: numbers(ROWS)}, "equals": chain.end}
    places = {"first": {i: 1, l: 2}, "second": {i: 2, l: 1}, "others": {i: 2, l: 3}}
    checks = [Check(name, chain.start, {d: 3, r: 2, **at}, **given) for name, at in places.items()]
    experiment = experiment_of(checks, Derivation.of(chain), 0.05)
    assert derived_in(experiment) == ("first", "second", "others")
    # The rows of the same numbers are (1, 2), (3, 0) and (-1, 1/2).
    assert [check.prediction.value for check in experiment.checks] == [3, 3, -3]
    assert len({check.cell.id for check in experiment.checks}) == 1  # type: ignore[union-attr]


def test_what_is_given_has_to_be_said() -> None:
    """Numbers of which no value is given are not drawn as if they had the usual law."""
    drawn = Check("spread", CHAIN.start, {d: 2, r: 3}, equals=S.One, laws={z: NORMAL})
    right = Check("spread", CHAIN.start, {d: 2, r: 3}, equals=CHAIN.end, laws={A: numbers(ROWS)})
    wrong = Wrong("half", of="spread", equals=Given("B", d)[1], says="half of it")
    for name, family, items in (("spread", "A", (drawn, wrong)), ("half", "B", (right, wrong))):
        with pytest.raises(ClaimError, match=f"check {name}: {family} is given; say its numbers"):
            experiment_of(items, Derivation.of(CHAIN), 0.05)
