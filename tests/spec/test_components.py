"""Components with their moments written out: they are those of what is drawn."""

from __future__ import annotations

from sympy import Rational, S

from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.inputs import Simulated
from verify.spec.cells import UNIFORM_COMPONENTS, Components, for_components, normal
from verify.symbolic.kernel.moments import evaluate
from verify.symbolic.kernel.words import E, Var
from verify.symbolic.scores import GENERAL, d, score


def test_what_is_written_out_is_what_is_drawn() -> None:
    """The distribution's own exact moments are the second source."""
    distribution, mean, variance = UNIFORM_COMPONENTS
    assert (Rational(distribution.mean), Rational(distribution.variance)) == (mean, variance)


def test_normal_queries_and_keys() -> None:
    """The usual input in short."""
    assert normal(2, 3, 4) == Simulated(NORMAL, NORMAL, 2, 3, 4)


def test_query_and_key_are_not_mixed_up() -> None:
    """Each side has its own mean and variance."""
    query, key = Components(NORMAL.moved(2, 3), S(2), S(9)), Components(NORMAL.moved(0, 5), S(0), S(25))
    assert for_components(evaluate(E(score), GENERAL), query, key) == 0
    assert for_components(evaluate(Var(score), GENERAL), query, key) == d * (9 + 4) * 25
    assert for_components(evaluate(Var(score), GENERAL), key, query) == d * 25 * (9 + 4)
    assert for_components(evaluate(E(score), GENERAL), query, query) == 4 * d
