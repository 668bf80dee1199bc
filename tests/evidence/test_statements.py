"""What is on record of the sources' statements: when an outcome contradicts the note written for it."""

from __future__ import annotations

import pytest

from tests.evidence.statements import statement
from verify.evidence import Outcome, Statement


@pytest.mark.parametrize(
    ("made", "surprising"),
    [
        (statement(Outcome.WRONG, Outcome.HOLDS, "a"), True),
        (statement(Outcome.WRONG, Outcome.WRONG, "a"), False),
        (statement(Outcome.WRONG, None, "a"), False),
        (statement(Outcome.WRONG, Outcome.HOLDS, "a", "elsewhere"), False),
        (statement(Outcome.OPEN, Outcome.HOLDS), True),
    ],
)
def test_an_outcome_contradicts_its_note_where_claims_of_the_run_decided_otherwise(
    made: Statement, surprising: bool
) -> None:
    """A statement of which another claim decides a part does not, whatever its outcome."""
    assert made.contradicts_its_note({"a", "b"}) is surprising
