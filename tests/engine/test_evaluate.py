"""What is put on record of a claim, and experiments that are refused before anything is measured."""

import math
from dataclasses import replace

import pytest

from tests.catalogue import derivation
from tests.engine.test_measure import POINTS, RIGHT, WRONG, line, quantity
from verify.engine import evaluate as evaluating
from verify.engine.catalogue import shipped
from verify.engine.evaluate import Known, draw, evaluate
from verify.engine.preparing import Work, derivation_record, validate
from verify.engine.runner import settings
from verify.errors import ClaimError
from verify.evidence import Proof
from verify.montecarlo.estimands import Bounded
from verify.montecarlo.experiment import Comparison, Control, Exact, Experiment, Prediction, Tolerance
from verify.symbolic.chains import Chain, Derivation

NAME = "sqrt-scaling-unique"


def test_proved_is_what_coq_proved_of_what_the_claim_says() -> None:
    """The recorded theorem goes on record; where the main chain says something else, that is noted."""
    derived = derivation(NAME)
    record = derivation_record(derived, NAME)
    assert record.status is Proof.PROVED
    assert record.coq is not None
    assert record.coq.statement.startswith("Theorem sqrt_scaling_unique ")
    assert not record.stale
    stale = derivation_record(derivation("sqrt-scaling"), NAME)
    assert (stale.status, stale.coq, stale.stale) == (Proof.DERIVED, None, True)
    assert stale.reason.endswith("what Coq proved, as recorded, is another statement")


def test_a_line_that_does_not_hold_is_on_record_as_such() -> None:
    """As the last of its chain, with what is wrong; other chains stand, and the whole has failed."""
    multiple, solved = derivation(NAME).chains
    first, second = multiple.lines
    wrong = Chain(
        multiple.start, first, replace(second, expression=second.expression + 1), title=multiple.title
    )
    record = derivation_record(Derivation((wrong, solved), "only tried"))
    assert record.status is Proof.FAILED
    assert record.reason.startswith(f"{multiple.title}, line 2: ")
    shown, other = record.chains
    assert [line.holds for line in shown.lines] == [True, False]
    assert (shown.shows, shown.lines[1].checked) == ("", second.check.words)
    assert all(line.holds for line in other.lines)


WORK = Work(shipped()[NAME], settings(profile="quick", tolerance=0.02))


def test_an_evaluation_goes_on_from_what_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """In any process: with the checked derivation and what was drawn so far it comes to the same record."""
    at_once = evaluate(WORK, "", {}, 60.0)
    assert at_once.record
    known: Known = {}
    derived, stretches = "", 0
    while True:
        monkeypatch.setattr(evaluating, "_PREPARED", {})
        stretch = evaluate(WORK, derived, known, 0.0)
        if stretch.record:
            break
        stretches += 1
        for cell in stretch.cells:
            chunks = cell.missing(WORK)
            sums, _ = draw(WORK, [(cell.pickled, chunk) for chunk in chunks])
            for chunk, part in zip(chunks, sums, strict=True):
                cell.add(chunk, part)
        drawn = {(cell.id, cell.batches): cell.drawn for cell in stretch.cells}
        derived, known = stretch.derivation_json, {**stretch.known, **drawn}
    assert stretches
    assert stretch.record == at_once.record


def test_unclear_or_toothless() -> None:
    """No check, no control, a name that is no slug and no number are reported in one line."""
    for experiment, said in (
        (Experiment((), (WRONG,)), "at least one check and one control"),
        (Experiment((RIGHT,), ()), "at least one check and one control"),
        (Experiment((replace(RIGHT, id="No Slug"),), (WRONG,)), "check No Slug: its id is not of lower-case"),
        (
            Experiment((replace(RIGHT, prediction=Prediction(math.nan, "x")),), (WRONG,)),
            "its prediction is nan",
        ),
    ):
        with pytest.raises(ClaimError, match=said) as caught:
            validate(experiment, "a-claim")
        assert str(caught.value).startswith("claim a-claim")
        assert "\n" not in str(caught.value)


def test_a_wide_tolerance_that_nothing_is_said_of() -> None:
    """Beside the prediction, or of its scale where that is 0, more than twice the run's takes a reason."""
    for predicted, tolerance, said in (
        (
            1.0,
            Tolerance(10.0),
            "claim a-claim, check right: its tolerance is 10 times the run's, of the prediction; make it at",
        ),
        (1.0, Tolerance(10.0, because=" "), "is 10 times the run's"),
        (-1.0, Tolerance(0.5, 8.0, "a share"), "is 4 times the run's, of the prediction; make it"),
        (0.0, Tolerance(3.0, 1.0, "a share"), "is 3 times the run's, of a share; make it"),
        (0.0, Tolerance(1.0, 8.0), 'its tolerance is a share of 8; say of what: of="…"'),
        (1.0, Tolerance(1.0, 2.0), "its tolerance is a share of 2; say of what"),
    ):
        check = replace(RIGHT, prediction=Prediction(predicted, ""), tolerance=tolerance)
        with pytest.raises(ClaimError) as caught:
            validate(Experiment((check,), (WRONG,)), "a-claim")
        assert said in str(caught.value)


ELSEWHERE = quantity("other", 1.0, 1.0, Bounded("mean"))
BELOW = replace(RIGHT, id="below", relation="≤")
SLOPE = line("slope", "slope", 1.0, POINTS, Tolerance())
SUM = Exact("sum", "a sum", (), Prediction(4.0, "4"), 4.0, code=math.fsum)


@pytest.mark.parametrize(
    ("check", "code"),
    [
        (ELSEWHERE, "the same kind of estimand, and the same relation"),
        (BELOW, "the same kind of estimand, and the same relation"),
        (SLOPE, "the same model and coefficient"),
        (SUM, "the same function"),
    ],
)
def test_a_check_without_a_control(check: Comparison, code: str) -> None:
    """A control on another estimand, relation or function alone does not do; its own does."""
    with pytest.raises(ClaimError) as caught:
        validate(Experiment((RIGHT, check), (WRONG,)), "a-claim")
    assert str(caught.value) == (
        f"claim a-claim, check {check.id}: no control goes through its code ({code}); add a wrong version "
        "of it"
    )
    own = Control("x", replace(check, id="own", prediction=Prediction(9.0, "9")))
    validate(Experiment((RIGHT, check), (WRONG, own)), "a-claim")
