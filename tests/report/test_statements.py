"""What the documents state, as printed."""

from tests.report.records import record
from tests.report.score_variance import SCORE_VARIANCE
from verify.report.view import view


def test_statements_link_only_to_claims_of_the_run() -> None:
    """A part names its evidence but links only to what is there; an open one says what it awaits."""
    seen = view(record(SCORE_VARIANCE))
    parts = [part for source in seen.sources for one in source.statements for part in one.parts]
    assert {part.link for part in parts} == {""}
    assert {part.name for part in parts} == {"sqrt-scaling.softmax"}
    everything = view(record())
    links = {part.link for source in everything.sources for one in source.statements for part in one.parts}
    assert links == {"sqrt-scaling"}
    waiting = [one for source in everything.sources for one in source.open]
    assert [(one.id, one.waits_for) for one in waiting] == [("b6", ("gradient-through-layers",))]
