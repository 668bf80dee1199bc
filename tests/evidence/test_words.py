"""The words for verdicts and settings, and the sentences that say what a check found."""

from typing import Literal

import pytest

from tests.report.builders import check, exact_check, spaced
from verify.evidence import Outcome
from verify.evidence.words import decisive_check, largest_deviation, sentence, tallies, tolerance_text
from verify.report.tables import check_table


@pytest.mark.parametrize(
    ("relation", "estimate", "error", "ending"),
    [
        ("≤", 64.02, 0.096, "it stays below the derived bound 64 with its allowance of +1%"),
        ("≥", 62, 0.096, "it lies wholly below the derived bound 64."),
        ("≥", 63.9, 0.2, "it lies neither wholly above nor wholly below the derived bound 64 with"),
    ],
)
def test_sentences_about_bounds(
    relation: Literal["≤", "≥"], estimate: float, error: float, ending: str
) -> None:
    """A bound is called one, and on which side of it the value lies."""
    made = check("at", estimate, 64, error=error, relation=relation)
    assert ending in spaced(sentence(made, derived=True))
    name = {"≤": "upper", "≥": "lower"}[relation]
    sign = {"≤": "+", "≥": "−"}[relation]
    assert spaced(tolerance_text(made)) == f"{name} bound {sign}1% of the prediction"
    assert check_table((made,))[0][0].rows[0].cells[0] == f"{relation}\N{NARROW NO-BREAK SPACE}64"
    assert largest_deviation((made,)) == "bounds only"
    for origin, word in (("set", "not derived"), ("computed", "computed")):
        mere = made.model_copy(update={"origin": origin})
        assert ending.replace("derived bound", "threshold") in spaced(sentence(mere, derived=True))
        assert spaced(tolerance_text(mere)) == f"{name} threshold, {word}, {sign}1% of the threshold"


def test_the_decisive_check_is_the_most_serious_then_the_tightest() -> None:
    """An undecided check goes before confirmed ones; among equals the one nearest its band's edge."""
    calm, close = check("calm", 64, 64), check("close", 64.1, 64)
    undecided = check("undecided", 64, 64, doubt="it is too skewed")
    assert decisive_check((calm, close)) is close
    assert decisive_check((calm, undecided, close)) is undecided
    assert decisive_check(()) is None


def test_largest_deviation_is_the_one_that_uses_most_of_its_tolerance() -> None:
    """The share of the tolerance decides, not the share of the prediction."""
    sharp = check("sharp", 64.32, 64)
    blunt = check("blunt", 65.28, 64, tolerance=0.1)
    assert spaced(largest_deviation((sharp, blunt))) == "0.5% of ±1%"
    assert largest_deviation((exact_check("at", 0.5, "1/2", "p"),)) == "exact"


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
