"""An experiment is refused by name before anything is measured."""

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.test_measure import POINTS, RIGHT, WRONG, Bell, line, quantity
from verify.engine.validation import validate
from verify.errors import ClaimError
from verify.montecarlo.blocks import Cell
from verify.montecarlo.estimands import variance
from verify.montecarlo.experiment import Comparison, Control, Exact, Experiment, Prediction, Tolerance


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


@pytest.mark.parametrize("printed", ["5.85937e-05", "5.85938e-05"])
def test_a_tie_may_be_printed_either_way(printed: str) -> None:
    """SymPy prints the float of 15/256000 rounded down, which is its prediction all the same."""
    prediction = Prediction(5.859375e-05, printed)
    validate(Experiment((replace(RIGHT, prediction=prediction),), (WRONG,)), "a-claim")


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


@pytest.mark.parametrize(
    ("predicted", "tolerance", "said"),
    [
        (
            1.0,
            Tolerance(10.0),
            "claim a-claim, check right: its tolerance is 10 times the run's, of the prediction; make it at",
        ),
        (1.0, Tolerance(10.0, because=" "), "is 10 times the run's"),
        (1.0, Tolerance(1.0, 2.5, "a share"), "is 2.5 times the run's, of the prediction; make it"),
        (-1.0, Tolerance(0.5, 8.0, "a share"), "is 4 times the run's, of the prediction; make it"),
        (0.0, Tolerance(3.0, 1.0, "a share"), "is 3 times the run's, of a share; make it"),
        (0.0, Tolerance(1.0, 8.0), 'its tolerance is a share of 8; say of what: Tolerance(…, of="…")'),
        (1.0, Tolerance(1.0, 2.0), "its tolerance is a share of 2; say of what"),
        (1.0, Tolerance(1.0, 2.0, " "), "its tolerance is a share of 2; say of what"),
    ],
)
def test_a_wide_tolerance_that_nothing_is_said_of(predicted: float, tolerance: Tolerance, said: str) -> None:
    """Beside the prediction, or of its scale where that is 0, more than twice the run's takes a reason."""
    check = replace(RIGHT, prediction=Prediction(predicted, ""), tolerance=tolerance)
    with pytest.raises(ClaimError) as caught:
        validate(Experiment((check,), (WRONG,)), "a-claim")
    assert said in str(caught.value)


ELSEWHERE = quantity("other", 1.0, 1.0, variance("mean", "mean"))
BELOW = replace(RIGHT, id="below", relation="≤")
SLOPE = line("slope", "slope", 1.0, POINTS, Tolerance())
SUM = Exact("sum", "a sum", (), Prediction(4.0, "4"), 4.0, code=math.fsum)


@pytest.mark.parametrize(
    ("check", "code"),
    [
        (ELSEWHERE, "the same kinds of input, statistic and estimand, and the same relation"),
        (BELOW, "the same kinds of input, statistic and estimand, and the same relation"),
        (SLOPE, "the same model and coefficient"),
        (SUM, "the same function"),
    ],
)
def test_a_check_without_a_control(check: Comparison, code: str) -> None:
    """A control on another estimand, relation or function alone does not do; a word or its own does."""
    with pytest.raises(ClaimError) as caught:
        validate(Experiment((RIGHT, check), (WRONG,)), "a-claim")
    assert str(caught.value) == (
        f"claim a-claim, check {check.id}: no control goes through its code ({code}); add one, such as "
        'wrong(check, …), or say why there is none: uncontrolled="…"'
    )
    blank = replace(check, uncontrolled=" ")
    with pytest.raises(ClaimError, match="no control goes through its code"):
        validate(Experiment((RIGHT, blank), (WRONG,)), "a-claim")
    validate(Experiment((RIGHT, replace(check, uncontrolled="it has one elsewhere")), (WRONG,)), "a-claim")
    own = Control("x", replace(check, id="own", prediction=Prediction(9.0, "9")))
    validate(Experiment((RIGHT, check), (WRONG, own)), "a-claim")


def test_a_check_that_says_it_has_no_control_and_has_one() -> None:
    """What the report would print is false."""
    said = replace(RIGHT, uncontrolled="nothing can go wrong")
    with pytest.raises(ClaimError, match=r"but wrong does; leave out uncontrolled$"):
        validate(Experiment((said,), (WRONG,)), "a-claim")


def test_two_cells_of_one_name() -> None:
    """Two different samplers under one cell id would share a sample; they are refused."""
    other = replace(RIGHT, id="other", cell=Cell(RIGHT.cell.id, (), Bell(5.0)))
    with pytest.raises(ClaimError, match="two different cells"):
        validate(Experiment((RIGHT, other), (WRONG,)), "a-claim")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"prediction": Prediction(4.0, "3 d_k")},
            r"its prediction is written \$3 d_k\$, with symbols in it",
        ),
        ({"prediction": Prediction(4.0, "3")}, r"its prediction is written \$3\$, and is 4"),
        ({"prediction": Prediction(4.0, r"\frac{7}{2}")}, r"its prediction is written .*, and is 4"),
        ({"label": r"$\operatorname{Var}(q\cdot k) = 3 d_k$"}, "its label has '='; name what is estimated"),
        ({"label": r"$\operatorname{Var}(q\cdot k) \lt 3$"}, "its label has '.*lt'; name what is estimated"),
    ],
)
def test_what_only_a_prediction_may_say(change: dict[str, Any], said: str) -> None:
    """A typed formula or number stands for no prediction, and a label says nothing of what it names."""
    with pytest.raises(ClaimError, match=said):
        validate(Experiment((replace(RIGHT, **change),), (WRONG,)), "a-claim")


@pytest.mark.parametrize(
    "change",
    [
        {"prediction": Prediction(4.0, r"\frac{8}{2}")},
        {"prediction": Prediction(4.0, r"\sum p_j^2 = 4.00")},
        {"label": r"$\operatorname{Var}(cX)$, $c = -3$"},
        {"label": r"$P(|S| \le 2)$"},
    ],
)
def test_what_a_label_and_a_prediction_may_say(change: dict[str, Any]) -> None:
    """Numbers, settings, and events in brackets."""
    validate(Experiment((replace(RIGHT, **change),), (WRONG,)), "a-claim")
