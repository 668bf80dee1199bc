"""The languages of documents that quote: one module each, found by the endings of its files' names."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from verify.files import modules

if TYPE_CHECKING:
    from pathlib import Path

    from verify.citing.language import Language


@cache
def _by_suffix() -> dict[str, Language]:
    every = (modules.module(__name__, name).LANGUAGE for name in modules.names(__name__))
    return {suffix: language for language in every for suffix in language.suffixes}


def language_of(path: Path) -> Language:
    """Return the language of a file; what is not known is plain text, with markers in any comment."""
    known = _by_suffix()
    return known.get(path.suffix.lower()) or known[".txt"]


def suffixes() -> frozenset[str]:
    """Return the endings of all files that are looked for in a folder."""
    return frozenset(_by_suffix())
