"""What languages of documents have in common: places, blanks, and blocks by indentation."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.citing.languages import HTML, Language, Passage, blank, blanked, indented_blocks, unchanged

PLAIN = Language((HTML,))


@given(st.text("ab\n ", max_size=20), st.data())
def test_a_whole_file_is_one_passage_at_its_own_places(text: str, data: st.DataObject) -> None:
    """Where nothing is said, every stretch lies where it stands."""
    (passage,) = PLAIN.texts(text)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert passage.text == text
    assert passage.place(start, end) == (start, end)


def test_a_passage_may_lie_elsewhere_in_its_file() -> None:
    """As a notebook's text does, whose characters may take several in the file."""
    passage = Passage("a\nb", [10, 11, 13], [11, 13, 14], PLAIN)
    assert passage.place(0, 2) == (10, 13)
    assert passage.place(2, 3) == (13, 14)
    assert passage.place(3, 3) == (14, 14)
    assert Passage("", [], [], PLAIN).place(0, 0) == (0, 0)


@given(st.text("ab1\n\t", max_size=20))
def test_what_is_blanked_leaves_all_else_in_its_place(text: str) -> None:
    """Line ends too, so that lines keep their numbers."""
    assert unchanged(text) == text
    assert len(blank(text)) == len(text)
    assert [i for i, sign in enumerate(blank(text)) if sign == "\n"] == [
        i for i, sign in enumerate(text) if sign == "\n"
    ]
    found = blanked(re.compile("a+"), text)
    assert found == text.replace("a", " ")


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("a::\n\n  b\n\n  c\nd\n", [False, True, True, True, True, False]),
        ("  a::\n    b\n  c\n", [False, True, False]),
        ("a\n  b\n", [False, False]),
        ("a::\n  b::\n    c\n", [False, True, True]),
        ("a::\nb::\n c", [False, False, True]),
    ],
)
def test_a_block_is_what_is_indented_under_what_opens_it(text: str, inside: list[bool]) -> None:
    """Blank lines belong to it; the lines are those of the text."""
    found = list(indented_blocks(text, lambda line: line.rstrip().endswith("::")))
    assert [one for one, _ in found] == inside
    assert "".join(line for _, line in found) == text
