"""The measuring loop: right claims confirmed, wrong ones refuted, and nothing that depends on workers."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.montecarlo.samples import CellSampler, component, drawn_by
from tests.strategies import FALSE_ALARM
from verify import evidence
from verify.engine import measure as measuring
from verify.engine.measure import Samples, measure
from verify.errors import ClaimError, SettingsError
from verify.evidence import Settings, Verdict
from verify.evidence.judging import GROWTH, MAX_LOOKS, PLACES, PLANNED_LOOK, share
from verify.montecarlo.blocks import Cell
from verify.montecarlo.distributions import Array
from verify.montecarlo.estimands import OF_GROUPS, Estimand, Measured, Smooth
from verify.montecarlo.experiment import Comparison, Control, Exact, Experiment, Fit, Prediction
from verify.montecarlo.experiment import Quantity, Target, Tolerance, WeightedFit

NARROW = Tolerance(1.0, 0.1, "a tenth")
SETTINGS = Settings(seed=20170612, tolerance=0.01)


@dataclass(frozen=True)
class Bell(Cell):
    """Blocks of one normal number each."""

    mean: float = 0.0
    spread: float = 1.0

    coordinates = 1 << 10
    names = ("mean",)

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return ``count`` numbers."""
        return rng.normal(self.mean, self.spread, (count, 1))


@dataclass(frozen=True)
class Rare(Bell):
    """Blocks of one number that is nearly always 0, and with this probability 1."""

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return ``count`` zeros and ones."""
        return (rng.random((count, 1)) < self.mean).astype(float)


def derived(spread: float = 1.0) -> Smooth:
    """Return the mean of the blocks with its derived variance."""
    return component("mean", block_variance=spread**2)


def quantity(
    name: str,
    truth: float,
    predicted: float,
    estimand: Estimand | None = None,
    spread: float = 1.0,
    **others: Any,
) -> Quantity:
    """Return a comparison of the blocks' mean ``truth`` with the value ``predicted``."""
    cell = others.pop("cell", Bell(f"cell-{name}", (("d_k", 8),), mean=truth, spread=spread))
    return Quantity(
        name, "a mean", cell, estimand or derived(spread), Prediction(predicted, f"{predicted}"), **others
    )


def judged(
    checks: Iterable[Comparison],
    controls: Iterable[Comparison] = (),
    settings: Settings = SETTINGS,
) -> tuple[Mapping[str, evidence.Check], dict[str, evidence.ControlRecord]]:
    """Return the checks and controls, judged, by id."""
    experiment = Experiment(tuple(checks), tuple(Control(f"wrong {c.id}", c) for c in controls))
    findings, records = drawn_by(
        CellSampler("a-claim", settings.seed), measure(experiment, "a-claim", settings)
    )
    return findings.checks, {control.id: control for control in records}


def line(name: str, target: Target, predicted: float, cells: Iterable[Quantity], tolerance: Tolerance) -> Fit:
    """Return a comparison of one coefficient of the line through ``cells``."""
    members = tuple(cells)
    x = tuple(member.prediction.value for member in members)
    fit = WeightedFit("line", x, (1.0,) * len(x))
    return Fit(name, "a line", members, fit, target, Prediction(predicted, f"{predicted}"), tolerance)


POINTS = tuple(quantity(f"point-{x}", float(x), float(x)) for x in (1, 2, 3, 4))


def test_on_the_edge_of_the_band_is_undecided_at_the_cap() -> None:
    """Where no sample size can decide, the sample grows to the cap and the check stays open."""
    on_edge = quantity("edge", 5.05, 5.0)
    checks, _ = judged([on_edge])
    edge = checks["edge"]
    assert edge.verdict is Verdict.UNDECIDED
    assert edge.looks == MAX_LOOKS
    first, _ = judged([quantity("edge", 5.0, 5.0)])
    looks = MAX_LOOKS - first["edge"].looks
    assert edge.blocks >= (first["edge"].blocks - on_edge.cell.batch_blocks) * GROWTH**looks
    assert edge.level == pytest.approx(1 - share(1e-3, MAX_LOOKS), abs=1e-15)


def test_blocks_that_all_agree_decide_nothing() -> None:
    """Where nothing is derived, no spread is no information, and the check stays open."""
    never = quantity("never", 0.0, 1.0, component("mean"), cell=Rare("never", mean=0.0))
    checks, _ = judged([never])
    assert checks["never"].verdict is Verdict.UNDECIDED
    assert checks["never"].looks == MAX_LOOKS


def test_far_inside_a_bound_is_decided_whatever_the_skewness() -> None:
    """Blocks of skewness 10 are decided at the first look where the bound is far, and say by what."""
    cell = Rare("rare", mean=0.01)
    far = Quantity("far", "a mean", cell, component("mean"), Prediction(0.5, "½"), NARROW, "≤")
    check = judged([far])[0]["far"]
    assert check.verdict is Verdict.CONFIRMED
    assert check.reason == OF_GROUPS
    assert check.interval[0] < 0.01 < check.interval[1] < 0.5


def test_an_exact_value_a_unit_off_is_refuted() -> None:
    """Equal is confirmed, one unit in the last place off is refuted, and nothing is drawn."""
    same = Exact("same", "a value", (("n", 3),), Prediction(0.1, "0.1"), 0.1)
    other = replace(same, id="other", computed=math.nextafter(0.1, 1))
    checks, controls = judged([same], [other])
    check = checks["same"]
    assert check.verdict is Verdict.CONFIRMED
    assert (check.looks, check.blocks, check.draws, check.level) == (0, 0, 0, 1.0)
    assert (check.tolerance, check.method, check.cell) == (0.0, "exact", {"n": 3})
    assert controls["other"].verdict is Verdict.REFUTED
    assert controls["other"].power == 1.0


def test_a_line_is_judged_by_slope_intercept_and_misfit() -> None:
    """A line is confirmed in all its coefficients; a wrong slope and a bent line are refuted."""
    wide = Tolerance(10.0, 1.0, "one")
    right = [
        line("slope", "slope", 1.0, POINTS, Tolerance(5.0)),
        line("intercept", "constant", 0.0, POINTS, wide),
        line("misfit", "misfit", 0.0, POINTS, Tolerance(5.0, 1.0, "the fitted values")),
    ]
    bent = [quantity(f"bent-{x}", float(x**2), float(x), spread=0.1) for x in (1, 2, 3, 4)]
    wrong = [
        line("wrong-slope", "slope", 1.2, POINTS, Tolerance(5.0)),
        line("bent-line", "misfit", 0.0, bent, Tolerance(5.0, 1.0, "the fitted values")),
    ]
    checks, controls = judged([*POINTS, *right], wrong)
    assert {check.verdict for check in checks.values()} == {Verdict.CONFIRMED}
    assert {control.verdict for control in controls.values()} == {Verdict.REFUTED}
    assert checks["slope"].cell == {"points": 4, "from": 1.0, "to": 4.0}
    assert checks["slope"].method == "fit"
    assert 4 * 128 <= checks["slope"].blocks <= sum(checks[p.id].blocks for p in POINTS)


@pytest.mark.parametrize("target", ["slope", "misfit"])
def test_no_power_law_goes_through_what_is_not_positive(target: Target) -> None:
    """One line says which check departs from its prediction, and where, as it has no logarithm."""
    points = [quantity(f"point-{x}", float(x - 2), float(x)) for x in (1, 2, 3, 4)]
    fit = WeightedFit("power", (1, 2, 3, 4), (1.0,) * 4)
    law = Fit("law", "a law", tuple(points), fit, target, Prediction(1.0, "1"), Tolerance(5.0, 1.0, "one"))
    said = r"check point-1: it is measured as -0\.998, where 1 is predicted, and law fits"
    with pytest.raises(ClaimError, match=said):
        judged([law], [])


def test_a_verdict_stands_once_given() -> None:
    """A check decided at the first look keeps its estimate while its cell grows for another one."""
    easy = quantity("easy", 5.0, 5.0, tolerance=Tolerance(3.0))
    edge = replace(easy, id="edge", prediction=Prediction(4.95, "4.95"), tolerance=Tolerance(1 / 0.99))
    checks, _ = judged([easy, edge])
    assert checks["easy"].verdict is Verdict.CONFIRMED
    assert checks["easy"].looks == 1
    assert checks["edge"].looks > 1
    # The estimate that was judged is printed, not that of the larger sample.
    first = checks["easy"].blocks - easy.cell.batch_blocks
    assert checks["edge"].blocks >= first * GROWTH ** (checks["edge"].looks - 1)
    assert checks["easy"].level == pytest.approx(1 - share(1e-3, 1), abs=1e-15)


def often(check: Quantity, seeds: int) -> list[evidence.Check]:
    """Return the check for each of ``seeds`` seeds, judged at 5% so that errors can be counted."""
    loose = Settings(tolerance=0.05).model_copy(update={"false_alarm": 0.05 * PLACES})
    settings = (loose.model_copy(update={"seed": seed}) for seed in range(seeds))
    return [judged([check], settings=chosen)[0][check.id] for chosen in settings]


@pytest.mark.slow
def test_a_true_claim_is_refuted_as_rarely_as_promised() -> None:
    """At the very edge of the band, after all looks, at most 5% of the time."""
    outcomes = often(quantity("edge", 10.5, 10.0, spread=3.0), 25)
    refuted = sum(check.verdict is Verdict.REFUTED for check in outcomes)
    assert refuted <= stats.binom.isf(FALSE_ALARM, 25, 0.05)
    assert max(check.looks for check in outcomes) == MAX_LOOKS


def test_an_exact_prediction_is_decided_as_planned() -> None:
    """It is excluded at most 5% of the time, and decided by the planned look in 95%."""
    outcomes = often(quantity("exact", 10.0, 10.0, spread=3.0), 80)
    excluded = sum(check.verdict in {Verdict.APPROXIMATE, Verdict.REFUTED} for check in outcomes)
    assert excluded <= stats.binom.isf(FALSE_ALARM, 80, 0.05)
    planned = sum(check.looks <= PLANNED_LOOK for check in outcomes)
    assert planned >= stats.binom.ppf(FALSE_ALARM, 80, 0.95)


@pytest.mark.slow
def test_a_wrong_version_is_refuted_as_often_as_planned() -> None:
    """Two tolerances off, the samples planned for the check refute it in the end, every time but few."""
    outcomes = often(quantity("off", 11.0, 10.0, spread=3.0), 200)
    refuted = sum(check.verdict is Verdict.REFUTED for check in outcomes)
    assert refuted >= stats.binom.ppf(FALSE_ALARM, 200, 0.95)


def test_a_broken_bound_from_below_is_refuted_at_any_tolerance() -> None:
    """A mean of 5 breaks it by 0.6%; for bounds from above, the judge's own tests say so."""
    for tolerance in (Tolerance(1.0), Tolerance(50.0)):
        bound = quantity("bound", 5.0, 5.03, relation="≥", spread=0.01, tolerance=tolerance)
        assert judged([bound], [quantity("other", 5.0, 7.0)])[0]["bound"].verdict is Verdict.REFUTED


def test_an_open_bound_says_what_would_decide() -> None:
    """Just beyond the bound, more blocks tell it from the bound, wherever the edge of the band is."""
    for predicted in (4.95, 4.999, 5.0):
        bound = quantity("bound", 5.0, predicted, relation="≤", spread=5.0)
        measured = Measured(5.0, 0.1, (4.9, 5.1), 100, 100)
        open_ = measuring.check_record(bound, measured, 0.05 / predicted, 6, 0.001)
        (needed,) = re.findall(r"about ([\d,]+) blocks would decide", open_.reason)
        nearest = min(0.1 / abs(5.0 - edge) for edge in (predicted, predicted + 0.05) if edge != 5.0)
        assert int(needed.replace(",", "")) == pytest.approx(100 * nearest**2, abs=1)


RIGHT = quantity("right", 1.0, 1.0)
WRONG = Control("the mean is 2", quantity("wrong", 1.0, 2.0))


def plan(check: Quantity, control: Control, tolerance: float = 0.01) -> None:
    """Plan an experiment by pilots that this process draws."""
    samples = Samples("a-claim", Settings(seed=20170612, tolerance=tolerance))
    drawn_by(CellSampler("a-claim", 20170612), samples.plan(Experiment((check,), (control,))))


@pytest.mark.parametrize(
    ("claimed", "relation", "error", "said"),
    [
        (1.0 + 1e-15, "=", ClaimError, "it is not wrong: it claims 1, and 1 is derived, so"),
        (1.5, "≤", ClaimError, "it claims ≤ 1.5, and 1 is derived"),
        (1.0 + 1e-6, "=", SettingsError, "lower --tolerance"),
    ],
)
def test_wrong_versions_that_agree(claimed: float, relation: Any, error: type[Exception], said: str) -> None:
    """No tolerance makes false what holds; a smaller one does where it only lies within."""
    comparison = replace(WRONG.comparison, prediction=Prediction(claimed, ""), relation=relation)
    with pytest.raises(error, match=said):
        plan(RIGHT, Control("x", comparison, 1.0))


def test_a_plan_out_of_reach_or_without_a_scale_ends_at_once() -> None:
    """A tolerance that would take weeks, or relative to a prediction of 0: where it is, and the fix."""
    with pytest.raises(SettingsError, match=r"a-claim, cell cell-right.*raise --tolerance"):
        plan(RIGHT, WRONG, tolerance=1e-9)
    with pytest.raises(ClaimError, match="give it a scale: Within"):
        plan(quantity("zero", 0.0, 0.0), WRONG)
