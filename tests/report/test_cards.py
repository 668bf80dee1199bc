"""A claim's card: its alarms, the end of its derivation, what is read out of it, and its citation."""

from typing import Any

import pytest

from tests.report.builders import check, exact_check, spaced
from tests.report.records import PAIRWISE, record
from tests.report.score_variance import SCORE_VARIANCE
from verify.evidence import Check, Fact, Proof, Reach, Reference, Verdict
from verify.evidence.words import badge
from verify.report.cards import card
from verify.report.view import view
from verify.report.views import CardView


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
        assert part in spaced("".join(made.citation))


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


def of(**changes: Any) -> CardView:
    """Return the card of the claim with some things changed."""
    claim = SCORE_VARIANCE.model_copy(update=changes)
    return card(record(claim), claim, "1.1")


@pytest.mark.parametrize(
    ("checks", "label", "basis"),
    [
        ((), "", "exact checks"),
        ((exact_check("e", 1, "1", "p"),), "", "exact checks"),
        ((check("a", 64, 64),), "Measured", "measurement"),
        ((check("a", 64, 64), check("b", 64, 64)), "Narrowest margin of 2 checks", "measurement"),
        (
            (check("a", 64, 64), check("b", 80, 64, verdict=Verdict.REFUTED)),
            "What decided it",
            "measurement",
        ),
    ],
)
def test_the_headline_says_why_it_is_this_check(checks: tuple[Check, ...], label: str, basis: str) -> None:
    """The only measured one, the narrowest of several confirmed, or the one that decided otherwise."""
    shown = of(checks=checks)
    assert (shown.headline_label, shown.basis) == (label, basis)
    assert (shown.headline is None) == (label == "")


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, "Confirmed"),
        ({"checks": ()}, "Nothing measured"),
        (
            {
                "controls": tuple(
                    one.model_copy(update={"verdict": Verdict.UNDECIDED}) for one in SCORE_VARIANCE.controls
                )
            },
            "The checks are confirmed",
        ),
    ],
)
def test_a_standing_control_takes_the_verdict_its_word(changes: dict[str, Any], outcome: str) -> None:
    """What the checks are is not what the claim is; without checks nothing is said of them."""
    shown = of(**changes)
    assert shown.outcome == outcome
    assert len(shown.alarms) == ("controls" in changes)
    if shown.alarms:
        assert shown.alarms[0].startswith(
            f"{len(SCORE_VARIANCE.controls)} versions wrong on purpose were not"
        )


@pytest.mark.parametrize(
    ("levels", "shown"), [((0.99, 0.99), "99%"), ((0.99, 0.95), "at least 95%"), ((), "")]
)
def test_the_level_is_that_of_all_intervals(levels: tuple[float, ...], shown: str) -> None:
    """The least of them where they differ; exact checks have none."""
    made = [check(f"c{n}", 64, 64).model_copy(update={"level": level}) for n, level in enumerate(levels)]
    assert of(checks=(*made, exact_check("e", 1, "1", "p"))).level == shown


def test_what_goes_beyond_the_derivation_is_said() -> None:
    """Where a derivation stands; else the reason why there is none."""
    derivation = SCORE_VARIANCE.derivation
    beyond = derivation.model_copy(update={"beyond": "the rest is known"})
    assert of(derivation=beyond).proof_reason == "Beyond the derivation: the rest is known."
    assert of(derivation=derivation).proof_reason == ""
    none = beyond.model_copy(update={"status": Proof.NOT_CLAIMED, "reason": "nobody knows"})
    assert of(derivation=none).proof_reason == "nobody knows."


@pytest.mark.parametrize(
    ("reaches", "said"),
    [
        (("all-values", "all-values"), ""),
        (("these-values",), "Of its one step, 1 at these values."),
        (
            ("all-values", "all-values", "reviewed"),
            "Of its 3 steps, 2 proved for all values and 1 reviewed.",
        ),
        (
            ("all-values", "reviewed", "numerically"),
            ("Of its 3 steps, 1 proved for all values, 1 reviewed and 1 numerically at a few points."),
        ),
    ],
)
def test_steps_are_counted_by_how_far_they_are_checked(reaches: tuple[Reach, ...], said: str) -> None:
    """Unless all are checked for all values."""
    derivation = SCORE_VARIANCE.derivation
    first = derivation.routes[0].steps[0]
    steps = tuple(first.model_copy(update={"reach": one}) for one in reaches)
    route = derivation.routes[0].model_copy(update={"steps": steps})
    made = derivation.model_copy(update={"routes": (route,), "agreement": ""})
    assert of(derivation=made).agreement == said


def test_a_value_is_printed_once_and_only_web_addresses_are_links() -> None:
    """A fact whose formula is its value has no formula; a script is no address."""
    facts = (
        Fact(id="plain", what="p", latex="0.5", value=0.5),
        Fact(id="root", what="r", latex=r"\sqrt{2}", value=2**0.5),
    )
    shown = of(facts=facts).facts
    assert [(one.formula, one.value) for one in shown] == [("", "0.5"), (r"$\sqrt{2}$", "1.41421")]
    url = "javascript:alert(1)"
    references = (
        Reference(key="a", text="A.", url="https://a.org"),
        Reference.model_construct(key="b", text="B.", url=url),
    )
    assert [one.url for one in of(references=references).references] == ["https://a.org", None]
