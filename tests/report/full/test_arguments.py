"""Runs of steps that many derivations share are found, named once, and only where they hold."""

from collections.abc import Sequence

from tests.report.builders import step
from tests.report.score_variance import SCORE_VARIANCE
from verify.evidence import ClaimRecord, Route
from verify.report.full.arguments import Argument, rules_of, shared_arguments

SPLIT = ("definition", "indices apart", "independence", "moments")


def route(rules: Sequence[str], *, fails: int | None = None) -> Route:
    """Return a route of these rules, of which one may fail."""
    steps = tuple(step("x", rule, "SymPy", holds=place != fails) for place, rule in enumerate(rules))
    return Route(title="Index by index", start_latex="x", start_plain="x", steps=steps)


def claims(*rules: Sequence[str]) -> list[ClaimRecord]:
    """Return a claim with a single route for each of some lists of rules."""
    return [
        SCORE_VARIANCE.model_copy(
            update={
                "id": f"claim-{place}",
                "derivation": SCORE_VARIANCE.derivation.model_copy(update={"routes": (route(one),)}),
            }
        )
        for place, one in enumerate(rules)
    ]


def test_what_four_claims_share_gets_a_name() -> None:
    """The longest run that saves most is argument A, made by the first claim that has it."""
    found = shared_arguments(claims(("other",) * 3, SPLIT, SPLIT, (*SPLIT, "collecting"), SPLIT))
    assert found == (Argument("A", tuple(("=", rule) for rule in SPLIT), "claim-1", 0),)
    assert found[0].anchor == "argument-A"


def test_too_few_or_too_short_is_not_worth_it() -> None:
    """Three claims share nothing, nor do many that have two steps in common."""
    assert shared_arguments(claims(SPLIT, SPLIT, SPLIT)) == ()
    assert shared_arguments(claims(*((*SPLIT[:2], str(own)) for own in range(6)))) == ()


def test_a_second_argument_is_another_one() -> None:
    """Parts and continuations of an argument that has a name get none of their own."""
    other = ("a", "b", "c")
    names = [
        one.name for one in shared_arguments(claims(*[SPLIT] * 5, *[(*SPLIT, "more")] * 4, *[other] * 4))
    ]
    assert names == ["A", "B"]


def test_a_step_that_fails_ends_a_run() -> None:
    """Nothing is cited that does not follow."""
    assert rules_of(route(SPLIT, fails=2)) == (("=", "definition"), ("=", "indices apart"))
