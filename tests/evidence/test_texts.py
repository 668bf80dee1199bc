"""What texts and numbers of a record may hold."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from verify.evidence import (
    Fact,
)
from verify.evidence.texts import code, in_utc, line, prose


@pytest.mark.parametrize("name", ["", "Two", "two words", "two_words", "-two", "two-", "two--words", "zwölf"])
def test_ids_are_slugs(name: str) -> None:
    """Ids are lower-case words joined by single hyphens."""
    with pytest.raises(ValidationError, match="pattern"):
        Fact(id=name, what="", latex="", value=1.0)
    assert Fact(id="two-words", what="", latex="", value=1.0).id == "two-words"


def test_texts() -> None:
    """One line without control characters, or several of code; formulas in prose are looked at."""
    assert line("50% of a_b") == "50% of a_b"
    assert code("a\nb") == "a\nb"
    assert prose("$a$ and $5") == "$a$ and $5"
    for refused, read in (("a\nb", line), ("a\rb", code), ("a\u202eb", line), (r"$\input{x}$", prose)):
        with pytest.raises(PydanticCustomError):
            read(refused)


def test_moments_are_in_range() -> None:
    """A time that is none in UTC is refused."""
    assert in_utc("2026-11-20T23:30:00+02:00").hour == 21
    with pytest.raises(ValueError, match="out of range"):
        in_utc("0001-01-01T00:00:00+23:59")
