"""From items to what is drawn and judged: labels, predictions, cells, fits and controls that are added."""

import re
from dataclasses import replace
from typing import Any

import pytest
from sympy import Integer, Integral, S, Symbol, exp, gamma, oo, sqrt

from tests.catalogue import derived_in
from verify.errors import ClaimError
from verify.montecarlo.estimands import Smooth
from verify.montecarlo.experiment import Exact, Experiment, Fit as FittedCoefficient, Quantity
from verify.spec import CAUCHY, GENERAL, NORMAL_COMPONENTS, RADEMACHER, STANDARD, UNIT_INTERVAL, Chain, Check
from verify.spec import Computed, Derivation, Dot, E, Fit, Line, Softmax, Threshold, Var, Within, Wrong, a
from verify.spec import algebra, d, integrated, j, k, moments, mu_k, mu_q, n, over_keys, q, s, score, sigma
from verify.spec import of_deviation, sigma_k, sigma_q, squares
from verify.spec.checks import Item
from verify.spec.experiment import experiment_of
from verify.symbolic.chains import Relation

VARIANCE = Chain(
    Var(score), Line(E(score**2) - E(score) ** 2, "definition", algebra), Line(d, "", moments(STANDARD))
)
DERIVED = Derivation.of(VARIANCE)
NOTHING = Derivation((), "nothing is derived")
alpha = Symbol("alpha", positive=True)


def made(*items: Item, derived: Derivation = DERIVED, run: float = 0.05) -> Experiment:
    """Return the experiment of some items."""
    return experiment_of(items, derived, run)


def variances(*sizes: int) -> list[Check]:
    """Return checks of the derived variance."""
    return [Check(f"variance-d{size}", Var(score), {d: size}, equals=d) for size in sizes]


def test_one_of_a_chains_start_against_its_end_is_derived() -> None:
    """A prediction that comes near it, a near quantity, or a threshold is not."""
    right = Check("right", Var(score), {d: 3}, equals=d)
    limit = Within(because="it is the limit")
    value = Check("value", Var(score), {d: 4}, equals=d + 1, tolerance=limit)
    near = Check("near", E(score**2), {d: 5}, equals=d)
    threshold = Check("set", Var(score), {d: 6}, at_least=Threshold(5))
    experiment = made(right, value, near, threshold)
    origins = [check.prediction.origin for check in experiment.checks]
    assert origins == ["derived", "computed", "computed", "set"]
    assert derived_in(experiment) == ("right",)


@pytest.mark.parametrize(("relation", "expected"), [("=", "="), ("≤", "≤"), (">", "≥")])
def test_one_of_a_chain_compares_its_start_with_its_end(relation: Relation, expected: str) -> None:
    """As they are related; what is given besides comes first, and a wrong version is of its start."""
    chain = Chain(Var(score)).then(d, "so", algebra, relation)
    unlike = Within(because="it is another's")
    plain = Check("plain", chain, {d: 3})
    other = replace(plain, id="other", equals=2 * d, at_most=None, at_least=None, tolerance=unlike)
    wrong = Wrong("wrong", chain, {d: 3}, equals=4 * d, says="it is not")
    experiment = made(plain, other, wrong, derived=Derivation.of(chain))
    first, second = experiment.checks
    assert isinstance(first, Quantity)
    assert (first.relation, first.prediction.value, first.prediction.origin) == (expected, 3, "derived")
    assert (second.prediction.value, experiment.controls[0].comparison.prediction.value) == (6, 12)
    with pytest.raises(ClaimError, match="give one of equals="):
        made(Check("first", Chain(Var(score)).then(d, "so", algebra, "~"), {d: 3}))


def test_a_mean_of_rows_at_a_chains_end_is_integrated() -> None:
    """It is the number that the check is compared with; one without an integral is none."""
    total = over_keys(Softmax(score, j) ** 3)
    chain = Chain(E(total * Softmax(score, j)), Line(E(total) / n, "", moments(NORMAL_COMPONENTS)))
    none = Chain(E(exp(total)), Line(E(exp(2 * total) / exp(total)), "", algebra))
    at, value = {n: 3, d: 4}, integrated(chain.end, {n: 3, d: 4})
    twice, unknown = Within(because="it is twice that"), Check("unknown", none.start, at, equals=value)
    other = Check("other", chain.start, at, equals=2 * value, tolerance=twice)
    experiment = made(Check("cubes", chain, at), other, unknown, derived=Derivation((chain, none)))
    assert (derived_in(experiment), experiment.checks[0].prediction.value) == (("cubes",), value)
    with pytest.raises(ClaimError, match="no one-dimensional integral is known"):
        made(Check("unknown", none, at), derived=Derivation((none,)))


def test_a_fit_through_derived_points_is_bound_too() -> None:
    """With all its coefficients."""
    experiment = made(*variances(2, 4, 8), Fit("variance-d*", over=d, law=d, only=("slope", "exponent")))
    assert derived_in(experiment) == ("variance-d2", "variance-d4", "variance-d8", "slope", "exponent")


def test_moments_of_the_law_are_put_into_the_prediction() -> None:
    """Under the symbols of mean and deviation."""
    law = d * ((sigma_q**2 + mu_q**2) * (sigma_k**2 + mu_k**2) - mu_q**2 * mu_k**2)
    chain = Derivation.of(Chain(Var(score), Line(law, "", moments(GENERAL))))
    laws = {q: UNIT_INTERVAL, k: UNIT_INTERVAL}
    (check,) = made(Check("u", Var(score), {d: 12}, equals=law, laws=laws), derived=chain).checks
    assert check.prediction.value == pytest.approx(12 * 7 / 144)
    assert (check.prediction.latex, check.prediction.origin) == (r"\frac{7}{12}", "derived")


def test_laws_that_the_chain_does_not_assume_are_refused() -> None:
    """With the moment that differs, or that there is none."""
    says = r"check u: its chain assumes mean 0 and variance 1 for q, but U\(0,1\)"
    with pytest.raises(ClaimError, match=says):
        made(Check("u", Var(score), {d: 12}, equals=d, laws={q: UNIT_INTERVAL}))
    made(Check("r", Var(score), {d: 12}, equals=d, laws={q: RADEMACHER}))
    says = r"check c: its chain assumes mean 0 and variance 1 for q, and of Cauchy no moment of order 1 is"
    with pytest.raises(ClaimError, match=says):
        made(Check("c", Var(score), {d: 12}, equals=d, laws={q: CAUCHY}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"at": {"d": 8}}, "'d' is given a value, and is no symbol; give a symbol, as in {d: 8}"),
        ({"at": {d: 1.5}}, "d_k is 1.5; give a whole number from 1 on"),
        ({"at": {d: 8, n: 0}}, "n is 0; give a whole number from 1 on"),
        ({"shape": {n: 2.5}}, "n is 2.5; give a whole number from 1 on"),
        ({"laws": "laplace"}, "'laplace' is no family; give laws by families, as in laws={q: LAPLACE, k: "),
        ({"laws": RADEMACHER}, "'Rademacher' is no family; give laws by families"),
        ({"laws": {q: "laplace"}}, "'laplace' is no law; give laws by families"),
    ],
)
def test_values_have_symbols_and_sizes_are_whole_and_families_have_laws(
    given: dict[str, Any], message: str
) -> None:
    """Anything else is refused where it is written, with what to give."""
    with pytest.raises(ClaimError, match=f"^{re.escape(f'check x: {message}')}"):
        Check("x", **{"quantity": VARIANCE, "at": {d: 8}, **given})


def test_a_prediction_that_contradicts_what_is_derived_is_refused() -> None:
    """With both values; under other laws, or as a wrong version, it is measured."""
    half_a_percent = Check("v", Var(score), {d: 4}, equals=1.005 * d)
    with pytest.raises(ClaimError, match=r"v: it predicts 4\.02, but a chain derives 4 for the same"):
        made(half_a_percent)
    made(replace(half_a_percent, equals=7 * d / 144, laws={q: UNIT_INTERVAL, k: UNIT_INTERVAL}))
    made(*variances(4), Wrong("w", Var(score), {d: 4}, equals=1.005 * d, says="it is more"))


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (Check("x", score, {d: 4}, equals=1), "nothing in .* is averaged; write E"),
        (
            Check("x", at={d: 4}, equals=1),
            "check x: it has no quantity; give one, or of= for a wrong version",
        ),
        (Wrong("x", equals=1), "check x: it has no quantity; give one, or of= for a wrong version"),
        (Check("x", Var(score), {d: 4}), "give one of equals=, at_most= and at_least="),
        (Check("x", Var(score), {d: 4}, equals=1, at_most=2), "give one of equals="),
        (Check("x", Var(score), {d: 4}, equals=alpha), "alpha is no number yet; give alpha a value"),
    ],
)
def test_what_cannot_be_measured_is_refused(check: Check | Wrong, message: str) -> None:
    """With what to give."""
    with pytest.raises(ClaimError, match=message):
        made(check)


def test_a_band_of_a_skewed_quantity_stays_that_of_the_standard_profile() -> None:
    """A coarser one would not take fewer blocks."""
    within = Within(2.0, because="rare", fixed=True)
    (check,) = made(Check("x", Var(score), {d: 4}, equals=d, tolerance=within), run=0.05).checks
    assert isinstance(check, Quantity)
    assert check.tolerance.factor * 0.05 == pytest.approx(0.02)


def test_checks_at_one_setting_share_draws() -> None:
    """Also where factors that are not random differ."""
    scaled, powers = Var(d**-alpha * score), (S.Zero, S.Half, S.One)
    scales = [Check(f"a{x}", scaled, {d: 4, alpha: x}, equals=d ** (1 - 2 * x)) for x in powers]
    checks = [check for check in made(*scales, derived=NOTHING).checks if isinstance(check, Quantity)]
    assert checks[0].cell is checks[1].cell is checks[2].cell
    assert len(checks[0].cell.names) == 2
    # A variance that is written by its definition has the relative interval of a variance still.
    assert all(isinstance(check.estimand, Smooth) and check.estimand.positive for check in checks)


def test_a_line_has_five() -> None:
    """Their values follow from the law; ids get the prefix."""
    fits = made(*variances(1, 8, 64), Fit("variance-d*", over=d, law=d, prefix="of-")).checks[3:]
    values = {fit.id.removeprefix("of-"): fit.prediction.value for fit in fits}
    assert values == {"slope": 1, "intercept": 0, "curvature": 0, "exponent": 1, "lack-of-fit": 0}


def test_a_coefficient_that_a_law_does_not_have_is_refused() -> None:
    """With those that it has; nothing would be checked. Nor is there a fit through points at 0."""
    says = "fit over 'variance-d*': no coefficient 'slop'; did you mean 'slope'"
    with pytest.raises(ClaimError, match=re.escape(says)):
        made(*variances(1, 8, 64), Fit("variance-d*", over=d, law=d, only=("slop",)))
    with pytest.raises(ClaimError, match="no coefficient 'level'; of this law there are slope, intercept"):
        made(*variances(1, 8, 64), Fit("variance-d*", over=d, law=d, only=("level",)))
    band = of_deviation(1)
    means = [Check(f"m-d{size}", E(score), {d: size}, equals=0, tolerance=band) for size in (1, 2, 3)]
    with pytest.raises(ClaimError, match="check m-d1: it is predicted as 0, and a fit goes by relative"):
        made(*means, Fit("m-d*", over=d, law=d))


def test_an_id_is_that_of_one_check() -> None:
    """Of two fits, too, and of a wrong version beside a check: the second would take the place of another."""
    fit, points = Fit("variance-d*", over=d, law=d, only=("slope",)), variances(1, 8, 64)
    wrong = Wrong("variance-d8", of="variance-d1", equals=2, says="it is two")
    with pytest.raises(ClaimError, match="check slope: there are several of this id; give each its own"):
        made(*points, fit, fit)
    with pytest.raises(ClaimError, match="check variance-d8: there are several of this id"):
        made(*points, wrong)
    assert len(made(*points, fit, replace(fit, prefix="other-")).checks) == len(points) + 2


def test_a_fit_may_come_before_its_points() -> None:
    """What it goes through is the same, and so are its coefficients."""
    fit, points = Fit("variance-d*", over=d, law=d), variances(1, 8, 64)
    first, last = made(fit, *points), made(*points, fit)
    assert first.checks[:5] == last.checks[3:]
    assert first.controls == last.controls


def test_a_constant_has_a_level_and_a_power_an_exponent() -> None:
    """What is no line is bent as a power; a slope's tolerance is of the level over the largest place."""
    level = [Check(f"l{size}", Var(score / sqrt(d)), {d: size}, equals=1) for size in (4, 16, 64)]
    power = [Check(f"p{size}", Var(score / d), {d: size}, equals=1 / d) for size in (4, 16, 64)]
    fitted = Fit("l*", over=d, law=S.One), Fit("p*", over=d, law=1 / d, prefix="of-")
    items: list[Item] = [*level, *power, *fitted]
    fits = [fit for fit in made(*items, derived=NOTHING).checks if isinstance(fit, FittedCoefficient)]
    expected = {"level": 1, "slope": 0, "exponent": 0, "lack-of-fit": 0, "of-exponent": -1}
    assert {fit.id: fit.prediction.value for fit in fits} == expected | {"of-lack-of-fit": 0}
    assert [fit.fit.model for fit in fits if fit.target == "misfit"] == ["line", "power"]
    assert [fit.tolerance.scale for fit in fits if fit.id == "slope"] == [1 / 64]


def test_every_quantity_gets_a_biased_prediction() -> None:
    """Twice the tolerance off, of its middle check or the one that asks for it or names it."""
    named = Check("second", E(score**2), {d: 9}, equals=d, control="too-large")
    controls = made(*variances(1, 8, 64), named).controls
    predictions = {control.comparison.id: control.comparison.prediction.value for control in controls}
    assert predictions == {"biased-variance-d8": pytest.approx(8 * 1.1), "too-large": pytest.approx(9 * 1.1)}
    said = controls[0].what.replace("\N{NO-BREAK SPACE}", " ")
    label = r"$\operatorname{Var}\left(q\cdot k\right)$"
    assert said == f"{label} at $d_{{k}}$ = 8 is larger by twice the tolerance"
    alone = made(*variances(1, 8, 64)).controls[0].what.replace("\N{NO-BREAK SPACE}", " ")
    assert alone == "the value at $d_{k}$ = 8 is larger by twice the tolerance"
    asking = [replace(check, control=check.id == "variance-d2") for check in variances(2, 4, 8)]
    (usual,) = made(*asking).controls
    assert (usual.comparison.id, usual.truth) == ("biased-prediction", 2)


def test_a_wrong_version_of_a_check_is_predicted_under_its_laws() -> None:
    """And at its values, without that either is said again; under laws of its own, if it has some."""
    check = Check("u", Var(score), {d: 12}, equals=7 * d / 144, laws={q: UNIT_INTERVAL, k: UNIT_INTERVAL})
    plain = Wrong("plain", of="u", equals=d * sigma_q**2 * sigma_k**2, says="means do not matter")
    other = replace(plain, id="other", laws={q: RADEMACHER, k: UNIT_INTERVAL})
    controls = {control.comparison.id: control for control in made(check, plain, other).controls}
    values = [controls[name].comparison.prediction.value for name in ("plain", "other")]
    assert values == pytest.approx([12 / 144, 12 / 12])


def test_a_wrong_version_knows_the_truth_where_a_check_says_it() -> None:
    """Not in another world."""
    wrong = Wrong("squared", Var(score), {d: 8}, equals=d**2, says="squared")
    other = Wrong("other", Var(Dot(q, a, q, a)), {d: 8}, equals=d, says="of itself")
    controls = made(*variances(8, 9), wrong, other).controls
    truths = {control.comparison.id: control.truth for control in controls[:2]}
    assert truths == {"squared": 8, "other": None}


def test_one_changes_a_check_a_fit_or_a_computed_value() -> None:
    """By its id; an unknown one is refused."""
    sum_of = Computed("sum", "a sum", sum, ((1, 2),), equals=Integer(3))
    fit = Fit("variance-d*", over=d, law=d, only=("slope",))
    steeper = Wrong("steeper", of="slope", equals=2, says="twice as steep")
    less = Wrong("less", of="sum", arguments=((1, 1),), says="one less")
    bounded = Wrong("bounded", of="sum", arguments=((1, 1),), at_most=Integer(1), says="at most one")
    every = made(*variances(1, 8), fit, sum_of, steeper, less, bounded).controls
    controls = {control.comparison.id: control for control in every}
    assert controls["steeper"].comparison.prediction.value == 2
    assert isinstance(controls["less"].comparison, Exact)
    assert controls["less"].comparison.computed == 2
    assert [controls[name].comparison.relation for name in ("less", "bounded")] == ["=", "≤"]
    assert [controls[name].comparison.prediction.value for name in ("less", "bounded")] == [3, 1]
    with pytest.raises(ClaimError, match="less: no code computes 'variance-d1'; leave arguments out"):
        made(*variances(1, 8), replace(less, of="variance-d1"))
    with pytest.raises(ClaimError, match="there is no check 'variance'"):
        made(*variances(1, 8), Wrong("x", of="variance", equals=2, says="x"))


def test_what_is_off_by_a_factor_needs_no_words() -> None:
    """Of a check, of a bound, of a computed value; the truth is known where the check is of the value."""
    value = Check("value", Var(score), {d: 8}, equals=d, off={"half": S.Half})
    bound = Check("bound", Var(score), {d: 9}, at_most=10, off={"less": 0.8})
    total = Computed("sum", "a sum", sum, ((1, 2),), equals=Integer(3), off={"more": 2})
    controls = made(value, bound, total).controls[:3]
    predictions = [(control.comparison.id, control.comparison.prediction.value) for control in controls]
    assert predictions == [("half", 4), ("less", 8), ("more", 6)]
    assert [control.truth for control in controls] == [8, None, None]
    assert controls[1].what.endswith("respects 0.8 times its bound")
    assert controls[2].what == "a sum is 2 times its value"


def test_what_is_true_of_a_bound_is_known_by_a_check_or_an_integral() -> None:
    """A check of the same quantity says it; else an integral over rows, where there is one."""
    rows, at = E(squares(sigma * s[a, j])), {n: 4, sigma: 2}
    bound, value = Check("bound", rows, at, at_most=1.0, sharper=0.3), integrated(rows, at)
    for items, truth in (((bound,), value), ((bound, Check("value", rows, at, equals=0.5)), 0.5)):
        controls = {control.comparison.id: control for control in made(*items, derived=NOTHING).controls}
        assert controls["bound-sharper"].truth == truth


def test_fits_get_biased_coefficients_and_bent_points() -> None:
    """Through the same points, each multiplied by 1 + x², with x in units of the first place."""
    controls = made(*variances(8, 16, 32), Fit("variance-d*", over=d, law=d)).controls
    biased = [f"biased-{name}" for name in ("slope", "intercept", "curvature", "exponent")]
    assert [control.comparison.id for control in controls][1:] == [*biased, "bent-lack-of-fit"]
    bent = controls[-1].comparison
    assert isinstance(bent, FittedCoefficient)
    assert [member.label[:3] for member in bent.members] == ["$2 ", "$5 ", "$17"], controls[-1].what


def test_an_integral_is_a_prediction() -> None:
    """Its value is taken by quadrature, and printed as a number."""
    w = Symbol("w", positive=True)
    total = Integral(w ** (d / 2) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2)), (w, 0, oo))
    (check,) = made(Check("v", Var(score), {d: 64}, equals=total), derived=NOTHING).checks
    assert check.prediction.value == pytest.approx(64)
    assert check.prediction.latex == "64"
