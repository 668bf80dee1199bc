"""Derivations for print: letters for the ways of checking, shared arguments cited."""

from tests.report.full.test_arguments import SPLIT, claims
from tests.report.score_variance import SCORE_VARIANCE
from verify.evidence import ClaimRecord
from verify.report.cards import card
from verify.report.full.arguments import shared_arguments
from verify.report.full.derivations import full_routes, legend
from verify.report.views import RouteView
from verify.report.views.full import FullRoute

SHARED = claims(SPLIT, (*SPLIT, "collecting"), SPLIT, SPLIT)
NUMBERS = {claim.id: f"1.{place}" for place, claim in enumerate(SHARED, 1)}


def routes(claim: ClaimRecord) -> tuple[FullRoute, ...]:
    """Return a claim's routes beside the others of SHARED."""
    return full_routes(claim, shown(claim), shared_arguments(SHARED), NUMBERS)


def shown(claim: ClaimRecord) -> tuple[RouteView, ...]:
    """Return the routes of a claim's card."""
    from tests.report.records import record  # noqa: PLC0415

    return card(record(claim), claim, "1.1").routes


def test_each_way_of_checking_has_a_letter() -> None:
    """Every step carries the letter under which the legend has its way."""
    ways = dict(legend(SCORE_VARIANCE))
    assert list(ways) == list("abcdef")[: len(ways)]
    views = shown(SCORE_VARIANCE)
    for made, view in zip(full_routes(SCORE_VARIANCE, views, (), {}), views, strict=True):
        assert [ways[step.marks] for step in made.steps] == [step.checked for step in view.steps]


def test_a_lone_way_needs_no_letter() -> None:
    """It is said once for all steps."""
    assert legend(SHARED[0]) == (("", "SymPy"),)


def test_the_first_makes_the_argument_and_the_others_cite_it() -> None:
    """The first shows all its steps under the argument's name, another one that leads there, and its own."""
    made, cited = routes(SHARED[0])[0], routes(SHARED[1])[0]
    assert (made.argument, len(made.steps)) == ("A", 4)
    assert cited.argument == ""
    assert [step.rule for step in cited.steps] == ["Argument A of 1.1, for this score", "collecting"]
    assert [step.link for step in cited.steps] == ["argument-A", ""]
