"""The words for verdicts and settings, and the phrases that say what came of a check."""

from typing import Literal

import pytest

from tests.report.builders import check, exact_check, spaced
from verify.evidence import Outcome
from verify.evidence.words import decisive_check, rounding_error, tallies, tolerance_text
from verify.report.tables import cells


@pytest.mark.parametrize(("relation", "name", "sign"), [("≤", "upper", "+"), ("≥", "lower", "−")])
def test_bounds_are_called_so(relation: Literal["≤", "≥"], name: str, sign: str) -> None:
    """In its tolerance and before its number; a threshold says whether it is computed or set."""
    made = check("at", 64.02, 64, error=0.096, relation=relation)
    assert spaced(tolerance_text(made)) == f"{name} bound {sign}1% of the prediction"
    assert cells(made)[0] == f"{relation}\N{NARROW NO-BREAK SPACE}64"
    for origin, word in (("set", "not derived"), ("computed", "computed")):
        mere = made.model_copy(update={"origin": origin})
        assert spaced(tolerance_text(mere)) == f"{name} threshold, {word}, {sign}1% of the threshold"


@pytest.mark.parametrize(
    ("estimate", "size"), [(4e-17, "4×10⁻¹⁷"), (-4e-17, "−4×10⁻¹⁷"), (0.0, ""), (2e-12, ""), (-5.0, "")]
)
def test_rounding_stands_for_zero_within_its_tolerance(estimate: float, size: str) -> None:
    """On both sides of zero; what is further off is no rounding."""
    made = exact_check("at", 0.0, "0", "an error").model_copy(update={"tolerance": 1e-12})
    assert rounding_error(made.model_copy(update={"estimate": estimate})) == size


def test_the_decisive_check_is_the_most_serious_then_the_tightest() -> None:
    """An undecided check goes before confirmed ones; among equals the one nearest its band's edge."""
    calm, close = check("calm", 64, 64), check("close", 64.1, 64)
    undecided = check("undecided", 64, 64, doubt="it is too skewed")
    assert decisive_check((calm, close)) is close
    assert decisive_check((calm, undecided, close)) is undecided
    assert decisive_check(()) is None


def test_tallies_leave_out_what_does_not_occur_and_agree_in_number() -> None:
    """One holds, two hold; other words are the same of one and of many."""
    counts = {
        Outcome.HOLDS: 2,
        Outcome.WITH_CONDITIONS: 1,
        Outcome.WRONG: 3,
        Outcome.OPEN: 0,
        Outcome.MISPRINTED: 0,
    }
    assert [(tally.count, tally.word) for tally in tallies(counts, Outcome)] == [
        (2, "hold"),
        (1, "holds with conditions"),
        (3, "wrong"),
    ]
