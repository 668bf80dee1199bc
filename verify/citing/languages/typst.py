"""Typst: markers in its comments; raw text is code."""

from __future__ import annotations

import re

from verify.citing.language import SLASHES, Language, Line, blanked

_RAW = re.compile(r"(?P<ticks>`{3,}).*?(?:(?P=ticks)|\Z)|`[^`\n]*`", re.DOTALL)


def prose(text: str) -> str:
    """Return the text without what it shows letter by letter."""
    return blanked(_RAW, text)


LANGUAGE = Language(suffixes=(".typ",), comments=(SLASHES, Line("//")), code=prose)
