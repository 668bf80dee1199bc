"""Claims that a document names without quoting a figure of theirs."""

from __future__ import annotations

import pytest

from tests.auditing.records import good
from tests.report.records import record
from verify.citing.documents import mentions

RUN = record()


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("we rest on over-scaling.", [1]),
        ("\n\nsee `over-scaling` and over-scaling again\nover-scaling", [3]),
        ("an over-scaling-law, my-over-scaling, over-scaling.check2", [1]),
        ("x.over-scaling and over_scaling and Over-scaling", []),
        ("score-variance is confirmed", []),
        ("", []),
    ],
)
def test_a_claim_that_is_not_confirmed_is_named_once(text: str, lines: list[int]) -> None:
    """By the line of its first name, which is a word of its own; a confirmed one is no news."""
    found = list(mentions(text, RUN, ()))
    assert [line for name, line, _ in found if name == "over-scaling"] == lines
    verdict = RUN.claim("over-scaling").verdict
    assert all(
        said == f"is named here and is {verdict}; see whether the text still holds" for _, _, said in found
    )


def test_what_is_quoted_is_checked_elsewhere() -> None:
    """And an audit has no claims of its own."""
    assert list(mentions("over-scaling", RUN, {"over-scaling"})) == []
    assert list(mentions("over-scaling", good(1, 1), ())) == []
