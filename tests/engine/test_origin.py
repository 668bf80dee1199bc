"""Where in a TOML file something stands: the line of its key, or of the nearest table around it."""

from __future__ import annotations

import tomllib

import pytest

from verify.engine.origin import Origin, Place

TEXT = '''title = "All"

[[statement]]
id = "v4"
claim = "score-variance"

[[statement]]
id = "v5"
note = """
id = "no key"
"""
parts = [
  { says = "a" },
]
'''


@pytest.fixture
def origin() -> Origin:
    """Return the origin of that text."""
    return Origin.of("mine.toml", TEXT, tomllib.loads(TEXT))


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("title",), 1),
        (("statement", 0), 3),
        (("statement", 0, "claim"), 5),
        (("statement", 1, "id"), 8),
        (("statement", 1, "parts"), 12),
        (("statement", 1, "missing"), 7),
        (("nothing",), 1),
    ],
)
def test_the_line_of_a_place(origin: Origin, place: Place, line: int) -> None:
    """Lines within a text of several lines hold no keys; what is missing has its table's line."""
    assert origin.line(place) == line


def test_a_place_in_words(origin: Origin) -> None:
    """File, line, the table with its id, and the key."""
    assert origin.at(("statement", 0, "claim")) == 'mine.toml: line 5: [[statement]] v4, key "claim"'
