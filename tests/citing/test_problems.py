"""What can be wrong with a quotation, in one line, and what of it can be put right."""

from __future__ import annotations

from pathlib import Path

import pytest

from verify.citing.documents import Kind, Problem
from verify.citing.markers import Quote

QUOTE = Quote("score-variance.slope:estimate", 7, 40, 43, "1.0")


@pytest.mark.parametrize("kind", Kind)
def test_a_problem_is_one_line_with_its_place(kind: Kind) -> None:
    """File, line, key and what is wrong; a warning says that it is one, and fails nothing."""
    found = Problem(Path("docs/page.md"), QUOTE, kind, "is 1.1")
    warning = kind in {Kind.RAW_LINE, Kind.MENTION}
    assert found.is_warning is warning
    assert str(found) == f"docs/page.md:7: {'warning: ' * warning}{QUOTE.key}: is 1.1"


@pytest.mark.parametrize(("new", "fixable"), [("1.1", True), ("", True), (None, False)])
def test_what_has_a_new_text_can_be_put_right(new: str | None, fixable: bool) -> None:
    """An empty one is one as well."""
    assert Problem(Path("p"), QUOTE, Kind.STALE, "", new).fixable is fixable


def test_a_key_without_end_is_cut() -> None:
    """A document may hold anything."""
    long = Quote("k" * 5000, 1, 0, 0, None)
    assert len(str(Problem(Path("p"), long, Kind.UNKNOWN, "is none"))) < 300
