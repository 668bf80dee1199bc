"""A claim's card: its alarms, the end of its derivation, what is read out of it, and its citation."""

import pytest

from tests.report.builders import check, spaced
from tests.report.records import PAIRWISE, record
from tests.report.score_variance import SCORE_VARIANCE
from verify.evidence import Proof
from verify.report.cards import card
from verify.report.view import view
from verify.report.words import badge


@pytest.mark.parametrize(
    ("proof", "tone", "word", "name"),
    [
        (Proof.PROVED, "good", "proved", "derived 64"),
        (Proof.AT_EXAMPLES, "fair", "checked at examples", "predicted 64"),
        (Proof.IN_PART, "fair", "in part", "predicted 64"),
    ],
)
def test_only_what_is_proved_is_called_derived(proof: Proof, tone: str, word: str, name: str) -> None:
    """Word, colour and count of a derivation go together; green is for proofs, each has its own mark."""
    derivation = SCORE_VARIANCE.derivation.model_copy(update={"status": proof})
    claim = SCORE_VARIANCE.model_copy(update={"derivation": derivation, "checks": (check("at", 64, 64),)})
    seen = view(record(claim))
    (tally,) = seen.proofs
    made = seen.chapters[0].cards[0]
    assert (tally.badge, tally.count) == (made.proof, 1)
    assert (made.proof.tone, made.proof.word) == (tone, word)
    assert made.headline is not None
    assert name in spaced(made.headline)
    assert len({badge(one).mark for one in (Proof.PROVED, Proof.AT_EXAMPLES, Proof.IN_PART)}) == 3


def test_the_copied_citation_holds_all_that_it_takes_to_check_it() -> None:
    """Version, seed, profile, date, value with interval and level, and the whole digest."""
    made = next(one for chapter in view(record()).chapters for one in chapter.cards if one.id == PAIRWISE.id)
    for part in (
        "sdpa-verify 0.1.0, pairwise-estimator.at-d32",
        "1.5427, simultaneous interval [1.5382, 1.5474] at level 1 − 6.1×10⁻⁷",
        "Seed 20170612, standard profile, 2026-11-20",
        f"digest {PAIRWISE.digest}.",
    ):
        assert part in spaced(made.citation)


def test_alarms_are_raised_for_failed_derivations_and_standing_controls() -> None:
    """What nobody may overlook stands on the card, in words of its own."""
    alarms = {card.id: card.alarms for card in view(record()).concerns}
    assert alarms["double-sum"] == ("The derivation failed.",)
    assert alarms["over-scaling"] == (
        "A version that is wrong on purpose was not refuted: the measurement settles nothing.",
    )
    assert alarms["pairwise-estimator"] == ()


@pytest.mark.parametrize(
    ("agreement", "latex", "sentence"),
    [
        ("2 routes end in the same result", "d_k", "Two routes end in (1.1)."),
        ("the route ends in the stated result", "d_k", "The route ends in (1.1)."),
        ("the routes do not all end in the stated result", "d_k", "The routes do not all end in (1.1)."),
        ("the route ends in the stated result", "", "The route ends in the stated result."),
        ("12 routes end in the same result", "d_k", "12 routes end in (1.1)."),
        ("", "d_k", ""),
    ],
)
def test_routes_end_in_the_numbered_result(agreement: str, latex: str, sentence: str) -> None:
    """The sentence names the equation where there is one."""
    derivation = SCORE_VARIANCE.derivation.model_copy(update={"agreement": agreement, "latex": latex})
    (chapter,) = view(record(SCORE_VARIANCE.model_copy(update={"derivation": derivation}))).chapters
    assert chapter.cards[0].agreement == sentence


def test_titles_of_routes_are_read_out_in_words() -> None:
    """What names a list of steps to a screen reader holds no LaTeX."""
    derivation = SCORE_VARIANCE.derivation
    route = derivation.routes[0].model_copy(update={"title": r"One step, times $\sqrt{c}$"})
    claim = SCORE_VARIANCE.model_copy(
        update={"derivation": derivation.model_copy(update={"routes": (route,)})}
    )
    assert card(record(claim), claim, "1.1").routes[0].label == "Steps: One step, times square root of c"


def test_a_definition_stands_beside_the_start() -> None:
    """Where a chain starts at what is defined there, the report says so, and in words what it is."""
    derivation = SCORE_VARIANCE.derivation
    first, *others = derivation.routes
    named = first.model_copy(update={"definition": "the mean of a score"})
    claim = SCORE_VARIANCE.model_copy(
        update={"derivation": derivation.model_copy(update={"routes": (named, *others)})}
    )
    drawn = card(record(claim), claim, "1.1").routes
    assert drawn[0].opening == "Definition: the mean of a score"
    assert all(one.opening == "Start" for one in drawn[1:])
