"""Statements about random vectors are tried over small joint laws."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from sympy import Rational, Trace, symbols

from tests.catalogue import derivation
from verify.symbolic.falsifier import Counterexample, falsify
from verify.symbolic.kernel.hypotheses import Hypotheses, Vectors
from verify.symbolic.kernel.words import E, Var
from verify.symbolic.routes import Route
from verify.symbolic.scores import KEY, PRODUCT, QUERY, SIGMA_Q, d

pytestmark = pytest.mark.slow  # of the former core, which is no longer worked on

TRUE: dict[str, Callable[[], Route]] = {
    "pairings": lambda: derivation("dependent-query-key").routes[0],
    "any law": lambda: derivation("dependent-query-key").lemmas[0],
}


def _tried(lhs: Any, rhs: Any, law: Vectors, points: int = 3) -> Any:
    given = SimpleNamespace(lhs=lhs, relation="=", rhs=rhs, hypotheses=Hypotheses(law=law), order=None)
    return falsify(given, points=points)


def _law(route: Route) -> Any:
    return route.steps[0].rule.law  # type: ignore[union-attr]


@pytest.mark.parametrize("name", TRUE)
def test_what_holds_of_random_vectors_holds_there_and_a_per_cent_more_does_not(name: str) -> None:
    """Linked and independent, normal and not, with matrices and with numbers as covariances."""
    route = TRUE[name]()
    law = _law(route)
    assert _tried(route.start, route.end, law).held > 0
    with pytest.raises(Counterexample, match=r"(d_k|m) = "):
        _tried(route.start, route.end * Rational(101, 100), law)


def test_normal_pairings_are_false_of_other_laws() -> None:
    """Fourth moments tell."""
    route = TRUE["pairings"]()
    normal = _law(route)
    with pytest.raises(Counterexample):
        _tried(Var(PRODUCT), route.end, Vectors(normal.means, normal.covariances))


def test_what_small_laws_do_not_tell_is_open() -> None:
    """High moments of normal vectors, which three points do not have, and no polynomials."""
    law = Vectors(((QUERY, 0),), ((QUERY, QUERY, 1),), normal=True)
    assert _tried(E(Trace(QUERY.T * QUERY) ** 3), d, law).why == (
        "a high moment of normal vectors is not known here",
    )
    a, b = symbols("a b", positive=True)
    mixed = Vectors(((QUERY, 0), (KEY, 0)), ((QUERY, QUERY, SIGMA_Q), (QUERY, KEY, a), (KEY, KEY, b)))
    assert "covariances of which some are numbers" in _tried(E(PRODUCT), d * a, mixed).why
    negative = Vectors(((QUERY, 0),), ((QUERY, QUERY, -a),))
    assert "no covariance matrix" in _tried(E(Trace(QUERY.T * QUERY)), -d * a, negative).why
