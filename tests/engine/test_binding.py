"""What is derived is bound to what is measured, or is not called derived; samplers' words bind too."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from sympy import Float, Range, S, Symbol, oo, sqrt

from verify.engine.binding import bound
from verify.engine.catalogue import catalogue
from verify.errors import ClaimError
from verify.montecarlo.distributions import LAPLACE, NORMAL, RADEMACHER, UNIT_INTERVAL, Array
from verify.montecarlo.blocks import Sample
from verify.montecarlo.estimands import (
    Measured,
    Smooth,
    component,
    kurtosis,
    variance,
)
from verify.montecarlo.experiment import Exact, Quantity, Tolerance
from verify.montecarlo.inputs import Linked, Simulated
from verify.montecarlo.rows import RowVariance
from verify.montecarlo.statistics import PairMoments, Reduced, ScoreMoments, ScorePowers
from verify.former.cells import cell_of, score_cell
from verify.former.checks import prediction, variances
from verify.former.fitting import Coefficient, fits
from verify.symbolic.kernel.core import Theorem
from verify.symbolic.kernel.hypotheses import Hypotheses, Population
from verify.symbolic.kernel.moments import Evaluation
from verify.symbolic.kernel.words import Var
from verify.symbolic.routes import Route, Step
from verify.symbolic.scores import (
    GENERAL, NORMAL_MOMENTS, STANDARD, d, k, kurtosis_route, q, score, variance_route,
)  # fmt: skip

# What it goes through is long, and every run of the catalogue goes through it as well.
pytestmark = pytest.mark.slow

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


def test_an_estimand_of_the_author_s_own_is_not_bound() -> None:
    """It may measure something else than its function says."""

    class Own(Smooth):
        def measure(self, sample: Sample, alpha: float) -> Measured:
            return replace(super().measure(sample, alpha), value=2.0)

    assert _check(SCALED, estimand=Own(variance().function, positive=True)) == ()


@pytest.mark.parametrize(
    ("times", "slope", "expected"), [(1, S.One, True), (2, S.Half, False), (1, S(1001) / 1000, False)]
)
def test_a_fit_is_bound_to_what_its_points_predict(*, times: int, slope: Any, expected: bool) -> None:
    """Against a setting of theirs; not against twice the dimension, nor with another slope."""
    points = variances([score_cell(n, NORMAL, NORMAL, 0.05) for n in (4, 8, 16)], "Var", d)
    (fit,) = fits(points, Coefficient("slope", "slope", "line", "slope", slope, Tolerance()))
    fit = replace(fit, fit=replace(fit.fit, x=tuple(times * x for x in fit.fit.x)))
    theorem = variance_route(score, STANDARD).proved()
    assert ("slope" in bound("a-claim", [theorem], [*points, fit])) is expected


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


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("self-score", 9),
    ],
)
def test_claims_are_bound(name: str, least: int) -> None:
    """As many of their checks as were bound; nothing that is computed without draws."""
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


PAIR = Linked(4, 16, NORMAL, ((1.0, 0.0), (0.5, 0.75**0.5)), (0.0, 0.0))


@cache
def _theorems(claim: str) -> tuple[Theorem, ...]:
    examined = catalogue()[claim].derived().examine()
    return tuple(one.theorem for one in examined.routes if one.theorem)


def _is_bound(
    claim: str, drawn: Any, estimand: Any, value: Any, relation: Any = "=", **more: Any
) -> bool | None:
    """Return whether a theorem of a claim binds a prediction of what a sampler draws, None if refused."""
    statistic, scale = more.get("statistic"), more.get("scale")
    cell = cell_of("drawn", drawn, *([statistic] if statistic else []), scale=scale)
    check = Quantity("check", "a mean", cell, estimand, prediction(value), relation=relation)
    try:
        return bound("a-claim", _theorems(claim), [check]) == ("check",)
    except ClaimError:
        return None


@pytest.mark.parametrize(
    ("value", "scale", "estimand", "expected"),
    [
        (1, 1 / sqrt(d), variance(), True),
        (Float(8) ** Float("0.5"), d ** Float("-0.25"), variance(), True),
        (1, Float("1.01") / sqrt(d), variance(), False),
        (1, 1 / sqrt(d), component("square"), False),
        (Float("1.01"), 1 / sqrt(d), variance(), False),
    ],
)
def test_a_setting_is_read_off_the_prediction(value: Any, scale: Any, estimand: Any, expected: bool) -> None:
    """Of all exponents a theorem is asked for the one with which it predicts what is predicted."""
    drawn = Simulated(NORMAL, NORMAL, 16, 16, 8)
    cell = cell_of("d8", drawn, ScoreMoments(), scale=scale)
    check = Quantity("check", "a variance", cell, estimand, prediction(Float(value)))
    route = variance_route(score / d ** Symbol("alpha", real=True), STANDARD)
    try:
        assert (bound("a-claim", [route.proved()], [check]) == ("check",)) is expected
    except ClaimError:
        assert not expected


def test_a_setting_stays_in_its_domain() -> None:
    """A theorem about exponents above one says nothing of one half."""
    alpha = Symbol("alpha", real=True)
    route = variance_route(score / d**alpha, STANDARD)
    for condition, expected in ((alpha > 1, ()), (alpha < 1, ("check",))):
        above = replace(route, under=Hypotheses().having(condition)).proved()
        cell = cell_of("d8", Simulated(NORMAL, NORMAL, 16, 16, 8), ScoreMoments(), scale=1 / sqrt(d))
        check = Quantity("check", "a variance", cell, variance(), prediction(1))
        assert bound("a-claim", [above], [check]) == expected


def _mixed(**changes: Any) -> Linked:
    return replace(PAIR, **changes)


@pytest.mark.parametrize(
    ("claim", "drawn", "estimand", "value", "expected"),
    [
        ("aligned-query-key", PAIR, component("mean"), 2, True),
        ("aligned-query-key", PAIR, variance(), 5, True),
        ("aligned-query-key", PAIR, component("square"), 5, False),
        ("aligned-query-key", PAIR, variance(), 5.05, False),
        ("aligned-query-key", _mixed(mixing=((1.0, 0.0), (0.505, 0.75**0.5))), variance(), 5, False),
        ("aligned-query-key", _mixed(distribution=RADEMACHER), variance(), 5, False),
        ("self-score", _mixed(mixing=((1.0,), (1.0,))), variance(), 8, True),
        ("self-score", _mixed(mixing=((1.0, 0.0), (0.0, 1.0))), variance(), 8, False),
        ("self-score", _mixed(mixing=((1.0,), (1.0,)), distribution=LAPLACE), variance(), 8, False),
        ("self-score", _mixed(mixing=((1.0,), (1.0,)), distribution=LAPLACE), variance(), 20, True),
    ],
)
def test_what_vectors_are_mixed_of(
    claim: str, drawn: Linked, estimand: Any, value: Any, expected: bool
) -> None:
    """Fresh numbers of an input are what a theorem's names stand for."""
    assert _is_bound(claim, drawn, estimand, Float(value), statistic=PairMoments()) is expected


def test_vectors_have_the_covariances_of_a_theorem() -> None:
    """Means and covariances are those of what is drawn, and the law is normal where that is assumed."""
    check = next(one for one in _checks("dependent-query-key") if one.id == "variance")
    sampler: Any = check.cell.sampler
    linked = sampler.input

    def is_bound(**changes: Any) -> bool:
        drawn = Reduced(replace(linked, **changes), PairMoments())
        changed = replace(check, cell=replace(check.cell, sampler=drawn))
        return bool(bound("a-claim", _theorems("dependent-query-key"), [changed]))

    more = (np.asarray(linked.mixing) * 1.01).tolist()
    assert is_bound()
    assert not is_bound(distribution=LAPLACE)
    assert not is_bound(means=(0.0,) * 4)
    assert not is_bound(mixing=tuple(map(tuple, more)))
    assert not bound(
        "a-claim", _theorems("dependent-query-key"), [replace(check, estimand=component("square"))]
    )


class _OfOneKey(RowVariance):
    def reduce(self, queries: Array, keys: Array) -> Array:
        return np.zeros((len(queries), len(keys[0])))


def test_there_is_no_other_of_one() -> None:
    """With one key to a row nothing is another key."""
    of_row, value = component("row-variance"), 8 * UNIT_INTERVAL.variance * UNIT_INTERVAL.moments(2)[2]
    for keys, expected in ((16, True), (1, False)):
        drawn = Simulated(UNIT_INTERVAL, UNIT_INTERVAL, 16, keys, 8)
        more = {"statistic": RowVariance() if keys > 1 else _OfOneKey()}
        assert _is_bound("row-variance", drawn, of_row, Float(float(value)), **more) is expected


def test_values_beside_scores() -> None:
    """Values are sources of their own."""


def test_sources_are_what_is_drawn() -> None:
    """Sources come from the same stream as the sample, with the laws that they state."""
    rng = np.random.default_rng
    linked = replace(PAIR, means=(0.5, 0.0))
    queries, keys = linked.draw(rng(1), 200, columns=False)
    q, e, whole, other = linked.sources(rng(1), 200, columns=False)
    assert np.array_equal(queries, q.vectors)
    assert np.array_equal(queries, whole.vectors)
    assert np.array_equal(keys, other.vectors)
    assert np.allclose(keys, 0.5 * (queries - 0.5) + 0.75**0.5 * e.vectors, atol=1e-5)
    assert (float(q.law.mean), float(q.law.variance)) == (0.5, 1.0)
    mixed = Simulated(NORMAL, NORMAL, 4, 4, 3, correlation=0.25)
    own, shared, *_ = mixed.sources(rng(1), 10, columns=True)
    both = 0.75**0.5 * own.vectors + 0.5 * shared.vectors
    assert np.allclose(both, mixed.draw(rng(1), 10, columns=True)[0], atol=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        "correlated-components",
    ],
)
def test_nothing_is_bound_that_is_one_per_cent_off(name: str) -> None:
    """What a claim predicts, or what it measures, is bound as it is and not by a little more."""
    checks = [one for one in _checks(name) if bound("a-claim", _theorems(name), [one])]
    assert checks
    for check in checks:
        value = 1.01 * check.prediction.value + 1e-3 * (check.prediction.value == 0)
        other = replace(check, prediction=replace(check.prediction, value=value))
        estimand: Any = check.estimand
        more = replace(estimand, function=lambda mean, known=estimand.function: 1.01 * known(mean))
        assert bound("a-claim", _theorems(name), [other, replace(check, estimand=more)]) == ()


def _checks(name: str) -> list[Quantity]:
    claim = catalogue()[name]
    return [one for one in claim.measured_by(claim.derived(), 0.02).checks if isinstance(one, Quantity)]
