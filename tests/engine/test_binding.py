"""What is derived is bound to what is measured, or is not called derived."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sympy import Float, Range, oo, sqrt

from verify.engine.binding import bound
from verify.engine.catalogue import catalogue
from verify.errors import ClaimError
from verify.montecarlo.distributions import LAPLACE, NORMAL, RADEMACHER, UNIT_INTERVAL
from verify.montecarlo.estimands import Smooth, component, kurtosis, variance
from verify.montecarlo.experiment import Exact, Quantity
from verify.montecarlo.inputs import Simulated
from verify.montecarlo.statistics import ScoreMoments, ScorePowers
from verify.spec.cells import cell_of
from verify.spec.checks import prediction
from verify.symbolic.kernel.hypotheses import Hypotheses, Population
from verify.symbolic.kernel.moments import Evaluation
from verify.symbolic.kernel.words import Var
from verify.symbolic.routes import Route, Step
from verify.symbolic.scores import (
    GENERAL,
    NORMAL_MOMENTS,
    STANDARD,
    d,
    k,
    kurtosis_route,
    q,
    score,
    variance_route,
)  # fmt: skip

if TYPE_CHECKING:
    from verify.symbolic.kernel.core import Theorem

SCALED = variance_route(score / sqrt(d), STANDARD).proved()


SCALE = 1 / sqrt(d)


def _check(
    theorem: Theorem, law: Any = NORMAL, scale: Any = SCALE, estimand: Smooth | None = None, **more: Any
) -> tuple[str, ...]:
    """Return what is bound of one check of the variance of scores in eight dimensions."""
    cell = cell_of("d8", Simulated(law, law, 16, 16, 8), ScoreMoments(), scale=scale)
    value = more.get("value", theorem.rhs.subs(d, 8))
    predicted = replace(prediction(value), origin=more.get("origin", "derived"))
    check = Quantity("variance-d8", "a variance", cell, estimand or variance(), predicted)
    return bound("a-claim", [theorem], [check])


def test_what_is_derived_is_what_is_measured() -> None:
    """The variance of scaled scores is that of the statistic's own draws."""
    assert _check(SCALED) == ("variance-d8",)


@pytest.mark.parametrize(
    ("theorem", "given"),
    [
        (SCALED, {"law": UNIT_INTERVAL}),
        (SCALED, {"value": 1 + Float("0.001")}),
        (variance_route(score, STANDARD).proved(), {"value": 1}),
    ],
    ids=["another-law", "another-value", "another-start"],
)
def test_what_no_theorem_says_is_not_bound(theorem: Theorem, given: dict[str, Any]) -> None:
    """A law or a value of which no theorem speaks."""
    assert _check(theorem, **given) == ()


@pytest.mark.parametrize(
    "given",
    [{"scale": Float("1.01") / sqrt(d)}, {"scale": None}, {"estimand": component("square")}],
    ids=["scale-one-per-cent-off", "unscaled", "mean-square"],
)
def test_what_is_derived_of_something_else_is_refused(given: dict[str, Any]) -> None:
    """The value is the theorem's; what is measured is at another scale, or the mean square."""
    with pytest.raises(
        ClaimError, match=r"claim a-claim, check variance-d8: .* another quantity: on the same draws"
    ):
        _check(SCALED, **given)
    assert _check(SCALED, origin="set", **given) == ()


def test_a_law_is_held_against_what_is_drawn() -> None:
    """A kurtosis from normal moments says nothing of components that are not normal."""
    normal = kurtosis_route(Population({q: NORMAL_MOMENTS[:5], k: NORMAL_MOMENTS[:5]}, d)).proved()
    for law, expected in ((NORMAL, ("kurtosis",)), (LAPLACE, ())):
        cell = cell_of("d8", Simulated(law, law, 16, 16, 8), ScorePowers((2, 4)))
        check = Quantity("kurtosis", "a kurtosis", cell, kurtosis(), prediction(normal.rhs.subs(d, 8)))
        assert bound("a-claim", [normal], [check]) == expected


def test_symbols_of_moments_are_read_off_the_drawn_law() -> None:
    """The general variance is bound with the mean and deviation of U(0, 1)."""
    theorem = variance_route(score, GENERAL).proved()
    cell = cell_of("d8", Simulated(UNIT_INTERVAL, UNIT_INTERVAL, 16, 16, 8), ScoreMoments())
    right = Quantity("right", "a variance", cell, variance(), prediction(Float(8 * 7 / 144)))
    wrong = replace(right, id="wrong", prediction=prediction(Float(8 * 7.1 / 144)))
    assert bound("a-claim", [theorem], [right, wrong]) == ("right",)


@pytest.mark.parametrize(("name", "least"), [("score-variance", 14), ("soft-cap", 4), ("score-magnitude", 5)])
def test_claims_are_bound(name: str, least: int) -> None:
    """The fits through bound points are bound as well."""
    claim = catalogue()[name]
    derivation = claim.derived()
    theorems = [one.theorem for one in derivation.examine().routes if one.theorem]
    checks = claim.measured_by(derivation, 0.02).checks
    assert len(bound("a-claim", theorems, checks)) >= least
    assert not any(isinstance(one, Exact) and one.id in bound("a-claim", theorems, checks) for one in checks)


def test_a_theorem_speaks_of_its_domain_alone() -> None:
    """What holds from 64 dimensions on says nothing of eight."""
    step = Step(d, "Moments", Evaluation(STANDARD, assumed=True))
    under = Hypotheses().restricted(d, Range(64, oo))
    assert _check(Route.of("All", Var(score), step).proved(), scale=1) == ("variance-d8",)
    assert _check(Route.of("Large", Var(score), step, under=under).proved(), scale=1) == ()


def test_what_is_called_normal_has_to_draw_so() -> None:
    """A law is known by its draws, whatever its name, its mean and its scale."""
    law = Population({q: (1, 0, 1), k: (1, 0, 1)}, d, normal=(q, k))
    step = Step(d, "Moments", Evaluation(law, assumed=True))
    theorem = Route.of("Normal", Var(score), step).proved()
    assert _check(theorem, scale=1) == ("variance-d8",)
    assert _check(theorem, law=replace(RADEMACHER, base="normal"), scale=1) == ()
