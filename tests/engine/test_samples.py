"""The plan of a claim's samples: what is refused before anything is drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.engine.test_measure import BUDGET, SETTINGS, quantity
from verify.engine.samples import Remembered, Samples
from verify.errors import ClaimError, SettingsError
from verify.montecarlo.blocks import Drawing, Request, Sums
from verify.montecarlo.estimands import Goal, component
from verify.montecarlo.experiment import Control, Experiment, Prediction, Tolerance

if TYPE_CHECKING:
    from verify.evidence import Settings
    from verify.montecarlo.experiment import Quantity

RIGHT = quantity("right", 1.0, 1.0)
WRONG = Control("the mean is 2", quantity("wrong", 1.0, 2.0))


def here(settings: Settings = SETTINGS) -> Samples:
    """Return samples that this process draws."""
    return Samples("a-claim", settings, BUDGET, Drawing("a-claim", settings.seed))


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


class TestRemembered:
    """What is remembered saves work and changes nothing."""

    @staticmethod
    def unknown() -> Quantity:
        """Return a quantity of whose block nothing is derived, so that a pilot plans it."""
        return quantity("mean", 1.0, 1.0, component("mean"))

    def test_the_same_way_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With the same sums nothing is computed a second time, and the plan is the same."""
        experiment, remembered = Experiment((self.unknown(),), (WRONG,)), Remembered()
        first, again = here(), here()
        first.remembered = again.remembered = remembered
        first.plan(experiment)
        computed: list[object] = []
        monkeypatch.setattr(Sums, "sample", lambda *given: computed.append(given))
        again.plan(experiment)
        assert not computed
        assert again.planned == first.planned

    def test_other_sums(self) -> None:
        """Where a single bit differs, it is computed again."""
        one, remembered = self.unknown(), Remembered()
        (sums,) = Drawing("a-claim", 1)([Request(one.cell, 256)])
        other = replace(sums, first=np.nextafter(sums.first, 9.0))
        given = (sums, other, sums)
        found = [remembered.sample(one.cell, each) for each in given]
        assert [sample.mean for sample in found] == [each.sample(one.cell).mean for each in given]
        vague, sharp = (Goal(1e-3, 0.05, 1.0, width) for width in (0.5, 0.01))
        for _ in range(2):
            wanted = remembered.blocks_needed(one, lambda _: vague, "check", found[0])
            assert wanted == one.estimand.blocks_needed(vague, found[0])
        # Another quantity of the same name may have another goal.
        namesake = self.unknown()
        wanted = remembered.blocks_needed(namesake, lambda _: sharp, "check", found[0])
        assert wanted == namesake.estimand.blocks_needed(sharp, found[0])
        assert wanted != one.estimand.blocks_needed(vague, found[0])
