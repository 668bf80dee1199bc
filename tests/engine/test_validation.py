"""An experiment is refused by name before anything is measured."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.test_measure import Bell
from tests.engine.test_samples import RIGHT, WRONG
from verify.engine.validation import validate
from verify.errors import ClaimError
from verify.montecarlo.blocks import Cell
from verify.montecarlo.experiment import Control, Experiment, Prediction, Tolerance, cells_of


def test_a_sound_experiment_passes() -> None:
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
def test_unclear_or_toothless(experiment: Experiment, said: str) -> None:
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
def test_numbers_that_make_no_band(change: dict[str, Any], said: str) -> None:
    """What is wrong is reported of the check, not of what comes of it."""
    with pytest.raises(ClaimError, match=f"claim a-claim, check right: {said}"):
        validate(Experiment((replace(RIGHT, **change),), (WRONG,)), "a-claim")


def test_two_cells_of_one_name() -> None:
    """Two different samplers under one cell id would share a sample; they are refused."""
    other = replace(RIGHT, id="other", cell=Cell(RIGHT.cell.id, (), Bell(5.0)))
    with pytest.raises(ClaimError, match="two different cells"):
        validate(Experiment((RIGHT, other), (WRONG,)), "a-claim")
