"""The plan of a claim's samples: what is refused before anything is drawn."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.test_measure import BUDGET, SETTINGS, Bell, quantity
from verify.engine.samples import Samples, cells_of, validate
from verify.errors import ClaimError, SettingsError
from verify.montecarlo.blocks import Cell
from verify.montecarlo.chunks import Drawing
from verify.montecarlo.estimands import component
from verify.montecarlo.experiment import Control, Experiment, Prediction, Tolerance

if TYPE_CHECKING:
    from verify.evidence import Settings

RIGHT = quantity("right", 1.0, 1.0)
WRONG = Control("the mean is 2", quantity("wrong", 1.0, 2.0))


def here(settings: Settings = SETTINGS) -> Samples:
    """Return samples that this process draws."""
    return Samples("a-claim", settings, BUDGET, Drawing("a-claim", settings.seed))


class TestRefuseMalformed:
    """An experiment is refused by name before anything is measured."""

    def test_a_sound_experiment_passes(self) -> None:
        """A check, a control, and one cell each leave nothing to refuse."""
        experiment = Experiment((RIGHT,), (WRONG,))
        validate(experiment, "a-claim")
        assert len(cells_of([RIGHT, WRONG.comparison])) == 2

    @pytest.mark.parametrize(
        ("experiment", "said"),
        [
            (Experiment((), (WRONG,)), "at least one check and one control"),
            (Experiment((RIGHT,), ()), "at least one check and one control"),
            (Experiment((RIGHT, RIGHT), (WRONG,)), "'right' is used twice"),
            (Experiment((RIGHT,), (Control("x", replace(RIGHT)),)), "'right' is used twice"),
            (Experiment((replace(RIGHT, id="No Slug"),), (WRONG,)), "'No Slug': use lower-case"),
        ],
    )
    def test_unclear_or_toothless(self, experiment: Experiment, said: str) -> None:
        """No check, no control, a name twice, and a name that is no slug are reported in one line."""
        with pytest.raises(ClaimError, match=said) as caught:
            validate(experiment, "a-claim")
        assert str(caught.value).startswith("claim a-claim")
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"tolerance": Tolerance(factor=-1.0)}, "its tolerance's factor is -1; give a positive number"),
            ({"tolerance": Tolerance(factor=0.0)}, "its tolerance's factor is 0; give a positive number"),
            ({"tolerance": Tolerance(factor=math.nan)}, "its tolerance's factor is nan; give a positive"),
            ({"tolerance": Tolerance(scale=math.nan)}, "its tolerance's scale is nan; give a positive"),
            ({"tolerance": Tolerance(scale=-2.0)}, "its tolerance's scale is -2; give a positive"),
            ({"prediction": Prediction(math.inf, "x")}, "its prediction is inf; give a finite number"),
        ],
    )
    def test_numbers_that_make_no_band(self, change: dict[str, Any], said: str) -> None:
        """What is wrong is reported of the check, not of what comes of it."""
        with pytest.raises(ClaimError, match=f"claim a-claim, check right: {said}"):
            validate(Experiment((replace(RIGHT, **change),), (WRONG,)), "a-claim")

    def test_two_cells_of_one_name(self) -> None:
        """Two different samplers under one cell id would share a sample; they are refused."""
        other = replace(RIGHT, id="other", cell=Cell(RIGHT.cell.id, (), Bell(5.0)))
        with pytest.raises(ClaimError, match="two different cells"):
            validate(Experiment((RIGHT, other), (WRONG,)), "a-claim")


class TestPlan:
    """A plan out of reach, or without a scale, ends at once."""

    @pytest.mark.parametrize(
        ("claimed", "relation", "error", "said"),
        [
            (1.0 + 1e-15, "=", ClaimError, "it is not wrong: it claims 1, and 1 is derived, so"),
            (1.5, "≤", ClaimError, "it claims ≤ 1.5, and 1 is derived"),
            (1.0 + 1e-6, "=", SettingsError, "lower --tolerance"),
        ],
    )
    def test_wrong_versions_that_agree(
        self, claimed: float, relation: Any, error: type[Exception], said: str
    ) -> None:
        """No tolerance makes false what holds; a smaller one does where it only lies within."""
        control = Control(
            "x", replace(WRONG.comparison, prediction=Prediction(claimed, ""), relation=relation), 1.0
        )
        samples = here()
        with pytest.raises(error, match=said):
            samples.plan(Experiment((RIGHT,), (control,)))

    def test_endless(self) -> None:
        """A tolerance that would take weeks names the claim, the cell and the fix."""
        samples = here(replace_tolerance(1e-9))
        with pytest.raises(SettingsError, match=r"a-claim, cell cell-right.*raise --tolerance"):
            samples.plan(Experiment((RIGHT,), (WRONG,)))

    def test_relative_to_zero(self) -> None:
        """A tolerance relative to a prediction of 0 is refused with the way to fix it."""
        zero = quantity("zero", 0.0, 0.0)
        with pytest.raises(ClaimError, match="give its Tolerance a scale"):
            here().plan(Experiment((zero,), (WRONG,)))

    def test_a_scale_mends_it(self) -> None:
        """With a scale the same check is planned, for (deviations/tolerance)² blocks of unit variance."""
        zero = quantity("zero", 0.0, 0.0, tolerance=Tolerance(1.0, 1.0, "one"))
        samples = here()
        samples.plan(Experiment((zero,), (WRONG,)))
        goal = samples.goal(zero)
        wanted = (goal.deviations() / SETTINGS.tolerance) ** 2
        assert wanted <= samples.planned[zero.cell.id] < wanted + 2

    def test_a_control_of_known_truth_is_planned_for_its_power(self) -> None:
        """Where no block variance is derived a pilot estimates it; the check's sample may be too small."""
        right = quantity("mean", 1.0, 1.3, component("mean"), tolerance=Tolerance(0.1), relation="≤")
        near = replace(right, id="sharper", prediction=Prediction(0.97, "0.97"))
        samples = here()
        samples.plan(Experiment((right,), (Control("a little sharper", near, truth=1.0),)))
        gap = 0.03 - near.tolerance.width(0.97, SETTINGS.tolerance)
        wanted = (samples.goal(near).deviations() / gap) ** 2
        assert samples.planned[right.cell.id] == pytest.approx(wanted, rel=0.2)

    @pytest.mark.parametrize(("spread", "most"), [(0.0005, 256), (0.05, 1024), (1.0, 4096)])
    def test_a_pilot_is_no_larger_than_it_takes(self, spread: float, most: int) -> None:
        """A sample that is small needs a quarter of the usual pilot, a large one four times it."""
        one = quantity("mean", 1.0, 1.0, component("mean"), spread)
        samples = here()
        samples.plan(Experiment((one,), (WRONG,)))
        assert samples.sample(one.cell).blocks == most


def replace_tolerance(tolerance: float) -> Settings:
    """Return the usual settings with another tolerance."""
    return SETTINGS.model_copy(update={"tolerance": tolerance})
